"""What papers known to be relevant (the seeds) share and a query lacks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from deepcritical_mcp.models import Publication, SeedTerm
from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.evidence_terms import CHECK_TAGS
from deepcritical_mcp.search.expansion.phrases import general_stems, phrases, stems
from deepcritical_mcp.sources.base import Vocabulary

MAX_SEEDS = 100
_MAX_TERMS = 12
_MIN_SEEDS = 2


async def read_seeds(
    pmids: Sequence[str], query: str, vocabulary: Vocabulary
) -> tuple[tuple[SeedTerm, ...], tuple[str, ...]]:
    """The terms that at least two of the seeds share and `query` lacks, those first that win the most of the seeds
    that it does not find; and the PMIDs of these.

    Raises:
        ProviderError: PubMed did not answer.
    """
    asked = list(dict.fromkeys(pmids))[:MAX_SEEDS]
    found = await vocabulary.among(query, asked)
    records = await vocabulary.publications(asked)
    missed = tuple(pmid for pmid in asked if pmid not in found)
    shared, won = Counter[str](), Counter[str]()
    for record in records:
        terms = set(_terms(record))
        shared.update(terms)
        won.update(terms if record.pmid in missed else ())
    known = query.casefold()
    lacking = [term for term, seeds in shared.items() if seeds >= _MIN_SEEDS and term.casefold() not in known]
    lacking.sort(key=lambda term: (-won[term], -shared[term], not term.endswith("[MeSH Terms]"), term))
    chosen: list[str] = []
    for term in lacking:
        words = stems(term.partition("[")[0])
        if not any(words == stems(other.partition("[")[0]) for other in chosen):
            chosen.append(term)
    return tuple(SeedTerm(pubmed=one, seeds=shared[one], missed=won[one]) for one in chosen[:_MAX_TERMS]), missed


def _terms(record: Publication) -> Iterator[str]:
    """Its headings, without those of persons and methods, and the words and pairs of words of its title."""
    for heading in record.mesh_terms:
        name = heading.split("/")[0].strip("* ")
        if name.casefold() not in CHECK_TAGS and not stems(name) <= general_stems():
            yield pubmed_syntax.phrase(name, "MeSH Terms")
    for run in phrases(record.title.lower()):
        for text in (*run, *(" ".join(pair) for pair in pairwise(run))):
            if len(text) > 3 and not stems(text) <= general_stems():
                yield pubmed_syntax.term(text, "tiab")
