"""Authors' names compared, however a source writes them."""

from __future__ import annotations

import re
import unicodedata

from deepcritical_mcp.models import AuthorName

_NAME_WORD = re.compile(r"[^\W\d_]+")


def same_author(one: AuthorName, other: AuthorName) -> bool:
    """Whether two names agree in the family name and, where both are known, the first initial."""
    return any(
        "".join(family) == "".join(other_family) and (not given or not other_given or given[0][0] == other_given[0][0])
        for family, given in _readings(one)
        for other_family, other_given in _readings(other)
    )


def _readings(author: AuthorName) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Family and given names; of a name that is only known as a whole, every way to read it."""
    family, given = _words(author.family), _words(author.given)
    if given:
        return [(family, given)]
    return [(family[at:], family[:at]) for at in range(min(len(family), 5))]


def _words(name: str) -> tuple[str, ...]:
    """The words of a name, where "Müller", "Mueller" and "Muller" are one."""
    return tuple(
        word.replace("ae", "a").replace("oe", "o").replace("ue", "u") for word in _NAME_WORD.findall(_plain(name))
    )


def _plain(text: str) -> str:
    letters = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in letters if not unicodedata.combining(letter))
