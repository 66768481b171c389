"""The tokens of a topic, read into parts: what each is called, what it is to a search, and how sure papers name it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.blocks import TopicConcept, is_action, text_words, words_block
from deepcritical_mcp.search.expansion.phrases import singular
from deepcritical_mcp.search.expansion.roles import (
    NAMED,
    NONE,
    OF_DISEASES,
    WEAK,
    QueryRole,
    ends_like_disease,
    evidence_of,
    is_common,
)
from deepcritical_mcp.search.expansion.topic import ASIDE
from deepcritical_mcp.search.expansion.word_lists import endings, word_groups, word_list
from deepcritical_mcp.sources.base import MeshDescriptor
from deepcritical_mcp.text import PUBMED_STOP_WORDS

JOINING = frozenset({",", "and", "or", "and/or"})
# Before an outcome: what is measured, and whether it changes.
BEFORE_OUTCOMES = word_list("effects") | word_list("before details")


@dataclass(frozen=True)
class Part:
    """A part of the topic: a concept, or words of the user.

    Attributes:
        role: what it is to a search.
        before: what separates it from the part before it: a word in small letters, "," or "" for nothing.
        label: the letter of the part of a PICO question or the number of the joined term that it is in, or "".
        either: the parts of which one is enough ("aspirin or warfarin").
        every: the parts all of which must be there: of one term of the user, or "robotic prostatectomy".
        is_compared: whether it is what something else is compared with.
        is_looked_up: whether MeSH was asked for it.
        filter: the search filter that it names ("cost-effectiveness"), or "".
    """

    text: str
    role: QueryRole
    concept: TopicConcept | None = None
    before: str = ""
    label: str = ""
    either: tuple[Part, ...] = ()
    is_compared: bool = False
    is_looked_up: bool = False
    every: tuple[Part, ...] = ()
    filter: str = ""

    @property
    def is_negation(self) -> bool:
        return self.text.startswith('"')

    @property
    def is_disease(self) -> bool:
        return self.kind == "disease"

    @property
    def is_class(self) -> bool:
        """Whether it is a class of drugs, or a list of drugs."""
        return self.kind == "D" and (len(self.either) > 2 or any(map(is_action, self.records)))

    @property
    def is_outcome(self) -> bool:
        """Whether it is what something is said to change."""
        return self.label == "O" or self.before in BEFORE_OUTCOMES

    @property
    def said(self) -> str:
        """Its text without the quotes of a negation."""
        return self.text.strip(' "')

    @property
    def is_known(self) -> bool:
        """Whether MeSH or the texts have a name for it."""
        known = [one.concept for one in self.inner]
        return any(one is not None and bool(one.record or one.forms) for one in known)

    @property
    def records(self) -> list[MeshDescriptor]:
        """The records of MeSH for it, or for the parts in it."""
        return [one.concept.record for one in self.inner if one.concept and one.concept.record]

    @property
    def inner(self) -> tuple[Part, ...]:
        """The parts that it is made of; itself if of none."""
        return tuple(part for one in self.either or self.every for part in one.inner) or (self,)

    @property
    def kind(self) -> str:
        """ "disease", or the first letter of its place in the MeSH tree; "" if that is unknown."""
        if not self.records:
            return "disease" if ends_like_disease(self.text) else ""
        places = self.records[0].tree_numbers or ("D",)
        is_disease = any(one.startswith(OF_DISEASES) and not one.startswith("F02") for one in places)
        return "disease" if is_disease else places[0][:1]

    @property
    def evidence(self) -> float:
        """How sure it is that papers on the topic name it: what it is, and where it stands. What is compared or in
        parentheses is named by fewer, and so is an outcome, unless it is a disease."""
        if self.filter:
            return NAMED
        if self.inner != (self,):
            return max(one.evidence for one in self.inner)
        found = evidence_of(self.role, self.text, self.concept.record if self.concept else None)
        found -= WEAK * (self.is_compared + 2 * (self.label == ASIDE))
        if self.is_outcome and not self.is_disease:
            found -= WEAK
        is_tried = self.label == "I" and self.role == "subject"
        return max(found, NAMED if is_tried else NONE)

    @property
    def is_aside(self) -> bool:
        """Whether a topic stays what it is without it: an outcome, a kind of study, whom or where it is about, or a
        frequent word ("barriers")."""
        things = ("kind", "phrase", "subject")
        is_light = any(one.role not in things or is_common([singular(one.text.lower())]) for one in self.inner)
        return bool(self.filter) or (self.evidence < NAMED and is_light)

    def block(self, *, short: bool = False) -> str:
        """The part for PubMed, by all its names or in its short form; words that MeSH was not asked for go through
        PubMed's own mapping."""
        if self.filter:
            own = replace(self, filter="").block(short=short)
            return pubmed_syntax.any_of([pubmed_syntax.grouped(own), pubmed_syntax.grouped(self.filter)])
        if self.either:
            return pubmed_syntax.any_of(pubmed_syntax.grouped(one.block(short=short)) for one in self.either)
        if self.every:
            return pubmed_syntax.all_of(one.block(short=short) for one in self.every)
        if self.text.lower().replace("-", " ") in word_list("adverse"):
            terms = (term for one in endings("adverse") for term in text_words(one))
            return pubmed_syntax.any_of(['"adverse effects"[sh]', *terms])
        if self.concept:
            return self.concept.block.short if short else self.concept.block.full
        if self.is_negation:
            return self.text
        if nouns := word_groups("species").get(self.text):
            heading, *others = nouns
            return pubmed_syntax.any_of(
                [pubmed_syntax.phrase(heading, "MeSH Terms"), *(f"{one}[tiab]" for one in (self.text, *others))]
            )
        if not self.is_looked_up:
            is_lost = self.text.split()[0].lower() in PUBMED_STOP_WORDS
            return pubmed_syntax.phrase(self.text, "tiab") if is_lost else self.text
        return words_block(self.text.removesuffix("-based"), is_whole=self.role == "phrase")

    @property
    def rank_words(self) -> list[str]:
        """The user's own words alone, to rank by."""
        if self.is_negation:
            return [pubmed_syntax.phrase(self.said, "tiab")]
        texts = [one.said for one in self.either or (self,)]
        if self.role in ("measure", "modifier"):  # no plural
            return [pubmed_syntax.term(text, "tiab") for text in texts]
        return [one for text in texts for one in text_words(text)]
