"""A part of a topic: a concept or words of the user, what it is to a search, and how sure that papers name it."""

from __future__ import annotations

from dataclasses import dataclass

from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.blocks import TopicConcept, singular, text_words, words_block
from deepcritical_mcp.search.expansion.negations import negated_block
from deepcritical_mcp.search.expansion.phrases import is_symbol, stems
from deepcritical_mcp.search.expansion.roles import (
    DESIGNS,
    QueryRole,
    is_adjective,
    is_common,
    is_head,
    is_light,
    is_never_noun,
    role_of_word,
)
from deepcritical_mcp.search.expansion.word_lists import word_list
from deepcritical_mcp.text import PUBMED_STOP_WORDS

_ADVERSE_BLOCK = (
    '("adverse effects"[sh] OR "adverse effect*"[tiab] OR "adverse event*"[tiab] OR "side effect*"[tiab] OR '
    "safety[tiab] OR harm*[tiab] OR toxicity[tiab] OR tolerability[tiab])"
)
JOINING = frozenset({",", "and", "or", "and/or"})
EXAMPLES = word_list("before examples")
# Before an outcome: what is measured, and whether it changes.
EFFECT = word_list("effects")
ESPECIALLY = word_list("before details")
EFFECT_ON = "effect on"
# Before those whom a question is about.
_WHOM = word_list("before persons")
# Of disorders, symptoms and behavior.
OF_DISEASES = ("C", "F01", "F02", "F03")
# Of these, organisms, chemicals, techniques and reproduction, papers have to name what they are about.
_SURE = (*OF_DISEASES, "B", "D", "E", "G08")


@dataclass(frozen=True)
class Operand:
    """A part of the topic: a concept, or words of the user.

    Attributes:
        role: what it is to a search.
        before: what separates it from the part before it: a word in small letters, "," or "" for nothing.
        label: the letter of the part of a PICO question that it is in, or "".
        either: the parts of which one is enough ("aspirin or warfarin").
        is_compared: whether it is what something else is compared with.
        is_looked_up: whether MeSH was asked for it.
        beside: the words right before and behind a concept that MeSH does not have with it ("aspiration" pneumonia).
    """

    text: str
    role: QueryRole
    concept: TopicConcept | None = None
    before: str = ""
    label: str = ""
    either: tuple[Operand, ...] = ()
    is_compared: bool = False
    is_looked_up: bool = False
    beside: tuple[str, ...] = ()

    @property
    def is_negation(self) -> bool:
        return self.text.startswith('"')

    @property
    def is_disease(self) -> bool:
        return tree_kind(self) == "disease"

    @property
    def is_drug(self) -> bool:
        return tree_kind(self) == "D"

    @property
    def is_name(self) -> bool:
        """Whether no vocabulary has it, or a symbol stands in it."""
        return not self.is_known or any(map(is_symbol, self.text.split()))

    @property
    def is_class(self) -> bool:
        """Whether it is a class of drugs, or a list of drugs."""
        every = self.either or (self,)
        return self.is_drug and (len(every) > 2 or any(one.concept and one.concept.members for one in every))

    @property
    def is_outcome(self) -> bool:
        """Whether it is what something is said to change."""
        return self.label == "O" or self.before in (*EFFECT, EFFECT_ON, *ESPECIALLY)

    @property
    def is_whom(self) -> bool:
        """Whether it tells in whom, or when."""
        return self.label == "P" or self.before in _WHOM

    @property
    def said(self) -> str:
        """Its text without the quotes of a negation."""
        return self.text.strip('"')

    @property
    def is_known(self) -> bool:
        """Whether MeSH or the texts have a name for it."""
        if self.either:
            return any(one.is_known for one in self.either)
        return self.concept is not None and bool(self.concept.record or self.concept.forms)

    @property
    def rank(self) -> int:
        """The smaller, the sooner it is required. 0, sure: headings of several words, of diseases, organisms and what
        is tried, and names; 1: other headings and words; 2: groups, places and headings of a word with several senses;
        3: what says little, and the body."""
        if self.either:
            return min(one.rank for one in self.either)
        words = self.text.split()
        is_named = any(map(is_name, words))
        if self.role != "subject":
            is_told = self.before == "" or self.is_whom if self.is_known else is_named
            return {"group": 0 if is_told else 2, "place": 2, "aspect": 1}.get(self.role, 3)
        record = self.concept.record if self.concept else None
        is_effect = self.label == "O" or (self.is_outcome and not self.is_disease)
        if (
            self.label == "I"
            or (self.label == "P" and record)
            or (self.is_compared and record)
            or (self.is_outcome and self.is_disease)
        ):
            return 0
        if self.concept and words[1:] and not record:
            return int(is_effect)
        if self.concept is None or record is None:
            is_first = self.before == "" and not is_head(words[-1])
            is_phrase = is_first or (words[1:] and not all(is_common([one]) for one in words))
            return int(self.label == "O" or (not is_named and (is_effect or not is_phrase)))
        if self.beside or (words[1:] and not is_organ(self.concept)):
            return int(is_effect)
        if is_vague(self.concept):
            return 1 + (not stems(words[0]) & stems(record.name))
        if record.is_of(("A",)):
            is_cell = record.is_of(("A11",))
            return 0 if is_cell or (is_named and not words[1:] and not is_symbol(words[0])) else 1 if words[1:] else 3
        is_tried = any(one.startswith(_SURE) for one in record.tree_numbers or ("D",))
        return int(is_effect or not (is_tried or is_named))

    @property
    def pubmed(self) -> str:
        """The part for PubMed, by all its names; words that MeSH was not asked for go through PubMed's own mapping."""
        return self.block()

    def block(self, unindexed: frozenset[str] = frozenset()) -> str:
        """The same with words near each other for the phrases that PubMed does not have."""
        if self.either:
            return pubmed_syntax.any_of(pubmed_syntax.grouped(one.block(unindexed)) for one in self.either)
        if self.text.lower() in word_list("adverse"):
            return _ADVERSE_BLOCK
        if self.concept:
            words = [words_block(one, unindexed) for one in self.beside]
            return pubmed_syntax.all_of([self.concept.block.full, *words])
        if self.is_negation:
            return negated_block(self.text)
        if not self.is_looked_up:
            is_lost = self.text.split()[0].lower() in PUBMED_STOP_WORDS
            return pubmed_syntax.phrase(self.text, "tiab") if is_lost else self.text
        return words_block(self.text, unindexed)

    @property
    def rank_words(self) -> list[str]:
        """The user's own words alone, to rank by."""
        if self.is_negation:
            return [pubmed_syntax.phrase(self.said, "tiab")]
        texts = [part.said for part in self.either or (self,)]
        if self.role in ("measure", "modifier"):  # no plural
            return [pubmed_syntax.term(text, "tiab") for text in texts]
        return [one for text in texts if text.lower() not in DESIGNS for one in text_words(text)]


def _is_abstract(concept: TopicConcept) -> bool:
    """Whether its heading is of no part of the body, organism, disease, chemical, technique or person."""
    return concept.record is not None and concept.record.is_of(tuple("FGHIJKLN")) and not concept.record.is_of(_SURE)


def is_vague(concept: TopicConcept | None) -> bool:
    """Whether a heading says little without the words beside it: one near the top of the tree, or a single frequent
    word whose heading is of no nature or named otherwise ("glue")."""
    if concept is None or concept.record is None or is_name(concept.text):
        return False
    is_other = _is_abstract(concept) or is_organ(concept) or not stems(concept.text) & stems(concept.record.name)
    return is_branch(concept) or (is_common(concept.text.lower().split()) and is_other)


def is_name(word: str) -> bool:
    """Whether a word is rare enough to name a subject: a symbol of three characters or more, a drug, a noun that is not
    frequent in English ("mouthguard")."""
    if is_symbol(word):
        return len(word.rstrip("s")) > 2
    lower = word.lower()
    return not (
        is_common([lower])
        or is_common([singular(lower)])
        or is_light(word)
        or is_head(word)
        or is_never_noun(lower)
        or is_adjective(lower)
        or role_of_word(word) not in ("subject", "modifier")
    )


def is_organ(concept: TopicConcept | None) -> bool:
    return concept is not None and concept.record is not None and concept.record.is_of(("A",))


def is_branch(concept: TopicConcept | None) -> bool:
    """Whether it is a heading near the top of the tree, such as "Neoplasms" and "Behavior"."""
    places = concept.record.tree_numbers if concept and concept.record else ()
    return bool(places) and all(one.count(".") < 2 for one in places)


def tree_kind(part: Operand) -> str:
    """ "disease", or the first letter of its place in the MeSH tree; "" if that is unknown."""
    first = part.either[0] if part.either else part
    record = first.concept.record if first.concept else None
    if record is None or not record.tree_numbers:
        return "D" if record else ""
    if any(number.startswith(OF_DISEASES) for number in record.tree_numbers):
        return "disease"
    return record.tree_numbers[0][0]
