"""A whole export of a session: what a caller wants, and whether the format can do it; what is chosen of the session,
its status asked for again, in one text."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args
from weakref import WeakKeyDictionary

import anyio
import anyio.lowlevel
from anyio.to_thread import run_sync

from deepcritical_mcp.data_files import data_lines
from deepcritical_mcp.deadline import TO_RECHECK_EXPORT, seconds_for
from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.export import EXPORT_FILES, NOTES_IN, ExportFormat, with_notes, written_entries
from deepcritical_mcp.export.reference import LISTED_FIELDS, RECORD_FIELDS
from deepcritical_mcp.memory import settle
from deepcritical_mcp.models import LoggedSearch, Publication, publication_id
from deepcritical_mcp.models.screening import matches_mark
from deepcritical_mcp.search.witness import has_askable_status, named_with_days
from deepcritical_mcp.text import batches, clean_line, counted

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.store import EvidenceStore
    from deepcritical_mcp.export.bibliography import Bibliographies
    from deepcritical_mcp.search.witness import Witness

AnyFormat = Literal[ExportFormat, "bibliography", "search-log", "table", "news", "zotero"]
RECORD_FORMATS: tuple[ExportFormat, ...] = get_args(ExportFormat)
_OF_SESSION = ("search-log", "news")
"""Formats about the whole session, of which nothing can be chosen."""


_TYPES = {form: (ending, media) for form, ending, media in map(str.split, data_lines(__file__, "file_types.txt"))}
"""The ending of a file in one form, and its type."""
_MEDIA_TYPES = dict(_TYPES.values())
OUTPUTS: Mapping[AnyFormat, tuple[str, ...]] = {
    **{name: (name,) for name in RECORD_FORMATS},
    "bibliography": ("text", "markdown", "html"),
    "search-log": ("markdown", "csv", "json"),
    "table": ("csv", "markdown"),
    "news": ("markdown",),
    "zotero": ("text",),
}
"""The forms of each format, the default one first."""


@dataclass(frozen=True)
class ExportRequest:
    """A checked request.

    Attributes:
        ids: of what to export, in the session's spelling; () for all.
        style: of a bibliography, "" for the default one.
        output: one of `OUTPUTS`.
        fields: those that each record has; () for all.
        abstracts: whether abstracts and the texts of pasted documents are written.
        marked: see `matches_mark`; "" for all.
        own_styles: the folder of styles of a caller who may name files on this machine, too; None for others.
    """

    format: AnyFormat
    ids: tuple[str, ...] = ()
    style: str = ""
    output: str = ""
    fields: tuple[str, ...] = ()
    abstracts: bool = False
    marked: str = ""
    own_styles: Path | None = None

    @property
    def ends_with_report(self) -> bool:
        """Whether the report of the last check of a draft follows: Markdown of all that the session has."""
        return self.format == "markdown" and not (self.ids or self.fields or self.marked)

    @property
    def file_type(self) -> tuple[str, str]:
        """The ending of a file with this export, and its type."""
        return _TYPES[self.output]


def checked_request(request: ExportRequest) -> ExportRequest:
    """`request`, as the caller wrote it, with its defaults.

    Raises:
        InvalidInputError: the format cannot do it; the message says what fits.
    """
    format, outputs = request.format, OUTPUTS[request.format]
    request = replace(request, output=request.output.strip().lower())
    if request.output and request.output not in outputs:
        written = f'format={format} has no output "{clean_line(request.output)[:40]}"'
        helps = f"pass one of {', '.join(outputs)}" if len(outputs) > 1 else "leave output out"
        raise InvalidInputError(f"{written}: {helps}.")
    if request.style and format != "bibliography":
        raise InvalidInputError(f'style is for format="bibliography"; format={format} has none.')
    if request.abstracts and format not in (*RECORD_FORMATS, "zotero"):
        instead = ' fields=["title", "abstract"] puts them into a table.' if format == "table" else ""
        raise InvalidInputError(f"format={format} has no abstracts; {', '.join(RECORD_FORMATS)} have them.{instead}")
    if format in _OF_SESSION and (request.ids or request.marked):
        raise InvalidInputError(f"format={format} is about the whole session: leave ids and marked out.")
    fields = tuple(one.strip().lower() for one in request.fields)
    known = RECORD_FIELDS if format in RECORD_FORMATS and format != "jsonl" else ()
    if format == "table":
        known = pkgutil.resolve_name("deepcritical_mcp.export.study_table:TABLE_COLUMNS")
    known = LISTED_FIELDS if format == "markdown" else known
    if fields and not known:
        why = ", which is always complete" if format == "jsonl" else ""
        raise InvalidInputError(
            f"fields cannot be chosen for format={format}{why}. They can for bibtex, ris, csl-json, markdown and table."
        )
    if fields and request.abstracts:
        fields += ("abstract",)
    if unknown := [one for one in fields if one not in known]:
        raise InvalidInputError(f'There is no field "{clean_line(unknown[0])[:40]}". There are {", ".join(known)}.')
    return replace(request, output=request.output or outputs[0], fields=tuple(dict.fromkeys(fields)))


def media_type_of(name: str) -> str:
    """The type of a file that an export was saved in, by its name."""
    return _MEDIA_TYPES.get(f".{name.rpartition('.')[2]}", "text/plain")


NO_SEARCHES = (
    "No search was logged in this session: pubmed_search, preprint_search, trial_search and web_search write the log. "
    "If an earlier result names another session_id, pass that one."
)
_MANY = 1_000
"""Records whose export takes seconds."""
READ_AT_A_TIME = 200
"""Publications that are read, or rechecked, between two turns of other calls."""
MAX_REMARKS = 12
OF_ONE_EXPORT = 600.0
"""Seconds within which a further part belongs to the export whose first part was asked for."""


class ChosenRecords(NamedTuple):
    """What to export, the ids that the session does not have, how many notes were left out because they are not
    references, and how many items the session has in all."""

    publications: Sequence[Publication]
    missing: Sequence[str]
    notes: int
    total: int


async def chosen_records(store: EvidenceStore, request: ExportRequest) -> ChosenRecords:
    """The publications that a request selects, as its format lists them; a note on one of them is part of it."""
    everything: dict[str, Publication] = {}
    for some in batches(await store.ids(), READ_AT_A_TIME):
        everything |= await store.publications(some)
        await anyio.lowlevel.checkpoint()
    found = await store.publications(request.ids) if request.ids else everything
    wanted, listed = await run_sync(_as_listed, everything, found, request, abandon_on_cancel=True)
    missing = [one for one in request.ids if one not in found]
    return ChosenRecords(listed, missing, len(wanted) - len(listed), len(everything))


async def recheck(
    store: EvidenceStore, witness: Witness, publications: Sequence[Publication], *, is_first_part: bool = True
) -> tuple[str, ...]:
    """Ask again for the status of what is exported, within the time that a call has for it; gives remarks, and says
    which records were not reached. Those that were asked about longest ago come first. A further part of an export uses
    the answers given for the earlier parts."""
    oldest_first = sorted(publications, key=lambda one: one.status_checked)
    within, remarks, reached = 0.0 if is_first_part else OF_ONE_EXPORT, dict[str, None](), set[str]()
    with anyio.move_on_after(seconds_for(TO_RECHECK_EXPORT)):
        for some in batches([*dict.fromkeys(map(_asked_about, oldest_first))], READ_AT_A_TIME):
            asked = await witness.refresh(store, some, within=within)
            remarks |= dict.fromkeys(asked.remarks)
            reached.update(some)
            if asked.is_down:
                break
    shown = [*remarks][:MAX_REMARKS]
    if more := len(remarks) - len(shown):
        shown.append(f"And {counted(more, 'more remark')} on the status of records.")
    if left := [one for one in oldest_first if _asked_about(one) not in reached and has_askable_status(one)]:
        shown.append(
            f"The status of {named_with_days(left)} was not asked again, for lack of time or because a service failed, "
            "and may be out of date. The next export begins with these."
        )
    return tuple(shown)


def _asked_about(publication: Publication) -> str:
    """Its id; of a note, that of the paper whose status it is shown with."""
    return publication_id(publication.but(source="web")) if publication.about else publication.id


def _as_listed(
    everything: dict[str, Publication], found: dict[str, Publication], request: ExportRequest
) -> tuple[list[Publication], list[Publication]]:
    """What is wanted, and what a file of the format lists of it."""
    cited = everything if request.format == "jsonl" else with_notes(everything.values())
    chosen = {cited[one.id].id: cited[one.id] for one in found.values()}.values()
    wanted = [one for one in chosen if matches_mark(one, request.marked)]
    return wanted, [one for one in wanted if request.format in NOTES_IN or not one.is_note]


_Written = tuple[Sequence[str], tuple[str, ...]]


_WrittenOf = tuple[ExportRequest, Sequence[Publication], Sequence[LoggedSearch], str]
"""All that the text of an export depends on: also the log of searches and the session's title."""


@dataclass(frozen=True)
class WholeExport:
    """An export as it is written into a file.

    Attributes:
        chunks: the text, in order, a record each where the format has records.
        count: of records or, in a search log, of searches.
        missing: ids that the session does not have.
        left_out: how many notes are not references.
        remarks: on the status of the records and on what was written.
    """

    request: ExportRequest
    chunks: Sequence[str]
    count: int
    missing: tuple[str, ...] = ()
    left_out: int = 0
    remarks: tuple[str, ...] = ()

    @cached_property
    def size(self) -> int:
        """In characters."""
        return sum(map(len, self.chunks))

    @property
    def text(self) -> str:
        """The whole of it."""
        return "".join(self.chunks)


async def exported(
    store: EvidenceStore, request: ExportRequest, *, witness: Witness, report: str = "", offset: int = -1
) -> WholeExport:
    """What `request`, which was checked, asks for, whole; for news see `told_news`.

    Args:
        store: the session.
        request: see `checked_request`.
        witness: asks again for the status of all that is exported.
        report: on the draft, which the records are followed by.
        offset: where the part begins that is shown of it; -1 = it is needed once only.

    Raises:
        InvalidInputError: there is nothing to export, or a style is unknown or cannot be read.
        EvidenceStoreError: the session cannot be read or written.
    """
    chosen = await chosen_records(store, request)
    log = await store.search_log() if request.format == "search-log" else ()
    if request.format == "search-log" and not log:
        raise InvalidInputError(f"There is nothing to export. {NO_SEARCHES}")
    if not (log or chosen.publications or report):
        raise InvalidInputError(nothing_to_export(request, chosen))
    remarks = await recheck(store, witness, chosen.publications, is_first_part=offset <= 0)
    chosen = await chosen_records(store, request)
    last = _in_parts.get(store) if offset > 0 else None
    written_of = request, chosen.publications, log, store.title
    chunks, more = await run_sync(_written, written_of, last, abandon_on_cancel=True)
    if offset >= 0:
        _in_parts.clear()
        _in_parts[store] = written_of, (chunks, more)
    chunks = [*chunks, report] if report else chunks
    notes = 0 if log else chosen.notes
    count = len(log or chosen.publications)
    return WholeExport(request, chunks, count, tuple(chosen.missing), notes, (*remarks, *more))


def nothing_to_export(request: ExportRequest, chosen: ChosenRecords) -> str:
    """Why there is nothing to export, and what helps."""
    if not chosen.total:
        return "There is nothing to export: the session has no evidence."
    if chosen.notes:
        return (
            f"There is nothing to export as {request.format}: all that fits is {counted(chosen.notes, 'note')}, and "
            "notes are not references. format=markdown and jsonl have them."
        )
    if request.marked:
        return (
            f'There is nothing to export: no evidence here is marked "{request.marked}". add_evidence marks it, '
            "list_evidence shows how it is marked."
        )
    return "There is nothing to export: none of these ids is in the session. list_evidence shows what it has."


def notes_left_out(count: int) -> str:
    """What to say of notes that a format cannot have; "" for none."""
    if not count:
        return ""
    return f"Left out, because notes are not references: {counted(count, 'note')}. format=markdown and jsonl have them."


def _written(of: _WrittenOf, last: tuple[_WrittenOf, _Written] | None) -> _Written:
    """The text in chunks, and remarks: those of the `last` export if it was of the same. For a worker thread."""
    if last and last[0] == of:
        return last[1]
    request, publications, log, title = of
    if len(publications) >= _MANY:
        settle()
    if request.format in RECORD_FORMATS:
        entries = written_entries(publications, request.format, abstracts=request.abstracts, fields=request.fields)
        return [*EXPORT_FILES[request.format].with_pieces(entries).chunks()], ()
    if request.format == "bibliography":
        folder = request.own_styles
        made: Bibliographies = _late("bibliography:bibliography")(
            publications, request.style, request.output, styles_folder=folder, allow_paths=folder is not None
        )
        return made.pieces, made.remarks
    if request.format == "search-log":
        text: str = _late("search_log:search_log_export")(log, publications, request.output, title=title)
    else:
        text = _late("study_table:study_table")(publications, request.output, fields=request.fields)
    return text.splitlines(keepends=True), ()


_in_parts: WeakKeyDictionary[EvidenceStore, tuple[_WrittenOf, _Written]] = WeakKeyDictionary()
"""The last export that was shown in parts, of all sessions: writing thousands of records takes seconds."""


def _late(place: str) -> Any:
    """A writer whose libraries are loaded when it is first needed."""
    return pkgutil.resolve_name(f"deepcritical_mcp.export.{place}")
