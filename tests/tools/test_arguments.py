"""What a model that misuses a tool is told."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.tools.arguments.schemas import invalid_arguments, read_arguments

NAMES = ["query", "variants", "max_results", "min_date", "session_id"]
TEXT: dict[str, object] = {"type": "string"}
SCHEMA = {"properties": dict.fromkeys(NAMES, TEXT), "required": ["query"]}
ITEM = {"type": "object", "properties": {"content": TEXT, "pmid": TEXT, "authors": {"type": "array", "items": TEXT}}}


def test_of_many_unknown_arguments_a_few_are_named() -> None:
    with pytest.raises(InvalidInputError) as caught:
        read_arguments("t", {f"argument_{n}" + "x" * 500: 1 for n in range(500)}, SCHEMA)
    assert "And 495 more." in caught.value.message
    assert len(caught.value.message) < 1_000


class Item(BaseModel):
    model_config = ConfigDict(extra="forbid")

    content: str


class Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")

    query: str
    max_results: int = Field(10, ge=1, le=100)
    session_id: str = Field("", max_length=4)
    items: list[Item] = Field([Item(content="x")], min_length=1, max_length=2)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "query is required."),
        ({"query": "x", "max_results": 1000}, "max_results: expected less than or equal to 100, got 1000."),
        ({"query": ["x"]}, "query: expected a valid string, got a list."),
        ({"query": "x", "extra": 1}, "extra is not a known field."),
        ({"query": "x", "max_results": "y" * 5000}, "got 5,002 characters"),
        ({"query": None}, "query: expected a valid string, got null."),
        ({"query": "x", "session_id": "12345"}, "session_id: String should have at most 4 characters."),
        ({"query": "x", "items": []}, "items: List should have at least 1 item after validation, not 0."),
        (
            {"query": "x", "items": [{"content": "x"}] * 3},
            "items: List should have at most 2 items after validation, not 3.",
        ),
        ({"query": "x", "items": ["x"]}, 'items[0]: expected a valid dictionary or instance of Item, got "x".'),
    ],
)
def test_each_wrong_field_gets_one_sentence_without_addresses(given: dict[str, object], told: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Arguments.model_validate(given)
    message = invalid_arguments(caught.value).message
    assert told in message
    assert "http" not in message
    assert len(message) < 300


def test_an_unknown_field_of_an_item_leads_to_the_nearest_known_one() -> None:
    schema = {"properties": {"items": {"type": "array", "items": ITEM}}}
    with pytest.raises(ValidationError) as caught:
        Arguments.model_validate({"query": "x", "items": [{"content": "x", "text": "y", "y" * 500: 1}]})
    message = invalid_arguments(caught.value, schema).message
    assert 'items[0].text is not a known field: did you mean "content"?' in message
    assert len(message) < 300


WORDS = {"type": "array", "items": TEXT}


@pytest.mark.parametrize("name", ["tags", "fields", "servers", "include_domains", "exclude_domains"])
@pytest.mark.parametrize("written", ["a.b, c.d", "a.b;c.d", "a.b\nc.d", "a.b|c.d", ["a.b, c.d"], '["a.b", "c.d"]'])
def test_a_list_of_names_in_one_text_is_a_list_with_a_note(name: str, written: object) -> None:
    values, notes = read_arguments("t", {name: written}, {"properties": {name: WORDS}})
    assert values == {name: ["a.b", "c.d"]}
    assert f'as {name}=["a.b", "c.d"]' in notes[0]
