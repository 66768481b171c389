"""Widen a topic by leaving out one of its lesser words: an outcome, a setting, a qualifier; never its subject.

Only words of closed lists are left out, only where their place shows what they are, and never a negation or a part of
a MeSH concept. At least two words that name a subject stay. PubMed requires every word, so what remains finds all that
the topic finds, and more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.topic import Topic
from deepcritical_mcp.search.expansion.word_lists import (
    DESIGNS,
    FUNCTION_WORDS,
    GENERAL_HEADS,
    GENERAL_WORDS,
    OUTCOMES,
    POPULATIONS,
    QUALIFIERS,
    SETTINGS,
    VERBS_OF_EFFECT,
)

_PREPOSITIONS = frozenset("across after among at by during following for from in of on to under with within".split())
_OF_PLACE = frozenset({"across", "among", "at", "from", "in", "within"})
_OF_PEOPLE = frozenset({"among", "for", "in", "of"})
_MODIFIER = re.compile(
    r"\d+-(?:day|week|month|year)|all-cause|overall|long-term|short-term|in-hospital|postoperative|perioperative|"
    r"(?:progression|disease|event|relapse)-free"
)
# "severe acute respiratory syndrome", "severe combined immunodeficiency": names, not degrees.
_NAMED_SEVERE = frozenset({"acute", "combined"})
_FEWEST_SUBJECT_WORDS = 2
_LONGEST_NAME = 3


@dataclass(frozen=True)
class WiderTopic:
    """What is left of a topic.

    Attributes:
        pubmed: for PubMed.
        words: for a web search, with what was left out as one case of it, so that no word is lost.
        rationale: what was left out.
    """

    pubmed: str
    words: str
    rationale: str


@dataclass(frozen=True)
class _Cut:
    """Places of the topic's parts that can be left out; `named` of them say what, the others only join it."""

    span: range
    named: range
    role: str


def wider_topics(topic: Topic, concepts: Sequence[str]) -> list[WiderTopic]:
    """The topic without each of the cuts that its words allow, then without all of them.

    Args:
        concepts: words of the topic that MeSH or an abbreviation knows as one concept; they stay whole.
    """
    spans = [set(span) for concept in concepts if (span := topic.find(concept))]
    cuts = [cut for cut in _cuts(topic.parts) if all(not set(cut.span) & span for span in spans)]
    choices = [[cut] for cut in cuts] + ([cuts] if len(cuts) > 1 else [])
    return [_wider(topic, chosen) for chosen in choices if _leaves_a_subject(topic.parts, chosen)]


def or_not_mentioned(topic: Topic) -> WiderTopic | None:
    """ "Without X" as the phrase or as papers that do not mention X; None where the topic has no such negation."""
    for place, part in enumerate(topic.parts):
        negated = part.strip('"').removeprefix("without ").split()
        if not part.startswith('"without ') or not _leaves_a_subject(topic.parts, [_cut(place, place + 1)]):
            continue
        kept = _runs(topic.parts, {place})
        absent = _trimmed(negated)
        pubmed = f"{pubmed_syntax.grouped(topic.pubmed)} OR (({_joined(kept)}) NOT {pubmed_syntax.grouped(absent)})"
        rationale = f'Papers that say {part}, and those that do not mention "{absent}" at all.'
        return WiderTopic(pubmed, f"{topic.subject}, absence of {absent}", rationale)
    return None


def essential_parts(topic: Topic) -> list[str]:
    """The topic's parts without all that could be left out; all of them where too few would stay."""
    cuts = list(_cuts(topic.parts))
    dropped = {place for cut in cuts for place in cut.span} if _leaves_a_subject(topic.parts, cuts) else set[int]()
    return _left(topic.parts, dropped)


def _cut(start: int, stop: int, role: str = "", named: range | None = None) -> _Cut:
    return _Cut(range(start, stop), named or range(start, stop), role)


def _cuts(parts: Sequence[str]) -> Iterator[_Cut]:
    words = [part.lower() for part in parts]
    places = range(len(words))
    yield from (cut for place in places if (cut := _outcome(words, place)))
    yield from (cut for place in places if (cut := _place_or_people(words, place)))
    yield from (cut for place in places if (cut := _qualifier(words, place)))
    yield from _opening(words)


def _outcome(words: Sequence[str], place: int) -> _Cut | None:
    """An outcome that stands alone between joints, or ends the topic; with its modifier and verb ("reduce")."""
    stop = _end_of_name(words, place, OUTCOMES)
    if stop == place or not _is_joint(words, stop):
        return None
    start = place
    while start and _MODIFIER.fullmatch(words[start - 1]):
        start -= 1
    before = words[start - 1] if start else ""
    if not (start == 0 or before in VERBS_OF_EFFECT | _PREPOSITIONS | {"and"} or stop == len(words)):
        return None
    first = start - 1 if before in VERBS_OF_EFFECT else start
    return _cut(first, stop, "outcome", range(start, stop))


def _place_or_people(words: Sequence[str], place: int) -> _Cut | None:
    """A setting after its preposition ("in rural schools"), or people named in general ("in older adults")."""
    if words[place] in _OF_PLACE | _OF_PEOPLE:
        start = place + 1
        stop = next((at for at in range(start, len(words)) if words[at] in FUNCTION_WORDS or words[at][0] == '"'), None)
        stop = len(words) if stop is None else stop
        is_setting = any(_end_of_name(words, at, SETTINGS) == stop > at for at in range(start, stop))
        if is_setting and words[place] in _OF_PLACE and _is_joint(words, stop):
            return _cut(place, stop, "setting", range(start, stop))
    else:
        start = place
    stop = _end_of_name(words, start, POPULATIONS)
    if stop > start and _is_joint(words, stop) and ((start > place and words[place] in _OF_PEOPLE) or place == 0):
        return _cut(place, stop, "population", range(start, stop))
    return None


def _qualifier(words: Sequence[str], place: int) -> _Cut | None:
    stop = _end_of_name(words, place, QUALIFIERS)
    following = words[stop] if stop < len(words) else ""
    modifies = following and following not in FUNCTION_WORDS and following[0] != '"'
    if stop == place or not modifies or (words[place] == "severe" and following in _NAMED_SEVERE):
        return None
    return _cut(place, stop, "form")


def _opening(words: Sequence[str]) -> Iterator[_Cut]:
    """A design or a general word in front ("the effect of"), and "treatment" or "management" at the end."""
    start = 1 if words and words[0] in {"a", "an", "the"} else 0
    design = _end_of_name(words, start, DESIGNS)
    if design > start and design < len(words) and words[design] in {"about", "among", "in", "of", "on"}:
        yield _cut(0, design + 1, "study design", range(start, design))
    elif (
        words[start : start + 1]
        and words[start] in GENERAL_HEADS
        and words[start + 1 : start + 2]
        in (
            ["of"],
            ["between"],
        )
    ):
        yield _cut(0, start + 2, "aspect", range(start, start + 1))
    if len(words) > 1 and words[-1] in {"management", "treatment"} and words[-2] not in FUNCTION_WORDS:
        yield _cut(len(words) - 1, len(words), "aspect")


def _end_of_name(words: Sequence[str], place: int, names: frozenset[str]) -> int:
    """Where the longest of `names` that begins at `place` ends; `place` where none begins."""
    ends = range(min(place + _LONGEST_NAME, len(words)), place, -1)
    return next((end for end in ends if " ".join(words[place:end]) in names), place)


def _is_joint(words: Sequence[str], place: int) -> bool:
    """Whether what stands before `place` ends there: at the end, or before a preposition."""
    return place == len(words) or words[place] in _PREPOSITIONS or words[place] == "who"


def _leaves_a_subject(parts: Sequence[str], cuts: Sequence[_Cut]) -> bool:
    left = _left(parts, {place for cut in cuts for place in cut.span})
    naming = [part for part in left if part.lower() not in GENERAL_WORDS | FUNCTION_WORDS | VERBS_OF_EFFECT]
    return len(naming) >= _FEWEST_SUBJECT_WORDS


def _left(parts: Sequence[str], dropped: set[int]) -> list[str]:
    return [part for place, part in enumerate(parts) if place not in dropped]


def _runs(parts: Sequence[str], dropped: set[int]) -> list[str]:
    """What is left, divided where something was dropped, so that PubMed maps no phrase across a gap."""
    runs: list[list[str]] = [[]]
    for place, part in enumerate(parts):
        if place in dropped:
            runs.append([])
        else:
            runs[-1].append(part)
    return [text for run in runs if (text := _trimmed(run))]


def _trimmed(words: Sequence[str]) -> str:
    """The words without function words at either end; capitals can be a name ("vitamin A")."""
    places = [place for place, word in enumerate(words) if word not in FUNCTION_WORDS]
    return " ".join(words[places[0] : places[-1] + 1]) if places else ""


def _joined(runs: Sequence[str]) -> str:
    return runs[0] if len(runs) == 1 else " AND ".join(map(pubmed_syntax.grouped, runs))


def _wider(topic: Topic, cuts: Sequence[_Cut]) -> WiderTopic:
    runs = _runs(topic.parts, {place for cut in cuts for place in cut.span})
    pubmed = _joined(runs)
    if topic.typed:
        pubmed = f"{pubmed_syntax.grouped(pubmed)} OR {pubmed_syntax.grouped(topic.typed)}"
    named = [" ".join(topic.parts[place] for place in cut.named) for cut in cuts]
    verbs = [topic.parts[place] for cut in cuts for place in cut.span if topic.parts[place].lower() in VERBS_OF_EFFECT]
    roles = " or ".join(dict.fromkeys(cut.role for cut in cuts))
    plain = f"{' '.join(runs).replace(chr(34), '')}, any {roles} including {', '.join([*named, *verbs])}"
    listed = ", ".join(f'"{name}" ({cut.role})' for name, cut in zip(named, cuts, strict=True))
    return WiderTopic(pubmed, plain, f"Without {listed}.")
