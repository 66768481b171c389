"""Negations in a topic: what is absent, what is left out, and what may be there or not.

`words.txt` has the cues: words that negate the things after them, by what they do. A list of things is negated as a
whole: "without A or B".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.phrases import is_drug, is_symbol
from deepcritical_mcp.search.expansion.roles import is_adjective, is_filler, is_gerund, role_of_word
from deepcritical_mcp.search.expansion.word_lists import word_groups, word_list
from deepcritical_mcp.text import QUERY_FUNCTION_WORDS

_MAX_WORDS = 5
"""Words of a thing that is negated."""
_NEVER_NEGATED = ("group", "kind", "person", "place", "setting")
"""What ends a thing that is negated: "migraine without aura children"."""
_ALL = {"all", "any", "anything", "every", "everything"}
_FINDINGS = word_list("effects") | {"cause", "help", "prevent"}
_MARKS = (",", ";")
_AMONG = {"among", "during", "in", "the"}


class Negations(NamedTuple):
    """The words of a topic with each thing that is absent as one phrase in quotes, and without what follows here: what
    is left out, and what may be there or not."""

    words: list[str]
    excluded: list[str]
    either_way: list[str]


def read_negations(words: Sequence[str]) -> Negations:
    """The negations in the words of a topic, of which commas and semicolons are some too."""
    said = [word if word == "NO" else word.lower() for word in words]  # "NO" is nitric oxide
    found = Negations([], [], [])
    place = 0
    while place < len(words):
        kind, start = _cue(said, place)
        if kind == "affirmed":
            place = start
            continue
        begin = start if kind == "aside" else _after_lead(said, start, kind)
        things = list(_things(words, said, begin, kind)) if kind else []
        texts = [" ".join(words[one.start : one.stop]) for one in things]
        if not things:
            found.words.append(words[place])
        elif kind in ("either way", "aside"):  # by "other than aspirin" as a phrase, never by aspirin
            found.words.append(",")
            found.either_way.extend(texts if kind == "either way" else [" ".join((*said[place:start], *texts[:1]))])
        elif _is_left_out(kind, said[place:start], said[start:begin], words[begin]):
            found.words.append(",")
            for one in texts:  # of "not neonatal", as a phrase
                is_described = all(map(is_adjective, one.split()))
                found.either_way.append(f"not {one}") if is_described else found.excluded.append(one)
        else:
            first = place if kind == "absent" else start - 1  # "but not treated with"
            negated = "without" if said[place] == "neither" else " ".join(said[first:begin])
            found.words.extend(pubmed_syntax.phrase(f"{negated.removesuffix(' either')} {one}") for one in texts)
        place = things[-1].stop if things else place + 1
    return found


@cache
def _cues() -> Sequence[tuple[str, list[str]]]:
    """What a cue does, and its words; the longest first."""
    found = [(kind, cue.split()) for kind, cues in word_groups("negates").items() for cue in cues]
    return sorted(found, key=lambda one: -len(one[1]))


def _cue(said: Sequence[str], place: int) -> tuple[str, int]:
    """What the cue at a place does, "" for none, and where it ends."""
    end = next((at for at in range(place, len(said)) if said[at] in _MARKS), len(said))
    if said[place - 1 : place] in ([","], [";"]) and said[end - 1] == "excluded":  # "; patients with dementia excluded"
        return "excluded", place
    if said[place] == "but" and _ALL & {*said[max(0, place - 3) : place]}:  # "all anticoagulants but warfarin"
        return "excluded", place + 1
    fitting = (one for one in _cues() if said[place : place + len(one[1])] == one[1])
    kind, start = next(((kind, place + len(cue)) for kind, cue in fitting), ("", place))
    is_finding = kind == "absent" and said[start - 1] == "not" and {*said[start : start + 1]} & _FINDINGS
    return ("affirmed", start) if is_finding else (kind, start)  # "vaccines do not cause autism" is about autism


def _after_lead(said: Sequence[str], place: int, kind: str) -> int:
    """Where the things begin: after "a history of", "due to", "eligible for", "taking"."""
    while place < len(said) - 1 and said[place] not in _MARKS:
        word, after = said[place : place + 2]
        is_passive = after in word_list("links") and word.endswith(("ed", "en", "ing", "due", "ible"))
        is_paper = role_of_word(word) == "kind" and after in (*_AMONG, "of", "on", "with")
        is_skipped = (is_filler(word) or is_paper) and kind != "absent"  # "excluding patients with", "studies in"
        if word not in QUERY_FUNCTION_WORDS and (after == "of" or is_passive):
            place += 2
        elif word in QUERY_FUNCTION_WORDS or is_skipped or (is_gerund(word) and _is_content(after)):
            place += 1
        else:
            break
    return place


def _things(words: Sequence[str], said: Sequence[str], begin: int, kind: str) -> Iterator[range]:
    """The places of the things in the list that begins here: one, or several of which the last is joined."""
    waiting: list[range] = []
    joints, joint = ("and", "or", "nor") if kind == "excluded" else ("or", "nor"), ""
    while (stop := _end_of_thing(words, said, begin, kind)) > begin:
        waiting.append(range(begin, stop))
        if joint != ",":
            yield from waiting
            waiting = []
        following = said[stop : stop + 2]
        if following == [",", "and"] and not joint:  # "in asthma, not COPD, and exacerbations"
            break
        begin = stop + (following[:1] == [","] and following[-1] in joints)
        joint = said[begin] if begin < len(said) else ""
        if joint not in (*joints, ","):
            break
        begin += 1 + (said[begin + 1 : begin + 2] in (["a"], ["an"], ["any"], ["the"]))


def _end_of_thing(words: Sequence[str], said: Sequence[str], begin: int, kind: str) -> int:
    place = begin
    while place < min(len(said), begin + _MAX_WORDS):
        if place > begin and said[place] == "of" and _is_content(*said[place + 1 : place + 2]):
            place += 1
        word = words[place]
        is_of_whom = kind == "absent" and role_of_word(word) in _NEVER_NEGATED
        is_beyond = is_of_whom or is_drug(word) or is_symbol(word) or is_filler(word)
        is_end = word in _MARKS or said[place] in QUERY_FUNCTION_WORDS
        if is_end or (place > begin and (is_beyond or not _is_content(said[place]))):  # "never exposed workers"
            break
        place += 1
    return place


def _is_content(word: str = ",") -> bool:
    return word not in _MARKS and word not in QUERY_FUNCTION_WORDS and word not in word_list("new clause")


def _is_left_out(kind: str, cue: Sequence[str], lead: Sequence[str], first: str) -> bool:
    """Whether a thing is left out rather than absent. "Not" leaves out what it names ("not propranolol", "not in
    children"), "but not" what stands right behind it; "but not treated with" says what is absent."""
    if cue[-1:] != ["not"]:
        return kind == "excluded"
    is_name = is_drug(first) or first.lower() in word_list("animals") or role_of_word(first) in ("group", "person")
    return ({*lead} <= QUERY_FUNCTION_WORDS and kind == "excluded") or (is_name and {*lead} <= _AMONG)
