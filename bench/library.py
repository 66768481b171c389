"""How long a file of a reference manager takes to come in, next to a bare reader, and whether others wait meanwhile.

    python bench/library.py export.ris […]

Each file is brought into a session of its own, on disk, until its records are found by their words; their embedding
goes on in the background, and the services that would confirm their numbers are not asked. The bare reader splits the
file into lines, takes what stands behind each tag of RIS, and puts the records into a table of SQLite with an index of
words: no identity, no dates, no names, no duplicates. Stalls of the event loop are measured while the file comes in,
and while idle for as long.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from deepcritical_mcp.config import Settings
from deepcritical_mcp.context import AppContext
from deepcritical_mcp.deadline import no_progress
from deepcritical_mcp.memory import settle
from deepcritical_mcp.search.library.files import UserFiles
from store import Stalls, texts

TAG = re.compile(r"([A-Z][A-Z0-9]) {1,2}- ?(.*)")


def entries(text: str) -> Iterator[dict[str, str]]:
    entry = dict[str, str]()
    tag = ""
    for line in text.splitlines():
        if found := TAG.match(line):
            tag, value = found.groups()
            if tag == "ER":
                yield entry
                entry = {}
            entry[tag] = f"{entry.get(tag, '')}\n{value}"
        elif tag:
            entry[tag] += f" {line.strip()}"


def bare(path: Path, folder: Path) -> float:
    """Seconds of the bare reader."""
    began = time.perf_counter()
    with closing(sqlite3.connect(folder / "bare.sqlite3")) as database, database:
        database.execute("CREATE VIRTUAL TABLE IF NOT EXISTS record USING fts5(title, abstract, rest)")
        found = ([one.get("TI") or one.get("T1"), one.get("AB") or one.get("N2")] for one in entries(path.read_text()))
        database.executemany("INSERT INTO record VALUES (?, ?, '')", found)
    return time.perf_counter() - began


async def measured(path: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        app = AppContext(Settings(data_dir=folder / "data", cache_dir=folder / "cache"))
        services = await app.services()
        store = await services.sessions.open(title=path.name)
        await store.add_evidence(texts(1, seed=1))  # the model is loaded, as in a server that has answered before
        await store.search_similar("the first one")
        settle()  # as a server does that has warmed up
        stalls, idle = Stalls(), Stalls()
        began = time.perf_counter()
        watch = asyncio.create_task(stalls.watch())
        told = await services.library.bring_in(UserFiles(str(path), folders=None), store, no_progress)
        seconds = time.perf_counter() - began
        watch.cancel()
        await app.aclose()
        watch = asyncio.create_task(idle.watch())
        await asyncio.sleep(seconds)
        watch.cancel()
        plain = bare(path, folder)
        print(f"{path.name}: read {told[0].read:,}, new {told[0].new:,}, not read {len(told[0].unread)}")
        print(
            f"  found by their words after {seconds:.1f} s; the bare reader {plain:.2f} s: {seconds / plain:.0f} times"
        )
        print(f"  longest stall {stalls.longest * 1_000:.0f} ms; while idle {idle.longest * 1_000:.0f} ms")


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    for path in parser.parse_args().files:
        await measured(path)


if __name__ == "__main__":
    asyncio.run(main())
