"""NCBI's E-utilities as a stand-in plays them, in their wire format; the records are made up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

import httpx
from pydantic import SecretStr

from deepcritical_mcp.net.client import ApiClient, RetryPolicy
from deepcritical_mcp.sources.base import Completer
from deepcritical_mcp.sources.pubmed.eutils import EUtilities, explain_refusal
from deepcritical_mcp.sources.pubmed.source import PubMed
from tests.net.stand_in import Answer, Asked, StandIn, as_json, stand_in
from tests.sources.contract import PATIENT

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

XML = "text/xml; charset=UTF-8"
KEY = "0123456789abcdef0123456789abcdef0123"
QUICK_TO_ASK = {"ncbi_api_key": KEY, "ncbi_email": "ada@example.org"}
"""Settings with which a server waits less between its requests."""


def as_xml(text: str, status: int = 200) -> Answer:
    return Answer(status, f'<?xml version="1.0" encoding="UTF-8" ?>\n{text}'.encode(), XML)


def esearch(ids: Sequence[str] = (), *, count: int | None = None, **more: object) -> Answer:
    found = {
        "count": str(len(ids) if count is None else count),
        "retmax": str(len(ids)),
        "retstart": "0",
        "idlist": list(ids),
        "translationset": [],
        "querytranslation": "",
    }
    return as_json({"header": {"type": "esearch", "version": "0.3"}, "esearchresult": found | more})


def efetch(*records: str) -> Answer:
    return as_xml(
        '<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle, 1st January 2025//EN" '
        '"https://dtd.nlm.nih.gov/ncbi/pubmed/out/pubmed_250101.dtd">\n'
        f"<PubmedArticleSet>{''.join(records)}</PubmedArticleSet>"
    )


def elink(links: Sequence[object], linkname: str) -> Answer:
    sets = [{"dbto": "pubmed", "linkname": linkname, "links": list(links)}] if links else []
    return as_json({"header": {"type": "elink"}, "linksets": [{"dbfrom": "pubmed", "ids": ["1"], "linksetdbs": sets}]})


def espell(query: str, corrected: str) -> Answer:
    return as_xml(
        f"<eSpellResult><Database>pubmed</Database><Query>{escape(query)}</Query>"
        f"<CorrectedQuery>{escape(corrected)}</CorrectedQuery><SpelledQuery/><ERROR/></eSpellResult>"
    )


def article(
    pmid: str,
    title: str = "Zinc in wound repair.",
    abstract: str = "<AbstractText>Zinc speeds up repair.</AbstractText>",
    *,
    authors: str = '<Author ValidYN="Y"><LastName>Ruiz</LastName><ForeName>Ana</ForeName></Author>',
    date: str = "<Year>2021</Year><Month>Mar</Month><Day>4</Day>",
    doi: str = "",
    types: Sequence[str] = ("Journal Article",),
    citation: str = "",
    entry: str = "",
    ids: str = "",
    data: str = "",
) -> str:
    """A <PubmedArticle>; `title`, `abstract` and what is inserted at the end of a part are XML."""
    kinds = "".join(f"<PublicationType>{escape(kind)}</PublicationType>" for kind in types)
    own_doi = f'<ArticleId IdType="doi">{escape(doi)}</ArticleId>' if doi else ""
    return (
        f'<PubmedArticle><MedlineCitation Status="MEDLINE" Owner="NLM"><PMID Version="1">{pmid}</PMID><Article>'
        f"<Journal><JournalIssue><Volume>9</Volume><Issue>2</Issue><PubDate>{date}</PubDate></JournalIssue>"
        "<Title>Journal of made-up results</Title><ISOAbbreviation>J Made-up Res</ISOAbbreviation></Journal>"
        f"<ArticleTitle>{title}</ArticleTitle><Pagination><MedlinePgn>11-9</MedlinePgn></Pagination>"
        f"{f'<Abstract>{abstract}</Abstract>' if abstract else ''}"
        f"{f'<AuthorList>{authors}</AuthorList>' if authors else ''}"
        f"<PublicationTypeList>{kinds}</PublicationTypeList>{entry}</Article>{citation}</MedlineCitation>"
        f'<PubmedData><ArticleIdList><ArticleId IdType="pubmed">{pmid}</ArticleId>{own_doi}{ids}</ArticleIdList>'
        f"{data}</PubmedData></PubmedArticle>"
    )


def notice(kind: str, reference: str, pmid: str = "") -> str:
    by = f'<PMID Version="1">{pmid}</PMID>' if pmid else ""
    return (
        f'<CommentsCorrectionsList><CommentsCorrections RefType="{kind}"><RefSource>{reference}</RefSource>{by}'
        "</CommentsCorrections></CommentsCorrectionsList>"
    )


@dataclass
class Ncbi:
    """What the stand-in knows, and what goes wrong.

    Attributes:
        records: XML by PMID.
        hits: PMIDs by term; a term that is not named finds all records.
        links: PMIDs by linkname.
        corrected: what espell answers.
        first: by utility, answers given before anything else, one after the other.
        always: by utility, the answer given to every request.
        said: by term, more fields of esearch's result.
    """

    records: dict[str, str] = field(default_factory=dict[str, str])
    hits: dict[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    links: dict[str, Sequence[object]] = field(default_factory=dict[str, Sequence[object]])
    corrected: str = ""
    first: dict[str, list[Answer]] = field(default_factory=dict[str, list[Answer]])
    always: dict[str, Answer] = field(default_factory=dict[str, Answer])
    said: dict[str, Mapping[str, object]] = field(default_factory=dict[str, Mapping[str, object]])
    url: str = ""
    server: StandIn = field(default_factory=lambda: StandIn("", lambda _: Answer()))

    @property
    def asked(self) -> list[tuple[str, Mapping[str, str]]]:
        """The requests so far: the utility and its parameters."""
        return [(_utility(one), parameters(one)) for one in self.server.asked]

    @property
    def utilities(self) -> list[str]:
        """The utilities asked so far."""
        return [utility for utility, _ in self.asked]

    def answer(self, asked: Asked) -> Answer:
        """The answer to one request."""
        utility, params = _utility(asked), parameters(asked)
        if self.first.get(utility):
            return self.first[utility].pop(0)
        if utility in self.always:
            return self.always[utility]
        match utility:
            case "esearch":
                found = list(self.hits.get(params["term"], list(self.records)))
                start, size = int(params["retstart"]), int(params["retmax"])
                page = found[start : start + size]
                return esearch(page, count=len(found), **self.said.get(params["term"], {}))
            case "efetch":
                return efetch(*(self.records[pmid] for pmid in params["id"].split(",") if pmid in self.records))
            case "elink":
                return elink(self.links.get(params["linkname"], ()), params["linkname"])
            case "espell":
                return espell(params["term"], self.corrected)
            case _:
                return Answer(404)


def parameters(asked: Asked) -> Mapping[str, str]:
    """A request's parameters, wherever they came."""
    return {**asked.query, **(asked.form if asked.method == "POST" else {})}


def _utility(asked: Asked) -> str:
    return asked.path.rpartition("/")[2].removesuffix(".fcgi")


@asynccontextmanager
async def ncbi(records: Mapping[str, str] | None = None) -> AsyncGenerator[Ncbi]:
    """NCBI on loopback with these records."""
    async with stand_in() as server:
        played = Ncbi(records=dict(records or {}), url=f"{server.url}/entrez/eutils", server=server)
        server.answer = played.answer
        yield played


def eutilities(
    url: str, http: httpx.AsyncClient, retry: RetryPolicy = PATIENT, *, key: str = "", email: str = ""
) -> EUtilities:
    """E-utilities that are not spaced and try again at once."""
    client = ApiClient(http, provider="pubmed", title="PubMed", retry=retry, explain=explain_refusal)
    return EUtilities(client, base_url=url, email=email, api_key=SecretStr(key))


def pubmed(
    url: str,
    http: httpx.AsyncClient,
    retry: RetryPolicy = PATIENT,
    *,
    key: str = "",
    completer: Completer | None = None,
) -> PubMed:
    """PubMed that is not spaced and tries again at once."""
    return PubMed(eutilities(url, http, retry, key=key), completer=completer)
