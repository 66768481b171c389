"""A topic's PubMed query taken apart: its concepts, and the phrases between them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.blocks import TopicConcept, spellings
from deepcritical_mcp.search.expansion.phrases import general_stems, stems
from deepcritical_mcp.search.expansion.topic import Topic, is_drug, is_symbol
from deepcritical_mcp.text import NEGATIONS, PUBMED_STOP_WORDS

_OF_CONTEXT = frozenset("among at during in on within".split())
_SEPARATORS = NEGATIONS | frozenset(
    """after against among and are as at be before being between but by can compared comparing despite do does
    during for from getting give gives giving goes had has have he her his in into is it its keep keeps my needs
    on or our over per prescribe prescribing receiving she take takes taking than that the their they this
    through to toward under until using versus vs was we were when where whether which while who whose with
    within you your""".split()
)
_MAIN_TOPIC_CHARS = 300
_NUMBER = re.compile(r"[\d.]+")
_UNITS = frozenset("cm g gy iu kg mcg mg ml mm mmol ng units µg μg".split())
_MEASURES = _UNITS | frozenset(
    """daily day days every h hour hours min minutes month monthly months times twice week weekly weeks year
    years""".split()
)
# What is often said of drugs that somebody does not or cannot take.
_UNTREATED = re.compile(
    r"(?:not|never) (?:given|receiving|taking|treated with|using) (?P<drug>[^ ]+(?: [^ ]+){0,2})", re.IGNORECASE
)
_INTOLERANT = re.compile(
    r"(?:cannot|unable to) (?:have|receive|take|tolerate|use) (?P<drug>[^ ]+(?: [^ ]+){0,2})", re.IGNORECASE
)
_NEVER_SMOKED = re.compile("(?:never|not) (?:been )?smok(?:ed|ers?|ing)", re.IGNORECASE)
# Anatomy.
_BODY = ("A",)
# Persons, geography, health care, occupations and social groups.
_PLACES_AND_PEOPLE = ("M", "N", "Z", "I")
_RELATIONS = frozenset("association best better effect effective effects relationship role safe useful".split())
_OUTCOMES = "incidence mortality prevalence prognosis survival"
# What papers on a subject need not say of themselves, though one would not search without it.
_ASPECTS = "impact influence qualitative"
# "Return to work", "failure to rescue", "pay for performance".
_BEFORE_TO = frozenset("ability door failure fee intention pay readiness return right time willingness".split())
_PEOPLE = frozenset("individuals participants patient patients people persons subjects".split())


@dataclass(frozen=True)
class Operand:
    """A part of the topic's PubMed query: a concept, or a phrase in the user's words, and the word that separates it
    from what stands `before` it. A negation is always required.

    Attributes:
        fixed: its block, if it is neither a concept nor searched as it is written.
        is_compared: whether it is what a PICO question compares with.
        either: the operands of which one is enough ("aspirin or warfarin").
    """

    text: str
    concept: TopicConcept | None = None
    before: str = ""
    fixed: str = ""
    is_compared: bool = False
    either: tuple[Operand, ...] = ()

    @property
    def is_context(self) -> bool:
        """Whether a preposition says that it is the place, time or people of a study; a disease or a drug is not."""
        if self.either:
            return all(replace(one, before=self.before).is_context for one in self.either)
        if self.before not in _OF_CONTEXT or self.fixed:
            return self.before == "among"
        if record := self.concept.record if self.concept else None:
            return any(number.startswith(_PLACES_AND_PEOPLE) for number in record.tree_numbers)
        is_place = all(word[0].isupper() and not word.isupper() for word in self.text.split())
        return is_place or self.before == "among" or bool(stems(self.text) & general_stems())

    @property
    def is_measure(self) -> bool:
        """Whether it is a dose, a time or another number ("every 2 hours")."""
        words = {*map(str.lower, self._telling)}
        is_own = self.concept is None and not self.fixed
        return is_own and words <= _MEASURES and any(word[0].isdigit() for word in self.text.split())

    @property
    def is_dose(self) -> bool:
        """Whether it is a number and a unit ("81 mg")."""
        first, *others = self.text.split()
        return first[0].isdigit() and len(others) == 1 and others[0].lower() in _UNITS

    @property
    def is_negation(self) -> bool:
        return self.text.startswith('"')

    @property
    def is_general(self) -> bool:
        """Whether its words alone name no subject."""
        if self.either:
            return all(one.is_general for one in self.either)
        return self.concept is None and not self.fixed and stems(self.text) <= general_stems() | stems(_ASPECTS)

    @property
    def is_outcome(self) -> bool:
        """Whether it is what a study may measure, without which it is another question."""
        return bool(stems(self.text) & stems(_OUTCOMES))

    @property
    def is_named(self) -> bool:
        """Whether it is a name: of a record, a drug, a gene, or of several words."""
        if self.either:
            return all(one.is_named for one in self.either)
        words = self.text.split()
        has_name = self.concept is not None and bool(self.concept.record or self.concept.forms)
        return has_name or any(is_symbol(word) or is_drug(word) for word in words) or len(self._telling) > 1

    @property
    def _telling(self) -> list[str]:
        return [word for word in self.text.split() if stems(word) - general_stems() and not _NUMBER.fullmatch(word)]

    @property
    def is_idle(self) -> bool:
        """Whether it would only keep papers from being found: "patients", "effect", a bare number."""
        is_number = _NUMBER.fullmatch(self.text) is not None
        return self.concept is None and (is_number or self.text.lower() in _PEOPLE | _RELATIONS)

    @property
    def pubmed(self) -> str:
        """The operand for PubMed; the user's own words go through PubMed's mapping, unless PubMed would drop the first
        one ("use of force")."""
        if self.either:
            return pubmed_syntax.any_of(pubmed_syntax.grouped(one.pubmed) for one in self.either)
        if self.concept:
            return self.concept.block
        if self.fixed:
            return self.fixed
        if self.is_negation:
            return _negated(self.text)
        if self.is_dose:
            number, unit = self.text.split()
            return pubmed_syntax.any_of(pubmed_syntax.phrase(one, "tiab") for one in (self.text, f"{number}{unit}"))
        is_lost = self.text.split()[0] in PUBMED_STOP_WORDS
        return pubmed_syntax.phrase(self.text, "tiab") if is_lost else self.text

    def as_main_topic(self) -> str:
        """The same among the main topics of a paper: in its title, or as a MeSH Major Topic."""
        if self.either:
            return pubmed_syntax.any_of(pubmed_syntax.grouped(one.as_main_topic()) for one in self.either)
        if not self.concept:
            words = [word for word in self.text.split() if word.lower() not in PUBMED_STOP_WORDS | _PEOPLE]
            return joined(pubmed_syntax.phrase(word, "ti") for word in words)
        own = () if self.concept.forms and self.concept.text.lower() in PUBMED_STOP_WORDS else (self.concept.text,)
        names = (*own, *self.concept.names)
        alternatives = [pubmed_syntax.phrase(one, "ti") for name in names for one in spellings(name)]
        if self.concept.record and not self.concept.record.is_supplementary:
            alternatives.insert(0, pubmed_syntax.phrase(self.concept.record.name, "MeSH Major Topic"))
        return pubmed_syntax.any_of(alternatives, limit=_MAIN_TOPIC_CHARS)


def operands_of(topic: Topic, concepts: Iterable[TopicConcept]) -> list[Operand]:
    """The topic's parts in their order; () for PubMed's syntax, which is never taken apart."""
    if topic.syntax:
        return []
    spans = {span.start: (span.stop, one) for one in concepts if (span := topic.find(one.text))}
    quoted = {span.start: span.stop for text in topic.quoted if (span := topic.find(text))}
    quoted = {start: stop for start, stop in quoted.items() if start not in spans or spans[start][0] != stop}
    found: list[Operand] = []
    run: list[str] = []
    before = ""
    place = 0

    def end_run() -> None:
        nonlocal run, before
        is_compared = 0 <= topic.comparison <= place - len(run)
        found.extend(replace(one, is_compared=is_compared) for one in _phrase(run, before))
        run, before = [], "" if run else before

    while place < len(topic.parts):
        stop, concept = spans.get(place, (place + 1, None))
        part = topic.parts[place]
        if place in topic.starts:
            end_run()
        if place in quoted:
            end_run()
            stop = quoted[place]
            text = " ".join(topic.parts[place:stop])
            found.append(Operand(text, None, before, pubmed_syntax.phrase(text, "tiab")))
            before = ""
        elif concept or part.startswith('"'):
            end_run()
            is_compared = 0 <= topic.comparison <= place
            found.append(Operand(concept.text if concept else part, concept, before, is_compared=is_compared))
            before = ""
        elif _separates(part):
            end_run()
            before = part.lower()
            run = [part] if part.lower() in NEGATIONS else []
        else:
            run.append(part)
        place = stop
    end_run()
    return _alternatives(_set_phrases(found), topic)


def _alternatives(operands: Sequence[Operand], topic: Topic) -> list[Operand]:
    """The operands, with those of which one is enough as one of them."""
    found: list[Operand] = []
    for one in reversed(operands):
        after = found[0] if found else None
        pair = (one.text.split()[-1], after.text.split()[0]) if after else ("", "")
        is_other = pair in topic.alternatives or (pair in topic.listed and after is not None and _are_alike(one, after))
        if after and is_other and not (one.is_negation or after.is_negation or _goes_on(after)):
            head, _, text = one.text.rpartition(" of ") if not one.concept else ("", "", one.text)
            if head:  # "treatment of anxiety or depression"
                one = replace(one, text=text)
            either = (_completed(one, (after.either or (after,))[-1]), *(after.either or (after,)))
            found[0] = Operand(f"{text} or {after.text}", before=one.before, either=either)
            found[:0] = [replace(one, text=head, before="")] if head else []
        else:
            found.insert(0, one)
    return found


def _goes_on(one: Operand) -> bool:
    return " of " in one.text and not one.concept and not one.either


def _are_alike(one: Operand, other: Operand) -> bool:
    """Whether two are of one kind, e.g. drugs, or `one` shares the last words of `other`."""
    if other.either and not _is_whole(one):
        return other.either[0].text.split()[-1] == other.either[-1].text.split()[-1]
    both = (one, other.either[0] if other.either else other)
    records = [part.concept.record for part in both if part.concept and part.concept.record]
    kinds = [{number[0] for number in record.tree_numbers} for record in records]
    return len(kinds) == 2 and bool(kinds[0] & kinds[1])


def _completed(one: Operand, other: Operand) -> Operand:
    """`one` with the last words of `other` that it shares: "breast cancer" in "breast or ovarian cancer"."""
    shared = other.text.split()[len(one.text.split()) :]
    is_telling = bool(stems(" ".join(shared)) - general_stems() - stems(one.text))
    return Operand(f"{one.text} {' '.join(shared)}") if is_telling and not _is_whole(one) else one


def _is_whole(one: Operand) -> bool:
    """Whether it needs no other words: a drug, a gene, a disease, but no part of the body."""
    if record := one.concept.record if one.concept else None:
        return not record.is_of(_BODY)
    return any(is_drug(word) or is_symbol(word) for word in one.text.split())


def _set_phrases(operands: Sequence[Operand]) -> list[Operand]:
    """The operands, with phrases such as "hospital at home", "failure to rescue" and "pay for performance" as one
    operand each; of two operands alone, any two words with "to" between them ("bench to bedside")."""
    found: list[Operand] = []
    for one in operands:
        last = found[-1] if found else None
        is_named_so = last is not None and last.text.lower() in _BEFORE_TO
        is_pair = is_named_so or (len(operands) == 2 and one.before == "to")
        is_set = one.before == "at" or (one.before in ("for", "to") and is_pair)
        if last and is_set and all(_is_plain_word(part, is_named_so or one.before == "at") for part in (last, one)):
            text = f"{last.text} {one.before} {one.text}"
            found[-1] = replace(last, text=text, fixed=pubmed_syntax.phrase(text, "tiab"))
        else:
            found.append(one)
    return found


def _is_plain_word(part: Operand, may_be_general: bool) -> bool:
    if part.concept or part.is_negation or " " in part.text:
        return False
    return may_be_general or not part.is_general


def _separates(part: str) -> bool:
    """Whether a word is between two concepts; "of" is within one ("length of stay"), as is the A of "vitamin A"."""
    return part.lower() in _SEPARATORS and (part.islower() or (part.istitle() and len(part) > 1))


def _phrase(run: Sequence[str], before: str) -> list[Operand]:
    places = [place for place, word in enumerate(run) if word not in PUBMED_STOP_WORDS]
    if not places:
        return []
    if run[0].lower() in _RELATIONS | {*_ASPECTS.split()} and run[1:2] == ["of"] and run[2:]:  # "effect of music"
        return [Operand(run[0], before=before), *_phrase(run[2:], "")]
    if run[0].lower() in _PEOPLE | {"best"} and run[1:]:  # "patients dolutegravir resistance"
        return [Operand(run[0], before=before), *_phrase(run[1:], "")]
    doses = (place for place in places[1:] if run[place][0].isdigit() and _is_dose(run[place:]))
    if (dose := next(doses, 0)) and not run[0][0].isdigit():  # "vitamin C 1 g daily"
        return [*_phrase(run[:dose], before), *_phrase(run[dose:], "")]
    start, stop = 0 if run[1:2] == ["of"] else places[0], places[-1] + 1
    stop += run[stop - 1][0].isdigit() and run[stop : stop + 1] != [] and run[stop].lower() in _UNITS
    return [Operand(" ".join(run[start:stop]), before=before)]


def _is_dose(run: Sequence[str]) -> bool:
    words = {word.lower() for word in run if not word[0].isdigit()}
    return bool(words) and words <= _MEASURES | PUBMED_STOP_WORDS


def _negated(quoted: str) -> str:
    """A negation for PubMed: the phrase, or the other ways to say the same that papers have."""
    words = quoted.strip('"')
    others = ""
    if found := _UNTREATED.fullmatch(words):
        others = f"({pubmed_syntax.grouped(found['drug'])} AND (naive[tiab] OR untreated[tiab] OR unmedicated[tiab]))"
    elif found := _INTOLERANT.fullmatch(words):
        others = f"({pubmed_syntax.grouped(found['drug'])} AND (intoleran*[tiab] OR contraindicat*[tiab]))"
    elif _NEVER_SMOKED.fullmatch(words):
        others = '"never smokers"[tiab] OR "never smoker"[tiab] OR nonsmok*[tiab] OR "non-smok*"[tiab]'
    return f"({quoted} OR {others})" if others else quoted


def joined(operands: Iterable[str]) -> str:
    """Operands joined by AND, each in parentheses where it must be."""
    found = [one for one in operands if one]
    return found[0] if len(found) == 1 else " AND ".join(map(pubmed_syntax.grouped, found))
