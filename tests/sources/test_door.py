"""The one door: a source gets everything by its row in SOURCES, without a change to any other file."""

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
from mcp.client import Client

from deepcritical_mcp import sources
from deepcritical_mcp.cli import doctor_checks
from deepcritical_mcp.config import OwnSettings, Settings, every_setting, load_settings, unknown_variables
from deepcritical_mcp.context import AppContext, build_services
from deepcritical_mcp.errors import ConfigurationError
from deepcritical_mcp.server import DeepCriticalServer
from deepcritical_mcp.sources import SourceRow
from tests.scripts import script
from tests.search.fake_session import FakeSession
from tests.sources.toy import ToyRequest, ToySettings
from tests.wire import both

ROW = SourceRow("tests.sources.toy:ToyBox", "tests.sources.toy:ToySettings")
SECRET = "toy-key-0123456789"


@pytest.fixture
def toys_among_the_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "SOURCES", (ROW,))
    monkeypatch.setattr(sources, "FULL_TEXTS", ())
    monkeypatch.setattr(sources, "LOOKUPS", ())


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[DeepCriticalServer]:
    build = partial(build_services, sources=(ROW,), lookups=())
    app = AppContext(Settings(cache_dir=tmp_path, toy_api_key=SECRET), build=build)
    yield DeepCriticalServer(app)
    await app.aclose()


async def test_it_is_searched_fetched_kept_shown_and_exported(server: DeepCriticalServer):
    services = await server.app.services()
    async with Client(server) as client:
        _, first = await both(client, "list_evidence")
        store = await services.sessions.get(first["session_id"])
        request = ToyRequest(query="ball", variants=("duck", "kite"), colour="red")
        found = await services.searches["toys"].search(request, store)
        assert [(item.id, item.found_by) for item in found.evidence] == [
            ("doi:10.5555/ball", (1,)),
            ("doi:10.5555/duck", (2,)),
        ]
        assert all(item.relevance > 0 for item in found.evidence)
        assert [(report.name, report.status) for report in found.providers] == [("toys", "ok")]
        everywhere = await services.everywhere.search("kite", 5, FakeSession())
        assert [item.citation.title for item in everywhere.evidence] == ["A blue kite that climbs in winds"]
        shown, _ = await both(client, "get_evidence", ids=["doi:10.5555/duck"])
        assert "A red duck that floats in most bathtubs" in shown
        again, _ = await both(client, "semantic_search", query="what swims in a bath?")
        assert "duck" in again
        for form in ("bibtex", "ris", "csl-json"):
            _, exported = await both(client, "export_evidence", format=form)
            assert exported["count"] == 2
            assert "A red ball that rolls down hills" in exported["text"]
            assert "10.5555/duck" in exported["text"]
        _, exported = await both(client, "export_evidence", format="search-log")
        assert "Identified: Toy box (database)" in exported["text"]


@pytest.mark.usefixtures("toys_among_the_sources")
async def test_doctor_checks_it():
    (locked,) = await doctor_checks.sources(Settings())
    (open_,) = await doctor_checks.sources(Settings(toy_api_key=SECRET))
    assert (locked.part, locked.state, locked.area) == ("Toy box", "off", "literature")
    assert (open_.state, open_.finding) == ("ok", "opens")


@pytest.mark.usefixtures("toys_among_the_sources")
def test_its_settings_are_read_checked_listed_and_kept_secret(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DEEPCRITICAL_TOY_API_KEY", SECRET)
    assert load_settings().of(ToySettings).toy_api_key.get_secret_value() == SECRET
    assert SECRET in load_settings().secrets
    assert "DEEPCRITICAL_TOY_API_KEY" in {setting.variable for setting in every_setting()}
    table = script("reference").settings_table()
    assert "| `DEEPCRITICAL_TOY_API_KEY` | secret |  | unlocks the toy box |" in table
    monkeypatch.setenv("DEEPCRITICAL_TOY_API_KEI", "x")
    assert unknown_variables()["DEEPCRITICAL_TOY_API_KEI"] == "DEEPCRITICAL_TOY_API_KEY"
    monkeypatch.setenv("DEEPCRITICAL_TOY_API_KEY", "two words")
    with pytest.raises(ConfigurationError, match="DEEPCRITICAL_TOY_API_KEY: is not a key"):
        load_settings()


class HastySettings(OwnSettings):
    """Has a setting that the core has."""

    deadline: float = 5


def test_a_setting_named_like_one_of_the_core_is_refused_at_start(monkeypatch: pytest.MonkeyPatch):
    row = SourceRow("tests.sources.toy:ToyBox", "tests.sources.test_door:HastySettings")
    monkeypatch.setattr(sources, "SOURCES", (row,))
    with pytest.raises(
        ConfigurationError, match="HastySettings and Settings both declare the setting deadline: rename one"
    ):
        load_settings()
