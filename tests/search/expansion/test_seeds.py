"""What papers known to be relevant share and the direct query lacks."""

from __future__ import annotations

import httpx

from tests.search.expansion.conftest import Ask
from tests.search.expansion.ncbi_stand_in import LIBRARY, NcbiStandIn

PAPERS = {
    "11 Topiramate for migraine in dancers / Topiramate / Migraine Disorders": 1,
    "12 Vestibular rehabilitation of cephalalgia / Vestibular Diseases / Humans / Adult": 1,
    "13 Cephalalgia and vestibular rehabilitation at work / Vestibular Diseases / Humans": 1,
    "14 Cephalalgia in pilots / Aviation / Humans": 1,
    "15 Vestibular rehabilitation and topiramate for migraine in pilots / Vestibular Diseases": 1,
}


async def test_terms_of_the_seeds_that_the_query_lacks_say_how_many_they_would_win(ask: Ask):
    found = await ask("topiramate for migraine", papers=PAPERS, seeds=["11", "12", "13", "14", "15"])
    assert found.seeds_missed == ("12", "13", "14")
    won = {one.pubmed: (one.seeds, one.missed) for one in found.seed_terms}
    assert won["cephalalgia[tiab]"] == (3, 3)
    assert won['"Vestibular Diseases"[MeSH Terms]'] == (3, 2)
    assert won['"vestibular rehabilitation"[tiab]'] == (3, 2)
    assert found.seed_terms[0].pubmed == "cephalalgia[tiab]"


async def test_terms_of_persons_of_one_seed_alone_and_of_the_query_are_left_out(ask: Ask):
    found = await ask("topiramate for migraine", papers=PAPERS, seeds=["11", "12", "13", "15"])
    terms = " ".join(one.pubmed for one in found.seed_terms).lower()
    assert not [one for one in ("humans", "adult", "aviation", "dancers", "migraine", "topiramate") if one in terms]


async def test_seeds_that_are_all_found_are_not_said_to_be_missed(ask: Ask):
    found = await ask("topiramate for migraine", papers=PAPERS, seeds=["11", "11"])
    assert (found.seeds_missed, found.seed_terms) == ((), ())


async def test_seeds_without_pubmed_are_a_warning_and_never_an_error(ask: Ask):
    ncbi = NcbiStandIn(records=LIBRARY, papers=PAPERS, faults={"efetch": lambda _: httpx.Response(503)})
    found = await ask("topiramate for migraine", ncbi=ncbi, seeds=["11", "12"])
    assert "The seeds were not used: PubMed is unavailable (HTTP 503)." in found.warnings
    assert found.queries[0].strategy == "direct"
