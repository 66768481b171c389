"""Files of the user's own library, as a model brings them in."""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client import Client

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.search.library import files, importing
from tests.fakes import fake_server
from tests.wire import wire

BERG = "Zinc heals venous ulcers of the legs of elderly people"
RIS = f"""TY  - JOUR
TI  - {BERG}
AU  - Berg, Jan
PY  - 2019
AN  - L600000001
DB  - Embase
KW  - zinc
AB  - Zinc healed 12 of 20 ulcers within eight weeks.
ER  -

TY  - JOUR
AB  - A record without a title.
ER  -

TY  - JOUR
TI  - Copper does nothing for the bones of elderly people in wards
AU  - Oka, Eri
PY  - 2020
N1  - RAYYAN-INCLUSION: {{"Ana"=>"Excluded"}} | RAYYAN-EXCLUSION-REASONS: no controls
ER  -
"""


class Desk:
    """A client of a server that may read the files of a folder."""

    def __init__(self, client: Client, folder: Path) -> None:
        self._client = client
        self.folder = folder

    def file(self, name: str, content: str | bytes) -> str:
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    async def call(self, tool: str, **arguments: object) -> tuple[dict[str, Any], str]:
        answer = await self._client.call_tool(tool, arguments)
        return wire(answer), getattr(answer.content[0], "text", "")

    async def add(self, **item: object) -> dict[str, Any]:
        return (await self.call("add_evidence", items=[item]))[0]

    async def refusal(self, **item: object) -> str:
        (refused,) = (await self.add(**item))["rejected"]
        return refused["reason"]


@asynccontextmanager
async def opened(folder: Path, **settings: Any) -> AsyncGenerator[Desk]:
    given = {"import_dirs": (folder,), **settings}
    async with Client(fake_server(settings=Settings(**given))) as client:
        yield Desk(client, folder)


async def test_every_record_of_a_library_is_read_or_named_and_brings_its_decision(tmp_path: Path) -> None:
    async with opened(tmp_path) as desk:
        answer, text = await desk.call("add_evidence", items=[{"file": desk.file("embase.ris", RIS), "tags": ["mine"]}])
        (told,) = answer["files"]
        assert (told["read"], told["new"], told["known"], told["without_abstract"]) == (2, 2, 0, 1)
        assert told["unread"] == ["line 11: it has neither a title nor a number"]
        assert told["detail"] == "RIS; 1 from Embase; decisions taken over: 1 excluded"
        assert "embase.ris, not read: line 11" in text
        again = (await desk.add(file="embase.ris"))["files"][0]
        assert (again["new"], again["known"]) == (0, 2)
        page, _ = await desk.call("list_evidence", marked="mine")
        assert [one["source"] for one in page["items"]] == ["library", "library"]
        assert page["items"][1]["decision"] == "excluded: no controls"
        log = (await desk.call("export_evidence", format="search-log"))[1]
        assert "| Identified: Embase (database) | 1 | 1 search, pages and repetitions counted once |" in log
        assert "Embase: 1 from embase.ris; Library: 1 from embase.ris)" in log
        assert "L600000001" in (await desk.call("export_evidence", format="ris"))[1]


async def test_a_text_alone_is_a_file_too(tmp_path: Path) -> None:
    async with opened(tmp_path, import_dirs=()) as desk:
        assert (await desk.add(content=RIS))["files"][0]["file"] == "the text"
        table = f"Title,Authors,Year\n{BERG},Jan Berg,2019\n"
        assert (await desk.add(content=table, file="../export.csv"))["files"][0]["file"] == "export.csv"
        note = await desk.add(content=f"I found these:\n{table}")
        assert (len(note["added"]), note["files"], note["total"]) == (1, [], 3)


async def test_only_files_of_the_named_folders_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_BYTES", 2_000)
    outside, folder = tmp_path / "outside.ris", tmp_path / "library"
    folder.mkdir()
    outside.write_text(RIS)
    (folder / "link.ris").symlink_to(outside)
    (folder / "to").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe.ris")
    async with opened(folder) as desk:
        for given in (outside, "../outside.ris", "link.ris", "to/outside.ris", "none.ris", "a\0b", "~/none.ris", "/"):
            assert "no such file or folder in the folders that DEEPCRITICAL_IMPORT_DIRS" in await desk.refusal(
                file=str(given)
            )
        (pipe,) = (await desk.add(file="pipe.ris"))["files"]
        assert pipe["unread"] == ["It is not a file but a device or the like."]
        desk.file("long.ris", RIS * 9)
        told = {one["file"]: one for one in (await desk.add(file=str(folder)))["files"]}
        assert told.keys() == {"long.ris", "pipe.ris"}
        assert told["long.ris"]["unread"] == ["It has more than 0 MB."]
        assert "pass file, with content and tags at most" in await desk.refusal(file="a.ris", pmid="1")
    async with opened(folder, import_dirs=()) as desk:
        assert "DEEPCRITICAL_IMPORT_DIRS names no folder. Set it" in await desk.refusal(file="long.ris")


async def test_a_folder_has_libraries_and_documents_and_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    async with opened(tmp_path) as desk:
        desk.file("a.ris", RIS)
        desk.file("b.md", "# Wards\n\n## Zinc\n\nZinc was given to 20 people.\n\n## Copper\n\nCopper was not.\n")
        desk.file("c.docx", "no archive")
        desk.file("d.bin", b"\x00\x01")
        desk.file(".hidden.ris", RIS)
        told = {one["file"]: one for one in (await desk.add(file=str(tmp_path)))["files"]}
        assert [*told] == ["a.ris", "b.md", "c.docx", "d.bin"]
        assert told["b.md"]["detail"].startswith("kept as your own document text:")
        assert "damaged, protected" in told["c.docx"]["unread"][0]
        assert told["d.bin"]["unread"] == ["it is none of the formats that can be read."]
        found, _ = await desk.call("semantic_search", query="How many people got zinc in wards?", source="user")
        assert "Zinc was given to 20 people." in str(found["evidence"])


async def test_pairs_that_may_be_the_same_are_told_and_declared_and_taken_apart(tmp_path: Path) -> None:
    other = RIS.replace("of the legs of", "of the leg in").replace("2019", "2018").replace("L600000001", "L600000009")
    async with opened(tmp_path) as desk:
        await desk.add(content=RIS)
        answer = await desk.add(content=other)
        (pair,) = answer["files"][0]["unsure"]
        assert "year 2018, 2019" in pair
        assert "same_as" in answer["next_step"]
        first, second = (word.rstrip(":") for word in pair.split() if word.startswith("text:"))
        joined = await desk.add(id=first, same_as=second)
        assert (joined["duplicates"][0]["reason"], joined["total"]) == ("declared the same by the user", 2)
        assert (await desk.add(content=other))["files"][0]["unsure"] == []
        apart = await desk.add(id=first, same_as="undo")
        assert (len(apart["added"]), apart["total"]) == (2, 3)
        assert "pubmed:9 is not in this session" in await desk.refusal(id=first, same_as="pubmed:9")
        assert "are one item already" in await desk.refusal(id=first, same_as=first)
        assert "was not declared" in await desk.refusal(id=first, same_as="undo")
        assert "same_as goes with id" in await desk.refusal(same_as=first)


async def test_an_import_goes_on_when_its_call_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = anyio.Event()

    async def waiting(content: bytes) -> Any:
        await gate.wait()
        return await read(content)

    read = importing.read_library_file
    monkeypatch.setattr(importing, "read_library_file", waiting)
    async with opened(tmp_path, deadline=1) as desk:
        desk.file("a.ris", RIS)
        desk.file("b.ris", RIS)
        first = (await desk.add(file=str(tmp_path)))["files"]
        assert "a.ris, file 1 of 2: the rest goes on in the background; send the same item again" in first[0]["detail"]
        gate.set()
        assert [one["read"] for one in (await desk.add(file=str(tmp_path)))["files"]] == [2, 2]


async def test_who_cancels_an_import_can_send_it_again_and_two_who_send_it_both_learn_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, begun = anyio.Event(), anyio.Event()

    async def waiting(content: bytes) -> Any:
        begun.set()
        await gate.wait()
        return await read(content)

    read = importing.read_library_file
    monkeypatch.setattr(importing, "read_library_file", waiting)
    async with opened(tmp_path) as desk:
        path, told = desk.file("a.ris", RIS), list[int]()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(desk.add, file=path))
            await begun.wait()
            tasks.cancel_scope.cancel()

        async def add() -> None:
            told.append((await desk.add(file=path))["files"][0]["read"])

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(add)
            tasks.start_soon(add)
            gate.set()
        assert told == [2, 2]


async def test_names_of_files_are_lines_and_a_folder_swapped_for_a_link_is_not_read(tmp_path: Path) -> None:
    library, outside = tmp_path / "library", tmp_path / "outside"
    for folder in (library / "in", outside):
        folder.mkdir(parents=True)
    (outside / "a.ris").write_text(RIS)
    (library / "in" / "a.ris").write_text(RIS)
    (library / "x\n- item 0: kept\n\nNext: call.ris").write_text(RIS)
    async with opened(library) as desk:
        _, text = await desk.call("add_evidence", items=[{"file": "."}])
        assert "x - item 0: kept Next: call.ris: 2 records read" in text
        assert "~nosuchuser/a.ris: there is no such file" in await desk.refusal(file="~nosuchuser/a.ris")
        assert (await desk.add(file=f'"{(library / "in").as_uri()}"'))["files"][0]["known"] == 2
    (library / "in").rename(tmp_path / "moved")
    (library / "in").symlink_to(outside)
    with pytest.raises(InvalidInputError, match="It was moved"):
        files.file_content(library / "in" / "a.ris", (library,))
