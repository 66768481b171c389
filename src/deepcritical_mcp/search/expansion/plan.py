"""A topic with its parts, from which all queries are built."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from deepcritical_mcp.models import QUERY_LIMIT
from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.blocks import TopicConcept, text_words
from deepcritical_mcp.search.expansion.filters import question_kinds
from deepcritical_mcp.search.expansion.operands import Operand, parts_of
from deepcritical_mcp.search.expansion.selection import grouped_parts, select
from deepcritical_mcp.search.expansion.topic import Topic

_MAX_RANKING = 10
_CLINICAL = ("C", "E", "F03")
_OF_ANIMALS = re.compile("animals?(?: (?:models?|research|studies|trials))?", re.IGNORECASE)
_ABSENT = ("absence of ", "free of ", "lacking ", "no ", "without ")
_ANIMALS = "animals[mh] NOT humans[mh]"


class Plan:
    """A topic with its parts, from which all queries are built.

    Args:
        asked: the topic as the user wrote it.
        topic: the same in NCBI's spelling, or `asked`.
        concepts: those of `topic`.
        is_looked_up: whether MeSH was asked for its words.
        unindexed: phrases that PubMed does not have in its index, in small letters.
    """

    def __init__(
        self,
        asked: Topic,
        topic: Topic,
        concepts: Sequence[TopicConcept],
        *,
        is_looked_up: bool,
        unindexed: frozenset[str] = frozenset(),
    ) -> None:
        self.asked, self.topic = asked, topic
        self.concepts = [replace(one, unindexed=unindexed) for one in concepts]
        self.parts = [] if topic.syntax else grouped_parts(parts_of(topic, self.concepts, is_looked_up=is_looked_up))
        self.left_out = [_ANIMALS if _OF_ANIMALS.fullmatch(one) else one for one in topic.excluded]
        optional = [one for one in self.parts if one.is_negation and self._need_not_be_said(one, unindexed)]
        chosen = select([one for one in self.parts if one not in optional])
        self.required, self.ranking, self.surplus = chosen.required, (*chosen.ranking, *optional), chosen.surplus
        self.blocks = {one: one.block(unindexed) for one in self.required}
        self.shortened: list[Operand] = []
        for one in sorted(self.required, key=lambda part: -len(self.blocks[part])):
            if len(self._core()) > QUERY_LIMIT - 600 and one.concept and one.concept.block.is_long:
                self.blocks[one] = one.concept.block.short
                self.shortened.append(one)
        self.kinds = question_kinds(topic, self.parts)
        self.is_clinical = any(one.record and one.record.is_of(_CLINICAL) for one in concepts)

    def _need_not_be_said(self, one: Operand, unindexed: frozenset[str]) -> bool:
        """Whether a negation only ranks: what is not there, beside something that is ("asthma without steroids"), and
        what PubMed does not have as a phrase."""
        is_absence = one.said.lower().startswith(_ABSENT) and any(not other.is_negation for other in self.parts)
        return is_absence or one.said.casefold() in unindexed

    def _core(self) -> str:
        return self.query(self.required)

    @property
    def core(self) -> str:
        """The direct query without what only ranks."""
        return self.topic.syntax or self._core() or " ".join(self.topic.words.split()[:12])

    @property
    def rank_terms(self) -> list[str]:
        """What only ranks: the words of the parts that are not required."""
        said = [one for part in self.ranking if part.role != "filler" for one in part.rank_words]
        either = [word for one in self.topic.either_way for word in text_words(_COMPARED.sub("", one))]
        return list(dict.fromkeys([*said, *either]))[:_MAX_RANKING]

    @property
    def direct(self) -> str:
        """The core, and the words that only rank."""
        if self.topic.syntax or not self.rank_terms:
            return self.core
        return f"{pubmed_syntax.grouped(self.core)} AND ({' OR '.join(self.rank_terms)} OR all[sb])"

    @property
    def subjects(self) -> list[Operand]:
        """The required parts that are no negations."""
        return [one for one in self.required if not one.is_negation]

    def query(
        self,
        parts: Sequence[Operand],
        blocks: Mapping[Operand, str] = MappingProxyType({}),
    ) -> str:
        """The query for these of the required parts, in the user's spelling too; some in other `blocks`."""
        core = pubmed_syntax.all_of(blocks.get(one, self.blocks[one]) for one in parts)
        if core and self.topic.typed:
            core = f"{pubmed_syntax.grouped(core)} OR {pubmed_syntax.grouped(self.topic.typed)}"
        without = pubmed_syntax.any_of(map(pubmed_syntax.grouped, self.left_out)) if self.left_out else ""
        return f"{pubmed_syntax.grouped(core)} NOT {without}" if without and core else core


_COMPARED = re.compile(
    r"^(?:with (?:and|or) without|with/without|or (?:no|without)|versus (?:no|without)) ", re.IGNORECASE
)
