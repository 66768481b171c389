"""Whatever a provider of full texts sends: an answer, or a ProviderError."""

import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import anyio
import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.errors import ProviderError
from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.models import Publication
from deepcritical_mcp.net.client import RetryPolicy
from deepcritical_mcp.sources.lookup import Copy, Wanted
from tests.sources import full_text_wire as wire

ONCE = RetryPolicy(attempts=1)
WANTED = Wanted(RecordIds(pmid="31000001", pmcid="PMC9000001", doi="10.5555/zinc"))
TRIAL = Wanted(RecordIds(nct="NCT09000001"))
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=8)
    | st.just("2021-13-45"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def spoiled(draw: st.DrawFn, whole: Any) -> Any:
    """The value with some of its fields replaced by anything."""
    if draw(st.integers(0, 9)) == 0:
        return draw(JSON)
    if isinstance(whole, dict):
        return {name: draw(spoiled(value)) for name, value in whole.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(whole, list):
        return [draw(spoiled(value)) for value in whole]  # pyright: ignore[reportUnknownVariableType]
    return whole


def asked(
    answer: Callable[[httpx.Request], httpx.Response], ask: Callable[[httpx.AsyncClient], Awaitable[object]]
) -> object:
    """What `ask` returns when the network answers like this; None after a ProviderError."""

    async def run() -> object:
        async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http:
            with suppress(ProviderError):
                return await ask(http)
        return None

    return anyio.run(run)


def as_publication(copy: object) -> None:
    """What is read can be kept."""
    if isinstance(copy, Copy) and copy.reading:
        fields = {"source": "pubmed", "title": "", **copy.reading.fields}
        Publication.of("full_text", copy.reading.content or "x", provider="x", **fields)


@given(spoiled(wire.preprint(commentCorrectionList={"commentCorrection": [{"id": "1", "type": "Preprint of"}]})))
def test_any_record_of_europe_pmc(row: Any):
    payload = {"hitCount": 1, "resultList": {"result": [row, wire.hit()]}}

    def answer(request: httpx.Request) -> httpx.Response:
        is_text = request.url.path.endswith("fullTextXML")
        return httpx.Response(404) if is_text else httpx.Response(200, text=json.dumps(payload))

    as_publication(asked(answer, lambda http: wire.make_europe_pmc("http://x.example", http, ONCE).read(WANTED)))


FULL_STUDY = wire.study(
    referencesModule={"references": [{"pmid": "1", "type": "RESULT", "citation": "Ruiz A."}]},
    eligibilityModule={"eligibilityCriteria": "* adults\n* children", "healthyVolunteers": True},
    outcomesModule={"primaryOutcomes": [{"measure": "Wounds", "timeFrame": "1 week"}]},
)
GROUP = {"id": "OG000", "title": "Zinc"}
CELL = {"groupId": "OG000", "value": "1", "numSubjects": "2", "numAffected": 1, "numAtRisk": 9}
FULL_STUDY["resultsSection"] = {
    "participantFlowModule": {"groups": [GROUP], "periods": [{"milestones": [{"type": "X", "achievements": [CELL]}]}]},
    "outcomeMeasuresModule": {
        "outcomeMeasures": [
            {
                "title": "Wounds",
                "groups": [GROUP],
                "denoms": [{"units": "Participants", "counts": [CELL]}],
                "classes": [{"categories": [{"measurements": [CELL]}]}],
                "analyses": [{"groupIds": ["OG000"], "pValue": "0.1"}],
            }
        ]
    },
    "adverseEventsModule": {"eventGroups": [GROUP], "seriousEvents": [{"term": "Sepsis", "stats": [CELL]}]},
}


PAYLOADS: dict[str, tuple[object, Callable[[httpx.AsyncClient], Awaitable[object]]]] = {
    "trial": (FULL_STUDY, lambda http: wire.make_trials("http://x.example", http, ONCE).read(TRIAL)),
    "unpaywall": (wire.located(), lambda http: wire.make_unpaywall("http://x.example", http, ONCE).read(WANTED)),
    "id converter": (
        {"status": "ok", "records": [{"requested-id": "31000001", "pmid": 31000001, "pmcid": "PMC9000001"}]},
        lambda http: wire.make_converter("http://x.example", http, ONCE).convert([RecordIds(pmid="31000001")]),
    ),
}


@pytest.mark.parametrize("name", PAYLOADS)
@given(st.data())
def test_any_payload(name: str, data: st.DataObject):
    whole, ask = PAYLOADS[name]
    body = json.dumps(data.draw(spoiled(whole)))
    as_publication(asked(lambda _: httpx.Response(200, text=body), ask))


TAGS = st.sampled_from(
    """<article> </article> <front> <body> </body> <p> </p> <Reply error=' <Reply\terror=" <error> </pmc-articleset>
    <pmc-articleset> <errorBean><errCode>5</errCode><errMsg> &nbsp; zinc PMC1""".split(" ")
)


@given(st.lists(TAGS | st.text(max_size=5), max_size=12).map("".join), st.booleans())
def test_any_xml(text: str, is_closed: bool):
    body = f"{text}{'</article></pmc-articleset>' if is_closed else ''}".encode("utf-8", "replace")

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("search"):
            payload = {"hitCount": 1, "resultList": {"result": [wire.hit()]}}
            return httpx.Response(200, text=json.dumps(payload))
        return httpx.Response(200, content=body)

    as_publication(asked(answer, lambda http: wire.make_pmc("http://x.example", http, ONCE).read(WANTED)))
    as_publication(asked(answer, lambda http: wire.make_europe_pmc("http://x.example", http, ONCE).read(WANTED)))
