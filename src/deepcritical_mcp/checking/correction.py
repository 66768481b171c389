"""A reference as it should be: the stretches that the alignment found, with the record's values in their form.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from deepcritical_mcp.checking.corrected_entry import corrected_entry
from deepcritical_mcp.checking.corrected_names import are_short, names_in_style, pages_in_style, title_alone
from deepcritical_mcp.identifiers import normalize_doi, normalize_pmcid, normalize_pmid, normalize_trial
from deepcritical_mcp.models import AuthorName, Publication, ReferenceProblem
from deepcritical_mcp.models.vancouver import vancouver, written_date
from deepcritical_mcp.search.references import MAX_REFERENCE, compare, read_reference
from deepcritical_mcp.search.references.agreement import PREPRINT_SERVER
from deepcritical_mcp.search.references.plain_text import Span
from deepcritical_mcp.search.references.written import BARE_PMID, DOI, LINK, PMCID, PMID, TRIAL, balanced
from deepcritical_mcp.text import clean_line, clean_text

_LONGEST_ENTRY = 20_000
"""Characters of an entry with its abstract."""
_PLACE = ("volume", "issue", "pages")
_IDS = {
    "pmid": (PMID, normalize_pmid),
    "doi": (DOI, normalize_doi),
    "pmcid": (PMCID, normalize_pmcid),
    "nct": (TRIAL, normalize_trial),
}
_RETRACTED = "[Retracted]"
_TAG = re.compile(r"</?[A-Za-z!][^<>]{0,200}>")
_WRITTEN = ("title", "vernacular_title", "journal", "journal_abbreviation", "medline_abbreviation", "publisher", "doi")
"""Fields of a record that get into a corrected line; its numbers are the source's own."""
_HAS_MARK = re.compile(r"[(\[](?:retracted|withdrawn)\b|\bretracted(?: article)?:", re.IGNORECASE)
_SMALL = frozenset("a an and as at by for from in into of on or the to with de der des du la le et und".split())
_WHOLE_WORD = 8
"""Letters of a word of a journal's name that is not abbreviated."""


class _Edit(NamedTuple):
    """`new` for what stands at `start` to `end`."""

    start: int
    end: int
    new: str


def corrected(written: str, publication: Publication, problems: Sequence[ReferenceProblem]) -> str:
    """The reference `written` with the statements of `problems` as `publication` says them, and nothing else changed;
    "" if nothing must change.

    Where a statement cannot be replaced for certain, or a preprint is cited as a paper, the whole reference is written
    anew in Vancouver style, or left alone if its problems are minor. A missing statement is not added, but
    "[Retracted]" is. BibTeX, RIS and CSL-JSON keep their layout; any other reference comes back on one line. What is
    too long for one reference is left alone. So is an entry with a further work.
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
    entry = read_reference(written).entry
    is_json = entry is None and written.lstrip(" [\n").startswith("{")
    if not wrong or is_json or len(written) > (_LONGEST_ENTRY if entry else MAX_REFERENCE):
        return ""
    is_preprint = publication.form == "preprint" and "journal" in wrong
    if entry:
        new = corrected_entry(entry, publication, wrong, anew=is_preprint)
        for one in wrong.values():
            new = _applied(new, _id_edits(new, one, "")) if one.true else new
        return new if new != clean_text(written) else ""
    line = clean_line(written)
    new = "" if is_preprint else _patched(line, publication, wrong)
    if not new:
        return "" if all(one.minor for one in wrong.values()) else vancouver(publication)
    return new if new != line else ""


def _patched(line: str, publication: Publication, wrong: Mapping[str, ReferenceProblem]) -> str:
    """A line with the wrong stretches replaced; "" if that cannot be done for certain."""
    places = _places(line, publication)
    stated = {one.field for one in wrong.values() if not one.minor} - {*_IDS, "status"}
    apart = [places[one] for one in ("title", "authors") if one in places]
    spans = [places[name] for name in ("journal", *_PLACE) if name in places]
    is_mixed = any(max(one[0], start) < min(one[1], end) for one in spans for start, end in apart)
    if not stated <= places.keys() or is_mixed or ("journal" in stated and not apart):  # it may be somebody's name
        return ""
    edits = [edit for one in wrong.values() for edit in _id_edits(line, one, publication.pmid)]
    for field, span in places.items():
        if field in wrong or (field == "issue" and not wrong.keys().isdisjoint(_PLACE)):
            if (edit := _edit(line, field, span, publication, wrong)) is None:
                return ""
            edits.append(edit)
    new = _applied(line, edits)
    if not _is_right(new, line, publication, wrong):
        return ""
    return _marked(new, publication) if "status" in wrong else new


def _edit(
    line: str, field: str, span: Span, publication: Publication, wrong: Mapping[str, ReferenceProblem]
) -> _Edit | None:
    """What puts the record's value in the place of a field; None if it cannot be written in the line's own form."""
    (start, end), old = span, line[slice(*span)]
    if field == "authors":
        names = names_in_style(old, publication.authors)
        if line[end : end + 1] == ".":
            return _Edit(start, end, names.rstrip(".")) if names else None
        is_stop = old.endswith(".") and not names.endswith(".") and line[end : end + 1] == " "
        return _Edit(start, end, names + "." * is_stop) if names else None
    if field == "title":
        end -= len(old) - len(old.rstrip(".,?!"))
        mark = line[end : end + 1] if line[end : end + 1] in ("?", "!", ".") else ""
        is_closed = bool(mark) and line[end + 1 : end + 2] in tuple("”“\"’',")
        title = title_alone(publication.title)
        new = "" if title.endswith(("?", "!")) or (is_closed and mark != ".") else "." * bool(mark)
        return _Edit(start, end + bool(mark), title + new)
    if field == "year":
        year, behind = wrong["year"].true, re.compile(r" (?:[A-Z][a-z]{2}|[01]\d)(?: \d{1,2})?(?=;)").match(line, end)
        if behind and publication.date.startswith(year):  # the month and day are those of the wrong year
            parts = publication.date.split("-")[: 1 + len(behind[0].split())]
            return _Edit(start, behind.end(), written_date("-".join(parts)))
        return _Edit(start, behind.end() if behind else end, year)
    if field == "journal":
        # The full stop behind it may be part of its name: "*Nat. Med.* **28**", but not "JAMA. 2019;".
        is_own = ". " in old and re.match(r"\.(?! [12]\d{3}\b[a-z]?[ ;])", line[end : end + 8]) is not None
        name = journal_in_style(old + "." * is_own, publication, is_short=are_short(line[:start]))
        return _Edit(start, end + is_own, name.rstrip(".") if line[end + is_own : end + is_own + 1] == "." else name)
    if field == "issue" and not publication.issue:
        is_alone = line[start - 1] + line[end : end + 1] == "()"
        return _Edit(start - is_alone, end + is_alone, "") if "volume" in wrong else _Edit(start, end, old)
    value = str(getattr(publication, field))
    return _Edit(start, end, pages_in_style(old, value) if field == "pages" else value)


def _applied(text: str, edits: Iterator[_Edit] | Sequence[_Edit]) -> str:
    """`text` with the edits that do not overlap with earlier ones."""
    parts, at = list[str](), 0
    for edit in sorted(edits):
        if edit.start >= at:
            parts += text[at : edit.start], edit.new
            at = edit.end
    return "".join([*parts, text[at:]])


def _id_edits(text: str, problem: ReferenceProblem, pmid: str) -> Iterator[_Edit]:
    """What changes an identifier that is wrong; one that the record does not have gives way to its PMID."""
    pattern, in_one_form = _IDS.get(problem.field, (None, str))
    found = [*pattern.finditer(text)] if pattern else []
    found += [one] if problem.field == "pmid" and (one := BARE_PMID.search(text)) else []
    has_pmid = not pmid or PMID.search(text) is not None
    for one in found:
        value, start = balanced(one[1])[0], one.start(1)
        end = start + len(value)
        if in_one_form(unquote(value)).lower() != problem.written.lower():
            continue
        if problem.true:
            rest = problem.true[len(value) :] if problem.true.lower().startswith(value.lower()) else ""
            # Blanks may break a number.
            tail = re.match(r"\s*".join(map(re.escape, ("", *rest))), text[end:], re.IGNORECASE) if rest else None
            yield _Edit(start, end + (tail.end() if tail else 0), problem.true)
            continue
        links = (link for link in LINK.finditer(text) if link.start() < start < link.end())
        low = min((link.start() for link in links), default=one.start())
        if problem.field == "pmid" or has_pmid:
            low = len(text[:low].rstrip(" "))
            yield _Edit(low, end + (text[end:].startswith(".") and text[:low].endswith(".")), "")
        else:
            is_link = text.startswith("http", low)
            yield _Edit(low, end, f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/" if is_link else f"PMID: {pmid}")


def _places(line: str, publication: Publication) -> dict[str, Span]:
    """Where the statements of a reference stand, as a record that is laid along it tells."""
    reference = read_reference(line)
    return {
        one.field: reference.plain.written_at(*one.span)
        for one in compare(reference, publication).fields
        if one.span and one.span[0] < one.span[1]
    }


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
    for one in compare(reference, publication).fields:
        if (one.verdict == "differs" and one.field not in known) or (one.verdict == "absent" and one.field in said):
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


def journal_in_style(old: str, publication: Publication, *, is_short: bool) -> str:
    """The journal's name, abbreviated or in full like `old`; `is_short` decides where `old` is a word alone."""
    old, full = (re.split(r"\s?[:;=(\[]|\s/\s", one)[0].strip() or one for one in (old, publication.journal))
    full, short, words = full.removeprefix("The "), publication.short_journal, re.findall(r"[^\W\d_]+", old)
    if not short or not full:
        return full or short or publication.book_title or publication.publisher
    is_full = "." not in old and any(word.lower() in _SMALL or len(word) >= _WHOLE_WORD for word in words)
    if is_short if len(words) == 1 else not is_full:
        whole = {word.casefold() for word in re.findall(r"[^\W_]+", publication.journal)}
        is_cut = ((word.casefold() not in whole and not word.isupper()) or len(word) == 1 for word in short.split())
        dotted = " ".join(f"{word}." if cut else word for word, cut in zip(short.split(), is_cut, strict=True))
        return dotted if re.search(r"[A-Za-z]\.(?:\s|$)", old) else short
    if words[-1:] and words[-1][0].islower():
        return full
    return " ".join(word if word in _SMALL else word[:1].upper() + word[1:] for word in full.split())
