"""A reference as it should be: the stretches that the alignment found, with the record's values in their form.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from deepcritical_mcp.checking.corrected_entry import corrected_entry, pages_in_style, title_alone
from deepcritical_mcp.identifiers import normalize_doi, normalize_pmcid, normalize_pmid, normalize_trial
from deepcritical_mcp.models import AuthorName, Publication, ReferenceProblem
from deepcritical_mcp.models.vancouver import vancouver
from deepcritical_mcp.search.references import MAX_REFERENCE, compare, read_reference
from deepcritical_mcp.search.references.plain_text import Span
from deepcritical_mcp.search.references.variations import PREPRINT_SERVER
from deepcritical_mcp.search.references.written import BARE_PMID, DOI, PMCID, PMID, TRIAL, balanced
from deepcritical_mcp.text import clean_line, clean_text

_LONGEST_ENTRY = 20_000
"""Characters of an entry with its abstract."""
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
_MONTH = re.compile(r" (?:[A-Z][a-z]{2}|[01]\d)(?: \d{1,2})?(?=;)")
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

    Where a statement cannot be replaced for certain, if names are wrong, or a preprint is cited as a paper, the whole
    reference is written anew in Vancouver style, or left alone if its problems are minor. A missing statement is not
    added, but "[Retracted]" is. BibTeX and RIS keep their layout, CSL-JSON is written anew; any other reference comes
    back on one line. What is
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
            new = _applied(new, _id_edits(new, one))
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
    has_all = all(one.true for one in wrong.values())
    if "authors" in wrong or not has_all or not stated <= places.keys():
        return ""
    edits = [edit for one in wrong.values() for edit in _id_edits(line, one)]
    for field, span in places.items():
        if field in wrong or (field == "issue" and "volume" in wrong):
            if (edit := _edit(line, field, span, publication)) is None:
                return ""
            edits.append(edit)
    new = _applied(line, edits)
    if not _is_right(new, line, publication, wrong):
        return ""
    return _marked(new, publication) if "status" in wrong else new


def _edit(line: str, field: str, span: Span, publication: Publication) -> _Edit | None:
    """What puts the record's value in the place of a field; None if it cannot be written in the line's own form."""
    (start, end), old = span, line[slice(*span)]
    if field == "title":
        end -= len(old) - len(old.rstrip(".,?!"))
        mark = line[end : end + 1] if line[end : end + 1] in ("?", "!", ".") else ""
        is_closed = bool(mark) and line[end + 1 : end + 2] in tuple("”“\"’',")
        title = title_alone(publication.title)
        new = "" if title.endswith(("?", "!")) or (is_closed and mark != ".") else "." * bool(mark)
        return _Edit(start, end + bool(mark), title + new)
    if field == "year":  # a month behind it is that of the wrong year
        return None if _MONTH.match(line, end) else _Edit(start, end, publication.date[:4])
    if field == "journal":
        # The full stop behind it may be part of its name: "*Nat. Med.* **28**", but not "JAMA. 2019;".
        is_own = ". " in old and re.match(r"\.(?! [12]\d{3}\b[a-z]?[ ;])", line[end : end + 8]) is not None
        name = _journal_in_style(old + "." * is_own, publication)
        return _Edit(start, end + is_own, name.rstrip(".") if line[end + is_own : end + is_own + 1] == "." else name)
    value = str(getattr(publication, field))
    return _Edit(start, end, pages_in_style(old, value) if field == "pages" else value) if value else None


def _applied(text: str, edits: Iterator[_Edit] | Sequence[_Edit]) -> str:
    """`text` with the edits that do not overlap with earlier ones."""
    parts, at = list[str](), 0
    for edit in sorted(edits):
        if edit.start >= at:
            parts += text[at : edit.start], edit.new
            at = edit.end
    return "".join([*parts, text[at:]])


def _id_edits(text: str, problem: ReferenceProblem) -> Iterator[_Edit]:
    """What changes an identifier that is wrong."""
    pattern, in_one_form = _IDS.get(problem.field, (None, str))
    found = [*pattern.finditer(text)] if pattern and problem.true else []
    found += [one] if problem.field == "pmid" and (one := BARE_PMID.search(text)) else []
    for one in found:
        value, start = balanced(one[1])[0], one.start(1)
        if in_one_form(unquote(value)).lower() != problem.written.lower():
            continue
        end, true = start + len(value), problem.true
        # Blanks may break a number.
        rest = true[len(value) :] if true.lower().startswith(value.lower()) else ""
        tail = re.match(r"\s*".join(map(re.escape, ("", *rest))), text[end:], re.IGNORECASE) if rest else None
        yield _Edit(start, end + (tail.end() if tail else 0), true)


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


def _journal_in_style(old: str, publication: Publication) -> str:
    """The journal's name, abbreviated or in full like `old`."""
    full, short = publication.journal.removeprefix("The ").split(" (")[0], publication.short_journal
    if not short or not full:
        return full or short or publication.book_title or publication.publisher
    words = re.findall(r"[^\W\d_]+", old)
    if "." not in old and any(len(word) >= _WHOLE_WORD or word.lower() in _SMALL for word in words):
        return " ".join(word if word in _SMALL else word[:1].upper() + word[1:] for word in full.split())
    whole = {word.casefold() for word in re.findall(r"[^\W_]+", full)}
    is_cut = (word.casefold() not in whole and (len(word) == 1 or not word.isupper()) for word in short.split())
    dotted = " ".join(f"{word}." if cut else word for word, cut in zip(short.split(), is_cut, strict=True))
    return dotted if "." in old else short
