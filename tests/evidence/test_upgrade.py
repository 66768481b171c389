"""Kept sessions of version 0.1, opened by this one.

`session_0_1.json` holds the rows of a session that version 0.1 wrote: notes glued to their papers, a letter whose title
stands for its missing abstract, twins that name each other, a long text, and a paper that was kept without a model.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any

import chromadb
import chromadb.config
import pytest

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import EvidenceStoreError
from deepcritical_mcp.evidence.embedding.service import EmbeddingService
from deepcritical_mcp.evidence.sessions import SessionRegistry
from deepcritical_mcp.evidence.storage import open_backend, upgrade
from deepcritical_mcp.evidence.storage.on_server import ServerBackend
from deepcritical_mcp.evidence.storage.rows import new_session_id
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.export import read_jsonl
from deepcritical_mcp.models import NO_ABSTRACT, AuthorName, Publication, StatusNotice
from deepcritical_mcp.models.version_0_1 import upgraded
from tests.evidence.stand_ins import piece
from tests.publications import export

Registries = Callable[[Settings], SessionRegistry]

WRITTEN: Mapping[str, Any] = json.loads((Path(__file__).parent / "session_0_1.json").read_text("utf-8"))
ROWS: Mapping[str, Mapping[str, Any]] = {
    id: row for collection in WRITTEN["collections"].values() for id, row in collection["rows"].items()
}
OLD = [str(row["evidence"]) for row in ROWS.values() if "evidence" in row]
PAPERS = [
    "pubmed:101",
    "pubmed:103",
    "pubmed:104",
    "url:efaff271917d19518497",
    "text:7abb488f5a7b4c02431e",
    "pubmed:106",
    "pubmed:105",
]
NOTES = {
    "pubmed:101": "I doubt the blinding.",
    "pubmed:104": "No numbers are given in this letter.",
    "pubmed:105": "Compare with axolotl limbs.",
}


@contextlib.contextmanager
def chroma(settings: Settings, session_id: str) -> Generator[Any]:
    """A client of Chroma where the session is kept, as version 0.1 used it."""
    quiet = chromadb.config.Settings(anonymized_telemetry=False)
    if settings.data_dir is None:
        backend = open_backend(settings)
        assert isinstance(backend, ServerBackend)
        client: Any = backend._client()  # pyright: ignore[reportPrivateUsage]  # Chroma's own leaves sockets open
        close = backend.close
    else:
        client = chromadb.PersistentClient(settings.data_dir / "sessions" / session_id / "chroma", settings=quiet)
        close = client.close
    yield client
    close()


async def write(settings: Settings, embedder: EmbeddingService) -> str:
    """Keep the rows as version 0.1 did; returns the session's id."""
    session_id = new_session_id()
    if settings.data_dir is not None:
        (settings.data_dir / "sessions" / session_id).mkdir(parents=True)
        (settings.data_dir / "sessions" / session_id / "used").touch()
    with chroma(settings, session_id) as client:
        for suffix, kept in WRITTEN["collections"].items():
            collection = client.create_collection(
                session_id + suffix,
                configuration={"hnsw": {"space": "cosine"}},
                metadata=kept["metadata"],
                embedding_function=None,
            )
            rows = list(kept["rows"].values())
            texts = [json.loads(row["evidence"])["content"] if "evidence" in row else "another part" for row in rows]
            vectors = [[1.0]] * len(texts) if suffix else (await embedder.vectors(texts)).tolist()
            collection.add(ids=list(kept["rows"]), embeddings=vectors, metadatas=rows)
    return session_id


def rows_of(settings: Settings, session_id: str) -> dict[str, dict[str, Any]]:
    """The rows of both collections as they are kept; none is in both."""
    found: dict[str, dict[str, Any]] = {}
    with chroma(settings, session_id) as client:
        for name in (session_id, f"{session_id}-words"):
            kept = client.get_collection(name, embedding_function=None).get(include=["metadatas"])
            assert not found.keys() & set(kept["ids"])
            found.update(zip(kept["ids"], kept["metadatas"], strict=True))
    return found


async def assert_whole(store: EvidenceStore) -> None:
    """Nothing of what version 0.1 kept is lost, and nothing is there twice."""
    shown = {piece.id: piece for piece in await store.page(0, 100)}
    publications = await store.publications(list(shown))
    assert list(shown)[: len(PAPERS)] == PAPERS
    assert sorted(piece.content for piece in list(shown.values())[len(PAPERS) :]) == sorted(NOTES.values())
    assert len(shown) == await store.count() == len(PAPERS) + len(NOTES)
    for id in PAPERS:
        old = json.loads(ROWS[id]["evidence"])
        content = old["content"].split("\n\nNOTE, not part of the source: ")[0]
        expected = NO_ABSTRACT if content == old["citation"]["title"] else content
        assert [text.content for text in publications[id].texts] == [expected]
        assert shown[id].notes == ((NOTES[id],) if id in NOTES else ())
        assert shown[id].citation.authors == tuple(old["citation"].get("authors", ()))
        for name in {*old["citation"]} - {"authors", "status_notices", "publication_types", "mesh_terms"}:
            assert getattr(shown[id].citation, name) == old["citation"][name]


async def test_a_kept_session_comes_back_whole(
    lasting_place: Settings, registries: Registries, embedder: EmbeddingService
) -> None:
    session_id = await write(lasting_place, embedder)
    store = await registries(lasting_place).get(session_id, owner="ada")

    await assert_whole(store)

    paper = (await store.publications(["pubmed:101"]))["pubmed:101"]
    assert paper.authors == (AuthorName("Berg", "Jan"), AuthorName("Sleep Study Group"))
    assert paper.status_notices == (StatusNotice(kind="retraction", pmid="102", reference="Inv J. 2020;1:2"),)
    assert (paper.volume, paper.issue, paper.pages, paper.keywords) == ("3", "2", "11-9", ("ampk",))
    assert (paper.mesh_terms, paper.publication_types) == (("Aging",), ("Journal Article",))
    assert paper.found_by == ("ampk neurons",)
    twins = await store.get(["pubmed:101", "pubmed:103"])
    assert (twins["pubmed:101"].similar, twins["pubmed:103"].similar) == (("pubmed:103",), ("pubmed:101",))


async def test_a_kept_session_is_searched_by_meaning_and_takes_more(
    lasting_place: Settings, registries: Registries, embedder: EmbeddingService
) -> None:
    session_id = await write(lasting_place, embedder)
    store = await registries(lasting_place).get(session_id, owner="ada")
    known = [publication for old in OLD for publication in upgraded(old)]

    assert (await store.search_similar("growing back an amputated fish fin", max_results=1))[0].id == "pubmed:105"
    assert {piece.content for piece in await store.search_similar("blinding", source="user", max_results=9)} >= {
        NOTES["pubmed:101"]
    }
    assert {outcome.status for outcome in await store.add_evidence(known)} == {"duplicate"}
    assert store.warnings == ()
    await assert_whole(store)


async def test_an_upgrade_leaves_one_form_of_each_row_and_happens_once(
    lasting_place: Settings, registries: Registries, embedder: EmbeddingService, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger=upgrade.__name__)
    session_id = await write(lasting_place, embedder)
    first = registries(lasting_place)
    await (await first.get(session_id, owner="ada")).count()
    await first.aclose()
    kept = rows_of(lasting_place, session_id)
    second = registries(lasting_place)
    store = await second.get(session_id, owner="ada")
    await assert_whole(store)
    await second.aclose()

    assert [record.getMessage() for record in caplog.records] == ["upgraded a session of version 0.1: 7 publications"]
    assert rows_of(lasting_place, session_id) == kept
    assert not any(row.get("evidence") for row in kept.values())
    assert all("evidence" in row for row in kept.values() if "publication" in row)  # 0.1 must not find it empty
    orders = sorted(int(row["order"]) for row in kept.values() if "publication" in row)
    assert orders == [*range(len(PAPERS) + len(NOTES))]


@pytest.mark.parametrize(("failing", "calls_in_all"), [("update", 6), ("upsert", 3), ("delete", 2)])
@pytest.mark.parametrize("after", range(6))
async def test_an_upgrade_that_was_killed_starts_again_with_nothing_lost(
    tmp_path: Path,
    registries: Registries,
    embedder: EmbeddingService,
    monkeypatch: pytest.MonkeyPatch,
    failing: str,
    calls_in_all: int,
    after: int,
) -> None:
    settings = Settings(data_dir=tmp_path)
    session_id = await write(settings, embedder)
    calls = 0
    really = getattr(chromadb.Collection, failing)

    def killed(self: object, *arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > after:
            raise RuntimeError("killed")
        return really(self, *arguments, **named)

    monkeypatch.setattr(upgrade, "PAGE", 2)
    monkeypatch.setattr(chromadb.Collection, failing, killed)
    first = registries(settings)
    if after < calls_in_all:
        with pytest.raises(EvidenceStoreError):
            await first.get(session_id, owner="ada")
    else:
        await first.get(session_id, owner="ada")
        assert calls == calls_in_all
    await first.aclose()
    monkeypatch.undo()

    store = await registries(settings).get(session_id, owner="ada")
    await assert_whole(store)
    await store.search_similar("anything")
    await assert_whole(store)


async def test_what_version_0_1_writes_into_an_upgraded_session_is_upgraded_too(
    lasting_place: Settings, registries: Registries, embedder: EmbeddingService
) -> None:
    session_id = await write(lasting_place, embedder)
    first = registries(lasting_place)
    await (await first.get(session_id, owner="ada")).count()
    await first.aclose()

    def old(pmid: str, content: str) -> dict[str, Any]:
        citation = {"source": "pubmed", "title": f"Trial {pmid}", "pmid": pmid}
        evidence = {"id": f"pubmed:{pmid}", "content": content, "citation": citation, "provider": "pubmed"}
        return {"source": "pubmed", "order": 0, "parts": 1, "written": 1, "evidence": json.dumps(evidence)}

    rows = [
        old("107", "New.\n\nNOTE, not part of the source: Read this."),
        old("103", f"{'Longer than before. ' * 20}"),
        old("101", "Short.\n\nNOTE, not part of the source: I doubt the blinding."),
    ]
    with chroma(lasting_place, session_id) as client:
        collection = client.get_collection(session_id, embedding_function=None)
        vectors = (await embedder.vectors(["a", "b", "c"])).tolist()
        collection.upsert(ids=["pubmed:107", "pubmed:103", "pubmed:101"], embeddings=vectors, metadatas=rows)
    store = await registries(lasting_place).get(session_id, owner="ada")
    shown = {piece.id: piece for piece in await store.page(0, 100)}

    assert len(shown) == len(PAPERS) + len(NOTES) + 2
    assert (shown["pubmed:107"].content, shown["pubmed:107"].notes) == ("New.", ("Read this.",))
    assert shown["pubmed:103"].content.startswith("Longer than before.")
    assert shown["pubmed:103"].citation.title == "AMPK activation and neuroprotection again"
    assert shown["pubmed:101"].content.startswith("Activating AMP")
    assert shown["pubmed:101"].notes == ("I doubt the blinding.",)
    assert (await store.search_similar("longer than before", max_results=1))[0].id == "pubmed:103"
    assert store.warnings == ()


def test_one_note_on_two_papers_stays_two_notes() -> None:
    def old(pmid: str) -> str:
        content = f"Abstract {pmid}.\n\nNOTE, not part of the source: Read this."
        return json.dumps(
            {"id": f"pubmed:{pmid}", "content": content, "citation": {"source": "pubmed", "title": "T", "pmid": pmid}}
        )

    (_, one), (_, other) = upgraded(old("1")), upgraded(old("2"))
    assert (one.text.content, other.text.content) == ("Read this.", "Read this.")
    assert (one.pmid, other.pmid) == ("1", "2")
    assert one.id != other.id


def test_a_note_is_upgraded_to_what_a_note_is_today() -> None:
    citation = {"source": "pubmed", "title": "A trial", "pmid": "1", "doi": "10.1/a", "date": "2023-05-01"}
    citation["url"] = "https://pubmed.ncbi.nlm.nih.gov/1/"
    content = "An abstract.\n\nNOTE, not part of the source: I doubt the blinding."
    _, note = upgraded(json.dumps({"id": "pubmed:1", "content": content, "citation": citation, "provider": "pubmed"}))

    assert (note.title, note.date, note.pmid, note.doi) == ("I doubt the blinding…", "Unknown", "", "")
    assert note.url == citation["url"]
    assert not any(name in export([note], "bibtex") for name in ("year", "month", "doi", "pmid"))


async def test_an_upgraded_note_that_is_added_again_is_known_and_listed_with_its_paper(
    registries: Registries,
) -> None:
    citation = {"source": "pubmed", "title": "A trial", "pmid": "1", "url": "https://pubmed.ncbi.nlm.nih.gov/1/"}
    content = "An abstract.\n\nNOTE, not part of the source: I doubt the blinding."
    old = upgraded(json.dumps({"id": "pubmed:1", "content": content, "citation": citation, "provider": "pubmed"}))
    again = piece("I doubt the blinding.", "I doubt the blinding…", source="user", pmid="1")
    store = await registries(Settings()).open()

    outcomes = await store.add_evidence([*old, again])

    assert [outcome.status for outcome in outcomes] == ["added", "added", "duplicate"]
    assert (await store.page(0, 1))[0].notes == ("I doubt the blinding.",)


@pytest.mark.parametrize("source", ["user", "web"])
def test_a_page_that_was_found_after_the_user_s_note_on_it_is_not_the_user_s(source: str) -> None:
    citation = {"source": source, "title": "A centre", "url": "https://example.org/centre"}
    content = "What the page says.\n\nNOTE, not part of the source: Go there."
    page, note = upgraded(json.dumps({"id": "url:1", "content": content, "citation": citation, "provider": "user"}))

    assert (page.source, page.text.kind, page.text.content, page.is_users) == (
        "web",
        "page",
        "What the page says.",
        False,
    )
    assert (note.source, note.text.kind, note.text.content, note.url) == ("user", "note", "Go there.", page.url)


def test_json_lines_of_version_0_1_are_read_with_their_notes_split_off() -> None:
    read = read_jsonl("\n".join(OLD))
    assert [one.id for one in read if one.source != "user"] == [
        id for id in ROWS if id.startswith(("pubmed:", "url:")) and "\n" not in id
    ]
    assert sorted(one.text.content for one in read if "#" in one.id) == sorted(NOTES.values())
    assert read_jsonl(export(read, "jsonl")) == read


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"id": "x"}', '{"id": "x", "content": "y", "citation": []}'])
def test_what_version_0_1_did_not_write_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (JSON has its own)
        upgraded(text)


def test_a_publication_of_today_is_not_read_as_one_of_version_0_1() -> None:
    today = Publication.of("abstract", "A.", provider="pubmed", source="pubmed", title="T", pmid="1")
    with pytest.raises(ValueError, match=r"written by version 0\.1"):
        upgraded(today.model_dump_json())


async def test_a_kept_session_is_listed_before_and_after_it_has_been_opened(
    registries: Registries, embedder: EmbeddingService, tmp_path: Path
) -> None:
    settings = Settings(data_dir=tmp_path)
    session_id = await write(settings, embedder)
    (tmp_path / "sessions" / session_id / "used").write_text(hashlib.sha256(b"ada").hexdigest())
    registry = registries(settings)
    (listed,) = await registry.sessions(owner="ada")
    assert (listed.session_id, listed.title, listed.items, listed.searches) == (session_id, "", -1, -1)
    store = await registry.get(session_id, owner="ada")
    count = await store.count()
    await registry.name(session_id, "Fish fins", owner="ada")
    (listed,) = await registries(settings).sessions(owner="ada")
    assert (listed.title, listed.items, listed.searches) == ("Fish fins", count, 0)
