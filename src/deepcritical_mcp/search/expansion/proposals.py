"""The queries proposed for a topic: its own, with other names, narrower and wider.

By construction a specific query finds part of what the direct one finds (the direct one AND something), and a broader
one finds at least as much (a concept's words OR other names, or fewer words). MeSH and the evidence come first; dropped
words and filters, which need neither, fill up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date

from deepcritical_mcp.models import ExpandedQuery
from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.concepts import NamedConcept, pubmed_with_blocks
from deepcritical_mcp.search.expansion.dropping import WiderTopic, or_not_mentioned, wider_topics
from deepcritical_mcp.search.expansion.evidence_terms import EvidenceTerm
from deepcritical_mcp.search.expansion.filters import fitting_filters
from deepcritical_mcp.search.expansion.phrases import natural_order, stems
from deepcritical_mcp.search.expansion.selection import QuerySource, Reformulation, Strategy
from deepcritical_mcp.search.expansion.topic import OTHER_SCRIPT, WEB_CHARS, WEB_WORDS, Topic, fit_web
from deepcritical_mcp.sources.pubmed.mesh import MeshDescriptor

# Two names of each concept next to the topic did best on MED (bench/expansion.py), and four terms of the evidence.
_NAMES_OF_A_CONCEPT = 2
_MOST_TERMS = 4
_MOST_ADDED_WORDS = 12
# Of a heading with more children than this, none stands out.
_FEW_CHILDREN = 3


def direct_query(asked: Topic, topic: Topic) -> ExpandedQuery:
    """The topic as the user put it; in PubMed also as NCBI spells it, which is `topic`."""
    whole = asked.syntax or asked.text
    query = fit_web(whole)
    remarks = ["Your query, in PubMed's syntax as you wrote it." if asked.syntax else "Your topic as you put it."]
    if query != whole:
        remarks.append("A web search takes only its beginning.")
    if asked.left_out:
        remarks.append(f"The last {asked.left_out} words are left out in PubMed.")
    if topic.typed:
        remarks.append("In PubMed either in your spelling or in NCBI's.")
    return ExpandedQuery(
        query=query,
        strategy="direct",
        reformulation="syntactic",
        rationale=" ".join(remarks),
        pubmed_query=topic.pubmed,
        source="rules",
    )


def proposals(
    topic: Topic,
    concepts: Sequence[NamedConcept],
    terms: Sequence[EvidenceTerm],
    familiar: frozenset[str],
    *,
    today: date,
) -> list[ExpandedQuery]:
    """All other queries. Within each kind of reformulation the first are worth most (bench/expansion.py).

    () where PubMed or a web search could not take the whole topic, or PubMed has nothing in its script.

    Args:
        familiar: stems of the session's evidence; narrower headings among them come first.
        today: for the limit by publication date.
    """
    if topic.left_out or fit_web(topic.subject) != topic.subject or topic.language == OTHER_SCRIPT:
        return []
    filtered = list(_filtered(topic, today))
    # Words alone cannot exclude what such a topic excludes, so nothing is followed or replaced.
    if topic.has_exclusion:
        return filtered
    matched = [concept for concept in concepts if concept.match]
    return [
        *_in_ncbi_spelling(topic),
        *_other_names(topic, concepts),
        *_main_topics(topic, matched),
        *_with_terms(topic, terms),
        *_narrower(topic, matched, familiar),
        *_broader(topic, matched, concepts),
        *_with_fewer_words(topic, concepts),
        *filtered,
    ]


def _in_ncbi_spelling(topic: Topic) -> Iterator[ExpandedQuery]:
    if topic.typed:
        yield from _proposal(topic, (), "specific", "syntactic", "In NCBI's spelling alone.", topic.words, "mesh")


def _other_names(topic: Topic, concepts: Sequence[NamedConcept]) -> Iterator[ExpandedQuery]:
    """The topic next to its concepts' other names; in PubMed any of the names."""
    named = [concept for concept in concepts if concept.names]
    sources = {source for concept in named for source in concept.names.values()}
    source: QuerySource = "mesh" if "mesh" in sources else "evidence" if "evidence" in sources else "rules"
    listed = ", ".join(f'"{concept.text}"' for concept in named)
    yield from _proposal(
        topic,
        [name for concept in named for name in _names(concept)[:_NAMES_OF_A_CONCEPT]],
        "broader",
        "syntactic",
        f"With other names of {listed}: finds papers that use those.",
        _widened(topic, {concept.text: concept.block() for concept in named}),
        source,
    )


def _names(concept: NamedConcept) -> list[str]:
    """Its names, what the texts at hand call it before what MeSH does."""
    return sorted(concept.names, key=lambda name: concept.names[name] == "mesh")


def _main_topics(topic: Topic, matched: Sequence[NamedConcept]) -> Iterator[ExpandedQuery]:
    headings = [concept.match.descriptor.name for concept in matched if concept.match]
    if headings:
        yield from _proposal(
            topic,
            map(natural_order, headings),
            "specific",
            "syntactic",
            "With the MeSH headings; in PubMed only papers that have them as a main topic.",
            _narrowed(topic, [pubmed_syntax.phrase(heading, "MeSH Major Topic") for heading in headings]),
            "mesh",
        )


def _with_terms(topic: Topic, terms: Sequence[EvidenceTerm]) -> Iterator[ExpandedQuery]:
    """The topic with the terms of the evidence that say most and share less than half of their words with another.

    What the topic negates is not added.
    """
    chosen: list[EvidenceTerm] = []
    for term in (term for term in terms if not stems(term.term) & topic.negated):
        own = stems(term.term)
        others = [stems(other.term) for other in chosen]
        if len(chosen) < _MOST_TERMS and all(2 * len(own & other) < min(len(own), len(other)) for other in others):
            chosen.append(term)
    names = [term.term for term in chosen]
    words = [pubmed_syntax.grouped(pubmed_syntax.words(name)) for name in names]
    if names:
        yield from _proposal(
            topic,
            names,
            "specific",
            "semantic",
            f"Terms of the session's evidence: {', '.join(names)}; in PubMed at least one of them.",
            _narrowed(topic, [pubmed_syntax.any_of(words)]),
            "evidence",
        )


def _narrower(topic: Topic, matched: Sequence[NamedConcept], familiar: frozenset[str]) -> Iterator[ExpandedQuery]:
    """A concept narrowed in the tree, to what the evidence talks about or where there are few to choose from."""
    for match in (concept.match for concept in matched if concept.match):
        own = stems(match.text) | stems(match.descriptor.name)
        known = [child for child in match.narrower if (news := stems(child.name) - own) and news <= familiar]
        few = match.narrower if len(match.descriptor.children) <= _FEW_CHILDREN else ()
        for child in [child for child in known or few if not stems(child.name) & topic.negated][:2]:
            yield from _proposal(
                topic,
                [natural_order(child.name)],
                "specific",
                "semantic",
                f'"{match.text}" narrowed to {child.name} in the MeSH tree.',
                _narrowed(topic, [_block_of(child)]),
                "mesh",
            )


def _broader(
    topic: Topic, matched: Sequence[NamedConcept], concepts: Sequence[NamedConcept]
) -> Iterator[ExpandedQuery]:
    """A concept widened in the tree, the last concept first: a topic tends to open with its drug or gene."""
    for concept in reversed(matched):
        for parent in concept.match.broader[:1] if concept.match else ():
            blocks = {one.text: one.block(*([parent] if one is concept else [])) for one in concepts}
            yield from _proposal(
                topic,
                [natural_order(parent.name)],
                "broader",
                "semantic",
                f'"{concept.text}" or its wider group, {parent.name} in the MeSH tree.',
                _widened(topic, blocks),
                "mesh",
            )


def _with_fewer_words(topic: Topic, concepts: Sequence[NamedConcept]) -> Iterator[ExpandedQuery]:
    """A negation also as NOT; then the topic without an outcome, a setting, a qualifier."""
    unmentioned = or_not_mentioned(topic)
    if unmentioned:
        yield _wider(unmentioned, "syntactic")
    for wider in wider_topics(topic, [concept.text for concept in concepts]):
        yield _wider(wider, "semantic")


def _wider(wider: WiderTopic, reformulation: Reformulation) -> ExpandedQuery:
    return ExpandedQuery(
        query=fit_web(wider.words),
        strategy="broader",
        reformulation=reformulation,
        rationale=wider.rationale,
        pubmed_query=wider.pubmed,
        source="rules",
    )


def _filtered(topic: Topic, today: date) -> Iterator[ExpandedQuery]:
    remark = " A web search cannot exclude what your NOT excludes." if topic.has_exclusion else ""
    for one in fitting_filters(topic, today=today):
        narrowed = _narrowed(topic, [one.pubmed])
        yield from _proposal(topic, [one.words], "specific", one.reformulation, one.finds + remark, narrowed, "rules")


def _block_of(descriptor: MeshDescriptor) -> str:
    heading, name = descriptor.name, natural_order(descriptor.name)
    return pubmed_syntax.any_of([pubmed_syntax.phrase(heading, "MeSH Terms"), pubmed_syntax.phrase(name, "tiab")])


def _narrowed(topic: Topic, conditions: Iterable[str]) -> str:
    """What the topic finds, limited by all `conditions`."""
    return " AND ".join([pubmed_syntax.grouped(topic.pubmed), *conditions])


def _widened(topic: Topic, blocks: dict[str, str]) -> str:
    """What the topic finds, and more; "" for a topic in PubMed's syntax, in which nothing is replaced."""
    query = pubmed_with_blocks(topic, blocks)
    return f"{pubmed_syntax.grouped(query)} OR {pubmed_syntax.grouped(topic.typed)}" if query and topic.typed else query


def _proposal(
    topic: Topic,
    names: Iterable[str],
    strategy: Strategy,
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
        if fits and added + words <= _MOST_ADDED_WORDS:
            query, added = longer, added + words
    if pubmed_query and len(pubmed_query) <= 2 * pubmed_syntax.LONGEST_QUERY:
        yield ExpandedQuery(
            query=query,
            strategy=strategy,
            reformulation=reformulation,
            rationale=rationale,
            pubmed_query=pubmed_query,
            source=source,
        )
