"""The records of a ranking: taken from the session or fetched, and then kept in the session."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from deepcritical_mcp.dates import current_date
from deepcritical_mcp.errors import (
    EvidenceStoreError,
    ProviderError,
    ProviderResponseError,
    SessionBusyError,
    SessionFullError,
)
from deepcritical_mcp.models import Evidence, Publication, RelatedEvidence
from deepcritical_mcp.models.screening import WITHOUT_DECISION
from deepcritical_mcp.search.asking import with_advice
from deepcritical_mcp.sources.base import Fetched, Hit, Source
from deepcritical_mcp.text import counted

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.outcomes import AddOutcome

MAX_LISTED_IDS = 10


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
    async def keep_document(self, name: str, content: str) -> None: ...


@dataclass(frozen=True)
class Kept:
    """Evidence as the session holds it now, each once; `ids` has the id of each record's evidence, in order. `new` of
    it was not in the session."""

    evidence: tuple[Evidence, ...]
    ids: tuple[str, ...]
    new: int = 0
    related: tuple[RelatedEvidence, ...] = ()
    errors: tuple[str, ...] = ()

    @property
    def merged(self) -> int:
        """How many records turned out to be the same as others."""
        return len(self.ids) - len(self.evidence)


async def known_ids(
    source: Source, ids: Sequence[str], records: Mapping[str, Hit], session: SearchSession
) -> dict[str, str]:
    """The session's id of a publication, for each of the source's ids that the session knows."""
    stubs = [records[id].publication if id in records else source.stub(id) for id in ids]
    return {id: known for id, known in zip(ids, await session.known(stubs), strict=True) if known}


async def gather(
    source: Source,
    ids: Sequence[str],
    session: SearchSession,
    *,
    records: Mapping[str, Hit],
    count: int,
    also: Sequence[str] = (),
) -> tuple[dict[str, Hit], tuple[str, ...]]:
    """The records of `ids` and, if they exist, of `also`: from `records`, from the session, and the others in one
    request; and errors that name those that are missing, because they do not exist or that request failed.

    Raises:
        ProviderError: there is no record for any of `ids`, or those of `also` could not be asked for; its `details`
            contain `count` (results in all) and the ids.
    """
    wanted = list(dict.fromkeys((*ids, *also)))
    found = {id: records[id] for id in wanted if id in records}
    if source.two_step:
        known = await known_ids(source, [id for id in wanted if id not in found], {}, session)
        held = await session.publications(list(known.values()))
        records_held = {id: held[kept] for id, kept in known.items() if kept in held and _is_good(source, held[kept])}
        # What the user decides meanwhile holds.
        plain = {id: record.model_copy(update=dict(WITHOUT_DECISION)) for id, record in records_held.items()}
        found |= {id: Hit(publication=record) for id, record in plain.items()}
    missing = [id for id in wanted if id not in found]
    if not missing or not source.two_step:
        return found, ()
    try:
        fetched = await source.fetch(missing)
    except ProviderError as error:
        if found.keys().isdisjoint(ids) or not found.keys() >= {*also}:
            raise _fetch_failure(source, error, ids, count) from error
        return found, (f"{_listed(source, missing)} could not be fetched: {with_advice(error)}",)
    found |= {id: Hit(publication=record) for id, record in fetched.records.items()}
    lost = tuple(_losses(source, [id for id in ids if id not in found], fetched))
    if ids and found.keys().isdisjoint(ids):
        raise _fetch_failure(source, ProviderResponseError(source.name, " ".join(lost)), ids, count)
    return found, lost


def _is_good(source: Source, held: Publication) -> bool:
    """Whether what the session has is the record, and not a note or a web page about the same publication, and was
    read today if much may happen to it later, e.g. to a preprint."""
    return held.is_record and (not source.witnessed or held.status_checked == current_date().isoformat())


async def keep(
    source: Source,
    hits: Sequence[Hit],
    query: str,
    session: SearchSession,
    *,
    queries: Sequence[str],
    unrelated: Sequence[str],
    records: Mapping[str, Hit],
) -> Kept:
    """Keep publications in the session, in their order, and score them against `query` unless they have scores.

    If the session cannot keep the publications, they are returned anyway, with an error. The `found_by` of the evidence
    refers to the positions of `queries`. The ids in `unrelated`, some of which are in `records`, must not appear as
    related evidence, because they were omitted on purpose.
    """
    kept, errors = [Evidence.of(hit.publication, relevance=hit.relevance) for hit in hits], list[str]()
    related: tuple[RelatedEvidence, ...] = ()
    new = 0
    try:
        outcomes = await session.add_evidence([hit.publication for hit in hits])
        publications = [outcome.publication for outcome in outcomes]
        new = sum(outcome.status == "added" for outcome in outcomes)
        scores = [hit.relevance for hit in hits] if source.scored else await session.relevance(query, publications)
        kept = [_as_kept(outcome, score) for outcome, score in zip(outcomes, scores, strict=True)]
        others = (await known_ids(source, unrelated, records, session)).values()
        related = await session.related(query, exclude={*(item.id for item in kept), *others})
    except (SessionFullError, SessionBusyError, EvidenceStoreError) as error:
        errors.append(f"The results were found, but not all could be kept: {error.message}")
    by_id: dict[str, Evidence] = {}
    numbers: dict[str, set[int]] = {}
    for item, hit in zip(kept, hits, strict=True):
        by_id.setdefault(item.id, item)
        numbers.setdefault(item.id, set()).update(queries.index(one) + 1 for one in hit.publication.found_by)
    numbered = (item.model_copy(update={"found_by": tuple(sorted(numbers[id]))}) for id, item in by_id.items())
    return Kept(tuple(numbered), tuple(item.id for item in kept), new, related, tuple(errors))


def _as_kept(outcome: AddOutcome, score: float) -> Evidence:
    similar = dict.fromkeys((*outcome.evidence.similar, *(id for id, _ in outcome.folds)))
    return outcome.evidence.model_copy(update={"similar": tuple(similar), "relevance": score})


def _losses(source: Source, missing: Sequence[str], fetched: Fetched) -> Iterator[str]:
    """Why each of `missing` is missing, one sentence each."""
    yield from (fetched.losses[id] for id in missing if id in fetched.losses)
    yield from fetched.unnamed
    if unexplained := [id for id in missing if id not in fetched.losses]:
        yield f"{source.title} sent no record for {_listed(source, unexplained)}."


def _fetch_failure(source: Source, error: ProviderError, ids: Sequence[str], count: int) -> ProviderError:
    """`error`, for a search that found ids but could not fetch their records."""
    if not ids:
        return error
    found, listed = counted(count, "record"), _listed(source, ids)
    message = f"{source.title} found {found}, but could not deliver them: {with_advice(error)} Their ids: {listed}."
    details = {**error.details, "count": count, f"{source.id_name.lower()}s": list(ids)}
    return type(error)(error.provider, message, retry_after=error.retry_after, details=details)


def _listed(source: Source, ids: Sequence[str]) -> str:
    more = f" and {len(ids) - MAX_LISTED_IDS} more" if len(ids) > MAX_LISTED_IDS else ""
    return source.named(f"{', '.join(ids[:MAX_LISTED_IDS])}{more}")
