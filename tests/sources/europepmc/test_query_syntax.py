"""Queries as people and models write them, in Europe PMC's language."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.sources.europepmc.preprint_request import SERVERS, europe_pmc_query, servers_named


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("long covid fatigue", "long covid fatigue"),
        ("Does zinc close wounds?", "zinc close wounds"),
        ("HIV/AIDS and/or iron", '"HIV/AIDS" iron'),
        ("CD4+ T cells - a review", "CD4+ T cells a review"),
        ('TITLE:"zinc" AND (iron OR neuro*)', 'TITLE:"zinc" AND (iron OR neuro*)'),
        ("zinc AND ()", "zinc"),
        ("PPR123", "EXT_ID:PPR123"),
        ("https://europepmc.org/article/PPR/PPR123", "EXT_ID:PPR123"),
        ("doi:10.1101/2020.01.01.123456v2", 'DOI:"10.1101/2020.01.01.123456"'),
        ("https://www.medrxiv.org/content/10.1101/2020.04.17.20065771v1", 'DOI:"10.1101/2020.04.17.20065771"'),
        ("??", ""),
        ("AND", ""),
    ],
)
def test_what_is_sent(written: str, sent: str):
    assert europe_pmc_query(written) == (sent, ())


@pytest.mark.parametrize(
    ("written", "sent", "said"),
    [
        ('"zinc salts"[tiab] AND wounds[MeSH Terms]', '"zinc salts" AND wounds', "field tags ([tiab], [MeSH Terms])"),
        ("zinc AND 2020:2024[dp]", "zinc", "2020:2024[dp] is PubMed's notation"),
        ('("a"[pt] OR "b"[pt]) AND zinc NOT english[la]', "zinc", '"a"[pt], "b"[pt], english[la]'),
        ("(zinc OR iron", "zinc OR iron", "brackets are not balanced"),
        ('"zinc wound', "zinc wound", "quotation mark"),
    ],
)
def test_what_is_changed_is_said(written: str, sent: str, said: str):
    query, (remark,) = europe_pmc_query(written)
    assert query == sent
    assert said in remark


@given(st.text(alphabet='ab "()[]{}?:/\\^~-+*&|ANDORT\u201c', max_size=60))
def test_nothing_that_is_sent_is_half_open(text: str):
    query, _ = europe_pmc_query(text)
    outside = "".join(query.split('"')[::2])
    assert query.count('"') % 2 == 0
    assert outside.count("(") == outside.count(")")
    assert not {*"?{}^~\\"} & {*outside}
    assert query == query.strip()


def test_every_server_is_known_by_its_own_name():
    assert servers_named([*SERVERS]) == tuple(SERVERS)
    assert servers_named(["", " ", "bioRxiv", "BIORXIV"]) == ("bioRxiv",)
