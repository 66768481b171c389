"""Results as Markdown, for people and for models whose client shows them only text.

External text appears only in block quotes or in a one-line field of its own, never mixed with our own sentences.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from deepcritical_mcp.checking.report_text import report_form
from deepcritical_mcp.excerpts import GAP
from deepcritical_mcp.models import (
    PARAGRAPH_BREAK,
    SOURCE_LABELS,
    STATUSES,
    UNKNOWN_DATE,
    USER,
    AddResult,
    CitationReport,
    CitationSource,
    ClearResult,
    Concept,
    Document,
    Evidence,
    EvidenceList,
    EvidencePage,
    Expansion,
    ExportResult,
    ProviderReport,
    QueryReport,
    ScreeningState,
    SearchResult,
    SessionList,
    StrategyReport,
    asked_on,
    decision_sentence,
    is_marked,
    status_label,
)
from deepcritical_mcp.models.screening import NOT_RANKED
from deepcritical_mcp.session_export.whole_export import RECORD_FORMATS
from deepcritical_mcp.text import (
    as_code,
    clean_line,
    clipped,
    counted,
    inert,
    is_active,
    longer_code_marks,
    quoted_lines,
)
from deepcritical_mcp.tools.answers.strategy_form import strategy_form
from deepcritical_mcp.tools.answers.structured import (
    notice_line,
    notices_in_heading,
    provider_shown,
    publication_key,
    source_lines,
)
from deepcritical_mcp.tools.arguments.params import sentences

_DELIMITERS = re.compile(r"\|(?:\s*:?-+:?\s*\|)+\s*")
_CELL_END = re.compile(r"(?<!\\)\|")


def quoted_passage(text: str) -> list[str]:
    """The lines of a text with parts, as they are: its paragraphs, and its tables as tables."""
    paragraphs = [_table(one) or quoted_lines(one) for one in text.split(PARAGRAPH_BREAK) if one]
    return [line for number, lines in enumerate(paragraphs) for line in ([">"] if number else []) + [*lines]]


def _table(paragraph: str) -> list[str]:
    """A quoted table, with what is active in it as code; [] if the paragraph is not one. A row stands for what was left
    out, or the table would end."""
    rows = paragraph.split("\n")
    if len(rows) < 2 or not _DELIMITERS.fullmatch(rows[1]):
        return []
    if not all(row.startswith("|") or row == GAP for row in rows):
        return []
    gap = f"| {GAP} {'| ' * (len(_CELL_END.findall(rows[1])) - 1)}"
    shown = (gap if row == GAP else "|".join(map(_cell, _CELL_END.split(row))) for row in rows)
    return [f"> {row}".rstrip() for row in shown]


def _cell(cell: str) -> str:
    return f" {as_code(cell.strip())} " if is_active(cell.replace("\\|", "|")) else cell


MAX_SIMILAR = 10
MAX_QUERY_SHOWN = 500
"""Characters of a query that an answer repeats."""
_MAX_TRANSLATION = 500


def to_markdown(result: Any) -> str:
    """The readable form of a tool's result, one of `_FORMS`."""
    heading, lines = _FORMS[type(result)](result)
    following = ["", f"Next: {inert(result.next_step)}"] if result.next_step else []
    session = [f"session_id: {result.session_id}"] if result.session_id else []
    return "\n".join([f"# {heading}", *session, *lines, *following]).rstrip() + "\n"


def _search(result: SearchResult) -> tuple[str, list[str]]:
    shown, total, many = len(result.evidence), result.total_found, len(result.queries)
    # Without providers it is the session that was searched, and `total` is all that it holds.
    whose = "the session's" if result.session_id else "your sessions'"
    relevances = [item.relevance for item in result.evidence]
    falls = any(relevances) and relevances == sorted(relevances, reverse=True)
    of = f"of {counted(total, 'result')}" if result.providers else f"of {whose} {_evidence_count(total)}"
    counts = {
        "merged with others": result.duplicates_removed - result.already_known,
        "already in this session": result.already_known,
        "by filters or max_results": result.left_out,
    }
    order = f"Order: {inert(result.ordered_by)}{'' if falls else ', not relevance'}."
    left_out = [f"{count:,} {reason}" for reason, count in counts.items() if count]
    lines = [
        f"Query translation: {inert(result.query_translation)}" if result.query_translation else "",
        "From cached results of an earlier search." if result.from_cache else "",
        f"Not shown: {', '.join(left_out)}." if left_out else "",
        *_providers(result.providers),
        *_queries(result.queries, searched=bool(result.providers)),
        order if shown > 1 and result.ordered_by else "",
        *_problems(result.errors, result.warnings),
    ]
    lines = list(filter(None, lines))
    first: dict[tuple[str, str], int] = {}
    for number, item in enumerate(result.evidence, start=1):
        lines += ["", *_item(number, item, of=many, same_as=first.setdefault(publication_key(item), number))]
    if result.related:
        lines += ["", "## Already in this session, close in meaning"]
    for related in result.related:
        lines.append(f"- {inert(related.title)} ({inert(related.id)}, relevance {related.relevance:.3f})")
        lines += quoted_lines(related.snippet, "  ")
    what = counted(shown, "passage") if any(item.anchor for item in result.evidence) else f"{shown}"
    return f"{what} {of} for: {inert(clipped(result.query, MAX_QUERY_SHOWN))}", lines


def _providers(reports: Sequence[ProviderReport]) -> Iterator[str]:
    for report in reports:
        if report.status != "skipped":
            count = f", {counted(report.results, 'result')}" if report.results else ""
            yield f"Provider {inert(report.name)}: {report.status}{count}{_detail(report.detail)}"
    if skipped := [inert(report.name) for report in reports if report.status == "skipped"]:
        yield f"Skipped (no API key): {', '.join(skipped)}"


def _queries(reports: Sequence[QueryReport], *, searched: bool) -> Iterator[str]:
    """Several queries by the numbers that the evidence refers to; with `searched`, what each of them found."""
    if len(reports) > 1 and not searched:
        yield "Searches that found this evidence:"
    for report in reports if len(reports) > 1 else ():
        shown = f"{report.shown:,} shown" if searched else f"{report.shown:,} of these"
        count = f", {counted(report.results, 'result')}" if report.results else ""
        found = f"{report.status}{count}, {shown}" if searched else shown
        query = inert(clipped(report.query, MAX_QUERY_SHOWN))
        yield f"Query {report.index} “{query}”: {found}{_detail(report.detail)}"


def _evidence_list(result: EvidenceList) -> tuple[str, list[str]]:
    lines = [*_missing(result.missing), *_queries(result.queries, searched=False), *_problems((), result.warnings)]
    starts, first = result.starts or [0] * len(result.evidence), dict[tuple[str, str], int]()
    for number, (item, start) in enumerate(zip(result.evidence, starts, strict=False), start=1):
        same_as = first.setdefault(publication_key(item), number)
        lines += ["", *_item(number, item, of=len(result.queries), start=start, same_as=same_as)]
    return _evidence_count(len(result.evidence)), lines


def _item(number: int, item: Evidence, *, of: int, start: int = 0, same_as: int = 0) -> list[str]:
    """An item of evidence; `of` is the number of queries to which its `found_by` refers, `same_as` that of the item
    which has shown its citation already."""
    citation = item.citation
    status = f"**{status_label(citation.status)}{notices_in_heading(citation)}**" if is_marked(citation.status) else ""
    mark = f"{status} " if status and citation.source != "user" else ""
    kind, is_again = item.kind.replace("_", " "), 0 < same_as < number
    kind += ", not the record's text" if item.provider == USER else ""
    facts = [
        inert(item.id),
        SOURCE_LABELS[USER].lower() if citation.source == USER else "",
        f"relevance {item.relevance:.3f}" if item.relevance else "",
        kind if "~" in item.id else "",
        f"via {inert(provider)}" if (provider := provider_shown(item.provider, citation, item.kind)) else "",
        f"section {inert(' > '.join(item.section))}" if any(item.section) else "",
        f"at {inert(item.anchor)}" if item.anchor else "",
        f"in session {inert(item.session_id)}" if item.session_id else "",
        f"found by {', '.join(map(str, item.found_by))}" if of > 1 and item.found_by else "",
        f"cited by {item.cited_by:,}" if item.cited_by >= 0 else "",
        _linked(item) if item.seeds else "",
        f"from character {start:,}" if start and not item.anchor else "",
    ]
    lines = [f"## {number}. {mark}The same publication as {same_as}"]
    if not is_again:
        lines = [f"## {number}. {mark}{inert(citation.title)}", *source_lines(citation)]
        lines += [f"The paper that this note is on is marked {status}."] if status and not mark else []
    lines.append(" · ".join(filter(None, facts)))
    if item.similar and not is_again:
        more = f" and {len(item.similar) - MAX_SIMILAR} more" if len(item.similar) > MAX_SIMILAR else ""
        listed = ", ".join(map(inert, item.similar[:MAX_SIMILAR]))
        lines.append(f"Says nearly the same, or is another version: {listed}{more}")
    lines += (quoted_passage if item.anchor else quoted_lines)(item.content)
    lines += [f"- {inert(line)}" for line in item.details]
    if item.decision and not is_again:
        lines.append(inert(decision_sentence(item.decision)))
    for note in () if is_again else item.notes:
        lines += ["The user's note:", *quoted_lines(note)]
    return lines


def _linked(item: Evidence) -> str:
    """To how many of the papers asked about it is linked, and how."""
    hows = {"cites": item.cites_seeds, "is cited by": item.cited_by_seeds}
    how = ", ".join(f"{verb} {count}" for verb, count in hows.items() if count)
    return f"linked to {counted(item.seeds, 'seed')}{f': {how}' if how else ''}"


def _expansion(result: Expansion) -> tuple[str, list[str]]:
    corrected = [f"Did you mean: {inert(result.corrected_query)}"] if result.corrected_query else []
    lines = [*corrected, *_problems((), result.warnings)]
    for number, query in enumerate(result.queries, start=1):
        hits = "" if query.hits < 0 else f" · {counted(query.hits, 'paper')}"
        lines += [
            f"\n{number}. {inert(query.query)}",
            f"   {query.strategy}, {query.reformulation}, from {query.source}{hits}: {inert(query.rationale)}",
            f"   PubMed: {inert(query.pubmed_query)}",
        ]
    if 0 < len(result.translation) <= _MAX_TRANSLATION:
        lines += ["", f"PubMed reads the first as: {inert(result.translation)}"]
    of_topic, of_evidence = ([one for one in result.concepts if (one.kind == "evidence") is it] for it in (False, True))
    direct = "".join(one.pubmed_query for one in result.queries[:1])
    for heading, concepts in (("## Concepts", of_topic), ("## Terms in the session's evidence", of_evidence)):
        lines += ["", heading, *(line for one in concepts for line in _concept(one, direct))] if concepts else []
    if result.seed_terms or result.seeds_missed:
        lost = f", which misses PMID {', '.join(result.seeds_missed)}" if result.seeds_missed else ""
        lines += ["", f"## What the seeds share and the direct query lacks{lost}"]
        said = ((inert(one.pubmed), counted(one.seeds, "seed"), one.missed) for one in result.seed_terms)
        lines += [f"- {term}: {seeds}, {missed} of those missed" for term, seeds, missed in said] or ["- nothing else"]
    filters = [f"- {one.name}: {inert(one.pubmed)} ({one.source})" for one in result.filters]
    lines += ["", "## Filters to add with AND", *filters] if filters else []
    return counted(len(result.queries), "query", "queries"), lines


def _concept(concept: Concept, direct: str) -> list[str]:
    """Its block is left out where the direct query has it."""
    mesh = f" = MeSH “{concept.mesh_term}” ({concept.mesh_id})" if concept.mesh_term else ""
    names = {
        "may stand for": concept.abbreviation_of,
        "also": concept.entry_terms,
        "broader": concept.broader,
        "narrower": concept.narrower,
        "substances": concept.supplementary,
    }
    lines = [f"  {label}: {inert('; '.join(listed))}" for label, listed in names.items() if listed]
    if concept.pubmed_block not in direct and concept.kind != "evidence":
        lines.append(f"  block: {inert(concept.pubmed_block)}")
    if concept.short_block:
        lines.append(f"  short form, without {concept.short_leaves_out}: {inert(concept.short_block)}")
    return [f"- {inert(f'{concept.term}{mesh}')}", *lines]


def _added(result: AddResult) -> tuple[str, list[str]]:
    lines = [f"- {inert(line)}" for one in result.files for line in one.told.split("\n")]
    lines += [f"- item {item.index}: kept as {inert(item.id)}{_cited(item.reference)}" for item in result.added]
    for item in result.duplicates:
        known = f"{inert(item.duplicate_of)}, which the session already had ({inert(item.reason)})"
        lines.append(f"- item {item.index}: merged into {known}{_cited(item.reference)}")
    for item in result.similar:
        lines.append(f"- item {item.index}: says nearly the same as {inert(item.id)} ({item.similarity:.3f})")
    for item in result.decided:
        decision, before = item.decision or "undecided, without tags", f", no longer {inert(item.replaced)}"
        told = f"{inert(item.id)} is now {inert(decision)}{before if item.replaced else ''}"
        lines.append(f"- item {item.index}: {told}")
    for item in result.rejected:
        verdict = "" if item.verdict == "invalid" else f" ({item.verdict.replace('_', ' ')})"
        lines.append(f"- item {item.index}: REJECTED{verdict}, {inert(item.reason)}")
        lines += [f"  - candidate {inert(one.id)}{_cited(one.reference)}" for one in item.candidates]
    decided = f"{len(result.decided)} marked, " if result.decided else ""
    added = len(result.added) + sum(one.new for one in result.files)
    heading = f"{added:,} added, {decided}{result.total:,} in the session"
    return heading, [*_problems((), result.warnings), *lines]


def _cited(reference: str) -> str:
    return f": {inert(reference)}" if reference else ""


_BASES = {
    "decisions": "Likeliest first, learned from the decisions",
    "criteria": "Nothing is included yet: most like the question and the criteria first",
    "arrival": "Nothing is included yet, and there is no question: in order of arrival",
}


def _screening(state: ScreeningState) -> list[str]:
    """What stands above every page of the queue."""
    lines = [f"Question: {inert(clean_line(state.question))}"] if state.question else []
    for one in state.criteria:
        lines += ["Criteria:", *quoted_lines(one)]
    counts = f"{state.decided:,} decided, {state.relevant:,} of them relevant; {state.undecided:,} undecided"
    row = f"; {state.since_relevant:,} in a row since the last relevant one" if state.relevant else ""
    lines += [f"{_BASES[state.basis] if state.undecided else 'Nothing is undecided'}. {counts}{row}."]
    lines += [state.stop.says] if state.stop.says else []
    lines += [
        f"- {label}: {one}" for label in ("met", "not met") for one in getattr(state.stop, label.replace(" ", "_"))
    ]
    return [*lines, ""]


def _page(result: EvidencePage) -> tuple[str, list[str]]:
    marks = [f"{count:,} {status_label(one)}" for one, count in result.statuses.items() if is_marked(one)]
    lines = [*([f"Marked: {', '.join(marks)}."] if marks else []), *([result.asked] if result.asked else [])]
    lines += [f"Status unchecked: {count:,}." for one, count in result.statuses.items() if one == "unchecked"]
    counts = [f"{mark} ({count:,})" for mark, count in result.marks.items()]
    lines += [f"Decisions and tags: {inert(', '.join(counts))}."] if counts else []
    lines += _screening(result.screening) if result.screening != NOT_RANKED else []
    lines += _problems((), result.warnings)
    for item in result.items:
        status = f"**{status_label(item.status)}**" if is_marked(item.status) else ""
        mark = f"{status} " if status and item.source != "user" else ""
        about = f", note on {inert(item.about)}" if item.about else ""
        about += f", a paper marked {status}" if status and not mark else ""
        read = f", full text {inert(item.full_text)}" if item.full_text else ""
        what = f", {item.source}" if item.source in ("preprint", "trial", "web") else ""
        is_asked = about or item.source != USER
        what += f", {STATUSES['unchecked'].lower()}" if item.status == "unchecked" and is_asked else ""
        articles = [one for one in item.status_notices if one.kind == "published"]
        named = filter(None, (f"PMID {one.pmid}" if one.pmid else one.doi or one.reference for one in articles))
        what += "".join(f"{' and' if n else ', published as'} {inert(one)}" for n, one in enumerate(named))
        dated = "" if item.source == USER and item.date == UNKNOWN_DATE else f" ({item.date})"
        lines.append(f"- {inert(item.id)}: {mark}{inert(item.title)}{dated}{what}{about}{read}")
        if is_marked(item.status):
            lines += [f"  {inert(notice_line(notice))}" for notice in item.status_notices]
            lines += [f"  {asked_on(item.status_checked)}"] if item.status_checked else []
        tags = f"tags: {', '.join(item.tags)}" if item.tags else ""
        lines += [f"  {inert('; '.join(filter(None, (item.decision, tags))))}"] if item.decision or tags else []
        lines += [f"  {inert(item.why)}"] if item.why else []
    if result.next_offset >= 0:
        lines += ["", f"Continue with offset={result.next_offset}"]
    chosen = f"{result.matching:,} of " if 0 <= result.matching < result.total else ""
    return f"{chosen}{_evidence_count(result.total)}{_detail(_counts(result.sources))}", lines


def _sessions(result: SessionList) -> tuple[str, list[str]]:
    some = [f"{result.matching:,} of these match."] if 0 < result.matching < result.total else []
    lines = [*some, *_problems((), result.warnings)]
    for one in result.sessions:
        facts = [
            _evidence_count(one.evidence) if one.evidence >= 0 else "size unknown",
            counted(one.searches, "search", "searches") if one.searches >= 0 else "",
            f"created {one.created}" if one.created else "",
            f"last used {one.last_used} UTC" if one.last_used else "",
            f"kept until {one.kept_until}" if one.kept_until else "",
            "the current one" if one.session_id == result.session_id else "",
        ]
        title = f" “{inert(one.title)}”" if one.title else ""
        lines.append(f"- {one.session_id}{title}: {', '.join(filter(None, facts))}")
    if result.next_offset >= 0:
        lines += ["", f"Continue with offset={result.next_offset}"]
    return counted(result.total, "session"), lines


def _cleared(result: ClearResult) -> tuple[str, list[str]]:
    done = "Restored" if result.undone else "Deleted"
    held = f"{_evidence_count(result.removed)}{_detail(_counts(result.sources))}"
    if result.damaged:
        held = "the whole session, which was damaged, so how much evidence it held is unknown"
    if result.ids:
        done = "Brought back" if result.undone else "Removed"
        return f"{done}, the session stays", [f"{done}: {held}.", *(f"- {inert(id)}" for id in result.ids)]
    return f"Session {done.lower()}", [f"{done}: {held}."]


def _counts(sources: Mapping[CitationSource, int]) -> str:
    return ", ".join(f"{SOURCE_LABELS[one]}: {count:,}" for one, count in sources.items())


def _export(result: ExportResult) -> tuple[str, list[str]]:
    lines = [*_missing(result.missing), *_problems((), result.warnings)]
    fence = longer_code_marks(result.text, 3)
    if result.file:
        what = "search" if result.format == "search-log" else "record"
        mark = longer_code_marks(result.file, 1)
        lines = [f"File: {mark}{result.file}{mark} ({result.bytes:,} bytes)", *lines]
    else:
        what = "record" if result.format in RECORD_FORMATS else "line"
        lines += ["", fence, result.text.rstrip("\n"), fence]
    return f"{counted(result.count, what, 'searches' if what == 'search' else '')} as {result.format}", lines


def _document(result: Document) -> tuple[str, list[str]]:
    citation, heading = result.citation, sentences("heading").get(result.status, "")
    if result.status != "full_text" and any(one.status == "failed" for one in result.attempts):
        heading = "No full text yet, not every provider answered"
    mark = f"{status_label(citation.status)}{notices_in_heading(citation)}: " if is_marked(citation.status) else ""
    is_whole, is_own = result.status == "full_text", result.provider == citation.source == USER
    has_licence = is_whole and not is_own and result.form != "passages"
    facts = [
        inert(result.id),
        result.kind.replace("_", " ") if is_whole else "",
        f"via {inert(result.provider)}" if result.provider and not is_own else "",
        f"licence: {inert(result.licence or 'unknown')}" if has_licence else "",
        inert(result.url),
    ]
    asked = [one for one in result.attempts if one.status == "failed" or not is_whole]
    lines = [
        *_problems(result.errors, result.warnings),
        *(source_lines(citation) if citation.title and citation.reference else ()),
        " · ".join(filter(None, facts)),
        *(f"Asked {inert(one.provider)}: {one.status.replace('_', ' ')}{_detail(one.detail)}" for one in asked),
    ]
    lines = list(filter(None, lines))
    if result.outline:
        lines += ["", "## Outline (anchor, title, characters)"]
        for entry in result.outline:
            indent = "  " * max(0, len(entry.section) - 1)
            lines.append(f"{indent}- {inert(str(entry).strip())}")
    if result.tables:
        lines += ["", "## Tables", *(f"- {inert(one.anchor)}: {inert(one.caption)}" for one in result.tables)]
    for passage in result.passages:
        relevance = f" · relevance {passage.relevance:.3f}" if passage.relevance else ""
        path = f" {inert(' › '.join(passage.section))}" if passage.section else ""
        heading_of = f"## {inert(passage.anchor)}{path}{relevance}".strip()
        lines += ["", heading_of, *quoted_passage(passage.text)]
    return f"{mark}{f'{heading}: ' if heading else ''}{inert(citation.title)}", lines


def _missing(ids: Sequence[str]) -> list[str]:
    return [f"Not in this session: {', '.join(map(inert, ids))}"] if ids else []


def _problems(errors: Iterable[str], warnings: Iterable[str]) -> list[str]:
    return [*(f"ERROR: {inert(error)}" for error in errors), *(f"Note: {inert(warning)}" for warning in warnings)]


def _evidence_count(count: int) -> str:
    return f"{counted(count, 'item')} of evidence"


def _detail(detail: str) -> str:
    return f" ({inert(detail)})" if detail else ""


_FORMS: Mapping[type[BaseModel], Callable[[Any], tuple[str, list[str]]]] = {
    SearchResult: _search,
    EvidenceList: _evidence_list,
    Expansion: _expansion,
    AddResult: _added,
    EvidencePage: _page,
    SessionList: _sessions,
    ExportResult: _export,
    ClearResult: _cleared,
    Document: _document,
    CitationReport: report_form,
    StrategyReport: strategy_form,
}
"""The heading and the lines of each kind of result."""
