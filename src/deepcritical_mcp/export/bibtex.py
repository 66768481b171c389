"""BibTeX, as BibTeX, biblatex, Zotero, JabRef and pandoc read it.

UTF-8 with TeX's special characters escaped, every value on one line. Web pages are `@online`, which classic BibTeX
styles treat as `@misc`; so are preprints, with their server in `howpublished`.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Sequence

from deepcritical_mcp.export.reference import ET_AL, FIELDS, TRIAL_GENRE, TYPES, Reference, words_with_case
from deepcritical_mcp.models import AuthorName, language_names
from deepcritical_mcp.text import clean_line

_SEASONS = {"spring": 21, "summer": 22, "fall": 23, "autumn": 23, "winter": 24}
_ESCAPES = str.maketrans(
    {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {sign: f"\\{sign}" for sign in "&%$#_{}"}
)
_NOT_IN_ADDRESSES = re.compile(r"[\s{}\\^`\"|]")


def entry(reference: Reference) -> str:
    """One entry, with a line break at its end."""
    lines = [f"  {name} = {value}," for name, value in _fields(reference).items() if value not in ("", "{}")]
    return "\n".join([f"@{TYPES[reference.form].bibtex}{{{reference.key},", *lines, "}", ""])


def _fields(reference: Reference) -> dict[str, str]:
    publication, container = reference.publication, reference.container
    year, month, day = (*reference.date, 0, 0, 0)[:3]
    languages = language_names(publication.language)
    words = "" if reference.within_year[:1].isdecimal() else reference.within_year
    fields = {
        "title": f"{{{_title(reference.title)}}}",
        "origtitle": _value(reference.original_title),
        "author": _people(publication.authors),
        "editor": _people(publication.editors),
        "year": f"{{{year:04d}}}" if year else "",
        "month": _value(words) if words else calendar.month_abbr[month].lower(),
        "date": f"{{{_edtf(reference)}}}" if day or publication.issue_date else "",
        "booktitle" if reference.form == "chapter" else "journal": _value(container),
        **{names.bibtex: _value(getattr(publication, field)) for field, names in FIELDS.items()},
        "pages": f"{{{escaped_text('--'.join(reference.pages), dashes=True)}}}",
        "language": f"{{{' and '.join(map(_name_part, languages))}}}",
        "langid": _value(languages[0].lower()) if len(languages) == 1 and languages != ["English"] else "",
        "doi": f"{{{_address(publication.doi)}}}",
        "url": f"{{{_address(reference.url)}}}",
        "urldate": _value(reference.accessed),
        "note": _value(" ".join(reference.notes)),
        "keywords": f"{{{', '.join(map(_keyword, reference.keywords))}}}",
        "abstract": _value(reference.abstract),
        "annote": _value(reference.remark),
    }
    if reference.form == "preprint":
        fields |= {"howpublished": _value(f"{container} [Preprint]".strip()), "number": _value(publication.pages)}
        fields |= dict.fromkeys(("journal", "shortjournal", "publisher", "address", "volume", "pages"), "")
    if reference.form == "trial":
        fields |= {"institution": fields["publisher"], "publisher": "", "type": _value(TRIAL_GENRE)}
        fields["number"] = _value(publication.nct)
    return fields


def _edtf(reference: Reference) -> str:
    """The date as biblatex reads it: "2013-11/2013-12", "1990-21" for the spring of 1990."""
    if season := _SEASONS.get(reference.within_year.lower()):
        return f"{reference.date[0]:04d}-{season}"
    return "/".join("-".join(f"{part:02d}" for part in date) for date in reference.issued)


def _value(text: str) -> str:
    return f"{{{escaped_text(text)}}}"


def _people(names: Sequence[AuthorName]) -> str:
    return f"{{{' and '.join(map(_name, names))}}}"


def escaped_text(text: str, *, dashes: bool = False) -> str:
    """`text` on one line with TeX's characters escaped; two hyphens stay two hyphens unless they mean a dash."""
    escaped = _balanced(clean_line(text)).translate(_ESCAPES)
    return escaped if dashes else re.sub("-(?=-)", "-{}", escaped)


def _balanced(text: str) -> str:
    """`text` with unmatched braces replaced by parentheses: BibTeX counts even escaped ones."""
    if "{" not in text and "}" not in text:
        return text
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
    words = words_with_case(_balanced(clean_line(title)))
    escaped = ((re.sub("-(?=-)", "-{}", word.translate(_ESCAPES)), keeps) for word, keeps in words)
    return " ".join(f"{{{word}}}" if keeps and _balanced(word) == word else word for word, keeps in escaped)


def _name(author: AuthorName) -> str:
    if author == ET_AL:
        return "others"
    if not author.given:
        return f"{{{escaped_text(author.family)}}}"
    parts = (author.family, author.suffix, author.given) if author.suffix else (author.family, author.given)
    return ", ".join(_name_part(part) for part in parts)


def _name_part(part: str) -> str:
    """In braces if readers would divide it: a lone escaped sign takes the space before the next "and" with it."""
    divides = "," in part or re.search(r"(?:^|\s)(?:and|[&%$#_{}]+)(?:\s|$)", part, re.IGNORECASE)
    return f"{{{escaped_text(part)}}}" if divides else escaped_text(part)


def _keyword(word: str) -> str:
    return f"{{{escaped_text(word)}}}" if "," in word else escaped_text(word)


def _address(address: str) -> str:
    """A URL or DOI unescaped, since readers take it literally; characters that end a value are percent-encoded."""
    return _NOT_IN_ADDRESSES.sub(lambda match: f"%{ord(match[0]):02X}", address)
