"""BibTeX, as BibTeX, biblatex, Zotero, JabRef and pandoc read it.

UTF-8 with TeX's special characters escaped, every value on one line. Web pages are `@online`, which classic BibTeX
styles treat as `@misc`; so are preprints, with their server in `howpublished`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from deepcritical_mcp.export.reference import PLAIN_FIELDS, Reference, words_with_case
from deepcritical_mcp.models import AuthorName, PublicationForm, language_names
from deepcritical_mcp.text import clean_line

_TYPES: dict[PublicationForm, str] = {
    "article": "article",
    "preprint": "misc",
    "chapter": "incollection",
    "book": "book",
    "trial": "online",
    "page": "online",
    "other": "misc",
}
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


def _fields(reference: Reference) -> Iterator[tuple[str, str]]:
    publication = reference.publication
    year, month, day = (*reference.date, 0, 0, 0)[:3]
    yield "title", f"{{{_title(reference.title)}}}"
    yield "origtitle", _value(publication.vernacular_title)
    yield "author", _people(reference.authors)
    yield "editor", _people(publication.editors)
    yield "year", f"{{{year:04d}}}" if year else ""
    yield "month", _MONTHS[month - 1] if 1 <= month <= 12 else ""
    yield "date", f"{{{publication.date}}}" if day else ""
    yield from _container(reference)
    yield "issn", _value(publication.issn)
    yield "isbn", _value(publication.isbn)
    yield from _language(publication.language)
    yield "doi", f"{{{_address(publication.doi)}}}"
    yield "pmid", _value(publication.pmid)
    yield "pmcid", _value(publication.pmcid)
    yield "url", f"{{{_address(reference.url)}}}"
    yield "note", _value(" ".join(filter(None, (reference.status_note, *reference.facts))))
    yield "keywords", f"{{{', '.join(_keyword(word) for word in reference.keywords)}}}"
    yield "abstract", _value(reference.abstract)
    yield "annote", _value(reference.remark)


def _container(reference: Reference) -> Iterator[tuple[str, str]]:
    """What it appeared in, and where in it."""
    publication = reference.publication
    pages = f"{{{_text('--'.join(filter(None, reference.pages)), dashes=True)}}}"
    if reference.kind == "preprint":
        server = publication.journal_abbreviation or publication.journal or publication.publisher
        yield "howpublished", _value(f"{server} [Preprint]".strip())
        yield "number", _value(publication.pages)
        return
    if reference.kind in ("chapter", "book"):
        yield "booktitle", _value(publication.book_title) if reference.kind == "chapter" else ""
    else:
        yield "journal", _value(publication.journal)
        yield "shortjournal", _value(publication.journal_abbreviation)
    yield "publisher", _value(publication.publisher)
    for plain in PLAIN_FIELDS:
        yield plain.bibtex, _value(getattr(publication, plain.field))
    yield "pages", pages


def _language(codes: str) -> Iterator[tuple[str, str]]:
    names = language_names(codes)
    yield "language", f"{{{' and '.join(map(_name_part, names))}}}"
    yield "langid", _value(names[0].lower()) if len(names) == 1 and names != ["English"] else ""


def _value(text: str) -> str:
    return f"{{{_text(text)}}}"


def _people(names: Sequence[AuthorName]) -> str:
    return f"{{{' and '.join(map(_name, names))}}}"


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
    words = ((_text(word), keeps) for word, keeps in words_with_case(_balanced(clean_line(title))))
    return " ".join(f"{{{word}}}" if keeps and _self_contained(word) else word for word, keeps in words)


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
    """In braces if readers would divide it: a lone escaped sign takes the space before the next "and" with it."""
    divides = "," in part or re.search(r"(?:^|\s)(?:and|[&%$#_{}])(?:\s|$)", part, re.IGNORECASE)
    return f"{{{_text(part)}}}" if divides else _text(part)


def _keyword(word: str) -> str:
    return f"{{{_text(word)}}}" if "," in word else _text(word)


def _address(address: str) -> str:
    """A URL or DOI as it is, since readers take it word for word; what would end the value is percent-encoded."""
    return _NOT_IN_ADDRESSES.sub(lambda match: f"%{ord(match[0]):02X}", address)
