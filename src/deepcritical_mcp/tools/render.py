"""Results as Markdown: for a person to read, and for a client's model that sees nothing else.

Whatever comes from outside stands in quotation blocks or on one line of its own field, never among our own words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from pydantic import BaseModel

from deepcritical_mcp.models import (
    NOTICE_LABELS,
    AddResult,
    Citation,
    ClearResult,
    Concept,
    Evidence,
    EvidenceList,
    EvidencePage,
    Expansion,
    ExportResult,
    NoticeKind,
    ProviderReport,
    QueryReport,
    SearchResult,
    StatusNotice,
    status_label,
)
from deepcritical_mcp.text import inert

MOST_SIMILAR = 10
_MOST_REGISTRATIONS = 5
_IN_HEADING: tuple[NoticeKind, ...] = ("retraction", "concern", "erratum", "update")
"""Notices that the heading names with the status."""


def to_markdown(result: BaseModel) -> str:
    """The readable form of a tool's result."""
    match result:
        case SearchResult():
            lines = _search(result)
        case EvidenceList():
            lines = _evidence_list(result)
        case Expansion():
            lines = _expansion(result)
        case AddResult():
            lines = _added(result)
        case EvidencePage():
            lines = _page(result)
        case ExportResult():
            lines = _export(result)
        case ClearResult():
            lines = [f"# Session {result.session_id} ended", f"Permanently deleted: {_pieces(result.removed)}."]
            lines += _next(result.next_step)
        case _:
            raise TypeError(f"no readable form for {type(result).__name__}")
    return "\n".join(lines).rstrip() + "\n"


def _search(result: SearchResult) -> list[str]:
    shown, total = len(result.evidence), result.total_found
    # Without providers it is the session that was searched, and `total` is all that it holds.
    of = f"of {total:,}" if result.providers or not total else f"of the session's {_pieces(total)}"
    lines = [f"# {shown} {of} for: {inert(result.query)}", f"session_id: {result.session_id}"]
    if result.query_translation:
        lines.append(f"PubMed read the query as: {inert(result.query_translation)}")
    if result.from_cache:
        lines.append("From cached results of an earlier search.")
    lines += [*_left_out(result), *_providers(result.providers), *_queries(result.queries, bool(result.providers))]
    if shown > 1 and result.ordered_by:
        lines.append(f"Order: {inert(result.ordered_by)}, not relevance.")
    lines += _problems(result.errors, result.warnings)
    for number, piece in enumerate(result.evidence, start=1):
        lines += ["", *_piece(number, piece, of=len(result.queries))]
    if result.related:
        lines += ["", "## Already in this session, close in meaning"]
        for related in result.related:
            lines += [
                f"- {inert(related.title)} ({inert(related.id)}, relevance {related.relevance:.3f})",
                *_quote(related.snippet, "  "),
            ]
    return [*lines, *_next(result.next_step)]


def _left_out(result: SearchResult) -> Iterator[str]:
    """How many results are not shown, and why."""
    same = result.duplicates_removed - result.already_known
    parts = [
        f"{same:,} the same as others" if same else "",
        f"{result.already_known:,} already in this session" if result.already_known else "",
        f"{result.left_out:,} by the filters" if result.left_out else "",
    ]
    if any(parts):
        yield f"Left out: {', '.join(filter(None, parts))}."


def _providers(reports: Sequence[ProviderReport]) -> list[str]:
    lines = [
        f"Provider {inert(report.name)}: {report.status}{_of(report.results)}{_detail(inert(report.detail))}"
        for report in reports
        if report.status != "skipped"
    ]
    skipped = [inert(report.name) for report in reports if report.status == "skipped"]
    return [*lines, f"Skipped (no API key): {', '.join(skipped)}"] if skipped else lines


def _queries(reports: Sequence[QueryReport], searched: bool) -> list[str]:
    """The queries under the numbers that the evidence refers to; with `searched`, what each of them found."""
    if len(reports) < 2:
        return []
    return [
        f"Query {report.index} “{inert(report.query)}”: {_brought(report, searched)}{_detail(inert(report.detail))}"
        for report in reports
    ]


def _brought(report: QueryReport, searched: bool) -> str:
    return f"{report.status}{_of(report.results)}, {report.shown:,} shown" if searched else f"{report.shown:,} of these"


def _evidence_list(result: EvidenceList) -> list[str]:
    lines = [f"# {_pieces(len(result.evidence))}", f"session_id: {result.session_id}"]
    if result.missing:
        lines.append(f"Not in this session: {', '.join(map(inert, result.missing))}")
    lines += _queries(result.queries, searched=False)
    starts = result.starts or [result.offset] * len(result.evidence)
    for number, (piece, start) in enumerate(zip(result.evidence, starts, strict=False), start=1):
        lines += ["", *_piece(number, piece, of=len(result.queries), start=start)]
    return [*lines, *_next(result.next_step)]


def _piece(number: int, piece: Evidence, *, of: int, start: int = 0) -> list[str]:
    """A piece of evidence; `of` is the number of queries to which its `found_by` refers."""
    citation = piece.citation
    marks = [f"**{status_label(citation.status)}{_notices(citation)}**"] if citation.status != "ok" else []
    facts = [
        inert(piece.id),
        f"relevance {piece.relevance:.3f}" if piece.relevance else "",
        f"via {inert(piece.provider)}" if piece.provider and not citation.pmid else "",
        f"found by {', '.join(map(str, piece.found_by))}" if of > 1 and piece.found_by else "",
        f"from character {start:,}" if start else "",
    ]
    lines = [f"## {number}. {' '.join([*marks, inert(citation.title)])}"]
    lines += [inert(line) for line in _source(citation) if not (citation.pmid and line == citation.url)]
    lines.append(" · ".join(filter(None, facts)))
    if piece.similar:
        more = f" and {len(piece.similar) - MOST_SIMILAR} more" if len(piece.similar) > MOST_SIMILAR else ""
        lines.append(f"Says nearly the same: {', '.join(map(inert, piece.similar[:MOST_SIMILAR]))}{more}")
    lines += _quote(piece.content)
    for note in piece.notes:
        lines += ["The user's note on it:", *_quote(note)]
    return lines


def _source(citation: Citation) -> list[str]:
    """The reference under a label of ours, and what it does not say: types, links to other versions, a page's URL."""
    links = [notice for notice in citation.status_notices if notice.kind not in _IN_HEADING]
    numbers = citation.registrations[:_MOST_REGISTRATIONS]
    more = f"and {len(citation.registrations) - len(numbers)} more numbers"
    said = (citation.reference, *numbers)
    trial = citation.nct if not any(citation.nct in one for one in said) else ""
    facts = (*citation.publication_types, *numbers, trial, more if len(numbers) < len(citation.registrations) else "")
    repeated = (citation.pmid and citation.pmid in citation.url) or citation.url in citation.reference
    return [
        *([f"Reference: {citation.reference}"] if citation.source != "user" or citation.url else []),
        *filter(None, [" · ".join(filter(None, facts))]),
        *(f"{NOTICE_LABELS[one.kind]}: {one.reference}{f' PMID {one.pmid}' if one.pmid else ''}" for one in links),
        *([] if repeated else [citation.url]),
    ]


def _notices(citation: Citation) -> str:
    graver = (notice for notice in citation.status_notices if notice.kind in _IN_HEADING)
    notices = [f"PMID {notice.pmid}" if notice.pmid else notice.reference for notice in graver]
    return f" (notice: {inert('; '.join(filter(None, notices)))})" if any(notices) else ""


def _notice(notice: StatusNotice) -> str:
    numbers = [f"PMID {notice.pmid}" if notice.pmid else "", f"doi:{notice.doi}" if notice.doi else ""]
    return f"{notice.kind}: {'; '.join(filter(None, (notice.reference, *numbers)))}"


def _expansion(result: Expansion) -> list[str]:
    lines = [
        f"# {len(result.queries)} quer{'y' if len(result.queries) == 1 else 'ies'}",
        f"session_id: {result.session_id}",
    ]
    if result.corrected_query:
        lines.append(f"Did you mean: {inert(result.corrected_query)}")
    lines += _problems((), result.warnings)
    for number, query in enumerate(result.queries, start=1):
        lines += [
            "",
            f"{number}. {inert(query.query)}",
            f"   {query.strategy}, {query.reformulation}, from {query.source}: {inert(query.rationale)}",
            f"   PubMed: {inert(query.pubmed_query)}",
        ]
    for place, heading in (("topic", "## Concepts"), ("evidence", "## What the session's evidence talks about")):
        concepts = [concept for concept in result.concepts if concept.found_in == place]
        lines += ["", heading, *map(_concept, concepts)] if concepts else []
    return [*lines, *_next(result.next_step)]


def _concept(concept: Concept) -> str:
    mesh = f" = MeSH “{concept.mesh_term}” ({concept.mesh_id})" if concept.mesh_term else ""
    by_source: dict[str, list[str]] = {}
    for name, source in zip_longest(concept.synonyms, concept.synonym_sources, fillvalue=""):
        by_source.setdefault(source, []).append(name)
    synonyms = " · ".join(
        f"{'; '.join(names)}{f' [{source}]' if source else ''}" for source, names in by_source.items()
    )
    return f"- {inert(f'{concept.term}{mesh}')}{f': {inert(synonyms)}' if synonyms else ''}"


def _added(result: AddResult) -> list[str]:
    lines = [f"# {len(result.added)} added, {result.total:,} in the session", f"session_id: {result.session_id}"]
    lines += [f"- item {item.index}: kept as {inert(item.id)}" for item in result.added]
    lines += [
        f"- item {item.index}: merged into {inert(item.duplicate_of)}, which is there already ({inert(item.reason)})"
        for item in result.duplicates
    ]
    lines += [
        f"- item {item.index}: says nearly the same as {inert(item.id)} ({item.similarity:.3f})"
        for item in result.similar
    ]
    lines += [f"- item {item.index}: REJECTED, {inert(item.reason)}" for item in result.rejected]
    return [*lines, *_next(result.next_step)]


def _page(result: EvidencePage) -> list[str]:
    counts = [f"{count.count:,} {count.source}" for count in result.sources]
    marked = [f"{count.count:,} {status_label(count.status)}" for count in result.statuses if count.status != "ok"]
    lines = [f"# {_pieces(result.total)}{_detail(', '.join([*counts, *marked]))}", f"session_id: {result.session_id}"]
    if 0 < result.matching < result.total:
        lines.append(f"{result.matching:,} of these match the filter.")
    lines += _problems((), result.warnings)
    for item in result.items:
        mark = f"**{status_label(item.status)}** " if item.status != "ok" else ""
        lines.append(f"- {inert(item.id)}: {mark}{inert(item.title)} ({item.date})")
        lines += [f"  {inert(_notice(notice))}" for notice in item.status_notices if item.status != "ok"]
    if result.next_offset >= 0:
        lines += ["", f"More: offset={result.next_offset}"]
    return [*lines, *_next(result.next_step)]


def _export(result: ExportResult) -> list[str]:
    lines = [
        f"# {result.count:,} record{'' if result.count == 1 else 's'} as {result.format}",
        f"session_id: {result.session_id}",
    ]
    if result.missing:
        lines.append(f"Not in this session: {', '.join(map(inert, result.missing))}")
    fence = "`" * max(3, _longest_run_of_backticks(result.text) + 1)
    return [*lines, "", fence, result.text.rstrip("\n"), fence, *_next(result.next_step)]


def _longest_run_of_backticks(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


def _problems(errors: Iterable[str], warnings: Iterable[str]) -> list[str]:
    return [*(f"ERROR: {inert(error)}" for error in errors), *(f"Note: {inert(warning)}" for warning in warnings)]


def _quote(text: str, indent: str = "") -> list[str]:
    return [f"{indent}> {line}" for line in inert(text).split("\n")]


def _next(step: str) -> Sequence[str]:
    return ["", f"Next: {inert(step)}"] if step else []


def _of(results: int) -> str:
    return f", {results:,} result{'' if results == 1 else 's'}" if results else ""


def _pieces(count: int) -> str:
    return f"{count:,} piece{'' if count == 1 else 's'} of evidence"


def _detail(detail: str) -> str:
    return f" ({detail})" if detail else ""
