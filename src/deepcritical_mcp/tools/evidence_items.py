"""Items of `add_evidence`: what a client's model writes, why it cannot be kept, and what it asks for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import unquote

from pydantic import BaseModel, ConfigDict, Field

from deepcritical_mcp.dates import readings
from deepcritical_mcp.identifiers import (
    BARE_DOI,
    RecordIds,
    normalize_doi,
    normalize_pmcid,
    normalize_pmid,
    normalize_trial,
    preprint_number,
    record_ids,
)
from deepcritical_mcp.models import (
    MAX_REASON_LENGTH,
    MAX_TAG_LENGTH,
    MAX_TAGS,
    UNKNOWN_DATE,
    USER,
    AuthorName,
    DecidedItem,
    Publication,
    ScreeningMark,
    Verdict,
    decision_line,
    decision_replaced,
    split_names,
)
from deepcritical_mcp.search.documents import DocumentId
from deepcritical_mcp.text import clean_line, clean_text, cut_at_sentence
from deepcritical_mcp.tools.arguments.params import (
    MAX_CALL_LENGTH,
    GivenId,
    Word,
    at_most,
    evidence_id,
    identifier_field,
    is_findable,
    read_document_id,
    split_place,
)
from deepcritical_mcp.urls import clean_url, is_web_address

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.store import EvidenceStore

MAX_CONTENT_LENGTH = 100_000
MAX_DOI_LENGTH = 200
MAX_REFERENCE = 4_000
NOT_THE_SAME = "undo"
"""In place of an id that another one is declared to be the same as: it is so no longer."""
MAX_MARKED = 200
"""Ids that one item marks."""
NO_TAGS = "none"
"""The tag that takes all tags away; an empty list means that none were given."""


ShortText = Annotated[str, at_most(10_000)]
"""More than any item needs: which of its texts is too long to keep is told for each item."""
GivenDecision = Literal["unchanged", "included", "excluded", "cited", "undecided"]
GivenTags = Annotated[list[ShortText], Field(max_length=200)]


class EvidenceItem(BaseModel):
    """One item as the client's model writes it: evidence to keep, or a decision about what is kept under `id`."""

    model_config = ConfigDict(extra="forbid")

    content: Annotated[str, at_most(MAX_CALL_LENGTH)] = ""
    title: ShortText = ""
    url: ShortText = ""
    source: Literal["user", "pubmed", "web"] = "user"
    date: Word = ""
    authors: Annotated[list[ShortText], Field(max_length=10_000)] = []
    pmid: GivenId = ""
    doi: GivenId = ""
    pmcid: GivenId = ""
    nct: GivenId = ""
    reference: ShortText = ""
    file: ShortText = ""
    id: GivenId = ""
    ids: Annotated[list[GivenId], Field(max_length=MAX_MARKED)] = []
    same_as: GivenId = ""
    decision: GivenDecision = "unchanged"
    reason: ShortText = ""
    tags: GivenTags = []

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


def one_by_one(items: Sequence[EvidenceItem]) -> tuple[list[EvidenceItem], list[int]]:
    """The items, where one that marks many `ids` stands for the first of them, and the others follow all items; and the
    place in the call of each."""
    each, places = [*items], [*range(len(items))]
    for at, item in enumerate(items):
        ids = list(dict.fromkeys(id for one in (item.id, *item.ids) if (id := clean_line(one))))
        if item.ids and item.decides and ids:
            each[at] = item.model_copy(update={"id": ids[0], "ids": []})
            each += [item.model_copy(update={"id": id, "ids": []}) for id in ids[1:]]
            places += [at] * (len(ids) - 1)
    return each, places


def decision_problem(item: EvidenceItem) -> str:
    """Why a decision cannot be kept; "" if it can, or there is none."""
    tags, reason = item.clean_tags, clean_line(item.reason)
    words = [tag for tag in tags if tag != NO_TAGS and not is_findable(tag)]
    long = next((tag for tag in tags if len(tag) > MAX_TAG_LENGTH), "")
    problems: dict[str, object] = {
        f"reason has {len(reason):,} characters; the limit is {MAX_REASON_LENGTH}": len(reason) > MAX_REASON_LENGTH,
        'decision="undecided" takes a decision back and keeps no reason: leave reason out, or use tags': (
            item.decision == "undecided" and reason
        ),
        f"{len(tags)} tags; an item has at most {MAX_TAGS}": len(tags) > MAX_TAGS,
        f'tag "{long[:40]}…" has {len(long)} characters; the limit is {MAX_TAG_LENGTH}': long,
        f"{', '.join(words)}: that is a decision, not a tag; pass it as decision": words,
        f'tags: "{NO_TAGS}" takes all tags away, so pass it alone': NO_TAGS in tags and len(tags) > 1,
    }
    if item.id:
        kept, has_text = "id is of evidence that is kept", item.content.strip() or item.reference.strip()
        is_other = any(evidence_id(one) != kept_id(item.id) for one in item.numbers)
        problems |= {
            f"{kept}: pass decision, reason, tags or same_as with it (get_evidence reads it)": not (
                item.decides or item.same_as
            ),
            f"{kept}: for a note about it pass pmid, doi or url with content, in another item": has_text,
            "id and another identifier are not the same: pass only id": is_other,
        }
    return next((problem for problem, is_true in problems.items() if is_true), "")


async def decidable(store: EvidenceStore, items: Sequence[EvidenceItem]) -> tuple[dict[int, str], dict[int, str]]:
    """The ids of kept publications that items only decide about, by the place of each; and why some cannot be found.

    An item with other identifiers in place of an `id`, and nothing else to keep, is one of these if the session has
    what all of them name.
    """
    sought = {
        index: [kept_id(item.id)] if item.id else [evidence_id(value) for value in item.numbers]
        for index, item in enumerate(items)
        if item.id or (item.decides and item.numbers and not any((item.content, item.title, item.reference)))
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


async def decided(
    store: EvidenceStore, items: Sequence[EvidenceItem], ids: Mapping[int, str], by: str, places: Sequence[int]
) -> list[DecidedItem]:
    """Write the decisions of items about the publications `ids`, made `by` somebody, in the order of their `places` in
    the call, and give what is decided then: "undecided; tags: rct" if there are only tags."""
    ids = dict(sorted(ids.items(), key=lambda one: places[one[0]]))
    marks = [replace(items[index].mark(id), by=by) for index, id in ids.items()]
    told: list[DecidedItem] = []
    for index, one in zip(ids, await store.decide(marks) if marks else (), strict=True):
        if one:
            line = decision_line(one[1])
            line = f"undecided; {line}" if line and not one[1].screening else line
            told.append(DecidedItem(index=index, id=one[1].id, decision=line, replaced=decision_replaced(*one)))
    return told


def kept_id(given: str) -> str:
    """The id of a publication or text in the session, from any spelling; of a part of a text, that of the text."""
    return evidence_id(split_place(given)[0])


_NUMBERS = (
    ("pmid", normalize_pmid, "a PMID"),
    ("pmcid", normalize_pmcid, "a PMCID such as PMC1790863"),
    ("nct", normalize_trial, "a trial's number such as NCT00000620"),
)


def problem_of(item: EvidenceItem) -> str:
    """Why an item cannot be kept or heeded; "" if it can."""
    if item.ids:
        return "ids marks what is kept: pass decision, reason or tags with it"
    if item.same_as and (item.decides or not item.id):
        return "same_as goes with id, and nothing else: two ids of one publication"
    if (problem := decision_problem(item)) or item.id:
        return problem
    sought = (item.pmid, item.doi, item.pmcid, item.nct, item.url, item.reference)
    if clean_line(item.file):
        alone = not (any(map(clean_line, (*sought, item.title, item.reason))) or item.verdict)
        return "" if alone else "file brings in what it holds: pass file, with content and tags at most"
    if not clean_text(item.content) and not any(map(clean_line, sought)):
        return "content is empty: pass content, or one of pmid, doi, pmcid, nct, url, reference to fetch a record"
    if clean_text(item.content) and clean_line(item.reference):
        return "reference fetches a record, which content would replace: send them as two items"
    if len(item.reference) > MAX_REFERENCE:
        return f"reference has {len(item.reference):,} characters; pass one reference (at most {MAX_REFERENCE:,})"
    if len(item.content) > MAX_CONTENT_LENGTH:
        return f"content has {len(item.content):,} characters; the limit is {MAX_CONTENT_LENGTH:,}, so split it"
    doi, url = normalize_doi(clean_line(item.doi)), clean_line(item.url)
    if clean_line(item.date) and not date_of(item):
        return f"date {shown(item.date)} is not YYYY, YYYY-MM or YYYY-MM-DD"
    for name, read, what in _NUMBERS:
        given = clean_line(getattr(item, name))
        if given and not read(given):
            return f"{name} {shown(given)} is not {what}"
    given = unquote(clean_line(item.doi)).lower()
    found = BARE_DOI.search(given)
    has_more = found is not None and found.end() < len(given)
    if doi and (has_more or not BARE_DOI.fullmatch(doi) or len(doi) > MAX_DOI_LENGTH):
        return f"doi {shown(item.doi)} is not a DOI such as 10.1000/182"
    if url and not is_web_address(url):
        return f"url {shown(url)} is not a web address (http or https)"
    return ""


def wanted_document(item: EvidenceItem) -> DocumentId | None:
    """The record or page to fetch for an item without a text, or with an id in its place; None for others."""
    content = clean_line(item.content)
    if content:
        is_id = len(content) <= MAX_DOI_LENGTH and (identifier_field(content)[0] or preprint_number(content))
        return read_document_id(content)[0] if is_id and not is_web_address(content) else None
    url = clean_url(clean_line(item.url))
    own = _ids(item)
    ids = own if any(own) else record_ids(url)
    reference = item.reference.strip()
    name = next(filter(None, (*ids, url, reference)))
    evidence = ids.pmid or ids.doi or ids.nct or url
    title, people = clean_line(item.title), _authors(item)
    return DocumentId(name, evidence and evidence_id(evidence), ids, url, title, reference, people)


def claimed_document(text: Publication) -> DocumentId | None:
    """The record that a text claims to be of; None if it does not."""
    if not text.claims:
        return None
    ids = text.claimed_ids
    name = next(filter(None, ids))
    return DocumentId(name, evidence_id(name), ids, text=text)


def requests_for(documents: Sequence[RecordIds]) -> int:
    """How many requests it takes to look these up: the converter's for PMCIDs, a search for DOIs, one for the records
    of PubMed, and one for trials."""
    unnumbered = [ids for ids in documents if not ids.pmid]
    kinds = ([ids.pmid for ids in documents], [one.pmcid for one in unnumbered], [one.doi for one in unnumbered])
    papers, *searches = map(any, kinds)
    return sum((papers or any(searches), *searches, any(ids.nct for ids in documents)))


def date_of(item: EvidenceItem) -> str:
    """The date in ISO 8601; "" if it is none, or could be two."""
    has_year = re.search("[0-9]{4}", item.date)  # "last year" is no publication's date
    found = [UNKNOWN_DATE] if clean_line(item.date).lower() == "unknown" else readings(item.date) if has_year else []
    return found[0] if len(found) == 1 else ""


def shown(text: str) -> str:
    line = clean_line(text)
    return f'"{line[:40]}{"…" if len(line) > 40 else ""}"'


def _title(content: str) -> str:
    """The first line, as the title of an item without one; never the whole content, which would look like a title-only
    record."""
    title = cut_at_sentence(clean_line(content.strip().partition("\n")[0]), 120)
    return f"{title.rstrip('.')}…" if title == clean_line(content) else title


def publication_of(item: EvidenceItem) -> Publication:
    from deepcritical_mcp.reading.user_text import read_own_text

    (reading, own_title), url = read_own_text(clean_text(item.content)), clean_url(clean_line(item.url))
    content = reading.content
    own_ids, of_page = _ids(item), record_ids(url)
    text = Publication.of(
        "note" if item.source == "user" else "page",
        content,
        provider=USER,
        parts=reading.parts,
        source=item.source,
        title=clean_line(item.title) or own_title or _title(content),
        url=url,
        date=date_of(item) or UNKNOWN_DATE,
        authors=_authors(item),
        nct=own_ids.nct,
        **{name: getattr(own_ids, name) or getattr(of_page, name) for name in ("pmid", "doi", "pmcid")},
    )
    return text.as_claim() if item.source == "web" else text


def _ids(item: EvidenceItem) -> RecordIds:
    numbers = {name: read(clean_line(getattr(item, name))) for name, read, _ in _NUMBERS}
    return RecordIds(doi=normalize_doi(clean_line(item.doi)), **numbers)


def _authors(item: EvidenceItem) -> tuple[AuthorName, ...]:
    return tuple(name for author in map(clean_line, item.authors) for name in split_names(author))
