"""PubMed's records for a list of PMIDs, of which the session may hold some, and how they are kept in it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from deepcritical_mcp.errors import EvidenceStoreError, ProviderError, ProviderResponseError, SessionFullError
from deepcritical_mcp.models import NO_TITLE, Citation, Evidence, RelatedEvidence
from deepcritical_mcp.sources.pubmed.eutils_answers import PROVIDER
from deepcritical_mcp.sources.pubmed.source import PubMedTool
from deepcritical_mcp.sources.pubmed.xml import Records

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.store import AddOutcome

NAMED_PMIDS = 10


class Session(Protocol):
    """The part of `EvidenceStore` that a search of literature needs."""

    @property
    def session_id(self) -> str: ...

    @property
    def warnings(self) -> tuple[str, ...]: ...

    async def get(self, ids: Sequence[str]) -> dict[str, Evidence]: ...

    async def known(self, evidence: Sequence[Evidence]) -> list[str]: ...

    async def add_evidence(self, evidence: Sequence[Evidence]) -> tuple[AddOutcome, ...]: ...

    async def relevance(self, query: str, evidence: Sequence[Evidence]) -> list[float]: ...

    async def related(self, query: str, *, exclude: Collection[str], limit: int = 5) -> tuple[RelatedEvidence, ...]: ...


@dataclass(frozen=True)
class Gathered:
    """Records by PMID, and what became of those that are missing."""

    records: Mapping[str, Evidence]
    errors: tuple[str, ...] = ()


@dataclass(frozen=True)
class Kept:
    """Evidence as the session holds it now."""

    evidence: tuple[Evidence, ...]
    related: tuple[RelatedEvidence, ...] = ()
    errors: tuple[str, ...] = ()
    merged: int = 0


async def known_pmids(pmids: Sequence[str], session: Session) -> dict[str, str]:
    """The id under which the session holds a publication, for each PMID that it knows."""
    bare = [Evidence.of(Citation(source="pubmed", title=NO_TITLE, pmid=pmid), NO_TITLE, provider="") for pmid in pmids]
    return {pmid: id for pmid, id in zip(pmids, await session.known(bare), strict=True) if id}


async def gather(
    pmids: Sequence[str], session: Session, pubmed: PubMedTool, *, count: int, beside: Sequence[str] = ()
) -> Gathered:
    """The records of `pmids` and, where they exist, of `beside`: those that this session fetched before, and the
    others in one request.

    Where that request fails, the records fetched before are worth having: the others are named in `errors`.

    Raises:
        ProviderError: none of `pmids` can be had; its `details` hold `count`, the results in all, and the PMIDs.
    """
    everything = list(dict.fromkeys((*pmids, *beside)))
    ids = await known_pmids(everything, session)
    held = await session.get(list(ids.values()))
    # A note or web page of the same PMID is no record.
    records = {pmid: held[id] for pmid, id in ids.items() if id in held and held[id].provider == PROVIDER}
    missing = [pmid for pmid in everything if pmid not in records]
    if not missing:
        return Gathered(records)
    try:
        fetched = await pubmed.fetch(missing)
    except ProviderError as error:
        if records.keys().isdisjoint(pmids):
            raise _undelivered(error, pmids, count) from error
        return Gathered(records, (f"{_listed(missing)} could not be fetched: {advised(error)}",))
    records |= {piece.citation.pmid: piece for piece in fetched.evidence}
    lost = _losses([pmid for pmid in pmids if pmid not in records], fetched)
    if pmids and records.keys().isdisjoint(pmids):
        raise _undelivered(ProviderResponseError(PROVIDER, " ".join(lost)), pmids, count)
    return Gathered(records, lost)


async def keep(evidence: Sequence[Evidence], query: str, session: Session, *, unrelated: Sequence[str] = ()) -> Kept:
    """Keep evidence in the session and weigh it against `query`; the order stays.

    The PMIDs `unrelated` are not to appear as related evidence: they were left out on purpose. A session that cannot
    keep the evidence does not lose it: `errors` says so.
    """
    kept, errors = list(evidence), list[str]()
    related: tuple[RelatedEvidence, ...] = ()
    try:
        kept = [_as_kept(outcome) for outcome in await session.add_evidence(evidence)]
        relevance = await session.relevance(query, kept)
        kept = [piece.model_copy(update={"relevance": one}) for piece, one in zip(kept, relevance, strict=True)]
        others = (await known_pmids(unrelated, session)).values()
        related = await session.related(query, exclude={*(piece.id for piece in kept), *others})
    except (SessionFullError, EvidenceStoreError) as error:
        errors.append(f"The records were found but not all could be kept: {error.message}")
    pieces: dict[str, Evidence] = {}
    for piece in kept:
        pieces.setdefault(piece.id, piece)
    return Kept(tuple(pieces.values()), related, tuple(errors), merged=len(kept) - len(pieces))


def _as_kept(outcome: AddOutcome) -> Evidence:
    similar = dict.fromkeys((*outcome.evidence.similar, *(id for id, _ in outcome.folds)))
    return outcome.evidence.model_copy(update={"similar": tuple(similar)})


def _losses(missing: Sequence[str], fetched: Records) -> tuple[str, ...]:
    """Why each of `missing` is missing, a sentence each."""
    reasons = {one.pmid: f"PMID {one.pmid} could not be read: {one.reason}." for one in fetched.unreadable if one.pmid}
    reasons |= {pmid: f"PMID {pmid} was withdrawn from PubMed." for pmid in fetched.deleted}
    silent = [pmid for pmid in missing if pmid not in reasons]
    losses = [reasons[pmid] for pmid in missing if pmid in reasons]
    losses += [f"A record could not be read: {one.reason}." for one in fetched.unreadable if not one.pmid]
    if silent:
        losses.append(f"PubMed sent no record for {_listed(silent)}.")
    return tuple(losses)


def _undelivered(error: ProviderError, pmids: Sequence[str], count: int) -> ProviderError:
    """`error`, told as what it means for a search that has found its PMIDs."""
    if not pmids:
        return error
    found = "1 record" if count == 1 else f"{count:,} records"
    message = f"PubMed found {found}, but could not deliver them: {advised(error)} They are {_listed(pmids)}."
    details = {**error.details, "count": count, "pmids": list(pmids)}
    return type(error)(error.provider, message, retry_after=error.retry_after, details=details)


def advised(error: ProviderError) -> str:
    """What `error` says, and what to do about it."""
    if not error.retryable or "ry again" in error.message:
        return error.message
    return f"{error.message} Try again in a minute; semantic_search still answers from what the session holds."


def _listed(pmids: Sequence[str]) -> str:
    more = f" and {len(pmids) - NAMED_PMIDS} more" if len(pmids) > NAMED_PMIDS else ""
    return f"PMID {', '.join(pmids[:NAMED_PMIDS])}{more}"
