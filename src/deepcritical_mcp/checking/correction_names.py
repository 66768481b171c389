"""Names of authors, written as a reference writes others.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from deepcritical_mcp.models import AuthorName
from deepcritical_mcp.models.publication import split_name

Given = Literal["JA", "J.A.", "J. A.", "full", "plain", "none"]
_ET_AL = re.compile(
    r"[\s,;]{0,4}[*_]{0,2}(?:<i>|<em>)?\b(?:et\.? al\b\.?|and others\b|and colleagues\b)(?:[*_]{1,2}|</i>|</em>)?",
    re.IGNORECASE,
)
_MARKUP = re.compile(r"[*_]{1,3}|</?[a-z]{1,6}>")
_CONNECTOR = re.compile(r",?\s{0,2}(?:(?:\\?&|&amp;)\s{0,2}|\b(?:and|und|y|et)\b\s{1,2})")
_ELLIPSIS = re.compile(r",?\s{0,2}(?:…|\.\s?\.\s?\.),?\s{0,2}")
_INITIALS = re.compile(r"(?:[^\W\d_a-zß-ÿ]\.?[\s-]{0,1}){1,4}")
_SUFFIX = re.compile(r"(?:Jr|Sr)\.?|I{2,3}|IV")
_SUFFIX_BEHIND = re.compile(r",? (?:Jr|Sr|III|II|IV)\b\.?")
_LEADING_INITIALS = re.compile(r"(?:[^\W\d_a-zß-ÿ]\.[\s-]{0,1}){1,4}\s{0,1}[^\W\d_]{2}")
_TRAILING_INITIALS = re.compile(r"[^\W\d_][^,;]{0,60}?\s(?P<initials>(?:[^\W\d_a-zß-ÿ]\.?[\s-]{0,1}){1,4})")
_ALL_LISTED = 20
"""More authors than these are never listed."""
_SHORTENED = 6


@dataclass(frozen=True)
class NameStyle:
    """How a list writes names.

    Attributes:
        comma: between family and given names: "Berg, J. A.".
        first_inverted, others_inverted: whether the family name stands first.
        last: what stands before the last name of a whole list; "" if nothing but `separator`.
        et_al: what stands behind a shortened list; "" if the list is whole.
        count: how many names are listed.
    """

    given: Given
    comma: bool
    first_inverted: bool
    others_inverted: bool
    separator: str
    last: str
    et_al: str
    count: int


def names_in_style(old: str, authors: Sequence[AuthorName]) -> str:
    """`authors` as the list `old` writes them, as many as it lists; all if it does not end in "et al."."""
    style = name_style(_MARKUP.sub("", old))
    if style.et_al and (marked := _ET_AL.search(old)):
        style = replace(style, et_al=marked[0])
    total = len(authors)
    if style.et_al and total > style.count:
        listed = _joined([_written(one, style, not at) for at, one in enumerate(authors[: style.count])], style, "")
        return listed + style.et_al
    if not style.et_al and style.given == "none" and total > max(style.count, 2):
        return _written(authors[0], style, True) + " et al."
    if not style.et_al and total > _ALL_LISTED:
        kept = [_written(one, style, not at) for at, one in enumerate(authors[:_SHORTENED])]
        return _joined(kept, style, "") + f"{style.separator.rstrip()} et al."
    return _joined([_written(one, style, not at) for at, one in enumerate(authors)], style, style.last)


def name_style(old: str) -> NameStyle:
    """How a list of names is written."""
    shortened = _ET_AL.search(old)
    listed = old[: shortened.start()] if shortened else old
    listed = _ELLIPSIS.sub(", ", listed).strip(" ,;")
    et_al = old[shortened.start() : shortened.end()] if shortened else ""
    separator = "; " if ";" in listed else ", "
    connectors = [found[0] for found in _CONNECTOR.finditer(listed)]
    last = connectors[-1] if connectors else ""
    given, comma, first, others, count = _shape(listed)
    if not last and (count == 1 or _ELLIPSIS.search(old)) and separator == ", ":
        last = ", & " if comma else "" if others else " and "
    return NameStyle(given, comma, first, others, separator, last, et_al, count)


def _shape(listed: str) -> tuple[Given, bool, bool, bool, int]:
    """How names are given, whether with a comma, whether the first and the others are inverted, and how many."""
    if ";" in listed:
        names = [name.strip() for name in re.split(r";|&|\band\b", listed) if name.strip()]
        given = names[0].partition(",")[2].strip()
        if given:
            return _initials_form(given, listed, "J. A."), True, True, True, len(names)
        return (*_single(names[0], listed), len(names))
    bare = _SUFFIX_BEHIND.sub("", _CONNECTOR.sub(", ", listed))
    parts = [part.strip(" .") + ("." if part.rstrip().endswith(".") else "") for part in bare.split(",")]
    parts = [part for part in parts if part.strip(" .") and not _SUFFIX.fullmatch(part)]
    names = [part for part in parts if not _INITIALS.fullmatch(part)] or parts
    if not parts:
        return "JA", False, True, True, 1
    if len(parts) > 1 and _INITIALS.fullmatch(parts[1]) and not _INITIALS.fullmatch(parts[0]):
        others = not (len(parts) > 2 and _LEADING_INITIALS.match(parts[2]))
        spaced: Given = "J.A." if re.search(r"\band\b", listed) else "J. A."  # APA and Nature have "&"
        return _initials_form(parts[1], listed, spaced), True, True, others, len(names)
    if len(parts) > 1 and " " not in parts[0] and not _LEADING_INITIALS.match(parts[0]):
        if " " in parts[-1] and not _TRAILING_INITIALS.fullmatch(parts[-1].rstrip(".")):
            is_plain = re.search(r"\b[A-Z]\b(?!\.)", listed) is not None
            return "plain" if is_plain else "full", True, True, False, len(parts) - 1
        if len(parts) == 2 and not _CONNECTOR.search(listed):
            return "full", True, True, False, 1
    return (*_single(parts[0], listed), len(names))


def _single(name: str, listed: str) -> tuple[Given, bool, bool, bool]:
    if _LEADING_INITIALS.match(name):
        return _initials_form(name, listed, "J. A."), False, False, False
    if found := _TRAILING_INITIALS.fullmatch(name):
        is_dotted = "." in listed.rstrip(".")  # the last full stop may be that of the list
        return _initials_form(found["initials"], listed, "J.A.") if is_dotted else "JA", False, True, True
    if " " in name and name[:1].isupper() and split_name(name.rstrip(".")).given:
        return "full", False, False, False
    return "none", False, True, True


def _initials_form(initials: str, listed: str, spaced: Given) -> Given:
    """How initials are written; `spaced` if there is only one, with a full stop."""
    if re.search(r"[^\W\d_]{2}", initials) and "." not in initials.rstrip("."):
        word = re.sub(r"[\W\d_]", "", initials)
        return "JA" if word.isupper() or "." not in initials else spaced if len(word) == 1 else "full"
    if not re.search(r"[^\W\d_]\.", initials):
        return "JA"
    if re.search(r"\b[^\W\d_]\.\s[^\W\d_]\.", listed):
        return "J. A."
    return "J.A." if re.search(r"\b[^\W\d_]\.-?[^\W\d_]\.", listed) else spaced


def _written(author: AuthorName, style: NameStyle, is_first: bool) -> str:
    """One name."""
    given = _given(author, style.given)
    if not given:
        return author.family
    inverted = style.first_inverted if is_first else style.others_inverted
    suffix = author.suffix.rstrip(".")
    dotted = f"{suffix}." if suffix in ("Jr", "Sr") else suffix
    if not inverted:
        return " ".join(filter(None, (given, author.family, suffix)))
    if style.comma:
        return ", ".join(filter(None, (author.family, given, dotted)))
    return " ".join(filter(None, (author.family, given, suffix)))


def _given(author: AuthorName, form: Given) -> str:
    if form == "none" or not author.given:
        return ""
    if form == "plain":
        return author.given
    if form == "full":
        return re.sub(r"\b([A-Z])(?=\s|$)", r"\1.", author.given)
    letters = initials_of(author)
    return (
        letters
        if form == "JA"
        else "".join(f"{one}. " for one in letters).strip().replace(" ", " " if form == "J. A." else "")
    )


def initials_of(author: AuthorName) -> str:
    """E.g. "JA"."""
    rest = AuthorName(author.family, author.given, "", author.initials).short.removeprefix(author.family)
    return rest.strip()


def _joined(names: Sequence[str], style: NameStyle, last: str) -> str:
    if len(names) < 2 or not last:
        return style.separator.join(names)
    if len(names) == 2 and not style.comma:
        last = last.removeprefix(",")
    elif len(names) > 2 and style.count == 2 and not (last.startswith(",") or style.comma or style.given == "none"):
        last = f",{last}"
    return style.separator.join(names[:-1]) + last + names[-1]


def entry_given(old: str, author: AuthorName) -> str:
    """The given names as the name `old` of a BibTeX entry or RIS record writes its own: "J. A.", "JA" or in full."""
    given = old.partition(",")[2].strip() or old
    is_full = re.search(r"[^\W\d_][a-zß-ÿ]", given) is not None
    return _given(author, "full" if is_full else _initials_form(given, given, "J. A."))
