"""Where the statements of a plain reference stand in it.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rapidfuzz.distance import Indel

from deepcritical_mcp.checking.correction_ids import LINK, id_places
from deepcritical_mcp.evidence.titles import identifies, tokens
from deepcritical_mcp.models import Publication, without_retraction_mark
from deepcritical_mcp.search.references import WrittenReference, read_reference
from deepcritical_mcp.search.references.name_forms import journals_agree
from deepcritical_mcp.search.references.stated_years import stated_year
from deepcritical_mcp.search.references.statements import Statements, names_in, statements_around
from deepcritical_mcp.search.references.title_forms import main_title, place_of_title, title_window
from deepcritical_mcp.search.references.written import MAX_REFERENCE, title_words

_MARKUP = re.compile(r"[*_\\]|</?(?:i|b|em|sub|sup)>")
_HIDDEN = "\0"
_WORDS_BEFORE = re.compile(r"(?<=[.?!:;,”“\"'‘’«»()\[\]])\s{0,2}(?:[^\W\d_][\w-]{0,30}\s){1,5}\Z")
_WORDS_BEHIND = re.compile(r"(?:\s[^\W\d_][\w-]{0,30}){1,5}(?=[.?!”\"»)\]*]|\Z)")
_LONG_WORD = re.compile(r"[^\W\d_]{4,}")
_YEAR_BEFORE = re.compile(
    r"(?:(?:[A-Z][\w'’-]{1,30}|[A-Z]\.?|et al\.?|and|&),? ){0,8}\(?(?:19|20)\d\d[a-z]?\)?[.,:]?\s"
)
_WORD_END = re.compile(r"\w{0,20}")
_ET_AL = re.compile(r"[\s,;]{0,3}\b(?:et\.? al\b\.?|and others\b|and colleagues\b)", re.IGNORECASE)
_INITIALS_BEHIND = re.compile(r" [A-Z]{1,3}(?=[.,;)]|\Z)|, ?(?:[A-Z]\.[\s-]?){1,3}")
_BEFORE_NAMES = re.compile(r"[\W\d_]{0,12}")
_ADDED_TO_JOURNAL = re.compile(
    r" ?\((?!Suppl|Pt|Part|No\b|Spec)[A-Z][A-Za-z ]{2,30}(?:, [^()\d]{1,30}(?:: \d{4})?)?\)(?=[\s.,;:]|\Z)"
)
_BEHIND_NAMES = " \t\n(:,;“„«\"'‘[*_–—"

Span = tuple[int, int]


@dataclass(frozen=True)
class Places:
    """Where the statements of a reference stand: (start, end), None for what it does not say or cannot be found."""

    title: Span | None = None
    authors: Span | None = None
    year: Span | None = None
    journal: Span | None = None
    volume: Span | None = None
    issue: Span | None = None
    pages: Span | None = None

    def rest(self, written: str) -> list[str]:
        """The longer words of the reference that belong to no statement."""
        known = [*filter(None, vars(self).values()), *((one.lead, one.end) for one in id_places(written))]
        known += [link.span() for link in LINK.finditer(written)]
        letters = list(written)
        for start, end in known:
            letters[start:end] = " " * (end - start)
        return _LONG_WORD.findall("".join(letters))


def find_places(written: str, publication: Publication) -> Places:
    """Where a plain reference says what, with the help of the record that it means."""
    reference = read_reference(written)
    title, says = _title(reference, publication)
    text = reference.text
    where = _Finder(text, says, *title)
    to_raw = _alignment(text, written[:MAX_REFERENCE])

    def raw(span: Span | None) -> Span | None:
        return (to_raw[span[0]], to_raw[span[1] - 1] + 1) if span and span[0] < span[1] else None

    place = where.place()
    return Places(
        raw(title) if title[0] < title[1] else None,
        raw(where.authors()),
        raw(where.year()),
        raw(where.journal()),
        *map(raw, place),
    )


def _title(reference: WrittenReference, record: Publication) -> tuple[Span, Statements]:
    journals = [name for name in (record.journal, record.journal_abbreviation, record.medline_abbreviation) if name]
    for title in filter(None, (record.title, record.vernacular_title)):
        main = main_title(title)
        for name in (title, main) if main != title and identifies(tokens(main)) else (title,):
            found = place_of_title(
                reference.text,
                reference.words,
                name,
                lambda rest: journals_agree(statements_around(rest, 0, 0).journal, journals),
            )
            if found:
                span = (found.start, found.end)
                return span, statements_around(reference.text, *span)
    wanted = title_words(without_retraction_mark(record.title))
    if reference.has_title and (window := title_window(reference.words, wanted)):
        span = _whole(reference.text, reference.words[window[0]].start, reference.words[window[1]].end, journals)
        return span, statements_around(reference.text, *span)
    says = reference.says
    at = reference.text.find(says.title) if says.title else reference.text.find(says.journal) if says.journal else -1
    if not says.title or at < 0:
        return (max(at, 0), max(at, 0)), says
    span = _trimmed(reference.text, at, at + len(says.title))
    return span, statements_around(reference.text, *span)


def _trimmed(text: str, start: int, end: int) -> Span:
    """A title as one can guess it, without the year before it and what follows its quotation marks."""
    if found := _YEAR_BEFORE.match(text, start, end):
        start = found.end()
    if text[start:end].startswith(("‘", "'")) and (close := re.compile(r"[’'](?=[.,\s])").search(text, start + 8)):
        return start + 1, close.start()
    if text[:start].endswith(": ") and (stop := max(text.rfind(". ", 0, start), text.rfind(") ", 0, start))) > 0:
        start = stop + 2
    if text.startswith(": ", end) and (stop := text.find(". ", end)) > 0 and not text[stop + 2 : stop + 3].isdecimal():
        end = stop  # a subtitle
    return start, end


def _whole(text: str, start: int, end: int, journals: list[str]) -> Span:
    """A title's place with the words at its ends that the record's title does not have, up to the next mark."""
    if (before := _WORDS_BEFORE.search(text, max(0, start - 80), start)) and before.start() > 0:
        start = before.end() - len(before[0].lstrip())
    behind = _WORDS_BEHIND.match(text, end)
    if behind and not journals_agree(statements_around(text, start, end).journal, journals):
        end = behind.end()
    return start, end


@dataclass(frozen=True)
class _Finder:
    """Finds in `text` what `says` says, around a title at `start` to `end`."""

    text: str
    says: Statements
    start: int
    end: int

    def year(self) -> Span | None:
        return stated_year(self.text, self.start, self.end)

    def journal(self) -> Span | None:
        """With the place that NLM adds to it: "Science (New York, N.Y.)"."""
        name = self.says.journal.lstrip("’‘'”\" ,.;:")
        span = self._literal(name, self.end) or self._literal(name, 0, self.start)
        if span and (added := _ADDED_TO_JOURNAL.match(self.text, span[1])):
            return span[0], added.end()
        return span

    def authors(self) -> Span | None:
        names = self.says.authors
        if not names:
            return None
        year = self.year()
        stop = min(self.start, year[0]) if year and year[0] < self.start else self.start
        if names_in(self.text[:stop]) == names:
            low = lead.end() if (lead := _BEFORE_NAMES.match(self.text)) else 0
            return low, len(self.text[:stop].rstrip(_BEHIND_NAMES))
        first = self._literal(names[0], self.end)
        if not first:
            return None
        if shortened := _ET_AL.search(self.text, first[1], first[1] + 300):
            return first[0], shortened.end()
        at = first[1]
        for name in names[1:]:
            at = found[1] if (found := self._literal(name, at, at + 80)) else at
        behind = _INITIALS_BEHIND.match(self.text, at)
        return first[0], len(self.text[: behind.end()].rstrip(" .")) if behind else at

    def place(self) -> Iterator[Span | None]:
        """Where volume, issue and pages stand."""
        journal = self.journal()
        at = max(self.end, journal[1] if journal else 0)
        year = self.year()
        volume, issue, pages = self.says.volume, self.says.issue, self.says.pages
        if volume and pages and (found := self._together(at)):
            yield from (found.span("volume"), found.span("issue") if issue else None)
            rest = _WORD_END.match(self.text, found.end("pages"))
            yield found.start("pages"), rest.end() if rest else found.end("pages")
            return
        low = at
        for value in (volume, issue, pages):
            span = self._number(value, low, year) if value else None
            yield span
            low = span[1] if span else low

    def _together(self, at: int) -> re.Match[str] | None:
        volume, issue, pages = map(re.escape, (self.says.volume, self.says.issue, self.says.pages))
        between = rf"\s{{0,2}}\((?P<issue>{issue})\)" if issue else r"(?:\s{0,2}\(\))?"
        pattern = (
            rf"(?<![\w.])(?P<volume>{volume}){between}\s{{0,2}}[:,]\s{{0,2}}(?:pp?\.?\s{{0,2}})?(?P<pages>{pages})"
        )
        return re.compile(pattern).search(self.text, at) or re.compile(pattern).search(self.text)

    def _number(self, value: str, at: int, year: Span | None) -> Span | None:
        for found in re.compile(rf"(?<![\w.]){re.escape(value)}(?!\w)").finditer(self.text, at):
            if not year or found.start() >= year[1] or found.end() <= year[0]:
                return found.span()
        return None

    def _literal(self, value: str, low: int, high: int | None = None) -> Span | None:
        at = self.text.find(value, low, len(self.text) if high is None else high) if value else -1
        return (at, at + len(value)) if at >= 0 else None


def _alignment(text: str, raw: str) -> list[int]:
    """For each character of `text`, as it is read, its place in `raw`."""
    masked = list(raw)
    hidden = [(one.lead, one.end) for one in id_places(raw)]
    for start, end in (*hidden, *(found.span() for pattern in (LINK, _MARKUP) for found in pattern.finditer(raw))):
        masked[start:end] = _HIDDEN * (end - start)
    places, last = [-1] * len(text), 0
    for one in Indel.opcodes(text, "".join(masked)):
        if one.tag == "equal":
            places[one.src_start : one.src_end] = range(one.dest_start, one.dest_end)
    for at, place in enumerate(places):
        last = place if place >= 0 else last
        places[at] = last
    return places
