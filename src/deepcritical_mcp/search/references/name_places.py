"""Names in a reference: those of its authors, laid against a record's, and where its journal's name stands: in full,
abbreviated, as initials, or under another known name.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from rapidfuzz.fuzz import ratio

from deepcritical_mcp.data_files import data_lines
from deepcritical_mcp.evidence.titles import plain_letters
from deepcritical_mcp.models import AuthorName
from deepcritical_mcp.search.references.number_places import YEAR
from deepcritical_mcp.search.references.plain_text import (
    BRACKETED,
    WORD,
    WORD_LISTS,
    Span,
    folded,
    unaccented,
    without,
)

_HAN, _OTHERS = "[\u4e00-\u9fff]", "|".join(sorted(WORD_LISTS["and others"]))
ET_AL = re.compile(rf"(?i)\b(?:{_OTHERS})(?!\w)|& al\b|(?<!{_HAN})等(?!{_HAN})")
"""What stands for the other authors, in the languages of most references."""
_PIECE = re.compile(
    rf"[,;&/|]|…|\.\.\.|(?<![\w‐-])(?:{'|'.join(sorted(WORD_LISTS['and']))})(?![\w.‐-])|(?<=[^\W\d_A-Z])\.\s(?=[A-Z])|"
    r"(?:(?<=[a-z] [A-Z])|(?<=[a-z] [A-Z]{2})) (?=[A-Z][a-z]{2,30} [A-Z]{1,2}\b(?!\.))"
)
"""What parts names: also a full stop, where no semicolon does, and initials: "Berg JA Ruiz K"."""
LISTED = re.compile(r"[^\W\d_]{2} [A-ZÀ-Þ]{1,4}\.\s{1,3}(?=[^\W\d_])")
"""Where names end, with initials and a full stop: "Berg JA, Ruiz K. J Zinc 2019"."""
_NUMBERED = re.compile(r"\A[\s.\[(-]*(?:[A-Za-z]?\d[\d\s.\[\]()-]*)*")
"""In front of the names: "[12]", "S5."."""
_SEMICOLON = re.compile(";")
_QUOTE = re.compile(r"[“„«\"]")
_SLIP, _FIRST_SLIP = 70, 80
"""Percent of equal letters of a name, and of the first one, that may be misspelled."""
_MOST_NAMES, _MOST_SHOWN = 400, 6


class Person(NamedTuple):
    """A name in a list: where it stands, its words without initials, the letters that its other words begin with, and
    its place among a record's authors (-1: it is none of theirs)."""

    span: Span
    words: tuple[str, ...]
    letters: str
    at: int


class PeopleAgreement(NamedTuple):
    """How names agree with a record's authors.

    Attributes:
        by_others: whether the first author, or most of them, are others.
        named: how many are named, where others are left out and the list does not say so; 0 if not.
        span: where they stand.
    """

    verdict: Literal["agrees", "minor", "differs", "absent"]
    written: str = ""
    true: str = ""
    by_others: bool = False
    named: int = 0
    span: Span = (0, 0)


def compare_people(text: str, start: int, end: int, authors: Sequence[AuthorName]) -> PeopleAgreement:
    """How the names between two places of a text agree with a record's authors.

    Names that are left out are no difference, except the first author, who must stand first. Misspelled ones are minor.
    """
    region = text[start:end]
    others = ET_AL.search(region)
    listed = region[: others.start()] if others else region
    people = people_in(listed, authors)
    if not people:
        return PeopleAgreement("absent")
    span = start + people[0].span[0], start + max(people[-1].span[1], others.end() if others else 0)
    is_cut = others is not None or "…" in listed or "..." in listed or len(_PIECE.findall(listed)) > _MOST_NAMES
    persons = [at for at, author in enumerate(authors) if author.given or author.initials]
    is_short = not is_cut and len(people) < len(persons)
    found = PeopleAgreement("agrees", named=len(people) * is_short, span=span)
    if not persons:
        return found
    if people[0].at >= 0 and 0 not in persons:
        people = [one for one in people if one.at >= 0]  # others may be members of the group
    first, known = people[0], {one.at for one in people}
    missing = [author for at, author in enumerate(authors) if at not in known]
    wrong = [first] if first.at > 0 and authors[0].given and -1 not in known else list[Person]()
    slips = list[Person]()
    for before, one in zip((None, *people), people, strict=False):
        at = before.at + 1 if before and before.at >= 0 else people.index(one)
        if one.at < 0:
            is_slip = at not in known and _is_slip(one, authors[at : at + 1], is_first=one is first)
            (slips if is_slip else wrong).append(one)
    grades = [(_initials_differ(one, authors), one) for one in people if not wrong and not slips]
    namesakes = [one for grade, one in grades if grade == 2]
    initials = namesakes or [one for grade, one in grades if grade]
    if not (told := wrong or slips or initials):
        return found
    shown = [authors[one.at] for one in initials] or missing[: len(told)]
    written = ", ".join(listed[slice(*one.span)] for one in told) if shown else listed.strip(" .,;")
    shown = shown or authors[:_MOST_SHOWN]
    true = ", ".join(one.short for one in shown)
    by_others = not initials and (first.at < 0 or 0 not in known or 2 * len(wrong + slips) > len(people))
    verdict = "differs" if wrong or first in namesakes or len(namesakes) > 1 else "minor"
    return found._replace(verdict=verdict, written=written, true=true, by_others=by_others)


def has_author(text: str, authors: Sequence[AuthorName]) -> bool:
    """Whether a text has the family name of one of the authors."""
    words = {*_key(text)}
    return any({*_family(author)} <= words for author in authors)


def people_before(head: str) -> str:
    """The names in what stands before a title: behind a label, up to "et al.", a year or a quotation mark."""
    others = ET_AL.search(head)
    if not others and (year := YEAR.search(head)) and any(map(str.isalpha, head[: year.start()])):
        head = head[: year.start()]
    head = _NUMBERED.sub("", head[: others.end() if others else None]).lstrip(" ,(*_“‘:|")
    return _QUOTE.split(head, maxsplit=1)[0].rstrip(" ,(*_‘:|")


def is_initials(word: str) -> bool:
    """Whether a word can be somebody's initials: "JA", "á"."""
    return (word.isupper() and len(word) <= 3) or len(word) == 1


def _pieces(listed: str) -> Iterator[Span]:
    """The parts of a list of names, each with one name or with the initials of the name before it."""
    commas, start = [part.count(",") for part in listed.split(";")], 0
    is_turned = len(commas) > 1 and max(commas) == 1 and 2 * sum(commas) > len(commas)  # "Berg, Ann; Ruiz, Kim"
    for cut in [*(_SEMICOLON if is_turned else _PIECE).finditer(listed), None][: _MOST_NAMES + 1]:
        yield start, cut.start() if cut else len(listed)
        start = cut.end() if cut else start


def people_in(listed: str, authors: Sequence[AuthorName]) -> list[Person]:
    """The names of a list: pieces between commas and the like, with initials that stand in a piece of their own."""
    owners, found = dict[str, list[int]](), list[Person]()
    for at, author in enumerate(authors):
        for word in (*_family(author), "".join(_key(author.family))):
            owners.setdefault(word, []).append(at)
    for start, end in _pieces(listed):
        every = [one for one in WORD.finditer(listed, start, end) if one[0].lower() not in WORD_LISTS["beside names"]]
        words = [one for one in every if not one[0].islower() or len(one[0]) == 1 or one[0] in owners]
        is_latin = all("LATIN" in unicodedata.name(one, "") for one in listed[start:end] if one.isalpha())
        if not words or not is_latin:  # others cannot be compared
            continue
        keys, before = [_key(one[0])[0] for one in words], found[-1] if found else None
        given = _key(authors[before.at].given) if before and before.at >= 0 and not before.letters else ()
        named = [at for key in keys for at in owners.get(key, ()) if len(key) > 1]
        at = -1 if {*keys} <= {*given} else _author_of(named, {*keys}, found, authors)  # "Fan, Yang, Yang, Jing"
        family = _key(authors[at].family) if at >= 0 else ()
        awaits_initials = at < 0 and before is not None and not before.letters and is_initials(words[0][0])
        own = (n for n, key in enumerate(keys) if key in (*family, "".join(family)))
        last = -1 if awaits_initials else max(own, default=len(keys))
        behind = next((n for n in range(last + 1, len(words)) if not is_initials(words[n][0])), len(words))
        gap = listed[words[behind - 1].end() : words[behind].start()] if behind < len(words) else ""
        is_end = "." in gap and owners.keys().isdisjoint(_key(listed[words[behind].start() :]))
        if is_end or (gap and behind > last + 1):  # "Robeck S. Corrigendum"
            words, keys = words[:behind], keys[:behind]
            every = [one for one in every if one.start() <= words[-1].start()]
        rest = [one[0] for one, key in zip(words, keys, strict=True) if key not in (*family, "".join(family))]
        letters = _capitals("".join(one if is_initials(one) else one[0] for one in rest))
        bare = tuple(one for one in rest if not is_initials(one))
        known = _known(authors[before.at]) if before and before.at >= 0 else ""
        # "Berg, Jan K., Ana Ruiz"
        is_given = not bare or not authors or all(_capitals(one[0]) in known for one in rest)
        if at < 0 and before and not before.letters and is_given:
            found[-1] = before._replace(letters=letters, span=(before.span[0], words[-1].end()))
        elif at >= 0 or (bare and WORD_LISTS["groups"].isdisjoint(map(str.lower, rest))):
            letters = letters if at >= 0 or len(bare) < len(rest) else ""
            found.append(Person((every[0].start(), every[-1].end()), bare, letters, at))
        if is_end:
            break
    return found


def _author_of(named: Sequence[int], keys: set[str], before: Sequence[Person], authors: Sequence[AuthorName]) -> int:
    """Which of the authors with such a family name is meant (-1 of none): best one who has all of it, was not named
    before, and whose turn it is."""
    taken = {one.at for one in before}
    ranks = {at: ({*_family(authors[at])} <= keys, at not in taken, at == len(before)) for at in named}
    return max(named, key=ranks.__getitem__, default=-1)


def _capitals(letters: str) -> str:
    return "".join(WORD.findall(unaccented(letters))).upper()


@lru_cache(maxsize=4096)
def _family(author: AuthorName) -> tuple[str, ...]:
    """The words of a family name, without particles; the "s" of "D'souza" is no word's."""
    words = author.family.replace("-", " ").split()
    return tuple(key for word in words if not word.islower() or len(words) == 1 for key in _key(word))


@lru_cache(maxsize=8192)
def _key(name: str) -> tuple[str, ...]:
    """The words of a name in one spelling, also of umlauts: "Müller" is "Mueller"."""
    return tuple(WORD.findall(folded(name)))


def _is_slip(person: Person, expected: Sequence[AuthorName], *, is_first: bool) -> bool:
    """Whether a name is that of the author who should stand there, misspelled."""
    name, least = " ".join(person.words), _FIRST_SLIP if is_first else _SLIP
    forms = [form for author in expected for form in (" ".join(_family(author)), str(author), *author.given.split())]
    return any(ratio(plain_letters(name), plain_letters(form)) >= least for form in forms)


def _initials_differ(person: Person, authors: Sequence[AuthorName]) -> int:
    """2 if initials have no letter of an author with this family name, also none of middle names; 1 if one of them is
    somebody else's; otherwise 0."""
    family, letters = _key(authors[person.at].family), {*person.letters}
    named = [{*known} for one in authors if _key(one.family) == family and (known := _known(one))]
    if not named or not letters:
        return 0
    is_known = any(letters <= known or len(letters) > len(known) for known in named)
    return 2 if all(map(letters.isdisjoint, named)) else int(not is_known)


def _known(author: AuthorName) -> str:
    """The letters with which the parts of an author's name begin, and other capitals in it."""
    capitals = (letter for letter in f"{author.given}{author.initials}" if letter.isupper())
    parts = (word[0].upper() for word in WORD.findall(author.given))
    return _capitals("".join((*parts, *capitals)))


_WORD = re.compile(r"(?<![^\W_])[^\W\d_]+(?:['’][^\W\d_]+)?")
_QUALIFIER = re.compile(r"\s?[:=(\[/].*")
_SENTENCE = re.compile(r"(?:(?<=[^\W\d_A-Z][^\W\d_A-Z])\.|(?<=[)”\"»’*_\]])[.,;:]|[?!”\"»:;,])[*_]{0,2}\s")


_SHORT_WORD = re.compile(r"(?:\A|[\s.,])[A-Z][^\W\d_]{0,9}\.\Z")
_MOST_SMALL = 4
"""Words in small letters of a name."""
_HIDDEN = "ʘ"
"""In place of the letters of what another field explains: a letter that no name has."""
_WHOLE_WORD = 6
"""Letters of a word that is no abbreviation."""
_CLOSE = 88
"""Percent of the letters of a name in which a word is misprinted that are the same: "Cnt Rev Toxicol"."""
_INITIALS_OF_MANY, _FIRST_LETTERS = 3, 18
"""Words of a name of which the initials, and letters of which the beginning, stand for it: "Proc Natl Acad Sci"."""


class JournalPlace(NamedTuple):
    """Where a journal's name stands, `low` to `high` with the words right beside it that make it another one's, as in
    "BMJ Open" for "BMJ"."""

    start: int
    end: int
    low: int
    high: int


def find_journal(text: str, hidden: Span | None, names: Sequence[str], near: int = -1) -> JournalPlace | None:
    """Where one of a record's names of its journal stands; the longest of several, or the one nearest before `near`.

    Args:
        hidden: the title, where it is known.
    """
    start, end = hidden or (0, 0)
    text = f"{text[:start]}{_HIDDEN * (end - start)}{text[end:]}"
    words = [*_WORD.finditer(text)]
    best: tuple[float, ...] = ()
    for form in _forms(tuple(names)):
        for first in range(len(words)):
            if size := _matched(words, first, form):
                end = words[first + size - 1].end()
                best = max(best, (size, end <= near, -abs(near - end), -first))
    if not best:
        return None
    first, stop = int(-best[-1]), int(best[0] - best[-1])
    start, end = words[first].start(), words[stop - 1].end()
    known = frozenset(_plain(word) for name in names for word in _WORD.findall(name))
    names_end = max((one.end() for one in ET_AL.finditer(text, 0, start)), default=0)
    added = _added(text, words[:first][::-1], start, known, is_before=True)
    before = [one for one in added if one.start() >= names_end]
    behind = [*_added(text, words[stop:], end, known, is_before=False)]
    return JournalPlace(start, end, before[-1].start() if before else start, behind[-1].end() if behind else end)


def _added(
    text: str, words: Sequence[re.Match[str]], edge: int, known: frozenset[str], *, is_before: bool
) -> Iterator[re.Match[str]]:
    """Words beside a name, with nothing but a space between, that make it another journal's name."""
    marks = {*',;:([“”"?!/|—–*_0123456789', *".)]‘’" * is_before, _HIDDEN}
    for one in words:
        between = text[one.end() : edge] if is_before else text[edge : one.start()]
        if not marks.isdisjoint(f"{between}{one[0][0]}"):
            return
        is_sentence = one[0][0].islower() or (edge >= _WHOLE_WORD and text[edge - _WHOLE_WORD : edge].isalpha())
        if not is_before and "." in between and is_sentence:  # "bioRxiv. Cold Spring Harbor", but "Sci. Adv. Mater."
            return
        edge, word = one.start() if is_before else one.end(), _plain(one[0])
        if is_before and len(one[0]) <= 3 and one[0].isupper() and one[0] != "J":  # somebody's initials
            return
        is_own = word in known or (len(word) > 1 and any(_abbreviates(word, other) for other in known))
        if not is_own and word not in WORD_LISTS["in journals"] | WORD_LISTS["behind journals"]:
            yield one


@lru_cache(maxsize=512)
def _forms(names: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """The words of the names that a journal goes by, the longest first."""
    found = dict[tuple[str, ...], None]()
    forms = [form for name in names for form in (_QUALIFIER.sub("", name), name)]
    for name in (*forms, *(other for form in forms for other in _RENAMED.get(_telling(form), ()))):
        words = _telling(name)
        sizes = range(_INITIALS_OF_MANY, len(words) + 1)
        found |= {("".join(word[0] for word in words[:size]),): None for size in sizes}
        begun = (words[:size] for size in sizes if len("".join(words[:size])) >= _FIRST_LETTERS)
        found |= dict.fromkeys((words, next(begun, words)) if words else ())
    return tuple(sorted(found, key=len, reverse=True))


def _telling(name: str) -> tuple[str, ...]:
    """The words of a name by which it is known."""
    return tuple(word for word in map(_plain, _WORD.findall(name)) if word not in WORD_LISTS["in journals"])


def _matched(words: Sequence[re.Match[str]], first: int, form: Sequence[str]) -> int:
    """How many words of a text, from the first on, are a name; 0 if they are not."""
    at, slips, begin = first, 0, words[first][0]
    if len(form) == 1:
        word, is_name = _plain(begin), len(form[0]) > 4 and begin[0].isupper()
        return int(word == form[0] or (is_name and len(word) >= 4 and form[0].startswith(word)))
    for wanted in form:
        while first < at < len(words) and _plain(words[at][0]) in WORD_LISTS["in journals"] - {wanted}:
            at += 1
        if at >= len(words):
            return 0
        word = _plain(words[at][0])
        is_slip = not _abbreviates(word, wanted)
        slips, at = slips + is_slip, at + 1
        if slips > 1 or (is_slip and word[0] != wanted[0]):
            return 0
    given, name = " ".join(_plain(word[0]) for word in words[first:at]), " ".join(form)
    return 0 if slips and ratio(given, name) < _CLOSE else at - first


@lru_cache(maxsize=8192)
def _abbreviates(one: str, other: str) -> bool:
    """Whether one word is the other, or its abbreviation: "Natl" of "National"."""
    short, long = sorted((one, other), key=len)
    letters = iter(long)
    return short[0] == long[0] and all(letter in letters for letter in short)


@lru_cache(maxsize=8192)
def _plain(word: str) -> str:
    return plain_letters(word).replace("'", "").replace("’", "")


_RENAMED = dict[tuple[str, ...], list[str]]()
"""Names of journals that continue each other, and names that readers use, by each of them."""
for _names in (row.split("/") for row in data_lines(__file__, "journal_names.txt")):
    for _name in _names:
        _RENAMED.setdefault(_telling(_name), []).extend(_names)


def sentences_back(text: str) -> Iterator[Span]:
    """The sentences of a text from its end, without the marks around them; abbreviated words are no sentences."""
    high, cuts = len(text), [one.span() for one in _SENTENCE.finditer(text)]
    for start, end in ((0, 0), *cuts)[::-1]:
        name = text[end:high].strip(" .,;:*_()[]”“\"'’‘?!\n\t")
        is_abbreviated = text[start:end].startswith(".") and _SHORT_WORD.search(text, max(0, start - 12), start + 1)
        if not any(map(str.isalpha, name)) or (is_abbreviated and (" " not in name or "." in name)):
            continue
        first = text.index(name, end)
        yield first, first + len(name)
        high = end


def other_journal(text: str, start: int, end: int, authors: Sequence[AuthorName]) -> Span | None:
    """What stands where the journal should, between names, title and numbers, if that can be one's name: the last
    sentence there."""
    part = without(BRACKETED, text[start : max(start, end)])
    for first, last in sentences_back(part):
        words = WORD.findall(part[first:last])
        small = sum(word.islower() and word not in WORD_LISTS["in journals"] for word in words)
        is_name = any(word != word.lower() for word in words) and small <= _MOST_SMALL
        if is_name and not has_author(part[first:last], authors):
            return start + first, start + last
    return None
