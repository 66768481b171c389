"""What an entry of a reference manager or database says of a publication. `entry_fields.txt` has what each form of
entry calls the fields."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import get_args

from deepcritical_mcp.data_files import data_lines
from deepcritical_mcp.identifiers import BARE_DOI, RecordIds, normalize_doi, normalize_pmcid
from deepcritical_mcp.net.fields import plain_line
from deepcritical_mcp.reading.library_entries import LibraryForm, WrittenEntry
from deepcritical_mcp.search.references.plain_text import without_latex

_FORMS: Sequence[LibraryForm] = get_args(LibraryForm)
_ROWS = [[cell.strip() for cell in row.split("|")] for row in data_lines(__file__, "entry_fields.txt")]
_NAMES = {row[0]: [[set(names.split("+")) for names in cell.split(", ")] for cell in row[1:]] for row in _ROWS}
"""By field, for each form: sets of names that count together; the first that is filled counts."""
PMID = re.compile(
    r"(?:^|\b(?:PubMed|PMID:?|NLM)\s?)([1-9][0-9]{0,7})(?=(?:\.0)?\s*(?:$|[\[;]|,(?![0-9])))", re.IGNORECASE
)
"""A PMID in a field for numbers."""
OTHERS = ("others", "et al")
"""What stands for the rest of the authors."""
_GLUED = re.compile(r" {5}([A-Z][A-Z0-9]) {2}- ")
"""Rayyan writes a field that it does not know behind the one before."""
SEPARATED = re.compile(r"[;\n]")
"""Between several values."""
_TOUCHING = re.compile(r"(?<=[A-Z]\.)(?=[A-Z][\w'’-]+ [A-Z]\.)")
"""Between names with nothing between them: "Adeli K.Lewis G. F."."""
MAX_LATEX = 10_000
"""Characters of a value of which LaTeX is read, which takes up to a second."""
_ESCAPED, _LATEX = re.compile(r"\\([&%$#_{}])"), re.compile(r"\\|``|~|\$")


class EntryFields:
    """The fields of an entry by what they say of a publication ("title"): the names in `entry_fields.txt`.

    Attributes:
        form: that of the entry.
        fields: names and values as written.
    """

    def __init__(self, entry: WrittenEntry, form: LibraryForm) -> None:
        self.form: LibraryForm = form
        self._place = _FORMS.index(form)
        self.fields = [pair for name, value in entry.fields for pair in _unglued(name, value)]

    def written(self, field: str) -> list[str]:
        """Every value of a field as it is written."""
        for names in _NAMES[field][self._place]:
            if found := [value for name, value in self.fields if name in names and value.strip()]:
                return found
        return []

    def all(self, field: str) -> list[str]:
        """Every value of a field, without LaTeX."""
        found = self.written(field)
        return [*map(without_braces, found)] if self.form == "bibtex" else found

    def line(self, field: str) -> str:
        """The first value of a field on one line, without markup; "" if there is none."""
        return plain_line(next(iter(self.all(field)), "").replace("\n", " "))

    def names(self, field: str) -> Iterator[str]:
        """The names of people in a field as they are written, a group's with a comma behind it if it has one; also
        `OTHERS`."""
        if self.form == "bibtex":
            from bibtexparser.middlewares.names import split_multiple_persons_names

            values = [*map(without_braces, split_multiple_persons_names("".join(self.written(field)[:1])))]
        else:
            values = [one for value in self.all(field) for one in SEPARATED.split(value)]
        if self.form == "csv":
            values = [one for value in values for name in value.split(" and ") for one in _TOUCHING.split(name)]
        yield from (name for name in map(plain_line, values) if name.strip("."))

    @cached_property
    def own_numbers(self) -> RecordIds:
        """The numbers in fields that have nothing else, as far as the form has such fields."""
        dois = (BARE_DOI.search(value) for value in self.all("doi"))
        pmids = (PMID.search(value.strip()) for value in self.all("pmid"))
        is_bare = self.form in ("bibtex", "json")  # "pmcid = {12}"
        pmcids = (f"PMC{value}" if is_bare and value.isdecimal() else value for value in self.all("pmcid"))
        return RecordIds(
            pmid=next((found[1] for found in pmids if found), ""),
            pmcid=next((one for value in pmcids if (one := normalize_pmcid(value))), ""),
            doi=next((normalize_doi(found[0]) for found in dois if found), ""),
        )


def _unglued(name: str, value: str) -> Iterator[tuple[str, str]]:
    first, *rest = _GLUED.split(value)
    yield name, first
    yield from zip(rest[::2], rest[1::2], strict=True)


def without_braces(value: str) -> str:
    """A value of BibTeX as text. Reading LaTeX takes ten milliseconds for an abstract: most have but a few escapes."""
    simple = _ESCAPED.sub(r"\1", value).replace("{", "").replace("}", "")
    is_latex = len(value) <= MAX_LATEX and _LATEX.search(simple)
    return without_latex(value).replace("{", "").replace("}", "") if is_latex else simple
