"""Ranking the sample records: by how much of a query's words they share."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

LEAST_SCORE = 0.55
"""Share of a query's words, rare ones counting more, that a record must have."""

_QUERY_PART = re.compile(r"\bAND\b|\bNOT\b.*", re.DOTALL)
_TAG = re.compile(r"\[[^\]]*\]")
_FILLERS = """\
a an and any are as at be been between by can could do does effect effects evidence for from has have how if in into
is it its lead may might new not of on or people patients patient person reduce reduced reduces risk should study
studies than that the their there these they this to treatment treatments used using was were what when which who why
will with without would adults adult older lower lowers improve improves increase increases help helps versus vs about
after before during"""


class WordOverlap:
    """An index over a few texts; AND, OR, NOT and field tags of PubMed's syntax are understood roughly."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._documents = [_stems(text) for text in texts]
        stems = frozenset[str]().union(*self._documents)
        self._weights = {
            stem: math.log((len(texts) + 1) / sum(stem in one for one in self._documents)) for stem in stems
        }

    def ranked(self, query: str) -> list[int]:
        """The texts that fit `query`, by their places, best first."""
        parts = [part.split(" OR ") for part in _QUERY_PART.split(_TAG.sub(" ", query)) if part]
        asked = [[stems for one in part if (stems := _stems(one))] for part in parts]
        asked = [part for part in asked if part]
        scores = {place: self._score(asked, words) for place, words in enumerate(self._documents)}
        return sorted((place for place, score in scores.items() if score >= LEAST_SCORE), key=lambda one: -scores[one])

    def similar(self, place: int) -> list[int]:
        """The other texts, those that share most with this one first."""
        own = self._documents[place]
        scores = {one: self._weight(own & words) for one, words in enumerate(self._documents) if one != place}
        return sorted(scores, key=lambda one: -scores[one])

    def _score(self, asked: Sequence[Sequence[frozenset[str]]], words: frozenset[str]) -> float:
        best = [max(self._weight(stems & words) / self._weight(stems) for stems in part) for part in asked]
        return sum(best) / len(best) if best else 0.0

    def _weight(self, stems: frozenset[str]) -> float:
        rare = math.log(len(self._documents) + 1)  # a word that no text has weighs most
        return sum(self._weights.get(stem, rare) for stem in stems)


_FILLER_WORDS = frozenset(_FILLERS.split())


def _stems(text: str) -> frozenset[str]:
    words = re.findall(r"[a-z0-9]+", text.lower())
    return frozenset(_stem(word) for word in words if len(word) > 1 and word not in _FILLER_WORDS)


def _stem(word: str) -> str:
    for ending in ("ations", "ation", "ings", "ing", "ies", "ics", "ed", "es", "s", "ic", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word
