"""Queries that follow what the session's evidence talks about."""

from __future__ import annotations

from collections.abc import Sequence

from deepcritical_mcp.models import ExpandedQuery
from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.from_evidence import EvidenceTerm
from deepcritical_mcp.search.expansion.stems import stems
from deepcritical_mcp.search.expansion.topic import Topic, fit_web, weight

# How many terms stand beside the topic (4 did best on MED), and how many words they may have together.
_MOST_BESIDE = 4
_MOST_BESIDE_WORDS = 10


def evidence_queries(topic: Topic, terms: Sequence[EvidenceTerm]) -> list[ExpandedQuery]:
    """Proposals that follow what the evidence talks about, the most useful first."""
    if not terms:
        return []
    chosen = _beside(terms)
    names = " ".join(term.term for term in chosen)
    listed = ", ".join(term.term for term in chosen)
    news = [pubmed_syntax.grouped(pubmed_syntax.words(term.term)) for term in chosen]
    anchors = anchor_words(topic)
    known = pubmed_syntax.any_of(pubmed_syntax.words(word) for word in anchors)
    beside = ExpandedQuery(
        query=fit_web(topic.keywords, beside=names),
        strategy="specific",
        reformulation="semantic",
        rationale=f"What the session's evidence talks of beside the topic: {listed}.",
        pubmed_query=pubmed_syntax.all_of([known, news[0], pubmed_syntax.any_of(news[1:]) if news[1:] else ""]),
        source="evidence",
    )
    kept = anchors[: max(1, len(topic.words) // 2)]
    lateral = ExpandedQuery(
        query=fit_web(f"{names} {' '.join(kept)}"),
        strategy="broader",
        reformulation="semantic",
        rationale=f"Led by the evidence's own terms; of the topic only {', '.join(kept)} stays.",
        pubmed_query=pubmed_syntax.all_of(news[:2]),
        source="evidence",
    )
    return [beside, lateral] if len(chosen) > 1 else [beside]


def anchor_words(topic: Topic) -> list[str]:
    """The words that say most about the topic, at most four."""
    most = max(weight(word) for word in topic.words)
    return [word for word in topic.words if weight(word) == most][:4]


def _beside(terms: Sequence[EvidenceTerm]) -> list[EvidenceTerm]:
    """The best terms that share less than half of their words with a better one, as many as stand beside a topic."""
    chosen: list[EvidenceTerm] = []
    for term in terms:
        own = stems(term.term)
        is_said = any(2 * len(own & stems(other.term)) >= min(len(own), len(stems(other.term))) for other in chosen)
        words = sum(len(other.term.split()) for other in [*chosen, term])
        if not is_said and len(chosen) < _MOST_BESIDE and (not chosen or words <= _MOST_BESIDE_WORDS):
            chosen.append(term)
    return chosen
