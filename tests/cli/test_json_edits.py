"""Edits of a client's file that keep every other character of it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.cli import json_edits

PLACE = ("mcpServers", "ours")
ENTRY: dict[str, object] = {"command": "/bin/ours", "args": []}


_scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=20)
_values = st.recursive(
    _scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
)
_documents = st.dictionaries(st.sampled_from(["theme", "other", "mcpServers-not"]), _values).flatmap(
    lambda root: st.sampled_from([root, {**root, "mcpServers": {}}, {"mcpServers": {"x": {"command": "y"}}, **root}])
)


@given(document=_documents, indent=st.sampled_from([None, 0, 1, 2, 4, "\t"]), windows=st.booleans())
def test_adding_changes_nothing_else_and_removing_restores_the_document(
    document: dict[str, object], indent: int | str | None, windows: bool
):
    text = json.dumps(document, indent=indent, ensure_ascii=False)
    text = text.replace("\n", "\r\n") if windows else text
    added = json_edits.edited(text, PLACE, ENTRY)
    servers = document.get("mcpServers", {})
    assert isinstance(servers, dict)
    assert json.loads(added) == {**document, "mcpServers": {**servers, "ours": ENTRY}}
    removed = json_edits.edited(added, PLACE, None)
    assert json.loads(removed) == {**document, "mcpServers": servers}


@given(document=_values, indent=st.sampled_from([None, 2]))
def test_values_are_those_that_the_standard_library_reads(document: object, indent: int | None):
    assert json_edits.parse(json.dumps(document, indent=indent)) == document


def test_other_servers_keep_their_form():
    text = '{\n  "mcpServers": {\n    "a": {"command": "npx", "args": ["-y", "x"]}\n  }\n}\n'
    added = json_edits.edited(text, PLACE, ENTRY)
    assert '    "a": {"command": "npx", "args": ["-y", "x"]}\n  }\n}\n' in added
    assert json.loads(added)["mcpServers"]["ours"] == ENTRY
    assert json_edits.edited(added, PLACE, None) == text


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"a": 1,}',
        '{"a": 1} {"b": 2}',
        "{'a': 1}",
        "{a: 1}",
        '{"a": 1} // mine',
        '{"a": tru}',
        '{"a": "unfinished}',
        "[" * 5_000,
    ],
)
def test_invalid_json_is_refused(text: str):
    with pytest.raises(json_edits.JsonError):
        json_edits.edited(text, PLACE, ENTRY)
