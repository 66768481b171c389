"""Answers of Crossref, written for the tests in its wire format."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import httpx

from deepcritical_mcp.net.client import ApiClient, JsonApi, RetryPolicy
from deepcritical_mcp.sources.crossref.service import Crossref, explain_crossref
from tests.net.stand_in import Answer, Asked
from tests.sources.contract import PATIENT

EMAIL = "ada@example.org"
JSON = "application/json;charset=utf-8"
NOT_FOUND = Answer(404, b"Resource not found.", "text/plain")


def work(doi: str = "10.5555/zinc", /, **fields: Any) -> dict[str, object]:
    """An article as Crossref sends it."""
    row: dict[str, object] = {
        "DOI": doi,
        "type": "journal-article",
        "title": ["Zinc in wound repair"],
        "container-title": ["Annals of Zinc"],
        "short-container-title": ["Ann Zinc"],
        "author": [
            {"given": "Ana", "family": "Ruiz", "sequence": "first", "affiliation": []},
            {"name": "ZINC Study Group", "sequence": "additional", "affiliation": []},
        ],
        "volume": "7",
        "issue": "2",
        "page": "11-19",
        "issued": dated(2020, 3),
        "publisher": "Example Press",
        "URL": f"http://dx.doi.org/{doi}",
        "score": 1,
        "relation": {},
    }
    return row | fields


def dated(*parts: int | None) -> dict[str, object]:
    return {"date-parts": [list(parts)]}


def update(doi: str, type: str = "retraction", source: str = "retraction-watch", /, **fields: Any) -> dict[str, object]:
    """An entry of `updated-by` or `update-to`."""
    label = type.replace("_", " ").capitalize()
    told: dict[str, object] = {"DOI": doi, "type": type, "label": label, "source": source, "updated": dated(2021, 5, 4)}
    return told | fields


def listed(*works: Mapping[str, object], total: int | None = None) -> Answer:
    """An answer to a search or a filter."""
    message: dict[str, object] = {
        "facets": {},
        "total-results": len(works) if total is None else total,
        "items": list(works),
    }
    return answered("work-list", {**message, "items-per-page": 20, "query": {}})


def single(one: Mapping[str, object]) -> Answer:
    return answered("work", one)


def agency(doi: str, name: str) -> Answer:
    return answered("work-agency", {"DOI": doi, "agency": {"id": name.lower(), "label": name}})


def answered(type: str, message: Mapping[str, object]) -> Answer:
    payload = {"status": "ok", "message-type": type, "message-version": "1.0.0", "message": message}
    return Answer(200, json.dumps(payload).replace("/", "\\/").encode(), JSON)


def failure(status: int, type: str, *messages: str) -> Answer:
    """A refusal: 400 "validation-failure", 404 "resource-failure", 500 "exception"."""
    rows = [{"type": "cursor-invalid", "value": "x", "message": one} for one in messages]
    return Answer(status, json.dumps({"status": "failed", "message-type": type, "message": rows}).encode(), JSON)


def library(*works: Mapping[str, object], agencies: Mapping[str, str] | None = None) -> Callable[[Asked], Answer]:
    """A Crossref that has these works, and knows with whom some other DOIs are registered."""
    known = {str(one["DOI"]).lower(): one for one in works}

    def play(asked: Asked) -> Answer:
        path = asked.path.replace("%2F", "/").replace("%2C", ",")
        if path.endswith("/agency"):
            doi = path.removeprefix("/works/").removesuffix("/agency")
            return agency(doi, name) if (name := (agencies or {}).get(doi, "")) else NOT_FOUND
        if path.startswith("/works/"):
            one = known.get(path.removeprefix("/works/"))
            return single(one) if one else NOT_FOUND
        if "filter" in asked.query:
            wanted = [part.partition("doi:")[2].lower() for part in asked.query["filter"].split(",")]
            return listed(*(known[doi] for doi in reversed(wanted) if doi in known))
        return listed(*works)

    return play


def make_crossref(url: str, http: httpx.AsyncClient, retry: RetryPolicy = PATIENT, *, email: str = EMAIL) -> Crossref:
    client = ApiClient(http, provider="crossref", title="Crossref", retry=retry, explain=explain_crossref, keyless=True)
    identity = {"mailto": email} if email else {}
    return Crossref(JsonApi(client, url, identity=identity, at_once=3 if email else 1), is_polite=bool(email))
