"""The command `check`: the citations of a draft, with an exit code for scripts."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from functools import partial

import anyio
from rich.console import Console
from rich.text import Text

from deepcritical_mcp.checking.report_text import brief, report_text
from deepcritical_mcp.cli.draft_files import read_drafts
from deepcritical_mcp.config import Settings, load_settings
from deepcritical_mcp.context import AppContext, Services, build_services
from deepcritical_mcp.errors import DeadlineExceededError
from deepcritical_mcp.evidence.storage import STORES
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.models import CheckedReference, CitationReport, findings_of, with_findings
from deepcritical_mcp.progress import Progress
from deepcritical_mcp.text import clean_line, clipped

FINE, WRONG, INCOMPLETE = 0, 1, 3
"""Exit codes: nothing is wrong; something is; nothing is wrong as far as could be checked, but a service was down. 2 is
a failure of the command."""

_WRONG_VERDICTS = ("wrong_id", "differs", "not_found", "ambiguous")
_WRONG_STATUSES = ("retracted", "concern")
_WRONG_QUOTATIONS = ("altered", "misattributed")
_BROKEN = "that cannot be read"
"""Said in the reason, behind the text, of an entry of a file that breaks the file's own rules."""


def check_draft(sources: Sequence[str], *, accepted: Sequence[str], read: bool, as_json: bool) -> int:
    """Check the draft in `sources` (files, "-" = stdin), print the report, and return the exit code.

    References that `accepted` names, by their label or by words of them, are no reason for `WRONG` or `INCOMPLETE`.
    Keeps nothing: the session is in memory, whatever the settings say.

    Raises:
        InvalidInputError: the draft cannot be read, or has no references.
        OSError: a file cannot be opened.
        ConfigurationError: a setting is wrong.
    """
    logging.getLogger("deepcritical_mcp").addHandler(logging.NullHandler())  # the report says what failed
    text = read_drafts(sources)
    report, is_complete = anyio.run(_check, text, load_settings(), read)
    report = _for_shell(report)
    if as_json:  # ASCII, since a pipe on Windows may have any encoding
        print(json.dumps(report.model_dump(mode="json"), indent=2))
    else:
        print(report_text(brief(report)), end="")
    references = _without_accepted(report.references, accepted)
    is_broken = any(_BROKEN in one.rpartition("” (")[2] for one in report.unread)
    if (
        is_broken
        or any(map(_is_wrong, references))
        or any(one.verdict in _WRONG_QUOTATIONS for one in report.quotations)
    ):
        return WRONG
    return FINE if is_complete and all(one.verdict != "outage" for one in references) else INCOMPLETE


def _for_shell(report: CitationReport) -> CitationReport:
    """Without what only a client could use, since the session ends here."""
    warnings = tuple(one.replace("read=true", "--read") for one in report.warnings)
    return report.model_copy(
        update={"session_id": "", "report_uri": "", "next_step": "", "next_offset": -1, "warnings": warnings}
    )


def _without_accepted(references: Sequence[CheckedReference], accepted: Sequence[str]) -> list[CheckedReference]:
    """The references that nobody has accepted; words that occur in several, or in none, accept nothing."""
    rest = list(references)
    for name in accepted:
        words = clean_line(name).casefold()
        named = [one for one in references if one.label == name] or [
            one for one in references if words in clean_line(one.written).casefold()
        ]
        if len(named) == 1:
            rest = [one for one in rest if one is not named[0]]
        else:
            many = f"occurs in {len(named)} references" if named else "is in no reference"
            print(f'deepcritical-mcp: --accept "{name}" {many} and is ignored.', file=sys.stderr)
    return rest


def _is_wrong(reference: CheckedReference) -> bool:
    return reference.verdict in _WRONG_VERDICTS or reference.status in _WRONG_STATUSES


async def _check(text: str, settings: Settings, read: bool) -> tuple[CitationReport, bool]:
    """The report, and whether everything was checked."""
    # No store but memory, and no folder for vectors.
    app = AppContext(settings.model_copy(update={"data_dir": None}), build=partial(build_services, stores=STORES[-1:]))
    try:
        async with _shown_progress() as progress:
            services = await app.services()
            session = await services.sessions.open()
            return await _check_all(text, services, session, read, progress)
    finally:
        await app.aclose()


async def _check_all(
    text: str, services: Services, session: EvidenceStore, read: bool, progress: Progress
) -> tuple[CitationReport, bool]:
    """Check part after part, to the end, or until there is no time for another one."""
    check = partial(services.checker.check, text, session, read=read, progress=progress)
    report = await check()
    while report.next_offset >= 0:
        try:
            part = await check(offset=report.next_offset)
        except DeadlineExceededError:
            return report, False
        report = with_findings(part, (*findings_of(report), *findings_of(part)))
    return report, True


@asynccontextmanager
async def _shown_progress() -> AsyncGenerator[Progress]:
    """A line on stderr, if that is a terminal, that shows what is done until the block ends."""
    console = Console(stderr=True, highlight=False)

    async def report(fraction: float, message: str) -> None:
        status.update(Text(f"{fraction:4.0%} {clipped(clean_line(message), 70)}"))

    status = console.status("Starting…")
    if not console.is_terminal:
        yield report
        return
    with status:
        yield report
