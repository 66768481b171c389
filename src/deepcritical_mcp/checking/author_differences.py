"""The names in a reference that are not those of its record's authors."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from rapidfuzz.fuzz import ratio

from deepcritical_mcp.checking.author_initials import initials_problem
from deepcritical_mcp.evidence.titles import plain_letters
from deepcritical_mcp.models import AuthorName, ReferenceProblem
from deepcritical_mcp.search.references import Statements, places_of_people

_SLIP = 70
"""Percent of equal letters of a name that may be misspelled."""
_SHOWN = 3
"""Names that are shown one by one; where more differ, the whole list is."""
_NOBODY = re.compile(r"\b(?:anonymous|anon|no authors? listed|editors?|editorial|et al|others)\b", re.IGNORECASE)
_GROUP = re.compile(
    r"\b(?:group|consortium|collaborat\w+|network|investigators|committee|organi[sz]ation|association|society|team|"
    r"study|trial|trialists|behalf|initiative|programme?|panel|council|board|institute|agency|ministry|department|"
    r"force|federation|foundation|project|cent(?:er|re)s?|office|commission|university)\b",
    re.IGNORECASE,
)


def author_problem(says: Statements, authors: Sequence[AuthorName]) -> ReferenceProblem | None:
    """What is wrong with the names in a reference; None if nothing, or if one of the two names nobody.

    Names that are left out are no problem, except the first author, who must stand first. Misspelled ones are minor.
    """
    written = [name for name in says.authors if _is_person(name)]
    if not written or not any(author.given or author.initials for author in authors):
        return None
    written = _without_given_names(written, authors)
    places = places_of_people(written, authors)
    if -1 not in places:
        return _order_problem(says, places, authors) or initials_problem(says.people, authors)
    pairs = [
        (name, _expected(n, places, authors))
        for n, (name, at) in enumerate(zip(written, places, strict=True))
        if at < 0
    ]
    slips = [pair for pair in pairs if _is_slip(*pair)]
    wrong = [pair for pair in pairs if pair not in slips]
    if not wrong:
        return _problem(says, slips, authors, minor=True)
    return _problem(says, wrong, authors)


def _is_person(name: str) -> bool:
    """Whether it is a person's name in Latin letters: others cannot be compared."""
    letters = [letter for letter in name if letter.isalpha()]
    is_latin = bool(letters) and all("LATIN" in unicodedata.name(letter, "") for letter in letters)
    return is_latin and len(letters) > 1 and not _NOBODY.search(name) and not _GROUP.search(name)


def _without_given_names(written: Sequence[str], authors: Sequence[AuthorName]) -> list[str]:
    """The names without given names that commas set apart: "Berg, Jan K., and Ana Ruiz"."""
    places, kept = places_of_people(written, authors), list[str]()
    for number, name in enumerate(written):
        before = authors[places[number - 1]] if number and places[number - 1] >= 0 else None
        is_given = before and places[number] < 0 and _is_given(name, before)
        kept += [] if is_given else [name]
    return kept


def _is_given(name: str, author: AuthorName) -> bool:
    """Whether a name may be the given names of an author, of whom a record may have the initials only."""
    known = re.findall(r"\w+", author.given)
    if any(len(word) > 1 and not word.isupper() for word in known):
        return _words(name) <= _words(author.given)
    written = "".join(word[0] for word in re.findall(r"\w+", name))
    return bool(written) and plain_letters("".join(known) or author.initials).startswith(plain_letters(written))


def _words(name: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", plain_letters(name.casefold())))


def _order_problem(says: Statements, places: Sequence[int], authors: Sequence[AuthorName]) -> ReferenceProblem | None:
    if places[0] == 0 or not authors[0].given:
        return None
    return _problem(says, [(says.authors[0], authors[0])], authors)


def _expected(number: int, places: Sequence[int], authors: Sequence[AuthorName]) -> AuthorName | None:
    """The author whose place a name has that is nobody's: after the one before it, or before the one after it."""
    if number == 0:
        return authors[0] if 0 not in places else None
    if places[number - 1] >= 0:
        at = places[number - 1] + 1
    elif number + 1 < len(places) and places[number + 1] > 0:
        at = places[number + 1] - 1
    else:
        at = number
    return authors[at] if at < len(authors) and at not in places else None


def _is_slip(name: str, author: AuthorName | None) -> bool:
    if author is None:
        return False
    if len(name) > 1 and _words(name) <= _words(author.given):
        return True
    one, forms = plain_letters(name.casefold()), (author.family, str(author), author.given)
    return any(ratio(one, plain_letters(form.casefold())) >= _SLIP for form in forms if form)


def _problem(
    says: Statements,
    pairs: Sequence[tuple[str, AuthorName | None]],
    authors: Sequence[AuthorName],
    *,
    minor: bool = False,
) -> ReferenceProblem:
    known = [author for _, author in pairs if author]
    if len(pairs) <= _SHOWN and len(known) == len(pairs):
        written, true = ", ".join(name for name, _ in pairs), ", ".join(author.short for author in known)
    else:
        written, true = says.people, ", ".join(_listed(authors))
    return ReferenceProblem(field="authors", written=written, true=true, minor=minor)


def _listed(authors: Sequence[AuthorName]) -> Iterator[str]:
    yield from (author.short for author in authors[: 2 * _SHOWN])
    if len(authors) > 2 * _SHOWN:
        yield "et al"
