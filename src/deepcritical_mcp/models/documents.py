"""What tools say about documents: the check of a draft's references, quotations and claims, and the text of a paper, a
page or a trial, also in the form of two-tool hosts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from operator import eq, not_
from typing import Annotated, Literal, get_args

from pydantic import Field, model_serializer, model_validator
from pydantic.json_schema import SkipJsonSchema

from deepcritical_mcp.models.evidence import TextKind
from deepcritical_mcp.models.publication import PublicationStatus, StatusDay, StatusNotice, Value, with_day
from deepcritical_mcp.models.results import Citation, Relevance

ReferenceVerdict = Literal["verified", "minor", "differs", "wrong_id", "ambiguous", "not_found", "outage", "unchecked"]
QuotationVerdict = Literal["verbatim", "altered", "misattributed", "not_found", "unchecked"]


_LEFT_OUT = Field(exclude_if=not_)
"""A field that is omitted from the JSON while it is empty, which is the usual case."""


class ReferenceProblem(Value):
    """A statement of a reference that is not the record's.

    `field` is "title", "authors", "year", "journal", "volume", "issue", "pages", "pmid", "doi", "pmcid", "nct",
    "status", or "work" for a further work in the entry that was not checked; a `minor` one is written differently by
    careful people (a year off by one, a last page).
    """

    field: str
    written: Annotated[str, _LEFT_OUT] = ""
    true: Annotated[str, _LEFT_OUT] = ""
    minor: Annotated[bool, _LEFT_OUT] = False


class CheckedRecord(Value):
    """The record that a reference means, or may mean; `id` is its evidence id, e.g. "pubmed:31978945"."""

    id: str
    reference: Annotated[str, _LEFT_OUT] = ""
    pmid: Annotated[str, _LEFT_OUT] = ""
    doi: Annotated[str, _LEFT_OUT] = ""
    status: Annotated[PublicationStatus, Field(exclude_if=partial(eq, "unchecked"))] = "unchecked"
    status_notices: Annotated[tuple[StatusNotice, ...], _LEFT_OUT] = ()
    status_checked: Annotated[StatusDay, _LEFT_OUT] = ""

    _with_day = model_validator(mode="before")(with_day)


class CheckedReference(Value):
    """What became of one reference. Empty fields are left out of the wire form, and of a sound reference all but
    `index`, `verdict` and the record's id.

    Attributes:
        index: its place in the draft's order, from 1.
        label: how the draft cites it: "12", "smith2020"; "" if it has no label.
        written: as it is written, on one line.
        record: the record that it means; None if none is sure.
        problems: what differs, the year first; also the record's status, if it is marked.
        reason: why there is no record or no sure verdict, and what to know besides; "" if nothing.
        corrected: the reference as it should be, ready to be pasted; "" if nothing must change or no record is sure.
        candidates: the records that it may mean, best first.
    """

    index: int
    label: Annotated[str, _LEFT_OUT] = ""
    written: Annotated[str, _LEFT_OUT] = ""
    verdict: ReferenceVerdict
    record: Annotated[CheckedRecord | SkipJsonSchema[None], _LEFT_OUT] = None
    problems: Annotated[tuple[ReferenceProblem, ...], _LEFT_OUT] = ()
    reason: Annotated[str, _LEFT_OUT] = ""
    corrected: Annotated[str, _LEFT_OUT] = ""
    candidates: Annotated[tuple[CheckedRecord, ...], _LEFT_OUT] = ()

    @property
    def status(self) -> PublicationStatus:
        """That of its record; "unchecked" without one."""
        return self.record.status if self.record else "unchecked"


class CheckedQuotation(Value):
    """What became of one quotation of the draft.

    Attributes:
        index: its place in the draft, from 1.
        references: indexes of the references that it is attributed to; () if none is named.
        where: where it stands, or what comes nearest: an evidence id, with the anchor in a full text
            ("pubmed:31978945 s3p4"); "" if nowhere.
        passage: what stands there, verbatim.
        difference: of an altered one, changed numbers and negations first; else what to know, e.g. that only the
            abstract could be read.
    """

    index: int
    quote: str
    references: Annotated[tuple[int, ...], _LEFT_OUT] = ()
    verdict: QuotationVerdict
    where: Annotated[str, _LEFT_OUT] = ""
    passage: Annotated[str, _LEFT_OUT] = ""
    difference: Annotated[str, _LEFT_OUT] = ""


class CheckedClaim(Value):
    """The passage of one cited record that is nearest to a sentence that cites it. This does not mean that it supports
    it.

    Attributes:
        sentence: "" if it is that of the claim before.
        references: the index of the reference; first among those of its sentence.
        where: evidence id of the record, with the anchor in a full text.
        passage: whole sentences, verbatim, "[…]" where some between them are left out; "" if nothing of the record
            could be read.
        relevance: to the sentence, 0 to 1, three decimals.
        numbers_missing: numbers of the sentence that occur nowhere in what could be read of the records it cites.
        numbers_elsewhere: numbers of the sentence that stand in the passage with other words (another group, another
            outcome), each with the words around it there: "814: “814 received simvastatin and 803 placebo”".
    """

    sentence: Annotated[str, _LEFT_OUT] = ""
    references: tuple[int, ...]
    where: Annotated[str, _LEFT_OUT] = ""
    passage: Annotated[str, _LEFT_OUT] = ""
    relevance: Annotated[float, _LEFT_OUT] = 0.0
    numbers_missing: Annotated[tuple[str, ...], _LEFT_OUT] = ()
    numbers_elsewhere: Annotated[tuple[str, ...], _LEFT_OUT] = ()


Finding = CheckedReference | CheckedQuotation | CheckedClaim
FindingKind = Literal["reference", "quotation", "claim"]
_KINDS: Mapping[type[Finding], FindingKind] = dict(zip(get_args(Finding), get_args(FindingKind), strict=True))
"""The fields of `CitationReport` are named after these, in the plural."""


class CitationReport(Value):
    """What a check found in a draft, the gravest first; `counts` are of all that was checked so far.

    Attributes:
        counts: "entries" (of the draft), "unread" (entries that could not be read) and "references" (those that were),
            "checked" (of these, so far), and, left out if 0, how many have each verdict ("verified" only if nothing is
            to be said of the record's status), and how many of their records are "retracted", of "concern",
            "superseded", "published" meanwhile; "quotations" (so far), how many have each verdict
            ("quotations_altered"); "claims" (findings, so far), "claims_with_numbers_missing".
        verified: indexes of sound references, which are not listed: "1–12, 14".
        records: when the status of their records was last asked.
        unread: why entries could not be read, and these as written; in the first part only.
        warnings: what to know about the draft as a whole: citations without an entry, entries that are never cited.
        errors: services that could not be asked.
        offset: the finding with which this part starts, counted from the start of the report.
        call: what to pass with the `offset` of another part.
        next_offset: where the next part starts, -1 at the end.
        report_uri: the resource that has the whole report.
        cited: indexes of the references whose records are kept as what the draft cites, and not as evidence.
        unchecked: of version 0.2 only.
        order: the kinds of the findings in the order of the report, see `findings_of`.
    """

    session_id: str
    references: tuple[CheckedReference, ...] = ()
    verified: Annotated[str, _LEFT_OUT] = ""
    quotations: Annotated[tuple[CheckedQuotation, ...], _LEFT_OUT] = ()
    claims: Annotated[tuple[CheckedClaim, ...], _LEFT_OUT] = ()
    counts: dict[str, int] = Field(default_factory=dict[str, int])
    records: Annotated[str, _LEFT_OUT] = ""
    unread: Annotated[tuple[str, ...], _LEFT_OUT] = ()
    warnings: Annotated[tuple[str, ...], _LEFT_OUT] = ()
    errors: Annotated[tuple[str, ...], _LEFT_OUT] = ()
    report_uri: str = ""
    offset: Annotated[int, Field(exclude=True)] = 0
    call: Annotated[str, Field(exclude=True)] = ""
    next_offset: int = -1
    next_step: str = ""
    cited: Annotated[tuple[int, ...], Field(exclude=True)] = ()
    unchecked: Annotated[tuple[str, ...], Field(exclude=True)] = ()
    order: Annotated[tuple[FindingKind, ...], Field(exclude=True)] = ()


def findings_of(report: CitationReport) -> tuple[Finding, ...]:
    """All findings of a report in its order, the one in which `offset` counts."""
    queues: dict[FindingKind, Iterator[Finding]] = {name: iter(getattr(report, f"{name}s")) for name in _KINDS.values()}
    return (*(next(queues[kind]) for kind in report.order), *chain.from_iterable(queues.values()))


def with_findings(report: CitationReport, findings: Sequence[Finding]) -> CitationReport:
    """The same report with these findings only, in this order; `counts` and all else stay."""
    found = {f"{name}s": tuple(one for one in findings if _KINDS[type(one)] == name) for name in _KINDS.values()}
    return report.model_copy(update={**found, "order": tuple(_KINDS[type(one)] for one in findings)})


DocumentStatus = Literal["full_text", "abstract_only", "not_allowed", "not_found", "no_text"]
"""`abstract_only`: the record is known, and no provider has its text. `not_allowed`: somebody has the text but may not
pass it on, or asks for a subscription. `not_found`: nobody knows the identifier. `no_text`: a file without text inside,
such as a scan."""
AttemptStatus = Literal[DocumentStatus, "failed", "skipped"]
"""`failed`: an outage; asking again may help. `skipped`: not configured, or does not apply."""

SESSION = "session"
"""Stands among the attempts for a text that the session held; not sent, since nobody was asked."""


class OutlineEntry(Value):
    """A part of the text, and how many characters it has, with those of the parts inside it that the outline leaves
    out. Sent as a line, indented as deep as it lies: anchor, its own title and the characters, "s3.1 Harms (420)"."""

    section: tuple[str, ...]
    anchor: str
    characters: int

    @model_serializer
    def _line(self) -> str:
        return str(self)

    def __str__(self) -> str:
        title = self.section[-1] if self.section else "(untitled)"
        return f"{'  ' * (len(self.section) - 1)}{self.anchor} {title} ({self.characters:,})"


class DocumentPassage(Value):
    """Text of one section, verbatim; `anchor` leads to it ("s3.2p4": the fourth paragraph of section 3.2).
    `is_close` says whether it is close to the question; it is not sent."""

    anchor: str
    section: tuple[str, ...]
    text: str
    relevance: Relevance = 0.0
    is_close: Annotated[bool, Field(exclude=True)] = True


class TableEntry(Value):
    """A table; `get_full_text` with its anchor among `sections` gives it."""

    anchor: str
    caption: str


class Attempt(Value):
    """What one provider said when asked for the text."""

    provider: str
    status: AttemptStatus
    detail: str = ""


class Document(Value):
    """A text as far as a call asked for it: its outline, the passages that answer a question, or whole sections.

    Attributes:
        id: evidence id of the text; "" if nothing was kept.
        kind: of the text.
        provider: who delivered it.
        licence: what the text may be used for, as its source says it; "" if unknown.
        passages: best first for a question, else in the order of the text.
        status: what was found; see `DocumentStatus`.
        attempts: who was asked, in order, and what each said.
        errors: what failed on the way, although there is an answer.
        next_offset: where the rest of what was asked for begins; -1 if nothing is left.
        form: whether this is an outline, passages that answer a question, or text in order. Not sent, as what follows.
        offset: where `passages` begin in the text that was asked for, or the outline among all its entries.
        characters: of the text that was asked for.
        call: the call that this answers, without its offset.
    """

    session_id: str
    id: str = ""
    kind: TextKind = "full_text"
    citation: Citation
    provider: str = ""
    licence: str = ""
    url: str = ""
    outline: tuple[OutlineEntry, ...] = ()
    passages: tuple[DocumentPassage, ...] = ()
    tables: tuple[TableEntry, ...] = ()
    status: DocumentStatus
    attempts: tuple[Attempt, ...] = ()
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    next_offset: int = -1
    next_step: str = ""
    form: Annotated[Literal["outline", "passages", "text"], Field(exclude=True)] = "outline"
    offset: Annotated[int, Field(exclude=True)] = 0
    characters: Annotated[int, Field(exclude=True)] = 0
    call: Annotated[str, Field(exclude=True)] = ""


class SearchHit(Value):
    """One result: enough to decide whether to fetch it."""

    id: str
    title: str
    url: str


class SearchHits(Value):
    """What all sources found, best first. `errors` names each source that could not answer."""

    results: tuple[SearchHit, ...]
    errors: tuple[str, ...] = ()


class DocumentMetadata(Value):
    """Where a document comes from, and what became of it: `notices` name retractions, the article of a preprint and
    the like."""

    citation: str
    status: str
    status_checked: str
    source: str
    date: str
    pmid: str
    doi: str
    nct: str
    notices: tuple[str, ...] = ()


class FetchedDocument(Value):
    """One result with its full content."""

    id: str
    title: str
    text: str
    url: str
    metadata: DocumentMetadata
