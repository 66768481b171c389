"""Words reduced to their stems, so that "neuroprotective" and "neuroprotection" count as one."""

from __future__ import annotations

import importlib
import re
import threading
from functools import cache, lru_cache
from typing import Protocol, cast

from deepcritical_mcp.search.expansion.vocabulary import FILLERS, STOP_WORDS
from deepcritical_mcp.search.expansion.wording import american_spelling, greek_as_words

# A stemmer of PyStemmer must not be used by two threads at once.
_LOCK = threading.Lock()


class _Stemmer(Protocol):
    def stemWord(self, word: str, /) -> str: ...


def stems(text: str) -> frozenset[str]:
    """The stems of the words of `text` that carry meaning, in American spelling and with Greek letters as words."""
    words = re.findall(r"\w+", greek_as_words(text.replace("'", "").replace("’", "").lower()))
    return frozenset(stem for word in words if (stem := _stem(word)))


@lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    """The stem of a word in lower case, "" of one that carries no meaning."""
    if word in STOP_WORDS or word in FILLERS:
        return ""
    with _LOCK:
        return _stemmer().stemWord(american_spelling(word))


@cache
def _stemmer() -> _Stemmer:
    return cast(_Stemmer, importlib.import_module("Stemmer").Stemmer("english"))
