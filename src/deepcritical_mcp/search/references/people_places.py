"""The names in a reference, laid against a record's authors.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

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
_NAME_WORD = re.compile(r"[^\W\d_](?:[^\W\d_]|['’‐-](?=[^\W\d_]))*")
_PIECE = re.compile(
    r"[,;&/|]|…|\.{3}|(?<![\w‐-])(?:and|und|y|et)(?![\w.‐-])|(?<=[^\W\d_A-Z])\.\s(?=[A-Z])|"
    r"(?:(?<=[a-z] [A-Z])|(?<=[a-z] [A-Z]{2})) (?=[A-Z][a-z]{2,30} [A-Z]{1,2}\b(?!\.))"
)
"""What parts names: also a full stop, where no semicolon does, and initials: "Berg JA Ruiz K"."""
LISTED = re.compile(r"[^\W\d_]{2} [A-ZÀ-Þ]{1,4}\.\s{1,3}(?=[^\W\d_])")
"""Where names end, with initials and a full stop: "Berg JA, Ruiz K. J Zinc 2019"."""
_APART = re.compile(r"\d{1,8}[.,;:)\]]{0,3}\s|[:|]\s")
_PARTICLE = 3
"""Letters of "van", "de" and "von", which are no part of a double name."""
_SLIP, _FIRST_SLIP = 70, 80
"""Percent of equal letters of a name, and of the first one, that may be misspelled."""
_SHOWN = 3
"""Names that are shown one by one; where more differ, the whole list is."""
_MOST_NAMES = 400


@dataclass(frozen=True)
class Person:
    """A name in a list: without initials, where it stands, its initials, and its place among a record's authors.

    Attributes:
        at: from 0; -1 if it is none of theirs.
    """

    name: str
    span: Span
    initials: str
    at: int
    is_group: bool


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
    people = [one for one in _people(listed, authors) if not one.is_group]
    people = [one for before, one in zip([None, *people], people, strict=False) if not _is_again(one, before, authors)]
    people = [*_without_lead(people, listed, authors)]
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
    unknown = [one for one in people if one.at < 0]
    if people[0].at >= 0 and not _is_person(authors[0]):
        people, unknown = [one for one in people if one.at >= 0], []  # others may be members of the group
    first = people[0]
    found = replace(found, by_others=first.at < 0 or all(one.at for one in people) or 2 * len(unknown) > len(people))
    if not unknown and first.at and authors[0].given:
        return replace(found, verdict="differs", written=listed[slice(*first.span)], true=authors[0].short)
    if not unknown:
        return _with_initials(replace(found, by_others=False), people, listed, authors)
    pairs = [(one, _expected(n, people, authors)) for n, one in enumerate(people) if one.at < 0]
    slips = [(one, author) for one, author in pairs if author and _is_slip(one, author, is_first=one is first)]
    wrong = [pair for pair in pairs if pair not in slips] or slips
    known = [author for _, author in wrong if author]
    if len(wrong) <= _SHOWN and len(known) == len(wrong):
        written, true = ", ".join(listed[slice(*one.span)] for one, _ in wrong), ", ".join(one.short for one in known)
    else:
        shown = [author.short for author in authors[: 2 * _SHOWN]] + ["et al"] * (len(authors) > 2 * _SHOWN)
        written, true = text[slice(*span)].strip(" .,;"), ", ".join(shown)
    return replace(found, verdict="minor" if wrong == slips else "differs", written=written, true=true)


def _without_lead(people: Sequence[Person], listed: str, authors: Sequence[AuthorName]) -> Sequence[Person]:
    """Without words before the first author that are no name: "For a review, see Berg J", "Adapted from Berg J"."""
    if len(people) > 1 and people[0].at < 0 == people[1].at and people[1].initials and not people[0].initials:
        words = people[0].name.split()
        is_name = len(words) > 1 and not any(one.islower() and len(one) > _PARTICLE for one in words)
        people = people if is_name else people[1:]
    if not people or people[0].at:
        return people
    (start, end), known = people[0].span, {*_key(str(authors[0]))}
    words = [*WORD.finditer(listed, start, end)]
    at = next((n for n, one in enumerate(words) if {*_key(one[0])} <= known or is_initials(one[0])), 0)
    is_led = at > 0 and words[at - 1][0].islower()
    return [replace(people[0], span=(words[at].start(), end)), *people[1:]] if is_led else people


def _is_again(person: Person, before: Person | None, authors: Sequence[AuthorName]) -> bool:
    """Whether a name is the one before it once more, misspelled."""
    return before is not None and person.at < 0 <= before.at and _is_slip(person, authors[before.at], is_first=True)


def has_author(text: str, authors: Sequence[AuthorName]) -> bool:
    """Whether a text has the name of one of the authors among others."""
    return any(one.at >= 0 for one in _people(text, authors))


def names_in(text: str) -> tuple[str, ...]:
    """The family names in a list of authors, and whole names that are written out: "Berg JA, Ruiz K, et al."."""
    return tuple(one.name for one in _people(ET_AL.split(text, maxsplit=1)[0], ()))


def people_before(head: str) -> str:
    """The names in what stands before a title: up to "et al." or a year, behind other numbers."""
    others = ET_AL.search(head)
    if not others and (year := YEAR.search(head)) and any(map(str.isalpha, head[: year.start()])):
        head = head[: year.start()]
    names = head[: others.start()] if others else head
    low = max((one.end() for one in _APART.finditer(names.rstrip(" :|("))), default=0)
    return head[low : others.end() if others else None].lstrip(" .-[]()0123456789").strip(" ,(*_“‘:|")


def is_initials(word: str) -> bool:
    """Whether a word can be somebody's initials: "JA", "J-A", "á"."""
    letters = "".join(filter(str.isalpha, word))
    return (letters.isupper() and len(letters) <= 3) or len(letters) == 1


def _people(listed: str, authors: Sequence[AuthorName]) -> Iterator[Person]:
    """The names of a list: pieces between commas and the like, with initials that stand in a piece of their own."""
    for family in (one.family for one in authors if " " in one.family and _PIECE.search(one.family)):
        listed = listed.replace(family, family.replace(" ", "-"))  # "Paz y Miño" is one name
    is_inverted = ";" in listed
    cuts = [one.span() for one in _PIECE.finditer(listed) if not (is_inverted and one[0][0] in ". ")][:_MOST_NAMES]
    starts, ends = [0, *(end for _, end in cuts)], [*(start for start, _ in cuts), len(listed)]
    forms = [_forms(author) for author in authors]
    last: Person | None = None
    for start, end in zip(starts, ends, strict=True):
        piece = listed[start:end]
        words = [found for found in WORD.finditer(piece) if found[0].lower() not in listed_words("behind names")]
        if not words or not _is_latin(piece):
            continue
        span = start + words[0].start(), start + words[-1].end()
        is_all = all(is_initials(one[0]) or (at and one[0].islower()) for at, one in enumerate(words))
        if is_all and last and not last.initials:
            last = replace(last, initials=_letters(piece), span=(last.span[0], span[1]))
            continue
        if piece.islower() or all(len(one[0]) == 1 for one in words) or not any(map(str.isupper, piece)):
            continue
        person = _person(piece.strip(' .*_:()[]{}“”"‘’'), span, forms, authors)
        follows = last and not last.initials and listed[last.span[1] : start].strip() == ","
        if last and follows and (is_inverted or _is_given(person.name, last, authors)):
            last = replace(last, initials=_letters(_key(piece)[0][:1].upper()), span=(last.span[0], span[1]))
            continue
        if last:
            yield last
        last = person
    if last:
        yield last


def _person(
    piece: str, span: Span, forms: Sequence[Sequence[tuple[str, ...]]], authors: Sequence[AuthorName]
) -> Person:
    words = [found for found in _NAME_WORD.findall(piece) if found.lower() not in listed_words("behind names")]
    is_short = len(words) > 1 and len(words[0]) > 1 and is_initials(words[0]) and f"{words[0]}." not in piece  # "WU Y"
    bare = [
        word
        for at, word in enumerate(words)
        if not is_initials(word) or (at and word.islower()) or len(words) == 1 or (is_short and not at)
    ]
    name = " ".join(bare) or piece
    at = _place(name, forms)
    initials = "".join(map(_letters, (word for word in words if word not in bare))).upper()
    if at >= 0:
        family = {*_key(authors[at].family)}
        rest = [_key(word) for word in bare if not {*_key(word)} <= family and word[:1].isupper()]
        if not initials and len(bare) > 1 and bare[0][:1].isupper() and rest:
            others = {one for author in authors for one in _key(author.family)}  # the family name may stand first
            initials = "" if {*rest[0]} <= others else rest[0][0][:1].upper()
        elif initials and family.isdisjoint(_key(name)) and {*_key(name)} <= {*_key(authors[at].given)}:
            at = -1 if {word[0].upper() for word in family}.isdisjoint(initials) else at  # "Wei Z" for Zhang Wei
    is_group = at < 0 and not listed_words("groups").isdisjoint(word.lower() for word in words)
    return Person(name, span, initials, at, is_group)


def _place(name: str, forms: Sequence[Sequence[tuple[str, ...]]]) -> int:
    """Whose name it is: by all its words, else by a family name, else in part; -1 if nobody's."""
    words = _key(name)
    by_family, in_part = -1, -1
    for number, (family, parts, whole, given) in enumerate(forms if words else ()):
        if "".join(words) == "".join(family) or {*words} == {*whole}:
            return number
        if by_family < 0 and family in (words[-len(family) :], words[: len(family)]):
            by_family = number
        is_part = "".join(words) in ("".join(whole), "".join(given)) or not {*words[:1], *words[-1:]}.isdisjoint(parts)
        if in_part < 0 and (is_part or (len(words) > 1 and ({*words} <= {*whole} or {*family} <= {*words}))):
            in_part = number
    return by_family if by_family >= 0 else in_part


def _is_person(author: AuthorName) -> bool:
    return bool(author.given or author.initials)


def _is_latin(text: str) -> bool:
    """Whether a name is in Latin letters: others cannot be compared."""
    return text.isascii() or all("LATIN" in unicodedata.name(one, "") for one in text if one.isalpha())


def _letters(text: str) -> str:
    """The letters of initials; none of a word in small letters."""
    is_capital = any(map(str.isupper, text)) or len(text.strip(". ")) == 1
    return "".join("".join(_key(text)).upper()) if is_capital else ""


def _is_given(name: str, before: Person, authors: Sequence[AuthorName]) -> bool:
    """Whether a name may be the given names of the author before it: "Berg, Jan K., and Ana Ruiz"."""
    if before.at < 0:
        return False
    author, words = authors[before.at], _key(name)
    known = _key(author.given)
    if any(len(word) > 1 for word in known) and not author.given.isupper():
        return {word for word in words if len(word) > 1} <= {*known}
    return bool(words) and ("".join(known) or author.initials.casefold()).startswith("".join(one[0] for one in words))


@lru_cache(maxsize=4096)
def _forms(author: AuthorName) -> list[tuple[str, ...]]:
    """The ways to write a name: family name, its parts that stand for it, whole name, given name."""
    family = _key(author.family)
    first = family[:1] if len(family) > 1 and len(family[0]) > _PARTICLE else family[-1:]
    return [family, (*first, *family[-1:]), _key(str(author)), _key(author.given)]


@lru_cache(maxsize=8192)
def _key(name: str) -> tuple[str, ...]:
    """The words of a name in one spelling, also of umlauts: "Müller" is "Mueller"."""
    return tuple(WORD.findall(folded(name)))


def _expected(number: int, people: Sequence[Person], authors: Sequence[AuthorName]) -> AuthorName | None:
    """The author whose place a name has that is nobody's: after the one before it, or before the one after it."""
    places = [-1, *(one.at for one in people), -1]
    before, after = places[number], places[number + 2]
    at = before + 1 if before >= 0 or not number else after - 1 if after > 0 else number
    return authors[at] if at < len(authors) and at not in places else None


def _is_slip(person: Person, author: AuthorName, *, is_first: bool) -> bool:
    if not (is_first and person.initials) and len(person.name) > 1 and {*_key(person.name)} <= {*_key(author.given)}:
        return True
    bare = " ".join(word for word in person.name.split() if not is_initials(word)) or person.name
    one, forms = plain_letters(bare), map(plain_letters, filter(None, (author.family, str(author), author.given)))
    return any(ratio(one, form) >= (_FIRST_SLIP if is_first else _SLIP) for form in forms)


def _with_initials(
    found: PeopleAgreement, people: Sequence[Person], listed: str, authors: Sequence[AuthorName]
) -> PeopleAgreement:
    """With what is wrong with initials: minor, unless those of the first author, or of several, are somebody else's."""
    wrong, minor = list[tuple[str, AuthorName]](), list[tuple[str, AuthorName]]()
    for person in people:
        family = _key(authors[person.at].family)
        named = [one for one in authors if person.initials and _key(one.family) == family and _known(one)]
        if how := min((_initials_differ(person, one) for one in named), default=0):
            (wrong if how > 1 else minor).append((listed[slice(*person.span)], named[0]))
    if not wrong and not minor:
        return found
    is_grave = len(wrong) > 1 or any(author == authors[0] for _, author in wrong)
    pairs = wrong if is_grave else [*wrong, *minor]
    written, true = ", ".join(one for one, _ in pairs), ", ".join(author.short for _, author in pairs)
    return replace(found, verdict="differs" if is_grave else "minor", written=written, true=true)


def _known(author: AuthorName) -> str:
    """The letters with which the parts of an author's name begin, and other capitals in it."""
    capitals = (letter for letter in f"{author.given}{author.initials}" if letter.isupper())
    return _letters("".join((*(word[0].upper() for word in WORD.findall(author.given)), *capitals)))


def _initials_differ(person: Person, author: AuthorName) -> int:
    """2 if initials are somebody else's, 1 if the first is another spelling, otherwise 0. Those of middle names, and of
    a part of the family name, count too."""
    known, pair = _known(author), f"{person.initials[0]}{_known(author)[:1]}"
    families = {word[0].upper() for word in _key(author.family) if word not in _key(person.name)}
    if not {*known, *families}.isdisjoint(person.initials):
        return 0
    return 2 - (not {pair, pair[::-1]}.isdisjoint(listed_words("like letters")))
