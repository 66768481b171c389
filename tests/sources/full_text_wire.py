"""Answers of the providers of full texts, written for the tests in each one's wire format."""

from collections.abc import Callable, Mapping

import httpx
from pydantic import SecretStr

from deepcritical_mcp.net.client import ApiClient, JsonApi, RetryPolicy
from deepcritical_mcp.sources.europepmc.client import explain_status
from deepcritical_mcp.sources.europepmc.preprints import Preprints
from deepcritical_mcp.sources.europepmc.services import EuropePMC, EuropePMCRecords
from deepcritical_mcp.sources.pubmed.eutils import EUtilities
from deepcritical_mcp.sources.pubmed.pmc import PMC, IdConverter, explain_conversion, explain_pmc_refusal
from deepcritical_mcp.sources.trials.services import ClinicalTrials, explain_plain_text
from deepcritical_mcp.sources.unpaywall import Unpaywall, explain_unpaywall
from tests.net.stand_in import Answer, Asked, as_json
from tests.sources.contract import PATIENT

XML = "text/xml; charset=UTF-8"
EMAIL = "ada@example.org"
FORBIDDEN = "<!--The publisher of this article does not allow downloading of the full text in XML form.-->"


def jats(
    pmcid: str = "PMC9000001",
    *,
    body: str = "<body><sec><title>Results</title><p>Zinc closed 12 of 20 wounds.</p></sec></body>",
    comment: str = "",
    doi: str = "10.5555/zinc",
) -> str:
    """An <article>; without a body it is what PMC sends where the publisher forbids the text."""
    number = f'<article-id pub-id-type="pmcid">{pmcid}</article-id>' if pmcid else ""
    return (
        f'<article article-type="research-article" xml:lang="en" dtd-version="1.4">{comment}<front><article-meta>'
        f'{number}<article-id pub-id-type="doi">{doi}</article-id>'
        "<title-group><article-title>Zinc in wound repair</article-title></title-group>"
        "<abstract><p>Zinc speeds up repair.</p></abstract></article-meta></front>"
        f"{body}<back><ref-list><ref><mixed-citation>Ruiz A. Copper. 2001.</mixed-citation></ref></ref-list></back>"
        "</article>"
    )


def article_set(*articles: str) -> Answer:
    head = (
        '<?xml version="1.0" ?><!DOCTYPE pmc-articleset PUBLIC "-//NLM//DTD ARTICLE SET 2.0//EN" '
        '"https://dtd.nlm.nih.gov/ncbi/pmc/articleset/nlm-articleset-2.0.dtd">'
    )
    return Answer(200, f"{head}<pmc-articleset>{''.join(articles)}</pmc-articleset>".encode(), XML)


def fulltext(article: str) -> Answer:
    return Answer(200, f'<?xml version="1.0" encoding="UTF-8"?>{article}'.encode(), "application/xml")


def no_text() -> Answer:
    """Europe PMC's answer for a text that is not open, and for an unknown id."""
    return Answer(404, b"", "application/xml")


def hit(**fields: object) -> dict[str, object]:
    """A row of Europe PMC's search, as resultType=core sends it."""
    row: dict[str, object] = {
        "id": "31000001",
        "source": "MED",
        "pmid": "31000001",
        "pmcid": "PMC9000001",
        "doi": "10.5555/ZINC",
        "title": "Zinc in wound <i>repair</i>.",
        "authorList": {
            "author": [
                {"fullName": "Ruiz A", "firstName": "Ana", "lastName": "Ruiz", "initials": "A"},
                {"collectiveName": "ZINC Study Group"},
                {"fullName": "WHO Team"},
            ]
        },
        "journalInfo": {
            "volume": "9",
            "issue": "2",
            "dateOfPublication": "2021 Mar",
            "yearOfPublication": 2021,
            "journal": {"title": "Journal of made-up results", "isoabbreviation": "J Made-up Res", "issn": "1234-5678"},
        },
        "pageInfo": "11-9",
        "pubTypeList": {"pubType": ["Journal Article"]},
        "abstractText": "<h4>Background</h4>Zinc is cheap.<h4>Results</h4>Repair was faster (p&lt;0.05).",
        "isOpenAccess": "Y",
        "inEPMC": "Y",
        "license": "cc by",
        "firstPublicationDate": "2021-02-20",
    }
    return {name: value for name, value in (row | fields).items() if value is not None}


def preprint(**fields: object) -> dict[str, object]:
    own: dict[str, object] = {
        "id": "PPR500001",
        "source": "PPR",
        "pmid": None,
        "pmcid": None,
        "doi": "10.64898/2026.01.02.26300001",
        "journalInfo": None,
        "pageInfo": None,
        "bookOrReportDetails": {"publisher": "medRxiv", "yearOfPublication": 2026},
        "pubTypeList": {"pubType": ["Preprint"]},
        "versionNumber": 2,
        "inEPMC": "N",
        "fullTextIdList": {"fullTextId": ["PPR500001"]},
        "firstPublicationDate": "2026-01-02",
    }
    return hit(**(own | fields))


def results(*rows: Mapping[str, object], **more: object) -> Answer:
    found = {"version": "6.9", "hitCount": len(rows), "request": {}, "resultList": {"result": list(rows)}}
    return as_json(found | more)


def epmc(search: Answer, text: Answer | None = None) -> Callable[[Asked], Answer]:
    """Europe PMC with one answer to every search and one to every full text."""
    return lambda asked: (text or no_text()) if asked.path.endswith("/fullTextXML") else search


def study(**modules: object) -> dict[str, object]:
    """A study of ClinicalTrials.gov; `modules` replace those of the protocol."""
    protocol: dict[str, object] = {
        "identificationModule": {
            "nctId": "NCT09000001", "briefTitle": "Zinc for wounds", "nctIdAliases": ["NCT00000009"],
        },
        "statusModule": {
            "overallStatus": "TERMINATED",
            "whyStopped": "Slow recruitment \\[see protocol\\]",
            "startDateStruct": {"date": "2020-05", "type": "ACTUAL"},
            "studyFirstPostDateStruct": {"date": "2020-04-01", "type": "ACTUAL"},
        },
        "sponsorCollaboratorsModule": {"leadSponsor": {"name": "Zinc Foundation", "class": "OTHER"}},
        "descriptionModule": {
            "briefSummary": "Zinc may help:\n\n* adults with \\>2 wounds\n* children\n\nIt is\ncheap."
        },
        "designModule": {
            "studyType": "INTERVENTIONAL",
            "phases": ["PHASE2", "PHASE3"],
            "enrollmentInfo": {"count": 20, "type": "ACTUAL"},
        },
        "contactsLocationsModule": {
            "centralContacts": [{"name": "Secret Person", "phone": "555-0100", "email": "secret@example.org"}],
            "overallOfficials": [{"name": "Secret Official"}],
            "locations": [
                {
                    "facility": "Wound Clinic", "city": "Oslo", "country": "Norway",
                    "contacts": [{"name": "Secret Nurse"}],
                }
            ],
        },
    }  # fmt: skip
    return {
        "protocolSection": protocol | modules,
        "derivedSection": {"miscInfoModule": {"versionHolder": "2026-10-09"}},
        "hasResults": False,
    }


def located(**fields: object) -> dict[str, object]:
    """Unpaywall's answer for a DOI with two open copies."""
    manuscript = {
        "url": "https://repo.example.org/1", "url_for_pdf": "https://repo.example.org/1.pdf",
        "url_for_landing_page": "https://repo.example.org/1", "license": None, "version": "acceptedVersion",
        "host_type": "repository",
    }  # fmt: skip
    published = {
        "url": "https://journal.example.org/zinc", "url_for_pdf": None,
        "url_for_landing_page": "https://journal.example.org/zinc", "license": "cc-by", "version": "publishedVersion",
        "host_type": "publisher",
    }  # fmt: skip
    answer = {
        "doi": "10.5555/zinc", "is_oa": True, "oa_status": "hybrid", "title": "Zinc in wound repair",
        "best_oa_location": published, "oa_locations": [manuscript, published],
    }  # fmt: skip
    return answer | fields


def converted(*rows: Mapping[str, object]) -> Answer:
    return as_json({"status": "ok", "response-date": "2026-11-20 10:00:00", "request": {}, "records": list(rows)})


def unknown_row(requested: str) -> dict[str, object]:
    return {"requested-id": requested, "status": "error", "errmsg": "Identifier not found in PMC"}


def refused(code: str = "invalid_pmids") -> Answer:
    errors = [{"message": "All values of query param `ids` must be PubMed IDs.", "code": code}]
    return as_json({"status": "error", "http_status": "400", "errors": errors}, 400)


def make_pmc(url: str, http: httpx.AsyncClient, retry: RetryPolicy = PATIENT, *, key: str = "") -> PMC:
    client = ApiClient(http, provider="pmc", title="PMC", retry=retry, explain=explain_pmc_refusal)
    return PMC(EUtilities(client, base_url=url, email=EMAIL, api_key=SecretStr(key)))


def make_europe_pmc(url: str, http: httpx.AsyncClient, retry: RetryPolicy = PATIENT) -> EuropePMC:
    return EuropePMC(europe_pmc_client(url, http, retry))


def make_preprints(url: str, http: httpx.AsyncClient, retry: RetryPolicy = PATIENT) -> Preprints:
    return Preprints(europe_pmc_client(url, http, retry))


def make_records(url: str, http: httpx.AsyncClient, retry: RetryPolicy = PATIENT) -> EuropePMCRecords:
    return EuropePMCRecords(europe_pmc_client(url, http, retry))


def europe_pmc_client(url: str, http: httpx.AsyncClient, retry: RetryPolicy) -> JsonApi:
    client = ApiClient(
        http, provider="europepmc", title="Europe PMC", retry=retry, explain=explain_status, keyless=True
    )
    return JsonApi(client, url)


def make_trials_client(url: str, http: httpx.AsyncClient, retry: RetryPolicy = PATIENT) -> JsonApi:
    client = ApiClient(
        http, provider="trials", title="ClinicalTrials.gov", retry=retry, explain=explain_plain_text, keyless=True
    )
    return JsonApi(client, url)


def make_trials(url: str, http: httpx.AsyncClient, retry: RetryPolicy = PATIENT) -> ClinicalTrials:
    return ClinicalTrials(make_trials_client(url, http, retry))


def make_unpaywall(url: str, http: httpx.AsyncClient, retry: RetryPolicy = PATIENT, *, email: str = EMAIL) -> Unpaywall:
    client = ApiClient(
        http, provider="unpaywall", title="Unpaywall", retry=retry, explain=explain_unpaywall, keyless=True
    )
    return Unpaywall(client, base_url=url, email=email)


def make_converter(url: str, http: httpx.AsyncClient, retry: RetryPolicy = PATIENT) -> IdConverter:
    client = ApiClient(http, provider="idconv", title="NCBI's ID converter", retry=retry, explain=explain_conversion)
    return IdConverter(client, base_url=url, email=EMAIL)
