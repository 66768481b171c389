"""A registry of trials on loopback, which answers as ClinicalTrials.gov does; and a server that searches it at once."""

import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp.client import Client

from deepcritical_mcp.config import Settings
from deepcritical_mcp.net.client import Net
from deepcritical_mcp.sources import SourceRow
from deepcritical_mcp.sources.settings import TrialsSettings
from deepcritical_mcp.sources.trials.services import ClinicalTrials, TrialRecords, Trials
from tests.fakes import served
from tests.net.stand_in import Answer, Asked, StandIn, stand_in
from tests.sources.full_text_wire import as_json, make_trials_client, study
from tests.wire import wire

SETTINGS = "deepcritical_mcp.sources.settings:TrialsSettings"
BRACKETS = (
    "Error parsing query in Other terms: no viable alternative at input 'zinc ['\n"
    "mismatched input '[' expecting {<EOF>, '(', ',', 'NOT', 'AND', 'OR', 'AREA'}"
)


class Quick:
    """A service without its spacing."""

    @classmethod
    def create(cls, settings: Settings, net: Net) -> Any:
        client = make_trials_client(settings.of(TrialsSettings).clinicaltrials_base_url, net.http)
        return cls(client)  # pyright: ignore[reportCallIssue]


class QuickTrials(Quick, Trials): ...


class QuickClinicalTrials(Quick, ClinicalTrials): ...


class QuickTrialRecords(Quick, TrialRecords): ...


def trial(number: int, title: str = "", **modules: object) -> dict[str, object]:
    """Study NCT0900000<number>, whose former number is none."""
    nct = f"NCT{9_000_000 + number:08}"
    names = {"nctId": nct, "briefTitle": title or f"Zinc for wounds, study {number}"}
    own = {"identificationModule": names, "statusModule": {"overallStatus": "COMPLETED"}}
    return study(**(own | modules))


def nct(one: Mapping[str, Any]) -> str:
    return one["protocolSection"]["identificationModule"]["nctId"]


def aliases(one: Mapping[str, Any]) -> list[str]:
    return one["protocolSection"]["identificationModule"].get("nctIdAliases", [])


def listed(*studies: Mapping[str, object], total: int | None = None) -> Answer:
    """A page of a search."""
    counted = {} if total is None else {"totalCount": total}
    return as_json({"studies": list(studies), **counted})


def registry(*studies: Mapping[str, Any]) -> Any:
    """What answers for a registry that has these studies and finds all of them."""

    def answer(asked: Asked) -> Answer:
        path, query = asked.path, asked.query
        if "NCT" in path:
            found = [one for one in studies if path.endswith((nct(one), *aliases(one)))]
            return as_json(found[0]) if found else Answer(404, b"NCT number not found", "text/plain")
        if re.search(r"[\[\]]", query.get("query.term", "")):
            return Answer(400, BRACKETS.encode(), "text/plain")
        ids = [one for one in query.get("filter.ids", "").split(",") if one]
        found = [one for one in studies if not ids or {nct(one), *aliases(one)} & {*ids}]
        page = found[: int(query["pageSize"])]
        # Nothing that was not asked for.
        shown = page if ids else [_only_numbers(one) for one in page]
        return listed(*shown, total=len(found) if query.get("countTotal") == "true" else None)

    return answer


def _only_numbers(one: Mapping[str, Any]) -> dict[str, object]:
    names = {"nctId": nct(one), "nctIdAliases": aliases(one)}
    return {"protocolSection": {"identificationModule": names}, "derivedSection": one["derivedSection"]}


@dataclass(frozen=True)
class Desk:
    """A client of our server, and the registry that it searches."""

    client: Client
    registry: StandIn

    async def call(self, tool: str, **arguments: object) -> tuple[str, dict[str, Any]]:
        """Both forms of a tool's result, which must not be an error."""
        text, structured = await self.refused(tool, **arguments)
        assert "error" not in structured, text
        return text, structured

    async def refused(self, tool: str, **arguments: object) -> tuple[str, dict[str, Any]]:
        """Both forms of a tool's result."""
        result = await self.client.call_tool(tool, arguments)
        text = "".join(getattr(block, "text", "") for block in result.content)
        return text, wire(result)


@asynccontextmanager
async def desk(folder: Path, *studies: Mapping[str, Any]) -> AsyncGenerator[Desk]:
    """A server that searches a registry with these studies."""
    own = "tests.sources.trials.registry"
    rows = (SourceRow(f"{own}:QuickTrials", SETTINGS),)
    full_texts = (SourceRow(f"{own}:QuickClinicalTrials", SETTINGS),)
    lookups = (SourceRow(f"{own}:QuickTrialRecords", SETTINGS),)
    async with stand_in() as played:
        played.answer = registry(*studies)
        settings = Settings(cache_dir=folder, clinicaltrials_base_url=f"{played.url}/api/v2")
        async with served(settings, sources=rows, full_texts=full_texts, lookups=lookups) as (client, _):
            yield Desk(client, played)
