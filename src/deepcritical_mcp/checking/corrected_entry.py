"""An entry of BibTeX or RIS with a record's values in its fields, and everything else as it is; CSL-JSON anew."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from deepcritical_mcp.export import bibtex, csl, ris
from deepcritical_mcp.export.reference import Reference
from deepcritical_mcp.models import AuthorName, Publication, ReferenceProblem
from deepcritical_mcp.models.publication import retraction_label
from deepcritical_mcp.search.references.labelled import EntryField, EntryForm, LabelledEntry

_IDS = ("doi", "pmid", "pmcid", "nct")


def corrected_entry(
    entry: LabelledEntry, publication: Publication, wrong: Mapping[str, ReferenceProblem], *, anew: bool
) -> str:
    """An entry with what is wrong in its fields as the publication has it, or, as CSL-JSON always, `anew` under its
    key."""
    if anew or entry.form == "csl":
        reference = Reference(publication, 1, entry.key or "reference", publication.form, has_texts=False)
        form = {"bibtex": bibtex.entry, "ris": ris.entry, "csl": csl.entry}[entry.form]
        return form(reference).strip()
    changes = {field.at: (field, new) for field, new in _changes(entry, publication, wrong)}
    text = entry.text
    for field, new in sorted(changes.values(), key=lambda one: one[0].at, reverse=True):
        start, end = field.at if new is not None else _whole(entry, field)
        text = text[:start] + (new or "") + text[end:]
    return text


def _changes(
    entry: LabelledEntry, publication: Publication, wrong: Mapping[str, ReferenceProblem]
) -> Iterator[tuple[EntryField, str | None]]:
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
            yield field, (bibtex.escaped_text(value) if entry.form == "bibtex" else value) or None
    for field in entry.every("year") if "year" in wrong else ():
        yield field, str(field.value).replace(wrong["year"].written[:4], wrong["year"].true, 1)
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
        yield fields[0], between.join(names)
        yield from ((one, None) for one in fields[1:])
    for name in _IDS:
        field, problem = entry.field(name), wrong.get(name)
        if field and problem and (not problem.true or entry.plain(field) == problem.written):
            yield field, problem.true or None


def _name(author: AuthorName, form: EntryForm) -> str:
    family, given, suffix = author.family, _given_in_full(author), author.suffix
    if form == "ris":
        return ", ".join(filter(None, (family, given, suffix))) if given else f"{family},"
    family, given = bibtex.escaped_text(family), bibtex.escaped_text(given)
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


def title_alone(title: str) -> str:
    """A title without the full stop at its end and the brackets around a translation."""
    bare = title.removesuffix(".")
    inner = bare[1:-1].removesuffix(".")
    return inner if bare.startswith("[") and bare.endswith("]") and "[" not in inner else bare


def pages_in_style(old: str, pages: str) -> str:
    """Pages with the dash of `old`, abbreviated ("1730-44") or in full like it."""
    form, true = (re.fullmatch(r"(\w{1,12})(\W{1,4})(\w{1,12})", one.strip()) for one in (old, pages))
    if not form or not true:
        return pages
    first, last = true[1], true[3]
    if len(last) < len(first) and last.isdecimal():
        last = first[: len(first) - len(last)] + last
    if len(form[3]) < len(form[1]) and len(last) == len(first):
        last = last[next((at for at, letter in enumerate(first) if letter != last[at]), len(first) - 1) :]
    return f"{first}{form[2]}{last}"


def _given_in_full(author: AuthorName) -> str:
    """The given names, with full stops behind initials."""
    return re.sub(r"\b([A-Z])(?=\s|$)", r"\1.", author.given)
