"""Exports in files and in answers that they must fit into, with chosen fields, and kept as resources."""

import json
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from mcp_types import TextContent

from deepcritical_mcp.config import Settings
from deepcritical_mcp.models import Publication
from deepcritical_mcp.session_export import ExportRequest, WholeExport, saved_exports
from deepcritical_mcp.session_export.saved_exports import keep_export
from deepcritical_mcp.tools.export_evidence import export_resources
from tests.fakes import FakeSearch, fake_server, sessions_in
from tests.publications import published
from tests.wire import wire


def paper(number: int) -> Publication:
    return published(
        "Zinc closes wounds. " * 20, source="pubmed", title=f"Zinc {number}", pmid=str(number), authors=["Doe Ada"]
    )


def content(file: str) -> str:
    return Path(file).read_text("utf-8")


def names_in(folder: Path) -> list[str]:
    return [one.name for one in folder.iterdir()]


async def called(folder: Path, *calls: dict[str, object], papers: int = 3) -> list[dict[str, Any]]:
    """The structured results of these exports of a session with so many papers; both forms name the same file."""
    server = fake_server(
        literature=FakeSearch(tuple(paper(n) for n in range(1, papers + 1))), settings=Settings(exports_dir=folder)
    )
    results: list[dict[str, Any]] = []
    async with Client(server) as client:
        await client.call_tool("pubmed_search", {"query": "zinc: wounds?"})
        for arguments in calls:
            result = await client.call_tool("export_evidence", arguments)
            assert isinstance(result.content[0], TextContent)
            if file := wire(result).get("file", ""):
                assert f"`{file}`" in result.content[0].text, "the whole path, as it is"
            results.append(wire(result))
    return results


async def test_a_file_has_all_records_and_the_answer_none(tmp_path: Path) -> None:
    [saved] = await called(tmp_path / "exports", {"format": "jsonl", "save": True}, papers=80)
    written = content(saved["file"])
    assert Path(saved["file"]).parent == tmp_path / "exports"
    assert len(written.splitlines()) == saved["count"] == 80
    assert len(written.encode()) == saved["bytes"] > Settings().max_result_chars
    assert saved["text"] == ""
    assert saved["next_offset"] == -1


async def test_a_file_is_never_replaced_and_a_repeated_call_makes_no_second_one(tmp_path: Path) -> None:
    asked: dict[str, object] = {"format": "ris", "save": True}
    first, again, other = await called(tmp_path, asked, asked, {**asked, "abstracts": True})
    assert first["file"] == again["file"]
    assert other["file"].endswith(" (2).ris")
    assert "AB  -" not in content(first["file"])
    assert len(names_in(tmp_path)) == 2


async def test_a_folder_that_cannot_be_written_is_an_error_that_leaves_nothing(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    [failed] = await called(blocked, {"format": "ris", "save": True})
    assert failed["error"]["code"] == "export_file"
    assert "DEEPCRITICAL_EXPORTS_DIR" in failed["error"]["message"]
    assert names_in(tmp_path) == ["file"]


async def test_abstracts_are_left_out_unless_asked_for(tmp_path: Path) -> None:
    for format in ("bibtex", "ris", "csl-json", "markdown"):
        bare, whole = await called(tmp_path, {"format": format}, {"format": format, "abstracts": True})
        assert "closes wounds" not in bare["text"]
        assert "closes wounds" in whole["text"]
    [backup] = await called(tmp_path, {"format": "jsonl"})
    assert "closes wounds" in backup["text"]


async def test_chosen_fields_are_all_that_records_have_besides_what_they_are(tmp_path: Path) -> None:
    asked: dict[str, object] = {"format": "csl-json", "fields": ["pmid"]}
    item = json.loads((await called(tmp_path, asked, papers=1))[0]["text"])[0]
    assert item == {"id": "doe2000zinc", "type": item["type"], "title": item["title"], "PMID": "1"} | {"id": item["id"]}


async def test_a_table_has_the_chosen_columns_and_each_part_its_header(tmp_path: Path) -> None:
    asked: dict[str, object] = {"format": "table", "fields": ["title", "authors", "abstract"]}
    first, second = await called(tmp_path, asked, {**asked, "offset": 60}, papers=120)
    assert first["text"].splitlines()[0] == second["text"].splitlines()[0] == "title,authors,abstract"
    assert first["next_offset"] == first["count"]
    assert second["text"].splitlines()[1].startswith("Zinc 60,Doe Ada")


async def test_what_a_format_cannot_do_is_refused_with_what_it_can(tmp_path: Path) -> None:
    calls: dict[str, dict[str, object]] = {
        "leave output out": {"format": "ris", "output": "HTML"},
        'format="bibliography"': {"format": "bibtex", "style": "apa"},
        "vancouver": {"format": "bibliography", "style": "unknown style"},
        "complete": {"format": "jsonl", "fields": ["title"]},
        "journal_abbreviation": {"format": "ris", "fields": ["nonsense"]},
        "abstract": {"format": "table", "abstracts": True},
    }
    for answer, told in zip(await called(tmp_path, *calls.values()), calls, strict=True):
        assert told in answer["error"]["message"]


def written(output: str = "csv") -> WholeExport:
    return WholeExport(ExportRequest("table", output=output), ["Zinc\n"], 1)


async def test_kept_exports_are_listed_with_type_and_size_the_latest_first(tmp_path: Path) -> None:
    async with sessions_in(tmp_path) as sessions:
        store = await sessions.open(title="zinc")
        for name, output in (("zinc.csv", "csv"), ("zinc ris.ris", "ris")):
            await keep_export(store, name, written(output))
        latest, first = await export_resources(store)
    assert (latest.mime_type, first.mime_type) == ("application/x-research-info-systems", "text/csv")
    assert (str(latest.uri), latest.size) == (f"export://{store.session_id}/zinc%20ris.ris", len("Zinc\n"))


async def test_the_ninth_export_drops_the_first_and_names_it(tmp_path: Path) -> None:
    async with sessions_in(tmp_path) as sessions:
        store = await sessions.open(title="zinc")
        dropped = [(await keep_export(store, f"zinc {n}.csv", written()))[1] for n in range(9)]
        again = (await keep_export(store, "zinc 8.csv", written()))[1]
        names = [one.name for one in await export_resources(store)]
    assert dropped == [()] * 8 + [("zinc 0.csv",)]
    assert again == ()
    assert names == [f"zinc {n}.csv" for n in range(8, 0, -1)]


async def test_large_exports_are_dropped_before_there_are_eight(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async with sessions_in(tmp_path) as sessions:
        store = await sessions.open(title="zinc")
        first, _ = await keep_export(store, "zinc 0.csv", written())
        monkeypatch.setattr(saved_exports, "MAX_KEPT_COMPRESSED", 2 * first.packed)
        dropped = [(await keep_export(store, f"zinc {n}.csv", written()))[1] for n in (1, 2)]
        texts = [await saved_exports.kept_export(store, f"zinc {n}.csv") for n in range(3)]
    assert dropped == [(), ("zinc 0.csv",)]
    assert texts == [None, "Zinc\n", "Zinc\n"]


LIMIT = 32_000
FORMATS = ["bibtex", "ris", "csl-json", "markdown", "jsonl"]


def wordy(number: int, *, content: str, authors: int = 2) -> Publication:
    names = (f"Author{n} Ada" for n in range(authors))
    return published(content, source="pubmed", title=f"论文 {number}", pmid=str(number), authors=names)


async def fitting(*publications: Publication, **arguments: object) -> dict[str, Any]:
    """The structured form of an export of these publications with abstracts, once both forms have been seen to fit."""
    arguments = {"abstracts": True, **arguments}
    async with Client(fake_server(literature=FakeSearch(publications))) as client:
        await client.call_tool("pubmed_search", {"query": "x"})
        result = await client.call_tool("export_evidence", arguments)
    assert isinstance(result.content[0], TextContent)
    assert len(result.content[0].text) <= LIMIT
    assert len(json.dumps(wire(result))) <= LIMIT
    return wire(result)


@pytest.mark.parametrize("format", FORMATS)
async def test_a_part_fits_whatever_its_letters_take_as_json(format: str) -> None:
    part = await fitting(*(wordy(n, content="二甲双胍降低血糖。" * 100) for n in range(1, 31)), format=format)
    assert 0 < part["count"] < 30
    assert part["next_offset"] == part["count"]


async def test_the_queries_that_found_a_record_do_not_make_it_too_long() -> None:
    asked = tuple(f"{n} " + "long query " * 360 for n in range(20))
    part = await fitting(wordy(1, content="A short text.").model_copy(update={"found_by": asked}), format="jsonl")
    assert "A short text." in part["text"]


async def test_of_ids_that_are_not_there_as_many_are_named_as_fit() -> None:
    ids = ["pubmed:1", *(f"pubmed:9{n:07}" for n in range(9_000))]
    part = await fitting(wordy(1, content="A note."), format="ris", ids=ids)
    assert 0 < len(part["missing"]) < 9_000
    assert f"{9_000 - len(part['missing']):,} more ids are not in this session." in part["next_step"]


@pytest.mark.long
@pytest.mark.parametrize("format", FORMATS)
async def test_authors_outlast_the_abstract(format: str) -> None:
    whole = wordy(1, content='A "long" result. ' * 4_000, authors=400)
    part = await fitting(whole, format=format)
    assert "Author399" in part["text"] or format == "markdown"
    assert "pubmed:1 was too long and is shortened here: its text is cut" in part["next_step"]
    assert "[…]" in part["text"].replace("\\", "")


async def test_a_record_that_is_too_long_without_its_text_is_refused_with_the_way_to_go_on() -> None:
    part = await fitting(wordy(1, content="x", authors=3_000), format="ris")
    assert "pass save=true for the whole file. offset=1 goes on after it." in part["error"]["message"]


async def test_an_offset_beyond_the_last_record_is_an_error() -> None:
    part = await fitting(wordy(1, content="A note."), format="ris", offset=5)
    assert part["error"]["message"] == "offset: the last record is at 0. Use a smaller offset."
