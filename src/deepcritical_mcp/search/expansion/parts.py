"""The tokens of a topic, read into parts: what each is called, what it is to a search, and how sure papers name it."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace

from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.blocks import TopicConcept, is_action, spellings, text_words, words_block
from deepcritical_mcp.search.expansion.nouns import PERSONS, Item, Piece, pieces
from deepcritical_mcp.search.expansion.roles import (
    NAMED,
    NONE,
    OF_DISEASES,
    SURE,
    SYMPTOMS,
    WEAK,
    QueryRole,
    amount_at,
    ends_like_disease,
    evidence_of,
    is_common,
    is_filler,
    is_gerund,
    role_of_word,
)
from deepcritical_mcp.search.expansion.topic import ASIDE, Token, Topic
from deepcritical_mcp.search.expansion.word_lists import word_classes, word_groups, word_list
from deepcritical_mcp.sources.base import MeshDescriptor
from deepcritical_mcp.text import FOREIGN_FUNCTION_WORDS, PUBMED_STOP_WORDS, QUERY_FUNCTION_WORDS

_ADVERSE_BLOCK = (
    '("adverse effects"[sh] OR "adverse effect*"[tiab] OR "adverse event*"[tiab] OR "side effect*"[tiab] OR '
    "safety[tiab] OR harm*[tiab] OR toxicity[tiab] OR tolerability[tiab])"
)
JOINING = frozenset({",", "and", "or", "and/or"})
EXAMPLES = word_list("before examples")
# Before an outcome: what is measured, and whether it changes.
_BEFORE_OUTCOMES = word_list("effects") | word_list("before details")
# What separates two parts: function words, and what people write between them.
_SEPARATORS = QUERY_FUNCTION_WORDS | word_list("separators")
_DETERMINERS = word_list("determiners")
_SAYING_NOTHING = _SEPARATORS | word_list("filler") | word_list("of whom")
_COMPARING = ("versus", "vs", "than")
_COMPARED_WITH = word_list("compared with")
_ENDS_COMPARISON = word_list("ends a comparison") | {",", ";"}
_BEGINS_EXAMPLES = {one.split()[0] for one in EXAMPLES}


@dataclass(frozen=True)
class Part:
    """A part of the topic: a concept, or words of the user.

    Attributes:
        role: what it is to a search.
        before: what separates it from the part before it: a word in small letters, "," or "" for nothing.
        label: the letter of the part of a PICO question that it is in, or "".
        either: the parts of which one is enough ("aspirin or warfarin").
        every: the parts of one term of the user, all of which must be there ("central line infection").
        is_compared: whether it is what something else is compared with.
        is_looked_up: whether MeSH was asked for it.
        described: the adjective before it, or the gerund behind it, that papers name with it ("robotic prostatectomy").
    """

    text: str
    role: QueryRole
    concept: TopicConcept | None = None
    before: str = ""
    label: str = ""
    either: tuple[Part, ...] = ()
    is_compared: bool = False
    is_looked_up: bool = False
    described: str = ""
    every: tuple[Part, ...] = ()

    @property
    def is_negation(self) -> bool:
        return self.text.startswith('"')

    @property
    def is_disease(self) -> bool:
        return self.kind == "disease"

    @property
    def is_symptom_of(self) -> bool:
        """Whether it is a symptom in some who have something else ("chronic pain from osteoarthritis")."""
        record = self.concept.record if self.concept else None
        return self.before == "for" and record is not None and "pain" in record.name.lower()

    @property
    def is_class(self) -> bool:
        """Whether it is a class of drugs, or a list of drugs."""
        return self.kind == "D" and (len(self.either) > 2 or any(map(is_action, self.records)))

    @property
    def is_outcome(self) -> bool:
        """Whether it is what something is said to change."""
        return self.label == "O" or self.before in _BEFORE_OUTCOMES

    @property
    def said(self) -> str:
        """Its text without the quotes of a negation."""
        words = (self.text, self.described) if is_gerund(self.described) else (self.described, self.text)
        return " ".join(words).strip(' "')

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
        is_disease = any(one.startswith(OF_DISEASES) and not one.startswith((*SYMPTOMS, "F02")) for one in places)
        return "disease" if is_disease else places[0][:1]

    @property
    def evidence(self) -> float:
        """How sure it is that papers on the topic name it: what it is, and where it stands. What is compared or in
        parentheses is named by fewer, and so is an outcome, unless it is a disease."""
        if self.inner != (self,):
            return NONE if self.role == "person" else max(one.evidence for one in self.inner)
        found = evidence_of(self.role, self.text, self.concept.record if self.concept else None)
        if self.concept and self.concept.forms and not self.concept.record:
            found = SURE
        if (
            self.is_looked_up
            and self.concept is None
            and is_common(self.text.split())
            and self.before not in ("", "or")
        ):
            found = WEAK / 2 * (self.role in ("subject", "group", "setting"))  # "absence", but "nurse turnover"
        is_unknown = self.is_compared and self.is_looked_up and not self.is_known  # "TAVI vs SAVR"
        if is_unknown or self.text.lower() in ("man", "men", "woman", "women"):
            found = NONE  # men or women with a disease are seldom half of the question
        found -= WEAK * (self.is_compared + 2 * (self.label == ASIDE))
        if self.is_outcome and (self.is_known or self.label) and self.role != "group":
            found += WEAK * ((found == NAMED) if self.is_disease else -1)
        is_tried = self.label == "I" and self.role == "subject"
        return max(found, NAMED * is_tried) + (WEAK / 2 if self.label in ("P", "I") and found >= NAMED else 0)

    def block(self) -> str:
        """The part for PubMed, by all its names; words that MeSH was not asked for go through PubMed's own mapping."""
        if self.either:
            return pubmed_syntax.any_of(pubmed_syntax.grouped(one.block()) for one in self.either)
        if self.every:
            return pubmed_syntax.all_of(one.block() for one in self.every)
        if self.text.lower().replace("-", " ") in word_list("adverse"):
            return _ADVERSE_BLOCK
        if self.concept and self.described:
            said = pubmed_syntax.any_of(pubmed_syntax.term(one, "tiab") for one in spellings(self.described))
            return pubmed_syntax.all_of([said, self.concept.block.full])
        if self.concept:
            return self.concept.block.full
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
        return words_block(self.text)

    @property
    def rank_words(self) -> list[str]:
        """The user's own words alone, to rank by."""
        if self.is_negation:
            return [pubmed_syntax.phrase(self.said, "tiab")]
        texts = [one.said for one in self.either or (self,)]
        if self.role in ("measure", "modifier"):  # no plural
            return [pubmed_syntax.term(text, "tiab") for text in texts]
        return [one for text in texts for one in text_words(text)]


def parts_of(topic: Topic, concepts: Sequence[TopicConcept], *, is_looked_up: bool) -> list[Part]:
    """The topic's parts in their order, each once; [] for PubMed's syntax, which is never taken apart."""
    spans = {span.start: (span.stop, one) for one in concepts[::-1] for span in topic.places(one.text)}
    for text in (*topic.quoted, *word_list("name"), *word_list("subject name"), *word_list("adverse")):
        span = topic.find(text)
        inner = [start for start in spans if span and start in span]
        if span and all(len(range(start, spans[start][0])) < len(span) for start in inner):  # "hospital at home"
            for start in inner:
                del spans[start]
            said = " ".join(one.text for one in topic.tokens[span.start : span.stop])
            spans[span.start] = span.stop, TopicConcept(said)
    foreign = FOREIGN_FUNCTION_WORDS.get(topic.language, "").split()
    found = _TopicReader(topic.tokens, spans, foreign, is_looked_up=is_looked_up).parts()
    if word_list("efficacy") & {*topic.text.lower().split()}:  # "benefits and harms"
        found = [replace(one, role="kind") if one.text.lower() in word_list("adverse") else one for one in found]
    every: dict[str, Part] = {}
    for one in found:  # "urinary tract infections in women with recurrent UTI"
        named = one.records[0].name if one.records and not one.described else one.text
        every.setdefault(f"{one.label if topic.operands else ''} {named.casefold()}", one)
    return list(every.values())


class _TopicReader:
    """The tokens of a topic, read into parts: what stands between two separators is a noun with its concepts.

    `foreign` are function words of the topic's language.
    """

    def __init__(
        self,
        tokens: Sequence[Token],
        spans: dict[int, tuple[int, TopicConcept]],
        foreign: Container[str],
        *,
        is_looked_up: bool,
    ) -> None:
        self._tokens, self._spans, self._foreign = tokens, spans, foreign
        self._is_looked_up = is_looked_up
        self._found, self._light, self._verbs = list[Part](), list[Part](), list[Part]()
        self._noun = list[Item]()
        self._before: str = ""
        self._label: str = ""
        self._is_compared = False

    def parts(self) -> list[Part]:
        place = 0
        while place < len(self._tokens):
            token = self._tokens[place]
            stop, concept = self._spans.get(place, (place + 1, None))
            if token.label != self._label:
                self._end_noun()
                self._before, self._label, self._is_compared = ";", token.label, token.label == "C"
            if concept is None and token.is_negation:
                self._end_noun()
                is_none = token.label == "C"  # "compared with no treatment"
                said = token.text.strip('"') if is_none else token.text
                self._take(Piece(said, "comparator" if is_none else "subject"))
            elif concept is None and (length := amount_at([one.text for one in self._tokens[place : place + 6]])):
                self._end_noun()
                stop = place + length
                self._take(Piece(" ".join(one.text for one in self._tokens[place:stop]), "measure"))
            elif concept is None and self._separates(token.text, place):
                self._end_noun()
                self._separate(token.text.lower(), place)
            else:
                self._noun.append((concept.text, concept) if concept else (_unpossessed(token.text), None))
            place = stop
        self._end_noun()
        return [*self._found, *self._light, *(self._verbs if len(self._found) < 2 else [])]

    def _separates(self, word: str, place: int) -> bool:
        """Whether a word is between two parts; the A of "vitamin A" and "ALL", "CAN", "WHO" are names."""
        lower, following = word.lower(), self._tokens[place + 1 : place + 2]
        after = following[0].text.lower() if following else ""
        if word in (",", ";"):
            return True
        is_word = word.islower() or word[1:].islower()
        is_verb = f"{lower} {after}" in word_list("verb")
        return is_word and (is_verb or is_filler(lower) or lower in _SEPARATORS or lower in self._foreign)

    def _separate(self, lower: str, place: int) -> None:
        pair = f"{self._before} {lower}"
        is_joined = self._before in JOINING and (is_filler(lower) or lower in (",", ";", *_DETERMINERS))
        is_joined = is_joined or (self._before in ("and", "or", "and/or") and lower in QUERY_FUNCTION_WORDS)
        is_kept = is_joined or (self._before in _BEFORE_OUTCOMES and lower not in ("among", "in", ",", ";"))
        if pair in _COMPARED_WITH or pair in EXAMPLES:
            self._before = pair
        elif lower in _BEGINS_EXAMPLES or not is_kept:
            self._before = lower
        if word_classes().get(lower) == "verb" and lower not in _SAYING_NOTHING:  # "stop"
            self._verbs.append(Part(lower, "head", is_looked_up=self._is_looked_up))
        if lower in _COMPARING or pair in _COMPARED_WITH:
            self._is_compared = True
        elif (lower in _ENDS_COMPARISON or (is_filler(lower) and self._is_named())) and self._label != "C":
            self._is_compared = False

    def _is_named(self) -> bool:
        """Whether what is compared has been named ("than placebo associated with")."""
        return bool(self._found) and self._found[-1].is_compared

    def _take(self, piece: Piece) -> None:
        if piece.role != "filler":
            said = self._before, self._label, (), self._is_compared, self._is_looked_up
            part = Part(piece.text, piece.role, piece.concept, *said, piece.described)
            is_ranked = piece.role in ("modifier", "head", "kind")
            (self._light if is_ranked else self._found).append(part)
            self._before = "" if not is_ranked else self._before

    def _end_noun(self) -> None:
        for piece in pieces(self._noun, is_listed=self._is_compared or self._before in JOINING):
            self._take(piece)
        if self._noun:
            self._noun, self._before = [], ""


def _unpossessed(word: str) -> str:
    """Persons without the ending that says what is theirs ("children's"), which no paper has to say; a name with it."""
    bare = word.replace("’", "'").removesuffix("'").removesuffix("'s")
    return bare if role_of_word(bare) in PERSONS else word
