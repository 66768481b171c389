"""Edits of a client's file that keep every other character of it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.cli import jsonc

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
    added = jsonc.edited(text, PLACE, ENTRY)
    servers = document.get("mcpServers", {})
    assert isinstance(servers, dict)
    assert json.loads(added) == {**document, "mcpServers": {**servers, "ours": ENTRY}}
    removed = jsonc.edited(added, PLACE, None)
    assert json.loads(removed) == {**document, "mcpServers": servers}


@given(document=_values, indent=st.sampled_from([None, 2]))
def test_values_are_those_that_the_standard_library_reads(document: object, indent: int | None):
    assert jsonc.parse(json.dumps(document, indent=indent)) == document


@pytest.mark.parametrize(
    ("text", "without"),
    [
        ('{"servers": {\n  // on b\n  "ours": {},\n  "b": 1\n}}', '{"servers": {\n  // on b\n  "b": 1\n}}'),
        ('{"servers": {\n  "b": 1, // on b\n  "ours": {}\n}}', '{"servers": {\n  "b": 1, // on b\n}}'),
        ('{"servers": {\n  "ours": {} // ours\n  , "b": 1\n}}', '{"servers": { // ours\n   "b": 1\n}}'),
        ('{"servers": {\n  // on b\n  "ours": {}, "b": 1\n}}', '{"servers": {\n  // on b\n   "b": 1\n}}'),
        ('{"servers": {"ours": {"command": "x",}, "b": 1}} // end', '{"servers": { "b": 1}} // end'),
    ],
)
def test_removing_keeps_every_comment(text: str, without: str):
    assert jsonc.edited(text, ("servers", "ours"), None, comments=True) == without
    changed = jsonc.edited(text, ("servers", "ours"), ENTRY, comments=True)
    assert jsonc.parse(changed, comments=True) == {"servers": {"ours": ENTRY, "b": 1}}


def test_other_servers_keep_their_form():
    text = '{\n  "mcpServers": {\n    "a": {"command": "npx", "args": ["-y", "x"]}\n  }\n}\n'
    added = jsonc.edited(text, PLACE, ENTRY)
    assert '    "a": {"command": "npx", "args": ["-y", "x"]}\n  }\n}\n' in added
    assert json.loads(added)["mcpServers"]["ours"] == ENTRY
    assert jsonc.edited(added, PLACE, None) == text


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"a": 1,}',
        '{"a": 1} {"b": 2}',
        "{'a': 1}",
        "{a: 1}",
        '{"a": tru}',
        '{"a": "unfinished}',
        "[" * 5_000,
    ],
)
def test_invalid_json_is_refused(text: str):
    with pytest.raises(jsonc.JsonError):
        jsonc.edited(text, PLACE, ENTRY)


@pytest.mark.parametrize("text", ["{} /*", "{} /*/", '{"a": 1 /* no end }', "/*a" * 200_000])
def test_a_comment_without_an_end_is_refused_at_once(text: str):
    with pytest.raises(jsonc.JsonError):
        jsonc.parse(text, comments=True)
