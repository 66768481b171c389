"""CSL-JSON (the schema of citationstyles.org, 1.0.2), as pandoc, Zotero and citeproc read it."""

from __future__ import annotations

import json
import re

from deepcritical_mcp.export.reference import (
    ET_AL,
    FIELDS,
    TRIAL_GENRE,
    TYPES,
    Reference,
    parts_of_date,
    words_with_case,
)
from deepcritical_mcp.models import UNKNOWN_DATE, AuthorName, language_names, language_tag, status_label
from deepcritical_mcp.text import clean_line

# What keeps its case without the quotation marks and brackets around it, which pandoc pairs up only outside of a span.
_CORE = re.compile(r"\w(?:[^\s\"“”„()\[\]{}<>]*(?: [a-z]+)?\w)?")
# "key: value" at the start of a note, and "{:key: value}" anywhere, override fields in pandoc, Zotero and citeproc.
_INITIALS = re.compile(r"(?<![^\s-])[A-Z]{2,3}(?![^\s-])")
_OVERRIDING = re.compile(r"[^:.]*:")


def entry(reference: Reference) -> str:
    """One item of the array."""
    return json.dumps(item(reference), ensure_ascii=False)


def item(reference: Reference) -> dict[str, object]:
    """A reference's fields in CSL-JSON, without empty ones."""
    return {name: value for name, value in _fields(reference).items() if value}


def _fields(reference: Reference) -> dict[str, object]:
    publication, pages = reference.publication, "-".join(reference.pages)
    # The words: Zotero would take a season's number for a month.
    season = reference.within_year if len(reference.date) == len(reference.issued) == 1 else ""
    fields: dict[str, object] = {
        "id": reference.key,
        "type": TYPES[reference.form].csl,
        "title": _title(reference.title),
        "original-title": reference.original_title,
        "author": [_name(author) for author in publication.authors if author != ET_AL],
        "editor": [_name(editor) for editor in publication.editors],
        "issued": _date(*reference.issued) | ({"season": season} if season else {}),
        "available-date": _date(parts_of_date(publication.electronic_date)),
        "container-title": reference.container,
        **{names.csl: getattr(publication, field) for field, names in FIELDS.items()},
        "page": pages,
        "language": language_tag(publication.language),
        "DOI": publication.doi,
        "URL": reference.url,
        "accessed": _date(parts_of_date(reference.accessed or UNKNOWN_DATE)),
        "status": "retracted" if publication.status == "retracted" else "",
        "note": _note(reference),
        "annote": reference.remark,
        "keyword": "; ".join(reference.keywords),
        "abstract": reference.abstract,
    }
    if reference.form == "preprint":
        fields |= {"genre": "Preprint", "publisher": reference.container, "number": publication.pages}
        fields |= {"container-title": "", "container-title-short": "", "page": ""}
    if reference.form == "trial":
        fields |= {"genre": TRIAL_GENRE, "number": publication.nct}
    return fields


def _title(title: str) -> str:
    """The title, with the words marked that pandoc's and Zotero's styles must leave as they are."""
    mark = f"{status_label('retracted')}: "
    words = words_with_case(title.removeprefix(mark))
    return (mark if title.startswith(mark) else "") + " ".join(
        _CORE.sub(_protected, word) if keeps and not {"<", ">"} & set(word) else word for word, keeps in words
    )


def _protected(core: re.Match[str]) -> str:
    has_case = any(letter.isupper() or letter.isdigit() for letter in core[0])
    return f'<span class="nocase">{core[0]}</span>' if has_case else core[0]


def _note(reference: Reference) -> str:
    """Status and facts on one line that no reader takes for further fields."""
    languages = language_names(reference.publication.language)
    said = f"Text in {' and '.join(languages)}. " if len(languages) > 1 else ""
    said += "Some authors before the last are left out." if ET_AL in reference.publication.authors else ""
    note = clean_line(" ".join((*reference.notes, *reference.licences, said))).replace("{:", "{ :")
    return f"Note. {note}" if _OVERRIDING.match(note) else note


def _date(*dates: tuple[int, ...]) -> dict[str, object]:
    return {"date-parts": dates} if any(dates) else {}


def _name(author: AuthorName) -> dict[str, str]:
    if not author.given:
        return {"literal": author.family}
    parts = (author.family, _INITIALS.sub(_spaced, author.given), author.suffix)
    return {name: part for name, part in zip(("family", "given", "suffix"), parts, strict=True) if part}


def _spaced(initials: re.Match[str]) -> str:
    """ "J A" for "JA", of which styles would make "J."."""
    return " ".join(initials[0])
