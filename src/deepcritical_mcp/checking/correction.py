"""A reference as it should be: the stretches that the alignment found, with the record's values in their form."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from deepcritical_mcp.checking.correction_entries import entry_variants
from deepcritical_mcp.checking.correction_ids import Edit, applied, id_edits
from deepcritical_mcp.checking.correction_names import name_style, names_in_style
from deepcritical_mcp.checking.correction_values import journal_in_style, pages_in_style, title_in_style
from deepcritical_mcp.models import AuthorName, Publication, ReferenceProblem
from deepcritical_mcp.models.vancouver import vancouver, written_date
from deepcritical_mcp.search.references import MAX_REFERENCE, compare, read_reference
from deepcritical_mcp.search.references.plain_text import Span
from deepcritical_mcp.search.references.variations import PREPRINT_SERVER
from deepcritical_mcp.search.references.written import LINK
from deepcritical_mcp.text import clean_line, clean_text

_LONGEST_ENTRY = 20_000
"""Characters of an entry with its abstract."""
_PLACE = ("volume", "issue", "pages")
_IDS = ("pmid", "doi", "pmcid", "nct")
_RETRACTED = "[Retracted]"
_DAY = re.compile(r" (?:[A-Z][a-z]{2}|[01][0-9])(?: [0-9]{1,2})?(?=;)")
_TAG = re.compile(r"</?[A-Za-z!][^<>]{0,200}>")
_WRITTEN = ("title", "vernacular_title", "journal", "journal_abbreviation", "medline_abbreviation", "publisher", "doi")
"""Fields of a record that get into a corrected line; its numbers are the source's own."""
_HAS_MARK = re.compile(r"[(\[](?:retracted|withdrawn)\b|\bretracted(?: article)?:", re.IGNORECASE)
_YEAR_NEXT = re.compile(r"\. [12][0-9]{3}\b[a-z]?[ ;]")


def corrected(written: str, publication: Publication, problems: Sequence[ReferenceProblem]) -> str:
    """The reference `written` with the statements of `problems` as `publication` says them, and nothing else changed;
    "" if nothing must change.

    Where a statement cannot be replaced for certain, the whole reference is written anew in Vancouver style, or left
    alone if its problems are minor. A missing statement is not added, but "[Retracted]" is. BibTeX, RIS and CSL-JSON
    keep their layout; any other reference comes back on one line. What is too long for one reference is left alone.
    So is an entry with a further work.
    """
    if any(one.is_further_work and not one.minor for one in problems):  # nobody knows where the one ends
        return ""
    own = publication.vernacular_title
    if own and any(one.field == "title" and one.true == own for one in problems):
        publication = publication.model_copy(update={"title": own})
    publication = _inert(publication)
    wrong = {
        one.field: one for one in problems if one.field == "status" or (one.written and (one.true or one.field in _IDS))
    }
    if "authors" in wrong and wrong["authors"].minor:
        del wrong["authors"]
    if "journal" in wrong and wrong["journal"].minor and PREPRINT_SERVER.search(wrong["journal"].written):
        del wrong["journal"]  # its number would not be the journal's
    is_entry = read_reference(written).is_labelled
    is_json = not is_entry and written.lstrip(" [\n").startswith("{")
    if not wrong or is_json or len(written) > (_LONGEST_ENTRY if is_entry else MAX_REFERENCE):
        return ""
    old = clean_text(written) if is_entry else clean_line(written)
    patched = ""
    lines = (applied(old, edits) for edits in _variants(old, publication, wrong))
    for patched in entry_variants(old, publication, wrong) if is_entry else lines:
        if _is_right(patched, old, publication, wrong):
            patched = patched if is_entry or "status" not in wrong else _marked(patched, publication)
            break
    else:
        if not is_entry:
            return "" if all(one.minor for one in wrong.values()) else vancouver(publication)
    return patched if patched != old else ""


def _places(line: str, publication: Publication) -> dict[str, Span]:
    """Where the statements of a reference stand, as a record that is laid along it tells."""
    reference = read_reference(line)
    return {
        one.field: reference.plain.written_at(*one.span)
        for one in compare(reference, publication).fields
        if one.span and one.span[0] < one.span[1]
    }


def _variants(line: str, publication: Publication, wrong: Mapping[str, ReferenceProblem]) -> Iterator[list[Edit]]:
    """What changes the wrong statements of a line, the gentlest change first; nothing if one cannot be found."""
    places = _places(line, publication)
    stated = {one.field for one in wrong.values() if not one.minor} - {*_IDS, "status"}
    apart = [places[one] for one in ("title", "authors") if one in places]
    if not stated <= places.keys() or any(
        max(places[name][0], start) < min(places[name][1], end)
        for name in ("journal", *_PLACE)
        if name in places
        for start, end in apart
    ):
        return
    if "journal" in stated and not apart:  # it may be somebody's name
        return
    edits = [edit for one in wrong.values() if one.field in _IDS for edit in id_edits(line, one, publication.pmid)]
    if "authors" in wrong:
        if not (names := names_in_style(line[slice(*places["authors"])], publication.authors)):
            return
        edits.append(_names_edit(line, places["authors"], names))
    edits += _statement_edits(line, places, publication, wrong)
    if "title" not in wrong or "title" not in places:
        yield edits
        return
    start, end = places["title"]
    while line[end - 1] in ".,?!":
        end -= 1
    for title in title_in_style(line[start:end], publication.title):
        yield [*edits, _title_edit(line, start, end, title)]


def _names_edit(line: str, span: Span, names: str) -> Edit:
    """With one full stop at their end, where one must stand."""
    if line[span[1] : span[1] + 1] == ".":
        return Edit(*span, names.rstrip("."))
    is_stop = line[span[1] - 1] == "." and not names.endswith(".") and line[span[1] : span[1] + 1] == " "
    return Edit(*span, f"{names}." if is_stop else names)


def _statement_edits(
    line: str, places: Mapping[str, Span], publication: Publication, wrong: Mapping[str, ReferenceProblem]
) -> Iterator[Edit]:
    if "year" in wrong and (span := places.get("year")):
        parts, year, behind = publication.date.split("-"), wrong["year"].true, _DAY.match(line, span[1])
        if behind:  # the month and day are those of the wrong year
            date = written_date("-".join(parts[: 1 + len(behind[0].split())]))
            yield Edit(span[0], behind.end(), date if parts[0] == year else year)
        else:
            yield Edit(*span, year)
    if "journal" in wrong and (span := places.get("journal")):
        yield from _journal_edits(line, span, places, publication)
    if "volume" in wrong and (span := places.get("volume")):
        yield Edit(*span, publication.volume)
    if (span := places.get("issue")) and not wrong.keys().isdisjoint(_PLACE):
        if publication.issue:
            yield Edit(*span, publication.issue)
        elif "volume" in wrong:
            is_alone = line[span[0] - 1] + line[span[1] : span[1] + 1] == "()"
            yield Edit(span[0] - is_alone, span[1] + is_alone, "")
    if "pages" in wrong and (span := places.get("pages")):
        yield Edit(*span, pages_in_style(line[slice(*span)], publication.pages))


def _journal_edits(line: str, span: Span, places: Mapping[str, Span], publication: Publication) -> Iterator[Edit]:
    old, end = line[slice(*span)], span[1]
    style = name_style(line[slice(*places["authors"])]) if "authors" in places else None
    # The full stop behind it may be part of its name: "*Nat. Med.* **28**", but not "JAMA. 2019;".
    is_own = ". " in old and line[end : end + 1] == "." and not _YEAR_NEXT.match(line, end)
    name = journal_in_style(old + "." * is_own, publication, abbreviates=style is not None and style.given == "JA")
    yield Edit(span[0], end + is_own, name.rstrip(".") if line[end + is_own : end + is_own + 1] == "." else name)


def _title_edit(line: str, start: int, end: int, title: str) -> Edit:
    """With one mark at the end of the title: its own, or that of the old one, which is no question mark."""
    mark = line[end : end + 1] if line[end : end + 1] in ("?", "!", ".") else ""
    is_closed = bool(mark) and line[end + 1 : end + 2] in tuple("”“\"’',")
    new = "" if title.endswith(("?", "!")) or (is_closed and mark != ".") else "." * bool(mark)
    return Edit(start, end + bool(mark), title + new)


def _marked(line: str, publication: Publication) -> str:
    """With "[Retracted]" after the title, or at the end of a reference without one."""
    if publication.status != "retracted" or _HAS_MARK.search(line):
        return line
    span = _places(line, publication).get("title")
    if span is None:
        body = line.rstrip(".")
        return f"{body} {_RETRACTED}{line[len(body) :]}"
    at = len(line) - len(line[span[1] :].lstrip("*_"))
    if line.startswith("](", at) and (address := LINK.match(line, at + 2)):
        at = address.end() + (line[address.end() - 1] != ")")
    return f"{line[:at]} {_RETRACTED}{line[at:]}"


def _is_right(patched: str, line: str, publication: Publication, wrong: Mapping[str, ReferenceProblem]) -> bool:
    """Whether a reference, read again, has the record's statements wherever `line` had wrong ones, and no new error."""
    before, reference = compare(read_reference(line), publication), read_reference(patched)
    known = {one.field for one in before.differences} - wrong.keys()
    said = {one.field for one in before.fields if one.verdict != "absent" and one.field != "title"}
    after = compare(reference, publication).fields
    if any(
        (one.verdict == "differs" and one.field not in known) or (one.verdict == "absent" and one.field in said)
        for one in after
    ):
        return False
    stand = {field: getattr(reference.ids, field).lower() for field in _IDS if field in wrong and wrong[field].true}
    return all(value in ("", wrong[field].true.lower()) for field, value in stand.items())


def _inert(publication: Publication) -> Publication:
    """A publication without markup in what is written of it, which would be active in a draft."""
    texts = {name: _without_markup(value) for name in _WRITTEN if isinstance(value := getattr(publication, name), str)}
    authors = tuple(AuthorName(*map(_without_markup, name)) for name in publication.authors)
    return publication.model_copy(update={**texts, "authors": authors})


def _without_markup(value: str) -> str:
    return _TAG.sub("", value).replace("](", "] (").replace("![", "! [")
