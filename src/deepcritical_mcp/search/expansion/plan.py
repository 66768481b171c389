"""Which parts of a topic every paper must be about, of which one is enough, and the queries for them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from deepcritical_mcp.models import QUERY_LIMIT
from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.blocks import TopicConcept, text_words
from deepcritical_mcp.search.expansion.filters import age_left_out, question_kinds
from deepcritical_mcp.search.expansion.negations import negated_block
from deepcritical_mcp.search.expansion.operands import EXAMPLES, JOINING, Operand, is_branch, tree_kind
from deepcritical_mcp.search.expansion.roles import is_adjective, is_common, role_of_word
from deepcritical_mcp.search.expansion.topic import Topic
from deepcritical_mcp.search.expansion.topic_reader import parts_of

_COMBINED = ("combin", "concomitant", "interact", "together")


def grouped_parts(parts: Sequence[Operand]) -> list[Operand]:
    """The parts, with those of which one is enough as one: what "or" joins, a list of three of a kind, examples of a
    class, two drugs that nothing combines, and two diseases that something is tried for ("SSRIs for anxiety and
    depression")."""
    subjects = [one for one in parts if one.role == "subject"]
    combined = any(word.startswith(_COMBINED) for one in parts for word in one.text.lower().split())

    def is_choice(run: Sequence[Operand]) -> bool:
        is_apart = run[0].before != "between" and len(subjects) > len(run) and not combined
        is_and = {one.before for one in run[1:]} == {"and"}
        is_tried_for = is_apart and (
            run[0].is_drug or (is_and and run[0].is_disease and run[0].before in ("for", "in", "of"))
        )
        return len(run) > 2 or not {one.before for one in run[1:]} <= {",", "and"} or is_tried_for

    parts = _with_examples(parts)
    # "Seasonal or perennial rhinitis", "renal and cardiac toxicity".
    pairs = zip(parts, [*parts[1:], None], strict=False)
    parts = [
        replace(one, role="modifier")
        if other and other.before in JOINING and one.concept is None and all(map(is_adjective, one.text.split()))
        else one
        for one, other in pairs
    ]
    found: list[Operand] = []
    for run in runs(parts):
        found += [either_of(run)] if len(run) > 1 and is_choice(run) else run
    return found


def _with_examples(parts: Sequence[Operand]) -> list[Operand]:
    """The parts, of which examples only rank that are of another kind than what they are examples of."""
    found: list[Operand] = []
    general: Operand | None = None
    is_other = False
    for one, after in zip(parts, [*parts[1:], None], strict=False):
        if one.before in EXAMPLES:
            general = found[-1] if found and found[-1].role in ("subject", "general", "group") else None
            is_other = False
        elif one.before not in (*JOINING, "") or (general and one.is_disease and tree_kind(general) in ("D", "E")):
            general = None
        if general:
            is_phrase = one.before == "" or (after is not None and after.before == "")  # "oxygen masks"
            is_other = is_other or is_phrase or not tree_kind(one) or tree_kind(one) != tree_kind(general)
        found.append(replace(one, role="modifier") if general and is_other else one)
    return found


def runs(parts: Sequence[Operand]) -> Iterator[Sequence[Operand]]:
    """The parts by the lists that they stand in."""
    place = stop = 0
    while (place := stop) < len(parts):
        stop = place + 1
        while stop < len(parts) and _goes_on(parts[place:stop], parts[stop]):
            stop += 1
        yield parts[place:stop]


def either_of(run: Sequence[Operand]) -> Operand:
    """Some parts of which one is enough."""
    every = [one for part in run for one in part.either or (part,)]
    text = " or ".join(one.text for one in every)
    return replace(run[0], text=text, either=tuple(replace(one, before="") for one in every), concept=None, beside=())


def _goes_on(run: Sequence[Operand], other: Operand) -> bool:
    """Whether a part goes on with a list: joined to it, and of the same kind or of none that is known. A negation and
    what is compared stand alone."""
    first = run[0]
    is_either = other.before == "or" and {first.role, other.role} == {"subject", "group"}
    if first.is_negation or other.is_negation or other.is_compared or (first.role != other.role and not is_either):
        return False
    kinds = {tree_kind(one) for one in (*run, other)} - {""}
    is_same = len(kinds) == 1 and bool(tree_kind(other) and tree_kind(first))
    if other.before == ";":  # "antibiotics: amoxicillin, doxycycline", but not a disease and its outcomes
        return is_same and tree_kind(first) == "D"
    if other.before in EXAMPLES or other.before.startswith("and ") or (other.before == "of" and run[1:]):
        return is_same
    return other.before in JOINING and len(kinds) < 2 and (bool(kinds) or other.before in ("or", "and/or"))


MAX_REQUIRED = 3
_MAX_TERMS = 4
"""How many concepts and words next to them are required at most."""


@dataclass(frozen=True)
class Selection:
    """The parts that every paper must be about, those that only rank, and subjects that are too many to require."""

    required: tuple[Operand, ...]
    ranking: tuple[Operand, ...]
    surplus: tuple[Operand, ...] = ()


def select(parts: Sequence[Operand], limit: int = MAX_REQUIRED) -> Selection:
    """Negations and two subjects are required, and a third one, or a group that is named, if it is sure (rank 0).

    Beside two others, an outcome that is no disease is not, nor are several. Where there are fewer than two, the
    persons are, else a place, an aspect or a description.
    """
    negations = [one for one in parts if one.is_negation]
    subjects = [one for one in parts if one.role == "subject" and not one.is_negation]
    outcomes = [one for one in _outcomes(parts) if one.role == "subject" or role_of_word(one.text) == "subject"]
    options = [one for one in outcomes if one in subjects and (outcomes[1:] or (one.is_known and not one.is_disease))]
    inner = [one for one in subjects if one not in options]
    subjects = inner if len(inner) > 1 else subjects
    most = max(2, limit - len(negations))
    merged = _merged(subjects, most)
    parts = list(dict.fromkeys(merged.get(one, one) for one in parts))
    subjects = list(dict.fromkeys(merged.get(one, one) for one in subjects))
    others = [one for one in parts if one.role == "group" or (one.role == "general" and len(subjects) < 2)]
    others += [one for one in parts if one.role == "aspect" and one.concept and one.concept.record and " " in one.text]
    sides = compared_sides(subjects) or ()
    ranked = sorted([*subjects, *others], key=lambda one: 0 if one in sides and one.is_known else one.rank)
    if sum(not one.rank for one in ranked) > most:  # a disease and what is tried are surer than other names
        ranked.sort(
            key=lambda one: (
                one.rank,
                one not in sides and tree_kind(one) not in ("disease", "D", "E") and not one.is_name,
            )
        )
    ranked = ranked[:most]
    chosen = [
        one for place, one in enumerate(ranked) if place < 2 or not one.rank or one in sides or not one.is_looked_up
    ]
    if len(chosen) + len(negations) < 2:
        chosen += _promoted(parts, is_alone=not any(one.role == "subject" for one in chosen))[
            : 2 if len(chosen) else limit
        ]
    if not chosen and not negations:
        chosen = list(parts[:limit])
    required = tuple(one for one in parts if one in negations or one in chosen)
    rest = tuple(one for one in parts if one not in required)
    surplus = tuple(one for one in subjects if one not in required)
    for one in reversed(required):  # "lidocaine infusion", "copper sulphate alternatives"
        is_much = sum(1 + len(part.beside) for part in required) > _MAX_TERMS
        is_little = len(required) > 2 and all(is_common(text.split()) for text in one.beside)
        if one.beside and (is_much or is_little) and not is_branch(one.concept):
            bare = replace(one, text=one.concept.text if one.concept else one.text, beside=())
            required = tuple(bare if part is one else part for part in required)
            rest = (*rest, *(replace(bare, text=text, concept=None, role="modifier") for text in one.beside))
    return Selection(required, rest, surplus)


def _outcomes(parts: Sequence[Operand]) -> list[Operand]:
    """What something is said to change, with what is listed with it."""
    found: list[Operand] = []
    for last, one in zip([None, *parts], parts, strict=False):
        if one.is_outcome or (last in found and one.before in JOINING):
            found.append(one)
    return found


def _promoted(parts: Sequence[Operand], *, is_alone: bool) -> list[Operand]:
    """What is required beside a single subject: its persons, else one aspect, setting or description of it; an aspect
    first where there is no subject ("maternal mortality")."""
    asked = [one for one in parts if one.role == "aspect" and one.label == "O" and one.concept]
    if asked and not is_alone:
        return asked[:1]
    persons = [one for one in parts if one.role == "person" and (one.concept or one.either)]
    if len([one for part in persons for one in part.either or (part,)]) > 1:  # "adults and children" are all people
        persons = []
    others = [one for role in ("place", "aspect", "setting") for one in parts if one.role == role]
    others = [one for one in others if one.concept or one.role == "place"]
    others.sort(key=lambda one: not (one.role == "aspect" and " " in one.text))
    return [*others[:1], *persons] if is_alone else persons or others[:1]


def _merged(subjects: Sequence[Operand], most: int) -> dict[Operand, Operand]:
    """Too many subjects -> the groups of a kind that they go into, of which one is enough: first the sides of a
    comparison, then what is listed together, then all drugs."""
    found: dict[Operand, Operand] = {}

    def merge(run: Sequence[Operand]) -> None:
        group = either_of(run)
        found.update(dict.fromkeys([*run, *(one for one, now in found.items() if now in run)], group))

    def now() -> list[Operand]:
        return list(dict.fromkeys(found.get(one, one) for one in subjects))

    sides = compared_sides(now())
    # Of two diseases papers name one, but they are all that the topic has.
    if sides and (len(now()) > most or (len(now()) > 2 and all(one.is_disease for one in sides))):
        merge(sides)
    for run in [run for run in runs(now()) if len(run) > 1 and run[0].is_drug] if len(now()) > most else []:
        merge(run)
    while len(now()) > most:
        drugs = [one for one in now() if one.is_drug]  # a class and its members
        if len(drugs) < 2:
            break
        merge(drugs)
    return found


def compared_sides(parts: Sequence[Operand]) -> tuple[Operand, Operand] | None:
    """The two parts that are compared with each other: what is compared, and what stands before it that is of its kind,
    or that is no condition ("ultrasound for pneumothorax compared with X-ray")."""
    for place, other in enumerate(parts):
        earlier = [one for one in parts[:place] if not (one.is_negation or one.is_outcome)]
        if other.is_compared and earlier:
            alike = [one for one in earlier if tree_kind(one) == tree_kind(other) != ""]
            tried = [one for one in earlier if one.before not in ("among", "for", "in", "of", "with")]
            return (alike or tried or earlier)[-1], other
    return None


_MAX_RANKING = 10
_CLINICAL = ("C", "E", "F03")
_OF_ANIMALS = re.compile("animals?(?: (?:models?|research|studies|trials))?", re.IGNORECASE)
_ANIMALS = "animals[mh] NOT humans[mh]"


class Plan:
    """A topic with its parts, from which all queries are built.

    Args:
        asked: the topic as the user wrote it.
        topic: the same in NCBI's spelling, or `asked`.
        concepts: those of `topic`.
        is_looked_up: whether MeSH was asked for its words.
        unindexed: phrases that PubMed does not have in its index, in small letters.
    """

    def __init__(
        self,
        asked: Topic,
        topic: Topic,
        concepts: Sequence[TopicConcept],
        *,
        is_looked_up: bool,
        unindexed: frozenset[str] = frozenset(),
    ) -> None:
        self.asked, self.topic = asked, topic
        self.concepts = [replace(one, unindexed=unindexed) for one in concepts]
        self.parts = [] if topic.syntax else grouped_parts(parts_of(topic, self.concepts, is_looked_up=is_looked_up))
        self.left_out = [
            age_left_out(one) or (_ANIMALS if _OF_ANIMALS.fullmatch(one) else one) for one in topic.excluded
        ]
        # No paper has to say in the user's words what is not there ("asthma without steroids", "not due to cancer").
        negations = [one for one in self.parts if one.is_negation and one.concept is None]
        is_alone = len(negations) == len(self.parts)
        optional = [one for one in negations if not is_alone and negated_block(one.text) == one.text]
        chosen = select([one for one in self.parts if one not in optional])
        self.required, self.ranking, self.surplus = chosen.required, (*chosen.ranking, *optional), chosen.surplus
        self.blocks = {one: one.block(unindexed) for one in self.required}
        self.shortened: list[Operand] = []
        for one in sorted(self.required, key=lambda part: -len(self.blocks[part])):
            if len(self._core()) > QUERY_LIMIT - 600 and one.concept and one.concept.block.is_long:
                self.blocks[one] = one.concept.block.short
                self.shortened.append(one)
        self.kinds = question_kinds(topic, self.parts, self.required)
        self.is_clinical = any(one.record and one.record.is_of(_CLINICAL) for one in concepts)

    def _core(self) -> str:
        return self.query(self.required)

    @property
    def core(self) -> str:
        """The direct query without what only ranks."""
        return self.topic.syntax or self._core() or " ".join(self.topic.words.split()[:12])

    @property
    def rank_terms(self) -> list[str]:
        """What only ranks: the words of the parts that are not required."""
        said = [one for part in self.ranking if part.role != "filler" for one in part.rank_words]
        either = [word for one in self.topic.either_way for word in text_words(_COMPARED.sub("", one))]
        return list(dict.fromkeys([*said, *either]))[:_MAX_RANKING]

    @property
    def direct(self) -> str:
        """The core, and the words that only rank."""
        if self.topic.syntax or not self.rank_terms:
            return self.core
        return f"{pubmed_syntax.grouped(self.core)} AND ({' OR '.join(self.rank_terms)} OR all[sb])"

    @property
    def subjects(self) -> list[Operand]:
        """The required parts that are no negations."""
        return [one for one in self.required if not one.is_negation]

    @property
    def is_sure(self) -> bool:
        """Whether it is clear which parts are required."""
        return any(not one.rank for one in self.subjects) and all(one.rank for one in self.surplus)

    def query(
        self,
        parts: Sequence[Operand],
        blocks: Mapping[Operand, str] = MappingProxyType({}),
    ) -> str:
        """The query for these of the required parts, in the user's spelling too; some in other `blocks`."""
        core = pubmed_syntax.all_of(blocks.get(one, self.blocks[one]) for one in parts)
        if core and self.topic.typed:
            core = f"{pubmed_syntax.grouped(core)} OR {pubmed_syntax.grouped(self.topic.typed)}"
        without = pubmed_syntax.any_of(map(pubmed_syntax.grouped, self.left_out)) if self.left_out else ""
        return f"{pubmed_syntax.grouped(core)} NOT {without}" if without and core else core


_COMPARED = re.compile(
    r"^(?:with (?:and|or) without|with/without|or (?:no|without)|versus (?:no|without)) ", re.IGNORECASE
)
