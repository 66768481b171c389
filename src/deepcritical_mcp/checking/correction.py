"""A reference as it should be: the stretches that the alignment found, with the record's values; entries of reference
managers, and lists of other authors, with the whole reference.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from deepcritical_mcp.checking.reference_meaning import IDS
from deepcritical_mcp.export.reference import Reference
from deepcritical_mcp.export.reference_managers import bibtex_entry, csl_entry, ris_entry
from deepcritical_mcp.models import AuthorName, Publication, ReferenceProblem
from deepcritical_mcp.models.vancouver import vancouver
from deepcritical_mcp.search.references import compare, read_reference
from deepcritical_mcp.search.references.agreement import own_number
from deepcritical_mcp.search.references.number_places import MONTHS
from deepcritical_mcp.search.references.plain_text import WORD, Span, blanked
from deepcritical_mcp.search.references.stated_ids import stated_ids
from deepcritical_mcp.search.references.written import MAX_REFERENCE
from deepcritical_mcp.text import clean_line

_TEXTS = ("title", "authors", "journal")
_TAG = re.compile(r"</?[A-Za-z!][^<>]{0,200}>")
_NEAR = 11
"""Characters from a year to its month."""
_WRITTEN = ("title", "journal", "journal_abbreviation", "medline_abbreviation", "publisher", "doi")
"""Fields of a record that get into a corrected line; its numbers are the source's own."""


def corrected(written: str, publication: Publication, problems: Sequence[ReferenceProblem]) -> str:
    """The reference `written` with the statements of `problems` as `publication` says them, and nothing else changed;
    "" if nothing must change.

    Numbers are replaced where they stand. A retracted paper, another title, journal or author, and what cannot be
    replaced for certain give the whole reference in Vancouver style, or nothing if the problems are minor; an entry of
    BibTeX, RIS or CSL-JSON is written anew under its key. A missing statement is not added. What is too long for one
    reference is left alone. So is an entry with a further work.
    """
    publication, wrong = _inert(publication), {one.field: one for one in problems if _is_changed(one, publication)}
    if not wrong or any(one.is_further_work and not one.minor for one in problems):  # nobody knows where the one ends
        return ""
    if entry := read_reference(written).entry:
        reference = Reference(publication, 1, entry.key or "reference", publication.form, has_texts=False)
        return {"bibtex": bibtex_entry, "ris": ris_entry, "csl": csl_entry}[entry.form](reference).strip()
    if written.lstrip(" [\n").startswith("{") or len(written) > MAX_REFERENCE:
        return ""
    line = clean_line(written)
    if new := _patched(line, publication, wrong) if wrong.keys().isdisjoint((*_TEXTS, "status")) else "":
        return new if new != line else ""
    return "" if all(one.minor for one in wrong.values()) else vancouver(publication)


def _is_changed(one: ReferenceProblem, publication: Publication) -> bool:
    """Whether a line gets the record's value: not of a name or word a letter off; of the status, only that a paper was
    retracted."""
    if one.field == "status":
        return publication.status == "retracted" and not one.minor
    return bool(one.written and (one.true or one.field in IDS)) and not (one.minor and one.field in _TEXTS)


def _patched(line: str, publication: Publication, wrong: Mapping[str, ReferenceProblem]) -> str:
    """A line with the wrong stretches replaced; "" if that cannot be done for certain."""
    places, new = _places(line, publication), line
    is_place = not wrong.keys().isdisjoint(("volume", "pages"))  # with the issue they are one place
    if is_place and compare(read_reference(line), publication).unread:
        return ""
    fields = [*wrong.keys() - IDS, *(one for one in ("volume", "issue") if is_place and one in places)]
    if any(one not in places and not wrong[one].minor for one in fields):
        return ""
    for field in sorted(places.keys() & fields, key=places.__getitem__, reverse=True):
        start, end = places[field]
        dash = next((one for one in ("--", "–") if one in line[start:end]), "-")
        value = own_number("year", publication) if field == "year" else str(getattr(publication, field))
        near = WORD.findall(line[max(0, start - _NEAR) : end + _NEAR].lower()) if field == "year" else ()
        if any(f"{value} {word[:3].title()}" not in vancouver(publication) for word in near if word in MONTHS):
            return ""  # another month than the record's
        if value:
            new = f"{new[:start]}{value.replace('-', dash)}{new[end:]}"
        elif line[start - 1 : start] == "(" and line[end : end + 1] == ")":  # the record has no issue
            new = f"{new[: start - 1]}{new[end + 1 :]}"
        else:  # "no." would be left
            return ""
    for one in (wrong[field] for field in IDS if field in wrong):
        if not one.true or one.true.lower().startswith(one.written.lower()):  # where the rest of it stands is not known
            return ""
        new = re.sub(rf"(?<!\w){re.escape(one.written)}(?!\w)", lambda _, true=one.true: true, new, flags=re.IGNORECASE)
    return new if _is_right(new, line, publication, wrong) else ""


def _places(line: str, publication: Publication) -> dict[str, Span]:
    """Where the statements of a reference stand in its line, as far as a record that is laid along it tells: not what
    stands there with markup, or as often in an identifier."""
    reference = read_reference(line)
    bare = blanked(line, ((one.start, one.end) for one in stated_ids(line)))
    found = dict[str, Span]()
    for one in compare(reference, publication).fields:
        start, end = one.span or (0, 0)
        old = reference.text[start:end]
        if old and reference.text.count(old) == bare.count(old):
            at = -1
            for _ in range(reference.text.count(old, 0, start) + 1):
                at = bare.find(old, at + 1)
            found[one.field] = at, at + len(old)
    return found


def _is_right(patched: str, line: str, publication: Publication, wrong: Mapping[str, ReferenceProblem]) -> bool:
    """Whether a reference, read again, has the record's statements, and none fewer than `line`."""
    reference = read_reference(patched)
    before, after = compare(read_reference(line), publication), compare(reference, publication)
    said = {one.field for one in before.fields if one.verdict != "absent"}
    ids = ((getattr(reference.ids, field).lower(), wrong[field].true.lower()) for field in IDS if field in wrong)
    is_lost = any(one.verdict == "absent" and one.field in said for one in after.fields)
    return not (after.differences or is_lost) and all(one in ("", true) for one, true in ids)


def _inert(publication: Publication) -> Publication:
    """A publication without markup in what is written of it, which would be active in a draft."""
    texts = {name: _without_markup(value) for name in _WRITTEN if isinstance(value := getattr(publication, name), str)}
    authors = tuple(AuthorName(*map(_without_markup, name)) for name in publication.authors)
    return publication.model_copy(update={**texts, "authors": authors})


def _without_markup(value: str) -> str:
    return _TAG.sub("", value).replace("](", "] (").replace("![", "! [")
