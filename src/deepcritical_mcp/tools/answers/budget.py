"""Fit results into a client's context: shorten what matters least first, and say what was shortened."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any, TypeVar

from pydantic import BaseModel

from deepcritical_mcp.checking.report_text import fitting
from deepcritical_mcp.excerpts import MIN_GAP, Span, first_sentences, without, without_results
from deepcritical_mcp.models import (
    PARAGRAPH_BREAK,
    AddResult,
    Citation,
    CitationReport,
    Document,
    DocumentPassage,
    Evidence,
    EvidenceList,
    EvidencePage,
    FileResult,
    SearchResult,
    StrategyReport,
    with_numbers_shown,
)
from deepcritical_mcp.models.evidence import RECORD_KINDS
from deepcritical_mcp.text import clipped, counted, cut_at_sentence, largest
from deepcritical_mcp.tools.answers.render import MAX_QUERY_SHOWN, MAX_SIMILAR
from deepcritical_mcp.tools.answers.strategy_form import fit_strategy
from deepcritical_mcp.tools.arguments.params import MAX_IDS_READ, sentences

MIN_CONTENT_LENGTH = 160
ROOMY = 16_500
"""Characters that an answer of up to ten records may have before its abstracts lose sentences without results; and from
this limit on, what repeats the request is not shortened further."""
TIGHT = 4_000
"""Characters below which an answer says no more than what was found, and names few ids of what does not fit."""
PER_RECORD = 1_600
"""The same for each record of a longer answer."""
SHORT_ABSTRACT = 800
"""Characters to which abstracts are shortened at most; no record is left out while one is longer."""
LEAST_GAP = 200
"""Characters that are left out of an abstract at least, where it must be shortened."""
SHORT_TEXT = 1_500
"""Characters to which a page or a full text is shortened at most, while other records are shown next to it."""
MAX_NOTES, MAX_DETAILS, MAX_NOTE_LENGTH = 3, 20, 300
MAX_QUERY_LENGTH, MAX_TRANSLATION_LENGTH, MAX_REMARK_LENGTH, MAX_ID_LENGTH = 200, 2_000, 500, 100
MAX_REMARKS, MAX_REASON_LENGTH = 20, 160
"""Limits for what a result repeats of its request, when the result is too long."""
ResultT = TypeVar("ResultT", bound=BaseModel)
Length = Callable[[Any], int]
Items = Sequence[Evidence]
Fits = Callable[[Items], bool]
Shorten = Callable[[Evidence, int], Evidence]
ShortenAll = Callable[[list[Evidence], int], list[Evidence]]


def fit(result: ResultT, limit: int, length: Length, *, saves_room: bool = True) -> ResultT:
    """`result`, cut until `length(result) <= limit`; both forms of an answer show what this returns.

    In a search of the sources with a long answer, the longest abstracts lose sentences without results (see
    `without_results`); without `saves_room`, as where no tool returns them, only if the answer is over the limit. What
    is still over the limit: what repeats the request is shortened; then the longest abstracts, to `SHORT_ABSTRACT`;
    then pages and full texts, and the last items are left for the next page. Only if a single item does not fit, more
    of it is cut.
    Each cut is named in the result together with the call that returns what is missing.
    """
    cuts: dict[type[BaseModel], Callable[..., Any]] = {**_CUTS, SearchResult: partial(_search, saves_room=saves_room)}
    cut = cuts.get(type(result))
    return cut(result, limit, length) if cut else result


def _fits(result_of: Callable[[Items], BaseModel], limit: int, length: Length) -> Fits:
    """Whether the result of some items fits; the contents alone, which need no rendering, are counted first."""
    return lambda items: sum(len(item.content) for item in items) <= limit and length(result_of(items)) <= limit


def _search(result: SearchResult, limit: int, length: Length, *, saves_room: bool) -> SearchResult:
    if len(result.query) > MAX_QUERY_SHOWN:  # it is whole only in `query`
        short = clipped(result.query, MAX_QUERY_LENGTH)
        told = (one.but(query=short) if one.query == result.query else one for one in result.queries)
        translation = clipped(result.query_translation, MAX_QUERY_SHOWN)
        result = result.but(queries=tuple(told), query_translation=translation)
    whole = result.evidence
    roomy = max(ROOMY, PER_RECORD * len(whole)) if saves_room else limit
    items = list(whole)  # of a long answer, the longest abstracts lose sentences without results
    excess = length(result) - min(limit, roomy) if result.providers else 0
    longest = sorted(range(len(items)), key=lambda number: -len(items[number].content))
    for strict, number in product((False, True), longest):
        if excess > 0:
            gist = _without_middle(whole[number], strict=strict)
            excess -= len(items[number].content) - len(gist.content)
            items[number] = gist
    result_of = partial(_result_of, result, whole)
    if _fits(result_of, limit, length)(items):
        return result if all(one is item for one, item in zip(items, whole, strict=True)) else result_of(items)
    named = 3 if limit < TIGHT else MAX_IDS_READ
    result_of = partial(_result_of, _brief(result, limit), whole, named=named)
    fits = _fits(result_of, limit, length)
    items = [_short_notes(item) for item in items]
    if result.providers:
        most = max((len(item.content) for item in items), default=0)
        items = _shorter(items, fits, SHORT_ABSTRACT, most, partial(_capped, whole=whole))
    items = _shorter(items, fits, SHORT_TEXT, limit, _short_pages)
    items = _shorter(items, fits, 0, len(items), lambda items, count: items[:count])
    items = items or (_one(_short_notes(whole[0]), fits, limit) if whole else [])
    if whole and not items:
        items = [_beginning(_with_short_citation(whole[0], limit), limit // 10, gap=0)]
    return result_of(items)


def _shorter(items: list[Evidence], fits: Fits, low: int, high: int, shorten: ShortenAll) -> list[Evidence]:
    """`items` if they fit, or else shortened by the largest number from `low` to `high` by which they do."""
    return items if fits(items) else shorten(items, largest(low, high, lambda cap: fits(shorten(items, cap))))


def _list(result: EvidenceList, limit: int, length: Length) -> EvidenceList:
    """As many whole texts as fit; a single one that does not is cut at its end, and read on from there."""
    if _fits(lambda _: result, limit, length)(result.evidence):
        return result
    brief = result.but(missing=tuple(clipped(id, MAX_ID_LENGTH) for id in result.missing))
    result_of = partial(_list_of, brief, result.evidence)
    fits = _fits(result_of, limit, length)
    items = [_short_notes(item) for item in result.evidence]
    if not fits(items):
        items = [item.but(details=()) for item in items]
    shown = items[: largest(0, len(items), lambda count: fits(items[:count]))]
    start = result.starts[0] if result.starts else 0
    return result_of(shown or (_one(items[0], fits, limit, start) if items else []))


def _capped(items: Items, cap: int, whole: Items) -> list[Evidence]:
    """`items`, of which abstracts of more than `cap` characters are shortened again from the `whole` ones."""
    pairs = zip(items, (_without_middle(one, cap, least=LEAST_GAP) for one in whole), strict=True)
    return [
        item.but(content=one.content, content_truncated=one.content_truncated)
        if len(one.content) < len(item.content)
        else item
        for item, one in pairs
    ]


def _without_middle(item: Evidence, cap: int = 0, *, strict: bool = False, least: int = MIN_GAP) -> Evidence:
    """An abstract without sentences without results; with `cap`, of about so many characters. See `without_results`."""
    if item.kind not in RECORD_KINDS or item.content_truncated:
        return item
    if item.kind == "registration":  # the facts come first
        return _beginning(item, cap or SHORT_TEXT)
    gaps = without_results(item.content, cap, strict=strict, least=least)
    content = without(item.content, gaps, lambda gap: _mark(item.id, gap, gap.end))
    return item.but(content=content, content_truncated=True) if len(content) < len(item.content) else item


def _short_pages(items: Items, cap: int) -> list[Evidence]:
    return [item if item.kind in RECORD_KINDS else _beginning(item, cap) for item in items]


def _shortened(item: Evidence, cap: int) -> Evidence:
    """`item` in about `cap` characters, if possible: an abstract without its middle, another text by its beginning."""
    if item.kind not in RECORD_KINDS:
        return _beginning(item, cap)
    return item if len(item.content) <= cap else _without_middle(item, cap)


def _one(item: Evidence, fits: Fits, limit: int, start: int | None = None) -> list[Evidence]:
    """`item` by as much as fits, at least by some of it if possible; with `start`, only cut at the end."""
    from_start = partial(_beginning, start=start or 0)
    for one in (item, _with_short_citation(item, limit)):
        for shorten in (_shortened, from_start) if start is None else (from_start,):
            if fits(cut := _largest_cut(one, fits, limit, shorten)):
                return cut
    return []


def _largest_cut(item: Evidence, fits: Fits, limit: int, shorten: Shorten) -> list[Evidence]:
    cap = largest(MIN_CONTENT_LENGTH, min(limit, len(item.content)), lambda cap: fits([shorten(item, cap)]))
    return [shorten(item, cap)]


def _with_short_citation(item: Evidence, limit: int) -> Evidence:
    """`item` with a citation that is the shorter the smaller `limit` is, without notes, details and similar ids."""
    citation = short_citation(item.citation, limit)
    return item.but(citation=citation, similar=(), notes=(), details=())


def _beginning(item: Evidence, cap: int, start: int = 0, gap: int = MIN_GAP) -> Evidence:
    """`item`, whose content starts at character `start` of the whole, by its first sentences."""
    if len(item.content) <= cap + gap or item.content_truncated:
        return item if gap else item.but(content=clipped(item.content, cap))
    content = first_sentences(item.content, cap) or cut_at_sentence(item.content, cap)
    rest = Span(start + len(content), start + len(item.content))
    return item.but(content=f"{content} {_mark(item.id, rest)}", content_truncated=True)


def _mark(id: str, gap: Span, end: int | None = None) -> str:
    reading = f"{id}@{gap.start}-{'' if end is None else end}"
    return f'[… {gap.length:,} characters left out: get_evidence ids=["{reading}"] …]'


def _list_of(result: EvidenceList, whole: Items, shown: Items) -> EvidenceList:
    """`result` with only the items `shown`."""
    notes, left = _left_out(whole, shown)
    if left:
        notes.append(f"{counted(len(left), 'more does', 'more do')} not fit here; get_evidence ids={json.dumps(left)}.")
    return result.but(
        evidence=tuple(shown),
        queries=tuple(query for query in with_numbers_shown(result.queries, shown) if query.shown),
        next_step=" ".join(filter(None, (*notes, result.next_step))),
    )


def _result_of(result: SearchResult, whole: Items, shown: Items, named: int = MAX_IDS_READ) -> SearchResult:
    """`result` with only the items `shown`; the next page starts after the last, or `named` of the others are named."""
    notes, left = _left_out(whole, shown)
    if left:
        more = ", and so on; list_evidence has all ids" if len(left) > named else ""
        call = f"get_evidence ids={json.dumps(left[:named])}{more}"
        if result.offsets and shown:  # the next page starts earlier
            call = f"continue with offset={(offset := result.offsets[len(shown) - 1])}"
            step = result.next_step.replace(f"offset={result.next_offset}", f"offset={offset}")
            if step == result.next_step:
                step = f"Continue with offset={offset}. {step}".strip()
            result = result.but(next_offset=offset, next_step=step)
        notes.append(f"{counted(len(left), 'more result does', 'more results do')} not fit here; {call}.")
    queries = with_numbers_shown(result.queries, shown)
    return result.but(evidence=tuple(shown), queries=queries, warnings=(*result.warnings, *notes))


def _left_out(whole: Items, shown: Items) -> tuple[list[str], list[str]]:
    """What was shortened besides the contents, which are marked where they are cut; and the ids that do not fit."""
    pairs = list(zip(shown, whole, strict=False))
    told = [
        told
        for name, told in _SHORTENED.items()
        if any(getattr(one, name) != getattr(item, name) for one, item in pairs)
    ]
    return told, [f"{one.id}@{one.anchor}" if one.anchor else one.id for one in whole[len(shown) :]]


_SHORTENED = {name: told.format(most=MAX_SIMILAR) for name, told in sentences("shortened").items()}


def _brief(result: SearchResult, limit: int) -> SearchResult:
    """`result` with shorter queries, translation and remarks, the shorter the smaller `limit` is."""
    share = min(1.0, limit / ROOMY)
    is_tight, queries = limit < TIGHT, result.queries if limit >= TIGHT else ()
    providers = tuple(one.but(detail="") for one in result.providers[:1])
    query, remark = int(MAX_QUERY_LENGTH * share), int(MAX_REMARK_LENGTH * share)
    return result.but(
        query=clipped(result.query, query),
        providers=providers if is_tight else result.providers,
        queries=tuple(one.but(query=clipped(one.query, query), detail=clipped(one.detail, remark)) for one in queries),
        query_translation=clipped(result.query_translation, int(MAX_TRANSLATION_LENGTH * share)),
        errors=few(result.errors, int(MAX_REMARKS * share), remark),
        warnings=few(result.warnings, int(MAX_REMARKS * share), remark),
        related=result.related if share == 1 else (),
    )


def _short_notes(item: Evidence) -> Evidence:
    """`item` with few ids of similar evidence and few, short notes and details."""
    notes = tuple(cut_at_sentence(note, MAX_NOTE_LENGTH) for note in item.notes[:MAX_NOTES])
    details = tuple(clipped(line, MAX_NOTE_LENGTH) for line in item.details[:MAX_DETAILS])
    short = {"notes": notes, "decision": clipped(item.decision, MAX_NOTE_LENGTH), "details": details}
    return item.but(similar=item.similar[:MAX_SIMILAR], **short)


def _fewer(result_of: Callable[[int], ResultT], low: int, high: int, limit: int, length: Length) -> ResultT:
    """The result with as many lines as fit, at least `low`."""
    return result_of(largest(min(low, high), high, lambda lines: length(result_of(lines)) <= limit))


def _added(result: AddResult, limit: int, length: Length) -> AddResult:
    """`result` with fewer pairs; if that is not enough, without references too, and with shorter reasons."""
    if length(_pairs_of(result, 0)) > limit:
        shown = [tuple(each.but(reference="") for each in one.candidates[:1]) for one in result.rejected]
        reasons = [clipped(one.reason, MAX_REASON_LENGTH) for one in result.rejected]
        rejected = zip(result.rejected, reasons, shown, strict=True)
        result = result.but(
            files=tuple(_short_file(one) for one in result.files),
            added=tuple(one.but(reference="") for one in result.added),
            duplicates=tuple(one.but(reference="") for one in result.duplicates),
            decided=tuple(one.but(decision=clipped(one.decision, len("undecided"))) for one in result.decided),
            rejected=tuple(one.but(reason=reason, candidates=some) for one, reason, some in rejected),
            next_step=f"References and reasons are shortened here; get_evidence shows the records. {result.next_step}",
        )
    return _fewer(partial(_pairs_of, result), 0, len(result.similar), limit, length)


def _short_file(one: FileResult) -> FileResult:
    """The outcome of a file with its first lines that were not read, and its first pairs."""
    unread = [clipped(line, MAX_REASON_LENGTH) for line in one.unread[:MAX_NOTES]]
    return one.but(unread=tuple(unread), unsure=one.unsure[:MAX_NOTES], detail=clipped(one.detail, MAX_NOTE_LENGTH))


def _pairs_of(result: AddResult, count: int) -> AddResult:
    """`result` with its first pairs of nearly identical items."""
    left = len(result.similar) - count
    note = f"{counted(left, 'more pair')} of nearly identical items left out here. " if left else ""
    return result.but(similar=result.similar[:count], next_step=note + result.next_step)


def _page(page: EvidencePage, limit: int, length: Length) -> EvidencePage:
    """`page` with its first items, which says where the next one starts."""
    end = page.next_offset if page.next_offset >= 0 else page.matching if page.matching >= 0 else page.total

    def first(count: int) -> EvidencePage:
        left = len(page.items) - count
        return page.but(items=page.items[:count], next_offset=end - left) if left else page

    return _fewer(first, 1, len(page.items), limit, length)


SHARE_OF_HEAD = 0.5
"""Of a result's characters, for what comes before the text, if there is text."""
MAX_REFERENCE_LENGTH = 500
MAX_ATTEMPTS = 10


def fit_document(document: Document, limit: int, length: Length) -> Document:
    """`document`, cut until `length(document) <= limit`."""
    if len(document.passages) <= limit and length(document) <= limit:
        return document
    document = _with_short_head(document, limit, length)
    if document.form == "passages":
        return _ranked(document, limit, length)
    return _text(document, limit, length) if document.passages else document


def _text(document: Document, limit: int, length: Length) -> Document:
    """As many whole paragraphs as fit; of a single one that does not, as many lines or sentences."""

    def fits(end: int) -> bool:
        return length(_up_to(document, end)) <= limit

    ends = list(_ends(document.passages))
    count = largest(0, len(ends), lambda count: not count or fits(ends[count - 1]))
    if count:
        return _up_to(document, ends[count - 1])
    first = document.passages[0].text[: ends[0]]
    room = largest(1, len(first), fits)
    line = first.rfind("\n", 0, room) + 1
    return _up_to(document, line if line > room // 2 else len(cut_at_sentence(first, room)))


def _ends(passages: Sequence[DocumentPassage]) -> Iterator[int]:
    """Where each paragraph ends, the break after it included, counted over all passages."""
    start = 0
    for passage in passages:
        for found in re.finditer(re.escape(PARAGRAPH_BREAK), passage.text):
            yield start + found.end()
        start += len(passage.text)
        yield start


def _up_to(document: Document, end: int) -> Document:
    """The first `end` characters of the passages; the rest is for the next call."""
    shown, left = list[DocumentPassage](), end
    for passage in document.passages:
        if text := passage.text[: max(0, left)].strip("\n"):
            shown.append(passage.but(text=text))
        left -= len(passage.text)
    return _continued(document.but(passages=tuple(shown)), document.offset + end)


def _continued(document: Document, offset: int) -> Document:
    """`document`, which ends before `offset` of what was asked for."""
    if offset >= document.characters:
        return document.but(next_offset=-1)
    left = f"{document.characters - offset:,} characters are" if document.form == "text" else "More of the outline is"
    step = f"{left} left: {document.call} offset={offset}. {document.next_step}".strip()
    return document.but(next_offset=offset, next_step=step)


def _ranked(document: Document, limit: int, length: Length) -> Document:
    """The best passages that fit, and the anchors of the others."""
    passages = document.passages

    def shown(count: int) -> Document:
        left = [one.anchor for one in passages[count:]]
        more = counted(len(left), "more passage does", "more passages do")
        note = f"{more} not fit here: sections={json.dumps(left)}. " if left else ""
        return document.but(passages=passages[:count], next_step=f"{note}{document.next_step}")

    return _fewer(shown, 0, len(passages), limit, length)


def _with_short_head(document: Document, limit: int, length: Length) -> Document:
    """`document` with less of what is not text: remarks, then tables, then the end of the outline."""
    room = int(limit * SHARE_OF_HEAD) if document.passages else limit

    def fits(head: Document) -> bool:
        return length(head.but(passages=())) <= room

    if fits(document):
        return document
    longest = min(MAX_REMARK_LENGTH, limit // 20)
    document = document.but(
        citation=short_citation(document.citation, limit),
        attempts=tuple(one.but(detail=clipped(one.detail, limit // 100)) for one in document.attempts[:MAX_ATTEMPTS]),
        errors=few(document.errors, MAX_ATTEMPTS, longest),
        warnings=few(document.warnings, MAX_ATTEMPTS, longest),
    )
    if tables := document.tables if not fits(document) else ():
        note = f'{counted(len(tables), "table")} not listed here: sections=["tables"].'
        document = document.but(tables=(), warnings=(*document.warnings, note))
    outline = document.outline

    def first(count: int) -> Document:
        short = document.but(outline=outline[:count])
        if document.form == "outline":
            return _continued(short, document.offset + count)
        note = f'{counted(len(outline) - count, "more part")} of the outline: sections=["outline"] offset={count}.'
        return short.but(warnings=(*document.warnings, note))

    return document if fits(document) else first(largest(0, len(outline), lambda count: fits(first(count))))


_CUTS: Mapping[type[BaseModel], Callable[[Any, int, Length], Any]] = {
    EvidenceList: _list,
    EvidencePage: _page,
    AddResult: _added,
    Document: fit_document,
    CitationReport: fitting,
    StrategyReport: fit_strategy,
}


def short_citation(citation: Citation, limit: int) -> Citation:
    """`citation`, the shorter the smaller `limit` is."""
    return citation.but(
        title=clipped(citation.title, limit // 20),
        reference=clipped(citation.reference, min(MAX_REFERENCE_LENGTH, limit // 10)),
        url="",
        **dict.fromkeys(("publication_types", "registrations"), ()),
        status_notices=citation.status_notices[:1],
    )


def few(remarks: Sequence[str], most: int, length: int) -> tuple[str, ...]:
    """The first remarks, each of so many characters at most, and how many more there are."""
    more = (f"And {counted(len(remarks) - most, 'more remark')}.",) if len(remarks) > most else ()
    return (*(clipped(remark, length) for remark in remarks[:most]), *more)
