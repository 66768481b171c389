"""Names, titles and pages, written as a reference writes others.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from deepcritical_mcp.models import AuthorName
from deepcritical_mcp.search.references.people_places import ET_AL

_CAPITAL = r"[^\W\d_a-zß-ÿ]"
_LAST = re.compile(r"[,;]? (?:\\?&|and|und|et|y) ")
_BETWEEN = re.compile(r"[;,]|\\?&|(?<= )(?:and|und|et|y)(?= )")
_ALL_LISTED, _SHORTENED = 20, 6
"""More authors than so many are never listed, but so many of them."""


def title_alone(title: str) -> str:
    """A title without the full stop at its end and the brackets around a translation."""
    bare = title.removesuffix(".")
    inner = bare[1:-1].removesuffix(".")
    return inner if bare.startswith("[") and bare.endswith("]") and "[" not in inner else bare


def pages_in_style(old: str, pages: str) -> str:
    """Pages with the dash of `old`, abbreviated ("1730-44") or in full like it."""
    form, true = (re.fullmatch(r"(\w{1,12})(\W{1,4})(\w{1,12})", one.strip()) for one in (old, pages))
    if not form or not true:
        return pages
    first, last = true[1], true[3]
    if len(last) < len(first) and last.isdecimal():
        last = first[: len(first) - len(last)] + last
    if len(form[3]) < len(form[1]) and len(last) == len(first):
        last = last[next((at for at, letter in enumerate(first) if letter != last[at]), len(first) - 1) :]
    return f"{first}{form[2]}{last}"


def are_short(names: str) -> bool:
    """Whether names are those of a list in Vancouver style: "Berg JA, Ruiz K"."""
    return re.search(r"[^\W\d_]{2} [A-Z]{1,3}(?:[,.]|\Z)", names) is not None


def given_in_full(author: AuthorName) -> str:
    """The given names, with full stops behind initials."""
    return re.sub(r"\b([A-Z])(?=\s|$)", r"\1.", author.given)


@dataclass(frozen=True)
class _NameStyle:
    """How a list writes names.

    Attributes:
        given: "JA", "J.A.", "J. A.", "full" or "none".
        is_inverted: whether the family name stands first, with a comma behind it if `has_comma`.
        is_first_only: whether it does so in the first name only: "Berg, Jan, and Ana Ruiz".
        count: how many names are listed.
    """

    given: str
    has_comma: bool
    is_inverted: bool
    is_first_only: bool
    count: int

    def written(self, at: int, author: AuthorName) -> str:
        """The name of an author at a place of the list."""
        letters = author.short.removeprefix(author.family).strip().split(" ")[0]
        dotted = (" " if self.given == "J. A." else "").join(f"{one}." for one in letters)
        given = {"none": "", "JA": letters, "full": given_in_full(author)}.get(self.given, dotted)
        if not given or not author.given:
            return author.family
        is_inverted = self.is_inverted and not (at and self.is_first_only)
        parts = (author.family, given, author.suffix) if is_inverted else (given, author.family, author.suffix)
        return (", " if is_inverted and self.has_comma else " ").join(filter(None, parts))


def _style_of(listed: str, last: str) -> _NameStyle | None:
    """How a list is written, whose last name stands behind `last`; None if in a way of its own."""
    pieces = [one.strip() for one in _BETWEEN.split(listed) if one.strip(" .")]
    if not pieces or re.search(r"[^\w\s.,;&'’‐-]|\d|_", listed.replace("\\&", "&")):
        return None
    sizes, is_dotted = [len(one.split()) for one in pieces], re.search(rf"\b{_CAPITAL}\.", listed) is not None
    is_initial_first = re.match(rf"{_CAPITAL}\.", pieces[0]) is not None
    second = pieces[1] if len(pieces) > 1 else ""
    is_alone = sizes[0] == 1 and (
        (not are_short(listed) and not is_dotted and sizes[-1] > 1)
        or re.fullmatch(r"[^\W\d_]{2,20}(?: [A-Z]\.?){1,3}", second) is not None
    )
    is_only_initials = not re.search(rf"{_CAPITAL}\. ?[^\W\d_]{{2}}|[^\W\d_]{{3}}", second)
    is_pair = bool(second) and ((";" in listed and "," in listed) or is_only_initials or is_alone)  # "Berg, Jan"
    is_first_only = is_pair and len(pieces) > 2 and ";" not in listed and sizes[2] > 1
    given = "full"
    if max(sizes) == 1 and not is_pair:
        given = "none"
    elif are_short(listed) and not is_dotted:
        given = "JA"
    elif is_dotted and not (is_pair and re.search(r"[^\W\d_]{2} [A-Z]\.(?:\W|\Z)", listed)):
        is_tight = re.search(r"[A-Z]\.-?[A-Z]\.", listed) or (last == " and " and is_pair)
        is_spaced = re.search(r"\b[A-Z]\. [A-Z]\.", listed) or not (is_tight or (not is_pair and not is_initial_first))
        given = "J. A." if is_spaced else "J.A."
    count = len(pieces) - 1 if is_first_only else (len(pieces) + 1) // 2 if is_pair else len(pieces)
    is_inverted = is_pair or (not is_initial_first and given != "full")
    return _NameStyle(given, is_pair, is_inverted, is_first_only, count)


def names_in_style(old: str, authors: Sequence[AuthorName]) -> str:
    """`authors` as the list `old` writes them, as many as it lists, all if it does not end in "et al."; "" if it is
    written in a way of its own."""
    others = ET_AL.search(old)
    listed = (old[: others.start()] if others else old).rstrip(" ,;*_").replace("…", "...")
    separator, joined = "; " if ";" in listed else ", ", _LAST.search(listed)
    last = joined[0] if joined else ""
    style = _style_of(listed, last)
    if style is None or not authors:
        return ""
    names = [style.written(at, one) for at, one in enumerate(authors)]
    if others and len(names) > style.count:
        return separator.join(names[: style.count]) + old[len(listed) :]
    if style.given == "none" and len(names) > max(style.count, 2):
        return f"{names[0]} et al."
    if len(names) > _ALL_LISTED:
        return f"{separator.join(names[:_SHORTENED])}{separator.rstrip()} et al."
    if not last and style.count == 1 and style.given != "JA":
        last = ", & " if style.has_comma and not style.is_first_only else " and "
    if len(names) == 2 and not style.has_comma:
        last = last.removeprefix(",")
    elif len(names) > 2 >= style.count and last[:1] == " " and style.given != "none" and not style.has_comma:
        last = f",{last}"
    return separator.join(names[:-1]) + (last or separator) * (len(names) > 1) + names[-1]
