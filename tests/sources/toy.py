"""A source in one file: what it takes to add one. `test_door.py` shows all that it gets for it."""

import math
from collections.abc import Sequence
from typing import Self

from pydantic import Field, SecretStr

from deepcritical_mcp.config import Key, OwnSettings, Settings
from deepcritical_mcp.models import NO_ABSTRACT, NO_TITLE, Publication
from deepcritical_mcp.net.client import Net
from deepcritical_mcp.sources.base import Answer, Fetched, Finding, SearchRequest, Source, SourceCheck


class ToySettings(OwnSettings):
    """The toy's key."""

    toy_api_key: Key = Field(default=SecretStr(""), description="unlocks the toy box")


class ToyRequest(SearchRequest):
    """Toys may be asked for by colour."""

    colour: str = ""


BOX = {
    "10.5555/ball": ("A red ball that rolls down hills", "Red balls roll. They roll further than blue ones.", "red"),
    "10.5555/kite": ("A blue kite that climbs in winds", "Blue kites climb. They need wind and a string.", "blue"),
    "10.5555/duck": ("A red duck that floats in most bathtubs", "Red ducks float. They were tested in a tub.", "red"),
}


class ToyBox(Source):
    """Holds three toys, found by their words; ids first, records later."""

    name = "toys"
    title = "Toy box"
    kind = "literature"
    cited_as = "web"
    request = ToyRequest
    two_step = True
    id_name = "DOI"

    def __init__(self, key: str) -> None:
        self._key = key

    @classmethod
    def create(cls, settings: Settings, net: Net) -> Self:
        return cls(settings.of(ToySettings).toy_api_key.get_secret_value())

    async def ask(self, variant: str, request: SearchRequest, *, offset: int, limit: int) -> Answer:
        assert isinstance(request, ToyRequest)
        found = [
            doi
            for doi, (title, _, colour) in BOX.items()
            if {*variant.lower().split()} & {*title.lower().split()} and request.colour in ("", colour)
        ]
        return Answer(tuple(found[offset : offset + limit]), len(found))

    async def fetch(self, ids: Sequence[str], *, within: float = math.inf) -> Fetched:
        return Fetched({doi: self._record(doi) for doi in ids})

    def stub(self, id: str) -> Publication:
        return Publication.of("abstract", NO_ABSTRACT, provider=self.name, source="web", title=NO_TITLE, doi=id)

    def checks(self) -> Sequence[SourceCheck]:
        async def examine() -> Finding:
            return Finding("opens" if self._key else "is locked", "ok" if self._key else "off")

        return (SourceCheck(self.title, examine),)

    def _record(self, doi: str) -> Publication:
        title, text, _ = BOX[doi]
        return Publication.of("abstract", text, provider=self.name, source="web", title=title, doi=doi, date="2024")
