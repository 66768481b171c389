"""Recorded answers of Crossref: all of their works are read, and every field is that of the answer."""

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest

from deepcritical_mcp.errors import ProviderRequestError
from deepcritical_mcp.identifiers import RecordIds, normalize_doi
from deepcritical_mcp.models import NO_ABSTRACT, NO_TITLE
from deepcritical_mcp.sources.crossref.service import read_work
from deepcritical_mcp.text import clean_line
from tests.net.stand_in import Answer, stand_in
from tests.sources.crossref.crossref_wire import make_crossref

FOLDER = Path(os.environ.get("DEEPCRITICAL_SOURCES_DIR", "")) / "crossref"
pytestmark = pytest.mark.skipif("DEEPCRITICAL_SOURCES_DIR" not in os.environ, reason="needs recorded answers")


@cache
def answers() -> dict[str, Any]:
    return {path.name: json.loads(path.read_text("utf-8")) for path in sorted(FOLDER.glob("*.json"))}


def works() -> list[dict[str, Any]]:
    """The whole works of all answers; with `select`, only some fields of a work were sent."""
    found: list[dict[str, Any]] = []
    for answer in answers().values():
        message: dict[str, Any] = answer.get("message", answer) if answer.get("status") != "failed" else {}
        found += [message, *message.get("items", [])]
    return [one for one in found if "DOI" in one and "type" in one]


def test_every_field_of_a_record_is_that_of_the_work():
    assert len(works()) > 100
    for work in works():
        record = read_work(work)
        assert record.doi == normalize_doi(work["DOI"])
        title = clean_line((work.get("title") or [""])[0])
        if "<" not in title and "&" not in title:
            assert record.title.startswith(title[:400]) or (not title and record.title == NO_TITLE)
        assert len(record.authors) == len(work.get("author", []))
        assert record.volume == work.get("volume", "")
        assert record.issue == work.get("issue", "")
        assert record.pages == (work.get("page") or work.get("article-number") or "")
        assert (record.text.content != NO_ABSTRACT) == bool(work.get("abstract"))
        assert "<" not in record.title
        assert "jats:" not in record.text.content
        known = [part for part in work["issued"]["date-parts"][0] if part] if "issued" in work else []
        assert not known or record.date != "Unknown"
        assert bool(record.status_notices) == bool(work.get("updated-by") or work.get("update-to") or related(work))


def related(work: dict[str, Any]) -> bool:
    relation: dict[str, Any] = work.get("relation") or {}
    return any(relation.get(name) for name in ("is-preprint-of", "has-preprint"))


async def test_every_recorded_list_and_work_is_an_answer(http: httpx.AsyncClient):
    for name, payload in answers().items():
        message: dict[str, Any] = payload["message"] if isinstance(payload.get("message"), dict) else {}
        items: list[dict[str, Any]] = message.get("items", [])
        async with stand_in(Answer(200, json.dumps(payload).encode())) as server:
            crossref = make_crossref(server.url, http)
            if "items" in message:
                assert len(await crossref.match("zinc")) == len([one for one in items if "DOI" in one]), name
            elif "DOI" in message:
                assert (await crossref.records([RecordIds(doi="10.5555/a,b")]))[0], name


async def test_every_recorded_refusal_is_named(http: httpx.AsyncClient):
    refusals = {name: one for name, one in answers().items() if one.get("status") == "failed"}
    assert refusals
    for name, payload in refusals.items():
        async with stand_in(Answer(400, json.dumps(payload).encode())) as server:
            with pytest.raises(ProviderRequestError) as caught:
                await make_crossref(server.url, http).match("zinc")
        assert payload["message"][0]["message"][:40] in caught.value.message, name
