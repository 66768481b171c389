"""A reference as it should be, in the style in which it is written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from deepcritical_mcp.checking.correction_entries import entry_variants
from deepcritical_mcp.checking.correction_ids import Edit, applied, id_edits, id_places
from deepcritical_mcp.checking.correction_names import name_style, names_in_style
from deepcritical_mcp.checking.correction_values import is_abbreviated, journal_in_style, pages_in_style, title_in_style
from deepcritical_mcp.models import AuthorName, Publication, ReferenceProblem
from deepcritical_mcp.models.vancouver import vancouver, written_date
from deepcritical_mcp.search.references import MAX_REFERENCE, StatedField, compare, journals_agree, read_reference
from deepcritical_mcp.search.references.plain_text import Span
from deepcritical_mcp.search.references.variations import PREPRINT_SERVER
from deepcritical_mcp.search.references.written import LINK
from deepcritical_mcp.text import clean_line, clean_text

_LONGEST_ENTRY = 20_000
"""Characters of an entry with its abstract."""
_PLACE = ("volume", "issue", "pages")
_BEHIND = ("journal", *_PLACE)
"""What never stands within a title or a list of names."""
_RETRACTED = "[Retracted]"
_DAY = re.compile(r" (?:[A-Z][a-z]{2}|[01][0-9])(?: [0-9]{1,2})?(?=;)")
_JSON = re.compile(r"\s{0,20}(?:\[\s{0,20})?\{")
_TAG = re.compile(r"</?[A-Za-z!][^<>]{0,200}>")
_WRITTEN = ("title", "vernacular_title", "journal", "journal_abbreviation", "medline_abbreviation", "publisher", "doi")
"""Fields of a record that get into a corrected line; its numbers are the source's own."""
_HAS_MARK = re.compile(r"[(\[](?:retracted|withdrawn)\b|\bretracted(?: article)?:", re.IGNORECASE)
_MOST_OTHER_WORDS = 4
"""E.g. "Epub ahead of print", "Available from"."""
_YEAR_NEXT = re.compile(r" [12][0-9]{3}\b[a-z]?[ ;]")
_CLOSED = re.compile(r"[”“\"’']?,")
_MARK_BEFORE = re.compile(r"[*_]{1,3}\Z")
_IDS = ("pmid", "doi", "pmcid", "nct")
_LONG_WORD = re.compile(r"[^\W\d_]{4,}")


class _Places:
    """Where the statements of a reference stand, as a record that is laid along it tells."""

    def __init__(self, line: str, publication: Publication) -> None:
        reference = read_reference(line)
        agreement = compare(reference, publication)
        self._line = line
        self._spans: dict[str, Span] = {
            one.field: reference.plain.written_at(*one.span)
            for one in agreement.fields
            if one.span and one.span[0] < one.span[1]
        }

    def of(self, field: StatedField | str) -> Span | None:
        """Where a field stands; None if it does not."""
        return self._spans.get(field)

    def rest(self) -> list[str]:
        """The longer words of the reference that belong to no statement."""
        known = [*self._spans.values(), *((one.lead, one.end) for one in id_places(self._line))]
        known += [link.span() for link in LINK.finditer(self._line)]
        letters = list(self._line)
        for start, end in known:
            letters[start:end] = " " * (end - start)
        return _LONG_WORD.findall("".join(letters))


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
    wrong = {one.field: one for one in problems if one.written and (one.true or one.field in _IDS)}
    wrong |= {one.field: one for one in problems if one.field == "status"}
    if "authors" in wrong and wrong["authors"].minor:
        del wrong["authors"]
    if "journal" in wrong and wrong["journal"].minor and PREPRINT_SERVER.search(wrong["journal"].written):
        del wrong["journal"]  # its number would not be the journal's
    if not wrong:
        return ""
    is_entry = read_reference(written).is_labelled
    if len(written) > (_LONGEST_ENTRY if is_entry else MAX_REFERENCE) or (not is_entry and _JSON.match(written)):
        return ""
    old = clean_text(written) if is_entry else clean_line(written)
    variants = entry_variants(old, publication, wrong) if is_entry else _patched(old, publication, wrong)
    patched = ""
    for patched in variants:
        if _is_right(patched, old, publication, wrong):
            marked = patched if is_entry or "status" not in wrong else _marked(patched, publication)
            return marked if marked != old else ""
    if is_entry:
        return patched if patched != old else ""
    return "" if all(one.minor for one in wrong.values()) else vancouver(publication)


def _patched(line: str, publication: Publication, wrong: dict[str, ReferenceProblem]) -> Iterator[str]:
    """The line with its wrong statements replaced, the gentlest change first; nothing if one cannot be found."""
    stated = {one.field for one in wrong.values() if not one.minor} - {*_IDS, "status"}
    places = _Places(line, publication)
    edits = [edit for one in wrong.values() if one.field in _IDS for edit in id_edits(line, one, publication.pmid)]
    if any(places.of(field) is None for field in stated):
        return
    if "title" in stated and len(places.rest()) > _MOST_OTHER_WORDS:  # the title is longer than it seems
        return
    if "journal" in stated and not (places.of("title") or places.of("authors")):  # it may be somebody's name
        return
    if any(
        _overlap(places.of(field), other) for field in _BEHIND for other in (places.of("title"), places.of("authors"))
    ):
        return
    edits += _statement_edits(line, places, publication, wrong)
    span = places.of("title")
    if "title" not in wrong or span is None:
        yield applied(line, edits)
        return
    for title in title_in_style(line[slice(*span)], publication.title):
        yield applied(line, [*edits, _title_edit(line, span, title)])


def _overlap(one: Span | None, other: Span | None) -> bool:
    return one is not None and other is not None and max(one[0], other[0]) < min(one[1], other[1])


def _statement_edits(
    line: str, places: _Places, publication: Publication, wrong: dict[str, ReferenceProblem]
) -> Iterator[Edit]:
    authors = places.of("authors")
    if "authors" in wrong and authors:
        names = _with_stop(names_in_style(line[slice(*authors)], publication.authors), line, authors)
        yield _without_lone_mark(line, *authors, names)
    if "year" in wrong and (span := places.of("year")):
        yield _year_edit(line, span, wrong["year"].true, publication)
    if "journal" in wrong and (span := places.of("journal")) and not _is_journal(line[slice(*span)], publication):
        has_short_names = authors is not None and name_style(line[slice(*authors)]).given == "JA"
        stop = "." if _ends_in_abbreviation(line, span) else ""
        name = journal_in_style(line[slice(*span)] + stop, publication, abbreviates=has_short_names)
        yield _journal_edit(line, span, name, stop=stop)
    if wrong.keys().isdisjoint(_PLACE):
        return
    if "volume" in wrong and (span := places.of("volume")):
        yield Edit(*span, publication.volume)
    if (span := places.of("issue")) and publication.issue:
        yield Edit(*span, publication.issue)
    elif span and "volume" in wrong:
        yield _without_issue(line, span)
    if "pages" in wrong and (span := places.of("pages")):
        dash = "–" if line[: span[0]].endswith((", ", "pp. ")) or "“" in line else "-"
        yield Edit(*span, pages_in_style(line[slice(*span)], publication.pages, dash=dash))


def _ends_in_abbreviation(line: str, span: tuple[int, int]) -> bool:
    """Whether the full stop behind a journal is part of its name: "*Nat. Med.* **28**", but not "JAMA. 2019;"."""
    old, end = line[slice(*span)], span[1]
    if line[end : end + 1] != "." or line[end + 1 : end + 2] == ".":
        return False
    return ". " in old or (not _YEAR_NEXT.match(line, end + 1) and is_abbreviated(f"{old}.") is True)


def _journal_edit(line: str, span: tuple[int, int], name: str, *, stop: str) -> Edit:
    """With one full stop at its end, where one must stand; `stop` is that of the old name."""
    start, end = span
    if not stop:
        return Edit(start, end, name.rstrip(".") if line[end : end + 1] == "." else name)
    is_sentence = _YEAR_NEXT.match(line, end + 1) is not None
    return Edit(start, end + 1, f"{name.rstrip('.')}." if is_sentence else name)


def _without_lone_mark(line: str, start: int, end: int, new: str) -> Edit:
    """In place of a text that has the end of bold type and not its beginning: "Kim S**, Lee T" behind "**"."""
    opened = _MARK_BEFORE.search(line, max(0, start - 3), start)
    is_lone = opened is not None and line[start:end].count(opened[0]) % 2 == 1
    return Edit(opened.start() if opened and is_lone else start, end, new)


def _with_stop(names: str, line: str, span: tuple[int, int]) -> str:
    """Names with a full stop at their end if one must stand there."""
    old, behind = line[slice(*span)], line[span[1] :]
    if behind.startswith("."):
        return names.rstrip(".")
    if not old.endswith(".") or names.endswith("."):
        return names
    is_stop = not name_style(old).et_al or behind.lstrip(" *_“\"'‘[")[:1].isalpha()
    return f"{names}." if is_stop else names


def _year_edit(line: str, span: tuple[int, int], year: str, publication: Publication) -> Edit:
    """With the month and day of "1984 Jan 5;", which are those of the wrong year."""
    behind = _DAY.match(line, span[1])
    if not behind:
        return Edit(*span, year)
    parts = publication.date.split("-")[: 1 + len(behind[0].split())]
    return Edit(span[0], behind.end(), written_date("-".join(parts)) if parts[0] == year else year)


def _is_journal(name: str, publication: Publication) -> bool:
    return journals_agree(name, [one for one in (publication.journal, publication.short_journal) if one])


def _without_issue(line: str, span: tuple[int, int]) -> Edit:
    start, end = span
    if line[start - 1 : start] == "(" and line[end : end + 1] == ")":
        return Edit(start - 1, end + 1, "")
    named = re.compile(r",?\s{0,2}(?:no\.?|issue)\s{0,2}$", re.IGNORECASE).search(line, max(0, start - 12), start)
    return Edit(named.start() if named else start, end, "")


def _title_edit(line: str, span: tuple[int, int], title: str) -> Edit:
    """With one mark at the end of the title: its own, or that of the old one, which is no question mark."""
    start, end = span
    has_mark = title.endswith(("?", "!", "."))
    mark, behind = line[end - 1], line[end : end + 1]
    if behind in ("?", "!") or (behind == "." and has_mark):
        has_mark |= _CLOSED.match(line, end + 1) is not None
        return Edit(start, end + 1, title if has_mark else f"{title}.")
    is_closed = mark in "?!" and _CLOSED.match(line, end) is not None
    if mark in ".,?!" and not has_mark and not is_closed:
        return Edit(start, end, f"{title}{',' if mark == ',' else '.'}")
    return Edit(start, end, title)


def _marked(line: str, publication: Publication) -> str:
    """With "[Retracted]" after the title, or at the end of a reference without one."""
    if publication.status != "retracted" or _HAS_MARK.search(line):
        return line
    places = _Places(line, publication)
    span = places.of("title")
    if span is None:
        body = line.rstrip(".")
        return f"{body} {_RETRACTED}{line[len(body) :]}"
    at = span[1]
    at += len(mark[0]) if (mark := re.compile(r"[*_]{1,3}").match(line, at)) else 0
    if (link := re.compile(r"\]\(").match(line, at)) and (address := LINK.match(line, link.end())):
        at = address.end() if line[address.end() - 1] == ")" else address.end() + 1
    return f"{line[:at]} {_RETRACTED}{line[at:]}"


def _is_right(patched: str, line: str, publication: Publication, wrong: dict[str, ReferenceProblem]) -> bool:
    """Whether a reference, read again, has the record's statements wherever `line` had wrong ones, and no new error."""
    before, after = (compare(read_reference(text), publication) for text in (line, patched))
    known = {one.field for one in before.differences} - wrong.keys()
    if any(one.field not in known for one in after.differences):
        return False
    stated = [one.field for one in before.fields if one.verdict != "absent" and one.field != "title"]
    if any(one.verdict == "absent" and one.field in stated for one in after.fields):
        return False
    ids = read_reference(patched).ids
    return all(
        getattr(ids, field).lower() in ("", wrong[field].true.lower())
        for field in _IDS
        if field in wrong and wrong[field].true
    )


def _inert(publication: Publication) -> Publication:
    """A publication without markup in what is written of it, which would be active in a draft."""
    texts = {name: _without_markup(value) for name in _WRITTEN if isinstance(value := getattr(publication, name), str)}
    authors = tuple(AuthorName(*map(_without_markup, name)) for name in publication.authors)
    return publication.model_copy(update={**texts, "authors": authors})


def _without_markup(value: str) -> str:
    return _TAG.sub("", value).replace("](", "] (").replace("![", "! [")
