"""The records of a ranking: those that a session holds, the others fetched, and how they are kept in it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from deepcritical_mcp.errors import EvidenceStoreError, ProviderError, ProviderResponseError, SessionFullError
from deepcritical_mcp.models import Evidence, Publication, RelatedEvidence
from deepcritical_mcp.search.asking import advised
from deepcritical_mcp.sources.base import Fetched, Hit, Source

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.store import AddOutcome

NAMED_IDS = 10


class SearchSession(Protocol):
    """The part of `EvidenceStore` that a search needs."""

    @property
    def session_id(self) -> str: ...

    @property
    def warnings(self) -> tuple[str, ...]: ...

    async def publications(self, ids: Sequence[str]) -> dict[str, Publication]: ...

    async def known(self, publications: Sequence[Publication]) -> list[str]: ...

    async def add_evidence(self, publications: Sequence[Publication]) -> tuple[AddOutcome, ...]: ...

    async def relevance(self, query: str, publications: Sequence[Publication]) -> list[float]: ...

    async def related(self, query: str, *, exclude: Collection[str], limit: int = 5) -> tuple[RelatedEvidence, ...]: ...


@dataclass(frozen=True)
class Gathered:
    """Records by the source's ids, and what became of those that are missing."""

    records: Mapping[str, Hit]
    errors: tuple[str, ...] = ()


@dataclass(frozen=True)
class Kept:
    """Evidence as the session holds it now; `ids` names that of each record, in order."""

    evidence: tuple[Evidence, ...]
    related: tuple[RelatedEvidence, ...] = ()
    errors: tuple[str, ...] = ()
    merged: int = 0
    ids: tuple[str, ...] = ()


async def known_ids(
    source: Source, ids: Sequence[str], records: Mapping[str, Hit], session: SearchSession
) -> dict[str, str]:
    """The id under which the session holds a publication, for each of the source's ids that it knows."""
    stubs = [records[id].publication if id in records else source.stub(id) for id in ids]
    return {id: known for id, known in zip(ids, await session.known(stubs), strict=True) if known}


async def gather(
    source: Source,
    ids: Sequence[str],
    session: SearchSession,
    *,
    records: Mapping[str, Hit],
    count: int,
    besides: Sequence[str] = (),
) -> Gathered:
    """The records of `ids` and, where they exist, of `besides`: those in `records`, those that this session fetched
    before, and the others in one request.

    Where that request fails, the records at hand are still returned; the others are named in `errors`.

    Raises:
        ProviderError: there is no record for any of `ids`; its `details` hold `count`, the results in all, and the ids.
    """
    wanted = list(dict.fromkeys((*ids, *besides)))
    found = {id: records[id] for id in wanted if id in records}
    if not source.two_step:
        return Gathered(found)
    known = await known_ids(source, [id for id in wanted if id not in found], {}, session)
    held = await session.publications(list(known.values()))
    # A note or a web page about the same publication is not its record.
    found |= {id: Hit(publication=held[kept]) for id, kept in known.items() if kept in held and held[kept].is_record}
    missing = [id for id in wanted if id not in found]
    if not missing:
        return Gathered(found)
    try:
        fetched = await source.fetch(missing)
    except ProviderError as error:
        if found.keys().isdisjoint(ids):
            raise _undelivered(source, error, ids, count) from error
        return Gathered(found, (f"{_listed(source, missing)} could not be fetched: {advised(error)}",))
    found |= {id: Hit(publication=record) for id, record in fetched.records.items()}
    lost = tuple(_losses(source, [id for id in ids if id not in found], fetched))
    if ids and found.keys().isdisjoint(ids):
        raise _undelivered(source, ProviderResponseError(source.name, " ".join(lost)), ids, count)
    return Gathered(found, lost)


async def keep(
    source: Source,
    hits: Sequence[Hit],
    query: str,
    session: SearchSession,
    *,
    unrelated: Sequence[str],
    records: Mapping[str, Hit],
) -> Kept:
    """Keep publications in the session and score them against `query`, unless it came with scores; the order stays.

    The source's ids in `unrelated`, of which some are in `records`, must not appear as related evidence: they were left
    out on purpose. When the session cannot keep them, they are returned all the same, and `errors` says so.
    """
    kept, errors = [Evidence.of(hit.publication, relevance=hit.score) for hit in hits], list[str]()
    related: tuple[RelatedEvidence, ...] = ()
    try:
        outcomes = await session.add_evidence([hit.publication for hit in hits])
        publications = [outcome.publication for outcome in outcomes]
        scores = [hit.score for hit in hits] if source.scored else await session.relevance(query, publications)
        kept = [_as_kept(outcome, score) for outcome, score in zip(outcomes, scores, strict=True)]
        others = (await known_ids(source, unrelated, records, session)).values()
        related = await session.related(query, exclude={*(item.id for item in kept), *others})
    except (SessionFullError, EvidenceStoreError) as error:
        errors.append(f"The results were found but not all could be kept: {error.message}")
    by_id: dict[str, Evidence] = {}
    for item in kept:
        by_id.setdefault(item.id, item)
    return Kept(tuple(by_id.values()), related, tuple(errors), len(kept) - len(by_id), tuple(item.id for item in kept))


def _as_kept(outcome: AddOutcome, score: float) -> Evidence:
    similar = dict.fromkeys((*outcome.evidence.similar, *(id for id, _ in outcome.folds)))
    return outcome.evidence.model_copy(update={"similar": tuple(similar), "relevance": score})


def _losses(source: Source, missing: Sequence[str], fetched: Fetched) -> list[str]:
    """Why each of `missing` is missing, a sentence each."""
    losses = [fetched.losses[id] for id in missing if id in fetched.losses]
    unexplained = [id for id in missing if id not in fetched.losses]
    none = [f"{source.title} sent no record for {_listed(source, unexplained)}."] if unexplained else []
    return [*losses, *fetched.unnamed, *none]


def _undelivered(source: Source, error: ProviderError, ids: Sequence[str], count: int) -> ProviderError:
    """What `error` means for a search that has found its ids."""
    if not ids:
        return error
    found = "1 record" if count == 1 else f"{count:,} records"
    listed = _listed(source, ids)
    message = f"{source.title} found {found}, but could not deliver them: {advised(error)} They are {listed}."
    details = {**error.details, "count": count, f"{source.id_name.lower()}s": list(ids)}
    return type(error)(error.provider, message, retry_after=error.retry_after, details=details)


def _listed(source: Source, ids: Sequence[str]) -> str:
    more = f" and {len(ids) - NAMED_IDS} more" if len(ids) > NAMED_IDS else ""
    return f"{source.id_name} {', '.join(ids[:NAMED_IDS])}{more}"
