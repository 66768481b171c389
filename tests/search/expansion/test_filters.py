from __future__ import annotations

from datetime import date

import pytest

from deepcritical_mcp.search.expansion.filters import fitting_filters, question_kinds
from deepcritical_mcp.search.expansion.topic import read_topic

TODAY = date(2026, 1, 31)


@pytest.mark.parametrize(
    ("topic", "kinds"),
    [
        ("pembrolizumab in melanoma", "treatment"),
        ("sensitivity and specificity of FIT", "diagnosis"),
        ("lead exposure and IQ", "harm"),
        ("survival after sepsis", "course"),
        ("measles vaccine hesitancy", "views"),
        ("cost of statins", ""),
        ("testosterone in men", ""),
        ("kidney function without treatment", ""),
    ],
)
def test_the_words_of_a_topic_show_what_it_asks(topic: str, kinds: str):
    assert ", ".join(question_kinds(read_topic(topic))) == kinds


def test_filters_of_another_question_do_not_fit():
    found = " ".join(
        one.filter.name
        for one in fitting_filters(read_topic("burnout in nurses"), {"views"}, is_clinical=False, today=TODAY)
    )
    assert "Qualitative research" in found
    assert "Trials" not in found
    assert "Published since 2021" in found


def test_a_topic_about_animals_is_not_limited_to_humans():
    conditions = [
        one.filter.pubmed
        for one in fitting_filters(read_topic("memory in mice"), set(), is_clinical=False, today=TODAY)
    ]
    assert "animals[mh:noexp]" in conditions
    assert not any("NOT humans" in condition for condition in conditions)


def test_an_operation_that_has_been_done_is_not_asked_about():
    assert question_kinds(read_topic("delirium after cardiac surgery")) == set()
    assert question_kinds(read_topic("surgery for sciatica")) == {"treatment"}
