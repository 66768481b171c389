"""Strategies in the syntax of other databases: named and refused."""

from __future__ import annotations

import pytest

from deepcritical_mcp.errors import InvalidInputError
from tests.search.expansion.conftest import Ask
from tests.search.expansion.ncbi_stand_in import LIBRARY, NcbiStandIn


@pytest.mark.parametrize(
    ("strategy", "database"),
    [
        ("exp Gout/ and (allopurinol or zyloprim).ti,ab.", "Ovid"),
        ("'gout'/exp AND allopurinol:ti,ab", "Embase"),
        ("TITLE-ABS-KEY(gout AND allopurinol)", "Scopus"),
        ("TS=(gout AND (allopurinol OR zyloprim))", "Web of Science"),
        ('MH "Gout+" AND TI allopurinol', "EBSCOhost"),
        ("1. exp Gout/\n2. allopurinol.tw.\n3. 1 and 2", "Ovid"),
        ("(gout adj3 flare$).tw. and exp Allopurinol/", "Ovid"),
        ("'gout'/exp AND (flare NEAR/2 pain):ti,ab", "Embase"),
        ("[mh gout] AND (flare NEXT/2 pain):ti,ab,kw", "the Cochrane Library"),
        ("#1 AND #2 NOT #3", "a database with numbered lines"),
        ("TITLE-ABS-KEY(gout W/3 flare) AND PUBYEAR > 2010", "Scopus"),
        ("TS=(gout NEAR/3 flare*)", "Web of Science"),
        ('MH "Gout+" AND (gout N3 flare)', "EBSCOhost"),
    ],
)
async def test_what_pubmed_would_misread_is_refused_with_its_name(strategy: str, database: str, ask: Ask):
    ncbi = NcbiStandIn(records=LIBRARY)
    with pytest.raises(InvalidInputError, match=f"in the syntax of {database}"):
        await ask(strategy, ncbi=ncbi)
    assert ncbi.requests == []


@pytest.mark.parametrize(
    "topic",
    [
        "HIV/AIDS stigma in nurses",
        "TI and AB as predictors of gout",
        "allopurinol and/or febuxostat: which is better?",
        "Gout/ hyperuricemia in men",
        "TS = Tourette syndrome in children",
    ],
)
async def test_what_is_no_strategy_of_another_database_is_not_taken_for_one(topic: str, ask: Ask):
    assert (await ask(topic)).queries
