"""The tool `get_full_text`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field

from deepcritical_mcp.errors import EvidenceStoreError, InvalidInputError, SessionError
from deepcritical_mcp.evidence.passage_quotes import PassagePage
from deepcritical_mcp.models import (
    NO_ABSTRACT,
    Citation,
    Document,
    DocumentPassage,
    DocumentStatus,
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
from deepcritical_mcp.tools.arguments.params import Characters, GivenId, OneLine, OtherSession, read_document_id
from deepcritical_mcp.tools.spec import ToolSpec, hints

MAX_ID_LENGTH = 2_000
SHORT_TEXT = 6_000
"""Characters: a text of no more is given whole at once."""
NEAREST_SHOWN = 3
"""Passages shown for a question of a text that has nothing close to it."""
NOTHING_CLOSE = (
    "Nothing in this text is close to the question. What is shown is only the nearest passages, not an answer."
)
MAX_OUTLINE = 60
"""Parts listed in a first answer; of more, only the outer ones are."""

_FREE = "The text is not free to read here:"
_ASK_USER = "ask the user for the document and keep it with add_evidence."
_FIND = "Check the number, or find the paper by its title: pubmed_search."
_NOT_READ: Mapping[DocumentStatus, tuple[str, str]] = {
    "full_text": ("", ""),
    "abstract_only": ("Cite what the abstract says as the abstract's.", f"There is no abstract either: {_ASK_USER}"),
    "not_allowed": (f"{_FREE} cite the abstract, or {_ASK_USER}", f"{_FREE} {_ASK_USER}"),
    "not_found": (_FIND, _FIND),
    "no_text": (
        "Look for another copy with web_search, or cite the abstract.",
        "Look for another copy with web_search, or ask the user for the document.",
    ),
}
"""What to do where there is an abstract, and where there is none."""


async def get_full_text(
    ctx: ToolContext,
    id: Annotated[str, Field(max_length=MAX_ID_LENGTH, description="PMID, PMCID, DOI, NCT number, URL or evidence id")],
    question: Annotated[OneLine, Field(description="shows what answers it")] = "",
    sections: Annotated[
        list[GivenId], Field(max_length=50, description='of the outline: "Methods", "s3"; ["all"] = the whole text')
    ] = [],  # noqa: B006  # pydantic copies it
    offset: Annotated[int, Field(ge=0)] = 0,
    characters: Characters = 3_000,
    session_id: OtherSession = "",
) -> Document:
    """Read (get, download) the full text of a whole article or paper (open access, PMC, PDF), web page or trial
    record: first the outline; then ask what this paper says on a question, or read a section (methods, results) and
    tables."""
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
            step = _NOT_READ[self._found.status][not self._pieces]
            if any(one.status == "failed" for one in self._found.attempts):
                step = f"Ask again in a minute: not every provider answered. {step}"
            return self._in_order(head, self._pieces, [ABSTRACT], offset, step)
        if [one.casefold() for one in names] == [OUTLINE]:
            step = self._session.next_step(self._first_step(shortened_outline(self._pieces, MAX_OUTLINE)))
            return self._outlined(head.model_copy(update={"next_step": step}), outline_of(self._pieces), offset)
        chosen, remarks = selected(self._pieces, names) if names else ([], [])
        head = head.model_copy(update={"warnings": (*head.warnings, *remarks)})
        if question:
            passages, following, problem = await self._best(head, question, chosen, page)
            if passages:
                head = head.model_copy(update={"next_offset": following, "offset": offset})
                return self._answered(head, question, names, passages)
            if offset:
                raise InvalidInputError(f"offset: no passage follows the first {offset:,}. offset=0 begins again.")
            head = head.model_copy(update={"warnings": (*head.warnings, problem)})
        if not names:
            shown = shortened_outline(self._pieces, MAX_OUTLINE)
            left, lists = sum(one.kind != "table" for one in self._pieces) - len(shown), f'sections=["{OUTLINE}"]'
            note = f"The outline leaves out {left} inner parts, counted with what they are in: {lists} lists all."
            warnings = (*head.warnings, *([note] if left else []))
            head = self._outlined(head.model_copy(update={"warnings": warnings}), shown)
        own = own_pieces(self._pieces)
        if not chosen and (offset or sum(len(one.text) for one in own) <= SHORT_TEXT):
            chosen, names = own, [ALL]
        if chosen:
            others = "" if any(one.kind == "sub_article" for one in chosen) else sub_articles(self._pieces)
            return self._in_order(head, chosen, names, offset, self._quoting(_first_anchor(chosen)), others)
        return head.model_copy(update={"next_step": self._session.next_step(self._first_step(head.outline))})

    def _head(self) -> Document:
        found, text = self._found, self._found.text
        # Nobody must cite what nobody knows: it has a heading only.
        title, ids = f"[Unknown: {self._asked.name}]", self._asked.ids._asdict()
        page = Publication.of("page", NO_ABSTRACT, provider="", source="web", title=title, url=self._asked.url, **ids)
        unknown = Citation.of(page).model_copy(update={"reference": ""})
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
        return head.model_copy(
            update={
                "outline": tuple(outline[offset:]),
                "tables": () if offset else tables_of(self._pieces),
                "offset": offset,
                "characters": len(outline),
                "call": self._call(sections=[OUTLINE]),
            }
        )

    def _in_order(
        self, head: Document, pieces: Sequence[Piece], names: Sequence[str], offset: int, *steps: str
    ) -> Document:
        """The text of the parts from `offset` on."""
        total = sum(len(one.text) for one in pieces)
        if offset and offset >= total:
            raise InvalidInputError(
                f"offset: what was asked for has {total:,} characters; nothing follows character {offset:,}. "
                "offset=0 begins again."
            )
        return head.model_copy(
            update={
                "form": "text",
                "passages": tuple(passages_from(pieces, offset, self._limit)),
                "offset": offset,
                "characters": total,
                "call": self._call(sections=names),
                "next_step": self._session.next_step(*steps),
            }
        )

    def _answered(
        self, head: Document, question: str, names: Sequence[str], passages: Sequence[DocumentPassage]
    ) -> Document:
        close = head.offset > 0 or any(one.is_close for one in passages)  # of later ones, earlier ones were
        passages = passages if close else passages[:NEAREST_SHOWN]
        nearby = f'Context: sections=["{split_paragraph_anchor(passages[0].anchor)[0]}"].'
        all_parts = "" if names or head.offset else f'Outline, tables and licence: sections=["{OUTLINE}"].'
        call, following = self._call(question=question, sections=names), head.next_offset if close else -1
        more = f"The next best passages: {call} offset={following}." if following >= 0 else ""
        return head.model_copy(
            update={
                **self._with_passages(head, passages, *(() if close else (NOTHING_CLOSE,))),
                "next_offset": following,
                "call": call,
                "next_step": self._session.next_step(more, nearby, all_parts, self._quoting(passages[0].anchor)),
            }
        )

    def _with_passages(self, head: Document, passages: Sequence[DocumentPassage], *notes: str) -> dict[str, object]:
        """What such an answer has besides what comes next: neither outline nor licence, which the outline tells."""
        own = (split_text_id(self._found.id)[0],)
        warnings = (*notes, *head.warnings, *self._session.store.warnings(own))
        return {"form": "passages", "passages": tuple(passages), "licence": "", "warnings": warnings}

    async def _best(
        self, head: Document, question: str, chosen: Sequence[Piece], page: PassagePage
    ) -> tuple[Sequence[DocumentPassage], int, str]:
        """The passages that answer best, in the chosen parts if there are any, and the offset of the next ones; or why
        there are none."""
        if not self._found.id:
            return (), -1, "Passages cannot be ranked, because the text was not kept: read its sections."

        def wanted(anchor: str) -> bool:
            return not chosen or any(_overlap(anchor, piece.anchor) for piece in chosen)

        def length(passages: Sequence[DocumentPassage]) -> int:
            return len(to_markdown(head.model_copy(update=self._with_passages(head, passages))))

        page = page._replace(length=length, wanted=wanted)
        try:
            passages, following = await self._session.store.best_passages(self._found.id, question, page)
        except (SessionError, EvidenceStoreError) as error:
            return (), -1, f"Passages could not be ranked: {error.message}"
        where = "these sections" if chosen else "this text"
        return passages, following, f"No passage in {where} is close to the question."

    def _call(self, **arguments: object) -> str:
        given = {"id": self._id, **{name: value for name, value in arguments.items() if value}}
        return "get_full_text " + " ".join(
            f"{name}={json.dumps(one, ensure_ascii=False)}" for name, one in given.items()
        )

    def _first_step(self, outline: Sequence[OutlineEntry]) -> str:
        shown = {one.anchor for one in outline} - {ABSTRACT}
        outer = [one for one in self._pieces if one.text and one.kind == "section" and one.anchor in shown]
        example = outer[len(outer) // 2].anchor if outer else ALL
        total = sum(len(one.text) for one in own_pieces(self._pieces))
        step = (
            f'{self._call()} with question="…" for the passages that answer it, or sections=["{example}"] to read '
            f'(titles work too); sections=["{ALL}"] is the whole text, {counted(total, "character")}.'
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


def _first_anchor(pieces: Sequence[Piece]) -> str:
    """The anchor of the first paragraph of these parts that can be quoted by one."""
    named = (one.anchor for one in pieces if one.text and one.anchor != ABSTRACT)
    first = next(named, "")
    return first if not first or split_paragraph_anchor(first)[1] else f"{first}p1"


def _pieces(found: FoundText) -> list[Piece]:
    """The parts of the text; without one, the abstract or what else the record says."""
    if found.publication and found.text:
        return pieces_of(found.publication, found.text)
    own = [one.content for one in found.publication.texts if not one.is_users] if found.publication else []
    return [Piece(ABSTRACT, ("Abstract",), one) for one in own[:1] if one != NO_ABSTRACT]


TOOL = ToolSpec(
    get_full_text,
    "Read the full text",
    "📄",
    Document,
    hints(read_only=True, open_world=True),
    changes_session=True,
    if_late="What was found is kept. Try again: a text that the session has is answered without asking anybody.",
)
