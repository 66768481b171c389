"""The sample library as sources, in place of PubMed, preprints, trials and the web.

Its records are in sample_records.jsonl, in the format of `export_evidence`. Nothing in them is evidence: every title
ends in "[sample data]", PMIDs and trial numbers are far above those that are assigned, DOIs have 10.5555, the prefix
reserved for examples, and web addresses end in ".example", which never resolves.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Self

from deepcritical_mcp.config import Settings
from deepcritical_mcp.export import read_jsonl
from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.models import NO_ABSTRACT, NO_TITLE, CitationSource, Publication
from deepcritical_mcp.net.client import Net
from deepcritical_mcp.reading import Reading
from deepcritical_mcp.reading.jats import read_jats
from deepcritical_mcp.sources.base import Answer, Fetched, SearchRequest, Source
from deepcritical_mcp.sources.europepmc.preprint_request import PreprintRequest
from deepcritical_mcp.sources.lookup import Copy, Direction, FullTextSource, Linked, LinkLookup, Wanted
from deepcritical_mcp.sources.pubmed.request import PubMedRequest, publication_type
from deepcritical_mcp.sources.trials.request import TrialRequest
from deepcritical_mcp.sources.web.request import WebRequest
from deepcritical_mcp.text import QUERY_FUNCTION_WORDS, words_of

MIN_SCORE = 0.55
"""Share of a query's words, weighted by rarity, that a record must contain."""
_NOT_WORDS = re.compile(r"\[sample data\]|\(Made-up text\.\)|^[A-Z]+: ", re.MULTILINE)
_QUERY_PART = re.compile(r"\bAND\b|\bNOT\b.*", re.DOTALL)
_FIELD_TAG = re.compile(r"\[[^\[\]]*+\]")
_FILLERS = words_of(
    "adult effect evidence help improve increase lead lower new older patient people person reduce risk study before "
    f"treatment {' '.join(QUERY_FUNCTION_WORDS)}"
).keys()


@cache
def sample_records(source: CitationSource) -> tuple[Publication, ...]:
    """The made-up publications of this source."""
    text = files("deepcritical_mcp.cli").joinpath("sample_records.jsonl").read_text("utf-8")
    return tuple(one for one in read_jsonl(text) if one.source == source)


class SampleSource(Source):
    """The made-up records of one kind, found by their words."""

    title = "The sample library"

    def __init__(self) -> None:
        records = sample_records(self.cited_as)
        self._stems = dict[Publication, frozenset[str]]()
        for one in records:
            groups = [name.family for name in one.authors if not name.given]
            words = "\n".join([one.text.content, one.title, *one.mesh_terms, *groups])
            self._stems[one] = _stems(_NOT_WORDS.sub("", words))
        found = Counter(stem for stems in self._stems.values() for stem in stems)
        self._weights = {stem: math.log((len(records) + 1) / count) for stem, count in found.items()}

    @classmethod
    def create(cls, settings: Settings, net: Net) -> Self:
        return cls()

    async def ask(self, variant: str, request: SearchRequest, *, offset: int, limit: int) -> Answer:
        found = self._ranked(variant)
        return Answer.whole(found[offset : offset + limit], total=len(found))

    def _ranked(self, query: str) -> list[Publication]:
        """The records that match `query`, best first: by the share of its words that they contain. Understands AND, OR,
        NOT and field tags roughly."""
        parts = [part.split(" OR ") for part in _QUERY_PART.split(_FIELD_TAG.sub(" ", query))]
        asked = [some for part in parts if (some := [stems for one in part if (stems := _stems(one))])]
        scores = dict[Publication, float]()
        for one, stems in self._stems.items() if asked else ():
            best = (max(self._weight(some & stems) / self._weight(some) for some in part) for part in asked)
            scores[one] = sum(best) / len(asked)
        return sorted((one for one in scores if scores[one] >= MIN_SCORE), key=lambda one: -scores[one])

    def _weight(self, stems: frozenset[str]) -> float:
        rare = math.log(len(self._stems) + 1)  # words that no record contains weigh most
        return sum(self._weights.get(stem, rare) for stem in stems)


class SampleArticles(SampleSource, LinkLookup):
    """The made-up articles, asked as PubMed is: ids first, then their records. They are not linked to each other."""

    name, kind, cited_as, id_name = "pubmed", "literature", "pubmed", "PMID"
    request, two_step = PubMedRequest, True
    directions = ("similar", "cited_by", "references")

    async def ask(self, variant: str, request: SearchRequest, *, offset: int, limit: int) -> Answer:
        assert isinstance(request, PubMedRequest)
        found = [one for one in self._ranked(variant) if _fits(one, request)]
        if request.sort == "date":
            found.sort(key=lambda article: article.date, reverse=True)
        return Answer(tuple(one.pmid for one in found[offset : offset + limit]), len(found))

    async def fetch(self, ids: Sequence[str], *, within: float = math.inf) -> Fetched:
        return Fetched({one.pmid: one for one in sample_records("pubmed") if one.pmid in ids})

    def stub(self, id: str) -> Publication:
        return Publication.of("abstract", NO_ABSTRACT, provider=self.name, source="pubmed", title=NO_TITLE, pmid=id)

    def knows(self, ids: RecordIds) -> bool:
        return True

    async def links(self, papers: Sequence[RecordIds], direction: Direction) -> Sequence[Linked]:
        return [Linked() for _ in papers]


class SamplePreprints(SampleSource):
    """The made-up preprints."""

    name, kind, cited_as, id_name = "preprints", "preprints", "preprint", "DOI"
    request = PreprintRequest


class SampleTrials(SampleSource):
    """The made-up trials."""

    name, kind, cited_as, id_name = "trials", "trials", "trial", "NCT"
    request = TrialRequest

    async def fetch(self, ids: Sequence[str], *, within: float = math.inf) -> Fetched:
        return Fetched({one.nct: one for one in sample_records("trial") if one.nct in ids})


class SamplePages(SampleSource):
    """The made-up web pages."""

    name, kind, cited_as = "web", "web", "web"
    request, scored, block = WebRequest, True, 0

    async def ask(self, variant: str, request: SearchRequest, *, offset: int, limit: int) -> Answer:
        found = self._ranked(variant)[:limit]
        return Answer.whole(found, {one.id: 1 - 0.5 * rank / len(found) for rank, one in enumerate(found)})


@cache
def sample_paper() -> Reading:
    """The made-up article that the library has in full."""
    return read_jats(files("deepcritical_mcp.cli").joinpath("sample_article.xml").read_bytes())[0]


class SamplePapers(FullTextSource):
    """One made-up article in full; the library has only abstracts of the others."""

    name, title = "sample", "The sample library"

    @classmethod
    def create(cls, settings: Settings, net: Net) -> Self:
        return cls()

    def accepts(self, wanted: Wanted) -> bool:
        return True

    async def read(self, wanted: Wanted) -> Copy:
        paper = sample_paper()
        if wanted.ids.pmid == paper.fields["pmid"]:
            return Copy("full_text", reading=paper)
        return Copy("not_found", f"The sample library has one full text, of PMID {paper.fields['pmid']}.")


def _fits(article: Publication, request: PubMedRequest) -> bool:
    """Whether an article passes the request's filters; a partial date means its whole month or year."""
    earliest, latest = request.min_date.strip(), request.max_date.strip()
    wanted = set(map(publication_type, request.publication_types))
    return (
        (not earliest or article.date >= earliest[: len(article.date)])
        and (not latest or article.date[: len(latest)] <= latest)
        and (not wanted or not wanted.isdisjoint(article.publication_types))
    )


def _stems(text: str) -> frozenset[str]:
    return frozenset(words_of(text).keys() - _FILLERS)
