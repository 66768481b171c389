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

from rapidfuzz.distance import OSA
from rapidfuzz.fuzz import ratio

from deepcritical_mcp.evidence.titles import plain_letters
from deepcritical_mcp.models import AuthorName
from deepcritical_mcp.search.references.guesses import ET_AL, is_initials
from deepcritical_mcp.search.references.plain_text import Span

_WORD = re.compile(r"[^\W\d_]+")
_SEPARATORS = r"[,;&/|]|…|\.{3}|\b(?:and|und|y|et)\b(?!\.)"
_INNER_PIECE = re.compile(_SEPARATORS)
_PIECE = re.compile(rf"{_SEPARATORS}|(?<=[^\W\d_A-Z])\.\s(?=[A-Z])")
"""A full stop parts names, too, where no semicolon does."""
_TRANSLITERATED = str.maketrans(
    {"ø": "o", "æ": "ae", "œ": "oe", "ß": "ss", "đ": "d", "ł": "l", "ð": "d", "þ": "th", "ı": "i"}
)
_UMLAUTS = re.compile(r"ae|oe|ue")
_SUFFIXES = frozenset("jr sr ii iii iv nd rd th eds ed editor editors md phd msc mph rn".split())
_GROUP = re.compile(
    r"\b(?:anonymous|anon|authors?|editors?|editorial|others|group|consortium|collaborat\w{1,6}|network|investigators|"
    r"committee|organi[sz]ation|association|society|team|study|trial|trialists|behalf|initiative|programme?|panel|"
    r"council|board|institute|agency|ministry|department|force|federation|foundation|project|cent(?:er|re)s?|office|"
    r"commission|university)\b",
    re.IGNORECASE,
)
_PARTICLE = 3
"""Letters of "van", "de" and "von", which are no part of a double name."""
_SLIP, _FIRST_SLIP = 70, 80
"""Percent of equal letters of a name, and of the first one, that may be misspelled."""
_SHOWN = 3
"""Names that are shown one by one; where more differ, the whole list is."""
_MOST_NAMES = 400
_ALIKE = frozenset(
    map(
        frozenset,
        """YJ YI YE JI JG JH EO EH EJ AO NM GH KH XH XK KC KQ CS CH CT CZ ZS ZJ ZC SX QC QK FP VW VB VU UW UI WB BR WR
        DR TE LE PM NA NE PF TD DT BP IE SZ ST HO TA BE""".split(),
    )
)
"""Letters with which one name may begin, in other letters or for short: Yuri and Iouri, Nikolai and Mykola, William and
Bill, Anthony and Tony."""
PeopleVerdict = Literal["agrees", "minor", "differs", "absent"]


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
    is_group: bool = False


@dataclass(frozen=True)
class PeopleAgreement:
    """How names agree with a record's authors.

    Attributes:
        by_others: whether the first author, or most of them, are others.
        listed: how many are named; `is_whole` if none is said to be left out.
        span: where they stand.
    """

    verdict: PeopleVerdict
    written: str = ""
    true: str = ""
    by_others: bool = False
    listed: int = 0
    is_whole: bool = True
    span: Span = (0, 0)


def compare_people(text: str, start: int, end: int, authors: Sequence[AuthorName]) -> PeopleAgreement:
    """How the names between two places of a text agree with a record's authors.

    Names that are left out are no difference, except the first author, who must stand first. Misspelled ones are minor.
    """
    region = text[start:end]
    others = ET_AL.search(region)
    listed = region[: others.start()] if others else region
    people = [one for one in _people(listed, authors) if not one.is_group]
    if not people:
        return PeopleAgreement("absent")
    stop = max(people[-1].span[1], others.end() if others else 0)
    stop += others is not None and stop == others.end() and text[start + stop : start + stop + 1] == "."
    span = start + people[0].span[0], start + stop
    is_whole = others is None and "…" not in listed and "..." not in listed
    found = PeopleAgreement("agrees", listed=len(people), is_whole=is_whole, span=span)
    if not any(author.given or author.initials for author in authors):
        return found
    unknown = [one for one in people if one.at < 0]
    if people[0].at >= 0 and not (authors[0].given or authors[0].initials):
        people, unknown = [one for one in people if one.at >= 0], []  # others may be members of the group
    by_others = 0 not in [one.at for one in people] or people[0].at < 0 or 2 * len(unknown) > len(people)

    def said(person: Person) -> str:
        return listed[slice(*person.span)]

    if not unknown:
        if people[0].at and authors[0].given:
            return replace(
                found, verdict="differs", written=said(people[0]), true=authors[0].short, by_others=by_others
            )
        return _with_initials(found, [(one, said(one)) for one in people], authors)
    pairs = [(one, _expected(n, people, authors)) for n, one in enumerate(people) if one.at < 0]
    slips = [(one, author) for one, author in pairs if _is_slip(one, author, is_first=one is people[0])]
    wrong = [pair for pair in pairs if pair not in slips] or slips
    known = [author for _, author in wrong if author]
    if len(wrong) <= _SHOWN and len(known) == len(wrong):
        written, true = ", ".join(said(one) for one, _ in wrong), ", ".join(author.short for author in known)
    else:
        written, true = text[slice(*span)].strip(" .,;"), ", ".join(_listed(authors))
    is_minor = wrong is slips or wrong == slips
    return replace(found, verdict="minor" if is_minor else "differs", written=written, true=true, by_others=by_others)


def has_author(text: str, authors: Sequence[AuthorName]) -> bool:
    """Whether a text has the name of one of the authors among others."""
    return any(one.at >= 0 for one in _people(text, authors))


def _people(listed: str, authors: Sequence[AuthorName]) -> Iterator[Person]:
    """The names of a list: pieces between commas and the like, with initials that stand in a piece of their own."""
    pieces, at = list[Span](), 0
    is_inverted = ";" in listed
    cuts = [one.span() for one in (_INNER_PIECE if is_inverted else _PIECE).finditer(listed)][:_MOST_NAMES]
    for start, following in [*cuts, (len(listed), len(listed))]:
        pieces.append((at, start))
        at = following
    forms = [_forms(author) for author in authors]
    last: Person | None = None
    for number, (start, end) in enumerate(pieces):
        piece = listed[start:end]
        words = [found for found in _WORD.finditer(piece) if found[0].lower() not in _SUFFIXES]
        if not words or not _is_latin(piece):
            continue
        follows = number and listed[pieces[number - 1][1] : start].strip() == ","
        span = start + words[0].start(), start + words[-1].end()
        is_all = all(is_initials(one[0]) or (at and one[0].islower()) for at, one in enumerate(words))
        if is_all and last and not last.initials:
            last = replace(last, initials=_letters(piece), span=(last.span[0], span[1]))
            continue
        if all(len(found[0]) == 1 for found in words):
            continue
        is_signal = not number and len(words) == 1 and len(words[0][0]) <= 3 and listed[start : end + 1].endswith(".")
        if not any(map(str.isupper, piece)) or is_signal:  # "Cf. Berg J"
            continue
        person = _person(piece.strip(' .*_:()[]{}“”"‘’'), span, forms, authors)
        if last and follows and not last.initials and (is_inverted or _is_given(person.name, last, authors)):
            last = replace(last, initials=_first_letters(piece), span=(last.span[0], span[1]))
            continue
        if last:
            yield last
        last = person
    if last:
        yield last


def _person(
    piece: str, span: Span, forms: Sequence[Sequence[tuple[str, ...]]], authors: Sequence[AuthorName]
) -> Person:
    words = [
        found
        for found in re.findall(r"[^\W\d_](?:[^\W\d_]|['’‐-](?=[^\W\d_]))*", piece)
        if found.lower() not in _SUFFIXES
    ]
    bare = [word for word in words if not is_initials(word) or len(words) == 1]
    if words and len(words[0]) > 1 and is_initials(words[0]) and len(words) > 1 and f"{words[0]}." not in piece:
        bare = [words[0], *(word for word in words[1:] if not is_initials(word))]  # "WU Y"
    name = " ".join(bare) or piece
    at = _place(name, forms)
    if at < 0 and bare != words:
        at = _place(" ".join(words), forms)
    initials = "".join(map(_letters, (word for word in words if word not in bare)))
    if not initials and len(bare) > 1 and at >= 0 and bare[0][:1].isupper():
        family = {*_key(authors[at].family)}
        others = {one for author in authors for one in _key(author.family)}  # the family name may stand first
        rest = [word for word in bare if not {*_key(word)} <= family and word[:1].isupper()]
        initials = "" if rest and {*_key(rest[0])} <= others else "".join(_key(word)[0][:1] for word in rest[:1])
    if at >= 0 and initials and {*_key(name)}.isdisjoint(_key(authors[at].family)):  # "Wei Z" for Zhang Wei
        family = {word[0].upper() for word in _key(authors[at].family)}
        is_given = {*_key(name)} <= {*_key(authors[at].given)}
        at = -1 if is_given and family.isdisjoint(initials) else at
    return Person(name, span, initials.upper(), at, bool(_GROUP.search(piece)) and at < 0)


def _place(name: str, forms: Sequence[Sequence[tuple[str, ...]]]) -> int:
    """Whose name it is: by all its words, else by a family name, else nearly or in part; -1 if nobody's."""
    words = _words(name)
    whole, known = "".join(words), frozenset(words)
    found = dict[int, int]()
    for number, one in enumerate(forms):
        if whole == "".join(one[0]) or known == frozenset(one[2]):
            return number
        if one[0] == words[-len(one[0]) :] or one[0] == words[: len(one[0])]:
            found.setdefault(1, number)
        elif _is_one_of(name, one):
            found.setdefault(0, number)
    return found.get(1, found.get(0, -1)) if words else -1


def _is_latin(text: str) -> bool:
    """Whether a name is in Latin letters: others cannot be compared."""
    letters = [letter for letter in text if letter.isalpha()]
    return text.isascii() or all("LATIN" in unicodedata.name(letter, "") for letter in letters)


def _letters(text: str) -> str:
    """The letters of initials; none of a word in small letters."""
    is_capital = any(map(str.isupper, text)) or len(text.strip(". ")) == 1
    plain = plain_letters(text.casefold().translate(_TRANSLITERATED)).upper() if is_capital else ""
    return "".join(filter(str.isalpha, plain))


def _first_letters(text: str) -> str:
    words = _WORD.findall(plain_letters(text))
    return "".join(word[0] for word in words[:1]).upper()


def _is_given(name: str, before: Person, authors: Sequence[AuthorName]) -> bool:
    """Whether a name may be the given names of the author before it: "Berg, Jan K., and Ana Ruiz"."""
    if before.at < 0:
        return False
    author = authors[before.at]
    known = _key(author.given)
    if any(len(word) > 1 for word in known) and not author.given.isupper():
        return {*(word for word in _key(name) if len(word) > 1)} <= {*known}
    written = "".join(word[0] for word in _key(name))
    return bool(written) and plain_letters("".join(known) or author.initials).startswith(written)


def _key(name: str) -> tuple[str, ...]:
    return _words(name)


@lru_cache(maxsize=4096)
def _forms(author: AuthorName) -> list[tuple[str, ...]]:
    """The ways to write a name: family name, its parts that stand for it, whole name, given name."""
    family = _words(author.family)
    first = family[:1] if len(family) > 1 and len(family[0]) > _PARTICLE else family[-1:]
    return [family, (*first, *family[-1:]), _words(str(author)), *((_words(author.given),) if author.given else ())]


def _is_one_of(name: str, forms: Sequence[tuple[str, ...]]) -> bool:
    words = _words(name)
    if not words:
        return False
    family, parts, whole = forms[0], forms[1], forms[2]
    if any(_same_word("".join(words), "".join(form)) for form in (family, *forms[2:]) if form):
        return True
    if len(forms) == 3 and len(family) > 2 and len(words[-1]) > 2 and _initials(family).endswith(words[-1]):
        return True
    return any(_same_word(word, one) for word in (words[0], words[-1]) for one in parts) or (
        len(words) > 1 and (set(words) <= set(whole) or set(family) <= set(words))
    )


def _initials(words: Sequence[str]) -> str:
    """Those of an organization: "rcog"."""
    return "".join(word if len(word) == 1 else word[0] for word in words)


@lru_cache(maxsize=8192)
def _words(name: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(plain_letters(name.casefold().translate(_TRANSLITERATED))))


@lru_cache(maxsize=8192)
def _without_umlauts(word: str) -> str:
    return _UMLAUTS.sub(lambda found: found[0][0], word)


def _same_word(one: str, other: str) -> bool:
    if one == other or _without_umlauts(one) == _without_umlauts(other):
        return True
    return min(len(one), len(other)) >= 5 and OSA.distance(one, other, score_cutoff=1) <= 1


def _expected(number: int, people: Sequence[Person], authors: Sequence[AuthorName]) -> AuthorName | None:
    """The author whose place a name has that is nobody's: after the one before it, or before the one after it."""
    places = [one.at for one in people]
    if number == 0:
        return authors[0] if 0 not in places else None
    if places[number - 1] >= 0:
        at = places[number - 1] + 1
    elif number + 1 < len(places) and places[number + 1] > 0:
        at = places[number + 1] - 1
    else:
        at = number
    return authors[at] if at < len(authors) and at not in places else None


def _is_slip(person: Person, author: AuthorName | None, *, is_first: bool) -> bool:
    if author is None:
        return False
    name = person.name
    if len(name) > 1 and not (is_first and person.initials) and {*_key(name)} <= {*_key(author.given)}:
        return True
    bare = " ".join(word for word in name.split() if not is_initials(word)) or name
    one, forms = plain_letters(bare.casefold()), (author.family, str(author), author.given)
    return any(
        ratio(one, plain_letters(form.casefold())) >= (_FIRST_SLIP if is_first else _SLIP) for form in forms if form
    )


def _listed(authors: Sequence[AuthorName]) -> Iterator[str]:
    yield from (author.short for author in authors[: 2 * _SHOWN])
    if len(authors) > 2 * _SHOWN:
        yield "et al"


def _with_initials(
    found: PeopleAgreement, people: Sequence[tuple[Person, str]], authors: Sequence[AuthorName]
) -> PeopleAgreement:
    """With what is wrong with initials: those that have no letter in common with an author of that name, or have
    another order or another first letter. Minor, unless they have none in common with the first author's, or with
    several."""
    wrong, swapped = list[tuple[str, AuthorName]](), list[tuple[str, AuthorName]]()
    for person, written in people:
        family = _key(authors[person.at].family)
        named = [one for one in authors if _key(one.family) == family and _known(one)]
        if not named or not person.initials:
            continue
        if not any(_may_be(person.initials, one) for one in named):
            wrong.append((written, named[0]))
        elif len(named) == 1 and (
            _is_other_order(person.initials, named[0]) or _is_other_first(person.initials, named[0])
        ):
            swapped.append((written, named[0]))
    if not wrong and not swapped:
        return found
    is_grave = len(wrong) > 1 or any(author == authors[0] for _, author in wrong)
    pairs = wrong if is_grave else [*wrong, *swapped]
    written, true = (", ".join(one) for one in zip(*((said, who.short) for said, who in pairs), strict=True))
    return replace(found, verdict="differs" if is_grave else "minor", written=written, true=true)


def _known(author: AuthorName) -> str:
    """The letters with which the parts of an author's name begin, and other capitals in it."""
    words = _WORD.findall(author.given)
    capitals = (letter for letter in f"{author.given}{author.initials}" if letter.isupper())
    letters = "".join((*(word[0] for word in words), *capitals))
    return plain_letters(letters.casefold().translate(_TRANSLITERATED)).upper() if letters else ""


def _may_be(initials: str, author: AuthorName) -> bool:
    # The first part of a double name may be a middle one, too, and the family name may stand first.
    families = [word[0].upper() for word in _key(author.family)]
    known = _known(author)
    return not {*known, *families}.isdisjoint(initials) or frozenset((initials[0], known[0])) in _ALIKE


def _is_other_order(initials: str, author: AuthorName) -> bool:
    """Whether these are the author's initials in another order."""
    own = (
        "".join(letter for letter in author.initials if letter.isalpha())
        or "".join(word[0] for word in _WORD.findall(author.given)).upper()
    )
    return initials != own and len(initials) > 1 and sorted(initials) == sorted(own)


def _is_other_first(initials: str, author: AuthorName) -> bool:
    """Whether the first of several initials is none of the author's, and no other form of it."""
    known = _known(author)
    families = {word[0].upper() for word in _key(author.family)}
    alike = any(frozenset((initials[0], letter)) in _ALIKE for letter in known)
    return len(initials) > 1 and len({*known}) > 1 and initials[0] not in {*known, *families} and not alike
