"""Results as Markdown: for a person to read, and for a client's model that sees nothing else.

Whatever comes from outside stands in quotation blocks or on one line of its own field, never among our own words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import zip_longest

from pydantic import BaseModel

from deepcritical_mcp.models import (
    AddResult,
    Citation,
    ClearResult,
    Concept,
    Evidence,
    EvidenceList,
    EvidencePage,
    Expansion,
    ExportResult,
    SearchResult,
    status_label,
)

MOST_SIMILAR = 10


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
            lines = [f"# Session {result.session_id} ended", f"Gone for good: {_pieces(result.removed)}."]
            lines += _next(result.next_step)
        case _:
            raise TypeError(f"no readable form for {type(result).__name__}")
    return "\n".join(lines).rstrip() + "\n"


def _search(result: SearchResult) -> list[str]:
    shown, total = len(result.evidence), result.total_found
    # Without providers it is the session that was searched, and `total` is all that it holds.
    of = f"of {total:,}" if result.providers or not total else f"of the session's {_pieces(total)}"
    lines = [f"# {shown} {of} for: {result.query}", f"session_id: {result.session_id}"]
    if result.query_translation:
        lines.append(f"PubMed read the query as: {result.query_translation}")
    if result.from_cache:
        lines.append("From cached results of an earlier search.")
    if result.duplicates_removed:
        lines.append(f"{result.duplicates_removed} left out as duplicates or as known already.")
    lines += [
        f"Provider {report.name}: {report.status}{_of(report.results)}{_detail(report.detail)}"
        for report in result.providers
        if report.status != "skipped"
    ]
    if skipped := [report.name for report in result.providers if report.status == "skipped"]:
        lines.append(f"Not asked, for want of a key: {', '.join(skipped)}")
    if len(result.queries) > 1:
        lines += [
            f"Query “{report.query}”: {report.status}{_of(report.results)}{_detail(report.detail)}"
            for report in result.queries
        ]
    lines += _problems(result.errors, result.warnings)
    for number, piece in enumerate(result.evidence, start=1):
        lines += ["", *_piece(number, piece)]
    if result.related:
        lines += ["", "## Already in this session, close in meaning"]
        for related in result.related:
            lines += [
                f"- {related.title} ({related.id}, relevance {related.relevance:.2f})",
                *_quote(related.snippet, "  "),
            ]
    return [*lines, *_next(result.next_step)]


def _evidence_list(result: EvidenceList) -> list[str]:
    lines = [f"# {_pieces(len(result.evidence))}", f"session_id: {result.session_id}"]
    if result.missing:
        lines.append(f"Not in this session: {', '.join(result.missing)}")
    for number, piece in enumerate(result.evidence, start=1):
        lines += ["", *_piece(number, piece, whole_from="")]
    return [*lines, *_next(result.next_step)]


def _piece(number: int, piece: Evidence, *, whole_from: str = "get_evidence") -> list[str]:
    citation = piece.citation
    marks = [f"**{status_label(citation.status)}{_notices(citation)}**"] if citation.status != "ok" else []
    facts = [
        piece.id,
        f"relevance {piece.relevance:.2f}" if piece.relevance else "",
        f"via {piece.provider}" if piece.provider else "",
    ]
    lines = [f"## {number}. {' '.join([*marks, citation.title])}", *_source(citation), " · ".join(filter(None, facts))]
    if len(piece.found_by) > 1:
        lines.append(f"Found by: {'; '.join(piece.found_by)}")
    if piece.similar:
        more = f" and {len(piece.similar) - MOST_SIMILAR} more" if len(piece.similar) > MOST_SIMILAR else ""
        lines.append(f"Says nearly the same: {', '.join(piece.similar[:MOST_SIMILAR])}{more}")
    lines += _quote(piece.content)
    if piece.content_truncated:
        lines.append(f'(cut here; whole: {whole_from} ids=["{piece.id}"])' if whole_from else "(cut here)")
    for note in piece.notes:
        lines += ["The user's note on it:", *_quote(note)]
    return lines


def _source(citation: Citation) -> list[str]:
    authors = ", ".join(citation.authors[:6]) + (
        f" and {len(citation.authors) - 6} more" if len(citation.authors) > 6 else ""
    )
    where = [
        citation.journal,
        citation.date if citation.date != "Unknown" else "",
        f"PMID {citation.pmid}" if citation.pmid else "",
        f"doi:{citation.doi}" if citation.doi else "",
        citation.pmcid,
        ", ".join(citation.publication_types),
    ]
    by = f"By {authors}" if authors else ""  # a name must not look like one of our own lines
    return [line for line in (by, " · ".join(filter(None, where)), citation.url) if line]


def _notices(citation: Citation) -> str:
    notices = [f"PMID {notice.pmid}" if notice.pmid else notice.reference for notice in citation.status_notices]
    return f" (notice: {'; '.join(filter(None, notices))})" if any(notices) else ""


def _expansion(result: Expansion) -> list[str]:
    lines = [
        f"# {len(result.queries)} quer{'y' if len(result.queries) == 1 else 'ies'}",
        f"session_id: {result.session_id}",
    ]
    if result.corrected_query:
        lines.append(f"Did you mean: {result.corrected_query}")
    lines += _problems((), result.warnings)
    for number, query in enumerate(result.queries, start=1):
        lines += [
            "",
            f"{number}. {query.query}",
            f"   {query.strategy}, {query.reformulation}, from {query.source}: {query.rationale}",
            f"   PubMed: {query.pubmed_query}",
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
    return f"- {concept.term}{mesh}{f': {synonyms}' if synonyms else ''}"


def _added(result: AddResult) -> list[str]:
    lines = [f"# {len(result.added)} added, {result.total:,} in the session", f"session_id: {result.session_id}"]
    lines += [f"- item {item.index}: kept as {item.id}" for item in result.added]
    lines += [
        f"- item {item.index}: merged into {item.duplicate_of}, which is there already ({item.reason})"
        for item in result.duplicates
    ]
    lines += [
        f"- item {item.index}: says nearly the same as {item.id} ({item.similarity:.2f})" for item in result.similar
    ]
    lines += [f"- item {item.index}: REJECTED, {item.reason}" for item in result.rejected]
    return [*lines, *_next(result.next_step)]


def _page(result: EvidencePage) -> list[str]:
    counts = ", ".join(f"{count.count:,} {count.source}" for count in result.sources)
    lines = [f"# {_pieces(result.total)}{_detail(counts)}", f"session_id: {result.session_id}"]
    lines += _problems((), result.warnings)
    for item in result.items:
        mark = f"**{status_label(item.status)}** " if item.status != "ok" else ""
        lines.append(f"- {item.id}: {mark}{item.title} ({item.date})")
    if result.next_offset >= 0:
        lines += ["", f"More: offset={result.next_offset}"]
    return [*lines, *_next(result.next_step)]


def _export(result: ExportResult) -> list[str]:
    lines = [
        f"# {result.count:,} record{'' if result.count == 1 else 's'} as {result.format}",
        f"session_id: {result.session_id}",
    ]
    if result.missing:
        lines.append(f"Not in this session: {', '.join(result.missing)}")
    fence = "`" * max(3, _longest_run_of_backticks(result.text) + 1)
    return [*lines, "", fence, result.text.rstrip("\n"), fence, *_next(result.next_step)]


def _longest_run_of_backticks(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


def _problems(errors: Iterable[str], warnings: Iterable[str]) -> list[str]:
    return [*(f"ERROR: {error}" for error in errors), *(f"Note: {warning}" for warning in warnings)]


def _quote(text: str, indent: str = "") -> list[str]:
    return [f"{indent}> {line}" for line in text.split("\n")]


def _next(step: str) -> Sequence[str]:
    return ["", f"Next: {step}"] if step else []


def _of(results: int) -> str:
    return f", {results:,} result{'' if results == 1 else 's'}" if results else ""


def _pieces(count: int) -> str:
    return f"{count:,} piece{'' if count == 1 else 's'} of evidence"


def _detail(detail: str) -> str:
    return f" ({detail})" if detail else ""
