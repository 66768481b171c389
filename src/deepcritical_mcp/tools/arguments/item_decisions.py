"""The decisions and tags among the items of `add_evidence`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from deepcritical_mcp.models import (
    MAX_REASON_LENGTH,
    MAX_TAG_LENGTH,
    MAX_TAGS,
    DecidedItem,
    ScreeningMark,
    Verdict,
    decision_line,
    decision_replaced,
)
from deepcritical_mcp.text import clean_line
from deepcritical_mcp.tools.arguments.call_session import caller
from deepcritical_mcp.tools.arguments.params import (
    GivenId,
    Word,
    evidence_id,
    identifier_field,
    is_findable,
    split_place,
)
from deepcritical_mcp.tools.arguments.sizes import MAX_CALL_LENGTH, at_most

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.store import EvidenceStore

NO_TAGS = "none"
"""The tag that takes all tags away; an empty list means that none were given."""


ShortText = Annotated[str, at_most(10_000)]
"""More than any item needs: which of its texts is too long to keep is told for each item."""


class EvidenceItem(BaseModel):
    """One item as the client's model writes it: evidence to keep, or a decision about what is kept under `id`."""

    model_config = ConfigDict(extra="forbid")

    content: Annotated[str, at_most(MAX_CALL_LENGTH)] = ""
    title: ShortText = ""
    url: ShortText = ""
    source: Literal["pubmed", "web", "user"] = "user"
    date: Annotated[Word, Field(description="YYYY[-MM[-DD]]")] = ""
    authors: Annotated[list[ShortText], Field(max_length=10_000)] = []
    pmid: GivenId = ""
    doi: GivenId = ""
    pmcid: GivenId = ""
    nct: GivenId = ""
    reference: ShortText = ""
    id: GivenId = ""
    decision: Literal["unchanged", "included", "excluded", "cited", "undecided"] = "unchanged"
    reason: ShortText = ""
    tags: Annotated[list[ShortText], Field(max_length=200)] = []

    @property
    def verdict(self) -> Verdict:
        """Its decision; "" if that is unchanged."""
        return "" if self.decision == "unchanged" else self.decision

    @property
    def decides(self) -> bool:
        """Whether it says anything about a decision or tags."""
        return bool(self.verdict or clean_line(self.reason) or self.clean_tags)

    @property
    def numbers(self) -> list[str]:
        """The identifiers and addresses that it gives, apart from `id`."""
        return [*filter(None, map(clean_line, (self.pmid, self.doi, self.pmcid, self.nct, self.url)))]

    @property
    def is_decision(self) -> bool:
        """Whether it says only what was decided about something that others know by its identifiers."""
        return self.decides and bool(self.numbers) and not any((self.content, self.title, self.reference))

    @cached_property
    def clean_tags(self) -> tuple[str, ...]:
        """The tags, each once, whatever its case."""
        tags = [NO_TAGS if tag.casefold() == NO_TAGS else tag for tag in map(clean_line, self.tags)]
        return tuple({tag.casefold(): tag for tag in reversed(tags) if tag}.values())[::-1]

    def mark(self, id: str) -> ScreeningMark:
        """Its decision about the publication `id`."""
        tags = self.clean_tags
        new = None if not tags else () if tags == (NO_TAGS,) else tags
        return ScreeningMark(id, self.verdict, clean_line(self.reason), new)


def decision_problem(item: EvidenceItem) -> str:
    """Why a decision cannot be kept; "" if it can, or there is none."""
    tags, reason = item.clean_tags, clean_line(item.reason)
    words = [tag for tag in tags if tag != NO_TAGS and not is_findable(tag)]
    long = next((tag for tag in tags if len(tag) > MAX_TAG_LENGTH), "")
    problems = {
        f"reason has {len(reason):,} characters; the limit is {MAX_REASON_LENGTH}": len(reason) > MAX_REASON_LENGTH,
        'decision="undecided" takes a decision back and keeps no reason: leave reason out, or use tags': (
            item.decision == "undecided" and reason
        ),
        f"{len(tags)} tags; an item has at most {MAX_TAGS}": len(tags) > MAX_TAGS,
        f'tag "{long[:40]}…" has {len(long)} characters; the limit is {MAX_TAG_LENGTH}': long,
        f"{', '.join(words)}: that is a decision, not a tag; pass it as decision": words,
        f'tags: "{NO_TAGS}" takes all tags away, so pass it alone': NO_TAGS in tags and len(tags) > 1,
    }
    found = next((problem for problem, is_true in problems.items() if is_true), "")
    return found or (_id_problem(item) if item.id else "")


def _id_problem(item: EvidenceItem) -> str:
    if not item.decides:
        return "id is of evidence that is kept: pass decision, reason or tags with it (get_evidence reads it)"
    if item.content.strip() or item.reference.strip():
        return "id is of evidence that is kept: for a note about it pass pmid, doi or url with content, in another item"
    if any(evidence_id(one) != _kept_id(item.id) for one in item.numbers):
        return "id and another identifier are not the same: pass only id"
    return ""


async def decidable(store: EvidenceStore, items: Sequence[EvidenceItem]) -> tuple[dict[int, str], dict[int, str]]:
    """The ids of kept publications that items only decide about, by the place of each; and why some cannot be found.

    An item with other identifiers in place of an `id` is one of these if the session has what all of them name.
    """
    sought = {
        index: [_kept_id(item.id)] if item.id else [evidence_id(value) for value in item.numbers]
        for index, item in enumerate(items)
        if item.id or item.is_decision
    }
    found = await store.publications([id for ids in sought.values() for id in ids])
    kept: dict[int, str] = {}
    unknown: dict[int, str] = {}
    for index, ids in sought.items():
        names = {found[id].id if id in found else "" for id in ids}
        if len(names) == 1 and "" not in names:
            kept[index] = names.pop()
        elif items[index].id:
            name, number = identifier_field(ids[0])
            fetch = f' To fetch and mark it, pass {name}="{number}" instead of id.' if name else ""
            unknown[index] = f"{ids[0][:100]} is not in this session; list_evidence has the ids.{fetch}"
    return kept, unknown


async def decided(store: EvidenceStore, items: Sequence[EvidenceItem], ids: Mapping[int, str]) -> list[DecidedItem]:
    """Write the decisions of items about the publications `ids`, and give what is decided then: "undecided; tags: rct"
    if there are only tags."""
    marks = [replace(items[index].mark(id), by=caller()) for index, id in ids.items()]
    told: list[DecidedItem] = []
    for index, one in zip(ids, await store.decide(marks) if marks else (), strict=True):
        if one:
            line = decision_line(one[1])
            line = f"undecided; {line}" if line and not one[1].screening else line
            told.append(DecidedItem(index=index, id=one[1].id, decision=line, replaced=decision_replaced(*one)))
    return told


def _kept_id(given: str) -> str:
    """The id of a publication or text in the session, from any spelling; of a part of a text, that of the text."""
    return evidence_id(split_place(given)[0])
