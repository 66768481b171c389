"""What the user decided about evidence stays with it, wherever sessions are kept, until it is decided otherwise."""

from typing import Any

import pytest

from deepcritical_mcp.config import Settings
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.models import Publication, ScreeningMark, StatusNotice, decision_line
from tests.evidence.stand_ins import Registries
from tests.publications import published

NO_CONTROLS = ScreeningMark("pubmed:7", "excluded", "no controls", ("rct",))
RETRACTED: dict[str, Any] = {
    "status": "retracted",
    "status_notices": (StatusNotice(kind="retraction", doi="10.5555/notice", reference="Retraction Watch"),),
    "status_checked": "2026-01-02",
}
LINE = "excluded: no controls; tags: rct"


def paper(content: str = "Zinc closed the wounds of 12 of 20 people.", **fields: Any) -> Publication:
    known = {"source": "pubmed", "title": "Zinc in wound repair of adults", "pmid": "7", "doi": "10.5555/zinc"}
    return published(content, **known | fields)


def copper(**fields: Any) -> Publication:
    return paper("Copper in bones.", **{"pmid": "8", "doi": "10.5555/copper", "title": "Copper in old bones"} | fields)


def note(content: str, **fields: Any) -> Publication:
    return Publication.of("note", content, provider="user", source="user", title=content, **fields)


async def decisions(store: EvidenceStore) -> dict[str, str]:
    found = await store.publications(await store.ids())
    return {id: decision_line(one) for id, one in found.items()}


async def test_a_decision_and_a_status_outlast_the_process(lasting_place: Settings, registries: Registries) -> None:
    """They change alone: texts, vectors, links and ids stay."""
    registry = registries(lasting_place)
    store = await registry.open()
    await store.add_evidence([paper(status_checked="2024-01-01"), copper()])
    before = await store.search_similar("zinc for wounds")
    (held,) = (await store.publications(["pubmed:7"])).values()
    await store.set_statuses([held.model_copy(update={**RETRACTED, "title": "Another title"})])
    (decided,) = await store.decide([NO_CONTROLS])
    assert decided
    assert [one.screening for one in decided] == ["", "excluded"]
    assert decided[1].screened
    await registry.aclose()
    store = await registries(lasting_place).get(store.session_id)
    assert await decisions(store) == {"pubmed:7": LINE, "pubmed:8": ""}
    kept = await store.publications(["pubmed:7", "pubmed:8"])
    assert {name: getattr(kept["pubmed:7"], name) for name in RETRACTED} == RETRACTED
    assert (kept["pubmed:7"].title, kept["pubmed:8"].status) == (held.title, "unchecked")
    after = await store.search_similar("zinc for wounds")
    assert [(one.id, one.relevance) for one in after] == [(one.id, one.relevance) for one in before]
    assert after[0].decision == LINE, "a search shows what was excluded, and says so"


async def test_a_decision_about_a_note_or_a_text_is_about_the_publication(registries: Registries) -> None:
    store = await registries(Settings()).open()
    on_paper, alone = note("Check their controls.", pmid="7"), note("Zinc matters to me.")
    await store.add_evidence([paper(), on_paper, alone])
    (about,) = await store.decide([ScreeningMark(on_paper.id, "excluded", "no controls", ("rct",))])
    assert about
    assert [one.id for one in about] == ["pubmed:7", "pubmed:7"]
    await store.decide([ScreeningMark("pubmed:7~1", tags=("later",)), ScreeningMark(alone.id, "cited")])
    found = await decisions(store)
    assert found == {"pubmed:7": "excluded: no controls; tags: later", on_paper.id: "", alone.id: "cited"}


async def test_processes_see_each_others_decisions_and_removals(
    lasting_place: Settings, registries: Registries
) -> None:
    settings = lasting_place
    one, other = registries(settings), registries(settings)
    store = await one.open()
    await store.add_evidence([paper(), copper()])
    same = await other.get(store.session_id)
    assert await same.count() == 2
    await store.decide([NO_CONTROLS])
    await same.decide([ScreeningMark("pubmed:8", "included"), ScreeningMark("pubmed:7", tags=("adults",))])
    expected = {"pubmed:7": "excluded: no controls; tags: adults", "pubmed:8": "included"}
    assert await decisions(store) == await decisions(same) == expected
    await store.remove(["pubmed:7"])
    assert await decisions(same) == {"pubmed:8": "included"}
    await same.restore()
    assert await decisions(store) == await decisions(same) == expected
    await store.remove(["pubmed:8"])
    await store.add_evidence([paper(pmid="9", doi="10.1/9", title="Iron")])
    assert await same.ids() == await store.ids()
    third = await registries(settings).get(store.session_id)
    assert await third.ids() == await store.ids()


async def test_what_was_removed_is_gone_and_comes_back_as_it_was(place: Settings, registries: Registries) -> None:
    registry = registries(place)
    store = await registry.open()
    await store.add_evidence([paper(), paper("A longer text about zinc.", journal="Wounds"), copper()])
    await store.decide([NO_CONTROLS])
    (before,) = (await store.publications(["pubmed:7"])).values()
    gone = await store.remove(["doi:10.5555/zinc", "pubmed:7", "pubmed:99"])
    assert [one.id for one in gone] == ["pubmed:7"]
    assert await store.ids() == ["pubmed:8"]
    assert [one.id for one in await store.search_similar("zinc for wounds")] == ["pubmed:8"]
    assert [one.id for one in await store.restore()] == ["pubmed:7"]
    (after,) = (await store.publications(["pubmed:7"])).values()
    assert after == before
    assert (await store.search_similar("zinc for wounds"))[0].id == "pubmed:7"
    assert await store.restore() == [], "it has come back already"


@pytest.mark.parametrize("later", [False, True])
async def test_nothing_is_similar_to_what_another_publication_was(
    place: Settings, registries: Registries, later: bool
) -> None:
    store = await registries(place).open()
    await store.add_evidence(
        [paper(doi="", pmid="", title=f"Wounds, page {name}", url=f"https://{name}.example.org") for name in "ab"]
    )

    async def links() -> dict[str, tuple[str, ...]]:
        return {one.id: one.similar for one in await store.page(0, 2)}

    gone, stays = sorted(await store.ids(), reverse=later)
    before = await links()
    assert before == {gone: (stays,), stays: (gone,)}
    await store.remove([gone])
    assert await links() == {stays: ()}
    await store.restore()
    assert await links() == before
    (removed,) = await store.remove([gone])
    other = paper("Salmon swim up the rivers in autumn.", doi="", pmid="", title="Salmon", url=removed.url)
    assert [one.publication.id for one in await store.add_evidence([other])] == [gone]
    assert await links() == {gone: (), stays: ()}


async def test_what_is_found_again_keeps_its_decision(place: Settings, registries: Registries) -> None:
    store = await registries(place).open()
    await store.add_evidence([paper()])
    await store.decide([NO_CONTROLS])
    again = [
        paper(),
        paper(status="retracted", status_checked="2026-02-02"),
        paper(pmid="", journal="Wounds"),
        paper("A longer text that says what zinc did to all of the wounds.", journal="Wounds"),
        published("Zinc as a page tells it.", source="web", title="Zinc in wound repair of adults", doi="10.5555/zinc"),
    ]
    for one in again:
        (outcome,) = await store.add_evidence([one])
        assert outcome.status == "duplicate"
        assert outcome.evidence.decision == LINE
    assert await store.count() == 1
    await store.decide([ScreeningMark("doi:10.5555/zinc", "undecided", tags=())])
    await store.add_evidence(again)
    assert await decisions(store) == {"pubmed:7": ""}


async def test_each_publication_keeps_the_decision_if_a_merge_turns_out_to_be_wrong(registries: Registries) -> None:
    store = await registries(Settings()).open()
    await store.add_evidence([paper(pmid=""), paper("Zinc, as the other index has it.", doi="")])
    ids = await store.ids()
    await store.decide([ScreeningMark(id, "included", "large") for id in ids])
    await store.add_evidence([paper(pmid="9", title="Zinc in wound repair of children", doi="10.5555/zinc")])
    found = await decisions(store)
    assert "included: large" in found.values()
    assert len(found) >= len(ids)


async def test_what_was_found_again_meanwhile_gets_its_decision_back(registries: Registries) -> None:
    store = await registries(Settings()).open()
    await store.add_evidence([paper()])
    await store.decide([NO_CONTROLS])
    await store.remove(["pubmed:7"])
    await store.add_evidence([paper(journal="Wounds")])
    assert await decisions(store) == {"pubmed:7": ""}
    await store.restore(["pubmed:7"])
    assert await decisions(store) == {"pubmed:7": LINE}
