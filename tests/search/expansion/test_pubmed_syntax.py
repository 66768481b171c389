from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.search.expansion import pubmed_syntax
from tests.search.expansion.queries import is_well_formed


@pytest.mark.parametrize(
    ("text", "is_syntax"),
    [
        ("metformin AND alzheimer", True),
        ("metformin[Title/Abstract:~3]", True),
        ('"heart attack"[ti] OR "heart attack"[mh:noexp]', True),
        ("metformin and alzheimer", False),
        ("EFFECT OF METFORMIN AND INSULIN", False),
        ("[18F]FDG PET", False),
    ],
)
def test_pubmed_syntax_is_told_from_plain_words(text: str, is_syntax: bool):
    assert pubmed_syntax.uses_pubmed_syntax(text) is is_syntax


@pytest.mark.parametrize(
    ("text", "repaired"),
    [
        ('"metformin alzheimer', "metformin alzheimer"),
        ("“heart failure”[tiab]", '"heart failure"[tiab]'),
        ("metformin AND (alzheimer OR dementia", "metformin AND (alzheimer OR dementia)"),
        ("AND metformin OR", "metformin"),
        ("metformin AND NOT insulin", "metformin NOT insulin"),
        ("metformin[tiab] and alzheimer[mh]", "metformin[tiab] AND alzheimer[mh]"),
        ("metformin[bogus] AND alzheimer", "metformin bogus AND alzheimer"),
        ("metformin[ti][ab]", "metformin[ti]"),
        ("[18F]FDG AND pet[tiab]", "18F FDG AND pet[tiab]"),
        (")(", ""),
    ],
)
def test_a_malformed_query_is_repaired(text: str, repaired: str):
    assert pubmed_syntax.repair(text) == repaired


@pytest.mark.parametrize(
    "query",
    [
        '("metformin"[mh] OR metformin[tiab]) AND alzheimer*[tiab] NOT review[pt]',
        '(a OR b)[tiab] AND "c d"[Title/Abstract:~3]',
    ],
)
def test_a_well_formed_query_stays_as_it_is(query: str):
    assert pubmed_syntax.repair(query) == query
    assert is_well_formed(query)


def test_the_subject_leaves_out_what_is_excluded_and_what_is_no_subject():
    query = 'smith j[au] AND "heart attack"[ti] AND (statin* OR aspirin[nm]) NOT mice[mh] AND 2010:2020[dp]'
    assert pubmed_syntax.subjects(query) == ["heart attack", "statin", "aspirin"]


@given(st.text(alphabet=st.sampled_from('ab "()[]*:ANDORNOT tiab,“”'), max_size=80))
def test_what_is_repaired_is_valid_and_stays_so(text: str):
    repaired = pubmed_syntax.repair(text)
    assert pubmed_syntax.repair(repaired) == repaired
    assert not repaired or is_well_formed(repaired)


@given(st.text(max_size=200))
def test_no_text_breaks_it(text: str):
    pubmed_syntax.repair(text)
    pubmed_syntax.subjects(text)
    assert not set(pubmed_syntax.words(text)) & set('"[]()')
