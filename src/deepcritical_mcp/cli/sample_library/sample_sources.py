"""The sample library as sources: they take the places of PubMed and of the web."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from deepcritical_mcp.cli.sample_library.overlap import WordOverlap
from deepcritical_mcp.cli.sample_library.records import (
    ARTICLES,
    FIRST_PMID,
    JOURNAL,
    MARK,
    PAGES,
    Article,
    doi_of,
    pmid_of,
)
from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.identifiers import normalise_pmid
from deepcritical_mcp.models import (
    NO_ABSTRACT,
    NO_TITLE,
    AuthorName,
    NoticeKind,
    Publication,
    PublicationStatus,
    StatusNotice,
)
from deepcritical_mcp.sources.base import Answer, Fetched, Hit, Net, SearchRequest, Source
from deepcritical_mcp.sources.pubmed.publication_types import publication_type
from deepcritical_mcp.sources.pubmed.pubmed_request import PubMedRequest
from deepcritical_mcp.sources.web.web_request import WebRequest

_NOTICES: dict[PublicationStatus, NoticeKind] = {
    "retracted": "retraction",
    "concern": "concern",
    "corrected": "erratum",
}
_SIMILAR = 5


class SampleArticles(Source):
    """The made-up articles, asked as PubMed is: ids first, then their records."""

    name = "pubmed"
    title = "The sample library"
    kind = "literature"
    cited_as = "pubmed"
    request = PubMedRequest
    two_step = True
    id_name = "PMID"
    links = {"similar": "articles similar to", "cited_by": "articles that cite", "references": "references of"}  # noqa: RUF012

    def __init__(self) -> None:
        self._index = WordOverlap([_words(article) for article in ARTICLES])

    @classmethod
    def create(cls, settings: Settings, net: Net) -> Self:
        return cls()

    async def ask(self, variant: str, request: SearchRequest, *, offset: int, limit: int) -> Answer:
        assert isinstance(request, PubMedRequest)
        found = [article for place in self._index.ranked(variant) if _fits(article := ARTICLES[place], request)]
        if request.sort == "date":
            found.sort(key=lambda article: article.date, reverse=True)
        return Answer(tuple(map(pmid_of, found[offset : offset + limit])), len(found))

    async def fetch(self, ids: Sequence[str]) -> Fetched:
        return Fetched({pmid: _record(article) for pmid in ids if (article := _article(pmid))})

    def stub(self, id: str) -> Publication:
        return Publication.of("abstract", NO_ABSTRACT, provider=self.name, source="pubmed", title=NO_TITLE, pmid=id)

    def known_id(self, text: str) -> str:
        if not (pmid := normalise_pmid(text)):
            raise InvalidInputError(f"The sample library's PMIDs are numbers from {FIRST_PMID} on.")
        return pmid

    async def related(self, id: str, kind: str) -> Sequence[str]:
        article = _article(id)
        if article is None or kind != "similar":
            return ()
        return [pmid_of(ARTICLES[place]) for place in self._index.similar(ARTICLES.index(article))[:_SIMILAR]]


class SamplePages(Source):
    """The made-up web pages."""

    name = "web"
    title = "The sample library"
    kind = "web"
    cited_as = "web"
    request = WebRequest
    scored = True
    block = 0

    def __init__(self) -> None:
        self._index = WordOverlap([f"{page.title} {page.snippet}" for page in PAGES])

    @classmethod
    def create(cls, settings: Settings, net: Net) -> Self:
        return cls()

    async def ask(self, variant: str, request: SearchRequest, *, offset: int, limit: int) -> Answer:
        found = [PAGES[place] for place in self._index.ranked(variant)[:limit]]
        return Answer.whole(
            [
                Hit(
                    publication=Publication.of(
                        "page",
                        page.snippet,
                        provider=self.name,
                        source="web",
                        title=f"{page.title} {MARK}",
                        url=f"https://{page.address}",
                    ),
                    score=1 - 0.5 * rank / max(len(found), 1),
                )
                for rank, page in enumerate(found)
            ]
        )


def _words(article: Article) -> str:
    return " ".join([article.title, *(text for _, text in article.abstract), *article.mesh, article.group])


def _article(pmid: str) -> Article | None:
    place = int(pmid) - FIRST_PMID
    return ARTICLES[place] if 0 <= place < len(ARTICLES) else None


def _fits(article: Article, request: PubMedRequest) -> bool:
    """Whether an article passes the request's filters; a partial date means its whole month or year."""
    earliest, latest = request.min_date.strip(), request.max_date.strip()
    wanted = set(map(publication_type, request.publication_types))
    return (
        (not earliest or article.date >= earliest[: len(article.date)])
        and (not latest or article.date[: len(latest)] <= latest)
        and (not wanted or not wanted.isdisjoint(article.types))
    )


def _record(article: Article) -> Publication:
    sections = [f"{label}: {text}" if label else text for label, text in article.abstract]
    names = [AuthorName(last, first) for last, _, first in (name.partition(", ") for name in article.authors)]
    names += [AuthorName(article.group)] if article.group else []
    notice = _NOTICES.get(article.status)
    return Publication.of(
        "abstract",
        "\n".join([*sections, "(Made-up text.)"]),
        provider="pubmed",
        source="pubmed",
        title=f"{article.title} {MARK}",
        url=f"https://pubmed.ncbi.nlm.nih.gov/{pmid_of(article)}/",
        date=article.date,
        authors=tuple(names),
        pmid=pmid_of(article),
        doi=doi_of(article),
        journal=JOURNAL,
        publication_types=article.types,
        mesh_terms=article.mesh,
        status=article.status,
        status_notices=(StatusNotice(kind=notice, reference=JOURNAL),) if notice else (),
    )
