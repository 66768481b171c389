"""What NCBI makes of a topic, within a given time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

import anyio

from deepcritical_mcp.errors import ProviderError
from deepcritical_mcp.search.expansion.concepts import MeshMatch, matches, with_neighbours
from deepcritical_mcp.search.expansion.stems import stems
from deepcritical_mcp.search.expansion.topic import Topic, is_drug, is_symbol, key_phrases, read_topic, weights_in
from deepcritical_mcp.sources.pubmed.mesh import MeshConcepts

# More words than these are no query but a text, of which neither spelling nor term mapping makes sense.
_MOST_WORDS = 15
_MOST_NEIGHBOURS = 60
_GO_ON = "The queries come from rules and the session's evidence."


@dataclass(frozen=True)
class NcbiView:
    """What NCBI knows of a topic: a better spelling, MeSH concepts, and a warning when something is missing."""

    corrected: str = ""
    matches: tuple[MeshMatch, ...] = ()
    warning: str = ""


async def look_up(topic: Topic, mesh: MeshConcepts, *, seconds: float, familiar: frozenset[str]) -> NcbiView:
    """Ask NCBI about `topic` for at most `seconds`; what came until then, or until it failed, is kept.

    Args:
        familiar: stems of words that are known to be spelled right, since the session's evidence has them.
    """
    view = NcbiView()
    try:
        with anyio.move_on_after(seconds) as scope:
            async for step in _steps(topic, mesh, familiar):
                view = step
    except ProviderError as error:
        return replace(view, warning=f"{error.message} {'' if view.matches else _GO_ON}".strip())
    if scope.cancelled_caught:
        missing = "broader and narrower concepts are missing."
        missing = missing if view.matches else f"MeSH concepts are missing. {_GO_ON}"
        return replace(view, warning=f"NCBI did not answer within {seconds:.0f} seconds, so {missing}")
    return view


async def _steps(topic: Topic, mesh: MeshConcepts, familiar: frozenset[str]) -> AsyncIterator[NcbiView]:
    """The view after each answer, more complete every time."""
    view = NcbiView()
    if not topic.syntax and len(topic.text.split()) <= _MOST_WORDS:
        suggestion = await mesh.corrected(topic.text)
        view = NcbiView(corrected=suggestion if _is_credible(suggestion, topic, familiar) else "")
        yield view
    mapped = await mesh.mapped(_for_mapping(read_topic(view.corrected) if view.corrected else topic))
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
    return bool(key_phrases(suggestion)) and not any(
        (is_symbol(word) or is_drug(word) or stems(word) <= familiar) and not stems(word) <= kept
        for word in topic.words
    )


def _for_mapping(topic: Topic) -> str:
    """Key phrases kept apart by AND, so that no phrase is read across their borders, without general medical words."""
    weights = weights_in(topic.phrases)
    phrases = [" ".join(word for word in phrase.split() if weights[word]) for phrase in topic.phrases]
    chosen: list[str] = []
    for phrase in filter(None, phrases or topic.phrases):
        if sum(len(other.split()) for other in [*chosen, phrase]) <= _MOST_WORDS:
            chosen.append(phrase)
    return " AND ".join(chosen) or topic.phrases[0]
