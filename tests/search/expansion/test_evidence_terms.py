from __future__ import annotations

from deepcritical_mcp.config import Settings
from deepcritical_mcp.evidence.embedding.service import EmbeddingService
from deepcritical_mcp.evidence.sessions import SessionRegistry
from deepcritical_mcp.evidence.storage import open_backend
from deepcritical_mcp.models import Evidence
from deepcritical_mcp.search.expansion.evidence_terms import EvidenceView, distinctive_terms, read_evidence
from deepcritical_mcp.search.expansion.expander import QueryExpander
from tests.search.expansion.session_fakes import NEUROPROTECTION, fake_store, page, paper


async def test_terms_common_in_the_whole_session_tell_little():
    everywhere = [
        paper(number, f"Sepsis {number}", "Sepsis.", mesh=["Sepsis", "Cytokines"], keywords=["intensive care"])
        for number in range(4)
    ]
    special = [
        paper(10 + number, f"Sepsis and lactate {number}", "Lactate in sepsis.", mesh=["Sepsis", "Lactic Acid"])
        for number in range(2)
    ]
    close = [Evidence.of(paper, relevance=0.6) for paper in (*special, everywhere[0])]
    terms = distinctive_terms("sepsis lactate", close, list(map(Evidence.of, (*everywhere, *special))), {})
    assert terms[0].term == "Lactic Acid"
    assert "Sepsis" not in {term.term for term in terms}


async def test_what_the_query_has_in_another_form_is_no_term():
    view = await read_evidence("metformin Alzheimer diseases", fake_store(NEUROPROTECTION))
    terms = {term.term.casefold() for term in view.terms}
    assert not terms & {"metformin", "alzheimer disease"}
    assert view.abbreviations["AMPK"] == "AMP-activated protein kinase"
    known = await read_evidence("metformin AMPK alzheimer", fake_store(NEUROPROTECTION))
    assert not {"amp-activated protein kinases", "ampk activation"} & {term.term.casefold() for term in known.terms}


async def test_evidence_far_from_the_topic_is_not_used_and_one_near_it_is_enough():
    assert (await read_evidence("zebrafish fin regeneration", fake_store(NEUROPROTECTION))).terms == ()
    view = await read_evidence("metformin alzheimer", fake_store(NEUROPROTECTION[:1]))
    assert {"neuroprotection", "ampk activation"} <= {term.term.casefold() for term in view.terms}


async def test_a_large_session_is_sampled():
    many = [page(f"https://example.org/{number}", f"Topic {number}", f"Text {number}.") for number in range(1_200)]
    view = await read_evidence("metformin alzheimer", fake_store([*many, *NEUROPROTECTION]))
    ampk = next(term for term in view.terms if "AMPK" in term.term)
    assert "AMP-Activated Protein Kinases" in ampk.names
    assert len(ampk.evidence_ids) == 2


async def test_with_an_uncalibrated_model_the_session_proposes_no_terms() -> None:
    store = fake_store(NEUROPROTECTION, calibration=None)
    assert await read_evidence("metformin alzheimer", store) == EvidenceView()


async def test_a_real_session_on_metformin_and_alzheimer_talks_of_ampk_activation_and_neuroprotection():
    settings = Settings()
    embedder = EmbeddingService(settings)
    sessions = SessionRegistry(settings, embedder, open_backend(settings))
    try:
        store = await sessions.open()
        await store.add_evidence(NEUROPROTECTION)
        expansion = await QueryExpander(settings, None).expand("metformin alzheimer", store=store)
    finally:
        await sessions.aclose()
        embedder.close()
    assert expansion.session_id == store.session_id
    talked_of = {one.term.casefold() for one in expansion.concepts if one.kind == "evidence"}
    assert {"ampk activation", "neuroprotection"} <= talked_of
    assert "cholesterol" not in talked_of
