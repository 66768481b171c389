"""A topic with its concepts, from which all queries are built, and the form of a proposal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple

from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.blocks import TopicConcept
from deepcritical_mcp.search.expansion.filters import age_block, question_kinds
from deepcritical_mcp.search.expansion.operands import Operand, joined, operands_of
from deepcritical_mcp.search.expansion.phrases import phrases
from deepcritical_mcp.search.expansion.topic import Topic

Reformulation = Literal["syntactic", "semantic"]

# Diseases, mental disorders, operations and care.
_CLINICAL = ("C", "E", "F03")
EITHER_WAY = re.compile("^with (?:and|or) without |^with/without ", re.IGNORECASE)


Origin = Literal["mesh", "rules", "evidence"]


class DraftedQuery(NamedTuple):
    """A proposal. A specific one is the direct query AND `pubmed`; for a broader one, `pubmed` is the whole query or
    "". `names` are added where no operators exist to the topic, or to `subject` if that is not ""."""

    strategy: Literal["broader", "specific"]
    reformulation: Reformulation
    source: Origin
    rationale: str
    names: Iterable[str]
    pubmed: str
    subject: str = ""


class Plan:
    """A topic with its concepts, from which all queries are built.

    Args:
        asked: the topic as the user wrote it.
        topic: the same in NCBI's spelling, or `asked`.
        concepts: those of `topic`.
    """

    def __init__(self, asked: Topic, topic: Topic, concepts: Sequence[TopicConcept]) -> None:
        self.asked, self.topic = asked, topic
        self.concepts = concepts
        every = operands_of(topic, concepts)
        first = {one.text.casefold(): one for one in reversed(every)}
        operands = [one for one in every if first[one.text.casefold()] is one]
        aged = [Operand(text, before="among", fixed=age_block(text)) for text in topic.ages]
        self.operands = [*([one for one in operands if not one.is_idle] or operands), *aged]
        idle = [one.text for one in operands if one not in self.operands]
        self.left_out = [text for text in idle if not text[0].isdigit()]
        either_way = [text for one in topic.either_way if (text := EITHER_WAY.sub("", one)) != one]
        numbers = [text for text in idle if text[0].isdigit()]
        self.optional = [*filter(None, [topic.outcome]), *either_way, *numbers]
        self.direct = topic.syntax or self.query(self.operands) or " ".join(next(phrases(topic.subject)))
        self.kinds = question_kinds(topic, concepts)
        records = [one.record for one in concepts if one.record]
        self.is_clinical = any(record.is_of(_CLINICAL) for record in records)
        if len(self.operands) == 1 and not self.kinds and (record := self.concepts[0].record if concepts else None):
            # A disease or a drug alone: what most people want to know of it.
            self.kinds |= {"treatment", "diagnosis"} if record.is_of(("C", "F03")) else set()
            self.kinds |= {"treatment"} if record.is_supplementary or record.is_of(("D",)) else set()

    @property
    def parts(self) -> list[Operand]:
        """The operands that a broader query may do without."""
        return [one for one in self.operands if not one.is_negation]

    def query(self, operands: Sequence[Operand], blocks: Mapping[Operand, str] = MappingProxyType({})) -> str:
        """The query for these of the operands, in the user's spelling too; some in other `blocks` than their own."""
        core = joined(blocks.get(one, one.pubmed) for one in operands)
        query = self.topic.or_typed(core)
        excluded = pubmed_syntax.any_of(map(pubmed_syntax.grouped, self.topic.excluded)) if self.topic.excluded else ""
        return f"{pubmed_syntax.grouped(query)} NOT {excluded}" if excluded else query


def joined_words(operands: Sequence[Operand]) -> str:
    return " ".join(one.text.strip('"') for one in operands)


def quoted_list(words: Iterable[str]) -> str:
    return ", ".join(f"“{word}”" for word in words)
