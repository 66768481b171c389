"""Which parts of a topic every paper must be about, of which one is enough, and the queries for them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, count
from types import MappingProxyType

from deepcritical_mcp.models import QUERY_LIMIT
from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.blocks import TopicConcept, telling_words, text_words
from deepcritical_mcp.search.expansion.filters import age_left_out, filter_named, question_of
from deepcritical_mcp.search.expansion.nouns import parts_of
from deepcritical_mcp.search.expansion.parts import JOINING, Part
from deepcritical_mcp.search.expansion.phrases import stems
from deepcritical_mcp.search.expansion.roles import NAMED, SURE, WEAK, is_common, is_never_noun, role_of_word
from deepcritical_mcp.search.expansion.topic import Topic
from deepcritical_mcp.search.expansion.word_lists import word_list
from deepcritical_mcp.text import PUBMED_STOP_WORDS

ONLY_RANKING = ("measure", "comparator", "kind", "head")
_OF_WHOM = word_list("of whom")
_MOST = 4
"""Joined terms that the direct query requires; the others only rank."""
_MAX_RANKING = 10
_MOST_EXCLUDED = 5
"""Exclusions up to which each keeps the papers that only say that it is absent."""
_CLINICAL = ("C", "F03")
_ANIMALS = "animals[mh] NOT humans[mh]"


def grouped_parts(parts: Sequence[Part]) -> list[Part]:
    """The parts, with those of which one is enough as one: what "or" joins, a list of three of a kind, and two drugs,
    diseases, groups or outcomes beside something else ("SSRIs for anxiety and depression")."""
    runs = list[list[Part]]()
    for one in parts:
        if runs and _goes_on(runs[-1], one):
            runs[-1].append(one)
        else:
            runs.append([one])
    found: list[Part] = []
    for run in runs:
        is_apart = any(one not in run and one.evidence >= NAMED for one in parts)
        is_whom = run[0].kind in ("D", "M") or (run[0].is_disease and bool(run[0].before))
        is_alike = is_apart and (is_whom or run[0].is_outcome)
        is_choice = len(run) > 2 or is_alike or any("or" in one.before for one in run[1:])
        found += [_either_of(run)] if run[1:] and is_choice else run
    return found


def _goes_on(run: Sequence[Part], other: Part) -> bool:
    """Whether a part goes on with a list: joined to it and of the same kind, as far as that is known. A negation and
    what is compared stand alone."""
    first = run[0]
    if first.is_negation or other.is_negation or other.is_compared or other.before not in JOINING:
        return False
    kinds = {one.kind for one in (*run, other)} - {""}
    if "or" in other.before:
        return len(kinds) < 2 and min(first.evidence, other.evidence) >= WEAK
    is_named = other.evidence >= NAMED and (other.before == "," or first.before in _OF_WHOM)
    return first.role == other.role and ((len(kinds) == 1 and bool(other.kind or is_named)) or first.is_outcome)


def _either_of(run: Sequence[Part]) -> Part:
    every = [one for part in run for one in part.either or (part,)]
    text = " or ".join(one.said for one in every)
    return replace(run[0], text=text, either=tuple(replace(one, before="") for one in every), concept=None)


@dataclass(frozen=True)
class Selection:
    """The parts that every paper must be about, those that only rank, and subjects that are too many to require."""

    required: tuple[Part, ...]
    ranking: tuple[Part, ...]
    surplus: tuple[Part, ...] = ()


def select(parts: Sequence[Part]) -> Selection:
    """Negations and animals are required, and two parts: the pair that papers are surest to name, a condition and what
    is tried or measured rather than two of a kind; a third one only if it is named first, is a group, or is as sure
    as can be. Of what says little, one part is, if there is only one other."""
    kept = [one for one in parts if one.is_negation or one.role == "animal"]
    others = [one for one in parts if one not in kept]
    strong = [one for one in others if one.evidence >= NAMED]
    is_enough = len(strong) + any(not one.is_negation for one in kept) > 1
    pool = strong if is_enough else [one for one in others if one.evidence]
    chosen = list(max(combinations(pool, 2), key=_worth, default=pool))
    if len(chosen) == 2 and not kept:
        # What is named first is what the topic is about.
        first = [one for one in strong if one.role == "subject" and not one.is_compared][:1]
        sure = [one for one in strong if one.role == "group" or one.evidence >= SURE]
        if any(one.either and one.is_disease for one in chosen):  # "for pain from osteoarthritis or gout"
            sure = [one for one in sure if not one.is_disease]
        chosen += [one for one in (*first, *sure) if one not in chosen][:1]
    required = tuple(one for one in parts if one in kept or one in chosen) or tuple(parts[:2])
    surplus = tuple(one for one in strong if one.role == "subject" and one not in required)
    return Selection(required, tuple(one for one in parts if one not in required), surplus)


def _joined_parts(
    topic: Topic, parts: Sequence[Part], optional: Sequence[Part], *, is_looked_up: bool
) -> tuple[list[Part], list[Part]]:
    """What the user joined by AND, each with what OR joins as one part, and parts of these terms that only rank: those
    that are `optional`, and what tells no papers apart."""
    joined: list[Part] = []
    ranking: list[Part] = []
    words: defaultdict[str, list[str]] = defaultdict(list)
    for token in topic.tokens:
        words[token.label] += [token.text] if token.text not in (",", ";") else []
    labels = map(str, count())
    for terms in topic.operands:
        asked: list[Part] = []
        for term, label in zip(terms, labels, strict=False):
            if label in words and PUBMED_STOP_WORDS.issuperset(words[label]):
                continue  # "not children", which is left out, and "before"
            affirmed = [word for word in words[label] if not word.startswith('"')]
            text = " ".join(affirmed or words[label]) or term
            own = [one for one in parts if one.label == label]
            named = _named_in(text, [one for one in own if one not in optional] or own, is_choice=len(terms) > 1)
            whole = Part(text, "subject" if named else "kind", is_looked_up=is_looked_up, every=tuple(named))
            asked.append(named[0] if len(named) == 1 else whole)
            ranking += [one for one in own if one not in named] if named else []
        if asked[1:]:  # of several words of the user, each as it is
            bare = [one for one in asked if one.role in ("kind", "subject") and not (one.every or one.is_negation)]
            asked = [replace(one, role="phrase") if one in bare and not one.concept else one for one in asked]
        named_filter = next(filter(None, (filter_named(one.text) for one in asked if one.role != "setting")), "")
        joined += [replace(_either_of(asked) if asked[1:] else one, filter=named_filter) for one in asked[:1]]
    each = {one.block(): one for one in reversed(joined)}
    return list(each.values())[::-1], ranking


def _named_in(text: str, said: Sequence[Part], *, is_choice: bool) -> list[Part]:
    """The parts that a term's text is made of, if papers name them; [] for a term that is searched as a phrase
    ("breast reduction", not only "breast"). One of several choices (`is_choice`) keeps all of its words."""
    named = [
        one for one in said if one.role not in ONLY_RANKING and (one.role != "modifier" or is_choice or _is_rare(one))
    ]
    told = " ".join(word for word in text.split() if role_of_word(word) != "filler")
    is_sure = any(one.evidence >= NAMED for one in named) or [one.said for one in named] == [told]
    is_known = not is_choice and any(one.concept for one in named)  # but not "people who inject drugs"
    is_whole = is_known or stems(text) <= stems(" ".join(one.text for one in named))
    return named if is_sure and is_whole else []


def _surest(joined: Sequence[Part], quoted: Collection[str]) -> Selection:
    """Those of these that every paper has to name: the first, what has a name of its own, and the first two things that
    have a heading or several words. A lone adjective, a lone outcome and what is absent only rank, as do later
    populations, places, outcomes and kinds of study, which papers word in too many ways."""
    firm = [one for one in joined if one.said.lower() in quoted or not all(map(_is_absent, one.inner))] or [*joined]
    described = [one for one in firm if all(map(is_never_noun, one.text.lower().split()))]
    first = [one for one in firm[:1] if one not in described]
    named = [one for one in firm if one.is_known and one.role != "general"]
    known = [one for one in named if role_of_word(one.text) not in ("aspect", "head", "kind")]
    things = [one for one in firm if one.role not in ("group", "person") and not one.filter]
    early = [one for one in things[:2] if one.either or one in known]
    sure = [one for one in firm if one in (*first, *early) or (one.evidence >= NAMED and not one.filter)]
    if len(sure) < 2:
        rest = [one for one in firm if one not in sure and one.role != "measure"]
        sure += sorted(rest, key=lambda one: one.role == "person" or one in described)[: 2 - len(sure)]
    sure = sorted(sure, key=lambda one: (one not in first, one.evidence < NAMED))[:_MOST]
    required = tuple(one for one in joined if one in sure) or tuple(joined)
    return Selection(required, tuple(one for one in joined if one not in required))


def _is_absent(part: Part) -> bool:
    is_not = part.is_negation or (part.text.lower().startswith("non-") and " " not in part.text)
    return is_not and not part.is_known


def _worth(pair: tuple[Part, Part]) -> float:
    one, other = pair
    whom = sum(part.before in _OF_WHOM and not part.is_disease for part in pair)
    is_mixed = one.is_disease != other.is_disease
    lists = sum(bool(part.either) for part in pair)
    return one.evidence + other.evidence + WEAK * (is_mixed - whom) + WEAK / 2 * lists


def _is_rare(part: Part) -> bool:
    words = part.text.lower().split()
    return not is_common(words) and not word_list("modifier") & {*words}


def _mentioned(text: str) -> str:
    """Papers that mention something, but for those that only say that it is not there."""
    if text.lower() in word_list("animal research"):
        return _ANIMALS
    if "(" in text or text.count(" ") > 2:
        return text
    absent = (f"without {text}", f"non {text}", f"{text} free", f"{text} negative")
    phrases = pubmed_syntax.any_of(pubmed_syntax.phrase(one, "tiab") for one in absent)
    return f"{pubmed_syntax.grouped(text)} NOT {phrases}"


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
        said = [] if topic.syntax else parts_of(topic, self.concepts, is_looked_up=is_looked_up)
        self.parts = said if topic.operands else grouped_parts(said)
        is_short = len(topic.excluded) <= _MOST_EXCLUDED
        self.left_out = [age_left_out(one) or (_mentioned(one) if is_short else one) for one in topic.excluded]
        # No paper has to say in the user's words what is not there ("asthma without steroids", "not due to cancer").
        absent = (one for one in self.parts if one.is_negation and one.concept is None)
        negations = [one for one in absent if one.said.lower() not in topic.quoted]
        optional = negations if len(negations) < len(self.parts) else []
        if topic.operands:
            self.said, light = _joined_parts(topic, self.parts, optional, is_looked_up=is_looked_up)
            chosen = _surest(self.said, topic.quoted)
        else:
            light, chosen = list(optional), select([one for one in self.parts if one not in optional])
            telling = [one for one in chosen.ranking if one.evidence and not one.is_negation]
            self.said = [*chosen.required, *telling]
        self.required, self.ranking, self.surplus = chosen.required, (*chosen.ranking, *light), chosen.surplus
        self.blocks = {one: one.block() for one in (*self.required, *self.said)}
        self.shortened: list[Part] = []
        for one in sorted(self.required, key=lambda part: -len(self.blocks[part])):
            is_long = any(part.concept and part.concept.block.is_long for part in one.inner)
            if len(self.query(self.required)) > QUERY_LIMIT - 600 and is_long:
                self.blocks[one] = one.block(short=True)
                self.shortened.append(one)
        # With all their names, joined terms may be too long for a query.
        self.is_cut = bool(topic.operands) and len(self.query(self.required)) > QUERY_LIMIT
        self.question = question_of(topic, self.required)
        self.is_clinical = any(one.record and one.record.is_of(_CLINICAL) for one in concepts)

    @property
    def core(self) -> str:
        """The direct query without what only ranks."""
        if self.is_cut:
            return pubmed_syntax.repair(self.topic.text)
        return self.topic.syntax or self.query(self.required) or " ".join(self.topic.words.split()[:12])

    @property
    def rank_terms(self) -> list[str]:
        """What only ranks: the words of the parts of which no paper has to name any."""
        said = [word for part in self.ranking for word in part.rank_words]
        # "thyroid function", of which only thyroid is demanded
        short = [one.text for one in self.required if one.is_looked_up and not (one.concept or one.either)]
        said += [word for text in short if telling_words(text) != text.split() for word in text_words(text)]
        either = [word for one in self.topic.either_way for word in text_words(one)]
        return list(dict.fromkeys([*said, *either]))[:_MAX_RANKING]

    @property
    def direct(self) -> str:
        """The core, and the words that only rank."""
        return self.core if self.topic.syntax else self.ranked(self.core)

    def ranked(self, query: str) -> str:
        """A query with the words that only rank, if there is room for them."""
        ranking = "" if self.is_cut else " OR ".join(self.rank_terms)
        ranked = f"{pubmed_syntax.grouped(query)} AND ({ranking} OR all[sb])"
        return ranked if ranking and len(ranked) <= QUERY_LIMIT else query

    @property
    def subjects(self) -> list[Part]:
        """The required parts that are no negations."""
        return [one for one in self.required if not one.is_negation]

    def query(self, parts: Sequence[Part], blocks: Mapping[Part, str] = MappingProxyType({})) -> str:
        """The query for these of the required parts, in the user's spelling too; some in other `blocks`."""
        core = pubmed_syntax.all_of(blocks.get(one, self.blocks[one]) for one in parts)
        if core and self.topic.typed:
            core = f"{pubmed_syntax.grouped(core)} OR {pubmed_syntax.grouped(self.topic.typed)}"
        without = pubmed_syntax.any_of(map(pubmed_syntax.grouped, self.left_out)) if self.left_out else ""
        return f"{pubmed_syntax.grouped(core)} NOT {without}" if without and core else core
