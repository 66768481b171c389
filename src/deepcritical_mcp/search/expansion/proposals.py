"""The queries proposed for a topic (direct, with other names, narrower, broader), and the choice among them.

By construction a specific query finds part of what the direct one finds (the direct one AND something), and a broader
one finds at least as much (a concept's words OR other names). Filters, which need neither MeSH nor evidence, fill up.
"""

from __future__ import annotations

import math
import string
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from typing import Literal, NamedTuple

from deepcritical_mcp.models import ExpandedQuery
from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.concepts import NamedConcept, joined, pubmed_with_blocks
from deepcritical_mcp.search.expansion.evidence_terms import EvidenceTerm
from deepcritical_mcp.search.expansion.filters import fitting_filters
from deepcritical_mcp.search.expansion.phrases import natural_order, stems
from deepcritical_mcp.search.expansion.topic import OTHER_SCRIPT, Topic, fit_web
from deepcritical_mcp.text import NEGATIONS, QUERY_FUNCTION_WORDS

SEMANTIC_SHARE = 0.37
# Best on MED (bench/expansion.py): two more names per concept, and four terms of the evidence.
_NAMES_PER_CONCEPT = 2
_MAX_TERMS = 4
_MAX_ADDED_WORDS = 12
# With more children than this, none is an obvious choice.
_MAX_CHILDREN = 3

Reformulation = Literal["syntactic", "semantic"]


def semantic_count(count: int) -> int:
    """How many of `count` queries are semantic: 37 %, rounded to the nearest whole number.

    For 1 to 8 queries: 0, 1, 1, 1, 2, 2, 3, 3.
    """
    return math.floor(SEMANTIC_SHARE * count + 0.5)


def same_words_key(query: str) -> frozenset[str]:
    """Equal for two queries that differ only in case, spacing, punctuation, order, repetition or function words."""
    words = {word.strip(string.punctuation + "“”„‘’«»¿¡…") for word in query.casefold().split()}
    return frozenset(words - (QUERY_FUNCTION_WORDS - NEGATIONS) - {""}) or frozenset({query.casefold()})


def choose(direct: ExpandedQuery, proposed: Iterable[ExpandedQuery], *, count: int) -> tuple[ExpandedQuery, ...]:
    """`direct`, then the first different proposals of each kind: at most `count` in all, in the mix of
    `semantic_count`, which every prefix keeps.

    If one kind runs out, the other takes its place. Three or more queries include a broader and a specific one if
    they were proposed.
    """
    rest: list[ExpandedQuery] = []
    seen: set[frozenset[str] | str] = set()
    for query in (direct, *proposed):
        keys = {same_words_key(query.query), query.pubmed_query.casefold()}
        if not keys & seen:
            rest.append(query)
            seen |= keys
    chosen = [rest.pop(0)]
    while rest and len(chosen) < count:
        is_semantic = semantic_count(len(chosen) + 1) > semantic_count(len(chosen))
        fitting = (one for one in rest if (one.reformulation == "semantic") == is_semantic)
        chosen.append(next(fitting, rest[0]))
        rest.remove(chosen[-1])
    for strategy in ("broader", "specific") if count >= 3 else ():
        _include(strategy, chosen, rest)
    return tuple(chosen)


def _include(strategy: str, chosen: list[ExpandedQuery], rest: Sequence[ExpandedQuery]) -> None:
    """If none is `chosen`, one takes the place of the last of the same kind that is not the only one of its own."""
    strategies = [one.strategy for one in chosen]
    for place in range(len(chosen) - 1, 0, -1) if strategy not in strategies else ():
        kind = chosen[place].reformulation
        candidate = next((one for one in rest if one.strategy == strategy and one.reformulation == kind), None)
        if candidate and strategies.count(strategies[place]) > 1:
            chosen[place] = candidate
            return


class _Draft(NamedTuple):
    """A proposal. A specific one is the topic AND `pubmed`; for a broader one, `pubmed` is the whole query or "".
    `names` are added to the topic where no operators exist."""

    strategy: Literal["broader", "specific"]
    reformulation: Reformulation
    source: Literal["mesh", "rules", "evidence"]
    rationale: str
    names: Iterable[str]
    pubmed: str


def direct_query(asked: Topic, topic: Topic) -> ExpandedQuery:
    """The topic as the user wrote it; in PubMed also in NCBI's spelling (`topic`)."""
    whole = asked.syntax or asked.text
    query = fit_web(whole)
    remarks = [
        "Your query, in PubMed's syntax as you wrote it." if asked.syntax else "Your topic as you wrote it.",
        "" if query == whole else "A web search uses only its beginning.",
        f"PubMed gets the topic without its last {asked.left_out} words." if asked.left_out else "",
        "In PubMed, in your spelling or NCBI's." if topic.typed else "",
    ]
    return ExpandedQuery(
        query=query,
        strategy="direct",
        reformulation="syntactic",
        rationale=" ".join(filter(None, remarks)),
        pubmed_query=topic.pubmed,
        source="rules",
    )


def proposals(
    topic: Topic, concepts: Sequence[NamedConcept], terms: Sequence[EvidenceTerm], *, today: date
) -> Iterator[ExpandedQuery]:
    """All other queries. Within each kind of reformulation, the most useful come first (bench/expansion.py).

    None where PubMed or a web search could not take the whole topic, or PubMed has nothing in its script.
    """
    if topic.left_out or fit_web(topic.subject) != topic.subject or topic.language == OTHER_SCRIPT:
        return
    for draft in _drafts(topic, concepts, terms, today):
        query = subject = topic.subject.rstrip(" ?.!")
        for name in draft.names:
            longer = f"{query} {name}"
            added = len(longer.split()) - len(subject.split())
            query = longer if fit_web(longer) == longer and added <= _MAX_ADDED_WORDS else query
        is_specific = draft.strategy == "specific"
        pubmed = f"{pubmed_syntax.grouped(topic.pubmed)} AND {draft.pubmed}" if is_specific else draft.pubmed
        if pubmed and len(pubmed) <= 2 * pubmed_syntax.MAX_QUERY_LENGTH:
            yield ExpandedQuery(
                query=query,
                strategy=draft.strategy,
                reformulation=draft.reformulation,
                rationale=draft.rationale,
                pubmed_query=pubmed,
                source=draft.source,
            )


def _drafts(
    topic: Topic, concepts: Sequence[NamedConcept], terms: Sequence[EvidenceTerm], today: date
) -> Iterator[_Draft]:
    # Words alone cannot exclude what such a topic excludes, so nothing is followed or replaced.
    if not topic.has_exclusion:
        yield from _other_names(topic, concepts)
        yield from _with_terms(topic, terms)
        yield from _narrower(topic, concepts)
        yield from _broader(topic, concepts)
        yield from _or_not_mentioned(topic)
    remark = " A web search cannot exclude what your NOT excludes." if topic.has_exclusion else ""
    for one in fitting_filters(topic, today=today):
        kind = "semantic" if one.kind else "syntactic"
        yield _Draft("specific", kind, "rules", one.finds + remark, [one.words], one.pubmed)


def _other_names(topic: Topic, concepts: Sequence[NamedConcept]) -> Iterator[_Draft]:
    """The topic with other names of its concepts; in PubMed, any of the names."""
    named = [concept for concept in concepts if concept.names]
    sources = {source for concept in named for source in concept.names.values()}
    source = "mesh" if "mesh" in sources else "evidence" if "evidence" in sources else "rules"
    # Names from the topic and the evidence come before those from MeSH.
    names = [sorted(concept.names, key=lambda name: concept.names[name] == "mesh") for concept in named]
    added = [name for some in names for name in some[:_NAMES_PER_CONCEPT]]
    query = pubmed_with_blocks(topic, {concept.text: concept.block() for concept in named})
    listed = ", ".join(f'"{concept.text}"' for concept in named)
    found = f"Adds other names for {listed}, to find papers that use them."
    yield _Draft("broader", "syntactic", source, found, added, query)


def _with_terms(topic: Topic, terms: Sequence[EvidenceTerm]) -> Iterator[_Draft]:
    """The topic with the best terms of the evidence, without those that it negates."""
    chosen = [term.term for term in terms if not stems(term.term) & topic.negated][:_MAX_TERMS]
    if chosen:
        condition = pubmed_syntax.any_of(pubmed_syntax.grouped(pubmed_syntax.words(name)) for name in chosen)
        found = f"With terms from the session's evidence ({', '.join(chosen)}); in PubMed, at least one of them."
        yield _Draft("specific", "semantic", "evidence", found, chosen, condition)


def _narrower(topic: Topic, concepts: Sequence[NamedConcept]) -> Iterator[_Draft]:
    """A concept narrowed to one of few headings below it in the MeSH tree."""
    for concept in concepts:
        few = concept.narrower if concept.descriptor and len(concept.descriptor.children) <= _MAX_CHILDREN else ()
        for child in [child for child in few if not stems(child.name) & topic.negated][:2]:
            name = natural_order(child.name)
            block = f"({pubmed_syntax.phrase(child.name, 'MeSH Terms')} OR {pubmed_syntax.phrase(name, 'tiab')})"
            found = f'"{concept.text}" narrowed to {child.name}, below it in the MeSH tree.'
            yield _Draft("specific", "semantic", "mesh", found, [name], block)


def _broader(topic: Topic, concepts: Sequence[NamedConcept]) -> Iterator[_Draft]:
    """A concept broadened in the MeSH tree, the last concept first, because topics often start with a drug or gene."""
    for concept in reversed(concepts):
        for parent in concept.broader[:1]:
            blocks = {one.text: one.block(*([parent] if one is concept else [])) for one in concepts}
            found = f'"{concept.text}" or the broader {parent.name}, above it in the MeSH tree.'
            name = natural_order(parent.name)
            yield _Draft("broader", "semantic", "mesh", found, [name], pubmed_with_blocks(topic, blocks))


def _or_not_mentioned(topic: Topic) -> Iterator[_Draft]:
    """ "Without X" as the phrase, or as papers that do not mention X."""
    for negation in topic.negations:
        absent = joined(negation.removeprefix("without ").split())
        others = joined([part for part in topic.parts if part != f'"{negation}"'])
        if negation.startswith("without ") and others:
            query = f"{pubmed_syntax.grouped(topic.pubmed)} OR ({others} NOT {absent})"
            found = f"Papers that say “{negation}”, and those that do not mention {absent} at all."
            yield _Draft("broader", "syntactic", "rules", found, [f"absence of {absent.strip('()')}"], query)
