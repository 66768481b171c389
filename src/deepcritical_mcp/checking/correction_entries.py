"""Entries of BibTeX, RIS and CSL-JSON with other values in their fields, and everything else as it is."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import cast

from deepcritical_mcp.checking.correction_ids import Edit, applied, id_edits
from deepcritical_mcp.checking.correction_names import entry_given
from deepcritical_mcp.checking.correction_values import journal_in_style, pages_in_style, title_alone, title_in_style
from deepcritical_mcp.export.bibtex import escaped_text
from deepcritical_mcp.models import AuthorName, Publication, ReferenceProblem
from deepcritical_mcp.models.publication import retraction_label
from deepcritical_mcp.net.json_fields import list_of, mapping_of, text_of
from deepcritical_mcp.search.references.labelled import YEAR, EntryField, LabelledEntry, bibtex_names, read_entry

_IDS = ("doi", "pmid", "pmcid", "nct")


def entry_variants(written: str, publication: Publication, wrong: Mapping[str, ReferenceProblem]) -> Iterator[str]:
    """The entry with what is wrong in its fields as the publication has it, the gentlest change first."""
    entry = read_entry(written)
    if entry is None:
        return
    changes = {id(field): (field, new) for field, new in _changes(entry, publication, wrong)}
    title = entry.field("title")
    new = title_alone(publication.title)
    old = str(title.value) if title else ""
    titles = title_in_style(old, escaped_text(new) if entry.form == "bibtex" else new) if "title" in wrong else (old,)
    for one in titles if title else ("",):
        label = retraction_label(publication.status, one) if "status" in wrong else ""
        text = _written(
            entry, {**changes, **({id(title): (title, f"{label}: {one}" if label else one)} if title else {})}
        )
        for problem in (wrong[name] for name in _IDS if name in wrong and wrong[name].true):
            text = applied(text, id_edits(text, problem, ""))
        yield text


def _changes(
    entry: LabelledEntry, publication: Publication, wrong: Mapping[str, ReferenceProblem]
) -> Iterator[tuple[EntryField, object]]:
    """Fields, and their new values; None for one that is left out."""
    new: dict[str, str] = {name: getattr(publication, name) for name in ("volume", "issue") if name in wrong}
    if "volume" in wrong or "pages" in wrong:
        new["issue"] = publication.issue or ("" if "volume" in wrong else entry.plain(entry.field("issue")))
    if field := entry.field("journal") if "journal" in wrong else None:
        new["journal"] = title_alone(journal_in_style(str(field.value), publication, abbreviates=False))
    for name, value in new.items():
        if (field := entry.field(name)) and value != str(field.value):
            yield field, (escaped_text(value) if entry.form == "bibtex" else value) or None
    if (field := entry.field("year")) and "year" in wrong:
        is_csl = entry.form == "csl"
        changed = YEAR.sub(wrong["year"].true, json.dumps(field.value) if is_csl else str(field.value), count=1)
        yield field, json.loads(changed) if is_csl else changed
    if "pages" in wrong:
        yield from _pages(entry, publication.pages)
    if "authors" in wrong:
        yield from _people(entry, publication.authors)
    for name in _IDS:
        field, problem = entry.field(name), wrong.get(name)
        if field and problem and problem.true:
            old = str(field.value)
            yield field, applied(old, edits) if (edits := [*id_edits(old, problem, "")]) else problem.true
        elif field and problem:
            takes_pmid = name == "doi" and publication.pmid and entry.form != "ris" and not entry.field("pmid")
            yield field, EntryField("PMID" if entry.form == "csl" else "pmid", publication.pmid) if takes_pmid else None


def _pages(entry: LabelledEntry, pages: str) -> Iterator[tuple[EntryField, object]]:
    last = next((one for one in entry.fields if one.name == "EP"), None) if entry.form == "ris" else None
    for field in entry.named("pages"):
        new = pages_in_style("1000-1999" if field.name == "SP" else str(field.value), pages)
        yield field, new.partition("-")[0] if field.name == "SP" else new
        if last and field.name == "SP":
            yield last, new.partition("-")[2] or None


def _people(entry: LabelledEntry, authors: tuple[AuthorName, ...]) -> Iterator[tuple[EntryField, object]]:
    fields = entry.named("authors")
    if not fields:
        return
    first = fields[0]
    if entry.form == "bibtex":
        listed = bibtex_names(str(first.value))
        is_shortened = listed[-1] == "others" and len(authors) >= len(listed)
        names = [_bibtex_name(listed[0], one) for one in authors[: len(listed) - 1 if is_shortened else None]]
        yield first, " and ".join([*names, "others"] if is_shortened else names)
    elif entry.form == "csl":
        given = text_of(mapping_of(list_of(first.value)[0]).get("given")) if list_of(first.value) else ""
        yield first, [_csl_name(f", {given}" if given else "", one) for one in authors]
    else:
        tag = entry.text[first.whole[0] : first.at[0]]
        names = [", ".join(filter(None, (one.family, entry_given(str(first.value), one)))) for one in authors]
        yield first, f"\n{tag}".join(names)
        yield from ((one, None) for one in fields[1:])


def _bibtex_name(old: str, author: AuthorName) -> str:
    given, family = escaped_text(entry_given(old, author)), escaped_text(author.family)
    if not given:
        return f"{{{family}}}"
    if "," in old or author.suffix:
        return ", ".join(filter(None, (family, author.suffix, given)))
    return f"{given} {family}"


def _csl_name(old: str, author: AuthorName) -> dict[str, str]:
    given = entry_given(old, author)
    return {"family": author.family, "given": given} if author.given else {"literal": author.family}


def _written(entry: LabelledEntry, changes: Mapping[int, tuple[EntryField, object]]) -> str:
    """The entry with other fields, in its layout."""
    if entry.form == "csl":
        return _json(entry, changes)
    edits = list[Edit]()
    for field, new in changes.values():
        if isinstance(new, EntryField):
            start = field.whole[0]
            edits += Edit(start, start + len(field.name), new.name), Edit(*field.at, str(new.value))
        else:
            edits.append(_without(entry, field) if new is None else Edit(*field.at, str(new)))
    return applied(entry.text, edits)


def _without(entry: LabelledEntry, field: EntryField) -> Edit:
    """Without a field, and the comma or the line's end that belongs to it."""
    (start, end), text = field.whole, entry.text
    if entry.form == "ris":
        return Edit(start, min(end + 1, len(text)), "")
    behind = text[end:].lstrip()
    if behind.startswith(","):
        return Edit(start, len(text) - len(behind[1:].lstrip()), "")
    before = text[:start].rstrip()
    return Edit(len(before) - before.endswith(","), end, "")


def _json(entry: LabelledEntry, changes: Mapping[int, tuple[EntryField, object]]) -> str:
    """With the indentation and the separators that it has."""
    item = dict[str, object]()
    for old in entry.fields:
        _, new = changes.get(id(old), (old, old.value))
        name, value = (new.name, new.value) if isinstance(new, EntryField) else (old.name, new)
        is_number = isinstance(old.value, int) and str(value).isdecimal()
        item |= {} if value is None else {name: int(str(value)) if is_number else value}
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
