"""Zotero on the same machine is read into a session, and gets back what was included."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from pydantic import ValidationError

from deepcritical_mcp.config import Settings
from deepcritical_mcp.deadline import no_progress
from deepcritical_mcp.errors import InvalidInputError, ProviderError
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.models import FILE, FileResult, Publication
from deepcritical_mcp.search.library.zotero import MAX_TEXT_BYTES, import_zotero
from deepcritical_mcp.search.library.zotero_export import export_to_zotero
from tests.fakes import served, sessions_in
from tests.net.stand_in import Answer, StandIn, stand_in
from tests.publications import published
from tests.search.library.zotero_stand_in import ZoteroStandIn
from tests.wire import wire

TEXT = "Introduction\n\n" + "Zinc oxide closed 61 of 100 venous ulcers within twelve weeks. " * 100


def library(version: str = "10.0.1", **options: Any) -> ZoteroStandIn:
    """A library of two papers and a book: one paper with a PDF, and a note; one also in a collection within."""
    zotero = ZoteroStandIn(version, **options)
    zotero.collection("AAAAAAAA", "Wounds")
    zotero.collection("BBBBBBBB", "Zinc", "AAAAAAAA")
    zotero.collection("CCCCCCCC", "Zinc")
    people = [{"creatorType": "author", "firstName": "Jan", "lastName": "Berg"}]
    zinc = {"title": "Zinc for venous ulcers of the leg: a randomised trial", "creators": people, "date": "2019-05-12"}
    zotero.item("PAPER001", **zinc, DOI="10.1000/zinc.1", extra="PMID: 31000001", publicationTitle="J Wounds")
    zotero.item("PAPER002", title="Honey and the healing of burns in children", creators=people, date="2020")
    editors = [{"creatorType": "editor", "firstName": "Ana", "lastName": "Ruiz"}]
    zotero.item("BOOK0001", itemType="book", title="Wounds and how they heal", creators=editors, date="2001")
    zotero.item("FILE0001", itemType="attachment", parentItem="PAPER001", contentType="application/pdf")
    zotero.item("NOTE0001", itemType="note", parentItem="PAPER001", note="<p>Read the <b>methods</b> again.</p>")
    zotero.item("MARK0001", itemType="annotation", parentItem="FILE0001")
    zotero.item("NOTE0002", itemType="note", note="<p>Of no item</p>", collections=["AAAAAAAA"])
    zotero.has("AAAAAAAA", "PAPER001", "BOOK0001")
    zotero.has("BBBBBBBB", "PAPER001", "PAPER002")
    zotero.texts["FILE0001"] = {"content": TEXT, "indexedPages": 10, "totalPages": 12}
    return zotero


@asynccontextmanager
async def running(zotero: ZoteroStandIn, folder: Path) -> AsyncGenerator[tuple[StandIn, EvidenceStore]]:
    async with stand_in() as provider, sessions_in(folder) as sessions:
        provider.answer = zotero
        yield provider, await sessions.open(title="Wounds of the leg")


async def brought(name: str, zotero: ZoteroStandIn, folder: Path) -> tuple[FileResult, list[Publication]]:
    async with running(zotero, folder) as (provider, store):
        told = await import_zotero(name, provider.url, store, no_progress, ["from zotero"])
        return told, [*(await store.publications(await store.ids())).values()]


async def test_a_collection_comes_with_those_in_it_its_texts_and_its_notes(tmp_path: Path) -> None:
    zotero = library()
    async with running(zotero, tmp_path) as (provider, store):
        told = await import_zotero("zotero:wounds", provider.url, store, no_progress, ["from zotero"])
        assert (told.file, told.read, told.new, told.known) == ("Zotero: Wounds", 3, 3, 0)
        assert "Zotero 10.0.1" in told.detail
        assert "full texts of your files: 1" in told.detail
        assert "files and notes of no item, left out: 1" in told.detail
        kept = {one.title: one for one in (await store.publications(await store.ids())).values()}
        paper, book = kept["Zinc for venous ulcers of the leg: a randomised trial"], kept["Wounds and how they heal"]
        (text,) = (one for one in paper.texts if one.kind == "full_text")
        assert (text.provider, paper.tags) == (FILE, ("from zotero",))
        assert "61 of 100 venous ulcers" in text.content
        assert any("10 of 12 pages" in one for one in text.remarks)
        assert "Read the methods again." in [one.content for one in paper.texts if one.kind == "note"]
        assert paper.claims == ("PMID 31000001", "doi:10.1000/zinc.1")
        assert [str(one) for one in book.editors] == ["Ruiz Ana"]
        assert not book.authors
        assert (await store.search_log())[0].queries[0].query == "Zotero: Wounds"

        again = await import_zotero("zotero:AAAAAAAA", provider.url, store, no_progress)
        assert (again.new, again.known) == (0, 3)
        assert zotero.seen["items/FILE0001/fulltext"] == 1, "a text that is there is not asked for again"
        assert await store.publications(await store.ids()) == {one.id: one for one in kept.values()}


async def test_the_whole_library_is_read_a_page_at_a_time(tmp_path: Path) -> None:
    zotero = library()
    for number in range(250):
        zotero.item(f"MORE{number:04d}", title=f"Cohort number {number} of patients with wounds", date="2001")
    zotero.item("EMPTY001")
    told, kept = await brought("Zotero", zotero, tmp_path)
    assert (told.file, told.read, len(kept)) == ("Zotero: whole library", 253, 253)
    assert told.unread == ("item 254: it has neither a title nor a number",)
    assert zotero.seen["items"] == 3


@pytest.mark.parametrize(
    ("name", "read"), [("Wounds/Zinc", 2), (" WOUNDS / zinc ", 2), ("BBBBBBBB", 2), ("CCCCCCCC", 0)]
)
async def test_a_collection_is_found_by_its_path_or_key(name: str, read: int, tmp_path: Path) -> None:
    told, _ = await brought(f"zotero:{name}", library(), tmp_path)
    assert told.read == read


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("zinc", '"Wounds/Zinc" is zotero:BBBBBBBB; "Zinc" is zotero:CCCCCCCC'),
        ("Woundz", "It has Wounds."),
        ("x", "It has Wounds; Wounds/Zinc; Zinc."),
    ],
)
async def test_a_name_that_several_or_none_have_is_told_with_what_there_is(
    name: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInputError, match=said):
        await brought(f"zotero:{name}", library(), tmp_path)


async def test_texts_that_zotero_does_not_give_are_told(tmp_path: Path) -> None:
    told, _ = await brought("zotero", library("7.0.11"), tmp_path / "7")
    assert told.read == 3
    assert "on (this is 7.0.11): 1" in told.detail
    zotero = library("9.0.6")
    zotero.texts["FILE0001"]["content"] = "x" * MAX_TEXT_BYTES
    told, kept = await brought("zotero", zotero, tmp_path / "9")
    assert "longer than 2 MB" in told.detail
    assert not any(one.kind == "full_text" for each in kept for one in each.texts)
    del zotero.texts["FILE0001"]
    told, _ = await brought("zotero", zotero, tmp_path / "none")
    assert "files of which Zotero has no text: 1" in told.detail


async def test_a_zotero_that_does_not_answer_is_told_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ProviderError, match="Settings → Advanced → "):
        await brought("zotero", library(enabled=False), tmp_path)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    async with running(library(), tmp_path) as (provider, store):
        assert (await import_zotero("zotero:Wounds", provider.url, store, no_progress)).read == 3, "through no proxy"
        provider.will(Answer(200, b"<html>", "text/html"))
        with pytest.raises(ProviderError, match="is not Zotero 7 or later"):
            await import_zotero("zotero", provider.url, store, no_progress)
    with pytest.raises(ProviderError, match="does not run"):
        await import_zotero("zotero", provider.url, store, no_progress)
    with pytest.raises(ValidationError, match="must be an address of this machine"):
        Settings(zotero_url="http://192.168.0.7:23119")


def publications(count: int = 2) -> list[Publication]:
    papers = [
        published(
            f"Result {n}.", source="pubmed", title=f"Trial {n}", pmid=str(n), doi=f"10.1000/{n}", journal="J Zinc"
        )
        for n in range(1, count + 1)
    ]
    honey: dict[str, Any] = {
        "title": "Honey and the healing of burns in children.",
        "date": "2020-03",
        "authors": ["Berg Jan"],
    }
    return [*papers, published("Honey helped.", source="pubmed", pmid="777", **honey)]


async def sent(zotero: ZoteroStandIn, some: list[Publication], *, times: int = 1) -> list[str]:
    async with stand_in() as provider:
        provider.answer = zotero
        return [(await export_to_zotero(some, "Wounds", provider.url, no_progress))[0] for _ in range(times)]


async def test_what_zotero_has_is_put_into_the_collection_and_the_rest_added_once() -> None:
    zotero = library(dialog=["always"])
    first, again = await sent(zotero, publications(), times=2)
    assert "2 added, 1 that Zotero had elsewhere put into it, 0 already there" in first
    assert "0 added, 0 that Zotero had elsewhere put into it, 3 already there" in again
    assert zotero.asked_for_key == 1
    assert zotero.items["PAPER002"]["collections"] == ["BBBBBBBB", "AAAAAAAA"]
    assert zotero.items["PAPER002"]["title"] == "Honey and the healing of burns in children"
    (made,) = (one for one in zotero.has("AAAAAAAA") if one.get("DOI") == "10.1000/1")
    assert (made["itemType"], made["publicationTitle"], made["extra"]) == ("journalArticle", "J Zinc", "PMID: 1")
    assert made["abstractNote"] == "Result 1."


async def test_a_collection_is_made_if_there_is_none_and_each_single_key_is_asked_for() -> None:
    zotero = ZoteroStandIn(dialog=["allow"] * 3)
    (told,) = await sent(zotero, publications(60))
    assert "61 added" in told
    assert [one["name"] for one in zotero.collections.values()] == ["Wounds"]
    assert zotero.asked_for_key == 3, "the collection and two batches"
    (told,) = await sent(zotero, publications(60))
    assert "61 already there" in told


async def test_what_was_written_before_the_user_or_zotero_refuses_is_told() -> None:
    (told,) = await sent(ZoteroStandIn(dialog=["allow", "allow", "deny"]), publications(60))
    assert "50 added" in told
    assert "choose Always Allow" in told
    with pytest.raises(ProviderError, match="nothing more was written"):
        await sent(library(dialog=["deny"]), publications())
    zotero = library()
    zotero.asked_for_key = 5
    with pytest.raises(ProviderError, match="42 seconds"):
        await sent(zotero, publications())
    with pytest.raises(InvalidInputError, match=r"This Zotero \(9.0.6\)"):
        await sent(library("9.0.6"), publications())


async def test_a_key_that_was_withdrawn_is_asked_for_again() -> None:
    zotero = library(dialog=["always", "always"])
    await sent(zotero, publications(1))
    zotero.keys.clear()
    (told,) = await sent(zotero, publications(2))
    assert "1 added" in told
    assert zotero.asked_for_key == 2


async def test_an_item_that_was_changed_meanwhile_is_named() -> None:
    zotero = library(dialog=["always"])
    zotero.items["PAPER002"]["version"] = "of another time"
    async with stand_in() as provider:
        read = zotero.__call__
        provider.answer = lambda asked: (
            (zotero.items["PAPER002"].update(version=99), read(asked))[1] if asked.method == "POST" else read(asked)
        )
        told = await export_to_zotero(publications(1), "Wounds", provider.url, no_progress)
    assert told[1] == 1
    assert "item version mismatch" in told[0]


FORMS: list[dict[str, Any]] = [
    {"source": "preprint", "title": "Zinc early", "doi": "10.1101/1", "journal": "medRxiv"},
    {"source": "trial", "title": "Zinc trial", "nct": "NCT00000620", "publisher": "NIH"},
    {"source": "web", "title": "Zinc page", "url": "https://example.org/zinc"},
    {"source": "pubmed", "title": "A book", "book_title": "A book", "pmid": "5", "isbn": "9780000000000"},
    {"source": "pubmed", "title": "A chapter", "book_title": "A book", "pmid": "6", "pages": "1-9", "doi": "10.1/6"},
    {"source": "pubmed", "title": "Something else", "pmid": "7"},
]


async def test_every_form_has_the_fields_that_zotero_knows_of_it() -> None:
    zotero = ZoteroStandIn(dialog=["always"])
    (told,) = await sent(zotero, [published("Said.", **one) for one in FORMS])
    assert "6 added" in told, told
    made = {one["title"]: one for one in zotero.items.values()}
    assert made["A chapter"]["extra"] == "PMID: 6\nDOI: 10.1/6"
    assert made["Zinc trial"]["reportNumber"] == "NCT00000620"
    assert {one["itemType"] for one in made.values()} == {
        *("preprint", "report", "webpage", "book", "bookSection", "document")
    }


async def test_the_tools_bring_it_in_and_back(tmp_path: Path) -> None:
    zotero = library(dialog=["always"])
    async with stand_in() as provider:
        provider.answer = zotero
        async with served(Settings(zotero_url=provider.url, data_dir=tmp_path)) as (client, _):
            told = await call(client, "add_evidence", items=[{"file": "zotero:Wounds"}, {"file": "zotero:No such"}])
            assert told["files"][0]["new"] == 3
            assert "no collection" in told["rejected"][0]["reason"]
            back = await call(client, "export_evidence", format="zotero")
            assert "3 that Zotero had elsewhere put into it" in back["text"]
            assert back["count"] == 3


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    return wire(await client.call_tool(tool, arguments))
