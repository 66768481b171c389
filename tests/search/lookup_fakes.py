"""Services that know something about documents, and answer what they are told."""

from collections.abc import Mapping, Sequence

import anyio

from deepcritical_mcp.errors import ProviderError
from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.models import Publication
from deepcritical_mcp.sources.lookup import CitedPlace, PlaceLookup, RecordLookup, ReferenceLookup
from tests.uncreated import Uncreated


class FakeRecords(Uncreated, RecordLookup):
    """Has `known` records, each by a number; None hangs."""

    def __init__(
        self,
        name: str,
        known: Mapping[str, Publication] | ProviderError | None,
        *,
        takes: str = "pmid pmcid doi",
        remarks: Mapping[str, str] | None = None,
    ) -> None:
        self.name = self.title = name
        self.asked: list[Sequence[RecordIds]] = []
        self._known, self._takes, self._remarks = known, takes.split(), remarks or {}

    def accepts(self, ids: RecordIds) -> bool:
        return any(getattr(ids, name) for name in self._takes)

    async def records(self, wanted: Sequence[RecordIds]) -> Sequence[Publication | str]:
        self.asked.append(wanted)
        if self._known is None:
            await anyio.sleep_forever()
        if isinstance(self._known, ProviderError):
            raise self._known
        known: Mapping[str, Publication] = self._known or {}
        answers: Mapping[str, Publication | str] = {**self._remarks, **known}
        return [next((answers[number] for number in ids if number in answers), "") for ids in wanted]


class FakeReferences(Uncreated, ReferenceLookup):
    """Names the same candidates for every reference."""

    def __init__(self, name: str, *candidates: Publication | RecordIds, error: ProviderError | None = None) -> None:
        self.name = self.title = name
        self.asked: list[str] = []
        self._candidates, self._error = candidates, error

    async def match(self, reference: str) -> Sequence[Publication | RecordIds]:
        self.asked.append(reference)
        if self._error:
            raise self._error
        return self._candidates


class FakePlaces(Uncreated, PlaceLookup):
    """Knows what stands on a first page."""

    name = title = "places"

    def __init__(self, known: Mapping[str, str]) -> None:
        self.asked: list[Sequence[CitedPlace]] = []
        self._known = known

    async def at_places(self, places: Sequence[CitedPlace]) -> Sequence[str]:
        self.asked.append(places)
        return [self._known.get(one.first_page, "") for one in places]
