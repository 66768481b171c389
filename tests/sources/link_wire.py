"""A world of papers that cite each other, and what PubMed, Europe PMC, iCite, Crossref, OpenCitations and OpenAlex say
about it, each in its wire format at one address."""

import re
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, unquote

import httpx
from mcp.client import Client

from deepcritical_mcp.config import Settings
from deepcritical_mcp.net.client import ApiClient, JsonApi, RetryPolicy
from deepcritical_mcp.server import create_server
from deepcritical_mcp.sources.openalex import OpenAlex, explain
from deepcritical_mcp.sources.opencitations import OpenCitations
from deepcritical_mcp.sources.pubmed.links import PubMedLinks
from tests.net.stand_in import Answer, Asked, StandIn, as_json, stand_in
from tests.sources.citing_wire import icite, icite_paper
from tests.sources.contract import PATIENT
from tests.sources.crossref.crossref_wire import listed, work
from tests.sources.full_text_wire import converted, hit, results, unknown_row
from tests.sources.ncbi import QUICK_TO_ASK, article, efetch, esearch, eutilities

SERVICES = ("ncbi", "europepmc", "icite", "crossref", "opencitations", "openalex")
HTML_404 = Answer(404, b"<!doctype html><title>404 Not Found</title><p>The requested URL was not found on the server.")


EUROPE_PMC_REFERENCES = as_json(
    {"version": "6.9", "hitCount": 3, "request": {}, "referenceList": {"reference": [
        {"id": "12", "source": "MED", "title": "Zinc", "citedOrder": 1, "match": "Y"},
        {"title": "A book", "citedOrder": 2, "match": "N", "doi": "10.5555/BOOK"}, {"title": "A report", "match": "N"},
    ]}}
)  # fmt: skip
OPENCITATIONS_REFERENCES = as_json(
    [
        {"oci": "1-2", "citing": "omid:br/1 doi:10.5555/p11", "cited": cited, "creation": "2020", "timespan": "P1Y"}
        for cited in ("omid:br/2 doi:10.5555/P12 openalex:W12 pmid:12", "arxiv:2601.17238 omid:br/3", "omid:br/4")
    ]
)
_W12 = "https://openalex.org/W12"
OPENALEX_WORK = as_json({"id": "https://openalex.org/W11", "referenced_works": [_W12, "https://openalex.org/W13"]})
OPENALEX_WORKS = as_json(
    {"meta": {"count": 1}, "results": [
        {"id": _W12, "ids": {
            "openalex": _W12, "doi": "https://doi.org/10.5555/P12", "mag": "12",
            "pmid": "https://pubmed.ncbi.nlm.nih.gov/12", "pmcid": "https://www.ncbi.nlm.nih.gov/pmc/articles/5815332",
        }},
    ]}
)  # fmt: skip


def doi_of(paper: int) -> str:
    return f"10.5555/p{paper}"


@dataclass
class World:
    """Papers are numbers: a PMID, a DOI (`doi_of`) and OpenAlex's number are all made of it; those from 9000 on are not
    in PubMed.

    Attributes:
        references: which papers each one cites.
        knows: by service, the papers whose references it has; all if it is not named.
        faults: by service, what it answers instead.
        unstructured: references that Crossref has besides, as it sends them, by paper.
    """

    references: dict[int, list[int]]
    knows: dict[str, set[int]] = field(default_factory=dict[str, set[int]])
    faults: dict[str, Answer] = field(default_factory=dict[str, Answer])
    unstructured: dict[int, list[dict[str, str]]] = field(default_factory=dict[int, list[dict[str, str]]])
    server: StandIn = field(default_factory=lambda: StandIn("", lambda _: Answer()))
    joint_links: bool = False

    def is_in_pubmed(self, paper: int) -> bool:
        return paper < 9000

    def cited(self, service: str, paper: int) -> list[int]:
        known = self.knows.get(service)
        return self.references.get(paper, []) if known is None or paper in known else []

    def citing(self, service: str, paper: int) -> list[int]:
        return sorted((one for one in self.references if paper in self.cited(service, one)), reverse=True)

    def linked(self, service: str, paper: int, what: str) -> list[int]:
        return self.cited(service, paper) if what.startswith("ref") else self.citing(service, paper)

    def asked(self, service: str) -> list[Asked]:
        return [one for one in self.server.asked if one.path.split("/")[1] == service]

    def answer(self, asked: Asked) -> Answer:
        service, _, place = asked.path.removeprefix("/").partition("/")
        fault = self.faults.get(service) or self.faults.get(f"{service} {place.rpartition('/')[2]}")
        answers: dict[str, Callable[[Asked, str], Answer]] = {
            "ncbi": self._ncbi, "europepmc": self._europe_pmc, "icite": self._icite, "crossref": self._crossref,
            "opencitations": self._opencitations, "openalex": self._openalex,
            "idconv": lambda asked, _: converted(*map(unknown_row, asked.query["ids"].split(","))),
        }  # fmt: skip
        return fault or answers[service](asked, unquote(place))

    def _ncbi(self, asked: Asked, place: str) -> Answer:
        sent = {**parse_qs(asked.body.decode()), **{name: [one] for name, one in asked.query.items()}}
        utility = place.removesuffix(".fcgi").removesuffix(".cgi")
        if utility == "elink":
            ids = [int(one) for one in sent["id"]]
            what = "refs" if sent["linkname"][0].endswith("refs") else "cites"
            sets = [self._link_set([one], sent["linkname"][0], what) for one in ids]
            return as_json({"linksets": [self._link_set(ids, sent["linkname"][0], what)] if self.joint_links else sets})
        if utility == "ecitmatch":
            rows = [row for row in sent["bdata"][0].split("\r") if row]
            return Answer(200, "".join(f"{row}{row.split('|')[3]}\n" for row in rows).encode(), "text/plain")
        if utility == "esearch":
            return esearch(
                [one for one in re.findall(r"10\.5555/p(\d+)", sent["term"][0]) if self.is_in_pubmed(int(one))]
            )
        pmids = [int(one) for one in sent["id"][0].split(",")]
        return efetch(*(article(f"{one}", f"Paper {one}.", doi=doi_of(one)) for one in pmids if self.is_in_pubmed(one)))

    def _link_set(self, ids: Sequence[int], linkname: str, what: str) -> dict[str, object]:
        found = [f"{one}" for id in ids for one in self.linked("ncbi", id, what) if self.is_in_pubmed(one)]
        lists = [{"dbto": "pubmed", "linkname": linkname, "links": found}] if found else []
        return {"dbfrom": "pubmed", "ids": [f"{one}" for one in ids], "linksetdbs": lists}

    def _europe_pmc(self, asked: Asked, place: str) -> Answer:
        sent = {**asked.query, **asked.form}
        if place.startswith("search"):
            found = [int(one) for one in re.findall(r"10\.5555/p(\d+)", sent["query"])]
            rows = (
                hit(id=f"{one}", pmid=f"{one}", pmcid="", doi=doi_of(one)) for one in found if self.is_in_pubmed(one)
            )
            return results(*rows)
        _, paper, what = place.split("/")
        found = self.linked("europepmc", int(paper), what)
        rows = [{"id": f"{one}", "source": "MED"} if self.is_in_pubmed(one) else {"title": "A book"} for one in found]
        one = what.removesuffix("s")
        return as_json({"version": "6.9", "hitCount": len(rows), "request": {}, f"{one}List": {one: rows}})

    def _icite(self, asked: Asked, _: str) -> Answer:
        pmids = [int(one) for one in asked.query["pmids"].split(",")]
        lists = {
            one: [self.linked("icite", one, what) for what in ("ref", "cit")] for one in pmids if self.is_in_pubmed(one)
        }
        rows = (
            (one, [p for p in refs if self.is_in_pubmed(p)], [p for p in cites if self.is_in_pubmed(p)])
            for one, (refs, cites) in lists.items()
        )
        return icite(*(icite_paper(one, len(cites), references=refs, cited_by=cites) for one, refs, cites in rows))

    def _crossref(self, asked: Asked, _: str) -> Answer:
        papers = [int(one) for one in re.findall(r"10\.5555/p(\d+)", unquote(asked.query.get("filter", "")))]
        given = (
            (one, [{"key": f"k{p}", "DOI": doi_of(p).upper()} for p in self.cited("crossref", one)]) for one in papers
        )
        more = ((one, [*refs, *self.unstructured.get(one, [])]) for one, refs in given)
        return listed(*(work(doi_of(one), title=[f"Paper {one}"], reference=refs) for one, refs in more if one != 9500))

    def _opencitations(self, asked: Asked, place: str) -> Answer:
        what, _, id = place.partition("/")
        own, one = int(re.findall(r"\d+", id)[-1]), "citing" if what == "citations" else "cited"
        rows = [{"oci": f"{own}-{p}", one: _names(self, p)} for p in self.linked("opencitations", own, what)]
        return as_json(rows)

    def _openalex(self, asked: Asked, place: str) -> Answer:
        if "filter" in asked.query:
            found = [int(one) for one in re.findall(r"W(\d+)", asked.query["filter"])]
            ids = [{"openalex": f"https://openalex.org/W{p}", "doi": f"https://doi.org/{doi_of(p)}"} for p in found]
            return as_json(
                {"meta": {"count": len(found)}, "results": [{"id": one["openalex"], "ids": one} for one in ids]}
            )
        own = int(re.findall(r"\d+", place)[-1])
        if own not in self.knows.get("openalex", {own}):
            return HTML_404
        works = [f"https://openalex.org/W{p}" for p in self.cited("openalex", own)]
        return as_json({"id": f"https://openalex.org/W{own}", "referenced_works": works})


def _names(world: World, paper: int) -> str:
    pmid = f" pmid:{paper}" if world.is_in_pubmed(paper) else ""
    return f"omid:br/06{paper} doi:{doi_of(paper)} openalex:W{paper}{pmid}"


@asynccontextmanager
async def connected(world: World, folder: Path, **settings: object) -> AsyncGenerator[Client]:
    """A client of a server whose services all stand in this world."""
    async with stand_in() as server:
        world.server, server.answer = server, world.answer
        addresses = {f"{name}_base_url": f"{server.url}/{name}" for name in SERVICES}
        addresses["idconv_base_url"] = f"{server.url}/idconv"
        app = create_server(Settings(**(addresses | QUICK_TO_ASK | {"cache_dir": folder, "deadline": 20} | settings)))
        async with Client(app) as client:
            yield client
        await app.app.aclose()


def make_pubmed_links(url: str, http: httpx.AsyncClient, retry: RetryPolicy = PATIENT) -> PubMedLinks:
    return PubMedLinks(eutilities(url, http, retry))


def make_opencitations(url: str, http: httpx.AsyncClient, retry: RetryPolicy = PATIENT) -> OpenCitations:
    client = ApiClient(http, provider="opencitations", title="OpenCitations", retry=retry, keyless=True)
    return OpenCitations(JsonApi(client, url))


def make_openalex(url: str, http: httpx.AsyncClient, retry: RetryPolicy = PATIENT) -> OpenAlex:
    client = ApiClient(http, provider="openalex", title="OpenAlex", retry=retry, explain=explain, keyless=True)
    return OpenAlex(JsonApi(client, url))
