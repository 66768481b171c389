"""What a model that misuses a tool is told."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.tools.arguments import invalid_arguments, known_arguments, nearest

NAMES = ["query", "variants", "max_results", "min_date", "session_id"]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("limit", "max_results"),
        ("n", "max_results"),
        ("top_k", "max_results"),
        ("num_results", "max_results"),
        ("maxResults", "max_results"),
        ("max-results", "max_results"),
        ("querry", "query"),
        ("q", "query"),
        ("sessionId", "session_id"),
        ("minDate", "min_date"),
        ("colour", ""),
    ],
)
def test_an_unknown_name_leads_to_the_nearest_known_one(written: str, meant: str) -> None:
    assert nearest(written, NAMES) == meant


def test_an_unknown_argument_is_an_error_that_names_it_and_what_the_tool_takes() -> None:
    with pytest.raises(InvalidInputError) as caught:
        known_arguments("pubmed_search", {"query": "x", "limit": 3}, NAMES)
    assert 'Unknown argument "limit": did you mean "max_results"?' in caught.value.message
    assert "pubmed_search takes query, variants" in caught.value.message


def test_a_null_means_not_given() -> None:
    assert known_arguments("t", {"query": "x", "variants": None}, NAMES) == {"query": "x"}


class Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")

    query: str
    max_results: int = Field(10, ge=1, le=100)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "query is required."),
        ({"query": "x", "max_results": 1000}, "max_results: expected less than or equal to 100, got 1000."),
        ({"query": ["x"]}, "query: expected a valid string, got a list."),
        ({"query": "x", "extra": 1}, "extra is not a known field."),
        ({"query": "x", "max_results": "y" * 5000}, "got 5,000 characters"),
    ],
)
def test_each_wrong_field_gets_one_sentence_without_addresses(given: dict[str, object], told: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Arguments.model_validate(given)
    message = invalid_arguments(caught.value).message
    assert told in message
    assert "http" not in message
    assert len(message) < 300
