"""What was measured with an embedding model: cosines mean something else with every model."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Calibration:
    """Thresholds and weights that hold for one model only. All are cosines in 0..1 unless said otherwise.

    A model without a calibration is used without them: nothing is folded or merged by meaning, no related evidence is
    named, queries are compared by their words.

    Attributes:
        folds_at: from here on two texts say nearly the same.
        same_meaning: two records with nearly the same title need this to be one publication.
        like_meaning: from here on two records under one DOI are the same article.
        related_from: the least similarity of related evidence.
        close_query: from here on two web queries ask for the same thing.
        nothing_close: below it no evidence answers a query.
        words_weight: weight (0..1) of BM25 in hybrid ranking for a query of many words; the rest is the cosine's.
    """

    folds_at: float
    same_meaning: float
    like_meaning: float
    related_from: float
    close_query: float
    nothing_close: float
    words_weight: float


MINILM = Calibration(
    # bench/dedup.py, on 1,845 labelled references: 1.0 to 1.2 % of the articles lost, 0.2 % of the duplicates left.
    folds_at=0.95,
    same_meaning=0.9,
    like_meaning=0.8,
    # bench/retrieval.py: where relevant pairs begin.
    related_from=0.3,
    # Queries that ask for the same thing lie at 0.72 to 0.94, others of the same field at 0.46 to 0.76.
    close_query=0.76,
    nothing_close=0.15,
    # bench/retrieval.py, on MED and PubMedQA.
    words_weight=0.65,
)
"""all-MiniLM-L6-v2, as shipped (int8)."""
