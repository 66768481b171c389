"""The tool `check_citations`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator, Field

from deepcritical_mcp.checking import MAX_DRAFT
from deepcritical_mcp.checking.report_text import brief, ranges
from deepcritical_mcp.identifiers import record_ids
from deepcritical_mcp.models import CitationReport
from deepcritical_mcp.text import clean_text, clipped, counted
from deepcritical_mcp.tools.arguments.call_session import ToolContext, application, progress_of, session_for
from deepcritical_mcp.tools.arguments.params import Offset, OtherSession, at_most
from deepcritical_mcp.tools.arguments.values import is_url
from deepcritical_mcp.tools.spec import asking_tool

MAX_FILE_NAME = 200
"""Characters of what may be the name of a file."""
IN_PIECES = (
    "Check it in pieces, each a few sections with the entries of the reference list that they cite, "
    "or the reference list alone."
)
REPORT_URI = "report://{session_id}"
"""The resource that has the whole report on a session's draft."""


_FILES = frozenset("md markdown txt doc docx odt rtf tex pdf bib ris nbib json htm html".split())
"""How the names of files end."""


def _draft(text: str) -> str:
    draft = clean_text(text)
    if not draft:
        raise ValueError("pass the draft itself, with its list of references; a file must be read first")
    if is_url(draft) and not any(record_ids(draft)):
        raise ValueError(f'"{clipped(draft, 60)}" is an address: open it and pass what it contains')
    if len(draft) <= MAX_FILE_NAME and len(draft.split()) == 1 and draft.lower().rpartition(".")[2] in _FILES:
        raise ValueError(f'"{clipped(draft, 60)}" is the name of a file: read it and pass what it contains')
    return draft


async def check_citations(
    ctx: ToolContext,
    text: Annotated[
        str, AfterValidator(_draft), at_most(MAX_DRAFT, else_told=IN_PIECES), Field(description="all, not a file name")
    ],
    offset: Offset = 0,
    read: Annotated[bool, Field(description="full texts too")] = False,
    session_id: OtherSession = "",
) -> CitationReport:
    """Check or verify the citations of a draft manuscript, bibliography or reference list (any style, BibTeX, RIS): is
    each reference real, retracted, wrong, fabricated (hallucinated) or not found; altered quotations; for claims, the
    nearest passage of the source, to judge."""
    session = await session_for(ctx, session_id, about="Check of a draft")
    checker = (await application(ctx).services()).checker
    report = await checker.check(text, session.store, offset=offset, read=read, progress=progress_of(ctx))
    call = f"check_citations with the same text, {'read=true, ' if read else ''}".rstrip()
    steps = (f"Go on: {call} offset={report.next_offset}." if report.next_offset >= 0 else "", *_steps(report))
    uri = REPORT_URI.replace("{session_id}", report.session_id)
    return brief(report).but(offset=offset, call=call, report_uri=uri, next_step=session.next_step(*steps))


def _steps(report: CitationReport) -> Iterator[str]:
    """What to do about what was found."""
    if (outages := report.counts.get("outage", 0)) and report.errors:
        yield f"{counted(outages, 'reference')} could not be looked up: check again in a minute."
    if any(one.corrected for one in report.references):
        yield "Show the user what is written and what is true before you change the draft."
    if report.cited:
        yield (
            f"Kept as what the draft cites, not as evidence: reference{'s' * (len(report.cited) > 1)} "
            f"{ranges(report.cited)}. add_evidence with PMIDs or DOIs takes papers over."
        )


IF_LATE = "What was found is kept in the session. Call again with the same text: it goes on from there."
TOOL = asking_tool(check_citations, "Check citations", "✅", if_late=IF_LATE)
