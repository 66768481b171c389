"""Regular expressions and normal forms take linear time, whatever text they meet."""

import importlib.util
import re
import sys
import unicodedata
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.text import normalized

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "deepcritical_mcp"
EXCEPT = ("cli.clients.",)
"""Reads the user's own file of settings."""


@cache
def bench() -> Any:
    spec = importlib.util.spec_from_file_location("patterns", ROOT / "bench" / "patterns.py")
    assert spec
    assert spec.loader
    sys.modules["patterns"] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def found_patterns() -> Mapping[str, Any]:
    """Every pattern with its methods, by its place."""
    return {name: one for name, one in bench().patterns().items() if not name.startswith(EXCEPT)}


PARTS = sorted(
    one.stem for one in PACKAGE.iterdir() if not one.name.startswith("__") and (one.is_dir() or one.suffix == ".py")
)


@pytest.mark.long
@pytest.mark.parametrize("part", PARTS)
def test_the_time_of_every_pattern_grows_linearly_with_the_text(part: str) -> None:
    patterns = bench()
    found = {name: one for name, one in found_patterns().items() if re.split("[.:]", name)[0] == part}
    grown = [patterns.growth(name, pattern, methods) for name, (pattern, methods) in found.items()]
    # Once more, in case the machine was busy with something else.
    worse = [patterns.growth(one.name, *found[one.name]) for one in grown if one.factor > patterns.BOUND]
    assert [one for one in worse if one.factor > patterns.BOUND] == []


@given(st.lists(st.text("aé\u0301\u0323 \n₅ﬁ\u00a0가Å", max_size=60), max_size=12).map(" ".join))
def test_text_is_normalized_as_a_whole(text: str) -> None:
    assert normalized("NFKC", text) == unicodedata.normalize("NFKC", text)
    assert normalized("NFKD", text) == unicodedata.normalize("NFKD", text)


def test_no_group_is_possessive() -> None:
    """Python before 3.11.5 loses matches of possessive groups: there "without diabetes" was read as "diabetes"."""
    possessive = re.compile(r"(?<!\\)\)(?:[*+?]|\{[0-9,]*\})\+|\(\?>")
    sources = {name: pattern.pattern for name, (pattern, _) in found_patterns().items()}
    texts = {name: one if isinstance(one, str) else one.decode("latin-1") for name, one in sources.items()}
    assert [name for name, text in texts.items() if possessive.search(text)] == []


@pytest.mark.long
def test_the_patterns_are_found_and_one_that_is_not_linear_is_noticed() -> None:
    assert len(found_patterns()) > 350
    assert {re.split("[.:]", name)[0] for name in found_patterns()} <= {*PARTS}
    slow = bench().growth("slow", re.compile(r"<(Record)>.*?</\1>"), ["sub"])
    assert slow.factor > bench().BOUND
