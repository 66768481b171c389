"""Names, titles and pages, written as a reference writes others.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from deepcritical_mcp.models import AuthorName
from deepcritical_mcp.search.references.people_places import ET_AL

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


def names_in_style(old: str, authors: Sequence[AuthorName]) -> str:
    """`authors` as the list `old` writes them, as many as it lists, all if it does not end in "et al."; "" if it is
    written in a way of its own."""
    others = ET_AL.search(old)
    listed = (old[: others.start()] if others else old).rstrip(" ,;*_").replace("…", "...")
    pieces = [one.strip() for one in _BETWEEN.split(listed) if one.strip(" .")]
    if not pieces or re.search(r"[^\w\s.,;&'’‐-]|\d|_", listed.replace("\\&", "&")):
        return ""
    separator, joined, sizes = (
        "; " if ";" in listed else ", ",
        _LAST.search(listed),
        [len(one.split()) for one in pieces],
    )
    is_dotted, is_bare = re.search(r"\b[^\W\d_a-zß-ÿ]\.", listed) is not None, are_short(listed)
    first_is_initial = re.match(r"[^\W\d_a-zß-ÿ]\.", pieces[0]) is not None
    is_pair = len(pieces) > 1 and (
        (separator == "; " and "," in listed)
        or not re.search(r"[^\W\d_a-zß-ÿ]\. ?[^\W\d_]{2}|[^\W\d_]{3}", pieces[1])
        or (sizes[0] == 1 and not is_bare and not is_dotted and sizes[-1] > 1)
        or (sizes[0] == 1 and re.fullmatch(r"[^\W\d_]{2,20}(?: [A-Z]\.?){1,3}", pieces[1]) is not None)
    )  # "Berg, J. A." or "Berg, Jan"
    is_first_only = is_pair and len(pieces) > 2 and separator != "; " and len(pieces[2].split()) > 1
    count = len(pieces) if not is_pair else len(pieces) - 1 if is_first_only else (len(pieces) + 1) // 2
    if max(sizes) == 1 and not is_pair:
        form = "none"
    elif is_bare and not is_dotted:
        form = "JA"
    elif is_dotted and not re.search(r"[^\W\d_]{2,} [A-Z]\.(?:\W|\Z)", listed if is_pair else ""):
        is_tight = re.search(r"[A-Z]\.-?[A-Z]\.", listed) or (joined and joined[0] == " and " and is_pair)
        is_tight = is_tight or (not is_pair and not first_is_initial)
        form = "J.A." if is_tight and not re.search(r"\b[A-Z]\. [A-Z]\.", listed) else "J. A."
    else:
        form = "full"

    def named(at: int, author: AuthorName) -> str:
        letters = author.short.removeprefix(author.family).strip().split(" ")[0]
        given = {"none": "", "JA": letters, "full": given_in_full(author)}.get(form)
        if given is None:
            given = (" " if form == "J. A." else "").join(f"{one}." for one in letters)
        if not given or not author.given:
            return author.family
        if is_pair and not (at and is_first_only):
            return ", ".join(filter(None, (author.family, given, author.suffix)))
        is_inverted = not is_pair and not first_is_initial and form != "full"
        parts = (author.family, given, author.suffix) if is_inverted else (given, author.family, author.suffix)
        return " ".join(filter(None, parts))

    names, last = [named(at, one) for at, one in enumerate(authors)], joined[0] if joined else ""
    if others and len(names) > count:
        return separator.join(names[:count]) + old[len(listed) :]
    if form == "none" and len(names) > max(count, 2):
        return f"{names[0]} et al."
    if len(names) > _ALL_LISTED:
        return f"{separator.join(names[:_SHORTENED])}{separator.rstrip()} et al."
    if not last and count == 1 and form != "JA":
        last = ", & " if is_pair and not is_first_only else " and "
    if len(names) == 2 and not is_pair:
        last = last.removeprefix(",")
    elif len(names) > 2 and count <= 2 and last[:1] == " " and form != "none" and not is_pair:
        last = f",{last}"
    return separator.join(names[:-1]) + (last or separator) * (len(names) > 1) + names[-1] if names else ""
