"""The word lists of query expansion: a line of `words.txt` is a name, a tab, and its words, or names parted by "|"."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cache

from deepcritical_mcp.data_files import data_lines


@cache
def _lists() -> Mapping[str, tuple[str, ...]]:
    read = (row.partition("\t") for row in data_lines(__file__, "words.txt"))
    return {name: tuple(words.split("|") if "|" in words else words.split()) for name, _, words in read}


@cache
def word_list(name: str) -> frozenset[str]:
    """The words or names of a list.

    Raises:
        KeyError: there is no such list.
    """
    return frozenset(_lists()[name])


@cache
def word_table(name: str) -> Mapping[str, str]:
    """A list whose entries are a word, "=" and what stands for it."""
    return dict(one.split("=") for one in _lists()[name])


@cache
def endings(name: str) -> tuple[str, ...]:
    """The same for `str.endswith` and `str.startswith`."""
    return tuple(_lists()[name])


@cache
def word_groups(name: str) -> Mapping[str, tuple[str, ...]]:
    """The lists whose names begin with `name`, in their order, by the rest of their names."""
    every = _lists().items()
    return {key.removeprefix(f"{name} "): found for key, found in every if key.startswith(f"{name} ")}


@cache
def word_classes() -> Mapping[str, str]:
    """English words that are no nouns -> "verb", "adjective" or "adverb"; rare verbs are in `rare_verbs` too."""
    named = ((name.removeprefix("rare "), words) for name, words in _classes().items() if name != "common")
    return {word: name for name, words in named for word in words}


def rare_verbs() -> frozenset[str]:
    """The verbs that are rare in English, which name what is asked ("procrastinate", "cannulate")."""
    return _classes()["rare verb"]


def common_words() -> frozenset[str]:
    """The words that are frequent in English."""
    return _classes()["common"]


@cache
def _classes() -> Mapping[str, frozenset[str]]:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for name, _, words in (row.partition("\t") for row in data_lines(__file__, "word_classes.txt")):
        found[name].update(words.split())
    return {name: frozenset(words) for name, words in found.items()}
