"""Words reduced to their stems, so that "neuroprotective" and "neuroprotection" count as one."""

from __future__ import annotations

import importlib
import re
from functools import cache
from typing import Protocol, cast

from deepcritical_mcp.search.expansion.vocabulary import FILLERS, STOP_WORDS
from deepcritical_mcp.search.expansion.wording import american_spelling, greek_as_words


class _Stemmer(Protocol):
    def stemWord(self, word: str, /) -> str: ...


def stems(text: str) -> frozenset[str]:
    """The stems of the words of `text` that carry meaning, in American spelling and with Greek letters as words."""
    words = re.findall(r"\w+", american_spelling(greek_as_words(text.replace("'", "").replace("’", "").lower())))
    return frozenset(_stem(word) for word in words if word not in STOP_WORDS and word not in FILLERS)


@cache
def _stemmer() -> _Stemmer:
    return cast(_Stemmer, importlib.import_module("Stemmer").Stemmer("english"))


def _stem(word: str) -> str:
    return _stemmer().stemWord(word)
