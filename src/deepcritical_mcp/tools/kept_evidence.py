"""The tools that show what a session has: `list_evidence` and `get_evidence`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from pydantic import Field

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.evidence.passage_quotes import TextPlace, excerpt, no_such_part
from deepcritical_mcp.evidence.storage.stored_items import CITED
from deepcritical_mcp.models import (
    NO_ABSTRACT,
    NOT_OWN,
    UNKNOWN_DATE,
    CitationSource,
    Evidence,
    EvidenceList,
    EvidencePage,
    EvidenceSummary,
    Publication,
    PublicationStatus,
    Text,
    asked_on,
    decision_of,
    matches_mark,
    section_of,
    split_text_id,
)
from deepcritical_mcp.models.screening import MARKS, NOT_RANKED
from deepcritical_mcp.text import counted
from deepcritical_mcp.tools.answers.sections import ABSTRACT
from deepcritical_mcp.tools.arguments.call_session import CallSession, ToolContext, application, session_for
from deepcritical_mcp.tools.arguments.params import (
    MAX_IDS_READ,
    GivenId,
    Marked,
    Offset,
    OneLine,
    OtherSession,
    StatusFilter,
    evidence_id,
    split_place,
)
from deepcritical_mcp.tools.spec import LISTED_AS, ToolSpec

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.store import EvidenceStore
    from deepcritical_mcp.screening.queue import ScreeningQueue

Papers = Sequence[Publication]
WHAT_TO_DO = "For complete texts call get_evidence; for a reference manager's file, export_evidence."
WHAT_TO_SCREEN = (
    "Read these with get_evidence, mark them with add_evidence items=[{ids, decision}], and ask again from offset 0: "
    "the order is learned anew, and what was decided is no longer in it."
)


async def list_evidence(
    ctx: ToolContext,
    max_results: Annotated[int, Field(ge=1, le=100)] = 20,
    offset: Offset = 0,
    status: Annotated[StatusFilter, Field(json_schema_extra={LISTED_AS: "as in semantic_search"})] = "any",
    marked: Annotated[Marked, Field(description='"included", "excluded", "cited", "undecided" or a tag')] = "",
    sort: Annotated[Literal["arrival", "likely"], Field(description="likely = screen next")] = "arrival",
    session_id: OtherSession = "",
) -> EvidencePage:
    """List (show) all that was found and saved in this session, an overview: ids, titles, how many studies of
    each source, included, decision."""
    session = await session_for(ctx, session_id, may_open=False)
    services = await application(ctx).services()
    queue = await services.screening.of(session.store) if sort == "likely" else None
    witness = services.witness.title
    page = await page_of(session.store, offset, max_results, status=status, marked=marked, witness=witness, queue=queue)
    return page.but(next_step=session.next_step("" if session.is_empty else page.next_step))


async def page_of(
    store: EvidenceStore,
    offset: int,
    limit: int,
    *,
    status: StatusFilter = "any",
    marked: str = "",
    witness: str = "",
    queue: ScreeningQueue | None = None,
) -> EvidencePage:
    """At most `limit` lines of a session's evidence of one status and mark from `offset` on, with the session's
    numbers. `witness` is whom an export asks about retractions. With a `queue`, its records come first, in its
    order."""
    everything = [*(await store.publications(await store.ids())).values()]
    if queue:
        places = {id: place for place, id in enumerate(queue.ids)}
        everything.sort(key=lambda one: places.get(one.id, len(places)))
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
    lost = queue.warnings if queue else ()
    to_screen = queue and any(matches_mark(one, "undecided") for one in items)
    summaries = tuple(_summary(one, queue) for one in items)
    days = {one.status_checked for one in summaries if one.status_checked and one.source != "user"}
    return EvidencePage(
        session_id=store.session_id,
        screening=queue.state if queue else NOT_RANKED,
        total=len(everything),
        sources=dict(sources.most_common()),
        matching=len(matching),
        statuses=dict(statuses.most_common()),
        marks=dict([*sorted(decisions.items(), key=lambda row: MARKS.index(row[0])), *tags.most_common()]),
        items=summaries if len(days) > 1 else tuple(one.but(status_checked="") for one in summaries),
        asked=f"{asked_on(*days).capitalize()}." if days else "",
        next_offset=following if following < len(matching) else -1,
        warnings=(*no_such_mark(marked, everything), *store.warnings(()), *beyond, *never, *lost),
        next_step=WHAT_TO_SCREEN if to_screen else _next_step(everything, selected, matching, status, witness),
    )


def _own_status(item: Publication) -> PublicationStatus:
    """Its status; nobody is asked about a note, which is shown with that of its paper."""
    return "unchecked" if item.source == "user" else item.status


def _next_step(everything: Papers, selected: Papers, matching: Papers, status: str, witness: str) -> str:
    """What to do next; where nothing has this status, who said so and when, and whom an export also asks."""
    if not everything:
        return "This session has no evidence yet."
    if not selected:
        return "Leave marked out to list everything."
    if matching:
        return WHAT_TO_DO
    days = [item.status_checked for item in selected if item.status_checked]
    unknown = len(selected) - len(days)
    checked = f" That is what the records of their own sources said on {min(days)} or later." if days else ""
    asks = f" export_evidence also asks {witness}, the second witness of retractions." if witness else ""
    never = f" The status of {counted(unknown, 'item')} was never checked." if unknown else ""
    return f'No evidence here has the status "{status}".{checked}{asks}{never}'


def no_such_mark(marked: str, everything: Collection[Publication]) -> tuple[str, ...]:
    """That nothing of all this has the mark, and which marks there are; () if something has it, or there is nothing."""
    if not everything or any(matches_mark(item, marked) for item in everything):
        return ()
    decisions = {item.screening for item in everything}
    tags = dict.fromkeys(tag for item in everything for tag in item.tags)
    marks = [*(mark for mark in MARKS if mark in decisions), *tags]
    known = f"The marks here are: {', '.join(marks)}." if marks else ""
    advice = known or "Nothing is marked: add_evidence marks items by id."
    return (f'No evidence here is marked "{marked}". {advice}',)


def _summary(item: Publication, queue: ScreeningQueue | None) -> EvidenceSummary:
    read = next((item.id_of(one) for one in item.texts if one.kind == "full_text"), "")
    own = EvidenceSummary.model_fields.keys() - {"full_text", "decision", "year", "why"}
    known: dict[str, Any] = {name: getattr(item, name) for name in own}
    year = int(item.date[:4]) if item.date[:1].isdigit() else 0
    why = queue.why(item.id) if queue and not item.screening else ""
    return EvidenceSummary(**known, year=year, full_text=read, decision=decision_of(item), why=why)


LIST_EVIDENCE = ToolSpec(list_evidence, "List the session's evidence", "📋", read_only=True, on_board=True)


ANSWER_LENGTH = 1_000
"""Characters quoted of each text that answers `about`."""
MAX_DECISIONS_SHOWN = 10
_DETAILS = (
    "vernacular_title book_title editors publisher_place book_years revised_date isbn bookshelf_id issn issue_date "
    "electronic_date publication_stage mesh_terms keywords substances grants conflict_of_interest preprint_number"
).split()
"""The fields of a record that no other answer shows."""


async def get_evidence(
    ctx: ToolContext,
    ids: Annotated[
        list[GivenId],
        Field(min_length=1, max_length=MAX_IDS_READ, description='e.g. "pubmed:12345"; "pubmed:1~2@s3.2": a section'),
    ],
    about: Annotated[OneLine, Field(description="a question")] = "",
    offset: Annotated[int, Field(ge=0)] = 0,
    session_id: OtherSession = "",
) -> EvidenceList:
    """Show evidence saved in this session whole, by id: abstract, details of the record (MeSH terms), your notes; or,
    with `about`, verbatim quotations."""
    session = await session_for(ctx, session_id, may_open=False)
    store = session.store
    parts = list(dict.fromkeys([await _part(text, offset, store) for text in ids]))
    texts = {part.id: held[1] for part in parts if (held := await store.text(part.id))}
    problems = {part: told for part in parts if part.id in texts and (told := _problem(part, texts[part.id]))}
    if len(problems) == len(parts):
        raise InvalidInputError(" ".join(problems.values()))
    wrong = [part.name for part in problems]
    parts = [part for part in parts if part not in problems]
    if about:
        places = list(dict.fromkeys(TextPlace(part.id, part.anchor) for part in parts))
        answers, lacking = await store.answers(about, places, ANSWER_LENGTH)
        silent = ", ".join(f"{id}@{anchor}" if anchor else id for (id, anchor), items in answers.items() if not items)
        nothing = f"No sentence matched in {silent}; it may use other words: read the whole text, without about."
        absent = (f"{id} does not contain {', '.join(sorted(terms))}." for id, terms in lacking.items() if terms)
        quotations = [item.but(notes=()) for items in answers.values() for item in items]
        lost = [place.id for place in places if place not in answers]
        listed = await _listed(session, quotations, lost, wrong, *problems.values(), *absent, nothing if silent else "")
        return listed.but(warnings=store.warnings({split_text_id(place.id)[0] for place in places}))
    wanted = list(dict.fromkeys(part.id for part in parts))
    found = await store.get(wanted)
    records = await store.publications(wanted)
    found = {id: item.but(details=_details(records[id], item.id)) for id, item in found.items()}
    held = [_read(found[part.id], part, texts[part.id]) for part in parts if part.id in found and part.id in texts]
    lost = [id for id in wanted if id not in found]
    listed = await _listed(session, [item for item, _ in held], lost, wrong, *problems.values())
    return listed.but(offset=offset, starts=tuple(start for _, start in held))


class _Part(NamedTuple):
    """What is asked for of a text: its characters from `start` up to `end`, of all of it or what `anchor` leads to."""

    id: str
    start: int = 0
    end: int | None = None
    anchor: str = ""

    @property
    def name(self) -> str:
        """How it was asked for."""
        if self.anchor:
            return f"{self.id}@{self.anchor}"
        return self.id if self.end is None else f"{self.id}@{self.start}-{self.end}"


async def _part(given: str, offset: int, store: EvidenceStore) -> _Part:
    """The part that "pubmed:1@400-900", "pubmed:1@400-" or "pubmed:1~2@s3.2" means; without any of these, the text from
    `offset` on.

    An anchor is one of the abstract, or of the publication's only text with parts if that was asked for under another
    id.
    """
    id, place = split_place(given)
    id = evidence_id(id)
    if place[:1].isdigit():
        start, _, end = place.partition("-")
        return _Part(id, int(start), int(end) if end else None)
    found = await store.text(id) if place else None
    if found is None:
        return _Part(id, offset, anchor=place)
    publication, text = found
    abstracts = [one for one in publication.texts if one.kind == "abstract" and not one.is_users]
    if place == ABSTRACT and abstracts and abstracts[0].content != NO_ABSTRACT:
        return _Part(f"{publication.id}~{publication.texts.index(abstracts[0]) + 1}", offset)
    with_parts = [one for one in publication.texts if one.parts]
    is_elsewhere = not text.parts and len(with_parts) == 1
    return _Part(publication.id_of(with_parts[0]) if is_elsewhere else id, offset, anchor=place)


def _problem(part: _Part, text: Text) -> str:
    """Why there is nothing to read at `part` of a text of the session; "" if there is something."""
    read = excerpt(text, part.anchor) if part.anchor else None
    if part.anchor and read is None:
        return no_such_part(part.id, text, part.anchor)
    length = len(read[1] if read else text.content)
    if part.start and part.start >= length:
        return f"{part.id} has {length:,} characters; nothing follows character {part.start:,}."
    if part.end is not None and part.end <= part.start:
        return f"{part.id}@{part.start}-{part.end}: the end must be greater than the start."
    return ""


def _read(item: Evidence, part: _Part, text: Text) -> tuple[Evidence, int]:
    """What `part` says of `item`, and where it begins in the whole text."""
    if part.anchor and (read := excerpt(text, part.anchor)):
        where, content, start = read
        placed = {"section": section_of(where), "anchor": part.anchor, "notes": (), "details": _licence(text)}
        whole = item.but(content=content, **placed)
        return _between(whole, part.start, None) if part.start else whole, start + part.start
    # The content ends with the paper's own text; from there on, its section says whose it is.
    own, start = next((one.start for one in text.parts if one.kind == "sub_article"), len(item.content)), part.start
    if start >= own and own < len(item.content):
        item = item.but(section=section_of([one for one in text.parts if one.start <= start][-1]))
    elif own < len(item.content):
        rest = f'{NOT_OWN}: what follows character {own:,}; get_evidence ids=["{item.id}@{own}-"].'
        item = item.but(content=item.content[:own].rstrip(), details=(*item.details, rest))
    return _between(item, start, part.end) if start or part.end is not None else item, start


def _between(item: Evidence, start: int, end: int | None) -> Evidence:
    """Part of the content, without the notes and details, which were shown with its beginning."""
    return item.but(content=item.content[start:end], notes=(), details=())


def _details(record: Publication, shown: str) -> tuple[str, ...]:
    """What a record says beyond its citation and the text `shown`, a line each: "Editors: Berg Jan; Ruiz Karla"."""
    values = {name: getattr(record, name) for name in _DETAILS}
    texts = {name: value if isinstance(value, str) else "; ".join(map(str, value)) for name, value in values.items()}
    labels = {name: name.upper() if len(name) == 4 else name.replace("_", " ").capitalize() for name in _DETAILS}
    labels["mesh_terms"] = "MeSH terms"
    others = [text for text in record.texts if text.kind != "note" and record.id_of(text) != shown]
    licence = next((_licence(text) for text in record.texts if record.id_of(text) == shown), ())
    return (
        *licence,
        *(f"Decided {one}" for one in record.history[-MAX_DECISIONS_SHOWN:]),
        *(f"{labels[name]}: {text}" for name, text in texts.items() if text not in ("", UNKNOWN_DATE)),
        *(
            f'Another text, {text.kind} ({len(text.content):,} characters): get_evidence ids=["{record.id_of(text)}"]'
            for text in others
        ),
    )


def _licence(text: Text) -> tuple[str, ...]:
    """What a text may be used for, as a line; of one that was read whole, also that this is unknown."""
    if text.is_users or not (text.licence or text.kind == "full_text"):
        return ()
    return (f"Licence: {text.licence or 'unknown'}",)


async def _listed(
    session: CallSession, items: Sequence[Evidence], missing: Sequence[str], wrong: Sequence[str], *steps: str
) -> EvidenceList:
    evidence, queries = (await session.query_numbers())(items)
    cited = [id for id in missing if await session.store.document(f"{CITED}{split_text_id(id)[0]}")]
    beside = f"Cited by the draft that was checked, but not evidence: {', '.join(cited)}."
    beside += " add_evidence takes papers over."
    missing = [id for id in missing if id not in cited]
    lost = "The missing ids are not in this session: search for it again, or look for its id with list_evidence."
    return EvidenceList(
        session_id=session.store.session_id,
        evidence=evidence,
        queries=queries,
        missing=(*cited, *missing, *wrong),
        next_step=session.next_step(*steps, beside if cited else "", lost if missing and not session.is_empty else ""),
    )


GET_EVIDENCE = ToolSpec(get_evidence, "Get evidence", "📖", read_only=True)
