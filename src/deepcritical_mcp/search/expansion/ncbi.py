"""What NCBI makes of a topic, within a given time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from itertools import groupby

import anyio

from deepcritical_mcp.errors import ProviderError
from deepcritical_mcp.search.expansion.concepts import MeshMatch, matches, with_neighbours
from deepcritical_mcp.search.expansion.phrases import phrases, stems
from deepcritical_mcp.search.expansion.topic import Topic, is_drug, is_symbol, read_topic
from deepcritical_mcp.sources.pubmed.mesh import MeshConcepts

NO_VOCABULARY = "No MeSH vocabulary was available: the queries come from your words and the session's evidence alone."
NOTHING_MAPPED = "PubMed maps none of the topic's words to a MeSH heading: only your words and the evidence were used."
# A longer topic is a text, for which a corrected spelling makes no sense, and whose first words are looked up in MeSH.
_MOST_WORDS = 15
_MOST_WORDS_MAPPED = 40
_MOST_NEIGHBOURS = 60


@dataclass(frozen=True)
class NcbiView:
    """What NCBI knows of a topic: a better spelling, MeSH concepts, and a warning when something is missing."""

    corrected: str = ""
    matches: tuple[MeshMatch, ...] = ()
    warning: str = ""


async def look_up(topic: Topic, mesh: MeshConcepts, *, seconds: float, familiar: frozenset[str]) -> NcbiView:
    """Ask NCBI about `topic` for at most `seconds`; what arrived by then, or before it failed, is kept.

    Args:
        familiar: stems of words known to be spelled right, since the session's evidence has them.
    """
    view = NcbiView()
    try:
        with anyio.move_on_after(seconds) as scope:
            async for step in _steps(topic, mesh, familiar):
                view = step
    except ProviderError as error:
        return replace(view, warning=f"{error.message} {'' if view.matches else NO_VOCABULARY}".strip())
    if scope.cancelled_caught:
        missing = "Broader and narrower headings are missing." if view.matches else NO_VOCABULARY
        return replace(view, warning=f"NCBI did not answer within {seconds:.0f} seconds. {missing}")
    return view if view.matches else replace(view, warning=NOTHING_MAPPED)


async def _steps(topic: Topic, mesh: MeshConcepts, familiar: frozenset[str]) -> AsyncIterator[NcbiView]:
    """The view after each answer, more complete every time."""
    view = NcbiView()
    if not topic.syntax and len(topic.text.split()) <= _MOST_WORDS:
        suggestion = await mesh.corrected(topic.text)
        view = NcbiView(corrected=suggestion if _is_credible(suggestion, topic, familiar) else "")
        yield view
    wanted = _for_mapping(read_topic(view.corrected) if view.corrected else topic)
    mapped = await mesh.mapped(wanted) if wanted else ()
    headings = [heading for term in mapped for heading in term.headings]
    if not headings:
        return
    found = matches(mapped, await mesh.descriptors(headings))
    view = replace(view, matches=found)
    yield view
    uids = [uid for match in found for uid in match.descriptor.parents]
    uids += [uid for match in found for uid in match.descriptor.children]
    neighbours = await mesh.by_uid(list(dict.fromkeys(uids))[:_MOST_NEIGHBOURS])
    yield replace(view, matches=tuple(with_neighbours(match, neighbours) for match in found))


def _is_credible(suggestion: str, topic: Topic, familiar: frozenset[str]) -> bool:
    """Whether it keeps symbols ("AMPK"), names of drugs, and words of the evidence: NCBI corrects what is rare."""
    kept = stems(suggestion)
    return any(phrases(suggestion)) and not any(
        (is_symbol(word) or is_drug(word) or stems(word) <= familiar) and not stems(word) <= kept
        for phrase in phrases(topic.subject)
        for word in phrase
    )


def _for_mapping(topic: Topic) -> str:
    """What PubMed is asked to map to MeSH: the topic's words without what it negates, no phrase across a gap."""
    if topic.syntax:
        return " AND ".join(" ".join(phrase) for phrase in phrases(topic.subject))
    runs = groupby(topic.parts[:_MOST_WORDS_MAPPED], key=lambda part: part.startswith('"'))
    return " AND ".join(" ".join(run) for is_negated, run in runs if not is_negated)
