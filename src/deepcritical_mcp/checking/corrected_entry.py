"""An entry of BibTeX, RIS or CSL-JSON with a record's values in its fields, and everything else as it is."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import cast

from deepcritical_mcp.checking.corrected_names import given_in_full, pages_in_style, title_alone
from deepcritical_mcp.export.reference import Reference
from deepcritical_mcp.export.reference_managers import bibtex_entry, csl_entry, escaped_text, ris_entry
from deepcritical_mcp.models import AuthorName, Publication, ReferenceProblem
from deepcritical_mcp.models.publication import retraction_label
from deepcritical_mcp.net.json_fields import list_of
from deepcritical_mcp.search.references.number_places import YEAR
from deepcritical_mcp.search.references.written import EntryField, EntryForm, LabelledEntry

_IDS = ("doi", "pmid", "pmcid", "nct")


def corrected_entry(
    entry: LabelledEntry, publication: Publication, wrong: Mapping[str, ReferenceProblem], *, anew: bool
) -> str:
    """An entry with what is wrong in its fields as the publication has it, or `anew` under its key."""
    if anew:
        reference = Reference(publication, 1, entry.key or "reference", publication.form, has_texts=False)
        form = {"bibtex": bibtex_entry, "ris": ris_entry, "csl": csl_entry}[entry.form]
        return form(reference).strip()
    changes = {id(field): (field, new) for field, new in _changes(entry, publication, wrong)}
    if entry.form == "csl":
        return _json(entry, changes)
    text = entry.text
    for field, new in sorted(changes.values(), key=lambda one: one[0].at, reverse=True):
        start, end = field.at if new is not None else _whole(entry, field)
        text = text[:start] + str(new or "") + text[end:]
    return text


def _changes(
    entry: LabelledEntry, publication: Publication, wrong: Mapping[str, ReferenceProblem]
) -> Iterator[tuple[EntryField, object]]:
    """Fields, and their new values; None for one that is left out."""
    new: dict[str, str] = {name: getattr(publication, name) for name in ("volume", "issue") if name in wrong}
    if "volume" in wrong or "pages" in wrong:
        new["issue"] = publication.issue or ("" if "volume" in wrong else entry.plain(entry.field("issue")))
    if "journal" in wrong:
        new["journal"] = publication.journal or publication.book_title or publication.publisher
    title = entry.field("title")
    true = title_alone(publication.title) if "title" in wrong or not title else str(title.value)
    label = retraction_label(publication.status, true) if "status" in wrong else ""
    if "title" in wrong:
        new["title"] = f"{label}: {true}" if label else true
    elif label and title:
        yield title, f"{label}: {true}"
    for name, value in new.items():
        if (field := entry.field(name)) and value != str(field.value):
            yield field, (escaped_text(value) if entry.form == "bibtex" else value) or None
    for field in entry.every("year") if "year" in wrong else ():
        year = YEAR.search(value := json.dumps(field.value))
        if year and year[0] == wrong["year"].written[:4]:
            yield field, json.loads(value[: year.start()] + wrong["year"].true + value[year.end() :])
    last = next((one for one in entry.fields if one.name == "EP" and entry.form == "ris"), None)
    for field in entry.named("pages") if "pages" in wrong else ():
        pages = pages_in_style("1000-1999" if field.name == "SP" else str(field.value), publication.pages)
        first, _, end = pages.partition("-")
        yield field, first if field.name == "SP" else pages
        if last and field.name == "SP":
            yield last, end or None
    if "authors" in wrong and (fields := entry.named("authors")):
        names = [_name(one, entry.form) for one in publication.authors]
        between = " and " if entry.form == "bibtex" else f"\n{entry.text[slice(fields[0].whole[0], fields[0].at[0])]}"
        yield fields[0], names if entry.form == "csl" else between.join(map(str, names))
        yield from ((one, None) for one in fields[1:])
    for name in _IDS:
        field, problem = entry.field(name), wrong.get(name)
        if field and problem and (not problem.true or entry.plain(field) == problem.written):
            yield field, problem.true or None


def _name(author: AuthorName, form: EntryForm) -> object:
    family, given, suffix = author.family, given_in_full(author), author.suffix
    if form == "csl":
        return {"family": family, "given": given} if given else {"literal": family}
    if form == "ris":
        return ", ".join(filter(None, (family, given, suffix))) if given else f"{family},"
    family, given = escaped_text(family), escaped_text(given)
    return ", ".join(filter(None, (family, suffix, given))) if given else f"{{{family}}}"


def _whole(entry: LabelledEntry, field: EntryField) -> tuple[int, int]:
    """Where a field stands with the comma or the line's end that belongs to it."""
    (start, end), text = field.whole, entry.text
    if entry.form == "ris":
        return start, min(end + 1, len(text))
    behind = text[end:].lstrip()
    if behind.startswith(","):
        return start, len(text) - len(behind[1:].lstrip())
    before = text[:start].rstrip()
    return len(before) - before.endswith(","), end


def _json(entry: LabelledEntry, changes: Mapping[int, tuple[EntryField, object]]) -> str:
    """With the indentation and the separators that it has."""
    item = dict[str, object]()
    for old in entry.fields:
        _, value = changes.get(id(old), (old, old.value))
        is_number = isinstance(old.value, int) and str(value).isdecimal()
        item |= {} if value is None else {old.name: int(str(value)) if is_number else value}
    text, is_listed = entry.text, entry.text.lstrip().startswith("[")
    base, indent = (len(line) - len(line.lstrip()) for line in (text.split("\n")[-1], [*text.split("\n"), ""][1]))
    is_tight = '": ' not in text
    loaded = cast(object, [item, *list_of(json.loads(text))[1:]] if is_listed else item)
    written = json.dumps(
        loaded,
        indent=indent - base if "\n" in text else None,
        separators=("," if is_tight or "\n" in text else ", ", ":" if is_tight else ": "),
        ensure_ascii=text.isascii() and "\\u" in text,
    )
    return written.replace("\n", "\n" + " " * base)
