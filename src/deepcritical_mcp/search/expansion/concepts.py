"""The concepts of a topic: what its words are called in MeSH, in papers and in the session's evidence."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile

import anyio

from deepcritical_mcp.errors import ProviderError
from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.abbreviations import (
    MAX_LOOKED_UP,
    Abbreviation,
    abbreviations_of,
    known_abbreviations,
    look_up_abbreviation,
)
from deepcritical_mcp.search.expansion.blocks import TopicConcept, has_name, is_action, plural
from deepcritical_mcp.search.expansion.phrases import (
    general_stems,
    is_drug,
    is_symbol,
    natural_order,
    phrases,
    singular,
    stems,
)
from deepcritical_mcp.search.expansion.roles import is_adjective, role_of_heading, role_of_word
from deepcritical_mcp.search.expansion.topic import Topic, read_topic
from deepcritical_mcp.search.expansion.word_lists import common_words, endings, word_list
from deepcritical_mcp.sources.base import MeshDescriptor, Vocabulary
from deepcritical_mcp.text import QUERY_FUNCTION_WORDS, other_spelling

NO_VOCABULARY = "Without MeSH and numbers of hits: {why}. The queries use only your words and the session's evidence."
NOTHING_MAPPED = "MeSH has none of the topic's words; only your words and the session's evidence were used."
MAX_CONCEPTS = 12
_DRUGS = ("D",)
_SPECIALTIES = ("H02",)
_PHYSICS = ("G01",)
# Phenomena, disciplines, education, technology, culture, information, services, organisms and chemicals.
_OTHER_SENSES = ("G", "I", "J", "K", "L", "N", "B", "D")
_WITH_LEAD = word_list("with lead")
# A longer topic gets no spelling correction, and only its first words are looked up in MeSH.
_MAX_WORDS = 15
_MAX_WORDS_MAPPED = 80
_MAX_PHRASE = 5
_MAX_PHRASES = 600
_BOUNDS = QUERY_FUNCTION_WORDS | {",", ";"}
MAX_MEMBERS = 80
"""Drugs of a class whose names stand in its block; of a larger class, none that MeSH has only as a supplementary
concept."""
# "Pembrolizumab-induced colitis" is about pembrolizumab.
_CONNECTED = endings("connected endings")
_ENDS_OF_NAMES = ("disease", "syndrome", "mellitus", "analysis")
_MAX_NEIGHBORS = 60
_MAX_BELOW = 4


@dataclass(frozen=True)
class NcbiView:
    """What NCBI knows about a topic: a corrected spelling, its concepts, and a warning if something is missing."""

    corrected: str = ""
    concepts: tuple[TopicConcept, ...] = ()
    warning: str = ""
    is_reachable: bool = False
    is_mapped: bool = False
    """Whether MeSH was asked for all of its words."""


async def look_up(topic: Topic, vocabulary: Vocabulary | None, *, seconds: float) -> NcbiView:
    """Ask NCBI about `topic` for at most `seconds`; what arrived by then, or before it failed, is kept."""
    if vocabulary is None:
        return NcbiView(warning=NO_VOCABULARY.format(why="NCBI is not used"))
    view = NcbiView()
    try:
        with anyio.move_on_after(seconds) as scope:
            async for step in _steps(topic, vocabulary):
                view = step
    except ProviderError as error:
        why = error.message.rstrip(".")
        if view.concepts:
            return replace(view, warning=f"{why}.")
        return replace(view, warning=NO_VOCABULARY.format(why=why), is_reachable=False, is_mapped=False)
    if scope.cancelled_caught:
        late = f"NCBI did not answer within {seconds:.0f} seconds"
        missing = f"{late}. Broader and narrower headings are missing."
        return replace(view, warning=missing if view.concepts else NO_VOCABULARY.format(why=late))
    return view if view.concepts or topic.syntax else replace(view, warning=NOTHING_MAPPED)


async def _steps(topic: Topic, vocabulary: Vocabulary) -> AsyncIterator[NcbiView]:
    """The view after each answer, more complete every time."""
    view = NcbiView()
    if not (topic.syntax or topic.operands) and len(topic.text.split()) <= _MAX_WORDS:
        suggestion = await vocabulary.corrected(topic.text)
        view = NcbiView(corrected=suggestion if await _is_credible(suggestion, topic, vocabulary) else "")
    view = replace(view, is_reachable=True)
    yield view
    if view.corrected:
        topic = read_topic(view.corrected)
    names = dict.fromkeys([*candidates(topic), *(name for one in topic.negations for name in _names_of(one))])
    records = await vocabulary.descriptors(list(names)) if names else {}
    short_forms = [short for short in abbreviations_of(topic) if not _is_heading(short, records)]
    asked = [await look_up_abbreviation(short, topic, vocabulary) for short in short_forms[:MAX_LOOKED_UP]]
    known = [one for one in asked if one.meanings or one.in_context]
    if long_forms := [one.long_form.lower() for one in known if one.long_form]:
        records |= await vocabulary.descriptors(long_forms)
    found = _found(topic, records, known)
    view = replace(view, is_mapped=True)
    yield replace(view, concepts=found)
    uids = [uid for one in found if one.record for uid in (*one.record.parents, *one.record.children)]
    near = await vocabulary.by_uid(list(dict.fromkeys(uids))[:_MAX_NEIGHBORS]) if uids else {}
    placed = [
        replace(
            one,
            broader=tuple(near[uid] for uid in one.record.parents if uid in near),
            narrower=tuple(near[uid] for uid in one.record.children if uid in near),
        )
        if one.record
        else one
        for one in found
    ]
    yield replace(view, concepts=tuple(placed))
    yield replace(view, concepts=tuple([await _with_members(one, vocabulary) for one in placed]))


async def _with_members(concept: TopicConcept, vocabulary: Vocabulary) -> TopicConcept:
    """A class of drugs with the names of its members: those below it in the tree, and those that have its action or
    that of a class below it."""
    record = concept.record
    if not record or not record.is_of(_DRUGS) or any("." not in one for one in record.tree_numbers):
        return concept
    below = [one.name for one in concept.narrower]
    actions = [one for one in (record, *concept.narrower[:_MAX_BELOW]) if is_action(one)]
    known = [await vocabulary.members(one.name) for one in actions]
    headings, others = ([name for one in known for name in one[place]] for place in (0, 1))
    listed = dict.fromkeys(natural_order(name) for name in (*below, *headings))
    every = listed | dict.fromkeys(others)
    members = tuple(every if len(every) <= MAX_MEMBERS else listed)[:MAX_MEMBERS]
    return replace(concept, members=members, unlisted=len(every) - len(members))


async def _is_credible(suggestion: str, topic: Topic, vocabulary: Vocabulary) -> bool:
    """Whether a suggested spelling keeps symbols ("AMPK"), drugs, and words that papers use: NCBI also "corrects" rare
    ones."""
    if not any(phrases(suggestion)):
        return False
    words = [word for phrase in phrases(topic.subject) for word in phrase]
    replaced = [word for word in words if not stems(word) <= stems(suggestion)]
    if any(is_symbol(word) or is_drug(word) for word in replaced):
        return False
    if await vocabulary.descriptors([word.lower() for word in replaced]):
        return False
    for word in replaced[:3]:
        if (await vocabulary.hits(pubmed_syntax.phrase(word, "tiab"))).count >= 100:
            return False
    return True


def _is_heading(short: str, records: Mapping[str, MeshDescriptor]) -> bool:
    """Whether an abbreviation is itself the name of a heading ("HIV", but not "ART")."""
    record = records.get(short.lower())
    return record is not None and record.name == short


def candidates(topic: Topic) -> dict[str, str]:
    """Names that MeSH may have -> the words of the topic, both in small letters: the runs of one to five words, the
    longest first, with their last word in the singular and in the plural; of "breast or ovarian cancer", "breast
    cancer" for "breast"."""
    tokens = [one.text.lower() for one in topic.tokens[:_MAX_WORDS_MAPPED]]
    if topic.syntax:
        tokens = [word.lower() for run in phrases(topic.subject) for word in (*run, ",")][:_MAX_WORDS_MAPPED]
    names = {place for place, one in enumerate(topic.tokens) if place and one.text == "A"}  # "vitamin A"
    bounds = {place for place, one in enumerate(tokens) if one in _BOUNDS} - names
    spans = [
        tokens[start : start + length]
        for length in range(_MAX_PHRASE, 0, -1)
        for start in range(len(tokens) - length + 1)
        if not {start, start + length - 1} & bounds
    ]
    found = {long: short.lower() for short, long in known_abbreviations(topic).items() if not topic.find(long)}
    for span in spans:
        if any(one[0] in '",;' for one in span):
            continue
        text = " ".join(span)
        if len(text) < 2:  # "S. aureus"
            continue
        last = next((span[-1].removesuffix(end) for end in _CONNECTED if span[-1].endswith(end)), span[-1])
        for form in (last, singular(last), plural(last)):
            name = " ".join([*span[:-1], form])
            for one in (name, name.replace("-", " "), other_spelling(name)):
                found.setdefault(one, text)
    for letter, species in pairwise(tokens):
        for genus in word_list("genera") if len(letter) == 1 else ():  # "C. difficile"
            if genus.lower().startswith(letter):
                found.setdefault(f"{genus.lower()} {species}", f"{letter} {species}")
    for first, joint, *rest in (tokens[place : place + 4] for place in range(len(tokens) - 2)):
        for size in (2, 1) if joint == "of" and not _BOUNDS & {first, *rest} else ():  # "consumption of alcohol"
            found.setdefault(" ".join([*rest[:size], first]), " ".join([first, joint, *rest[:size]]))
    for place, joint in enumerate(tokens):
        after = list(takewhile(lambda word: word not in _BOUNDS, tokens[place + 1 : place + 5]))
        if joint in ("and", "or", "and/or") and place and tokens[place - 1] not in _BOUNDS:
            for start in range(1, len(after)):
                found.setdefault(" ".join([tokens[place - 1], *after[start:]]), tokens[place - 1])
    for text in [
        one
        for one in found
        if one.count(" ") < 2 and role_of_word(one) == "subject" and not (is_adjective(one) or one.endswith("ing"))
    ]:  # "Alzheimer"
        for end in _ENDS_OF_NAMES:
            found.setdefault(f"{text} {end}", found[text])
    return dict(list(found.items())[:_MAX_PHRASES])


def _names_of(negation: str) -> tuple[str, ...]:
    """A negated phrase as the name of something ("do-not-resuscitate orders", "never smokers")."""
    *first, last = negation.lower().split()
    return negation.lower(), f"{'-'.join(first)} {last}", "-".join([*first, last])


def _is_another_sense(text: str, record: MeshDescriptor, topic: Topic) -> bool:
    """Whether the words mean something else than the record: an adjective is no medical specialty ("pediatric"), "aids"
    are not AIDS, frequent words are no phenomenon, service or chemical of another name ("heat waves" and infrared rays,
    "glue"), short names are no drugs of another name, and a metal is meant only if something else says so ("lead")."""
    if record.name == "Acquired Immunodeficiency Syndrome":  # "visual aids"
        return "aids" in {one.text for one in topic.tokens} and "HIV" not in topic.text
    names = (record.name, *record.entry_terms)
    if len(text) <= 5 and text.upper() in {one.text for one in topic.tokens} and text.upper() not in names:
        return not topic.text.isupper()  # "ART" is not art
    if len(text) <= 3 and record.is_of(_DRUGS) and record.name.lower() != text:  # "MTA" is not only pemetrexed
        return True
    if record.name == "Lead":
        is_verb = f"{text} to" in word_list("verb") and f"{text} to " in topic.subject.lower()
        return is_verb or not stems(" ".join(_WITH_LEAD)) & stems(topic.subject)
    if record.is_of(_SPECIALTIES):
        return is_adjective(text)
    words = text.split()
    if not words[1:] and is_adjective(text) and text != record.name.lower():  # "moral"
        return not record.is_of(("C", "D", "M"))
    is_frequent = all(word in common_words() or singular(word) in common_words() for word in words)
    is_other = is_frequent and bool(record.tree_numbers) and not stems(text) & stems(record.name)
    is_physics = any(one.startswith(_PHYSICS) for one in record.tree_numbers)
    return is_other and (record.is_of(_OTHER_SENSES) if len(words) == 1 else is_physics)


def _found(
    topic: Topic,
    records: Mapping[str, MeshDescriptor],
    abbreviations: Sequence[Abbreviation],
) -> tuple[TopicConcept, ...]:
    """The concepts of the topic, in its order: the longest phrases that are names in MeSH first.

    Left out are words too general to be a concept, and kinds of publication.
    """
    long_forms = {one.short: one for one in abbreviations}
    options: list[tuple[str, MeshDescriptor]] = []
    written_out = {*known_abbreviations(topic).values()}
    for name, text in candidates(topic).items():
        is_longer = name.endswith(_ENDS_OF_NAMES) and not text.endswith(_ENDS_OF_NAMES)
        if name in records and (name in written_out or not _is_another_sense(text, records[name], topic)):
            if is_longer and records[name].name.lower() != name.replace("'s ", " "):  # "Alzheimer", but no "heart"
                continue
            options.append((text, records[name]))
    options += [(name, records[name]) for one in topic.negations for name in _names_of(one) if name in records]
    found: dict[range, TopicConcept] = {}
    taken, said = set[int](), set[str]()

    def take(text: str, concept: TopicConcept) -> None:
        span = topic.find(text)
        if topic.syntax:
            if not {*text.split()} & said:
                found[range(len(found), len(found) + 1)] = concept
            said.update(text.split())
        elif span and not taken & {*span}:
            taken.update(span)
            found[span] = replace(concept, text=" ".join(one.text for one in topic.tokens[span.start : span.stop]))

    def is_telling(text: str, record: MeshDescriptor) -> bool:
        # "Time", "risk" and "role" are headings too, but a topic with these words is seldom about them.
        role = role_of_heading(record)
        return role != "filler" and (not stems(text) <= general_stems() or role in ("person", "aspect", "setting"))

    fitting = [(text, record) for text, record in options if is_telling(text, record)]
    fitting.sort(key=lambda option: -len(option[0].split()))
    for text, record in fitting:
        if len(text.split()) > 1:
            take(text, TopicConcept(text, record=record))
    named = {text for text, record in fitting if has_name(record, text)}  # "NSAID" is the singular of a name
    for short, one in long_forms.items():
        if short.lower() in named and not one.long_form:
            continue
        record = records.get(one.long_form.lower()) if one.long_form else None
        take(short, TopicConcept(short, one.forms, record, abbreviation=one))
    for text, record in fitting:
        take(text, TopicConcept(text, record=record))
    most = max(MAX_CONCEPTS, sum(map(len, topic.operands)))
    return tuple(found[span] for span in sorted(found, key=lambda span: span.start))[:most]


def with_definitions(
    topic: Topic, found: Sequence[TopicConcept], *, defined: Mapping[str, str], seen: Mapping[str, str]
) -> list[TopicConcept]:
    """`found`, and the words of the topic that have a short or a long form, in the order of the topic.

    If an abbreviation (short form -> long form) is `defined` in the user's own text, or `seen` in the session's
    evidence, with another meaning than a record of MeSH has, the record is not used.
    """
    pairs = {**seen, **defined}

    def other_forms(text: str) -> tuple[str, ...]:
        both = [pair for short, long in pairs.items() for pair in ((short, long), (long, short))]
        return tuple(dict.fromkeys(other for form, other in both if stems(form) == stems(text)))

    named = {stems(one.text): one.record for one in found}

    def defined_concept(text: str) -> TopicConcept:
        forms = other_forms(text)
        return TopicConcept(text, forms, next(filter(None, (named.get(stems(form)) for form in forms)), None))

    concepts: list[TopicConcept] = []
    for one in found:
        longs = [long for short, long in pairs.items() if stems(short) == stems(one.text)]
        means_another = longs and not (one.record and any(has_name(one.record, long) for long in longs))
        forms = (*other_forms(one.text), *one.forms)
        concepts.append(defined_concept(one.text) if means_another else replace(one, forms=forms))
    covered = {place for one in concepts for place in topic.find(one.text) or ()}
    # Short forms are case-sensitive.
    for form in [short for short in pairs if f" {short} " in f" {topic.words} "] + list(pairs.values()):
        span = set(topic.find(form) or ())
        if span and not covered & span:
            concepts.append(defined_concept(form))
            covered |= span
    return sorted(concepts, key=lambda one: (topic.find(one.text) or range(999, 1000)).start)
