"""The queries proposed for a topic (direct, with other names, narrower, broader), and the choice among them.

By construction a specific query finds part of what the direct one finds (the direct one AND something), and a broader
one finds at least as much (a concept's words OR other names). Filters, which need neither MeSH nor evidence, fill up.
"""

from __future__ import annotations

import math
import string
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from typing import Literal

from deepcritical_mcp.models import ExpandedQuery
from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.concepts import NamedConcept, joined, pubmed_with_blocks
from deepcritical_mcp.search.expansion.evidence_terms import EvidenceTerm, EvidenceView
from deepcritical_mcp.search.expansion.filters import fitting_filters
from deepcritical_mcp.search.expansion.phrases import FUNCTION_WORDS, NEGATIONS, natural_order, stems
from deepcritical_mcp.search.expansion.topic import OTHER_SCRIPT, WEB_CHARS, WEB_WORDS, Topic, fit_web
from deepcritical_mcp.sources.pubmed.mesh import MeshDescriptor

SEMANTIC_SHARE = 0.37
# Best on MED (bench/expansion.py): two more names per concept, and four terms of the evidence.
_NAMES_PER_CONCEPT = 2
_MAX_TERMS = 4
_MAX_ADDED_WORDS = 12
# With more children than this, none is an obvious choice.
_MAX_CHILDREN = 3

Reformulation = Literal["syntactic", "semantic"]
QuerySource = Literal["mesh", "rules", "evidence"]

_PUNCTUATION = string.punctuation + "“”„‘’«»¿¡…"


def semantic_count(count: int) -> int:
    """How many of `count` queries are semantic: 37 %, rounded to the nearest whole number.

    For 1 to 8 queries: 0, 1, 1, 1, 2, 2, 3, 3.
    """
    return math.floor(SEMANTIC_SHARE * count + 0.5)


def same_words_key(query: str) -> frozenset[str]:
    """Equal for two queries that differ only in case, spacing, punctuation, order, repetition or function words."""
    words = {word.strip(_PUNCTUATION) for word in query.casefold().split()}
    return frozenset(words - (FUNCTION_WORDS - NEGATIONS) - {""}) or frozenset({query.casefold()})


def choose(direct: ExpandedQuery, proposed: Iterable[ExpandedQuery], *, count: int) -> tuple[ExpandedQuery, ...]:
    """`direct`, then the first different proposals of each kind: at most `count` in all, in the mix of
    `semantic_count`, which every prefix keeps.

    If one kind runs out, the other takes its place. Three or more queries include a broader and a specific one if
    they were proposed.
    """
    rest = _different([direct, *proposed])[1:]
    chosen = [direct]
    while rest and len(chosen) < count:
        is_semantic = semantic_count(len(chosen) + 1) > semantic_count(len(chosen))
        fitting = (one for one in rest if (one.reformulation == "semantic") == is_semantic)
        chosen.append(next(fitting, rest[0]))
        rest.remove(chosen[-1])
    if count >= 3:
        for strategy in ("broader", "specific"):
            if all(one.strategy != strategy for one in chosen):
                _replace_one(chosen, [one for one in rest if one.strategy == strategy])
    return tuple(chosen)


def _different(queries: Sequence[ExpandedQuery]) -> list[ExpandedQuery]:
    """`queries` without those with the same words or the same PubMed query as an earlier one."""
    seen: set[frozenset[str] | str] = set()
    different: list[ExpandedQuery] = []
    for query in queries:
        keys = {same_words_key(query.query), query.pubmed_query.casefold()}
        if not keys & seen:
            different.append(query)
            seen |= keys
    return different


def _replace_one(chosen: list[ExpandedQuery], candidates: Sequence[ExpandedQuery]) -> None:
    """Replace the last query that is not the only one of its strategy by a candidate of the same kind."""
    strategies = [one.strategy for one in chosen]
    for place in range(len(chosen) - 1, 0, -1):
        same_kind = [one for one in candidates if one.reformulation == chosen[place].reformulation]
        if same_kind and strategies.count(strategies[place]) > 1:
            chosen[place] = same_kind[0]
            return


def direct_query(asked: Topic, topic: Topic) -> ExpandedQuery:
    """The topic as the user wrote it; in PubMed also in NCBI's spelling (`topic`)."""
    whole = asked.syntax or asked.text
    query = fit_web(whole)
    remarks = ["Your query, in PubMed's syntax as you wrote it." if asked.syntax else "Your topic as you wrote it."]
    if query != whole:
        remarks.append("A web search uses only its beginning.")
    if asked.left_out:
        remarks.append(f"PubMed gets the topic without its last {asked.left_out} words.")
    if topic.typed:
        remarks.append("In PubMed, in your spelling or NCBI's.")
    return ExpandedQuery(
        query=query,
        strategy="direct",
        reformulation="syntactic",
        rationale=" ".join(remarks),
        pubmed_query=topic.pubmed,
        source="rules",
    )


def proposals(
    topic: Topic, concepts: Sequence[NamedConcept], evidence: EvidenceView, *, today: date
) -> list[ExpandedQuery]:
    """All other queries. Within each kind of reformulation, the most useful come first (bench/expansion.py).

    [] where PubMed or a web search could not take the whole topic, or PubMed has nothing in its script.
    """
    if topic.left_out or fit_web(topic.subject) != topic.subject or topic.language == OTHER_SCRIPT:
        return []
    filtered = list(_filtered(topic, today))
    # Words alone cannot exclude what such a topic excludes, so nothing is followed or replaced.
    if topic.has_exclusion:
        return filtered
    return [
        *_proposal(topic, (), "specific", "syntactic", "In NCBI's spelling only.", topic.typed and topic.words, "mesh"),
        *_other_names(topic, concepts),
        *_main_topics(topic, concepts),
        *_with_terms(topic, evidence.terms),
        *_narrower(topic, concepts, evidence.familiar),
        *_broader(topic, concepts),
        *_or_not_mentioned(topic),
        *filtered,
    ]


def _other_names(topic: Topic, concepts: Sequence[NamedConcept]) -> Iterator[ExpandedQuery]:
    """The topic with other names of its concepts; in PubMed, any of the names."""
    named = [concept for concept in concepts if concept.names]
    sources = {source for concept in named for source in concept.names.values()}
    source: QuerySource = "mesh" if "mesh" in sources else "evidence" if "evidence" in sources else "rules"
    # Names from the topic and the evidence come before those from MeSH.
    names = [sorted(concept.names, key=lambda name: concept.names[name] == "mesh") for concept in named]
    listed = ", ".join(f'"{concept.text}"' for concept in named)
    yield from _proposal(
        topic,
        [name for some in names for name in some[:_NAMES_PER_CONCEPT]],
        "broader",
        "syntactic",
        f"Adds other names for {listed}, to find papers that use them.",
        _widened(topic, {concept.text: concept.block() for concept in named}),
        source,
    )


def _main_topics(topic: Topic, concepts: Sequence[NamedConcept]) -> Iterator[ExpandedQuery]:
    headings = [concept.descriptor.name for concept in concepts if concept.descriptor]
    if headings:
        yield from _specific(
            topic,
            map(natural_order, headings),
            " AND ".join(pubmed_syntax.phrase(heading, "MeSH Major Topic") for heading in headings),
            "syntactic",
            "With the MeSH headings; in PubMed, only papers that have them as a major topic.",
            "mesh",
        )


def _with_terms(topic: Topic, terms: Sequence[EvidenceTerm]) -> Iterator[ExpandedQuery]:
    """The topic with the best terms of the evidence that share less than half of their words with one another.

    Terms that the topic negates are not added.
    """
    chosen: dict[str, frozenset[str]] = {}
    for term in terms:
        own = stems(term.term)
        is_new = all(2 * len(own & other) < min(len(own), len(other)) for other in chosen.values())
        if is_new and not own & topic.negated and len(chosen) < _MAX_TERMS:
            chosen[term.term] = own
    if chosen:
        words = [pubmed_syntax.grouped(pubmed_syntax.words(name)) for name in chosen]
        found = f"With terms from the session's evidence ({', '.join(chosen)}); in PubMed, at least one of them."
        yield from _specific(topic, chosen, pubmed_syntax.any_of(words), "semantic", found, "evidence")


def _narrower(topic: Topic, concepts: Sequence[NamedConcept], familiar: frozenset[str]) -> Iterator[ExpandedQuery]:
    """A concept narrowed in the MeSH tree, to a heading found in the evidence or to one of few children."""
    for concept in concepts:
        if not concept.descriptor:
            continue
        own = stems(f"{concept.text} {concept.descriptor.name}")
        known = [child for child in concept.narrower if (news := stems(child.name) - own) and news <= familiar]
        few = concept.narrower if len(concept.descriptor.children) <= _MAX_CHILDREN else ()
        for child in [child for child in known or few if not stems(child.name) & topic.negated][:2]:
            found = f'"{concept.text}" narrowed to {child.name}, below it in the MeSH tree.'
            yield from _specific(topic, [natural_order(child.name)], _block_of(child), "semantic", found, "mesh")


def _broader(topic: Topic, concepts: Sequence[NamedConcept]) -> Iterator[ExpandedQuery]:
    """A concept broadened in the MeSH tree, the last concept first, because topics often start with a drug or gene."""
    for concept in reversed(concepts):
        for parent in concept.broader[:1]:
            blocks = {one.text: one.block(*([parent] if one is concept else [])) for one in concepts}
            found = f'"{concept.text}" or the broader {parent.name}, above it in the MeSH tree.'
            names = [natural_order(parent.name)]
            yield from _proposal(topic, names, "broader", "semantic", found, _widened(topic, blocks), "mesh")


def _or_not_mentioned(topic: Topic) -> Iterator[ExpandedQuery]:
    """ "Without X" as the phrase, or as papers that do not mention X."""
    for negation in topic.negations:
        absent = joined(negation.removeprefix("without ").split())
        others = joined([part for part in topic.parts if part != f'"{negation}"'])
        if negation.startswith("without ") and others:
            query = f"{pubmed_syntax.grouped(topic.pubmed)} OR ({others} NOT {absent})"
            found = f"Papers that say “{negation}”, and those that do not mention {absent} at all."
            names = [f"absence of {absent.strip('()')}"]
            yield from _proposal(topic, names, "broader", "syntactic", found, query, "rules")


def _filtered(topic: Topic, today: date) -> Iterator[ExpandedQuery]:
    remark = " A web search cannot exclude what your NOT excludes." if topic.has_exclusion else ""
    for one in fitting_filters(topic, today=today):
        kind: Reformulation = "semantic" if one.kinds else "syntactic"
        yield from _specific(topic, [one.words], one.pubmed, kind, one.finds + remark, "rules")


def _block_of(descriptor: MeshDescriptor) -> str:
    heading, name = descriptor.name, natural_order(descriptor.name)
    return pubmed_syntax.any_of([pubmed_syntax.phrase(heading, "MeSH Terms"), pubmed_syntax.phrase(name, "tiab")])


def _widened(topic: Topic, blocks: dict[str, str]) -> str:
    """The topic with concepts replaced by `blocks`; "" for a topic in PubMed's syntax, which is never changed."""
    query = pubmed_with_blocks(topic, blocks)
    return query and topic.or_typed(query)


def _specific(
    topic: Topic, names: Iterable[str], condition: str, kind: Reformulation, found: str, source: QuerySource
) -> Iterator[ExpandedQuery]:
    """The topic AND `condition`."""
    query = f"{pubmed_syntax.grouped(topic.pubmed)} AND {condition}"
    yield from _proposal(topic, names, "specific", kind, found, query, source)


def _proposal(
    topic: Topic,
    names: Iterable[str],
    strategy: Literal["broader", "specific"],
    reformulation: Reformulation,
    rationale: str,
    pubmed_query: str,
    source: QuerySource,
) -> Iterator[ExpandedQuery]:
    """The query with as many of `names` as fit next to the topic; none without `pubmed_query`."""
    query, added = topic.subject.rstrip(" ?.!"), 0
    for name in names:
        words = len(name.split())
        longer = f"{query} {name}"
        fits = len(longer) <= WEB_CHARS and len(longer.split()) <= WEB_WORDS
        if fits and added + words <= _MAX_ADDED_WORDS:
            query, added = longer, added + words
    if pubmed_query and len(pubmed_query) <= 2 * pubmed_syntax.MAX_QUERY_LENGTH:
        yield ExpandedQuery(
            query=query,
            strategy=strategy,
            reformulation=reformulation,
            rationale=rationale,
            pubmed_query=pubmed_query,
            source=source,
        )
