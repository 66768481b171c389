"""Initials in a reference that cannot be those of its record's authors: "Yang X" for Zhirong Yang.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from deepcritical_mcp.evidence.titles import plain_letters
from deepcritical_mcp.models import AuthorName, ReferenceProblem

_FAMILY = r"[^\W\d_](?:[\w'’‐-]|\s(?=[^\W\d_]{2})){1,40}"
_DOTTED = r"(?:[A-Z]\.[ -]?){1,4}"
_FORMS = (
    re.compile(rf"(?P<family>{_FAMILY}), (?P<initials>{_DOTTED})"),  # Berg, J. A.
    re.compile(rf"(?P<initials>{_DOTTED})(?P<family>{_FAMILY})"),  # J. A. Berg
    re.compile(rf"(?P<family>{_FAMILY}) (?P<initials>[A-Z]{{1,3}})(?: (?:Jr|Sr|I{{2,3}}|[23][nr]d))?\.?"),  # Berg JA
    re.compile(  # Jan A. Berg
        rf"(?P<given>(?P<initials>[^\W\d_a-zß-ÿ])[a-zß-ÿ'’-]{{2,30}})(?:\s(?:[A-Z]\.|[A-Z][a-zß-ÿ]{{1,30}})){{0,2}}"
        rf"\s(?P<family>{_FAMILY})"
    ),
)
_AND = re.compile(r",? (?:and|und|y|et|&) |; ")
_INITIALS_BEHIND = re.compile(rf"(?<=[^\W\d_]{{2}}), (?={_DOTTED}\s?(?:,|et al|\Z))")
_LETTER = re.compile(r"[A-Z]")
_WORD = re.compile(r"[^\W\d_]+")
_ALIKE = frozenset(
    map(
        frozenset,
        """YJ YI YE JI JG JH EO EH EJ AO NM GH KH XH XK KC KQ CS CH CT CZ ZS ZJ ZC SX QC QK FP VW VB VU UW UI WB BR WR
        DR TE LE PM NA NE PF TD DT BP IE SZ ST HO TA BE""".split(),
    )
)
"""Letters with which one name may begin, in other letters or for short: Yuri and Iouri, Nikolai and Mykola, William and
Bill, Anthony and Tony."""
_MOST_NAMES = 60
_PARTICLE = 3
"""Letters of "van" and "der"."""


class _Person(NamedTuple):
    """A name with initials, or with a given name: as written, and apart."""

    written: str
    family: str
    initials: str
    given: str = ""


def initials_problem(people: str, authors: Sequence[AuthorName]) -> ReferenceProblem | None:
    """What is wrong with the initials in a list of authors: those that have no letter in common with an author of that
    name, or that have another order or another first letter. Minor, unless they have none in common with the first
    author's, or with several.

    Of a given name, the first letter counts. Names that the record does not have are not compared.
    """
    families = {_key(one.family) for one in authors}
    wrong, swapped = list[tuple[_Person, AuthorName]](), list[tuple[_Person, AuthorName]]()
    for person in _people(people):
        named = [one for one in authors if _key(one.family) == _key(person.family) and _known(one)]
        if not named or _key(person.given) in families:  # the family name may stand first
            continue
        if not any(_may_be(person.initials, one) for one in named):
            wrong.append((person, named[0]))
        elif len(named) == 1 and (
            _is_other_order(person.initials, named[0]) or _is_other_first(person.initials, named[0])
        ):
            swapped.append((person, named[0]))
    if not wrong and not swapped:
        return None
    is_grave = len(wrong) > 1 or any(author == authors[0] for _, author in wrong)
    pairs = wrong if is_grave else [*wrong, *swapped]
    written, true = (
        ", ".join(one) for one in zip(*((who.written, author.short) for who, author in pairs), strict=True)
    )
    return ReferenceProblem(field="authors", written=written, true=true, minor=not is_grave)


def _people(text: str) -> Iterator[_Person]:
    """The names with initials or given names of a list in which commas set whole names apart."""
    listed = _INITIALS_BEHIND.sub("\0", _AND.sub(", ", text))
    for piece in listed.split(",")[:_MOST_NAMES]:
        written = piece.replace("\0", ", ").strip(" .*_") + ("." if piece.rstrip().endswith(".") else "")
        for form in _FORMS:
            if found := form.fullmatch(written):
                initials = "".join(_LETTER.findall(plain_letters(found["initials"]).upper()))
                if initials:
                    yield _Person(written.rstrip("."), found["family"], initials, found.groupdict().get("given", ""))
                break


def _key(family: str) -> str:
    return "".join(_WORD.findall(plain_letters(family.casefold())))


def _known(author: AuthorName) -> str:
    """The letters with which the parts of an author's name begin, and other capitals in it."""
    words = _WORD.findall(author.given)
    letters = "".join((*(word[0] for word in words), *_LETTER.findall(author.given), *_LETTER.findall(author.initials)))
    return plain_letters(letters.casefold()).upper() if letters else ""


def _may_be(initials: str, author: AuthorName) -> bool:
    # The first part of a double name may be a middle one, too.
    families = [word[0] for word in _WORD.findall(plain_letters(author.family)) if len(word) > _PARTICLE]
    known = _known(author)
    return not {*known, *families[:-1]}.isdisjoint(initials) or frozenset((initials[0], known[0])) in _ALIKE


def _is_other_order(initials: str, author: AuthorName) -> bool:
    """Whether these are the author's initials in another order."""
    own = "".join(_LETTER.findall(author.initials)) or "".join(word[0] for word in _WORD.findall(author.given)).upper()
    return initials != own and len(initials) > 1 and sorted(initials) == sorted(own)


def _is_other_first(initials: str, author: AuthorName) -> bool:
    """Whether the first of several initials is none of the author's, and no other form of it."""
    known = _known(author)
    alike = any(frozenset((initials[0], letter)) in _ALIKE for letter in known)
    return len(initials) > 1 and len({*known}) > 1 and initials[0] not in known and not alike
