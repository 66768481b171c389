"""The status of stored publications changes alone: texts, vectors, links and ids stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deepcritical_mcp.config import Settings
from deepcritical_mcp.evidence.sessions import SessionRegistry
from deepcritical_mcp.models import Publication, StatusNotice
from tests.publications import published

Registries = Callable[[Settings], SessionRegistry]

TEXT = "Zinc closed the wounds of 12 of 20 people in this trial of wound repair."
RETRACTED: dict[str, Any] = {
    "status": "retracted",
    "status_notices": (StatusNotice(kind="retraction", doi="10.5555/notice", reference="Retraction Watch"),),
    "status_checked": "2026-01-02",
}


def paper(content: str = TEXT, **fields: Any) -> Publication:
    known = {"source": "pubmed", "title": "Zinc in wound repair of adults", "pmid": "7", "doi": "10.5555/zinc"}
    known |= {"status_checked": "2024-01-01"}
    return published(content, **known | fields)


async def test_a_status_that_is_set_outlasts_the_process(lasting_place: Settings, registries: Registries):
    registry = registries(lasting_place)
    store = await registry.open()
    await store.add_evidence([paper(), paper("Copper.", pmid="8", doi="10.5555/copper", title="Copper in old bones")])
    before = await store.search_similar("zinc for wounds")
    (held,) = (await store.publications(["pubmed:7"])).values()
    await store.set_statuses([held.model_copy(update={**RETRACTED, "title": "Another title"})])
    await registry.aclose()
    store = await registries(lasting_place).get(store.session_id)
    (kept,) = (await store.publications(["pubmed:7"])).values()
    assert {name: getattr(kept, name) for name in RETRACTED} == RETRACTED
    assert kept.title == "Zinc in wound repair of adults"
    after = await store.search_similar("zinc for wounds")
    assert [(one.id, one.relevance) for one in after] == [(one.id, one.relevance) for one in before]
    assert (await store.publications(["pubmed:8"]))["pubmed:8"].status == "ok"
