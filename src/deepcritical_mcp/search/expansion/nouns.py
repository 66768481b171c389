"""A noun of a topic, divided into what it is a search for: what stands alone, and words that only together say what is
meant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from deepcritical_mcp.search.expansion.blocks import TopicConcept
from deepcritical_mcp.search.expansion.phrases import is_drug, is_symbol
from deepcritical_mcp.search.expansion.roles import (
    OF_DISEASES,
    WEAK,
    QueryRole,
    ends_like_disease,
    evidence_of,
    is_adjective,
    is_branch,
    is_code,
    is_common,
    is_gerund,
    is_name,
    is_participle,
    role_of_heading,
    role_of_word,
)
from deepcritical_mcp.search.expansion.word_lists import word_list

Item = tuple[str, TopicConcept | None]
"""A word, or words that are a concept."""
PERSONS = ("group", "person")
_MAX_PHRASE_WORDS = 3
_BETWEEN = ("aspect", "kind", "measure", "person", "place")
"""What parts the words around it."""
_SAYING = ("subject", "general", "head", "group", "setting")


@dataclass(frozen=True)
class Piece:
    """What a noun consists of.

    Attributes:
        described: the adjective before it, or the gerund behind it, that papers name with it ("robotic prostatectomy").
    """

    text: str
    role: QueryRole
    concept: TopicConcept | None = None
    described: str = ""


def pieces(noun: Sequence[Item], *, is_listed: bool) -> Iterator[Piece]:
    """What stands between two separators, concept by concept, and the words between them as one phrase; in a list or a
    comparison (`is_listed`), adjectives only rank."""
    items = _with_letters(noun)
    pairs = {place for place in range(1, len(items)) if _is_pair(items, place)}
    alone = {place for place in range(len(items)) if not pairs & {place, place + 1} and _stands_alone(items, place)}
    done = {place + 1 for place in alone if _is_done(items[place + 1 : place + 3])}
    is_apart = bool(pairs or alone)
    run = list[Item]()
    for place, item in enumerate(items):
        if place in pairs and run:
            words = [run.pop(), item]
            if run and _qualifies(run[-1], "group") and role_of_item(*item) not in PERSONS:  # "central line infections"
                words = [run.pop(), *words]
            yield from _phrase(run, is_apart=True, is_listed=is_listed)
            role = role_of_item(*item)
            said = " ".join(text for text, _ in words)
            yield Piece(said, "group" if role in PERSONS else role if role == "setting" else "subject")
            run = []
        elif place in alone:
            described = "" if is_listed or not run or not _describes(run[-1], item[1]) else run.pop()[0]
            described = items[place + 1][0] if place + 1 in done else described
            yield from _phrase(run, is_apart=True, is_listed=is_listed)
            yield Piece(item[0], role_of_item(*item), item[1], described=described)
            run = []
        elif place not in done:
            run.append(item)
    yield from _phrase(run, is_apart=is_apart, is_listed=is_listed)


def _phrase(run: Sequence[Item], *, is_apart: bool, is_listed: bool) -> Iterator[Piece]:
    """Words that MeSH does not have, and headings that say little alone, as one phrase; `is_apart` from what says
    enough, beside which adjectives and "therapy" only rank."""
    if len(run) == 2 and _is_completed(*run):
        yield Piece(" ".join(text for text, _ in run), "subject")
        return
    gap = max((place for place, one in enumerate(run) if place and _separates(*one)), default=0)
    if 0 < gap < len(run) - 1:  # "mouse model exercise"
        yield from _phrase(run[:gap], is_apart=is_apart, is_listed=is_listed)
        yield from _phrase(run[gap:], is_apart=is_apart, is_listed=is_listed)
        return
    words = [one for one in run if role_of_item(*one) in _SAYING]
    if is_apart:  # "metformin therapy"
        words = [one for one in words if one[1] or role_of_word(one[0]) != "head"]
    while words[not is_apart :] and words[-1][1] is None and is_adjective(words[-1][0]):
        words.pop()  # "is red meat harmful"
    while words[1:] and (
        is_gerund(words[0][0]) or (is_listed and is_common([words[0][0]]) and is_adjective(words[0][0]))
    ):
        words = words[1:]
    if len(words) > _MAX_PHRASE_WORDS:
        words = [one for one in words if one[1] or is_name(one[0])][:_MAX_PHRASE_WORDS] or words[-2:]
    for text, concept in run:
        if (text, concept) not in words:
            role = role_of_item(text, concept)
            yield Piece(text, "modifier" if role in (*_SAYING, "person") and role != "head" else role, concept)
    if not words:
        return
    (first, its_concept), *rest = words
    is_short = is_symbol(first) and " " not in first and role_of_word(first.lower()) != "filler"
    if is_short and rest and all(is_common([text]) for text, _ in rest):  # "PICC line"
        yield Piece(first, "subject", its_concept)
        yield from (Piece(text, "modifier", concept) for text, concept in rest)
        return
    *before, (last, concept) = words
    role = role_of_item(last, concept)
    if not before:
        is_telling = concept or role != "subject" or not is_adjective(last)
        yield Piece(last, role if is_telling else "modifier", concept)
    else:
        said = role_of_word(last)
        yield Piece(" ".join(text for text, _ in words), said if said in ("group", "setting") else "subject")


def _separates(text: str, concept: TopicConcept | None) -> bool:
    """Whether a word separates those around it: "mouse model exercise", "injection sites overdose"."""
    role = role_of_item(text, concept)
    return role in _BETWEEN or (role == "modifier" and not is_adjective(text))


def _is_completed(first: Item, second: Item) -> bool:
    """Whether a word that alone only ranks makes one thing of a vague one: "maternity care", "kidney function"."""
    (text, concept), (word, _) = first, second
    role = role_of_item(text, concept)
    is_vague = role == "subject" and evidence_of(role, text, concept.record if concept else None) <= WEAK
    return is_vague and role_of_word(word) in ("kind", "modifier")


def _describes(item: Item, thing: TopicConcept | None) -> bool:
    """Whether it is an adjective that papers on a thing name with it, unlike "acute" and the forms of drugs."""
    word, concept = item
    is_verb = is_participle(word) or word.endswith("ing") or "-" in word
    is_said = is_adjective(word) and role_of_word(word) == "subject" and not is_verb
    return concept is None and thing is not None and is_said and not _is_of(thing, "D")


def _is_done(behind: Sequence[Item]) -> bool:
    """Whether a gerund stands behind a thing, with a setting at most behind it: "opioid tapering"."""
    word, concept = behind[0] if behind else ("", None)
    is_last = all(role_of_item(*one) == "setting" for one in behind[1:])
    return concept is None and is_gerund(word) and role_of_word(word) == "subject" and is_last


def _is_pair(items: Sequence[Item], place: int) -> bool:
    """Whether a word or a heading that says little alone is one thing with what stands before it: "trans women",
    "emergency physicians", "neonatal unit", "central line infections"."""
    before, (text, concept) = items[place - 1], items[place]
    role = role_of_item(text, concept)
    is_general = (role in (*PERSONS, "setting") and not is_adjective(text)) or (role != "place" and _is_top(concept))
    if role == "person" and any(role_of_item(*one) in PERSONS for one in items[place + 1 : place + 2]):
        return False  # "preschool children"
    return is_general and _qualifies(before, role)


def _qualifies(item: Item, role: QueryRole) -> bool:
    """Whether a word says which persons, setting or other thing of a `role` is meant; a symbol does not."""
    text, concept = item
    said = role_of_item(text, concept)
    if role == "setting":
        return said == "person" and is_adjective(text)
    if concept or said == "setting":
        return _is_of(concept, "A")
    return said == "subject" and not (is_symbol(text) or is_participle(text))


def _stands_alone(items: Sequence[Item], place: int) -> bool:
    """Whether it is a part of its own: a drug, an animal, or a concept that says enough alone, unlike headings near the
    top of the tree, parts of the body, frequent words that name no disease, and the setting of what follows ("school
    closures")."""
    text, concept = items[place]
    if concept is None:
        return is_drug(text) or role_of_word(text) == "animal" or is_code(text) or ends_like_disease(text)
    role = role_of_item(text, concept)
    if role != "subject" or concept.record is None:
        after = items[place + 1 : place + 2]
        is_joined = role == "setting" and any(
            known is None and not is_adjective(word) and role_of_word(word) not in PERSONS for word, known in after
        )
        return role not in ("general", "head") and not is_joined
    is_vague = " " not in text and evidence_of(role, text, concept.record) <= WEAK
    is_organism = any(one.startswith("B") for one in concept.record.tree_numbers)
    is_named = is_organism or concept.record.is_of(OF_DISEASES) or not is_common(text.lower().split())
    return not is_vague and is_named


def _is_top(concept: TopicConcept | None) -> bool:
    """Whether it is a heading near the top of the tree, or at the very top of diseases ("Infections", not "Burns")."""
    if concept is None or concept.record is None or not is_branch(concept.record):
        return False
    return not concept.record.is_of((*OF_DISEASES, "A")) or any("." not in one for one in concept.record.tree_numbers)


def _is_of(concept: TopicConcept | None, *branches: str) -> bool:
    return concept is not None and concept.record is not None and concept.record.is_of(branches)


def role_of_item(text: str, concept: TopicConcept | None) -> QueryRole:
    lower = text.lower()
    if lower.replace("-", " ") in word_list("adverse") or lower in word_list("name"):
        return "aspect"
    is_vague = role_of_word(text) in ("kind", "filler", "setting") or lower in word_list("modifier")
    if concept and concept.record and (" " in text or not is_vague):
        return role_of_heading(concept.record)
    return role_of_word(text)


def _with_letters(items: Sequence[Item]) -> list[Item]:
    """The items, with a letter or a number that stands alone as the end of the word before it ("influenza A"), and
    without other letters ("hepatitis B and C")."""
    found: list[Item] = []
    for text, concept in items:
        if found and concept is None and (len(text) == 1 or text.isdigit()):
            before, known = found.pop()
            text = f"{before} {text}"
            concept = replace(known, text=text) if known else None
        found.append((text, concept))
    return [one for one in found if one[1] or len(one[0]) > 1 or not one[0].isascii()]
