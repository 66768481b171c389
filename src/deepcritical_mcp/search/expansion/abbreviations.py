"""What the abbreviations of a topic stand for, from how papers define them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.phrases import definitions, general_stems, stems
from deepcritical_mcp.search.expansion.topic import Topic
from deepcritical_mcp.search.expansion.word_lists import word_table
from deepcritical_mcp.sources.base import Vocabulary

SAMPLE = 60
"""Papers read for each abbreviation."""
MAX_LOOKED_UP = 2
"""Abbreviations of a topic that are looked up; each takes up to four requests."""
_MAX_MEANINGS = 6
_MAX_CONTEXT = 6
# With fewer papers that define it, shares say nothing.
_MIN_DEFINED = 4
_CLEAR, _CLEAR_ALONE = 0.6, 0.9
"""The share of one meaning from which on it is taken: among papers with the rest of the topic, and among all."""
_POSSIBLE = 0.15
"""The share from which on a meaning is searched too, if none is clear."""


class Meaning(NamedTuple):
    """A long form, and its share (0..1) of the papers read that define the abbreviation."""

    long_form: str
    share: float


class Abbreviation(NamedTuple):
    """A short form with its meanings in PubMed, the most common first, and in papers on the rest of the topic."""

    short: str
    meanings: tuple[Meaning, ...]
    in_context: tuple[Meaning, ...]

    @property
    def long_form(self) -> str:
        """What it stands for in the topic; "" if that is unclear."""
        best = next(iter(self.in_context or self.meanings), Meaning("", 0.0))
        return best.long_form if best.share >= (_CLEAR if self.in_context else _CLEAR_ALONE) else ""

    @property
    def forms(self) -> tuple[str, ...]:
        """The long forms that a search for it should find."""
        if self.long_form:
            return (self.long_form,)
        return tuple(one.long_form for one in self.in_context or self.meanings if one.share >= _POSSIBLE)


def known_abbreviations(topic: Topic) -> dict[str, str]:
    """The abbreviations of a topic that mean one thing in medicine -> what they mean, as a list has them."""
    known = word_table("abbreviations")
    plural = {f"{short}s": f"{long}s" for short, long in known.items()}
    return {one.text: long for one in topic.tokens if (long := known.get(one.text) or plural.get(one.text))}


def abbreviations_of(topic: Topic) -> list[str]:
    """The words of a topic that may be abbreviations and have to be looked up: two to six capitals ("MS"), not in a
    topic all in capitals."""
    if topic.syntax or not any(letter.islower() for letter in topic.subject):
        return []
    known = known_abbreviations(topic)
    words = [word for word in topic.affirmed.split() if 2 <= len(word) <= 6 and word.isalpha() and word.isupper()]
    return list(dict.fromkeys(word for word in words if word not in known))


async def look_up_abbreviation(short: str, topic: Topic, vocabulary: Vocabulary) -> Abbreviation:
    """The meanings of `short` in PubMed, and together with any of the other words of `topic` that name a subject.

    Raises:
        ProviderError: PubMed did not answer.
    """
    tagged = pubmed_syntax.phrase(short, "tiab")
    rest = [
        part
        for part in topic.affirmed.split()
        if part != short and part.isalpha() and not stems(part) <= general_stems()
    ]
    about = f"{tagged} AND {pubmed_syntax.any_of(rest[:_MAX_CONTEXT])}"
    in_context = meanings(short, await vocabulary.texts(about, SAMPLE)) if rest else ()
    return Abbreviation(short, meanings(short, await vocabulary.texts(tagged, SAMPLE)), in_context)


def meanings(short: str, texts: Iterable[str]) -> tuple[Meaning, ...]:
    """The long forms of `short` as the texts define it, by how many of those that do use each; () for too few."""
    spellings: defaultdict[frozenset[str], Counter[str]] = defaultdict(Counter)
    for text in texts:
        if long_form := definitions([text]).get(short):
            spellings[stems(long_form)][long_form] += 1
    defined = sum(spelled.total() for spelled in spellings.values())
    if defined < _MIN_DEFINED:
        return ()
    counted = sorted(spellings.values(), key=lambda spelled: -spelled.total())[:_MAX_MEANINGS]
    return tuple(Meaning(spelled.most_common(1)[0][0], spelled.total() / defined) for spelled in counted)
