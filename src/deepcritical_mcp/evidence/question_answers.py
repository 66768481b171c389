"""The sentences of kept texts that answer a question; apart from `answering`, because it imports heavy libraries."""

from __future__ import annotations

from collections.abc import Sequence

from deepcritical_mcp.evidence.answering import TextPlace, searched_at
from deepcritical_mcp.evidence.catalogue import Catalogue
from deepcritical_mcp.evidence.chunking import everything_said
from deepcritical_mcp.evidence.passage_embedder import PassageEmbedder
from deepcritical_mcp.evidence.sentence_ranking import best_answers, by_part, missing_terms, score_sentences
from deepcritical_mcp.excerpts import quoted
from deepcritical_mcp.models import Evidence


async def answers_in(
    embedder: PassageEmbedder, catalogue: Catalogue, question: str, places: Sequence[TextPlace], length: int
) -> tuple[dict[TextPlace, list[Evidence]], dict[str, set[str]]]:
    """See `EvidenceStore.answers`."""
    held = catalogue.find([place.id for place in places])
    rows = [
        (place, one)
        for place in places
        if (publication := held.get(place.id))
        for one in searched_at(publication, publication.text_with(place.id), place)
    ]
    contents = [(place, one.content) for place, one in rows]
    scores = await score_sentences(embedder, question, [content for _, content in contents])
    found: dict[TextPlace, list[Evidence]] = {place: [] for place in places if place.id in held}
    for place, (at, chosen) in best_answers(contents, scores, length).items():
        brief = quoted(contents[at][1], chosen) if chosen else ""
        for one in rows[at][1].answers(chosen, brief) if chosen else ():
            item = by_part(catalogue.shown(held[place.id], one.text), one.content)
            found[place].append(item.model_copy(update={"section": one.section, "anchor": one.anchor}))
    return found, {id: missing_terms(question, everything_said(one)) for id, one in held.items()}
