"""The names in a reference, laid against a record's authors.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, NamedTuple

from rapidfuzz.fuzz import ratio

from deepcritical_mcp.evidence.titles import plain_letters
from deepcritical_mcp.models import AuthorName
from deepcritical_mcp.search.references.number_places import YEAR
from deepcritical_mcp.search.references.plain_text import WORD, Span, folded, listed_words

ET_AL = re.compile(
    r"\b(?:et\.? al(?:ii)?|and (?:others|colleagues|co-?workers|associates)|(?:y|e|et) col(?:s|l|aboradores)?\.?|"
    r"u\. ?a\.|und andere|(?:und|u\.) Mitarb(?:\.|eiter\w{0,5})|m\. ?fl\.|a kol\.|i (?:in|wsp)\.|ve ark\.|и др\.|"
    r"и соавт\.|ym\.)(?!\w)|& al\b|(?<![\u4e00-\u9fff])等(?![\u4e00-\u9fff])",
    re.IGNORECASE,
)
"""What stands for the other authors, in the languages of most references."""
_PIECE = re.compile(
    r"[,;&/|]|…|\.{3}|(?<![\w‐-])(?:and|und|y|et)(?![\w.‐-])|(?<=[^\W\d_A-Z])\.\s(?=[A-Z])|"
    r"(?:(?<=[a-z] [A-Z])|(?<=[a-z] [A-Z]{2})) (?=[A-Z][a-z]{2,30} [A-Z]{1,2}\b(?!\.))"
)
"""What parts names: also a full stop, where no semicolon does, and initials: "Berg JA Ruiz K"."""
LISTED = re.compile(r"[^\W\d_]{2} [A-ZÀ-Þ]{1,4}\.\s{1,3}(?=[^\W\d_])")
"""Where names end, with initials and a full stop: "Berg JA, Ruiz K. J Zinc 2019"."""
_APART = re.compile(r"\d{1,8}[.,;:)\]]{0,3}\s|[:|]\s")
_SLIP, _FIRST_SLIP = 70, 80
"""Percent of equal letters of a name, and of the first one, that may be misspelled."""
_SHOWN = 3
"""Names that are shown one by one; where more differ, the whole list is."""
_MOST_NAMES = 400


class Person(NamedTuple):
    """A name in a list: where it stands, its words without initials, the letters that its other words begin with, and
    its place among a record's authors (-1: it is none of theirs)."""

    span: Span
    words: tuple[str, ...]
    letters: str
    at: int


@dataclass(frozen=True)
class PeopleAgreement:
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
    people = _people(listed, authors)
    if not people:
        return PeopleAgreement("absent")
    stop = max(people[-1].span[1], others.end() if others else 0)
    stop += others is not None and stop == others.end() and text[start + stop : start + stop + 1] == "."
    span = start + people[0].span[0], start + stop
    is_cut = others is not None or "…" in listed or "..." in listed or len(_PIECE.findall(listed)) > _MOST_NAMES
    is_short = not is_cut and len(people) < sum(map(_is_person, authors))
    found = PeopleAgreement("agrees", named=len(people) * is_short, span=span)
    if not any(map(_is_person, authors)):
        return found
    if people[0].at >= 0 and not _is_person(authors[0]):
        people = [one for one in people if one.at >= 0]  # others may be members of the group
    first, known = people[0], {one.at for one in people}
    missing = [author for at, author in enumerate(authors) if at not in known]
    if first.at > 0 and authors[0].given and -1 not in known:
        return replace(
            found, verdict="differs", written=_written(listed, [first]), true=authors[0].short, by_others=0 not in known
        )
    wrong, slips = list[Person](), list[Person]()
    for before, one in zip((None, *people), people, strict=False):
        at = before.at + 1 if before and before.at >= 0 else people.index(one)
        if one.at < 0:
            expected = authors[at : at + 1] if at not in known else ()
            (slips if _is_slip(one, expected, is_first=one is first) else wrong).append(one)
    if not wrong and not slips:
        return _with_initials(found, people, listed, authors)
    told = wrong or slips
    is_few = len(told) <= min(_SHOWN, len(missing))
    shown = missing[: len(told)] if is_few else authors[: 2 * _SHOWN]
    true = ", ".join([one.short for one in shown] + ["et al"] * (not is_few and len(authors) > len(shown)))
    written = _written(listed, told) if is_few else text[slice(*span)].strip(" .,;")
    by_others = first.at < 0 or 0 not in known or 2 * len(wrong + slips) > len(people)
    return replace(found, verdict="differs" if wrong else "minor", written=written, true=true, by_others=by_others)


def _written(listed: str, people: Sequence[Person]) -> str:
    return ", ".join(listed[slice(*one.span)] for one in people)


def has_author(text: str, authors: Sequence[AuthorName]) -> bool:
    """Whether a text has the family name of one of the authors."""
    words = {*_key(text)}
    return any({*_family(author)} <= words for author in authors)


def first_name_in(text: str) -> str:
    """The family name that a list of authors begins with, or the whole name if it is written out."""
    return next((" ".join(one.words) for one in _people(ET_AL.split(text, maxsplit=1)[0], ())), "")


def people_before(head: str) -> str:
    """The names in what stands before a title: up to "et al." or a year, behind other numbers."""
    others = ET_AL.search(head)
    if not others and (year := YEAR.search(head)) and any(map(str.isalpha, head[: year.start()])):
        head = head[: year.start()]
    names = head[: others.start()] if others else head
    low = max((one.end() for one in _APART.finditer(names.rstrip(" :|("))), default=0)
    return head[low : others.end() if others else None].lstrip(" .-[]()0123456789").strip(" ,(*_“‘:|")


def is_initials(word: str) -> bool:
    """Whether a word can be somebody's initials: "JA", "á"."""
    return (word.isupper() and len(word) <= 3) or len(word) == 1


def _people(listed: str, authors: Sequence[AuthorName]) -> list[Person]:
    """The names of a list: pieces between commas and the like, with initials that stand in a piece of their own."""
    owners, found, places = dict[str, list[int]](), list[Person](), [-1]
    for at, author in enumerate(authors):
        for word in (*_family(author), "".join(_key(author.family))):
            owners.setdefault(word, []).append(at)
    for cut in [*_PIECE.finditer(listed), None][: _MOST_NAMES + 1]:
        places.append(cut.end() if cut else len(listed))
        start, end = max(places[-2], 0), cut.start() if cut else len(listed)
        every = [one for one in WORD.finditer(listed, start, end) if one[0].lower() not in listed_words("beside names")]
        words = [one for one in every if not one[0].islower() or len(one[0]) == 1 or one[0] in owners]
        if not words or not _is_latin(listed[start:end]):
            continue
        keys, taken = [_key(one[0])[0] for one in words], {one.at for one in found}
        named = [at for key in keys for at in owners.get(key, ()) if len(key) > 1]
        at = min(named, key=lambda one: (not {*_family(authors[one])} <= {*keys}, one in taken), default=-1)
        family = _key(authors[at].family) if at >= 0 else ()
        own = [n for n, key in enumerate(keys) if key in (*family, "".join(family))]
        behind = own[-1] + 1 if own else len(words)
        while own and behind < len(words) and is_initials(words[behind][0]):
            behind += 1
        if own and behind > own[-1] + 1:  # "Robeck S. Corrigendum"
            words, keys = words[:behind], keys[:behind]
            every = [one for one in every if one.start() <= words[-1].start()]
        rest = [one[0] for one, key in zip(words, keys, strict=True) if key not in (*family, "".join(family))]
        letters = "".join(one if is_initials(one) else one[0] for one in rest) if at >= 0 else ""
        is_all, last = all(map(is_initials, rest)), found[-1] if found else None
        if at < 0 and last and not last.letters and (is_all or _is_given(rest, last, authors)):
            letters = "".join(one if is_initials(one) else one[0] for one in rest)
            found[-1] = last._replace(letters=_plain(letters), span=(last.span[0], words[-1].end()))
        elif at >= 0 or not (is_all or not listed_words("groups").isdisjoint(map(str.lower, rest))):
            bare = tuple(one for one in rest if not is_initials(one))
            letters = letters or "".join(one for one in rest if is_initials(one)) * (at < 0)
            found.append(Person((every[0].start(), every[-1].end()), bare, _plain(letters), at))
    return found


def _is_person(author: AuthorName) -> bool:
    return bool(author.given or author.initials)


def _is_latin(text: str) -> bool:
    """Whether a name is in Latin letters: others cannot be compared."""
    return text.isascii() or all("LATIN" in unicodedata.name(one, "") for one in text if one.isalpha())


def _plain(letters: str) -> str:
    return "".join(_key(letters)).upper()


def _is_given(words: Sequence[str], before: Person, authors: Sequence[AuthorName]) -> bool:
    """Whether words may be the given names of the author before them: "Berg, Jan K., and Ana Ruiz"."""
    if before.at < 0:
        return not authors
    given = _key(authors[before.at].given)
    is_known = any(len(one) > 1 for one in given) and not authors[before.at].given.isupper()
    return all(
        _key(one)[0] in given if is_known and len(one) > 1 else _plain(one[0]) in _known(authors[before.at])
        for one in words
    )


@lru_cache(maxsize=4096)
def _family(author: AuthorName) -> tuple[str, ...]:
    """The words of a family name, without particles."""
    words = WORD.findall(author.family)
    return tuple(key for word in words if not word.islower() or len(words) == 1 for key in _key(word))


@lru_cache(maxsize=8192)
def _key(name: str) -> tuple[str, ...]:
    """The words of a name in one spelling, also of umlauts: "Müller" is "Mueller"."""
    return tuple(WORD.findall(folded(name)))


def _is_slip(person: Person, expected: Sequence[AuthorName], *, is_first: bool) -> bool:
    """Whether a name is that of the author who should stand there, misspelled, or only the given name."""
    name, least = " ".join(person.words), _FIRST_SLIP if is_first else _SLIP
    if not is_first and name and any({*_key(name)} <= {*_key(author.given)} for author in expected):
        return True
    forms = [form for author in expected for form in (" ".join(_family(author)), str(author), author.given) if form]
    return len(name) > 1 and any(ratio(plain_letters(name), plain_letters(form)) >= least for form in forms)


def _with_initials(
    found: PeopleAgreement, people: Sequence[Person], listed: str, authors: Sequence[AuthorName]
) -> PeopleAgreement:
    """With what is wrong with initials: minor, unless those of the first author, or of several, are somebody else's."""
    wrong, minor = list[tuple[Person, AuthorName]](), list[tuple[Person, AuthorName]]()
    for person in people:
        family = _key(authors[person.at].family)
        named = [one for one in authors if person.letters and _key(one.family) == family and _known(one)]
        if how := min((_initials_differ(person.letters, one) for one in named), default=0):
            (wrong if how > 1 else minor).append((person, named[0]))
    is_grave = len(wrong) > 1 or any(author == authors[0] for _, author in wrong)
    if not (pairs := wrong if is_grave else [*wrong, *minor]):
        return found
    written, true = _written(listed, [one for one, _ in pairs]), ", ".join(author.short for _, author in pairs)
    return replace(found, verdict="differs" if is_grave else "minor", written=written, true=true)


def _known(author: AuthorName) -> str:
    """The letters with which the parts of an author's name begin, and other capitals in it."""
    capitals = (letter for letter in f"{author.given}{author.initials}" if letter.isupper())
    parts = (word[0].upper() for name in (author.given, author.family) for word in WORD.findall(name))
    return _plain("".join((*parts, *capitals)))


def _initials_differ(letters: str, author: AuthorName) -> int:
    """2 if initials are somebody else's, 1 if one of them is, or the first in another spelling, otherwise 0. Those of
    middle names, and of a part of the family name, count too."""
    known = _known(author)
    pair = f"{letters[0]}{known[:1]}"
    is_like = not {pair, pair[::-1]}.isdisjoint(listed_words("like letters"))
    if not {*known}.isdisjoint(letters):
        return int(
            not is_like
            and not {*letters} <= {*known}
            and len(letters) <= len({*_plain(author.short.rpartition(" ")[2])})
        )
    return 2 - is_like
