"""A preprint and its article in one session: two publications, linked by the numbers in their notices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from deepcritical_mcp.config import Settings
from deepcritical_mcp.evidence.sessions import SessionRegistry
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.models import Publication, StatusNotice
from deepcritical_mcp.reading import Section
from tests.evidence.stand_ins import paper
from tests.publications import published

ABSTRACT = "Zinc was given to adults with common warts, and half of them went away within two months of treatment."
TITLE = "Zinc for common warts in adults: a randomised trial"


@pytest.fixture
async def store(registries: Callable[[Settings], SessionRegistry]) -> EvidenceStore:
    return await registries(Settings()).open()


def draft(*notices: StatusNotice, **fields: str) -> Publication:
    known: dict[str, Any] = {
        "title": TITLE,
        "doi": "10.64898/2026.01.02.26300001",
        "preprint_number": "PPR500001",
        "publisher": "medRxiv",
        "date": "2026-01-02",
        "status_notices": notices,
    }
    return published(ABSTRACT, source="preprint", provider="europepmc", **known | fields)


def article(*notices: StatusNotice, **fields: str) -> Publication:
    known: dict[str, Any] = {
        "title": TITLE,
        "pmid": "32000001",
        "doi": "10.5555/warts",
        "journal": "J Made-up Res",
        "date": "2026-09-01",
        "status_notices": notices,
    }
    return published(ABSTRACT, source="pubmed", **known | fields)


def as_published(by: str) -> StatusNotice:
    return StatusNotice(kind="published", **{by: {"pmid": "32000001", "doi": "10.5555/WARTS"}[by]})


PAIRS = {
    "the preprint names the PMID": (draft(as_published("pmid")), article()),
    "the preprint names the DOI": (draft(as_published("doi")), article()),
    "the article names the preprint's DOI": (
        draft(),
        article(StatusNotice(kind="preprint", doi="10.64898/2026.01.02.26300001")),
    ),
    "the article names the number in Europe PMC": (
        draft(doi="", url="https://europepmc.org/article/PPR/PPR500001"),
        article(StatusNotice(kind="preprint", reference="Preprint PPR500001 in Europe PMC")),
    ),
    "both have one DOI": (draft(as_published("pmid"), doi="10.5555/warts"), article()),
    "the preprint has no DOI": (draft(as_published("pmid"), doi="", url="https://example.org/p"), article(doi="")),
}
each_pair = pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
each_order = pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["preprint first", "article first"])


@each_order
@each_pair
async def test_they_are_two_and_linked_both_ways(
    pair: tuple[Publication, Publication], order: tuple[int, int], store: EvidenceStore
) -> None:
    for number in order:
        await store.add_evidence([pair[number]])
    ids = await store.ids()
    assert len(ids) == 2
    shown = await store.get(ids)
    assert [shown[id].similar for id in ids] == [(ids[1],), (ids[0],)]


@each_pair
async def test_a_batch_links_them_too(pair: tuple[Publication, Publication], store: EvidenceStore) -> None:
    first, second = await store.add_evidence(pair)
    assert first.evidence.similar == (second.evidence.id,)
    assert second.evidence.similar == (first.evidence.id,)


@each_order
async def test_a_search_shows_the_article(order: tuple[int, int], store: EvidenceStore) -> None:
    pair = draft(as_published("pmid"), title="Zinc against warts"), article(title="A trial in adults")
    for number in order:
        await store.add_evidence([pair[number]])
    await store.add_evidence([published("Copper strengthens bones.", source="pubmed", title="Copper", pmid="2")])
    for question in ("zinc against warts", "a trial in adults"):
        found = await store.search(question)
        assert [item.id for item in found.evidence if item.id != "pubmed:2"] == ["pubmed:32000001"]
        assert "doi:10.64898/2026.01.02.26300001" in found.evidence[0].similar


async def test_a_preprint_without_its_article_is_shown(store: EvidenceStore) -> None:
    await store.add_evidence([draft(as_published("pmid"))])
    assert len((await store.search("zinc against warts")).evidence) == 1


async def test_what_only_the_preprint_says_in_full_is_still_found(store: EvidenceStore) -> None:
    text = paper([Section("s1", ["Nausea was common with gluconate."], path=("Results",))], TITLE, abstract=ABSTRACT)
    full = draft(as_published("pmid")).model_copy(update={"texts": text.texts})
    await store.add_evidence([full, article()])
    found = await store.search("nausea with gluconate", max_results=5)
    assert {item.id.partition("~")[0] for item in found.evidence} == {
        "pubmed:32000001",
        "doi:10.64898/2026.01.02.26300001",
    }
    assert found.evidence[0].content == "Nausea was common with gluconate."


async def test_a_note_on_the_article_is_not_another_version_of_it(store: EvidenceStore) -> None:
    note = published("Read this again.", source="user", provider="user", title="Note", pmid="32000001")
    await store.add_evidence([draft(as_published("pmid")), note])
    shown = await store.get(await store.ids())
    assert [one.similar for one in shown.values()] == [(), ()]


@each_order
async def test_a_link_that_becomes_known_later_links_them(order: tuple[int, int], store: EvidenceStore) -> None:
    pair = draft(title="Zinc against warts"), article(title="A trial in adults", date="2026-05-02")
    await store.add_evidence([pair[number] for number in order])
    await store.add_evidence([draft(as_published("pmid"), title="Zinc against warts")])
    shown = await store.get(await store.ids())
    assert all(len(one.similar) == 1 for one in shown.values())


async def test_the_links_are_there_when_a_kept_session_is_opened_again(
    lasting_place: Settings, registries: Callable[[Settings], SessionRegistry]
) -> None:
    first = registries(lasting_place)
    kept = await first.open()
    await kept.add_evidence([draft(as_published("doi")), article()])
    await first.aclose()
    again = await registries(lasting_place).get(kept.session_id)
    assert all(len(one.similar) == 1 for one in (await again.get(await again.ids())).values())
