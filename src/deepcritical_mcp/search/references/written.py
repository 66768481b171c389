"""A reference as it is written: its words, its numbers, the identifiers that stand in it, and what it says as far as
that can be told without a record; and references whose parts are labelled: BibTeX, RIS, PubMed's own form and CSL-JSON.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Literal, NamedTuple, cast, get_args

from deepcritical_mcp.data_files import data_table
from deepcritical_mcp.evidence.titles import content_words, tokens
from deepcritical_mcp.identifiers import (
    RecordIds,
    arxiv_doi,
    normalize_doi,
    normalize_pmcid,
    normalize_pmid,
)
from deepcritical_mcp.net.fields import list_of, mapping_of, text_of
from deepcritical_mcp.search.references.name_places import ET_AL, LISTED, people_before, people_in, sentences_back
from deepcritical_mcp.search.references.number_places import JOINING, YEAR, find_numbers, years_only
from deepcritical_mcp.search.references.plain_text import stated_ids, without_latex
from deepcritical_mcp.search.references.title_places import LEAST_WORDS, Word, title_span, words_of
from deepcritical_mcp.text import clean_line, clean_text, normalized

logging.getLogger("bibtexparser").setLevel(logging.CRITICAL)  # what is wrong with an entry is told to its author
MAX_REFERENCE = 12_000
"""Characters of a reference that are read; of an entry of BibTeX, RIS or CSL-JSON, which may have an abstract, all."""
_BARE_NUMBER = re.compile(r"[.;)\]]\s{1,3}[(\[]?[1-9][0-9]{6,7}[)\].\s]{0,4}\Z")
"""A number at the end that can only be a PMID."""
_MARKUP = re.compile(
    r"(?<!\w)\*{1,3}|\*{1,3}(?!\w)|(?<!\w)_{1,2}(?=\w)|(?<=\w)_{1,2}(?!\w)|\\(?=\W)|</?[A-Za-z][^<>]{0,200}>|"
    r"[™®©℠]|(?<=\w)\((?:R|TM)\)|\s?\[(?:[JMCDRSPNZ]|[JMCDRN]/OL|EB/OL|DB/OL|OL)\]|"
    r"\s?[(\[](?i:retracted|withdrawn)(?: (?i:article))?[)\]]"
)
"""With the mark of Chinese references for a kind of work: "[J]" is an article in a journal."""


@dataclass(frozen=True)
class Statements:
    """What a reference says; "" for what it does not say.

    Attributes:
        author: the family name of the first one, or the whole name if it is written out.
        pages: as written, "1091-1096"; a number of an article counts as one.
        people: the list of authors as it is written.
    """

    title: str = ""
    author: str = ""
    year: str = ""
    journal: str = ""
    volume: str = ""
    issue: str = ""
    pages: str = ""
    people: str = ""


def _guessed(text: str) -> Statements:
    """What a reference says by its form alone: enough to look for a record."""
    start, end = title_span(text) or (0, 0)
    title, text = text[start:end], years_only(text, start)
    places = find_numbers(text, [(start, end)] if end else [], {}, start)
    said = {role: one.text for role, one in places.by_role.items()}
    first = max(places.first, 0)
    behind = end or max((found.end() for by in (LISTED, ET_AL) if (found := by.search(text, 0, first))), default=0)
    head, low = people_before(text[: start if end else behind or first]), max(behind, places.first - 200)
    names = (text[low + one : low + to] for one, to in sentences_back(text[low : places.first]))
    journal = next((name for name in names if name.lower() not in JOINING), "") if places.first > end else ""
    if journal and not behind and said.keys() & {"volume", "pages"} and head.startswith(journal):
        head = ""  # the only name before the numbers is the journal's
    said |= {"year": said.get("year", "")[:4], "journal": journal.removeprefix("In: ")}
    listed = people_in(ET_AL.split(head, maxsplit=1)[0], ())
    return Statements(title, " ".join(listed[0].words) if listed else "", people=head, **said)


@dataclass(frozen=True)
class WrittenReference:
    """A reference as it is written.

    Attributes:
        text: what is written, on one line, without markup and identifiers.
        stated: the identifiers that stand in it, by kind ("pmid:1").
        ids: the first one of each kind.
        says: what it says, as far as that can be told without a record.
        entry: the fields of an entry of BibTeX, RIS or CSL-JSON; None of any other reference.
    """

    text: str
    ids: RecordIds
    says: Statements
    stated: tuple[str, ...] = ()
    entry: LabelledEntry | None = field(default=None, compare=False)

    @cached_property
    def words(self) -> tuple[Word, ...]:
        """Those of `text`."""
        return words_of(self.text)

    @property
    def says_more(self) -> bool:
        """Whether it says anything besides identifiers that a record can be compared with."""
        has_title = len(content_words(tokens(self.says.title))) >= (1 if self.entry else LEAST_WORDS)
        return has_title or bool(self.says.volume and self.says.pages) or bool(self.says.author)


def read_reference(written: str) -> WrittenReference:
    """The reference in a text of any style; of a long one, the first 12,000 characters."""
    raw = clean_text(written)
    if entry := read_entry(raw):
        _, ids, stated = _without_ids(clean_line(raw[:MAX_REFERENCE]))
        says, known = entry.says(), entry.ids().completed(ids)
        place = f"{says.year}, vol. {says.volume}, no. {says.issue}, pp. {says.pages}."
        line = f"{says.people}. “{says.title}.” {says.journal}. {place}"
        return WrittenReference(_MARKUP.sub("", line), known, says, stated, entry)
    line = clean_line(raw[: MAX_REFERENCE + 1])
    line = line if len(line) <= MAX_REFERENCE else line[:MAX_REFERENCE].rpartition(" ")[0]
    bare, ids, stated = _without_ids(clean_line(without_latex(normalized("NFKC", line))))
    text = _BARE_NUMBER.sub(".", _MARKUP.sub("", bare))  # it may be a PMID, although nothing says so
    return WrittenReference(text, ids, _guessed(text), stated)


def _without_ids(text: str) -> tuple[str, RecordIds, tuple[str, ...]]:
    """The text without identifiers and addresses, and these; the first of each kind counts."""
    stated, found = [*stated_ids(text)], RecordIds()
    if any(any(one.ids) for one in stated if one.kind != "arxiv"):
        stated = [one for one in stated if one.kind != "arxiv"]  # an article may have both, and its own numbers count
    for one in stated:
        found = found.completed(one.ids)
    keys = tuple(one.key for one in stated if any(one.ids))
    for one in reversed(stated):
        text = f"{text[: one.start]} {text[one.end :]}"
    bare = text.strip(" .:#\"'[],")
    if bare.isdigit() and not any(found):
        return "", RecordIds(pmid=bare.lstrip("0")[:9]), keys
    return text, found, keys


EntryForm = Literal["bibtex", "ris", "csl"]
TAG = re.compile(r"^[ \t]{0,4}([A-Z][A-Z0-9] {1,3}|[A-Z]{3} |[A-Z]{4})- ?", re.MULTILINE)
"""Before a value of RIS, "TY  - JOUR", or of PubMed's own form, "PMID- 1". rispy knows but one number of blanks, drops
a record without its last line, and does not tell where a value stands."""
_FIELD_NAMES = {name: row.split("|") for name, row in data_table(__file__, "entry_fields.txt").items()}
"""The fields that say a statement in BibTeX, RIS and CSL-JSON; the first one that is filled counts."""


@dataclass(frozen=True)
class LabelledEntry:
    """An entry, the type of work that it names, its key ("" without one), and what it says."""

    text: str
    form: EntryForm
    type: str
    key: str
    fields: tuple[tuple[str, object], ...]

    def values(self, statement: str) -> list[object]:
        """What the first name that says a statement, and is filled, has: several values only for the authors of RIS."""
        names = _FIELD_NAMES[statement][get_args(EntryForm).index(self.form)].split()
        filled = [(name, value) for name, value in self.fields if value and str(value).strip()]
        first = next((name for name in names if any(name == one for one, _ in filled)), "")
        return [value for name, value in filled if name == first]

    def said(self, statement: str) -> str:
        """A statement as text, on one line; "" if it is missing or empty."""
        value = next(iter(self.values(statement)), "")
        return clean_line(_plain(str(value)) if self.form == "bibtex" else text_of(value))

    def says(self) -> Statements:
        """What its fields say."""
        names = ("title", "journal", "volume", "issue", "pages")
        said = {name: normalized("NFKC", self.said(name)) for name in names}
        year = YEAR.search(str(self.values("year")))
        said["pages"] = "-".join(filter(None, (said["pages"].replace("–", "-").replace("--", "-"), self.said("last"))))
        people = [normalized("NFKC", one) for one in self._people()]
        author = next((one.partition(",")[0].strip() for one in people if one != "et al"), "")
        return Statements(year=year[0] if year else "", people="; ".join(people), author=author, **said)

    def _people(self) -> Iterator[str]:
        """The names, "others" as "et al"."""
        from bibtexparser.middlewares.names import split_multiple_persons_names

        for value in self.values("authors"):
            if self.form == "csl":
                for one in map(mapping_of, list_of(value)):
                    parts = (text_of(one.get(name)) for name in ("family", "given", "literal"))
                    yield clean_line(", ".join(filter(None, parts)))
            else:
                listed = split_multiple_persons_names(str(value)) if self.form == "bibtex" else [str(value)]
                names = (clean_line(_plain(name)) for name in listed)
                yield from ("et al" if name == "others" else name for name in names if name)

    def ids(self) -> RecordIds:
        """The identifiers in fields that name no kind of number in their value."""
        arxiv = f"arXiv:{self.said('eprint')}" if self.said("archive").lower() == "arxiv" else ""
        doi = normalize_doi(self.said("doi").removesuffix("[doi]") or arxiv_doi(arxiv))
        pmid, pmcid = normalize_pmid(self.said("pmid")), self.said("pmcid")
        pmcid = normalize_pmcid(f"PMC{pmcid}" if pmcid.isdecimal() else pmcid)
        return RecordIds(pmid=pmid, pmcid=pmcid, doi=doi if doi.startswith("10.") else "")


def read_entry(text: str) -> LabelledEntry | None:
    """The entry that a text is; None if it is none."""
    start = text.lstrip()[:1]
    if start == "@":
        return bibtex_block(text).entry
    if start in ("{", "["):
        try:
            loaded: object = json.loads(text)
        except (ValueError, RecursionError):
            return None
        return csl_entry(text, list_of(loaded)[0] if list_of(loaded) else loaded)
    return _tagged_entry(text) if start in ("T", "P") else None


def csl_entry(text: str, item: object) -> LabelledEntry | None:
    """The entry that an item of CSL-JSON is."""
    fields: Mapping[str, object] = mapping_of(item)
    if fields.keys().isdisjoint(("id", "title", "DOI")):
        return None
    key = str(fields.get("id") or fields.get("citation-key") or "")[:200]
    return LabelledEntry(text, "csl", text_of(fields.get("type")).lower(), key, tuple(fields.items()))


def _tagged_entry(text: str) -> LabelledEntry | None:
    """A record of RIS or of PubMed's own form, the values of which may go over several lines."""
    tags = [*TAG.finditer(text)]
    if len(tags) < 2 or text[: tags[0].start()].strip() or tags[0][1].strip() not in ("TY", "PMID"):
        return None
    ends = (*(one.start() for one in tags[1:]), len(text))
    fields = [(tag[1].strip(), text[tag.end() : end].rstrip()) for tag, end in zip(tags, ends, strict=True)]
    kind = next((value for name, value in fields if name in ("TY", "PT")), "")
    key = next((value for name, value in fields if name == "ID"), "")
    return LabelledEntry(text, "ris", kind.strip().lower(), key, tuple(fields))


class BibtexBlock(NamedTuple):
    """A block of BibTeX as written: an entry, or the name and value of a macro, or why it cannot be read ("": it is a
    comment)."""

    raw: str
    entry: LabelledEntry | None = None
    macro: tuple[str, str] | None = None
    reason: str = ""


def bibtex_block(text: str) -> BibtexBlock:
    """The block that a text begins with."""
    from bibtexparser.entrypoint import parse_string
    from bibtexparser.model import Entry, ParsingFailedBlock, String

    found = next(iter(parse_string(text, parse_stack=[]).blocks), None)
    if isinstance(found, ParsingFailedBlock):
        if not isinstance(found.ignore_error_block, Entry):
            return BibtexBlock(text, reason=str(getattr(found.error, "abort_reason", found.error)))
        found = found.ignore_error_block  # a field stands in it twice
    raw = cast(str, found.raw) if found else text
    if isinstance(found, String):
        return BibtexBlock(raw, macro=(found.key.lower(), _within(found.value)))
    if not isinstance(found, Entry):
        return BibtexBlock(raw)
    named = ((next(iter(one.key.split()[-1:]), ""), one.value) for one in found.fields)  # behind a comment
    fields = tuple((name.lower(), _within(value)) for name, value in named)
    whole = text[: text.index(raw) + len(raw)]
    return BibtexBlock(raw, LabelledEntry(whole, "bibtex", found.entry_type.lower(), found.key, fields))


def _plain(value: str) -> str:
    return without_latex(value).replace("{", "").replace("}", "")


def _within(value: str) -> str:
    """A value without the braces, even doubled, or quotation marks around it."""
    for _ in range(2):
        value = value[1:-1] if _is_enclosed(value) else value
    return value


def _is_enclosed(value: str) -> bool:
    """Whether one pair of marks is around it all: not "{Zinc} for {wounds}"."""
    depths = accumulate((letter == "{") - (letter == "}") for letter in value[:-1])
    return len(value) > 1 and (value[0] + value[-1] == '""' or (value[0] + value[-1] == "{}" and all(depths)))
