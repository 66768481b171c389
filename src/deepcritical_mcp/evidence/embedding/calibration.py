"""The shipped embedding model's facts, and what was measured with a model.

A cosine of 0.8 means something different with every model.
"""

from __future__ import annotations

from dataclasses import dataclass

UNCALIBRATED = (
    "This embedding model has no calibration: evidence with nearly the same meaning is neither folded nor merged, "
    "related evidence is not listed, expand_queries does not use it, and get_evidence quotes only sentences with the "
    "question's words."
)
"""For `doctor` and for warnings in results."""
EVEN_WORDS_WEIGHT = 0.5
"""`Calibration.words_weight` for a model without a calibration: words and meaning count equally."""


@dataclass(frozen=True)
class Calibration:
    """Thresholds and weights that hold for one model only; thresholds are cosines in 0..1.

    Without a calibration a model is used as `UNCALIBRATED` says.

    Attributes:
        folds_at: lowest cosine of two nearly identical texts.
        same_meaning: lowest cosine of a preprint and its article, if their titles agree.
        related_from: lowest similarity of related evidence.
        on_topic: lowest similarity of evidence whose terms are proposed for a topic.
        nothing_close: below this no evidence answers a query, unless it has most of the query's words.
        answers_from: from here on a sentence answers a question.
        words_weight: weight (0..1) of BM25 in hybrid ranking for a query of many words; the cosine has the rest.
    """

    folds_at: float
    same_meaning: float
    related_from: float
    on_topic: float
    nothing_close: float
    answers_from: float
    words_weight: float


MINILM = Calibration(
    # bench/dedup.py, on 1,845 labeled references: 1.0 to 1.2 % of the articles lost, 0.2 % of the duplicates left.
    folds_at=0.95,
    same_meaning=0.9,
    # bench/retrieval.py: the lowest cosines of relevant pairs.
    related_from=0.3,
    on_topic=0.25,
    # 30 questions from other fields ("stock market prediction") against sessions of 20, 50 and 200 real abstracts of
    # MED and PubMed: the nearest one stays below 0.2 in 97, 96 and 82 % (below 0.15: 90, 81 and 46 %). Of MED's
    # questions none falls below it when a session holds three relevant abstracts, and 1.7 % do when it holds one.
    nothing_close=0.2,
    answers_from=0.4,
    # bench/retrieval.py, on MED and PubMedQA.
    words_weight=0.65,
)
"""all-MiniLM-L6-v2, as shipped (int8)."""

SHIPPED_NAME = "all-MiniLM-L6-v2-int8"
SHIPPED_DIMENSION = 384
SHIPPED_TOKENS = 256
"""How much of a text is read, [CLS] and [SEP] included: the limit that the model was published with."""
CALIBRATIONS = {"sentence-transformers/all-MiniLM-L6-v2": MINILM, "all-MiniLM-L6-v2": MINILM}
"""By hub id. The original of the shipped model: on recorded abstracts every cosine between the two is >= 0.98. A local
folder has no calibration, whatever its name, because its prompts and token limit may differ."""
