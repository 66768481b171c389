"""A reference as it should be: the stretches that the alignment found, with the record's values; entries of reference
managers, and lists of other authors, with the whole reference.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from deepcritical_mcp.export.reference import Reference
from deepcritical_mcp.export.reference_managers import bibtex_entry, csl_entry, ris_entry
from deepcritical_mcp.identifiers import normalize_doi, normalize_pmcid, normalize_pmid, normalize_trial
from deepcritical_mcp.models import AuthorName, Publication, ReferenceProblem
from deepcritical_mcp.models.vancouver import vancouver
from deepcritical_mcp.search.references import MAX_REFERENCE, compare, read_reference
from deepcritical_mcp.search.references.agreement import PREPRINT_SERVER, own_number
from deepcritical_mcp.search.references.plain_text import Span
from deepcritical_mcp.search.references.written import (
    BARE_PMID,
    DOI,
    PMCID,
    PMID,
    TRIAL,
    balanced,
)
from deepcritical_mcp.text import FUNCTION_WORDS, clean_line

_IDS = {
    "pmid": (PMID, normalize_pmid),
    "doi": (DOI, normalize_doi),
    "pmcid": (PMCID, normalize_pmcid),
    "nct": (TRIAL, normalize_trial),
}
_RETRACTED = "[Retracted]"
_HAS_MARK = re.compile(r"[(\[](?:retracted|withdrawn)\b|\bretracted(?: article)?:", re.IGNORECASE)
_TAG = re.compile(r"</?[A-Za-z!][^<>]{0,200}>")
_WRITTEN = ("title", "vernacular_title", "journal", "journal_abbreviation", "medline_abbreviation", "publisher", "doi")
"""Fields of a record that get into a corrected line; its numbers are the source's own."""


class _Edit(NamedTuple):
    """`new` for what stands at `start` to `end`."""

    start: int
    end: int
    new: str


def corrected(written: str, publication: Publication, problems: Sequence[ReferenceProblem]) -> str:
    """The reference `written` with the statements of `problems` as `publication` says them, and nothing else changed;
    "" if nothing must change.

    Other authors, a preprint cited as a paper, and what cannot be replaced for certain give the whole reference in
    Vancouver style, or nothing if the problems are minor; an entry of BibTeX, RIS or CSL-JSON is written anew under its
    key. A missing statement is not added, but "[Retracted]" is. What is too long for one reference is left alone. So is
    an entry with a further work.
    """
    if any(one.is_further_work and not one.minor for one in problems):  # nobody knows where the one ends
        return ""
    own = publication.vernacular_title
    if own and any(one.field == "title" and one.true == own for one in problems):
        publication = publication.model_copy(update={"title": own})
    publication, wrong = _inert(publication), {one.field: one for one in problems if _is_changed(one)}
    if publication.status != "retracted" or _HAS_MARK.search(written):
        wrong.pop("status", None)
    if not wrong:
        return ""
    if entry := read_reference(written).entry:
        reference = Reference(publication, 1, entry.key or "reference", publication.form, has_texts=False)
        return {"bibtex": bibtex_entry, "ris": ris_entry, "csl": csl_entry}[entry.form](reference).strip()
    if written.lstrip(" [\n").startswith("{") or len(written) > MAX_REFERENCE:
        return ""
    line = clean_line(written)
    is_whole = "authors" in wrong or (publication.form == "preprint" and "journal" in wrong)
    if new := "" if is_whole else _patched(line, publication, wrong):
        return new if new != line else ""
    return "" if all(one.minor for one in wrong.values()) else vancouver(publication)


def _is_changed(one: ReferenceProblem) -> bool:
    """Whether a line gets the record's value: not of names a letter off, nor of a preprint's server, whose number would
    not be the journal's."""
    if one.minor and (one.field == "authors" or (one.field == "journal" and PREPRINT_SERVER.search(one.written))):
        return False
    return one.field == "status" or bool(one.written and (one.true or one.field in _IDS))


def _patched(line: str, publication: Publication, wrong: Mapping[str, ReferenceProblem]) -> str:
    """A line with the wrong stretches replaced; "" if that cannot be done for certain."""
    places, edits, fields = _places(line, publication), list[_Edit](), dict.fromkeys(wrong)
    if not fields.keys().isdisjoint(("volume", "pages")):  # with the issue they are one place
        if compare(read_reference(line), publication).unread:
            return ""
        fields |= dict.fromkeys(one for one in ("volume", "issue") if one in places)
    for field in fields:
        if field in _IDS and wrong[field].true:
            edits += _id_edits(line, wrong[field])
        elif field in places:
            edits.append(_edit(line, field, places[field], publication))
        elif field in _IDS or (field != "status" and not wrong[field].minor):
            return ""
    new = _applied(line, edits)
    if not _is_right(new, line, publication, wrong):
        return ""
    return _marked(new, publication) if "status" in wrong else new


def _edit(line: str, field: str, span: Span, publication: Publication) -> _Edit:
    """What puts the record's value in the place of a field."""
    (start, end), old = span, line[slice(*span)]
    behind = line[end : end + 1]
    if field == "title":
        end -= len(old) - len(old.rstrip(".,?!"))
        title, mark = _title_alone(publication.title), line[end : end + 1]
        mark = mark if mark in (".", "?", "!") else ""
        is_closed = mark in ("?", "!") and line[end + 1 : end + 2] in tuple("”“\"’',")
        stop = "." if mark and not is_closed and title[-1:] not in ("?", "!") else ""
        return _Edit(start, end + len(mark), title + stop)
    if field == "year":  # the month and day are those of the wrong year
        month = re.match(r" [A-Z][a-z]{2}(?: \d{1,2})?(?=;)", line[end:])
        return _Edit(start, end + (month.end() if month else 0), own_number(field, publication))
    if field == "journal":
        name = _journal(old, publication)
        return _Edit(start, end, name.rstrip(".") if behind == "." else name)
    if field == "issue" and not publication.issue:
        is_alone = line[start - 1] + behind == "()"
        return _Edit(start - is_alone, end + is_alone, "")
    dash = next((one for one in ("--", "–") if one in old), "-")
    return _Edit(start, end, str(getattr(publication, field)).replace("-", dash))


def _journal(old: str, publication: Publication) -> str:
    """The journal's name, abbreviated if `old` is: if it has full stops or only short words."""
    is_short = "." in old or not any(word.lower() in FUNCTION_WORDS or len(word) > 7 for word in old.split())
    full = re.split(r"\s?[:;=(\[]|\s/\s", publication.journal)[0].strip() or publication.journal
    names = (publication.short_journal, full) if is_short else (full.removeprefix("The "), publication.short_journal)
    return next(filter(None, names), publication.book_title or publication.publisher)


def _applied(text: str, edits: Sequence[_Edit]) -> str:
    """`text` with the edits that do not overlap with earlier ones."""
    parts, at = list[str](), 0
    for edit in sorted(edits):
        if edit.start >= at:
            parts += text[at : edit.start], edit.new
            at = edit.end
    return "".join([*parts, text[at:]])


def _id_edits(text: str, problem: ReferenceProblem) -> Iterator[_Edit]:
    """What puts the record's identifier in the places of a wrong one."""
    pattern, in_one_form = _IDS.get(problem.field, (None, str))
    found = [*pattern.finditer(text)] if pattern and problem.true else []
    found += [one] if problem.field == "pmid" and problem.true and (one := BARE_PMID.search(text)) else []
    for one in found:
        value, start = balanced(one[1])[0], one.start(1)
        if in_one_form(unquote(value)).lower() == problem.written.lower():
            rest = problem.true[len(value) :] if problem.true.lower().startswith(value.lower()) else ""
            # Blanks may break a number.
            tail = re.match(r"\s*".join(map(re.escape, ("", *rest))), text[start + len(value) :], re.IGNORECASE)
            yield _Edit(start, start + len(value) + (tail.end() if tail and rest else 0), problem.true)


def _places(line: str, publication: Publication) -> dict[str, Span]:
    """Where the statements of a reference stand, as a record that is laid along it tells."""
    reference = read_reference(line)
    spans = ((one.field, one.span) for one in compare(reference, publication).fields if one.span)
    return {field: reference.plain.written_at(*span) for field, span in spans if span[0] < span[1]}


def _marked(line: str, publication: Publication) -> str:
    """With "[Retracted]" after the title, or at the end of a reference without one."""
    if publication.status != "retracted" or _HAS_MARK.search(line):
        return line
    _, end = _places(line, publication).get("title", (0, len(line.rstrip("."))))
    at = len(line) - len(line[end:].lstrip("*_"))
    return f"{line[:at]} {_RETRACTED}{line[at:]}"


def _is_right(patched: str, line: str, publication: Publication, wrong: Mapping[str, ReferenceProblem]) -> bool:
    """Whether a reference, read again, has the record's statements wherever `line` had wrong ones, and no new error."""
    before, reference = compare(read_reference(line), publication), read_reference(patched)
    known = {one.field for one in before.differences} - wrong.keys()
    said = {one.field for one in before.fields if one.verdict != "absent" and one.field != "title"}
    after = {one.field: one.verdict for one in compare(reference, publication).fields}
    ids = ((getattr(reference.ids, field).lower(), wrong[field].true.lower()) for field in _IDS if field in wrong)
    return all(one in ("", true) for one, true in ids) and not any(
        (verdict == "differs" and field not in known) or (verdict == "absent" and field in said)
        for field, verdict in after.items()
    )


def _inert(publication: Publication) -> Publication:
    """A publication without markup in what is written of it, which would be active in a draft."""
    texts = {name: _without_markup(value) for name in _WRITTEN if isinstance(value := getattr(publication, name), str)}
    authors = tuple(AuthorName(*map(_without_markup, name)) for name in publication.authors)
    return publication.model_copy(update={**texts, "authors": authors})


def _without_markup(value: str) -> str:
    return _TAG.sub("", value).replace("](", "] (").replace("![", "! [")


def _title_alone(title: str) -> str:
    """A title without the full stop at its end and the brackets around a translation."""
    bare = title.removesuffix(".")
    return bare[1:-1].removesuffix(".") if bare.startswith("[") and bare.endswith("]") else bare
