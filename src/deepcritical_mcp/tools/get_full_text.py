"""The tool `get_full_text`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from deepcritical_mcp.errors import EvidenceStoreError, InvalidInputError, SessionError
from deepcritical_mcp.evidence.passage_quotes import NEAREST_SHOWN, PassagePage, nothing_close
from deepcritical_mcp.models import (
    NO_ABSTRACT,
    Citation,
    Document,
    DocumentPassage,
    OutlineEntry,
    Publication,
    split_paragraph_anchor,
    split_text_id,
)
from deepcritical_mcp.search.documents import DocumentId, FoundText
from deepcritical_mcp.text import clean_text, counted
from deepcritical_mcp.tools.answers.render import to_markdown
from deepcritical_mcp.tools.answers.sections import (
    ABSTRACT,
    ALL,
    OUTLINE,
    Piece,
    outline_of,
    own_pieces,
    passages_from,
    pieces_of,
    selected,
    shortened_outline,
    sub_articles,
    tables_of,
)
from deepcritical_mcp.tools.arguments.call_session import (
    CallSession,
    ToolContext,
    application,
    progress_of,
    session_for,
)
from deepcritical_mcp.tools.arguments.params import (
    Characters,
    GivenId,
    Offset,
    OneLine,
    OtherSession,
    read_document_id,
    sentences,
)
from deepcritical_mcp.tools.spec import asking_tool

MAX_ID_LENGTH = 2_000
SHORT_TEXT = 6_000
"""Characters: a text of no more is given whole at once."""
MAX_OUTLINE = 60
"""Parts listed in a first answer; of more, only the outer ones are."""

Pieces = Sequence[Piece]
Passages = Sequence[DocumentPassage]


async def get_full_text(
    ctx: ToolContext,
    id: Annotated[str, Field(max_length=MAX_ID_LENGTH, description="PMID, PMCID, DOI, NCT, URL or evidence id")],
    question: OneLine = "",
    sections: Annotated[
        list[GivenId], Field(max_length=50, description='"Methods", "s3"; ["all"] = the whole text')
    ] = [],  # noqa: B006  # pydantic copies it
    offset: Offset = 0,
    characters: Characters = 3_000,
    session_id: OtherSession = "",
) -> Document:
    """Read (get, download) the full text of a whole article or paper (open access, PMC, PDF), web page or trial
    record: the outline, what it says on a question, a section (methods, results) or tables."""
    document, anchor = read_document_id(id)
    names = [one for one in (*map(clean_text, sections), *([anchor] if anchor and not sections else [])) if one]
    session = await session_for(ctx, session_id, about=question)
    reader = (await application(ctx).services()).full_texts
    found = await reader.read(document, session.store, progress=progress_of(ctx))
    answer = _DocumentAnswer(document, found, session, application(ctx).settings.max_result_chars)
    return await answer.document(question, names, PassagePage(characters, offset=offset))


class _DocumentAnswer:
    """One call's answer, from what was found."""

    def __init__(self, asked: DocumentId, found: FoundText, session: CallSession, limit: int) -> None:
        self._asked, self._found, self._session, self._limit = asked, found, session, limit
        self._pieces = _pieces(found)
        self._id = found.id or asked.evidence or asked.name

    async def document(self, question: str, names: Sequence[str], page: PassagePage) -> Document:
        """The outline, the passages, or the sections that were asked for."""
        head, offset = self._head(), page.offset
        if self._found.text is None:
            step = sentences("with_abstract" if self._pieces else "without_abstract").get(self._found.status, "")
            if any(one.status == "failed" for one in self._found.attempts):
                step = f"Ask again in a minute: not every provider answered. {step}"
            return self._in_order(head, self._pieces, [ABSTRACT], offset, step)
        if [one.casefold() for one in names] == [OUTLINE]:
            step = self._session.next_step(self._first_step(shortened_outline(self._pieces, MAX_OUTLINE)))
            return self._outlined(head.but(next_step=step), outline_of(self._pieces), offset)
        chosen, remarks = selected(self._pieces, names) if names else ([], [])
        head = head.but(warnings=(*head.warnings, *remarks))
        if question:
            passages, following, problem = await self._best(head, question, chosen, page)
            if passages:
                head = head.but(next_offset=following, offset=offset)
                return self._answered(head, question, names, passages)
            if offset:
                raise InvalidInputError(f"offset: no passage follows the first {offset:,}. offset=0 begins again.")
            head = head.but(warnings=(*head.warnings, problem))
        if not names:
            shown = shortened_outline(self._pieces, MAX_OUTLINE)
            left, lists = sum(one.kind != "table" for one in self._pieces) - len(shown), f'sections=["{OUTLINE}"]'
            note = f"The outline leaves out {left} inner parts, counted with what they are in: {lists} lists all."
            warnings = (*head.warnings, *([note] if left else []))
            head = self._outlined(head.but(warnings=warnings), shown)
        own = own_pieces(self._pieces)
        if not chosen and (offset or sum(len(one.text) for one in own) <= SHORT_TEXT):
            chosen, names = own, [ALL]
        if chosen:
            others = "" if any(one.kind == "sub_article" for one in chosen) else sub_articles(self._pieces)
            return self._in_order(head, chosen, names, offset, self._quoting(_first_anchor(chosen)), others)
        return head.but(next_step=self._session.next_step(self._first_step(head.outline)))

    def _head(self) -> Document:
        found, text = self._found, self._found.text
        # Nobody must cite what nobody knows: it has a heading only.
        title, ids = f"[Unknown: {self._asked.name}]", self._asked.ids._asdict()
        page = Publication.of("page", NO_ABSTRACT, provider="", source="web", title=title, url=self._asked.url, **ids)
        unknown = Citation.of(page).but(reference="")
        return Document(
            session_id=self._session.store.session_id,
            id=found.id,
            kind=text.kind if text else found.publication.text.kind if found.publication else "page",
            citation=Citation.of(found.publication) if found.publication else unknown,
            provider=text.provider if text else "",
            licence=text.licence if text else "",
            url=text.url if text else "",
            status=found.status,
            attempts=found.attempts,
            errors=found.errors,
            warnings=found.warnings,
            call=self._call(),
        )

    def _outlined(self, head: Document, outline: Sequence[OutlineEntry], offset: int = 0) -> Document:
        if offset >= len(outline) > 0:
            told = f"offset: the outline has {len(outline)} entries; offset {offset:,} is past the end."
            raise InvalidInputError(told)
        return head.but(
            outline=tuple(outline[offset:]),
            tables=() if offset else tables_of(self._pieces),
            offset=offset,
            characters=len(outline),
            call=self._call(sections=[OUTLINE]),
        )

    def _in_order(self, head: Document, pieces: Pieces, names: Sequence[str], offset: int, *steps: str) -> Document:
        """The text of the parts from `offset` on."""
        total = sum(len(one.text) for one in pieces)
        if offset and offset >= total:
            raise InvalidInputError(
                f"offset: what was asked for has {total:,} characters; nothing follows character {offset:,}. "
                "offset=0 begins again."
            )
        return head.but(
            form="text",
            passages=tuple(passages_from(pieces, offset, self._limit)),
            offset=offset,
            characters=total,
            call=self._call(sections=names),
            next_step=self._session.next_step(*steps),
        )

    def _answered(self, head: Document, question: str, names: Sequence[str], passages: Passages) -> Document:
        close = head.offset > 0 or any(one.is_close for one in passages)  # of later ones, earlier ones were
        passages = passages if close else passages[:NEAREST_SHOWN]
        nearby = f'Context: sections=["{split_paragraph_anchor(passages[0].anchor)[0]}"].'
        all_parts = "" if names or head.offset else f'Outline, tables and licence: sections=["{OUTLINE}"].'
        call, following = self._call(question=question, sections=names), head.next_offset if close else -1
        more = f"The next best passages: {call} offset={following}." if following >= 0 else ""
        return head.but(
            **self._with_passages(head, passages, *([] if close else [nothing_close("text", "passages")])),
            next_offset=following,
            call=call,
            next_step=self._session.next_step(more, nearby, all_parts, self._quoting(passages[0].anchor)),
        )

    def _with_passages(self, head: Document, passages: Passages, *notes: str) -> dict[str, object]:
        """What such an answer has besides what comes next: neither outline nor licence, which the outline tells."""
        own = (split_text_id(self._found.id)[0],)
        warnings = (*notes, *head.warnings, *self._session.store.warnings(own))
        return {"form": "passages", "passages": tuple(passages), "licence": "", "warnings": warnings}

    async def _best(self, head: Document, asked: str, chosen: Pieces, page: PassagePage) -> tuple[Passages, int, str]:
        """The passages that answer best, in the chosen parts if there are any, and the offset of the next ones; or why
        there are none."""
        if not self._found.id:
            return (), -1, "Passages cannot be ranked, because the text was not kept: read its sections."

        def wanted(anchor: str) -> bool:
            return not chosen or any(_overlap(anchor, piece.anchor) for piece in chosen)

        def length(passages: Passages) -> int:
            return len(to_markdown(head.but(**self._with_passages(head, passages))))

        page = page._replace(length=length, wanted=wanted)
        try:
            passages, following = await self._session.store.best_passages(self._found.id, asked, page)
        except (SessionError, EvidenceStoreError) as error:
            return (), -1, f"Passages could not be ranked: {error.message}"
        where = "these sections" if chosen else "this text"
        return passages, following, f"No passage in {where} is close to the question."

    def _call(self, **arguments: object) -> str:
        given = [("id", self._id), *((name, value) for name, value in arguments.items() if value)]
        return " ".join(["get_full_text", *(f"{name}={json.dumps(one, ensure_ascii=False)}" for name, one in given)])

    def _first_step(self, outline: Sequence[OutlineEntry]) -> str:
        shown = {one.anchor for one in outline} - {ABSTRACT}
        outer = [one for one in self._pieces if one.text and one.kind == "section" and one.anchor in shown]
        example = outer[len(outer) // 2].anchor if outer else ALL
        size = counted(sum(len(one.text) for one in own_pieces(self._pieces)), "character")
        step = (
            f'{self._call()} with question="…" for the passages that answer it, or sections=["{example}"] to '
            f'read (titles work too); sections=["{ALL}"] is the whole text, {size}.'
        )
        return " ".join(filter(None, (step, sub_articles(self._pieces))))

    def _quoting(self, anchor: str) -> str:
        if not (self._found.id and anchor):
            return ""
        return f'To quote exactly, e.g. get_evidence ids=["{self._found.id}@{anchor}"].'


def _overlap(anchor: str, other: str) -> bool:
    """Whether two anchors, each of a part or of paragraphs in it, have a paragraph in common."""
    one, two = split_paragraph_anchor(anchor), split_paragraph_anchor(other)
    together = not (one.first and two.first) or (one.first <= two.last and two.first <= one.last)
    return one.part == two.part and together


def _first_anchor(pieces: Pieces) -> str:
    """The anchor of the first paragraph of these parts that can be quoted by one."""
    first = next((one.anchor for one in pieces if one.text and one.anchor != ABSTRACT), "")
    return first if not first or split_paragraph_anchor(first)[1] else f"{first}p1"


def _pieces(found: FoundText) -> list[Piece]:
    """The parts of the text; without one, the abstract or what else the record says."""
    if found.publication and found.text:
        return pieces_of(found.publication, found.text)
    own = [one.content for one in found.publication.texts if not one.is_users] if found.publication else []
    return [Piece(ABSTRACT, ("Abstract",), one) for one in own[:1] if one != NO_ABSTRACT]


IF_LATE = "What was found is kept. Try again: a text that the session has is answered without asking anybody."
TOOL = asking_tool(get_full_text, "Read the full text", "📄", if_late=IF_LATE)
