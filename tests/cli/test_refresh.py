"""`deepcritical-mcp refresh`, as cron calls it, against providers on loopback."""

import json
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from deepcritical_mcp.models import LoggedQuery, LoggedSearch
from tests.cli.conftest import Command, settings_for
from tests.cli.providers import providers_on_loopback
from tests.fakes import sessions_in
from tests.publications import published
from tests.sources.ncbi import article, notice

NOBODY = "http://127.0.0.1:9"
FINE = {"11": article("11", "Zinc in the repair of surgical wounds.")}
GONE = {
    "11": article(
        "11",
        "Zinc in the repair of surgical wounds.",
        types=("Journal Article", "Retracted Publication"),
        citation=notice("RetractionIn", "J Made-up Res. 2022;10(1):1", "14"),
    )
}
KEPT = published(
    "Zinc closed wounds.",
    provider="pubmed",
    source="pubmed",
    title="Zinc in the repair of surgical wounds.",
    pmid="11",
    status_checked="2020-01-01",
)
SEARCH = LoggedSearch(
    at="2020-01-01T00:00:00Z",
    tool="pubmed_search",
    source="pubmed",
    title="PubMed",
    queries=(LoggedQuery(query="zinc", results=1),),
    total=1,
    examined=1,
    ids=("pubmed:11",),
    new=1,
    request='{"query":"zinc"}',
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


async def _keep(data: Path, title: str) -> str:
    async with sessions_in(data) as sessions:
        session = await sessions.open(title=title)
        await session.add_evidence([KEPT])
        await session.log_search(SEARCH)
        return session.session_id


@pytest.fixture
def session_id(data: Path) -> str:
    """A session about zinc, in which one record was found years ago."""
    return anyio.run(_keep, data, "Zinc and wounds")


@pytest.fixture(scope="module")
def library() -> Iterator[str]:
    with providers_on_loopback(FINE) as address:
        yield address


@pytest.fixture
def settings(library: str, data: Path) -> dict[str, str]:
    return settings_for(library, data.parent / "cache") | {"DEEPCRITICAL_DATA_DIR": str(data)}


@pytest.fixture(scope="module")
def retracting() -> Iterator[str]:
    with providers_on_loopback(GONE) as address:
        yield address


def test_nothing_new_is_one_line_and_exit_code_0(command: Command, settings: dict[str, str], session_id: str):
    done = command("refresh", **settings)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == (
        f"Zinc and wounds ({session_id}): Nothing new: 1 search repeated, the status of 1 record asked for.\n"
    )


def test_a_retraction_is_a_line_of_its_own_and_exit_code_1(
    command: Command, retracting: str, data: Path, session_id: str
):
    settings = settings_for(retracting, data.parent / "cache") | {"DEEPCRITICAL_DATA_DIR": str(data)}
    done = command("refresh", "zinc", "--json", **settings)
    assert done.returncode == 1, done.stdout + done.stderr
    (told,) = [json.loads(line) for line in done.stdout.splitlines()]
    assert (told["session_id"], told["title"]) == (session_id, "Zinc and wounds")
    assert [(one["kind"], one["id"]) for one in told["items"]] == [("retracted", "pubmed:11")]
    assert command("refresh", session_id, **settings).returncode == 0


def test_a_service_that_is_down_is_exit_code_3(command: Command, settings: dict[str, str], session_id: str):
    done = command("refresh", **{**settings, "DEEPCRITICAL_NCBI_BASE_URL": f"{NOBODY}/entrez/eutils"})
    assert done.returncode == 3, done.stdout + done.stderr
    assert "could not be searched again" in done.stderr
    assert session_id in done.stdout


def test_an_unknown_session_is_exit_code_2_and_the_others_are_refreshed(
    command: Command, settings: dict[str, str], session_id: str
):
    done = command("refresh", "copper", session_id, **settings)
    assert done.returncode == 2
    assert "copper" in done.stderr
    assert "Nothing new" in done.stdout
