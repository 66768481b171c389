"""Vectors kept in memory and in a file."""

from __future__ import annotations

import logging
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from deepcritical_mcp.evidence.embedding.vector_cache import FileCache, MemoryCache, cache_key

VECTOR = bytes(range(256)) * 6


def keys(count: int) -> list[bytes]:
    return [cache_key("model", "document", str(number)) for number in range(count)]


def test_a_key_depends_on_the_model_the_kind_and_the_text() -> None:
    different = {
        cache_key("a", "document", "text"),
        cache_key("b", "document", "text"),
        cache_key("a", "query", "text"),
        cache_key("a", "document", "text "),
        cache_key("a", "document", "\ud800"),
    }

    assert len(different) == 5
    assert cache_key("a", "document", "text") in different


def test_memory_drops_what_was_used_longest_ago_when_it_is_full() -> None:
    cache = MemoryCache(limit=3 * len(VECTOR))
    first, second, third, fourth = keys(4)
    cache.put({first: VECTOR, second: VECTOR, third: VECTOR})

    cache.get([first])
    cache.put({fourth: VECTOR})

    assert set(cache.get(keys(4))) == {first, third, fourth}


def test_a_vector_put_twice_takes_its_room_once() -> None:
    cache = MemoryCache(limit=2 * len(VECTOR))
    first, second = keys(2)

    for _ in range(5):
        cache.put({first: VECTOR})
    cache.put({second: VECTOR})

    assert set(cache.get([first, second])) == {first, second}


def test_a_file_keeps_vectors_for_the_next_process(tmp_path: Path) -> None:
    path = tmp_path / "not" / "there" / "vectors.sqlite3"
    wanted = keys(1200)  # more than one statement can name
    writer = FileCache(path)
    writer.put(dict.fromkeys(wanted, VECTOR))
    writer.close()

    reader = FileCache(path)
    assert reader.get([*wanted, b"unknown"]) == dict.fromkeys(wanted, VECTOR)
    reader.close()


def test_two_processes_share_a_file(tmp_path: Path) -> None:
    path = tmp_path / "vectors.sqlite3"
    code = (
        "import sys; from pathlib import Path; from deepcritical_mcp.evidence.embedding.vector_cache import FileCache\n"
        "cache = FileCache(Path(sys.argv[1]))\n"
        "for number in range(200): cache.put({f'{sys.argv[2]} {number}'.encode(): b'vector'})\n"
        "cache.close()"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, str(path), name]) for name in ("left", "right")]
    assert [writer.wait(timeout=60) for writer in writers] == [0, 0]

    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    (count,) = connection.execute("SELECT count(*) FROM vectors").fetchone()
    connection.close()
    assert 200 < count <= 400  # one that had to wait too long may have let a vector go


def test_a_full_file_drops_its_oldest_vectors(tmp_path: Path) -> None:
    cache = FileCache(tmp_path / "vectors.sqlite3", limit=5)
    stored = keys(12)
    for key in stored:
        cache.put({key: VECTOR})

    assert list(cache.get(stored)) == stored[-5:] or set(cache.get(stored)) == set(stored[-5:])
    cache.close()


def test_a_file_that_cannot_be_made_is_reported_once_and_does_no_harm(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("no folder")
    cache = FileCache(tmp_path / "file" / "vectors.sqlite3")

    for key in keys(3):
        cache.put({key: VECTOR})
        assert cache.get([key]) == {}

    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    cache.close()


def test_a_file_that_is_no_database_is_reported_once_and_left_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "vectors.sqlite3"
    path.write_bytes(b"something else entirely " * 100)
    cache = FileCache(path)

    cache.put({b"key": VECTOR})
    assert cache.get([b"key"]) == {}
    cache.close()

    assert len(caplog.records) == 1
    assert path.read_bytes().startswith(b"something else")


def test_a_file_that_another_process_writes_to_for_long_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "vectors.sqlite3"
    cache = FileCache(path)
    cache.put({b"kept": VECTOR})
    other = sqlite3.connect(path)
    other.execute("BEGIN IMMEDIATE")

    cache.put({b"lost": VECTOR})

    assert cache.get([b"kept", b"lost"]) == {b"kept": VECTOR}
    other.rollback()
    other.close()
    cache.put({b"late": VECTOR})
    assert cache.get([b"late"]) == {b"late": VECTOR}
    cache.close()


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
def test_a_full_disk_loses_vectors_and_nothing_else(tmp_path: Path) -> None:
    code = (
        "import resource, sys; from pathlib import Path\n"
        "from deepcritical_mcp.evidence.embedding.vector_cache import FileCache\n"
        "cache = FileCache(Path(sys.argv[1])); cache.put({b'early': b'vector'})\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "for number in range(300): cache.put({str(number).encode(): bytes(1536)})\n"
        "print(cache.get([b'early']), len(cache.get([str(n).encode() for n in range(300)])))"
    )

    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, str(tmp_path / "vectors.sqlite3")],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    kept, count = ended.stdout.rsplit(" ", 1)
    assert kept == "{b'early': b'vector'}"
    assert 0 < int(count) < 300
    assert ended.stderr.count("vectors are not kept") == 1
