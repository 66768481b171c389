"""The concepts of a topic as MeSH knows them: their names, and what lies above and below them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from deepcritical_mcp.models import ExpandedQuery
from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.selection import Reformulation, Strategy
from deepcritical_mcp.search.expansion.stems import stems
from deepcritical_mcp.search.expansion.topic import Topic, fit_web, weight
from deepcritical_mcp.search.expansion.wording import natural_order
from deepcritical_mcp.sources.pubmed.mesh import MappedTerm, MeshDescriptor

MOST_SYNONYMS = 12
_LONGEST_SYNONYM = 60
# What stands beside the topic: two names of each concept did best on MED, and instead of its words they cost.
_NAMES_AT_ONCE = 2
_MOST_ADDED_WORDS = 12
# Room in a PubMed query for one concept, of which a topic rarely has more than three.
_BLOCK = 300
# The roots of the tree that name no subject: publication characteristics, geography, persons by occupation or age.
_NO_SUBJECT_TREES = ("V", "Z", "M01")


@dataclass(frozen=True)
class MeshMatch:
    """Words of the topic, the descriptor that they stand for, and its neighbours in the tree."""

    text: str
    descriptor: MeshDescriptor
    broader: tuple[MeshDescriptor, ...] = ()
    narrower: tuple[MeshDescriptor, ...] = ()


def matches(mapped: Sequence[MappedTerm], descriptors: Mapping[str, MeshDescriptor]) -> tuple[MeshMatch, ...]:
    """One match for each mapped term: of several headings the one that has the term among its names, else the first.

    Descriptors that name no subject (countries, age groups, kinds of publication) are left out.
    """
    found: dict[str, MeshMatch] = {}
    for term in mapped:
        known = [descriptors[heading] for heading in term.headings if heading in descriptors]
        named = [descriptor for descriptor in known if _has_name(descriptor, term.text)]
        for descriptor in (named or known)[:1]:
            if not all(number.startswith(_NO_SUBJECT_TREES) for number in descriptor.tree_numbers or ("",)):
                found.setdefault(descriptor.uid, MeshMatch(term.text, descriptor))
    return tuple(found.values())


def with_neighbours(match: MeshMatch, neighbours: Mapping[str, MeshDescriptor]) -> MeshMatch:
    """`match` with those of its parents and children that `neighbours` has."""
    return replace(
        match,
        broader=tuple(neighbours[uid] for uid in match.descriptor.parents if uid in neighbours),
        narrower=tuple(neighbours[uid] for uid in match.descriptor.children if uid in neighbours),
    )


def synonyms(descriptor: MeshDescriptor, text: str = "") -> tuple[str, ...]:
    """The names of a descriptor in natural order, each unlike `text` and the ones before it in more than its form."""
    found: dict[frozenset[str], str] = {stems(text): ""}
    for name in (descriptor.name, *descriptor.entry_terms):
        natural = natural_order(name)
        if len(natural) <= _LONGEST_SYNONYM:
            found.setdefault(stems(natural), natural)
    return tuple(name for name in found.values() if name)[:MOST_SYNONYMS]


def renamed(topic: Topic, found: Sequence[MeshMatch]) -> list[ExpandedQuery]:
    """The same concepts under other names, the most useful first."""
    return [*_all_names(topic, found), *_major(topic, found)] if found else []


def moved(topic: Topic, found: Sequence[MeshMatch], seen: frozenset[str]) -> list[ExpandedQuery]:
    """A concept narrowed or widened in the MeSH tree, the most useful first.

    Args:
        seen: stems of what the session's evidence talks about; narrower descriptors among them come first.
    """
    return [*_narrower(topic, found, seen), *_broader(topic, found)]


def pubmed_block(match: MeshMatch) -> str:
    """A concept for PubMed: its descriptor (narrower ones included) or any of its names in title or abstract."""
    names = [match.text, *synonyms(match.descriptor, match.text)]
    alternatives = [pubmed_syntax.phrase(match.descriptor.name, "MeSH Terms")]
    alternatives += [pubmed_syntax.phrase(name, "tiab") for name in names]
    return pubmed_syntax.any_of(alternatives, limit=_BLOCK)


def pubmed_concepts(topic: Topic, found: Sequence[MeshMatch]) -> str:
    """All concepts of the topic for PubMed, with the weightiest words that are in none of them."""
    return pubmed_syntax.all_of([*(pubmed_block(match) for match in found), *_uncovered(topic, found)])


def _uncovered(topic: Topic, found: Sequence[MeshMatch]) -> list[str]:
    covered = frozenset(stem for match in found for stem in stems(match.text))
    words = [word for word in topic.words if weight(word) and not stems(word) <= covered]
    return [pubmed_syntax.words(word) for word in words[:3]]


def _all_names(topic: Topic, found: Sequence[MeshMatch]) -> Iterator[ExpandedQuery]:
    """The topic with its concepts' other names beside it, two for each concept at a time."""
    names = [synonyms(match.descriptor, match.text) for match in found]
    for start in range(0, 2 * _NAMES_AT_ONCE, _NAMES_AT_ONCE):
        added = _fitting(name for others in names for name in others[start : start + _NAMES_AT_ONCE])
        if added:
            listed = ", ".join(match.descriptor.name for match in found)
            yield _proposal(
                fit_web(topic.keywords, beside=added),
                "broader",
                "syntactic",
                f"With other names that MeSH lists for {listed}: finds papers that call them so.",
                pubmed_query=pubmed_concepts(topic, found),
            )


def _fitting(names: Iterable[str]) -> str:
    """The first names that have no more words together than stand beside a topic."""
    chosen: list[str] = []
    for name in names:
        if len(" ".join([*chosen, name]).split()) <= _MOST_ADDED_WORDS:
            chosen.append(name)
    return " ".join(chosen)


def _major(topic: Topic, found: Sequence[MeshMatch]) -> Iterator[ExpandedQuery]:
    yield _proposal(
        fit_web(topic.keywords, beside=_fitting(natural_order(match.descriptor.name) for match in found)),
        "specific",
        "syntactic",
        "With the MeSH headings; in PubMed only papers that have them as a main topic.",
        pubmed_query=pubmed_syntax.all_of(
            [pubmed_syntax.phrase(match.descriptor.name, "MeSH Major Topic") for match in found]
        ),
    )


def _narrower(topic: Topic, found: Sequence[MeshMatch], seen: frozenset[str]) -> Iterator[ExpandedQuery]:
    """A concept narrowed, to what the evidence talks of or where there are few to choose from."""
    for match in found:
        talked_of = [child for child in match.narrower if _is_talked_of(child, match, seen)]
        for child in (talked_of or (match.narrower if len(match.narrower) <= 3 else ()))[:2]:
            yield _neighbour(topic, found, match, child, "specific", f'"{match.text}" narrowed to {child.name}')


def _broader(topic: Topic, found: Sequence[MeshMatch]) -> Iterator[ExpandedQuery]:
    """A concept widened, the last concept first: a topic tends to open with its drug or gene."""
    for match in reversed(found):
        for parent in match.broader[:1]:
            yield _neighbour(topic, found, match, parent, "broader", f'"{match.text}" widened to {parent.name}')


def _neighbour(
    topic: Topic, found: Sequence[MeshMatch], match: MeshMatch, other: MeshDescriptor, strategy: Strategy, change: str
) -> ExpandedQuery:
    """The neighbour's name beside the topic; in PubMed, whose words must all occur, in the place of the concept."""
    blocks = [pubmed_block(MeshMatch(other.name, other) if one is match else one) for one in found]
    return _proposal(
        fit_web(topic.keywords, beside=natural_order(other.name)),
        strategy,
        "semantic",
        f"{change} in the MeSH tree.",
        pubmed_query=pubmed_syntax.all_of([*blocks, *_uncovered(topic, found)]),
    )


def _is_talked_of(child: MeshDescriptor, match: MeshMatch, seen: frozenset[str]) -> bool:
    news = stems(child.name) - stems(match.descriptor.name)
    return bool(news) and news <= seen


def _has_name(descriptor: MeshDescriptor, text: str) -> bool:
    wanted = stems(text)
    return any(stems(name) == wanted for name in (descriptor.name, *descriptor.entry_terms))


def _proposal(
    query: str, strategy: Strategy, reformulation: Reformulation, rationale: str, *, pubmed_query: str
) -> ExpandedQuery:
    return ExpandedQuery(
        query=query,
        strategy=strategy,
        reformulation=reformulation,
        rationale=rationale,
        pubmed_query=pubmed_query,
        source="mesh",
    )
