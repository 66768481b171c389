"""BibTeX, as BibTeX, biblatex, Zotero, JabRef and pandoc read it.

UTF-8 with TeX's special characters escaped, every value on one line. Web pages are `@online`, which classic BibTeX
styles treat as `@misc`.
"""

from __future__ import annotations

import re

from deepcritical_mcp.export.reference import PLAIN_FIELDS, Reference
from deepcritical_mcp.models import AuthorName
from deepcritical_mcp.text import clean_line

_TYPES = {"article": "article", "webpage": "online", "other": "misc"}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
    }
)
_NOT_IN_ADDRESSES = re.compile(r"[\s{}\\^`\"|]")


def entry(reference: Reference) -> str:
    """One entry, with a line break at its end."""
    lines = [f"  {name} = {value}," for name, value in _fields(reference) if value not in ("", "{}")]
    return "\n".join([f"@{_TYPES[reference.kind]}{{{reference.key},", *lines, "}", ""])


def _fields(reference: Reference) -> list[tuple[str, str]]:
    publication = reference.publication
    year, month, day = (*reference.date, 0, 0, 0)[:3]
    return [
        ("title", f"{{{_title(reference.title)}}}"),
        ("author", f"{{{' and '.join(_name(author) for author in reference.authors)}}}"),
        ("year", f"{{{year:04d}}}" if year else ""),
        ("month", _MONTHS[month - 1] if 1 <= month <= 12 else ""),
        ("date", f"{{{publication.date}}}" if day else ""),
        *((plain.bibtex, f"{{{_text(getattr(publication, plain.field))}}}") for plain in PLAIN_FIELDS),
        ("pages", f"{{{_text('--'.join(filter(None, reference.pages)), dashes=True)}}}"),
        ("doi", f"{{{_address(publication.doi)}}}"),
        ("pmid", f"{{{_text(publication.pmid)}}}"),
        ("pmcid", f"{{{_text(publication.pmcid)}}}"),
        ("url", f"{{{_address(reference.url)}}}"),
        ("note", f"{{{_text(reference.status_note)}}}"),
        ("keywords", f"{{{', '.join(_keyword(word) for word in reference.keywords)}}}"),
        ("abstract", f"{{{_text(reference.abstract)}}}"),
        ("annote", f"{{{_text(reference.remark)}}}"),
    ]


def _text(text: str, *, dashes: bool = False) -> str:
    """`text` on one line with TeX's characters escaped; two hyphens stay two hyphens unless they mean a dash."""
    escaped = _balanced(clean_line(text)).translate(_ESCAPES)
    return escaped if dashes else re.sub("-(?=-)", "-{}", escaped)


def _balanced(text: str) -> str:
    """`text` with parentheses for the braces that have no partner: BibTeX counts even escaped ones."""
    letters, open_at = list(text), list[int]()
    for position, letter in enumerate(text):
        if letter == "{":
            open_at.append(position)
        elif letter == "}" and open_at:
            open_at.pop()
        elif letter == "}":
            letters[position] = ")"
    for position in open_at:
        letters[position] = "("
    return "".join(letters)


def _title(title: str) -> str:
    """The title with braces around the words that keep their capitals when a style lowers the rest."""
    words = _text(title).split(" ")
    # In a title that capitalises its words, a capital at a word's start says nothing.
    capitalised = sum(word[:1].isupper() for word in words) > len(words) / 2
    return " ".join(
        f"{{{word}}}" if _keeps_capitals(word, initial_counts=position > 0 and not capitalised) else word
        for position, word in enumerate(words)
    )


def _keeps_capitals(word: str, *, initial_counts: bool) -> bool:
    if word.count("{") != word.count("}") or not _self_contained(word):
        return False
    letters = re.sub(r"\\text\w+|\W", "", word)
    return any(letter.isupper() for letter in (letters if initial_counts else letters[1:]))


def _self_contained(word: str) -> bool:
    depth = 0
    for letter in word:
        depth += (letter == "{") - (letter == "}")
        if depth < 0:
            return False
    return depth == 0


def _name(author: AuthorName) -> str:
    if not author.given:
        return f"{{{_text(author.family)}}}"
    parts = (author.family, author.suffix, author.given) if author.suffix else (author.family, author.given)
    return ", ".join(_name_part(part) for part in parts)


def _name_part(part: str) -> str:
    divides = "," in part or re.search(r"(?:^|\s)and(?:\s|$)", part, re.IGNORECASE)
    return f"{{{_text(part)}}}" if divides else _text(part)


def _keyword(word: str) -> str:
    return f"{{{_text(word)}}}" if "," in word else _text(word)


def _address(address: str) -> str:
    """A URL or DOI as it is, since readers take it word for word; what would end the value is percent-encoded."""
    return _NOT_IN_ADDRESSES.sub(lambda match: f"%{ord(match[0]):02X}", address)
