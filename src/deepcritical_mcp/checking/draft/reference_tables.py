"""Tables whose rows are references: one in a cell, or its authors, title and the rest in several."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from deepcritical_mcp.checking.draft.entry_forms import has_date_or_id, is_bare_id, is_surely_entry
from deepcritical_mcp.checking.draft.list_entries import ListEntry
from deepcritical_mcp.checking.draft.masking import Line, lines_of
from deepcritical_mcp.excerpts import Span
from deepcritical_mcp.search.references.latex import without_latex
from deepcritical_mcp.text import clean_line

_RULE = re.compile(r"[ \t]{0,3}\|?(?:[ \t]{0,9}:?-{1,200}:?[ \t]{0,9}\|){1,30}(?:[ \t]{0,9}:?-{1,200}:?)?[ \t]{0,9}")
_BAR = re.compile(r"(?<!\\)\|")
_TAB = re.compile(r"\t")
_AMPERSAND = re.compile(r"(?<!\\)&")
_RULE_OF_LATEX = re.compile(r"\s{0,20}\\(?:hline|[a-z]{1,9}rule|cline|addlinespace|endhead|endfirsthead)\b")
_LONGEST_HEADER = 60
_LABEL = re.compile(r"\[?([0-9]{1,4})[\].)]{0,2}")
_COLUMNS: Mapping[str, Sequence[str]] = {
    "authors": "author,authors,author(s),first author,study,autor,autoren,auteur,auteurs,autores,autori".split(","),
    "year": "year,publication year,year of publication,date,jahr,année,año,ano,anno".split(","),
    "title": "title,article title,paper title,paper,article,titel,titre,título,titolo".split(","),
    "journal": "journal,source,publisher,zeitschrift,revue,revista,rivista".split(","),
    "pmid": "pmid,pmids,pubmed,pubmed id,pubmed-id,pubmed ids".split(","),
    "pmcid": "pmcid,pmc".split(","),
    "doi": "doi,doi link,link,url".split(","),
}
_NAMED: Mapping[str, str] = {name: column for column, names in _COLUMNS.items() for name in names}
_JOINED = r"(?:[,;/& ]|and\b|und\b|<br ?/?>)"
_PMIDS = re.compile(
    rf"(?:PMIDs?:?\s{{0,3}})?[1-9][0-9]{{3,8}}(?:{_JOINED}{{1,6}}[1-9][0-9]{{3,8}}){{0,40}}{_JOINED}{{0,3}}"
)
_PMID = re.compile(r"[1-9][0-9]{3,8}")
_OTHER_MARKS = re.compile(r"[,;|]|<[^<>]{0,80}>|\s{2,20}")
_COLUMNS_OF_PMIDS = frozenset(_COLUMNS["pmid"])
_BARE_PMID = re.compile(r"(?:^|[,;|>\s])\"?[1-9][0-9]{5,7}\"?(?:$|[,;|<\s])", re.MULTILINE)
_NEAR = 12
"""Lines below a header in which its first row stands."""
_LEAST_REFERENCE = 40
"""Characters of a cell that is a whole reference."""
_LEAST_TITLE = 3
"""Words."""


class Table(NamedTuple):
    """A table: where it begins, the cells of its header, and its rows with their cells."""

    start: int
    header: Sequence[str]
    rows: Sequence[tuple[Line, Sequence[str]]]


class ReferenceTable(NamedTuple):
    """A table of references: where it stands, with its header, and its rows."""

    span: Span
    entries: Sequence[ListEntry]


def tables_in(text: str) -> Iterator[Table]:
    """The tables of a text: of Markdown, of LaTeX, and those whose cells tabs part, as they are pasted from Word."""
    lines = [*lines_of(text)] if any(mark in text for mark in "|\t&") else []
    end = 0
    for number, line in enumerate(lines):
        if number >= end and (mark := _mark_below(lines, number)):
            first = number + (2 if mark is _BAR else 1)
            end = next((at for at in range(first, len(lines)) if not _goes_on(lines[at].text, mark)), len(lines))
            rows = [(row, _cells(row.text, mark)) for row in lines[first:end] if mark.search(row.text)]
            yield Table(line.start, _cells(line.text, mark), rows)


def _mark_below(lines: Sequence[Line], number: int) -> re.Pattern[str] | None:
    """What parts the cells of a table whose header is this line; None if it is not one."""
    line, following = lines[number].text, lines[number + 1].text if number + 1 < len(lines) else ""
    if "|" in line and "-" in following and _RULE.fullmatch(following):
        return _BAR
    mark = _TAB if "\t" in line else _AMPERSAND if "\\\\" in line and _AMPERSAND.search(line) else None
    return mark if mark and _is_header(_cells(line, mark)) else None


def _is_header(cells: Sequence[str]) -> bool:
    """Whether cells only name columns, and one of them that of numbers or two of them others that references have."""
    known = {_NAMED[title] for cell in cells if (title := cell.strip("*_ ").casefold()) in _NAMED}
    return all(len(cell) <= _LONGEST_HEADER for cell in cells) and (len(known) > 1 or bool(known & {"pmid", "doi"}))


def has_unread_table(text: str) -> bool:
    """Whether a text has a table of another kind with a column of PMIDs: of HTML, CSV, or with blanks between."""
    lines = [*lines_of(text)] if "pmid" in text.casefold() else []
    for number, line in enumerate(lines):
        cells = [one for cell in _OTHER_MARKS.split(line.text) if (one := cell.strip(" \t*_").casefold())]
        is_header = _COLUMNS_OF_PMIDS.intersection(cells) and all(len(one) <= _LONGEST_HEADER for one in cells)
        if is_header and (len(cells) > 1 or "<t" in line.text) and _BARE_PMID.search(_below(lines, number)):
            return True
    return False


def _below(lines: Sequence[Line], number: int) -> str:
    return "\n".join(line.text for line in lines[number + 1 : number + 1 + _NEAR])


def reference_tables(text: str) -> Iterator[ReferenceTable]:
    """The tables whose rows are references. One of results that only names the studies is none."""
    for table in tables_in(text):
        if entries := _entries(table):
            yield ReferenceTable(Span(table.start, table.rows[-1][0].end), entries)


def _goes_on(line: str, mark: re.Pattern[str]) -> bool:
    """Whether a line belongs to the table above it; in LaTeX, there are commands between rows."""
    return mark.search(line) is not None or (mark is _AMPERSAND and _RULE_OF_LATEX.match(line) is not None)


def _cells(row: str, mark: re.Pattern[str]) -> list[str]:
    if mark is _AMPERSAND:
        return [clean_line(without_latex(cell)) for cell in mark.split(row.partition("\\\\")[0])]
    row = row.strip().removeprefix("|") if mark is _BAR else row
    return [clean_line(cell).replace("\\|", "|") for cell in mark.split(row)]


def _entries(table: Table) -> list[ListEntry]:
    cells = [row for _, row in table.rows]
    titles = [one.strip("*_ ").casefold() for one in table.header]
    columns = {_NAMED[title]: at for at, title in reversed([*enumerate(titles)]) if title in _NAMED}
    free = (at for at, title in enumerate(titles) if title == "study" or _NAMED.get(title) != "authors")
    whole = next((at for at in free if _are_references([_cell(row, at) for row in cells])), -1)
    if whole < 0 and not ({"authors", "title"} <= {*columns} and len(columns) > 2):
        return []
    parts = {name: at for name, at in columns.items() if at != whole}
    return [
        ListEntry(written, row.start, row.end, found[1] if (found := _LABEL.fullmatch(_cell(one, 0))) else "")
        for row, one in table.rows
        if (written := _in_one(one, whole, parts) if whole >= 0 else _composed(one, parts))
    ]


def _cell(row: Sequence[str], at: int) -> str:
    return row[at] if 0 <= at < len(row) else ""


def _are_references(column: Sequence[str]) -> bool:
    filled = [one for one in column if one]
    return 2 * sum(_is_reference_cell(one) for one in filled) > len(filled)


def _is_reference_cell(cell: str) -> bool:
    return len(cell) >= _LEAST_REFERENCE and is_surely_entry(cell) and not is_bare_id(cell)


def _in_one(row: Sequence[str], whole: int, columns: Mapping[str, int]) -> str:
    """A reference that stands in one cell, with the numbers in others."""
    written = _cell(row, whole)
    return " ".join((written, *_ids(row, columns, written))) if any(map(str.isalpha, written)) else ""


def _composed(row: Sequence[str], columns: Mapping[str, int]) -> str:
    """A reference whose parts stand in several cells; "" without a title."""
    authors, year, title, journal = (
        _cell(row, columns.get(name, -1)) for name in ("authors", "year", "title", "journal")
    )
    title = title.strip('“”"„«» ').rstrip(".")
    if len(title.split()) < _LEAST_TITLE:
        return ""
    dated = f"{authors} ({year})." if year else f"{authors.rstrip('.')}."
    ids = _ids(row, columns, "")
    written = " ".join(filter(None, (dated, f"{title}.", f"{journal.rstrip('.')}." if journal else "", *ids)))
    return written if has_date_or_id(written) else ""


def _ids(row: Sequence[str], columns: Mapping[str, int], written: str) -> Iterator[str]:
    """The numbers of a row that `written` does not have, named as references name them."""
    for name in ("pmid", "pmcid", "doi"):
        value = _cell(row, columns.get(name, -1))
        if name == "pmid" and _PMIDS.fullmatch(value):
            value = ", ".join(one for one in _PMID.findall(value) if one not in written)
            if value:
                yield f"PMID {value}"
        elif any(map(str.isdigit, value)) and value not in written:
            bare = value.isdecimal() or value.startswith("10.")
            yield f"{name.upper() if name != 'doi' else 'doi:'} {value}".replace(": ", ":") if bare else value
