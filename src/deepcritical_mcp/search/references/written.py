"""A reference as it is written: its words, its numbers, the identifiers that stand in it, and what it says as far as
that can be told without a record; and references whose parts are labelled, as reference managers write them.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property

from deepcritical_mcp.evidence.titles import content_words, tokens
from deepcritical_mcp.identifiers import RecordIds, arxiv_doi
from deepcritical_mcp.reading.library_entries import LibraryForm, WrittenEntry, first_entry
from deepcritical_mcp.search.references.entry_fields import OTHERS, EntryFields
from deepcritical_mcp.search.references.name_places import ET_AL, LISTED, people_before, people_in, sentences_back
from deepcritical_mcp.search.references.number_places import JOINING, YEAR, find_numbers, years_only
from deepcritical_mcp.search.references.plain_text import stated_ids, without_latex
from deepcritical_mcp.search.references.title_places import LEAST_WORDS, Word, title_span, words_of
from deepcritical_mcp.text import clean_line, clean_text, normalized

MAX_REFERENCE = 12_000
"""Characters of a reference that are read; of an entry of a reference manager, which may have an abstract, all."""
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
        entry: the fields of an entry of a reference manager or database; None of any other reference.
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


class LabelledEntry(EntryFields):
    """An entry of a reference manager or database, and what it says."""

    @property
    def type(self) -> str:
        """The type of work that it names, in small letters: "jour", "book_section"."""
        return "_".join(self.line("type").lower().split())

    @property
    def key(self) -> str:
        """Its key; "" without one."""
        return self.line("citation_key")[:200]

    def says(self) -> Statements:
        """What its fields say."""
        said = {name: normalized("NFKC", self.line(name)) for name in ("title", "volume", "issue", "pages", "last")}
        journal = normalized("NFKC", self.line("journal") or self.line("book_title"))
        journal = "" if journal == said["title"] else journal
        pages = filter(None, (said["pages"].replace("–", "-").replace("--", "-"), said.pop("last")))
        said |= {"journal": journal, "pages": "-".join(pages)}
        year = YEAR.search(" ".join(self.written("year")))
        names = ("et al" if one.lower().strip(".") in OTHERS else one.rstrip(", ") for one in self.names("authors"))
        people = [normalized("NFKC", one) for one in names]
        author = next((one.partition(",")[0].strip() for one in people if one != "et al"), "")
        return Statements(year=year[0] if year else "", people="; ".join(people), author=author, **said)

    def ids(self) -> RecordIds:
        """The identifiers in fields that name no kind of number in their value."""
        is_arxiv = self.line("archive").lower() == "arxiv"
        return self.own_numbers.completed(RecordIds(doi=arxiv_doi(f"arXiv:{self.line('eprint')}") if is_arxiv else ""))


def read_entry(text: str) -> LabelledEntry | None:
    """The entry that a text is; None if it is none."""
    found = first_entry(text)
    return labelled(*found) if found else None


def labelled(entry: WrittenEntry, form: LibraryForm) -> LabelledEntry | None:
    """An entry by what it says; None for JSON about something else, and for one line with a tag, unless that has a
    number and nothing else."""
    read = LabelledEntry(entry, form)
    if form == "json":
        return read if any(map(read.line, ("citation_key", "title", "doi"))) else None
    is_number = any(value.isdecimal() for _, value in entry.fields)
    return read if len(entry.fields) > 1 or is_number else None
