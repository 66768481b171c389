"""The blocks that find a concept by all its names."""

from __future__ import annotations

from collections.abc import Mapping

import httpx
import pytest

from tests.search.expansion.conftest import Ask
from tests.search.expansion.ncbi_stand_in import LIBRARY, NcbiStandIn, Record
from tests.search.expansion.queries import finds, is_well_formed
from tests.search.expansion.session_fakes import fake_store, paper
from tests.sources.ncbi import article, efetch


def terms(block: str) -> set[str]:
    return {*block.removeprefix("(").removesuffix(")").split(" OR ")}


@pytest.mark.parametrize(
    ("topic", "text"),
    [
        ("proton pump inhibitors", "a proton pump inhibitor"),
        ("smartwatch", "smartwatches"),
        ("anti-inflammatory patch", "antiinflammatory patch"),
        ("migraine", "sick headaches"),
        ("beta-blockers", "adrenergic beta-antagonists"),
        ("anaemia", "anemia"),
    ],
)
async def test_a_word_is_found_in_all_its_forms(topic: str, text: str, ask: Ask):
    query = (await ask(topic)).queries[0].pubmed_query
    assert finds(query, text), query


@pytest.mark.parametrize(
    ("topic", "text"), [("parent", "parenteral"), ("nurse", "nursery"), ("gout", "goutte"), ("albumin", "albuminuria")]
)
async def test_only_what_stays_the_same_word_is_truncated(topic: str, text: str, ask: Ask):
    assert not finds((await ask(topic)).queries[0].pubmed_query, text)


@pytest.mark.parametrize(
    ("topic", "members"),
    [
        ("beta-blockers", {"Propranolol", "Atenolol", "bopindolol"}),  # by their pharmacological action
        ("penicillins", {"Ampicillin", "Amoxicillin"}),  # by their place in the tree
    ],
)
async def test_a_class_of_drugs_is_found_by_the_names_of_its_members(topic: str, members: set[str], ask: Ask):
    (concept,) = (await ask(topic)).concepts
    assert {f"{one}[tiab]" for one in members} <= terms(concept.pubmed_block)
    assert ('"Adrenergic beta-Antagonists"[Pharmacological Action]' in terms(concept.pubmed_block)) == (topic[0] == "b")


async def test_a_large_class_says_how_many_members_are_found_only_where_they_are_indexed(ask: Ask):
    many = tuple(f"Cdrug{number}" for number in range(200))
    action = Record(
        4001, ("beta-Blockers", "Adrenergic beta-Antagonists"), "", kind="R", substances=("DAtenolol", *many)
    )
    records = (*(one for one in LIBRARY if one.number != 4001), action)
    found = await ask("beta-blockers", records=records)
    assert "Atenolol[tiab]" in found.concepts[0].pubmed_block
    assert "drug7[tiab]" not in found.concepts[0].pubmed_block
    assert "200 more drugs of “beta-blockers” found where indexed, not by name." in found.queries[0].rationale


async def test_a_supplementary_concept_has_its_own_field(ask: Ask):
    drug = Record(508053, ("tirzepatide", "LY3298176"), "", (), kind="C")
    (concept,) = (await ask("tirzepatide", records=(drug,))).concepts
    assert (concept.kind, concept.mesh_id, concept.supplementary) == ("substance", "C508053", ("tirzepatide",))
    assert {'"tirzepatide"[Supplementary Concept]', "LY3298176[tiab]"} <= terms(concept.pubmed_block)


async def test_a_long_block_is_never_cut_and_has_a_short_form_that_says_what_it_costs(ask: Ask):
    names = tuple(f"Podagra of kind number {chr(97 + one)}" for one in range(26))
    record, papers = Record(3924, ("Gout", *names), "C05.550"), {"gout": 50, "podagra of kind number z": 7}
    (concept,) = (await ask("gout", records=(record,), papers=papers)).concepts
    full, short = terms(concept.pubmed_block), terms(concept.short_block)
    assert any("number z" in one for one in full)
    assert short < full
    assert {'"Gout"[MeSH Terms]', "gout[tiab]"} <= short
    assert is_well_formed(concept.short_block)
    assert concept.short_leaves_out == f"{len(full - short)} of {len(full)} terms; it finds 50 papers instead of 57"
    (concept,) = (await ask("topiramate")).concepts
    assert (concept.short_block, concept.short_leaves_out) == ("", ""), "it is short"


async def test_words_without_a_heading_are_searched_wherever_they_stand(ask: Ask):
    query = (await ask("gout in volunteer ski patrollers")).queries[0].pubmed_query
    assert finds(query, "gout ; volunteer patrollers who ski")


async def test_another_name_that_pubmed_does_not_have_as_a_phrase_is_left_out(ask: Ask):
    before, after = await ask("migraine"), await ask("migraine or gout", unknown=["sick headache*"])
    assert "sick headache" in before.queries[0].pubmed_query
    assert not any("sick headache" in one.pubmed_query for one in after.queries)
    assert not any("sick headache" in one.pubmed_block for one in after.concepts)


async def test_a_concept_has_its_longest_name_and_its_neighbors_in_the_tree(ask: Ask):
    stay = Record(7902, ("Length of Stay", "Hospital Stay"), "N02.421.585", (0,))
    found = await ask("metformin alzheimer and length of stay without gout", records=(*LIBRARY, stay))
    drug, disease, longest = found.concepts
    assert longest.mesh_term == "Length of Stay"
    assert (drug.term, drug.mesh_id, drug.mesh_term) == ("metformin", "D008687", "Metformin")
    assert (disease.mesh_id, disease.mesh_term) == ("D000544", "Alzheimer Disease")
    assert {"senile dementia", "presenile dementia"} <= {*disease.entry_terms}
    assert (disease.broader, disease.narrower) == (("Dementia", "Tauopathies"), ("Early Onset Alzheimer Disease",))


@pytest.mark.parametrize(
    "topic", ["APC mutations", "visual aids", "lead in nursing teams", "does heavy water lead to seizures"]
)
async def test_a_mapping_to_another_sense_is_not_trusted(topic: str, ask: Ask):
    senses = (
        Record(7854, ("Lead",), "D01.268"),
        Record(163, ("Acquired Immunodeficiency Syndrome", "AIDS"), "C02.782"),
    )
    found = await ask(topic, records=senses)
    assert not [one for one in found.concepts if one.mesh_id]
    assert any("MeSH has none of the topic's words" in one for one in found.warnings)


def defining(short: str, **long_forms: int) -> NcbiStandIn:
    """A PubMed whose papers define an abbreviation so many times so."""
    names = [name.replace("_", " ") for name, count in long_forms.items() for _ in range(count)]
    papers = [article(str(number), f"On {name} ({short}) number {number}.") for number, name in enumerate(names, 1)]

    def search(params: Mapping[str, str]) -> httpx.Response:
        ids = [str(number) for number in range(1, len(papers) + 1)] if params["retmax"] != "0" else []
        result = {"count": str(len(papers)), "retmax": "60", "retstart": "0", "idlist": ids, "translationset": []}
        return httpx.Response(200, json={"esearchresult": {**result, "querytranslation": ""}})

    def fetch(_: Mapping[str, str]) -> httpx.Response:
        return httpx.Response(200, content=efetch(*papers).body)

    records = (
        Record(9103, ("Multiple Sclerosis", "Sclerosis, Multiple", "MS (Multiple Sclerosis)"), "C10.114"),
        Record(5221, ("Fatigue", "Lassitude"), "C23.888"),
    )
    return NcbiStandIn(records=records, faults={"esearch": search, "efetch": fetch})


async def test_an_abbreviation_is_what_the_papers_on_the_topic_define_it_as(ask: Ask):
    found = await ask("MS fatigue", ncbi=defining("MS", multiple_sclerosis=7, mass_spectrometry=2))
    concept = found.concepts[0]
    assert (concept.term, concept.mesh_term) == ("MS", "Multiple Sclerosis")
    assert concept.abbreviation_of == (
        "multiple sclerosis: 78% of papers with the rest of your topic",
        "multiple sclerosis: 78% in PubMed",
        "mass spectrometry: 22% in PubMed",
    )
    assert finds(found.queries[0].pubmed_query, "multiple sclerosis ; fatigue")


async def test_an_abbreviation_of_several_things_is_searched_in_all_its_meanings_and_offered_in_one(ask: Ask):
    found = await ask("PE outcomes", count=8, ncbi=defining("PE", pulmonary_embolism=4, physical_education=4))
    direct = found.queries[0]
    assert all(
        finds(direct.pubmed_query, f"{one} outcomes") for one in ("pe", "pulmonary embolism", "physical education")
    )
    assert "PE outcomes pulmonary embolism" in {one.query for one in found.queries if one.strategy == "specific"}
    assert [one.partition(":")[0] for one in found.concepts[0].abbreviation_of][-1] == "physical education"


async def test_an_abbreviation_means_what_the_session_says(ask: Ask):
    text = "In antilymphocyte serum (ALS) and Alzheimer disease (AD) metformin was given."
    found = await ask("ALS AD", store=fake_store([paper(1, "ALS and metformin", text)]))
    named = {one.term: one.mesh_term for one in found.concepts if one.kind != "evidence"}
    assert named == {"AD": "", "ALS": ""}
    assert finds(found.queries[0].pubmed_query, "antilymphocyte serum ; alzheimer disease")


async def test_of_words_without_a_heading_the_rare_ones_are_demanded_in_all_their_forms(ask: Ask):
    query = (await ask("gout in transdermal absorption")).queries[0].pubmed_query
    assert finds(query, "gout transdermal")
    assert not finds(query, "gout absorption")
    assert "transdermal absorption" in query
    homeless = (await ask("homelessness and gout")).queries[0].pubmed_query
    assert "homelessness[tiab]" in homeless
    assert "homeless*[tiab]" in homeless
    assert '"AT 1"[tiab]' in (await ask("gout and AT(1) receptors")).queries[0].pubmed_query
