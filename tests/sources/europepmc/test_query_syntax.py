"""Queries as people and models write them, in Europe PMC's language."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.sources.europepmc.preprint_request import SERVERS, europe_pmc_query, server_named, servers_named


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("long covid fatigue", "long covid fatigue"),
        ("Does zinc close wounds?", "zinc close wounds"),
        (
            "What is the effect of zinc on wounds in adults without diabetes",
            "effect zinc wounds adults without diabetes",
        ),
        ("is IT in ICUs safe?", "IT ICUs safe"),
        ("Why? OR zinc", "Why OR zinc"),
        ("COVID-19: what works", "COVID-19 what works"),
        ("RNA: structure", "RNA structure"),
        ("HIV/AIDS and/or iron", '"HIV/AIDS" iron'),
        ("CD4+ T cells - a review", "CD4+ T cells a review"),
        ("zinc && iron || copper", "zinc AND iron OR copper"),
        ('TITLE:"zinc" AND (iron OR neuro*)', 'TITLE:"zinc" AND (iron OR neuro*)'),
        ('TITLE:(zinc OR iron) AND "x: y/z?"', 'TITLE:(zinc OR iron) AND "x: y/z?"'),
        ("PUB_YEAR:[2019 TO 2021] AND zinc", "PUB_YEAR:[2019 TO 2021] AND zinc"),
        ("zinc NOT mice", "zinc NOT mice"),
        ("zinc AND ()", "zinc"),
        ("PPR123", "EXT_ID:PPR123"),
        ("https://europepmc.org/article/PPR/PPR123", "EXT_ID:PPR123"),
        ("doi:10.1101/2020.01.01.123456v2", 'DOI:"10.1101/2020.01.01.123456"'),
        ("https://www.medrxiv.org/content/10.1101/2020.04.17.20065771v1", 'DOI:"10.1101/2020.04.17.20065771"'),
        ("10.21203/rs.3.rs-1/v2", 'DOI:"10.21203/rs.3.rs-1/v2"'),
        ("arXiv:2003.00001", 'DOI:"10.48550/arxiv.2003.00001"'),
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


@pytest.mark.parametrize(
    ("written", "server"),
    [
        ("biorxiv", "bioRxiv"),
        ("https://www.medrxiv.org/", "medRxiv"),
        ("research square preprint server", "Research Square"),
        ("Res Sq", "Research Square"),
        ("preprints.org", "Preprints.org"),
        ("PsyArXiv", "PsyArXiv"),
        ("arXiv.org", "arXiv"),
        ("nowhere", ""),
    ],
)
def test_servers_are_known_as_people_write_them(written: str, server: str):
    assert server_named(written) == server


def test_every_server_is_known_by_its_own_name():
    assert servers_named([*SERVERS]) == tuple(SERVERS)
    assert servers_named(["", " ", "bioRxiv", "BIORXIV"]) == ("bioRxiv",)
