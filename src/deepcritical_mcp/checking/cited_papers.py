"""What a draft cites, kept in its session beside the evidence: read together with it, and no part of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from anyio.to_thread import run_sync

from deepcritical_mcp.identifiers import normalize_doi
from deepcritical_mcp.models import Publication, Text, merged, split_text_id
from deepcritical_mcp.search.witness import status_fields

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.store import EvidenceStore


CITED = "cited-paper:"
"""The names of the documents of a session that are papers which a draft cites begin so."""
MAX_OTHERS = 1_000
"""Publications of a session in which a quotation is looked for that does not stand where the draft says."""


class KeptPaper(NamedTuple):
    """A paper as it is kept now."""

    publication: Publication


class CitedPapers:
    """A session's evidence and the papers that its draft cites, as one store to the check: its methods are named as
    those of `EvidenceStore`. What they add is no evidence: it is kept beside the evidence when `keep` is called. Only
    statuses are written to the evidence itself."""

    def __init__(self, session: EvidenceStore, papers: Mapping[str, Publication]) -> None:
        self._session = session
        self._papers = dict(papers)
        self._kept = dict(papers)
        self.session_id = session.session_id

    @classmethod
    async def of(cls, session: EvidenceStore) -> CitedPapers:
        """A session's evidence with the cited papers that it has kept."""
        documents = await session.documents(CITED)
        read = [await run_sync(Publication.model_validate_json, one) for one in documents.values()]
        return cls(session, {one.id: one for one in read})

    async def keep(self) -> None:
        """Keep the new and changed cited papers; raises the errors of `EvidenceStore`."""
        for id, paper in self._papers.items():
            if self._kept.get(id) != paper:
                await self._session.keep_document(f"{CITED}{id}", paper.model_dump_json(exclude_defaults=True))
                self._kept[id] = paper

    async def beside(self, ids: Sequence[str]) -> set[str]:
        """Those of `ids` that are not evidence of the session."""
        return {*ids} - (await self._session.publications(ids)).keys()

    async def publications(self, ids: Sequence[str]) -> dict[str, Publication]:
        """Evidence and cited papers by id; one that is both is the evidence, with the texts that only the other has."""
        held = await self._session.publications(ids)
        both = {id: _with_texts(one, self._papers[one.id]) for id, one in held.items() if one.id in self._papers}
        return {id: self._papers[id] for id in ids if id in self._papers} | held | both

    async def known(self, publications: Sequence[Publication]) -> list[str]:
        """For each publication, its id in the session or beside it; "" if it is in neither."""
        names = {number: one.id for one in self._papers.values() for number in _numbers(one)}
        found = zip(await self._session.known(publications), publications, strict=True)
        return [id or next((names[each] for each in _numbers(one) if each in names), "") for id, one in found]

    async def add_evidence(self, publications: Sequence[Publication]) -> tuple[KeptPaper, ...]:
        """Note these as cited, not as evidence, each merged with what is known of it, under the id that it has."""
        ids = [id or one.id for id, one in zip(await self._session.known(publications), publications, strict=True)]
        evidence, held = await self._session.publications(ids), await self.publications(ids)
        kept = [merged(held[id], one) if id in held else one for id, one in zip(ids, publications, strict=True)]
        changed = [one for one in kept if one.id in evidence and status_fields(one) != status_fields(evidence[one.id])]
        if changed:
            await self._session.set_statuses(changed)
        for one in kept:
            if one.id not in evidence or len(one.texts) > len(evidence[one.id].texts):
                self._papers[one.id] = without_notes(one)
        return tuple(map(KeptPaper, kept))

    async def set_statuses(self, publications: Sequence[Publication]) -> None:
        """Write the status of publications as these have it, and nothing else."""
        await self._session.set_statuses(publications)
        for one in publications:
            if paper := self._papers.get(one.id):
                told = {"status_notices": one.status_notices}
                self._papers[one.id] = paper.with_status(one.status, one.status_checked, **told)

    async def text(self, id: str) -> tuple[Publication, Text] | None:
        """The text with that id (see `Publication.id_of`), and its publication."""
        base, _ = split_text_id(id)
        publication = (await self.publications([base])).get(base)
        text = publication and publication.text_with(id)
        return (publication, text) if publication and text else None

    async def keep_document(self, name: str, content: str) -> None:
        """See `EvidenceStore.keep_document`."""
        await self._session.keep_document(name, content)

    async def others(self) -> list[Publication]:
        """The latest evidence of the session, without the user's notes."""
        held = await self._session.publications((await self._session.ids())[-MAX_OTHERS:])
        return [without_notes(one) for one in held.values() if not one.is_note]


def _numbers(publication: Publication) -> Iterator[tuple[str, str]]:
    own = publication.own_ids._asdict() | {"doi": normalize_doi(publication.doi)}
    return (one for one in own.items() if one[1])


def _with_texts(evidence: Publication, paper: Publication) -> Publication:
    kinds = {one.kind for one in evidence.texts}
    more = (one for one in paper.texts if one.kind not in kinds)
    return evidence.model_copy(update={"texts": (*evidence.texts, *more)})


def without_notes(publication: Publication) -> Publication:
    """The publication without the user's notes on it."""
    texts = tuple(one for one in publication.texts if one.kind != "note")
    return publication.model_copy(update={"texts": texts})
