"""Notes that only name a work of the list of references or of an earlier note: "North/Pfefferbaum (2013), S. 510",
"Berg et al., “Zinc,” 501; Ruiz 2019, 4".

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from deepcritical_mcp.checking.draft.author_year import NameIndex, folded, named_citations
from deepcritical_mcp.checking.draft.entry_forms import has_date_or_id, is_repeated
from deepcritical_mcp.checking.draft.inline_references import stated_ids
from deepcritical_mcp.checking.draft.list_entries import ListEntry
from deepcritical_mcp.search.references.guesses import ET_AL, names_in

_LONGEST = 240
_LONGEST_MENTION = 120
_WORD = re.compile(r"[^\s,/&();]{1,60}")
_MOST_WORDS = 5
_LEADS = frozenset("see also cf vgl siehe auch voir compare and und y et but dazu s sowie ferner".split())
_PAGES = re.compile(
    r"[\s,.:;)]{0,5}(?:(?:hier|here|esp\.|pp?\.|S\.|at|f{1,2}\.?|passim|[A-Za-z]?[0-9]{1,5}(?:[–-][0-9]{1,5})?)[\s,.;]{0,3}){0,6}"
)
_PARTS = re.compile(r";\s{0,3}|(?<=[\d”\"]),?\s(?:with|and|mit|und)\s{1,3}")
_LEAD = re.compile(
    r"\A(?:(?:see|also|but|cf\.?|compare|and|vgl\.?|siehe|auch|und|voir|s\.)\s{1,3}){0,4}", re.IGNORECASE
)
_YEAR = r"(?:1[5-9]|20)\d\d"
_TITLED = re.compile(
    r"(?P<names>[^\W\d_][^\d“”„«»\"*,:]{1,80}(?:, [A-Z]\.?)?(?:, (?:and|&) [^\d“”„«»\"*,:]{2,40})?)[,:]?\s"
    r"[“„«\"*_‘']{0,3}(?P<title>[^\d“”„«»\"*;]{4,80}?)[.,]?[”“»\"*_’']{0,3}[.,]?\s?"
    rf"(?:\(?(?P<year>{_YEAR})\)?[,:]?\s?)?"
    r"(?:(?:(?:pp?\.|S\.|at)\s?)?[0-9]{1,5}(?:\s?[–-]\s?[0-9]{1,5})?)?[.\s]{0,3}"
)
"""Names, a short title and perhaps pages: "Berg et al., “Zinc in Wounds,” 501", "Jan Berg, Zinc in wounds, 2019"."""
_NAMES_AND_TITLE = re.compile(
    r"(?P<names>[^\W\d_][^\d“”„«»\"*:;]{1,100}),\s[“„«\"][^“”„«»\"\n]{4,200}[”“»\"][^“”„«»\"\n]{0,60}"
)
"""Names and a title in quotation marks, perhaps with journal and year: "Berg, “Zinc in Wounds” (Lancet 1998)"."""
_NAMES_AND_BARE_TITLE = re.compile(
    r"(?P<names>[^\W\d_][^\d“”„«»\"*:;,]{1,80}),\s[^\W\d_a-z][^\d“”„«»\"*;,()]{2,80}"
    r"(?:,\s(?:1[5-9]|20)\d\d)?,\s(?:(?:pp?\.|S\.)\s?)?[0-9]{1,5}(?:\s?[–-]\s?[0-9]{1,5})?[.\s]{0,3}"
)
"""Names, a title without quotation marks, and pages: "Berg, Zinc in wounds, 501"."""
_NOTE = r"\((?:(?:as|cited|see|wie|siehe)\s)?(?:in\s)?(?:nn?\.|notes?|fn\.?|Anm\.|Fn\.?|FN)\s?\d{1,4}\)"
_OF_NOTE = re.compile(rf"\s?{_NOTE}")
"""The number of the note that has the whole work: "Berg, Zinc (wie Anm. 1), S. 501"."""
_NAMES_ALONE = re.compile(
    rf"(?P<names>[^\W\d_][^\d“”„«»\"*:;,()]{{1,80}}?),?\s"
    rf"(?:{_NOTE}|(?:op|loc|art|ob)\.\s?cit\.(?:,? {_NOTE}| note \d{{1,4}})?"
    r"|a\.\s?a\.\s?O\.|supra(?: note \d{1,4})?|(?=(?:pp?\. |S\. )?(?!1[5-9]\d\d|20\d\d)\d))"
    r"(?:,?\s?(?:(?:at|pp?\.|S\.)\s?)?[0-9]{1,5}(?:\s?[–-]\s?[0-9]{1,5})?f{0,2})?[.\s]{0,3}"
)
"""Names, and where the work stands: "Berg, op. cit., 501", "Berg (n. 1), 501", "Berg and Ruiz, 501"."""
_NAME_WORDS = frozenset("et al and und & y u a others van von de der den del la le".split())
_QUOTED = re.compile(r"[“„«\"*_‘]|(?<=\s)'")
_BEHIND_PAGES = re.compile(
    r"[\s,;]{0,3}(?:\([^()\d]{3,40}\)|my translation|emphasis (?:added|in (?:the )?original)|passim|"
    r"(?:[Ff]ig|[Tt]able|[Tt]ab)\.? ?\d{1,4}|(?<=\d) ?ff?|(?<=\d)n\d{1,4})[.\s]{0,3}\Z"
)
"""What may stand behind a short title and pages: "(my translation)", "fig. 2"."""
_IS_PAGE = re.compile(r"\b(?:pp?|S)\.\s?\d")
_POINTS = re.compile(r"(?:\b(?:see|cf|compare|vgl|siehe|voir)\b\.?|\b(?:also|auch|aussi)\b)\s{1,3}\Z", re.IGNORECASE)
_TOKEN = re.compile(r"[^\W\d_]+")
_HEAD, _NEAR = 80, 500
"""Characters of a work in which its first author stands, and its title."""
_MOST_ALIKE = 30
"""Works of one name that short titles tell apart."""
_LEAST_WORD = 4
"""Letters of a word that a short title must have."""


class ShortNotes(NamedTuple):
    """The labels of the notes that name a work, by the text of that work; the other entries and notes; and the notes
    that name works of which nothing is known."""

    labels: Mapping[str, tuple[str, ...]]
    entries: Sequence[tuple[ListEntry, int]]
    others: Sequence[ListEntry]
    unknown: Sequence[ListEntry]


def names_titles(note: str) -> bool:
    """Whether a note names works by names and titles, and says nothing else."""
    parts = [
        _OF_NOTE.sub("", _LEAD.sub("", part, count=1)) if not _NAMES_ALONE.fullmatch(part) else part
        for part in _PARTS.split(note.strip())
        if part
    ]
    return len(note) <= _LONGEST and bool(parts) and all(map(_names_title, parts))


def _names_title(part: str) -> bool:
    part = _BEHIND_PAGES.sub("", part)
    if _QUOTED.search(part) and _TITLED.fullmatch(part):
        return True
    forms = (_NAMES_ALONE, _NAMES_AND_TITLE, _NAMES_AND_BARE_TITLE)
    found = next((found for form in forms if (found := form.fullmatch(part))), None)
    words = [word.strip(".,") for word in found["names"].split()] if found else []
    return bool(words) and all(word[:1].isupper() or word in _NAME_WORDS for word in words)


def short_notes(entries: Sequence[tuple[ListEntry, int]], notes: Sequence[ListEntry]) -> ShortNotes:
    """Which of the notes, and of the entries of lists of notes, only name a work: one of the list, or of a note before.

    Notes and entries are works apart.
    """
    works = [*(one for one, _ in entries), *notes]
    known = _KnownWorks([one.text for one in works])
    labels, kept, last = dict[str, tuple[str, ...]](), dict[int, ListEntry](), list[int]()
    unknown = list[ListEntry]()
    for number, work in enumerate(works):
        is_note = number >= len(entries)
        meant = last if is_repeated(work.text) else known.meant(number, work.text, is_note=is_note)
        meant = [] if work.says else [one for one in meant if one in kept]
        if not meant and is_note and names_titles(work.text) and not has_date_or_id(work.text):
            unknown.append(work)  # it says too little to look for it
            continue
        if not meant:
            further = [*known.pointed_at(number, work.text)]
            kept[number] = work._replace(apart=(*work.apart, *(written for written, _ in further)))
            meant_too = [one for _, found in further for one in found]
            last = [number]
        else:
            meant_too, last = meant, meant
        for text in dict.fromkeys(works[one].text for one in meant_too):
            labels[text] = (*labels.get(text, ()), *((work.label.partition(" (")[0],) if work.label else ()))
    listed = [(kept[at], entries[at][1]) for at in range(len(entries)) if at in kept]
    others = [kept[at] for at in range(len(entries), len(works)) if at in kept]
    return ShortNotes(labels, listed, others, unknown)


class _KnownWorks:
    """The works of a draft, by their names, years and titles."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._index = NameIndex(texts)
        self._by_name = dict[str, list[int]]()
        for number, text in enumerate(texts):
            for token in dict.fromkeys(_TOKEN.findall(folded(text[:_HEAD]))):
                alike = self._by_name.setdefault(token, [])
                alike[len(alike) :] = [number] if len(alike) < _MOST_ALIKE else []

    def meant(self, number: int, text: str, *, is_note: bool) -> list[int]:
        """The works that a note names if it says nothing else."""
        if len(text) > _LONGEST or any(stated_ids(text)):
            return []
        if is_note or _IS_PAGE.search(text):
            found = self._by_year(number, text, is_note=is_note)
            if found:
                return found
        meant = list[int]()
        for part in filter(None, _PARTS.split(text.strip())):
            part = _LEAD.sub("", part, count=1)
            one = (
                self._by_name_alone(number, part)
                or self._by_title(number, _OF_NOTE.sub("", part), is_note=is_note or _OF_NOTE.search(part) is not None)
                or (self._by_year(number, part, is_note=True) if is_note else [])
            )
            if not one:
                return []
            meant += one
        return [*dict.fromkeys(meant)]

    def pointed_at(self, number: int, text: str) -> Iterator[tuple[str, list[int]]]:
        """The works that a work points at in a few words, "Cf. Berg 2019": as written, and those that are meant."""
        for cited in named_citations(text[: 2 * _NEAR]):
            start = min(cited.start, cited.opened) if cited.opened >= 0 else cited.start
            is_pointed = _POINTS.search(text[max(0, start - 20) : start]) is not None
            found = self._index.entries(cited, besides=number) if is_pointed else []
            if found:
                yield text[cited.start : cited.end].rstrip(" )]"), found

    def _by_year(self, number: int, note: str, *, is_note: bool) -> list[int]:
        cited = [*named_citations(note)] if len(note) <= _LONGEST else []
        meant, at = list[int](), 0
        for one in cited:
            before = _WORD.findall(note[at : one.start])
            is_named = len(before) <= _MOST_WORDS and all(_may_lead(word, is_note=is_note) for word in before)
            found = [entry for entry in self._index.entries(one, besides=number) if self._leads(entry, one.names)]
            pages = _PAGES.match(note, one.end)
            if not is_named or not found or not pages:
                return []
            meant += found
            at = pages.end()
        return [*dict.fromkeys(meant)] if at >= len(note.rstrip()) else []

    def _leads(self, entry: int, names: Sequence[str]) -> bool:
        """Whether the first name, or the work's acronym, stands where the authors of a work do."""
        head = {*_TOKEN.findall(folded(self._texts[entry][:_HEAD]))}
        return names[0].isupper() or not head.isdisjoint(_TOKEN.findall(folded(names[0])))

    def _by_name_alone(self, number: int, part: str) -> list[int]:
        """The last work before a note that has its first name: "Berg, op. cit., 501"."""
        found = _NAMES_ALONE.fullmatch(part) if len(part) <= _LONGEST_MENTION else None
        names = names_in(found["names"]) if found else ()
        tokens = _TOKEN.findall(folded(names[0])) if names else []
        alike = self._by_name.get(tokens[-1], ()) if tokens else ()
        return [one for one in alike if one < number and len(self._texts[one]) > len(part)][-1:]

    def _by_title(self, number: int, part: str, *, is_note: bool) -> list[int]:
        part = _BEHIND_PAGES.sub("", part)
        found = _TITLED.fullmatch(part) if len(part) <= _LONGEST_MENTION and (is_note or _QUOTED.search(part)) else None
        names = [_TOKEN.findall(folded(name)) for name in names_in(found["names"])] if found else []
        if not found or not names or not all(names):
            return []
        words = _TOKEN.findall(folded(found["title"]))
        if not any(len(word) >= _LEAST_WORD for word in words):
            return []
        alike = (one for one in self._by_name.get(names[0][-1], ()) if one != number)
        year = found["year"] or ""
        others = {name[-1] for name in names[1:]}
        return [
            one
            for one in alike
            if year in self._texts[one] and self._has(self._texts[one], words) and self._are_by(one, others)
        ]

    def _are_by(self, entry: int, others: Collection[str]) -> bool:
        """Whether a work may be by these authors besides the first."""
        head = self._texts[entry][:_NEAR]
        return ET_AL.search(head) is not None or {*_TOKEN.findall(folded(head))}.issuperset(others)

    def _has(self, text: str, words: Sequence[str]) -> bool:
        """Whether a text has these words in this order."""
        left = iter(_TOKEN.findall(folded(text[:_NEAR])))
        return all(word in left for word in words)


def _may_lead(word: str, *, is_note: bool) -> bool:
    """Whether a word may stand before the names that a note cites: "see", and of a note a given name or initial."""
    if word.strip(".:").lower() in _LEADS:
        return True
    return is_note and word[0].isupper() and (len(word) <= _LEAST_WORD or word[-1] not in ".:")
