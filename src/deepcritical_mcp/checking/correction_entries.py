"""Entries of BibTeX, RIS and CSL-JSON with other values in their fields, and everything else as it is.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from json.decoder import JSONDecoder

from deepcritical_mcp.checking.correction_ids import Edit, id_edits
from deepcritical_mcp.checking.correction_names import entry_given
from deepcritical_mcp.checking.correction_values import journal_in_style, pages_in_style, title_alone, title_in_style
from deepcritical_mcp.export.bibtex import escaped_text
from deepcritical_mcp.models import AuthorName, Publication, ReferenceProblem
from deepcritical_mcp.models.publication import retraction_label
from deepcritical_mcp.search.references.labelled import EntryField, LabelledEntry, members, read_entry

_YEAR = re.compile(r"(?:1[5-9]|20)[0-9]{2}")
_SPACE = re.compile(r"[ \t\r\n]*")
_IDS = ("doi", "pmid", "pmcid")


def entry_variants(
    written: str, publication: Publication, wrong: Mapping[str, ReferenceProblem]
) -> Iterator[list[Edit]]:
    """What changes the fields of an entry that are wrong, the gentlest change first."""
    read = read_entry(written)
    if read is None:
        return
    entry = _EntryEdits(read)
    edits = list(entry.edits(publication, wrong))
    title = entry.field("title")
    if not title or wrong.keys().isdisjoint(("title", "status")):
        yield edits
        return
    old = entry.text_of(title)
    for new in title_in_style(old, entry.escaped(publication.title)) if "title" in wrong else (old,):
        label = retraction_label(publication.status, new) if "status" in wrong else ""
        yield [*edits, entry.replaced(title, f"{label}: {new}" if label else new)] if label or new != old else edits


class _EntryEdits:
    """An entry, and what changes its fields."""

    def __init__(self, entry: LabelledEntry) -> None:
        self.field, self.raw = entry.field, entry.raw
        self.text, self.form, self.fields = entry.text, entry.form, entry.fields

    def text_of(self, field: EntryField) -> str:
        """What it says; of BibTeX with its escapes."""
        if self.form != "csl":
            return self.raw(field)
        loaded: object = json.loads(self.raw(field))
        return loaded if isinstance(loaded, str) else str(loaded)

    def escaped(self, value: str) -> str:
        return escaped_text(title_alone(value)) if self.form == "bibtex" else title_alone(value)

    def replaced(self, field: EntryField, value: str) -> Edit:
        """Another value, which is escaped as BibTeX wants it."""
        if self.form == "csl":
            is_number = self.raw(field)[:1] != '"' and value.isdecimal()
            value = value if is_number else _json(value, self.text)
        return Edit(*field.value, value)

    def edits(self, publication: Publication, wrong: Mapping[str, ReferenceProblem]) -> Iterator[Edit]:
        """For everything but the title."""
        if "authors" in wrong:
            yield from self._people(publication.authors)
        if "year" in wrong and (field := self.field("year")) and (year := _YEAR.search(self.raw(field))):
            at = field.value[0]
            yield Edit(at + year.start(), at + year.end(), wrong["year"].true)
        if "journal" in wrong and (field := self.field("journal")):
            name = journal_in_style(self.text_of(field), publication, abbreviates=False)
            yield self.replaced(field, self.escaped(name))
        if not wrong.keys().isdisjoint(("volume", "issue", "pages")):
            yield from self._place(publication, wrong)
        for name in (*_IDS, "nct"):
            if name in wrong:
                yield from self._identifier(wrong[name], publication.pmid)

    def _place(self, publication: Publication, wrong: Mapping[str, ReferenceProblem]) -> Iterator[Edit]:
        if "volume" in wrong and (field := self.field("volume")):
            yield self.replaced(field, self.escaped(publication.volume))
        if (field := self.field("issue")) and self.text_of(field) != publication.issue:
            if publication.issue:
                yield self.replaced(field, self.escaped(publication.issue))
            elif "volume" in wrong:
                yield self._removed(field)
        if "pages" in wrong and (field := self.field("pages")):
            yield self.replaced(field, pages_in_style(self.text_of(field), publication.pages))
        if "pages" in wrong and self.form == "ris":
            yield from self._ris_pages(publication.pages)

    def _ris_pages(self, pages: str) -> Iterator[Edit]:
        first, _, last = pages_in_style("1000-1999", pages).partition("-")
        for one in self.fields:
            if one.name == "SP":
                yield Edit(*one.value, first)
            elif one.name == "EP":
                yield Edit(*one.value, last) if last else Edit(one.key[0] - 1, one.value[1], "")

    def _identifier(self, problem: ReferenceProblem, pmid: str) -> Iterator[Edit]:
        field = self.field(problem.field)
        if field and problem.true:
            start, end = field.value
            inside = [one for one in id_edits(self.text, problem, "") if start <= one.start and one.end <= end]
            yield from inside or [self.replaced(field, problem.true)]
        elif field and problem.field == "doi" and pmid and self.form != "ris" and not self.field("pmid"):
            yield Edit(*field.key, "PMID" if self.form == "csl" else "pmid")
            yield self.replaced(field, pmid)
        elif field:
            yield self._removed(field)
        if problem.true:
            yield from id_edits(self.text, problem, "")

    def _removed(self, field: EntryField) -> Edit:
        """Without a field and the comma or line break that belongs to it."""
        start, end = field.key[0], field.value[1]
        if self.form == "ris":
            return Edit(start, min(end + 1, len(self.text)), "")
        end += self.form == "csl" or self.text[end : end + 1] in ("}", '"')
        end -= self.form == "csl"
        start -= self.form == "csl"
        rest = _SPACE.match(self.text, end)
        behind = rest.end() if rest else end
        before = len(self.text[:start].rstrip())
        if self.text[behind : behind + 1] == ",":
            following = _SPACE.match(self.text, behind + 1)
            return Edit(start, following.end() if following else behind + 1, "")
        return Edit(before - (self.text[before - 1 : before] == ","), end, "")

    def _people(self, authors: tuple[AuthorName, ...]) -> Iterator[Edit]:
        if self.form == "ris":
            yield from self._ris_people(authors)
        elif field := self.field("authors"):
            old = self.raw(field)
            is_tex = self.form == "bibtex"
            yield Edit(*field.value, _bibtex_people(old, authors) if is_tex else _csl_people(old, authors, self.text))

    def _ris_people(self, authors: tuple[AuthorName, ...]) -> Iterator[Edit]:
        lines = [one for one in self.fields if one.name in ("AU", "A1")]
        if not lines:
            return
        tag = self.text[lines[0].key[0] : lines[0].value[0]]
        names = [", ".join(filter(None, (one.family, entry_given(self.raw(lines[0]), one)))) for one in authors]
        yield Edit(lines[0].key[0], lines[0].value[1], "\n".join(f"{tag}{name}" for name in names))
        for one in lines[1:]:
            yield Edit(one.key[0] - 1, one.value[1], "")


def _bibtex_people(old: str, authors: tuple[AuthorName, ...]) -> str:
    listed = [name.strip() for name in re.split(r"\s{1,20}and\s{1,20}", old)]
    is_shortened = listed[-1] == "others" and len(authors) >= len(listed)
    names = [_bibtex_name(listed[0], one) for one in authors[: len(listed) - 1 if is_shortened else None]]
    return " and ".join([*names, "others"] if is_shortened else names)


def _bibtex_name(old: str, author: AuthorName) -> str:
    given = entry_given(old, author)
    family = escaped_text(author.family)
    if not given:
        return f"{{{family}}}"
    if "," in old or author.suffix:
        return ", ".join(filter(None, (family, author.suffix, escaped_text(given))))
    return f"{escaped_text(given)} {family}"


def _json(value: str, text: str) -> str:
    return json.dumps(value, ensure_ascii=text.isascii() and "\\u" in text)


def _csl_people(old: str, authors: tuple[AuthorName, ...], text: str) -> str:
    """An array of names in CSL-JSON, laid out as `old` is."""
    first = old.find("{")
    if first < 0:
        return old
    _, end = JSONDecoder().raw_decode(old, first)
    template, following = old[first:end], old.find("{", end)
    between = old[end:following] if following > 0 else f",{old[1:first] or ' '}"
    close = old[len(old[:-1].rstrip()) :]
    return old[:first] + between.join(_csl_name(template, one, text) for one in authors) + close


def _csl_name(template: str, author: AuthorName, text: str) -> str:
    fields = {one.name: one for one in members(template, 0)}
    if not author.given:
        return '{"literal": ' + _json(author.family, text) + "}"
    if fields.keys() != {"family", "given"}:
        given = _json(entry_given("", author), text)
        return '{"family": ' + _json(author.family, text) + ', "given": ' + given + "}"
    old = json.loads(template[slice(*fields["given"].value)])
    values = {"family": author.family, "given": entry_given(f", {old}", author)}
    for name in sorted(values, key=lambda one: -fields[one].value[0]):
        start, end = fields[name].value
        template = template[:start] + _json(values[name], text) + template[end:]
    return template
