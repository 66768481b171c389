"""The tool `list_evidence`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from deepcritical_mcp.models import (
    CitationSource,
    EvidencePage,
    EvidenceSummary,
    Publication,
    PublicationStatus,
    asked_on,
    decision_of,
    matches_mark,
)
from deepcritical_mcp.models.screening import MARKS
from deepcritical_mcp.text import counted
from deepcritical_mcp.tools.arguments.call_session import ToolContext, application, session_for
from deepcritical_mcp.tools.arguments.params import Marked, OtherSession, StatusFilter
from deepcritical_mcp.tools.spec import ToolSpec, hints

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.store import EvidenceStore

WHAT_TO_DO = "For complete texts call get_evidence; for a reference manager's file, export_evidence."


async def list_evidence(
    ctx: ToolContext,
    max_results: Annotated[int, Field(ge=1, le=100)] = 20,
    offset: Annotated[int, Field(ge=0)] = 0,
    status: StatusFilter = "any",
    marked: Annotated[Marked, Field(description='"included", "excluded", "cited", "undecided" or a tag')] = "",
    session_id: OtherSession = "",
) -> EvidencePage:
    """List (show) all that was found and saved in this session so far, an overview: ids, titles, how many studies of
    each source, included, status and decision."""
    session = await session_for(ctx, session_id, may_open=False)
    witness = (await application(ctx).services()).witness.title
    page = await page_of(session.store, offset, max_results, status=status, marked=marked, witness=witness)
    return page.model_copy(update={"next_step": session.next_step("" if session.is_empty else page.next_step)})


async def page_of(
    store: EvidenceStore, offset: int, limit: int, *, status: StatusFilter = "any", marked: str = "", witness: str = ""
) -> EvidencePage:
    """At most `limit` lines of a session's evidence of one status and mark from `offset` on, with the session's
    numbers. `witness` is whom an export asks about retractions."""
    everything = [*(await store.publications(await store.ids())).values()]
    sources: Counter[CitationSource] = Counter(item.source for item in everything)
    statuses: Counter[PublicationStatus] = Counter(item.status for item in everything if item.source != "user")
    decisions = Counter(item.screening for item in everything if item.screening)
    tags = Counter(tag for item in everything for tag in item.tags)
    selected = [item for item in everything if matches_mark(item, marked)]
    matching = [item for item in selected if status in ("any", _own_status(item))]
    unknown = [item for item in selected if _own_status(item) == "unchecked"] if status == "ok" else []
    unread = sum(item.awaits_pubmed for item in unknown)
    others = len(unknown) - unread
    never = [f"Never checked and left out (web pages, notes): {counted(others, 'item')}."] if others else []
    never += [f"Left out, since their status was not read from PubMed: {counted(unread, 'record')}."] if unread else []
    items = matching[offset : offset + limit]
    following = offset + len(items)
    beyond = [f"offset {offset} is beyond the last item of evidence."] if offset >= len(matching) > 0 else []
    summaries = tuple(map(_summary, items))
    days = {one.status_checked for one in summaries if one.status_checked and one.source != "user"}
    return EvidencePage(
        session_id=store.session_id,
        total=len(everything),
        sources=dict(sources.most_common()),
        matching=len(matching),
        statuses=dict(statuses.most_common()),
        marks=dict([*sorted(decisions.items(), key=lambda row: MARKS.index(row[0])), *tags.most_common()]),
        items=summaries if len(days) > 1 else tuple(one.model_copy(update={"status_checked": ""}) for one in summaries),
        asked=f"{asked_on(*days).capitalize()}." if days else "",
        next_offset=following if following < len(matching) else -1,
        warnings=(*no_such_mark(marked, everything), *store.warnings_about(()), *beyond, *never),
        next_step=_next_step(everything, selected, matching, status, witness),
    )


def _own_status(item: Publication) -> PublicationStatus:
    """Its status; nobody is asked about a note, which is shown with that of its paper."""
    return "unchecked" if item.source == "user" else item.status


def _next_step(
    everything: Sequence[Publication],
    selected: Sequence[Publication],
    matching: Sequence[Publication],
    status: str,
    witness: str,
) -> str:
    if not everything:
        return "This session has no evidence yet."
    if not selected:
        return "Leave marked out to list everything."
    return WHAT_TO_DO if matching else _none(selected, status, witness)


def no_such_mark(marked: str, everything: Collection[Publication]) -> tuple[str, ...]:
    """That nothing of all this has the mark, and which marks there are; () if something has it, or there is nothing."""
    if not everything or any(matches_mark(item, marked) for item in everything):
        return ()
    decisions = {item.screening for item in everything}
    tags = dict.fromkeys(tag for item in everything for tag in item.tags)
    marks = [*(mark for mark in MARKS if mark in decisions), *tags]
    known = (
        f"The marks here are: {', '.join(marks)}." if marks else "Nothing is marked: add_evidence marks items by id."
    )
    return (f'No evidence here is marked "{marked}". {known}',)


def _none(everything: Sequence[Publication], status: str, witness: str) -> str:
    """That nothing has this status, who said so and when, and whom an export also asks."""
    days = [item.status_checked for item in everything if item.status_checked]
    unknown = len(everything) - len(days)
    checked = f" That is what the records of their own sources said on {min(days)} or later." if days else ""
    asks = f" export_evidence also asks {witness}, the second witness of retractions." if witness else ""
    never = f" The status of {counted(unknown, 'item')} was never checked." if unknown else ""
    return f'No evidence here has the status "{status}".{checked}{asks}{never}'


def _summary(item: Publication) -> EvidenceSummary:
    read = next((item.id_of(one) for one in item.texts if one.kind == "full_text"), "")
    known = {
        name: getattr(item, name) for name in EvidenceSummary.model_fields.keys() - {"full_text", "decision", "year"}
    }
    year = int(item.date[:4]) if item.date[:1].isdigit() else 0
    return EvidenceSummary.model_validate({**known, "year": year, "full_text": read, "decision": decision_of(item)})


TOOL = ToolSpec(list_evidence, "List the session's evidence", "📋", EvidencePage, hints(read_only=True))
