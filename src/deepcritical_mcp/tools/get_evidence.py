"""The tool `get_evidence`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated

from pydantic import AfterValidator, Field

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.models import QUERY_LIMIT, UNKNOWN_DATE, Evidence, EvidenceList, Publication
from deepcritical_mcp.text import clean_line
from deepcritical_mcp.tools.call_session import CallSession, ToolContext, session_for
from deepcritical_mcp.tools.list_evidence import NOTHING_YET
from deepcritical_mcp.tools.params import SessionId, evidence_id
from deepcritical_mcp.tools.spec import ToolSpec, hints

ANSWER_LENGTH = 1_000
"""Characters quoted of each text that answers `about`."""
_DETAILS = (
    "vernacular_title book_title editors publisher_place book_years revised_date isbn bookshelf_id issn issue_date "
    "electronic_date publication_stage substances grants conflict_of_interest"
).split()
"""The fields of a record that no other answer shows."""
_PART = re.compile(r"(?P<id>.*)@(?P<start>[0-9]{1,9})-(?P<end>[0-9]{0,9})", re.DOTALL)


async def get_evidence(
    ctx: ToolContext,
    ids: Annotated[
        list[str],
        Field(min_length=1, max_length=50, description='e.g. "pubmed:12345"; "pubmed:12345@400-900": these characters'),
    ],
    about: Annotated[
        str,
        AfterValidator(clean_line),
        Field(max_length=QUERY_LIMIT, description="quote only the sentences that answer this"),
    ] = "",
    offset: Annotated[int, Field(ge=0, description="characters to skip of a text too long for one answer")] = 0,
    session_id: SessionId = "",
) -> EvidenceList:
    """Whole texts of evidence in the session, by id; or, with `about`, verbatim quotations from them."""
    session = await session_for(ctx, session_id, may_open=False)
    parts = list(dict.fromkeys(_part(text.strip(), offset) for text in ids))
    wanted = list(dict.fromkeys(id for id, _, _ in parts))
    if about:
        found, lacking = await session.store.answers(about, wanted, ANSWER_LENGTH)
        silent = [id for id, item in found.items() if not item.content]
        nothing = (
            f"No sentence matched in {', '.join(silent)}; it may use other words: read the whole text, without about."
            if silent
            else ""
        )
        absent = (f"{id} does not contain {', '.join(sorted(terms))}." for id, terms in lacking.items() if terms)
        quotations = [item.model_copy(update={"notes": ()}) for item in found.values() if item.content]
        step = " ".join(filter(None, (*absent, nothing)))
        listed = await _listed(session, quotations, [id for id in wanted if id not in found], step)
        return listed.model_copy(update={"warnings": session.store.warnings})
    found = await session.store.get(wanted)
    records = await session.store.publications(wanted)
    found = {id: item.model_copy(update={"details": _details(records[id], item.id)}) for id, item in found.items()}
    held = [(found[id], start, end) for id, start, end in parts if id in found]
    items = [_between(item, start, end) if start or end is not None else item for item, start, end in held]
    listed = await _listed(session, items, [id for id in wanted if id not in found])
    return listed.model_copy(update={"offset": offset, "starts": tuple(start for _, start, _ in held)})


def _part(text: str, offset: int) -> tuple[str, int, int | None]:
    """The id, start and end in "pubmed:1@400-900" or "pubmed:1@400-"; without them, the text from `offset` on."""
    if part := _PART.fullmatch(text):
        return evidence_id(part["id"]), int(part["start"]), int(part["end"]) if part["end"] else None
    return evidence_id(text), offset, None


def _between(item: Evidence, start: int, end: int | None) -> Evidence:
    """Part of the content, without the notes and details, which were shown with its beginning."""
    length = len(item.content)
    if start >= length:
        raise InvalidInputError(f"{item.id} has {length:,} characters; nothing follows character {start:,}.")
    if end is not None and end <= start:
        raise InvalidInputError(f"{item.id}@{start}-{end}: the end must be greater than the start.")
    return item.model_copy(update={"content": item.content[start:end], "notes": (), "details": ()})


def _details(record: Publication, shown: str) -> tuple[str, ...]:
    """What a record says beyond its citation and the text `shown`, a line each: "Editors: Berg Jan; Ruiz Karla"."""
    values = {name: getattr(record, name) for name in _DETAILS}
    texts = {name: value if isinstance(value, str) else "; ".join(map(str, value)) for name, value in values.items()}
    labels = {name: name.upper() if len(name) == 4 else name.replace("_", " ").capitalize() for name in _DETAILS}
    others = [text for text in record.texts if text.kind != "note" and record.id_of(text) != shown]
    return (
        *(f"{labels[name]}: {text}" for name, text in texts.items() if text not in ("", UNKNOWN_DATE)),
        *(
            f'Another text, {text.kind} ({len(text.content):,} characters): get_evidence ids=["{record.id_of(text)}"]'
            for text in others
        ),
    )


async def _listed(
    session: CallSession, items: Sequence[Evidence], missing: Sequence[str], step: str = ""
) -> EvidenceList:
    evidence, queries = await session.with_queries(items)
    lost = "The missing ids are not in this session: search for it again, or look for its id with list_evidence."
    if not await session.store.count():
        lost = NOTHING_YET
    return EvidenceList(
        session_id=session.store.session_id,
        evidence=evidence,
        queries=queries,
        missing=tuple(missing),
        next_step=session.next_step(step, lost if missing else ""),
    )


TOOL = ToolSpec(get_evidence, "Get evidence", EvidenceList, hints(read_only=True))
