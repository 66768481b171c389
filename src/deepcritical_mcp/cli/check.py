"""The command `check`: the citations of a draft, with an exit code for scripts."""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager, nullcontext
from functools import partial
from html import unescape
from pathlib import Path
from shutil import which

import anyio
from rich.console import Console
from rich.text import Text

from deepcritical_mcp.checking import MAX_DRAFT
from deepcritical_mcp.checking.report_text import brief, report_text
from deepcritical_mcp.config import Settings, load_settings
from deepcritical_mcp.context import AppContext, build_services
from deepcritical_mcp.data_files import data_table
from deepcritical_mcp.deadline import Progress
from deepcritical_mcp.errors import DeadlineExceededError, InvalidInputError
from deepcritical_mcp.evidence.storage import STORES
from deepcritical_mcp.models import GRAVE_STATUSES, CheckedReference, CitationReport, findings_of, with_findings
from deepcritical_mcp.text import UTF_16, clean_line, clipped, decoded

MAX_FILE = 100 * 1024 * 1024
"""Bytes of a file; those of word processors contain figures."""
_PANDOC_SECONDS = 60
_PANDOC_FORMATS = data_table(__file__, "pandoc_formats.txt")
_OF_BYTES_ONLY = (".docx", ".odt", ".epub", ".rtf")
"""Formats that know their encoding."""
_DECLARED = re.compile(rb"(?i)(?:inputenc|encoding|charset|coding)\W{0,20}([\w-]{3,20})|\[([\w-]{3,20})\]\{inputenc\}")
_MARKDOWN = "markdown_strict+footnotes+pipe_tables+citations+backtick_code_blocks+startnum+intraword_underscores"
_LEFT = (
    (re.compile(r"\s?(?:<a\b[^<>]*>|\[)↩[\ufe0e\ufe0f]?(?:</a>|\]\(#[^()\s]*\))"), ""),  # from a note back to its mark
    (re.compile(r"\[((?:\\.|[^\[\]\\])*)\]\(#[^()\s]*\)"), r"\1"),  # links from citations to their entries
    (re.compile(r'<a\b[^<>]*?href="(https?:[^"]*)"[^<>]*>([^<>]*)</a>'), r"[\2](\1)"),
    (re.compile(r"</?(?:a|u|span|sub|small|col|colgroup|tbody|thead)\b[^<>]*>"), ""),
    (re.compile(r"\\(_|[^\w\s|])"), r"\1"),
)
"""What pandoc's Markdown has besides text, and what stands for it."""
_OLD_FORMATS = data_table(__file__, "unread_formats.txt")


def read_drafts(sources: Sequence[str]) -> str:
    """The text of files that together are one draft, in their order; "-" is stdin.

    Raises:
        InvalidInputError: a file cannot be read as text, or the draft is empty or too long; the message says what to
            do.
        OSError: a file cannot be opened.
    """
    text = "\n\n".join(map(_text_of, sources)).replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise InvalidInputError("The draft is empty.")
    if len(text) > MAX_DRAFT:
        raise InvalidInputError(
            f"The draft has {len(text):,} characters, and at most {MAX_DRAFT:,} are checked at once. Check it "
            "in parts, each with its references, or pass only the reference list."
        )
    return text


def _text_of(source: str) -> str:
    kind, name = Path(source).suffix.lower(), "stdin" if source == "-" else source
    if source != "-" and Path(source).is_dir():
        raise InvalidInputError(f"{source} is a folder. Pass the draft's files.")
    if kind in _OLD_FORMATS:
        raise InvalidInputError(f"{source} cannot be read: {_OLD_FORMATS[kind]}.")
    with nullcontext(sys.stdin.buffer) if source == "-" else open(source, "rb") as file:
        data = file.read(MAX_FILE + 1)
    if len(data) > MAX_FILE:
        raise InvalidInputError(f"{name} is larger than {MAX_FILE // 1024**2} MB. Pass the text without its figures.")
    if kind not in _PANDOC_FORMATS:
        return _decoded(data, name)
    # pandoc itself knows the encodings of zipped formats; HTML it takes for UTF-8.
    return _converted(data if kind in _OF_BYTES_ONLY else _decoded(data, source).encode(), source, kind)


def _decoded(data: bytes, name: str) -> str:
    """The text, also in an older encoding that it declares near its start, as `% Encoding: ISO-8859-15`,
    `\\usepackage[latin1]{inputenc}` or `<meta charset=…>` do."""
    if not data.startswith(UTF_16) and (b"\0" in data or data.startswith((b"%PDF-", b"PK\x03\x04", b"{\\rtf"))):
        raise InvalidInputError(
            f"{name} is not text. Pass Markdown, LaTeX or plain text, BibTeX, RIS or CSL-JSON, or a file "
            f"whose name ends in {', '.join(sorted(_PANDOC_FORMATS))}."
        )
    declared = ((found[1] or found[2]).decode("ascii", "replace") for found in _DECLARED.finditer(data[:4096]))
    return decoded(data, *declared)


def _converted(data: bytes, name: str, kind: str) -> str:
    """A document as Markdown without escapes, as pandoc reads it, which opens nothing else."""
    if not (program := which("pandoc")):
        raise InvalidInputError(
            f"{name} is read through pandoc, which is not installed: install it "
            "(https://pandoc.org/installing.html), or save the document as plain text or Markdown."
        )
    command = [program, "--sandbox", f"--from={_PANDOC_FORMATS[kind]}", f"--to={_MARKDOWN}", "--wrap=none"]
    try:
        done = subprocess.run(command, input=data, capture_output=True, timeout=_PANDOC_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise InvalidInputError(f"pandoc could not convert {name} within {_PANDOC_SECONDS} seconds.") from None
    if done.returncode:
        words = done.stderr.decode("utf-8", "replace").strip()[:300].rstrip(".") or f"exit code {done.returncode}"
        helps = "Update pandoc, or save the document as plain text or Markdown."
        raise InvalidInputError(f"pandoc cannot convert {name}: {words}. {helps}")
    text = done.stdout.decode("utf-8")
    for pattern, new in _LEFT:
        text = pattern.sub(new, text)
    return unescape(text)


FINE, WRONG, INCOMPLETE = 0, 1, 3
"""Exit codes: nothing is wrong; something is; nothing is wrong as far as could be checked, but a service was down. 2 is
a failure of the command."""

_WRONG_VERDICTS = ("wrong_id", "differs", "not_found", "ambiguous")
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
    report, is_complete = anyio.run(_check, read_drafts(sources), load_settings(), read)
    # Without what only a client could use, since the session ends here.
    warnings = tuple(one.replace("read=true", "--read") for one in report.warnings)
    report = report.but(session_id="", report_uri="", next_step="", next_offset=-1, warnings=warnings)
    if as_json:  # ASCII, since a pipe on Windows may have any encoding
        print(json.dumps(report.model_dump(mode="json"), indent=2))
    else:
        print(report_text(brief(report)), end="")
    references = _without_accepted(report.references, accepted)
    is_wrong = any(one.verdict in _WRONG_VERDICTS or one.status in GRAVE_STATUSES for one in references)
    is_misquoted = any(one.verdict in _WRONG_QUOTATIONS for one in report.quotations)
    if is_wrong or is_misquoted or any(_BROKEN in one.rpartition("” (")[2] for one in report.unread):
        return WRONG
    return FINE if is_complete and all(one.verdict != "outage" for one in references) else INCOMPLETE


def _without_accepted(references: Sequence[CheckedReference], accepted: Sequence[str]) -> list[CheckedReference]:
    """The references that nobody has accepted; words that occur in several, or in none, accept nothing."""
    rest = list(references)
    for name in accepted:
        words = clean_line(name).casefold()
        labeled = [one for one in references if one.label == name]
        named = labeled or [one for one in references if words in clean_line(one.written).casefold()]
        if len(named) == 1:
            rest = [one for one in rest if one is not named[0]]
        else:
            many = f"occurs in {len(named)} references" if named else "is in no reference"
            print(f'deepcritical-mcp: --accept "{name}" {many} and is ignored.', file=sys.stderr)
    return rest


async def _check(text: str, settings: Settings, read: bool) -> tuple[CitationReport, bool]:
    """The report on all parts, or those for which there was time, and whether everything was checked."""
    # No store but memory, and no folder for vectors.
    build, apart = partial(build_services, stores=STORES[-1:]), settings.model_copy(update={"data_dir": None})
    async with aclosing(AppContext(apart, build=build)) as app, _shown_progress() as progress:
        services = await app.services()
        session = await services.sessions.open()
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
    status = console.status("Starting…")

    async def report(fraction: float, message: str) -> None:
        status.update(Text(f"{fraction:4.0%} {clipped(clean_line(message), 70)}"))

    with status if console.is_terminal else nullcontext():
        yield report
