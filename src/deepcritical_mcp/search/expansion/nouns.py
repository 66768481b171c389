"""The tokens of a topic, read into parts: of what stands between two separators, a noun, each thing that says enough
is a part, and so are the words between such things."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from deepcritical_mcp.search.expansion.blocks import TopicConcept
from deepcritical_mcp.search.expansion.parts import Part
from deepcritical_mcp.search.expansion.phrases import is_symbol
from deepcritical_mcp.search.expansion.roles import (
    OF_DISEASES,
    WEAK,
    QueryRole,
    amount_at,
    evidence_of,
    is_adjective,
    is_branch,
    is_common,
    is_filler,
    is_gerund,
    is_participle,
    role_of_heading,
    role_of_word,
)
from deepcritical_mcp.search.expansion.topic import Topic
from deepcritical_mcp.search.expansion.word_lists import word_list
from deepcritical_mcp.text import FOREIGN_FUNCTION_WORDS, QUERY_FUNCTION_WORDS

_PERSONS = ("group", "person")
_MAX_PHRASE_WORDS = 3
_SAYING = ("subject", "general", "head", "group", "setting")
# What separates two parts: function words, and what people write between them.
_SEPARATORS = QUERY_FUNCTION_WORDS | word_list("separators")
_SAYING_NOTHING = _SEPARATORS | word_list("filler") | word_list("of whom")
_COMPARING = ("versus", "vs", "than")
_COMPARED_WITH = word_list("compared with")
_ENDS_COMPARISON = word_list("ends a comparison") | {",", ";"}


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
    found = _TopicReader(topic, spans, is_looked_up=is_looked_up).parts()
    if word_list("efficacy") & {*topic.text.lower().split()}:  # "benefits and harms"
        found = [replace(one, role="kind") if one.text.lower() in word_list("adverse") else one for one in found]
    every: dict[str, Part] = {}
    for one in found:  # "urinary tract infections in women with recurrent UTI"
        named = one.concept.record.name if one.concept and one.concept.record else one.text
        every.setdefault(f"{one.label if topic.operands else ''} {named.casefold()}", one)
    return list(every.values())


class _TopicReader:
    """The tokens of a topic, read into parts."""

    def __init__(self, topic: Topic, spans: Mapping[int, tuple[int, TopicConcept]], *, is_looked_up: bool) -> None:
        self._tokens, self._spans, self._is_looked_up = topic.tokens, spans, is_looked_up
        self._foreign = FOREIGN_FUNCTION_WORDS.get(topic.language, "").split()
        self._found, self._light, self._noun = list[Part](), list[Part](), list[Part]()
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
                self._take(self._part(token.text, "subject"))
            elif concept is None and (length := amount_at([one.text for one in self._tokens[place : place + 6]])):
                self._end_noun()
                stop = place + length
                self._take(self._part(" ".join(one.text for one in self._tokens[place:stop]), "measure"))
            elif concept is None and self._separates(token.text, place):
                self._end_noun()
                self._separate(token.text.lower())
            else:
                self._add(concept.text if concept else token.text, concept)
            place = stop
        self._end_noun()
        return [*self._found, *self._light]

    def _part(self, text: str, role: QueryRole, concept: TopicConcept | None = None) -> Part:
        return Part(
            text, role, concept, "", self._label, is_compared=self._is_compared, is_looked_up=self._is_looked_up
        )

    def _add(self, text: str, concept: TopicConcept | None) -> None:
        """A word or a concept of a noun; a letter or a number that stands alone is the end of the word before it
        ("influenza A"), and other letters are left out ("hepatitis B and C")."""
        text = text if concept else text.removesuffix("'").removesuffix("'s").removesuffix("’s")
        if concept is None and (text.isdigit() or len(text) == 1) and self._noun:
            before = self._noun.pop()
            text = f"{before.text} {text}"
            concept = replace(before.concept, text=text) if before.concept else None
        if concept or len(text) > 1 or not text.isascii():
            self._noun.append(self._part(text, _role_of(text, concept), concept))

    def _separates(self, word: str, place: int) -> bool:
        """Whether a word is between two parts; the A of "vitamin A" and "ALL", "CAN", "WHO" are names."""
        lower, following = word.lower(), self._tokens[place + 1 : place + 2]
        after = following[0].text.lower() if following else ""
        if word in (",", ";"):
            return True
        is_verb = f"{lower} {after}" in word_list("verb") or is_filler(lower)
        return (word.islower() or word[1:].islower()) and (is_verb or lower in _SEPARATORS or lower in self._foreign)

    def _separate(self, lower: str) -> None:
        pair = f"{self._before} {lower}"
        is_list = self._before in ("and", "or", "and/or") and lower in _SAYING_NOTHING
        if pair in _COMPARED_WITH:
            self._before = pair
        elif not is_list:
            self._before = lower
        if lower in _COMPARING or pair in _COMPARED_WITH:
            self._is_compared = True
        elif lower in _ENDS_COMPARISON or (is_filler(lower) and any(one.is_compared for one in self._found[-1:])):
            self._is_compared = self._label == "C"  # "rather than placebo associated with gout"

    def _take(self, part: Part) -> None:
        if part.role != "filler":
            is_ranked = part.role in ("modifier", "head", "kind")
            (self._light if is_ranked else self._found).append(replace(part, before=self._before))
            self._before = "" if not is_ranked else self._before

    def _end_noun(self) -> None:
        for part in _parts_of_noun(self._noun):
            self._take(part)
        if self._noun:
            self._noun, self._before = [], ""


def _role_of(text: str, concept: TopicConcept | None) -> QueryRole:
    lower = text.lower()
    if lower.replace("-", " ") in word_list("adverse") or lower in word_list("name"):
        return "aspect"
    is_vague = role_of_word(text) in ("kind", "filler", "setting") or lower in word_list("modifier")
    if concept and concept.record and (" " in text or not is_vague):
        return role_of_heading(concept.record)
    return role_of_word(text)


def _parts_of_noun(noun: Sequence[Part]) -> Iterator[Part]:
    """What stands between two separators: each thing that says enough alone, with the adjective before it ("robotic
    prostatectomy"), and the words between them as one phrase, which ends with what says little alone ("trans women",
    "kidney function")."""
    run = list[Part]()
    is_apart = any(map(_stands_alone, noun))
    for one, after in zip(noun, (*noun[1:], None), strict=False):
        if run and _completes(one, run[-1]):
            role: QueryRole = "group" if one.role in _PERSONS else "subject"
            yield from _phrase([*run, replace(one, role=role)], is_apart=is_apart)
            run, is_apart = [], True
        elif _stands_alone(one) and not (after and _completes(after, one)):
            described = [run.pop()] if run and _describes(run[-1], one) else []
            yield from _phrase(run, is_apart=True)
            text = " ".join(part.text for part in (*described, one))
            whole = replace(one, text=text, concept=None, every=(*described, one), is_looked_up=False)
            yield whole if described else one
            run = []
        elif not run and after and one.role == after.role == "subject" and is_gerund(one.text):
            yield replace(one, role="modifier")  # "attacking pain"
        elif one.role in _SAYING or is_adjective(one.text):
            run.append(one)
        else:
            yield from _phrase(run, is_apart=is_apart)
            yield replace(one, role="modifier") if one.role == "person" else one
            run = []
    yield from _phrase(run, is_apart=is_apart)


def _phrase(run: Sequence[Part], *, is_apart: bool) -> Iterator[Part]:
    """Words that MeSH does not have, and headings that say little alone, as one phrase; `is_apart` from what says
    enough, beside which adjectives and "therapy" only rank."""
    words = [one for one in run if one.role in _SAYING and not (is_apart and one.role == "head")]
    while words[not is_apart :] and words[-1].concept is None and is_adjective(words[-1].text):
        words.pop()  # "is red meat harmful"
    words = words[-_MAX_PHRASE_WORDS:]
    for one in run:
        if one not in words:
            yield replace(one, role="modifier") if one.role in (*_SAYING, "person") and one.role != "head" else one
    if words[1:]:
        role = words[-1].role if words[-1].role in ("group", "setting") else "subject"
        yield replace(words[-1], text=" ".join(one.text for one in words), role=role, concept=None)
    elif words:
        is_telling = words[0].concept or words[0].role != "subject" or not is_adjective(words[0].text)
        yield words[0] if is_telling else replace(words[0], role="modifier")


def _describes(word: Part, thing: Part) -> bool:
    """Whether it is an adjective that papers on a thing name with it, unlike "acute" and the forms of drugs."""
    is_verb = is_participle(word.text) or word.text.endswith("ing") or "-" in word.text
    is_said = word.concept is None and is_adjective(word.text) and word.role == "subject" and not is_verb
    return is_said and thing.concept is not None and not _is_of(thing, "D")


def _completes(one: Part, before: Part) -> bool:
    """Whether it says little alone, and is one thing with what stands before it: "trans women", "liver diseases",
    "kidney function"."""
    if (one.role in _PERSONS or one.concept is None) and is_adjective(one.text):
        return False
    if before.role == "setting":
        return one.concept is None and one.role in ("subject", "head")  # "school closures"
    if one.role in ("kind", "modifier"):
        return before.role == "subject" and _is_vague(before)
    if not (one.role in _PERSONS or (one.role != "place" and _is_top(one))):
        return False
    if before.concept:
        return _is_of(before, "A")
    return before.role == "subject"


def _stands_alone(one: Part) -> bool:
    """Whether it is a part of its own: an animal, a gene, or a concept that says enough alone, unlike headings near the
    top of the tree, parts of the body, frequent words that name no disease, and settings ("school closures")."""
    if one.concept is None:
        is_gene = any(is_symbol(word) and not word.isalpha() for word in one.text.split())  # but not "type 2"
        return one.role == "animal" or is_gene
    if one.role != "subject" or one.concept.record is None:
        return one.role not in ("general", "head")
    is_named = _is_of(one, "B", *OF_DISEASES) or not is_common(one.text.lower().split())
    return is_named and not _is_vague(one)


def _is_vague(one: Part) -> bool:
    """Whether it is a word that says little."""
    return " " not in one.text and evidence_of(one.role, one.text, one.concept.record if one.concept else None) <= WEAK


def _is_top(one: Part) -> bool:
    """Whether it is a heading near the top of the tree, or at the very top of diseases ("Infections", not "Burns")."""
    if one.concept is None or one.concept.record is None or not is_branch(one.concept.record):
        return False
    return not _is_of(one, *OF_DISEASES, "A") or any("." not in place for place in one.concept.record.tree_numbers)


def _is_of(one: Part, *branches: str) -> bool:
    return one.concept is not None and one.concept.record is not None and one.concept.record.is_of(branches)
