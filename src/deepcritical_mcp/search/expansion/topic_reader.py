"""The tokens of a topic, read into its parts."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import replace

from deepcritical_mcp.search.expansion.blocks import TopicConcept
from deepcritical_mcp.search.expansion.operands import (
    EFFECT,
    EFFECT_ON,
    ESPECIALLY,
    EXAMPLES,
    JOINING,
    OF_DISEASES,
    Operand,
    is_branch,
    is_name,
    is_organ,
    is_vague,
)
from deepcritical_mcp.search.expansion.phrases import is_drug, is_symbol
from deepcritical_mcp.search.expansion.roles import (
    EFFICACY,
    UNSPECIFIC,
    QueryRole,
    amount_at,
    is_adjective,
    is_common,
    is_filler,
    is_gerund,
    is_head,
    is_light,
    is_never_noun,
    is_participle,
    role_of_heading,
    role_of_word,
)
from deepcritical_mcp.search.expansion.topic import ASIDE, Token, Topic
from deepcritical_mcp.search.expansion.word_lists import word_list
from deepcritical_mcp.text import FOREIGN_FUNCTION_WORDS, QUERY_FUNCTION_WORDS

# What separates two parts: function words, and what people write between them.
_SEPARATORS = QUERY_FUNCTION_WORDS | word_list("separators")
_PARTICLES = ("down", "off", "out", "up")
_DETERMINERS = word_list("determiners")
_COMPARING = ("versus", "vs", "than")
_COMPARED_WITH = word_list("compared with")
_ENDS_COMPARISON = word_list("ends a comparison")
_EFFECTS = word_list("an effect on")
_INORGANIC = ("D01",)
_BEFORE_A_VERB = ("by", "for", "on", "to", "when")
_MAX_PHRASE_WORDS = 3
_PEOPLE = ("kind", "person")
_BEGINS_EXAMPLES = {one.split()[0] for one in EXAMPLES}
_PERSONS = ("group", "person")
# Beside other words, these are no subject, but the others are.
_APART = ("setting", "aspect", "kind", "general")
# What people are called in questions: what "and" joins behind them is no list ("pain patients and suicide").
_CALLED = word_list("called")


_Item = tuple[str, TopicConcept | None]


def parts_of(topic: Topic, concepts: Sequence[TopicConcept], *, is_looked_up: bool) -> list[Operand]:
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
    is_balanced = not EFFICACY.isdisjoint(topic.text.lower().split())
    found = _TopicReader(topic.tokens, spans, foreign, is_looked_up=is_looked_up, is_balanced=is_balanced).parts()
    if not any(
        one.label == "I" and one.role == "subject" and not one.is_negation for one in found
    ):  # "I: no antibiotics"
        found = [replace(one, role="subject") if one.label == "C" and one.is_known else one for one in found]
    seen: set[str] = set()
    return [one for one in found if not (one.text.casefold() in seen or seen.add(one.text.casefold()))]


def _with_head(words: list[str], ahead: list[str]) -> list[str]:
    """The words of a noun without a concept: all of it if it is a group ("community health workers"), and with what
    follows where they only describe that ("systolic dysfunction", "task shifting")."""
    if ahead and role_of_word(ahead[-1]) == "group" and ahead[1:]:
        return [one for one in ahead[-_MAX_PHRASE_WORDS:] if role_of_word(one) not in (*_PEOPLE, "modifier")]
    if words and all(map(is_adjective, words)):
        return [one for one in ahead[ahead.index(words[0]) :] if role_of_word(one) not in _PEOPLE]
    return ahead if len(words) < 2 and ahead[1:] and is_gerund(ahead[-1]) else words


class _TopicReader:
    """The tokens of a topic, read into parts: what stands between two separators is a noun with its concepts.

    `foreign` are function words of the topic's language; effects and harms are asked for alike if it `is_balanced`.
    """

    def __init__(
        self,
        tokens: Sequence[Token],
        spans: dict[int, tuple[int, TopicConcept]],
        foreign: Container[str],
        *,
        is_looked_up: bool,
        is_balanced: bool,
    ) -> None:
        self._tokens, self._spans, self._foreign = tokens, spans, foreign
        self._is_looked_up, self._is_balanced = is_looked_up, is_balanced
        self._found = list[Operand]()
        self._light = list[Operand]()
        self._noun = list[_Item]()
        self._before: str = ""
        self._label: str = ""
        self._is_compared = self._is_unspecific = self._lives_there = False

    def parts(self) -> list[Operand]:
        place = 0
        while place < len(self._tokens):
            token = self._tokens[place]
            stop, concept = self._spans.get(place, (place + 1, None))
            if token.label != self._label:
                self._end_noun()
                self._before, self._label, self._is_compared = ";", token.label, False
            if concept is None and token.is_negation:
                self._end_noun()
                is_none = token.label == "C"  # "compared with no treatment"
                self._take(token.text.strip('"') if is_none else token.text, "comparator" if is_none else "subject")
            elif concept is None and (length := amount_at([one.text for one in self._tokens[place : place + 6]])):
                self._end_noun()
                stop = place + length
                self._take(" ".join(one.text for one in self._tokens[place:stop]), "measure")
            elif concept is None and self._separates(token.text, place):
                self._end_noun(is_side=token.text.lower() in _COMPARING)
                self._separate(token.text.lower(), place)
            else:
                self._noun.append((concept.text, concept) if concept else (_unpossessed(token.text), None))
            place = stop
        self._end_noun()
        return [*self._found, *self._light]

    def _separates(self, word: str, place: int) -> bool:
        """Whether a word is between two parts; the A of "vitamin A" and "ALL", "CAN", "WHO" are names."""
        lower, following = word.lower(), self._tokens[place + 1 : place + 2]
        if word in (",", ";") or (word == "I" and following and is_filler(following[0].text)):
            return True
        is_word = word.islower() or word[1:].islower()
        after = following[0].text.lower() if following else ""
        last = self._tokens[place - 1].text if place else ""
        is_verb = (
            f"{lower} {after}" in word_list("verb")
            or (lower.endswith("ing") and after in _DETERMINERS)
            or any(verb.endswith("ed") and end in _PARTICLES for verb, end in ((lower, after), (last, lower)))
        )  # "followed up"
        return is_word and (is_verb or is_filler(lower) or lower in _SEPARATORS or lower in self._foreign)

    def _separate(self, lower: str, place: int) -> None:
        before = "" if lower in _BEGINS_EXAMPLES else self._before
        pair = f"{before} {lower}"
        is_and = place > 0 and self._tokens[place - 1].text.lower() == "and"
        is_pair = pair in (*_COMPARED_WITH, *EXAMPLES) or (is_and and lower in _ENDS_COMPARISON)
        is_joined = (lower in (",", ";") and before) or (is_filler(lower) and before in JOINING)
        is_joined = is_joined or (lower in JOINING and before in _CALLED)
        if lower == "on" and not _EFFECTS.isdisjoint(one.text.lower() for one in self._tokens[:place]):
            lower = EFFECT_ON
        is_kept = is_joined or (lower == "of" and before in EFFECT)  # "reduce the incidence of"
        is_kept = is_kept or (lower in ("for", "on") and before in ESPECIALLY)
        self._before = pair if is_pair else before if is_kept else lower
        self._is_unspecific = self._is_unspecific or lower in UNSPECIFIC
        is_over = bool(self._found) and self._found[-1].is_compared and is_filler(lower)  # "than placebo associated"
        if lower in _COMPARING or pair in _COMPARED_WITH:
            self._is_compared = True
            if self._found and self._found[-1].role == "general":  # "ultrasound versus MRI"
                self._found[-1] = replace(self._found[-1], role="subject")
        elif is_over or lower in (*_ENDS_COMPARISON, ",", ";"):
            self._is_compared = False

    def _take(
        self, text: str, role: QueryRole, concept: TopicConcept | None = None, beside: tuple[str, ...] = ()
    ) -> None:
        if self._label == ASIDE and role in ("subject", "general"):
            role = "aspect"
        compared = self._is_compared or self._label == "C"
        is_null = self._is_unspecific and concept is None
        role = "subject" if role == "general" and self._is_compared else role
        if role in ("subject", "general") and compared and (is_null or self._label == "C"):
            role = "comparator"
        if role != "filler":
            self._found.append(
                Operand(text, role, concept, self._before, self._label, (), compared, self._is_looked_up, beside)
            )
        self._before, self._is_unspecific = "", False

    def _end_noun(self, *, is_side: bool = False) -> None:
        """Take the concepts and names of the noun, each with the words beside it that say something; what says little
        comes after them, to rank by."""
        items, self._noun = self._noun, []
        if not items:
            return
        light = list[str]()
        while len(items) > 1 and items[-1][1] is None and is_participle(items[-1][0]):  # "children vaccinated against"
            light.insert(0, items.pop()[0])
        whose = [text for text, concept in items if concept is None and role_of_word(text) == "group"]
        is_setting = any(concept and _role_of_concept(concept) == "setting" for _, concept in items)
        self._lives_there = is_setting and bool(whose)  # "nursing home residents"
        if self._lives_there:
            items = [one for one in items if one[0] not in whose]
        items = _with_compounds(_with_letters(items, is_side=is_side or self._is_compared))
        is_said = any(concept is None and not is_light(text) and not is_head(text) for text, concept in items)
        anchors = [place for place, one in enumerate(items) if self._stands_alone(one, is_said=is_said)]
        first = 0
        for number, at in enumerate(anchors or [len(items)]):
            ahead = [one for one, _ in items[first:at]]
            behind = [one for one, _ in items[at + 1 :]] if number + 1 >= len(anchors) else []
            first = at + 1
            if not behind and at + 1 < len(items) and items[at + 1][1] is None and is_organ(items[at][1]):
                behind, first = [items[at + 1][0]], at + 2
            self._take_anchor(items[at] if at < len(items) else None, ahead, behind, light)
        for run in _runs_of_words(light):
            role = role_of_word(run[-1])
            role = role if role != "subject" else "modifier"
            if role != "filler":
                self._light.append(Operand(" ".join(run), role, None, self._before, self._label))
        self._before, self._is_unspecific = ("", False) if light else (self._before, self._is_unspecific)

    def _stands_alone(self, item: _Item, *, is_said: bool) -> bool:
        """Whether it is a part of its own: not "therapy" and the like, nor "mortality" where other words say more."""
        text, concept = item
        if concept is None:
            return is_drug(text)
        role = _role_of_concept(concept)
        return not is_said or role not in ("kind", "filler", *(["aspect"] if is_light(text) else []))

    def _take_anchor(self, item: _Item | None, ahead: list[str], behind: list[str], light: list[str]) -> None:
        is_group = item is not None and item[1] is not None and self._role_of(item[1]) == "group"
        words = [
            one
            for one in ahead
            if (not is_light(one) and one[1:] and not (item and is_gerund(one)))
            or (is_group and role_of_word(one) == "setting")
        ]
        if item is None:
            is_verb = self._before in _BEFORE_A_VERB and len(words) > 1 and is_gerund(words[0])
            words = _with_head(words[is_verb:], ahead)  # "for arresting caries"
            light += [one for one in ahead if one not in words]
            self._take_words(words, light)
            return
        text, concept = item
        role = self._role_of(concept) if concept else "subject"
        role = "group" if role == "setting" and self._lives_there else role
        if (
            concept and concept.record and role != "general" and not is_vague(concept)
        ):  # "supraventricular arrhythmias", "tight control"
            telling = [one for one in words if not (is_adjective(one) or is_common([one]))]
            if words[1:] and not telling and not all(map(is_adjective, words)):  # "near miss metformin"
                self._take_words(words, light)
            words = telling
        is_body = is_organ(concept)  # "hip replacement", "blood loss"
        said = [one for one in behind[is_body:] if not is_light(one) and len(one) > 1]  # not of "haemophilia B"
        said = [*(behind[:1] if is_body else ()), *said]
        if concept and concept.record:  # "copper sulphate alternatives", but "suicidal thoughts"
            said = [
                one
                for one in said
                if is_body
                or is_group
                or is_symbol(one)
                or is_vague(concept)
                or not (is_never_noun(one) or is_common([one]))
            ]
            said = said if not all(map(is_adjective, said)) else [one for one in said if is_symbol(one)]
        if concept and len(words) + len(said) == 1 and is_head(*words, *said) and not is_branch(concept):
            words = said = []
        light += [*(one for one in ahead if one not in words), *(one for one in behind if one not in said)]
        is_described = all(map(is_adjective, words))  # "uterine transplantation", not "emergency department crowding"
        if concept and (role not in _APART or (is_described and (words or all(map(is_adjective, said))))):
            if role in _APART and said:
                self._take_words(said, light)
                said = []
            beside = tuple(" ".join(some) for some in (words, said) if some)
            role = (
                "group"
                if beside and role == "person"
                else "subject"
                if beside and role in ("general", "modifier")
                else role
            )
            self._take(" ".join([*words, text, *said]) if beside else text, role, concept, beside)
            return
        if words:
            self._take_words(words, light)
        self._take(text, role, concept)
        if said:
            self._take_words(said, light)

    def _take_words(self, words: list[str], light: list[str]) -> None:
        """Words that MeSH does not have: one thing, but for what says little."""
        if not [one for one in words if not is_head(one)]:
            light += words
            return
        while len(words) > 1 and (len(words) > 2 or any(map(is_symbol, words))) and is_head(words[-1]):
            light.append(words.pop())
        if self._is_looked_up and any(map(is_name, words)):  # "open appendicectomy"
            said = [one for one in words if is_common([one]) and is_adjective(one)]
            light += said
            words = [one for one in words if one not in said]
        text = " ".join(words)
        said = role_of_word(words[-1])
        role = said if len(words) == 1 or said in ("group", "person", "setting") else "subject"  # "deprived areas"
        is_place = self._before in ("in", "within") and text.istitle() and not is_symbol(text)
        role = "place" if is_place and role == "subject" else role
        role = "general" if role == "subject" and self._is_looked_up and is_common(words) else role
        self._take(text, "aspect" if self._label == "O" and role == "subject" and not is_symbol(text) else role)

    def _role_of(self, concept: TopicConcept) -> QueryRole:
        if concept.text.lower() in word_list("adverse"):
            return "kind" if self._is_balanced else "aspect"
        role = _role_of_concept(concept)
        is_disease = concept.record is not None and concept.record.is_of(OF_DISEASES)
        return "aspect" if self._label == "O" and role in ("subject", "general") and not is_disease else role


def _role_of_concept(concept: TopicConcept) -> QueryRole:
    if " " not in concept.text and (said := role_of_word(concept.text)) in ("kind", "filler", "setting", "modifier"):
        return said
    if concept.record:
        return role_of_heading(concept.record)
    if concept.text.lower() in word_list("name") | word_list("adverse"):
        return "aspect"
    said = role_of_word(concept.text.split()[-1])
    return said if said in ("person", "group", "setting") else "subject"


def _unpossessed(word: str) -> str:
    """Persons without the ending that says what is theirs ("children's"), which no paper has to say; a name with it."""
    bare = word.replace("’", "'").removesuffix("'").removesuffix("'s")
    return bare if role_of_word(bare) in _PERSONS else word


def _with_letters(items: Sequence[_Item], *, is_side: bool) -> list[_Item]:
    """The items, with a letter or a number that stands alone as the end of the word before it ("influenza A"); on a
    side of a comparison, an organ as the beginning of what follows ("chest X-ray versus ultrasound")."""
    found: list[_Item] = []
    for text, concept in items:
        if found and concept is None and (len(text) == 1 or text.isdigit()):
            before, known = found.pop()
            text = f"{before} {text}"
            concept = replace(known, text=text) if known else None
        elif is_side and found and concept and is_organ(found[-1][1]):
            text = f"{found.pop()[0]} {text}"
            concept = replace(concept, text=text)
        elif found and found[-1][1] is None and len(found[-1][0]) == 1:  # "C difficile"
            text = f"{found.pop()[0]} {text}"
            concept = replace(concept, text=text) if concept else None
        found.append((text, concept))
    return [one for one in found if one[1] or len(one[0]) > 1 or not one[0].isascii()]


def _with_compounds(items: Sequence[_Item]) -> list[_Item]:
    """The items of a noun, with those that are one thing by their places as one: the words of a chemical ("silver
    diamine fluoride", "sodium thiosulfate"), an organ and what befalls it ("kidney injury")."""
    found: list[_Item] = []
    for run in _adjacent(items):
        records = [concept.record for _, concept in run if concept and concept.record]
        is_chemical = len(run) > (1 if records and records[0].is_of(_INORGANIC) else 2)
        text = " ".join(text for text, _ in run)
        found += [(text, TopicConcept(text))] if is_chemical or (run[1:] and is_organ(run[0][1])) else run
    return found


def _adjacent(items: Sequence[_Item]) -> Iterator[Sequence[_Item]]:
    """The items by runs of chemicals of one word each, and of an organ with a heading near the top of the diseases."""
    run: list[_Item] = []
    for item in items:
        last, record = run[-1][1] if run else None, item[1].record if item[1] else None
        before = last.record if last else None
        is_one = before and record and not any(" " in text for text, _ in (run[-1], item))
        is_same = is_one and before and record and before.is_of(("D",)) and record.is_of(("D",))
        is_same = is_same or (before and record and before.is_of(("A",)) and record.is_of(("A",)))
        if run and not (is_same or (is_one and before and before.is_of(("A",)) and is_branch(item[1]))):
            yield run
            run = []
        run.append(item)
    if run:
        yield run


def _runs_of_words(words: Sequence[str]) -> Iterator[list[str]]:
    """Words that say little, one by one, but a kind or an aspect with those before it ("long-term mortality")."""
    run = list[str]()
    for word in words:
        run.append(word)
        if role_of_word(word) != "modifier":
            yield run
            run = []
    if run:
        yield run
