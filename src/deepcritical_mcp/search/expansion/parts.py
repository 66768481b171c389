"""The tokens of a topic, read into parts: what each is called, what it is to a search, and how sure papers name it."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.blocks import TopicConcept, spellings, text_words, words_block
from deepcritical_mcp.search.expansion.negations import negated_block
from deepcritical_mcp.search.expansion.phrases import is_drug, is_symbol, singular
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
    is_adjective,
    is_branch,
    is_code,
    is_common,
    is_filler,
    is_gerund,
    is_name,
    is_participle,
    role_of_heading,
    role_of_word,
)
from deepcritical_mcp.search.expansion.topic import ASIDE, Token, Topic
from deepcritical_mcp.search.expansion.word_lists import word_groups, word_list
from deepcritical_mcp.text import FOREIGN_FUNCTION_WORDS, PUBMED_STOP_WORDS, QUERY_FUNCTION_WORDS

_ADVERSE_BLOCK = (
    '("adverse effects"[sh] OR "adverse effect*"[tiab] OR "adverse event*"[tiab] OR "side effect*"[tiab] OR '
    "safety[tiab] OR harm*[tiab] OR toxicity[tiab] OR tolerability[tiab])"
)
JOINING = frozenset({",", "and", "or", "and/or"})
EXAMPLES = word_list("before examples")
# Before an outcome: what is measured, and whether it changes.
_EFFECT_ON = "effect on"
_BEFORE_OUTCOMES = word_list("effects") | word_list("before details") | {_EFFECT_ON}
# What separates two parts: function words, and what people write between them.
_SEPARATORS = QUERY_FUNCTION_WORDS | word_list("separators")
_DETERMINERS = word_list("determiners")
_COMPARING = ("versus", "vs", "than")
_COMPARED_WITH = word_list("compared with")
_ENDS_COMPARISON = word_list("ends a comparison") | {",", ";"}
_BEGINS_EXAMPLES = {one.split()[0] for one in EXAMPLES}
_MAX_PHRASE_WORDS = 3
_IN_WHOM = word_list("of whom") - {"for"}
_PROTEINS = ("D08", "D12", "D13")
_PERSONS = ("group", "person")


@dataclass(frozen=True)
class Part:
    """A part of the topic: a concept, or words of the user.

    Attributes:
        role: what it is to a search.
        before: what separates it from the part before it: a word in small letters, "," or "" for nothing.
        label: the letter of the part of a PICO question that it is in, or "".
        either: the parts of which one is enough ("aspirin or warfarin").
        is_compared: whether it is what something else is compared with.
        is_looked_up: whether MeSH was asked for it.
        is_pair: whether it is a general word with what says which one is meant.
        described: the adjective before it ("barbed sutures").
    """

    text: str
    role: QueryRole
    concept: TopicConcept | None = None
    before: str = ""
    label: str = ""
    either: tuple[Part, ...] = ()
    is_compared: bool = False
    is_looked_up: bool = False
    is_pair: bool = False
    described: str = ""

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
        every = self.either or (self,)
        return self.kind == "D" and (len(every) > 2 or any(one.concept and one.concept.members for one in every))

    @property
    def is_outcome(self) -> bool:
        """Whether it is what something is said to change."""
        return self.label == "O" or self.before in _BEFORE_OUTCOMES

    @property
    def is_third(self) -> bool:
        """Whether it may be required beside two others though papers are not as sure as can be to name it."""
        is_named = self.is_known and self.role == "subject" and not is_common(self.text.split())
        return is_named and not (self.is_compared or self.is_outcome) and self.before not in _IN_WHOM

    @property
    def said(self) -> str:
        """Its text without the quotes of a negation."""
        return f"{self.described} {self.text}".strip(' "')

    @property
    def is_known(self) -> bool:
        """Whether MeSH or the texts have a name for it."""
        known = [one.concept for one in self.either or (self,)]
        return any(one is not None and bool(one.record or one.forms) for one in known)

    @property
    def kind(self) -> str:
        """ "disease", or the first letter of its place in the MeSH tree; "" if that is unknown."""
        known = [one.concept for one in self.either or (self,) if one.concept and one.concept.record]
        concept = known[0] if known else None
        if concept is None or concept.record is None:
            return "disease" if ends_like_disease(self.text) else ""
        places = concept.record.tree_numbers or ("D",)
        is_disease = any(one.startswith(OF_DISEASES) and not one.startswith((*SYMPTOMS, "F02")) for one in places)
        return "disease" if is_disease else places[0][: 3 if places[0].startswith(_PROTEINS) else 1]

    @property
    def evidence(self) -> float:
        """How sure it is that papers on the topic name it: what it is, and where it stands. What is compared, in
        parentheses, or changes without being a disease is named by fewer."""
        if self.either:
            return NONE if self.role == "person" else max(one.evidence for one in self.either)
        found = evidence_of(self.role, self.text, self.concept.record if self.concept else None)
        if self.concept and self.concept.forms and not self.concept.record:
            found = SURE
        if (
            self.is_looked_up
            and self.concept is None
            and is_common(self.text.split())
            and self.before not in ("", "or")
        ):
            found = NONE  # "absence", but "nurse turnover"
        found -= WEAK * (self.is_compared + 2 * (self.label == ASIDE))
        if self.is_outcome and (self.is_known or self.label) and self.role != "group":
            found -= WEAK * (not self.is_disease)
        is_tried = self.label == "I" and self.role == "subject"
        return max(found, NAMED * is_tried) + (WEAK / 2 if self.label in ("P", "I") and found >= NAMED else 0)

    def block(self, unindexed: frozenset[str] = frozenset()) -> str:
        """The part for PubMed, by all its names, with words near each other for the phrases that PubMed does not have;
        words that MeSH was not asked for go through PubMed's own mapping."""
        if self.either:
            return pubmed_syntax.any_of(pubmed_syntax.grouped(one.block(unindexed)) for one in self.either)
        if self.text.lower() in word_list("adverse"):
            return _ADVERSE_BLOCK
        if self.concept and self.described:
            said = pubmed_syntax.any_of(pubmed_syntax.term(one, "tiab") for one in spellings(self.described))
            return pubmed_syntax.all_of([said, self.concept.block.full])
        if self.concept:
            return self.concept.block.full
        if self.is_negation:
            return negated_block(self.text)
        if nouns := word_groups("species").get(self.text):
            heading, *others = nouns
            return pubmed_syntax.any_of(
                [pubmed_syntax.phrase(heading, "MeSH Terms"), *(f"{one}[tiab]" for one in (self.text, *others))]
            )
        if not self.is_looked_up:
            is_lost = self.text.split()[0].lower() in PUBMED_STOP_WORDS
            return pubmed_syntax.phrase(self.text, "tiab") if is_lost else self.text
        if self.is_pair:
            return pubmed_syntax.any_of(text_words(self.text, is_near=True))
        return words_block(self.text, unindexed)

    @property
    def rank_words(self) -> list[str]:
        """The user's own words alone, to rank by."""
        if self.is_negation:
            return [pubmed_syntax.phrase(self.said, "tiab")]
        texts = [one.said for one in self.either or (self,)]
        if self.role in ("measure", "modifier"):  # no plural
            return [pubmed_syntax.term(text, "tiab") for text in texts]
        return [one for text in texts for one in text_words(text)]


_Item = tuple[str, TopicConcept | None]


def parts_of(topic: Topic, concepts: Sequence[TopicConcept], *, is_looked_up: bool) -> list[Part]:
    """The topic's parts in their order, each once; [] for PubMed's syntax, which is never taken apart."""
    spans = {span.start: (span.stop, one) for one in concepts if (span := topic.find(one.text))}
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
    seen: set[str] = set()
    return [one for one in found if not (one.text.casefold() in seen or seen.add(one.text.casefold()))]


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
        self._found, self._light = list[Part](), list[Part]()
        self._noun = list[_Item]()
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
                self._take(token.text.strip('"') if is_none else token.text, "comparator" if is_none else "subject")
            elif concept is None and (length := amount_at([one.text for one in self._tokens[place : place + 6]])):
                self._end_noun()
                stop = place + length
                self._take(" ".join(one.text for one in self._tokens[place:stop]), "measure")
            elif concept is None and self._separates(token.text, place):
                self._end_noun()
                self._separate(token.text.lower(), place)
            else:
                self._noun.append((concept.text, concept) if concept else (_unpossessed(token.text), None))
            place = stop
        self._end_noun()
        return [*self._found, *self._light]

    def _separates(self, word: str, place: int) -> bool:
        """Whether a word is between two parts; the A of "vitamin A" and "ALL", "CAN", "WHO" are names."""
        lower, following = word.lower(), self._tokens[place + 1 : place + 2]
        after = following[0].text.lower() if following else ""
        if word in (",", ";") or (word == "I" and is_filler(after)):
            return True
        is_word = word.islower() or word[1:].islower()
        is_verb = f"{lower} {after}" in word_list("verb") or (lower.endswith("ing") and after in _DETERMINERS)
        return is_word and (is_verb or is_filler(lower) or lower in _SEPARATORS or lower in self._foreign)

    def _separate(self, lower: str, place: int) -> None:
        pair = f"{self._before} {lower}"
        if lower == "on" and word_list("an effect on") & {one.text.lower() for one in self._tokens[:place]}:
            lower = _EFFECT_ON
        is_joined = self._before in JOINING and (is_filler(lower) or lower in (",", ";", *_DETERMINERS))
        is_joined = is_joined or (self._before in ("and", "or", "and/or") and lower in QUERY_FUNCTION_WORDS)
        is_kept = is_joined or (self._before in _BEFORE_OUTCOMES and lower not in ("among", "in", ",", ";"))
        if pair in _COMPARED_WITH or pair in EXAMPLES:
            self._before = pair
        elif lower in _BEGINS_EXAMPLES or not is_kept:
            self._before = lower
        if lower in _COMPARING or pair in _COMPARED_WITH:
            self._is_compared = True
        elif (lower in _ENDS_COMPARISON or (is_filler(lower) and self._is_named())) and self._label != "C":
            self._is_compared = False

    def _is_named(self) -> bool:
        """Whether what is compared has been named ("than placebo associated with")."""
        return bool(self._found) and self._found[-1].is_compared

    def _take(self, text: str, role: QueryRole, concept: TopicConcept | None = None) -> None:
        if role != "filler":
            is_ranked = role in ("modifier", "head", "kind")
            part = Part(text, role, concept, self._before, self._label, (), self._is_compared, self._is_looked_up)
            (self._light if is_ranked else self._found).append(part)
            self._before = "" if not is_ranked else self._before

    def _end_noun(self) -> None:
        """Take the noun's concepts one by one, and the words between them as one phrase."""
        if not self._noun:
            return
        items, self._noun = _with_letters(self._noun), []
        compounds = _inorganic(items)
        pairs = [_is_qualified(item, last) for item, last in zip(items, [None, *items], strict=False)]
        pairs = [
            is_pair and not (place + 1 < len(items) and _is_of(items[place][1], "A"))  # "surgical face masks"
            for place, is_pair in enumerate(pairs)
        ]
        sure = [
            _stands_alone(*item)
            and place not in compounds
            and not any(pairs[place : place + 2])
            and not (_role_of(*item) == "setting" and _is_plain_noun(items[place + 1 : place + 2]))
            for place, item in enumerate(items)
        ]
        run = list[_Item]()
        for place, (item, is_alone) in enumerate(zip(items, sure, strict=True)):
            if is_alone:
                is_first = not (self._is_compared or self._before in JOINING)
                described = run[-1:] if run and is_first and _describes(run[-1], item[1]) else []
                self._take_words(run[: len(run) - len(described)], is_apart=True)
                run = []
                self._take(item[0], _role_of(*item), item[1])
                if described and self._found and self._found[-1].concept is item[1]:
                    self._found[-1] = replace(self._found[-1], described=described[0][0])
            else:
                run.append(item)
            if place in compounds and place + 1 not in compounds:
                self._take_words(run, is_apart=False)
                run = []
        self._take_words(run, is_apart=any(sure))
        self._before = ""

    def _take_words(self, run: Sequence[_Item], *, is_apart: bool) -> None:
        """Words that MeSH does not have, and headings that say little alone, as one phrase; `is_apart` from a concept
        that says enough, beside which adjectives and "therapy" only rank."""
        words = [one for one in run if _role_of(*one) in ("subject", "general", "head", "group", "setting")]
        for place in range(len(run) - 1, 0, -1):
            if _is_qualified(run[place], run[place - 1]):
                start = place - 1
                first, known = run[max(start - 1, 0)]
                is_noun = not is_adjective(run[start][0]) and singular(first) == first
                if start and (is_adjective(first) or (is_noun and _qualifies((first, known), "group"))):
                    start -= 1
                self._take_words(run[:start], is_apart=True)
                role = _role_of(*run[place])
                said = " ".join(text for text, _ in run[start : place + 1])
                self._take(said, "group" if role in _PERSONS else role if role == "setting" else "subject")
                self._found[-1] = replace(self._found[-1], is_pair=True)
                self._take_words(run[place + 1 :], is_apart=True)
                return
        telling = [
            text for text, concept in words if concept or not (is_adjective(text) or role_of_word(text) == "head")
        ]
        names = [text for text in telling if is_name(text)]
        if is_apart:  # "tight glycemic control", "metformin therapy"
            words = [one for one in words if role_of_word(one[0]) != "head" or one[1]]
            while words and words[-1][0] not in telling:
                words.pop()
        if words[1:] and (is_gerund(words[0][0]) or (is_adjective(words[0][0]) and is_common(words[0][:1]) and names)):
            # "open appendicectomy"
            words = words[1:]
        while len(words) > 2 and role_of_word(words[-1][0]) == "head":
            words.pop()
        if len(words) > _MAX_PHRASE_WORDS:
            words = [one for one in words if one[0] in names][:_MAX_PHRASE_WORDS] or words[-2:]
        self._take_ranked(run, words)
        if not words:
            return
        for place, (text, concept) in enumerate(words[:-1]):  # "exercise snacks", but "kidney injury", "silver nitrate"
            is_thing = concept is not None and _role_of(text, concept) == "subject" and not _is_of(concept, "A", "D")
            if is_thing and role_of_word(words[place + 1][0]) != "head":
                self._take_words(words[: place + 1], is_apart=is_apart)
                self._take_words(words[place + 1 :], is_apart=is_apart)
                return
        *_, (last, organ) = words
        if words[1:] and _is_of(organ, "A"):  # "gadolinium deposition brain"
            self._take_words(words[:-1], is_apart=is_apart)
            self._take(last, "subject", organ)
        elif len(words) == 1:
            is_telling = organ or not is_adjective(last)
            role = _role_of(last, organ)
            self._take(last, role if is_telling or role != "subject" else "modifier", organ)
        else:
            said = role_of_word(last)
            self._take(" ".join(text for text, _ in words), said if said in ("group", "setting") else "subject")

    def _take_ranked(self, run: Sequence[_Item], words: Sequence[_Item]) -> None:
        """What of a run is not among these words, which only ranks."""
        for text, concept in run:
            if (text, concept) not in words:
                role = _role_of(text, concept)
                self._take(
                    text, "modifier" if role in ("subject", "general", "group", "setting", "person") else role, concept
                )


def _is_plain_noun(item: Sequence[_Item]) -> bool:
    """Whether the next word makes one thing of a setting before it ("school closures")."""
    return any(concept is None and role_of_word(word) == "subject" and not is_adjective(word) for word, concept in item)


def _describes(item: _Item, thing: TopicConcept | None) -> bool:
    """Whether it is an adjective that papers on a thing name with it ("robotic prostatectomy"), unlike "acute" and the
    forms of drugs."""
    word, concept = item
    is_said = is_adjective(word) and role_of_word(word) == "subject" and not is_participle(word)
    return concept is None and thing is not None and not _is_of(thing, "D") and is_said


def _is_qualified(item: _Item, before: _Item | None) -> bool:
    """Whether a word or a heading that says little alone is one thing with what stands before it: "trans women",
    "emergency physicians", "neonatal unit", "central line infections", "kidney injury"."""
    role = _role_of(*item)
    if before is None:
        return False
    if item[0].lower() in word_list("compounds"):
        return _is_of(before[1], "D")
    is_described = _is_of(item[1], "A") and before[1] is None and is_adjective(before[0])  # "perineal tears"
    is_of_organ = _is_of(before[1], "A") and _is_of(item[1], "C23", "C26") and " " not in item[0]  # "tendon rupture"
    return (
        is_described
        or is_of_organ
        or ((role in (*_PERSONS, "setting") or _is_top(item[1])) and _qualifies(before, role))
    )


def _qualifies(item: _Item, role: QueryRole) -> bool:
    """Whether a word says which persons, setting or other thing of a `role` is meant; in keywords ("wet wraps infants")
    a plural does not."""
    text, concept = item
    said = _role_of(text, concept)
    if role == "group" and said == "setting":
        return True
    if role == "setting":
        return said == "person" and is_adjective(text)
    if concept:
        return _is_of(concept, "A")
    is_list = is_symbol(text) or (singular(text) != text and is_common([singular(text)]))
    return not is_list and (said == "subject" or (said == "person" and role == "subject"))


def _stands_alone(text: str, concept: TopicConcept | None) -> bool:
    """Whether it is a part of its own: a drug, an animal, a concept but those that say little alone, which are near the
    top of the tree, parts of the body, and frequent words whose headings are of no disease."""
    if concept is None:
        return is_drug(text) or role_of_word(text) == "animal" or is_code(text) or ends_like_disease(text)
    role = _role_of(text, concept)
    if role != "subject" or concept.record is None:
        return role not in ("general", "head")
    is_vague = evidence_of(role, text, concept.record) <= WEAK
    is_other_word = is_common(text.lower().split()) and not concept.record.is_of(OF_DISEASES)
    return not is_vague and not is_other_word


def _inorganic(items: Sequence[_Item]) -> set[int]:
    """The places of the words of an inorganic chemical ("silver diamine fluoride"): single words side by side."""
    records = [concept.record if concept and " " not in text else None for text, concept in items]
    found: set[int] = set()
    for place, (one, other) in enumerate(pairwise(records)):
        if one and other and (place in found or one.is_of(("D01",))) and other.is_of(("D",)):
            found |= {place, place + 1}
    return found


def _is_top(concept: TopicConcept | None) -> bool:
    """Whether it is a heading near the top of the tree, or at the very top of diseases ("Infections", not "Burns")."""
    if concept is None or concept.record is None or not is_branch(concept.record):
        return False
    return not concept.record.is_of((*OF_DISEASES, "A")) or any("." not in one for one in concept.record.tree_numbers)


def _is_of(concept: TopicConcept | None, *branches: str) -> bool:
    return concept is not None and concept.record is not None and concept.record.is_of(branches)


def _role_of(text: str, concept: TopicConcept | None) -> QueryRole:
    lower = text.lower()
    if lower in word_list("adverse") or lower in word_list("name"):
        return "aspect"
    if (
        concept
        and concept.record
        and (" " in text or role_of_word(text) not in ("kind", "filler", "setting", "modifier"))
    ):
        return role_of_heading(concept.record)
    if concept and " " in text:
        said = role_of_word(text.split()[-1])
        return said if said in (*_PERSONS, "setting") else "subject"
    return role_of_word(text)


def _unpossessed(word: str) -> str:
    """Persons without the ending that says what is theirs ("children's"), which no paper has to say; a name with it."""
    bare = word.replace("’", "'").removesuffix("'").removesuffix("'s")
    return bare if role_of_word(bare) in _PERSONS else word


def _with_letters(items: Sequence[_Item]) -> list[_Item]:
    """The items, with a letter or a number that stands alone as the end of the word before it ("influenza A"), or as
    the beginning of that behind it ("C difficile")."""
    found: list[_Item] = []
    for text, concept in items:
        if found and concept is None and (len(text) == 1 or text.isdigit()):
            before, known = found.pop()
            text = f"{before} {text}"
            concept = replace(known, text=text) if known else None
        elif found and found[-1][1] is None and len(found[-1][0]) == 1:
            text = f"{found.pop()[0]} {text}"
            concept = replace(concept, text=text) if concept else None
        found.append((text, concept))
    return [one for one in found if one[1] or len(one[0]) > 1 or not one[0].isascii()]
