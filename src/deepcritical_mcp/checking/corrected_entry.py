"""An entry of BibTeX, RIS or CSL-JSON with a record's values in its fields, and everything else as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from deepcritical_mcp.export import bibtex, csl, ris
from deepcritical_mcp.export.reference import Reference
from deepcritical_mcp.models import Publication, ReferenceProblem
from deepcritical_mcp.models.publication import retraction_label
from deepcritical_mcp.net.json_fields import list_of
from deepcritical_mcp.search.references.labelled import YEAR, EntryField, LabelledEntry, read_entry

_STATEMENTS = ("title", "authors", "journal", "volume", "issue", "pages", "doi", "pmid", "pmcid")


def corrected_entry(
    entry: LabelledEntry, publication: Publication, wrong: Mapping[str, ReferenceProblem], *, anew: bool
) -> str:
    """An entry with what is wrong in its fields as an export of the publication has it, or `anew` under its key."""
    status, publication = publication.status, publication.model_copy(update={"status": "ok"} if not anew else {})
    reference = Reference(publication, 1, entry.key or "reference", publication.form, has_texts=False)
    text = {"bibtex": bibtex.entry, "ris": ris.entry, "csl": csl.entry}[entry.form](reference).strip()
    exported = read_entry(text)
    if anew or exported is None:
        return text
    label = retraction_label(status, entry.plain(entry.field("title"))) if "status" in wrong else ""
    changes = [*_changes(entry, exported, wrong, label)]
    if entry.form == "csl":
        return _json(entry, {field.name: new for field, new in changes})
    text = entry.text
    for field, new in sorted(changes, key=lambda one: one[0].at, reverse=True):
        start, end = field.at if new else _whole(entry, field)
        text = text[:start] + str(new or "") + text[end:]
    return text


def _changes(
    entry: LabelledEntry, exported: LabelledEntry, wrong: Mapping[str, ReferenceProblem], label: str
) -> Iterator[tuple[EntryField, object]]:
    """Fields, and their new values; None for one that is left out. The title gets a `label`."""
    has_issue = "volume" in wrong or ("pages" in wrong and exported.field("issue"))
    for name in _STATEMENTS:
        if name not in wrong and not (name == "issue" and has_issue) and not (name == "title" and label):
            continue
        olds, source = entry.named(name), exported if name in wrong or name == "issue" else entry
        if name in ("doi", "pmid", "pmcid"):
            olds = [one for one in olds if not wrong[name].true or entry.plain(one) == wrong[name].written]
        values = [one.value if entry.form == "csl" else source.text[slice(*one.at)] for one in source.named(name)]
        if name == "title" and label:
            values = [f"{label}: {str(one).lstrip()}" for one in values]
        for number, old in enumerate(olds):
            new = values[0] if values and not number else None
            if name == "authors" and new and entry.form == "ris":
                new = f"\n{entry.text[slice(old.whole[0], old.at[0])]}".join(map(str, values))
            yield old, new
    last = [next((one for one in source.fields if one.name == "EP"), None) for source in (entry, exported)]
    if "pages" in wrong and entry.form == "ris" and last[0]:
        yield last[0], last[1].value if last[1] else None
    for field in entry.every("year") if "year" in wrong else ():
        year = YEAR.search(value := json.dumps(field.value))
        if year and year[0] == wrong["year"].written[:4]:
            yield field, json.loads(value[: year.start()] + wrong["year"].true + value[year.end() :])


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


def _json(entry: LabelledEntry, changes: Mapping[str, object]) -> str:
    """With the indentation that it has; numbers stay numbers."""
    item = dict[str, object]()
    for old in entry.fields:
        value = changes.get(old.name, old.value)
        is_number = isinstance(old.value, int) and str(value).isdecimal()
        item |= {} if value is None else {old.name: int(str(value)) if is_number else value}
    indent, listed = re.search(r"\n( *)\S", entry.text), list_of(json.loads(entry.text))
    loaded = [item, *listed[1:]] if listed else item
    return json.dumps(loaded, indent=len(indent[1]) if indent else None, ensure_ascii="\\u" in entry.text)
