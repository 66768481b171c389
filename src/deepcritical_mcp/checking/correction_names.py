"""Names of authors, written as a reference writes others.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from deepcritical_mcp.models import AuthorName

Given = Literal["JA", "J.A.", "J. A.", "full", "none"]
_ET_AL = re.compile(r"[\s,;]{0,4}[*_<>iem]{0,4}\b(?:et\.? al\b\.?|and (?:others|colleagues)\b)[*_/<>iem]{0,5}", re.I)
_CAPITAL = r"[^\W\d_a-zß-ÿ]"
_WORD = r"(?!(?:and|und|et|y)\b)[^\W\d_][^\W\d_'’-]{1,40}(?:['’-][^\W\d_]{1,40}){0,3}"
_FAMILY = rf"(?:{_WORD} ){{0,3}}{_WORD}"
_INITIALS = rf"(?:{_CAPITAL}\.[ -]?){{1,6}}"
_FORMS: tuple[tuple[Given, bool, str, str], ...] = (
    ("JA", False, rf"{_FAMILY} {_CAPITAL}{{1,4}}(?: (?:Jr|Sr|III?)\b\.?)?", ""),
    ("J.A.", False, rf"{_FAMILY} (?:{_CAPITAL}\.-?){{1,4}}", ""),
    ("J. A.", True, rf"{_FAMILY}, {_INITIALS}", rf"{_FAMILY}(?:, {_INITIALS})?"),
    ("J. A.", True, rf"{_FAMILY}, {_INITIALS}", rf"{_INITIALS} ?{_FAMILY}"),
    ("J. A.", False, rf"{_INITIALS} ?{_FAMILY}", ""),
    (
        "full",
        True,
        rf"(?:[a-z]{{1,4}} ){{0,2}}{_WORD}, {_FAMILY}(?: {_INITIALS})?",
        rf"{_WORD} (?:{_INITIALS} ?)?{_FAMILY}",
    ),
    ("none", False, _WORD, ""),
    ("full", False, rf"{_WORD} (?:{_INITIALS} ?)?{_FAMILY}", ""),
)
"""How given names are written, whether behind a comma, and what the first name and, otherwise, the others look like."""
_ALL_LISTED, _SHORTENED = 20, 6
"""More authors than so many are never listed, but so many of them."""


@dataclass(frozen=True)
class NameStyle:
    """How a list writes names.

    Attributes:
        inverted: whether the family name stands first, of the first name and of the others; `comma` behind it.
        last: what stands before the last name; "" if nothing but `separator`.
        et_al: what stands behind a shortened list; "" if the list is whole.
        count: how many names are listed.
    """

    given: Given
    comma: bool
    inverted: tuple[bool, bool]
    separator: str
    last: str
    et_al: str
    count: int


@lru_cache(maxsize=len(_FORMS))
def _pattern(first: str, other: str) -> re.Pattern[str]:
    last = rf"(?:(?P<last>[,;]? (?:\\?&|and|und|et|y) ){other})?"
    return re.compile(rf"{first}(?P<others>(?:(?P<separator>[,;] ){other}){{0,400}}?){last}")


def name_style(old: str) -> NameStyle | None:
    """How a list of names is written; None if it is written in a way of its own."""
    shortened = _ET_AL.search(old)
    listed = (old[: shortened.start()] if shortened else old).strip(" ,;")
    for given, comma, first, others in _FORMS:
        other = others or first
        for text in (listed, f"{listed}."):  # the last full stop may be that of the list
            if found := _pattern(first, other).fullmatch(text):
                separator, last = found["separator"] or ", ", found["last"] or ""
                count = len(re.findall(rf"[,;] {other}", found["others"])) + 1 + bool(last)
                inverted = tuple(given in ("none", "JA", "J.A.") or ", " in one for one in (first, other))
                if count == 1 and not last:
                    last = ", & " if inverted[1] and comma else "" if inverted[1] else " and "
                form = initials_form(listed, "J.A." if " and " in last and comma else given)
                form = form if "." in given else given
                return NameStyle(
                    form, comma, (inverted[0], inverted[1]), separator, last, shortened[0] if shortened else "", count
                )
    return None


def names_in_style(old: str, authors: Sequence[AuthorName]) -> str:
    """`authors` as the list `old` writes them, as many as it lists, all if it does not end in "et al."; "" if it is
    written in a way of its own."""
    style = name_style(old)
    if style is None:
        return ""
    names, last, end = [_written(one, style, style.inverted[at > 0]) for at, one in enumerate(authors)], style.last, ""
    if style.et_al and len(names) > style.count:
        names, last, end = names[: style.count], "", style.et_al
    elif not style.et_al and style.given == "none" and len(names) > max(style.count, 2):
        names, end = names[:1], " et al."
    elif not style.et_al and len(names) > _ALL_LISTED:
        names, last, end = names[:_SHORTENED], "", f"{style.separator.rstrip()} et al."
    if len(names) < 2 or not last:
        return style.separator.join(names) + end
    if len(names) == 2 and not style.comma:
        last = last.removeprefix(",")
    elif len(names) > 2 and style.count <= 2 and not (last.startswith(",") or style.comma or style.given == "none"):
        last = f",{last}"
    return style.separator.join(names[:-1]) + last + names[-1]


def initials_form(text: str, default: Given) -> Given:
    """How initials are written in a text; `default` if it has no two of one name."""
    if re.search(rf"\b{_CAPITAL}\. {_CAPITAL}\.", text):
        return "J. A."
    return "J.A." if re.search(rf"\b{_CAPITAL}\.-?{_CAPITAL}\.", text) else default


def _written(author: AuthorName, style: NameStyle, is_inverted: bool) -> str:
    given, suffix = _given(author, style.given), author.suffix.rstrip(".")
    if not given:
        return author.family
    if is_inverted and style.comma:
        return ", ".join(filter(None, (author.family, given, f"{suffix}." if suffix in ("Jr", "Sr") else suffix)))
    return " ".join(filter(None, (author.family, given, suffix) if is_inverted else (given, author.family, suffix)))


def _given(author: AuthorName, form: Given) -> str:
    if form == "none" or not author.given:
        return ""
    if form == "full":
        return re.sub(r"\b([A-Z])(?=\s|$)", r"\1.", author.given)
    letters = AuthorName(author.family, author.given, "", author.initials).short.removeprefix(author.family).strip()
    return letters if form == "JA" else (" " if form == "J. A." else "").join(f"{one}." for one in letters)


def entry_given(old: str, author: AuthorName) -> str:
    """The given names as the name `old` of a BibTeX entry or RIS record writes its own: "J. A.", "JA" or in full."""
    given = old.partition(",")[2].strip() or old
    is_full = re.search(r"[^\W\d_][a-zß-ÿ]", given) is not None
    return _given(author, "full" if is_full else initials_form(given, "J. A." if "." in given else "JA"))
