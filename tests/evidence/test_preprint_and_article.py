"""A preprint and its article in one session: two publications, linked by the numbers in their notices."""

from typing import Any

import pytest

from deepcritical_mcp.config import Settings
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.models import Publication, StatusNotice
from deepcritical_mcp.reading import Section
from tests.evidence.stand_ins import Registries, paper
from tests.publications import published

ABSTRACT = "Zinc was given to adults with common warts, and half of them went away within two months of treatment."
TITLE = "Zinc for common warts in adults: a randomised trial"


@pytest.fixture
async def store(registries: Registries) -> EvidenceStore:
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


@each_pair
async def test_a_batch_links_them_too(pair: tuple[Publication, Publication], store: EvidenceStore) -> None:
    first, second = await store.add_evidence(pair)
    assert first.evidence.similar == (second.evidence.id,)
    assert second.evidence.similar == (first.evidence.id,)


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
