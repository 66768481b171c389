"""The library's answers in the wire formats of E-utilities (database `pubmed`, and `mesh` for descriptors)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

from deepcritical_mcp.cli.sample_library import matching
from deepcritical_mcp.cli.sample_library.records import (
    ARTICLES,
    DESCRIPTORS,
    FIRST_PMID,
    JOURNAL,
    MARK,
    Article,
    Descriptor,
    doi_of,
    pmid_of,
)

JSON = "application/json; charset=UTF-8"
XML = "text/xml; charset=UTF-8"
_HEAD = '<?xml version="1.0" encoding="UTF-8" ?>\n'
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
Answer = tuple[str, str]


def answer(utility: str, params: Mapping[str, str]) -> Answer | None:
    """Content type and body of a request to `utility` ("esearch", ...); None for a utility that is not served."""
    known = {"esearch": _esearch, "efetch": _efetch, "espell": _espell, "elink": _elink, "esummary": _esummary}
    if utility == "einfo":
        return JSON, json.dumps({"header": {"type": "einfo", "version": "0.3"}, "einforesult": {"dbinfo": []}})
    return known[utility](params) if utility in known else None


def _esearch(params: Mapping[str, str]) -> Answer:
    term = params.get("term", "")
    if params.get("db") == "mesh":
        ids = [_uid(one) for one in matching.find_descriptors(re.sub(r"\[[^\]]*\]", " ", term))]
        return _found(ids, params, translations=(), translation=term)
    articles = [one for one in matching.find_articles(term) if _is_within(one, params)]
    if params.get("sort") in ("pub_date", "date"):
        articles.sort(key=lambda one: one.date, reverse=True)
    translations = _translations(term)
    return _found([pmid_of(one) for one in articles], params, translations, _translated(term, translations))


def _found(
    ids: Sequence[str], params: Mapping[str, str], translations: Sequence[tuple[str, str]], translation: str
) -> Answer:
    start, most = _number(params, "retstart", 0), _number(params, "retmax", 20)
    page = ids[start : start + most]
    result: dict[str, object] = {
        "count": str(len(ids)),
        "retmax": str(len(page)),
        "retstart": str(start),
        "idlist": page,
        "translationset": [{"from": said, "to": meant} for said, meant in translations],
        "querytranslation": translation,
    }
    if not ids:
        nothing = {"phrasesignored": [], "quotedphrasesnotfound": [], "outputmessages": ["No items found."]}
        result["warninglist"] = nothing
    return JSON, json.dumps({"header": {"type": "esearch", "version": "0.3"}, "esearchresult": result})


def _translations(term: str) -> list[tuple[str, str]]:
    """What Automatic Term Mapping would make of the descriptors that an untagged query names."""
    if "[" in term:
        return []
    return [
        (name, f'"{one.name.lower()}"[MeSH Terms] OR "{name}"[All Fields]')
        for one in matching.find_descriptors(term)
        for name in [next((name for name in matching.names_of(one) if name.lower() in term.lower()), one.name).lower()]
    ]


def _translated(term: str, translations: Sequence[tuple[str, str]]) -> str:
    rest, parts = term.lower(), list[str]()
    for said, meant in translations:
        rest = rest.replace(said, " ")
        parts.append(f"({meant})")
    if not parts:
        return term
    words = [word for word in re.findall(r"\w[\w'-]*", rest) if len(word) > 3]
    return " AND ".join([*parts, *(f'"{word}"[All Fields]' for word in words)])


def _is_within(article: Article, params: Mapping[str, str]) -> bool:
    first, last = params.get("mindate", "")[:4], params.get("maxdate", "")[:4]
    year = int(article.date[:4])
    return (not first.isdigit() or int(first) <= year) and (not last.isdigit() or year <= int(last))


def _efetch(params: Mapping[str, str]) -> Answer:
    records = "".join(_record(one) for one in _articles(params))
    return XML, f"{_HEAD}<PubmedArticleSet>{records}</PubmedArticleSet>"


def _record(article: Article) -> str:
    pmid, doi = pmid_of(article), doi_of(article)
    types = "".join(f"<PublicationType>{escape(one)}</PublicationType>" for one in article.types)
    mesh = "".join(_heading(name) for name in article.mesh)
    return (
        f'<PubmedArticle><MedlineCitation Status="MEDLINE" Owner="NLM"><PMID Version="1">{pmid}</PMID>'
        f'<Article PubModel="Print"><Journal><JournalIssue CitedMedium="Internet"><PubDate>{_date(article.date)}'
        f"</PubDate></JournalIssue><Title>{JOURNAL}</Title><ISOAbbreviation>{JOURNAL}</ISOAbbreviation></Journal>"
        f"<ArticleTitle>{escape(article.title)} {MARK}</ArticleTitle>"
        f'<ELocationID EIdType="doi" ValidYN="Y">{doi}</ELocationID>{_abstract(article)}'
        f'<AuthorList CompleteYN="Y">{_authors(article)}</AuthorList><Language>eng</Language>'
        f"<PublicationTypeList>{types}</PublicationTypeList></Article>{_notice(article)}"
        f"<MeshHeadingList>{mesh}</MeshHeadingList></MedlineCitation>"
        f'<PubmedData><PublicationStatus>ppublish</PublicationStatus><ArticleIdList><ArticleId IdType="pubmed">{pmid}'
        f'</ArticleId><ArticleId IdType="doi">{doi}</ArticleId></ArticleIdList></PubmedData></PubmedArticle>'
    )


def _abstract(article: Article) -> str:
    if not article.abstract:
        return ""
    sections = "".join(
        f'<AbstractText Label="{label}">{escape(text)}</AbstractText>'
        if label
        else f"<AbstractText>{escape(text)}</AbstractText>"
        for label, text in article.abstract
    )
    return f"<Abstract>{sections}<AbstractText>(Made-up text.)</AbstractText></Abstract>"


def _authors(article: Article) -> str:
    people = "".join(
        f'<Author ValidYN="Y"><LastName>{escape(last)}</LastName><ForeName>{escape(first)}</ForeName></Author>'
        for last, _, first in (name.partition(", ") for name in article.authors)
    )
    group = f'<Author ValidYN="Y"><CollectiveName>{escape(article.group)}</CollectiveName></Author>'
    return people + (group if article.group else "")


def _notice(article: Article) -> str:
    if not article.notice:
        return ""
    number = int(pmid_of(article)) + 900
    return (
        f'<CommentsCorrectionsList><CommentsCorrections RefType="{article.notice}"><RefSource>{JOURNAL}</RefSource>'
        f'<PMID Version="1">{number}</PMID></CommentsCorrections></CommentsCorrectionsList>'
    )


def _heading(name: str) -> str:
    ui = next((f' UI="{one.ui}"' for one in DESCRIPTORS if one.name == name), "")
    return f'<MeshHeading><DescriptorName{ui} MajorTopicYN="N">{escape(name)}</DescriptorName></MeshHeading>'


def _date(date: str) -> str:
    year, *rest = date.split("-")
    month = f"<Month>{_MONTHS[int(rest[0]) - 1]}</Month>" if rest else ""
    day = f"<Day>{rest[1]}</Day>" if len(rest) > 1 else ""
    return f"<Year>{year}</Year>{month}{day}"


def _espell(params: Mapping[str, str]) -> Answer:
    term = params.get("term", "")
    body = (
        f"<Database>{escape(params.get('db', 'pubmed'))}</Database><Query>{escape(term)}</Query>"
        f"<CorrectedQuery>{escape(matching.corrected(term))}</CorrectedQuery><SpelledQuery/><ERROR/>"
    )
    return XML, f"{_HEAD}<eSpellResult>{body}</eSpellResult>"


def _elink(params: Mapping[str, str]) -> Answer:
    articles = _articles(params)
    linkname = params.get("linkname", "pubmed_pubmed")
    links = [pmid_of(one) for one in matching.similar_articles(articles[0])[:5]] if articles else []
    linked = [{"dbto": "pubmed", "linkname": linkname, "links": links}] if links else []
    sets = [{"dbfrom": "pubmed", "ids": [pmid_of(one) for one in articles], "linksetdbs": linked}]
    return JSON, json.dumps({"header": {"type": "elink", "version": "0.3"}, "linksets": sets})


def _esummary(params: Mapping[str, str]) -> Answer:
    wanted = params.get("id", "").split(",")
    result: dict[str, object] = {"uids": [_uid(one) for one in DESCRIPTORS if _uid(one) in wanted]}
    if params.get("db") == "mesh":
        result |= {_uid(one): _descriptor(one) for one in DESCRIPTORS if _uid(one) in wanted}
    return JSON, json.dumps({"header": {"type": "esummary", "version": "0.3"}, "result": result})


def _descriptor(one: Descriptor) -> dict[str, object]:
    return {
        "uid": _uid(one),
        "ds_recordtype": "descriptor",
        "ds_meshui": one.ui,
        "ds_meshterms": [one.name, *one.synonyms],
        "ds_scopenote": "",
        "ds_idxlinks": [],
    }


def _uid(one: Descriptor) -> str:
    return f"68{one.ui.removeprefix('D'):0>6}"


def _articles(params: Mapping[str, str]) -> list[Article]:
    places = [int(one) - FIRST_PMID for one in params.get("id", "").split(",") if one.strip().isdigit()]
    return [ARTICLES[place] for place in places if 0 <= place < len(ARTICLES)]


def _number(params: Mapping[str, str], name: str, default: int) -> int:
    value = params.get(name, "")
    return int(value) if value.isdigit() else default
