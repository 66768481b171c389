"""The cache on disk: shared by processes, limited, and never a reason for a call to fail."""

import logging
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from deepcritical_mcp.net.cache import Cache, cache_key

VALUE = bytes(range(256)) * 6
ROOM = 10**9


def keys(count: int) -> list[bytes]:
    return [cache_key("model", "document", str(number)) for number in range(count)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache.sqlite3"


def test_values_are_kept_for_the_next_process(tmp_path: Path) -> None:
    path = tmp_path / "not" / "there" / "cache.sqlite3"
    wanted = keys(1200)  # more than one statement can name
    writer = Cache(path, max_bytes=ROOM)
    writer.put(dict.fromkeys(wanted, VALUE))
    writer.close()
    assert Cache(path, max_bytes=ROOM).get([*wanted, b"unknown"]) == dict.fromkeys(wanted, VALUE)


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
def test_only_the_owner_can_read_the_files_and_the_folders_made_for_them(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "new" / "folder" / "cache.sqlite3", max_bytes=ROOM)
    before = os.umask(0)
    try:
        cache.put({b"key": VALUE})
    finally:
        os.umask(before)
    made = [tmp_path / "new", *(tmp_path / "new").rglob("*")]
    assert len(made) > 3  # with the write-ahead log
    assert [oct(one.stat().st_mode & 0o077) for one in made] == ["0o0"] * len(made)


def test_two_processes_share_a_file_and_lose_nothing(path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from deepcritical_mcp.net.cache import Cache\n"
        "cache = Cache(Path(sys.argv[1]), max_bytes=10**9, timeout=30)\n"
        "for number in range(200): cache.put({f'{sys.argv[2]} {number}'.encode(): b'value'})\n"
        "cache.close()"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, str(path), name]) for name in ("left", "right")]
    assert [writer.wait(timeout=60) for writer in writers] == [0, 0]
    wanted = [f"{name} {number}".encode() for name in ("left", "right") for number in range(200)]
    assert set(Cache(path, max_bytes=ROOM).get(wanted)) == set(wanted)
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in files here")
def test_what_is_not_a_file_or_cannot_be_made_is_reported_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("not a folder")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("folder", "pipe"):
        cache = Cache(tmp_path / name, max_bytes=ROOM, timeout=0.01)
        cache.put({b"key": VALUE})
        assert cache.get([b"key"]) == {}
    caplog.clear()
    cache = Cache(tmp_path / "file" / "cache.sqlite3", max_bytes=ROOM)
    for key in keys(3):
        cache.put({key: VALUE})
        assert cache.get([key]) == {}
        assert cache.clear() == 0
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert str(tmp_path) not in caplog.text


def _not_a_database(path: Path) -> None:
    path.write_bytes(b"something else entirely " * 400)


def _other_tables(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE entries (number INTEGER)")
    database.close()


def _broken_pages(path: Path) -> None:
    cache = Cache(path, max_bytes=ROOM)
    cache.put(dict.fromkeys(keys(100), VALUE))
    cache.close()
    content = path.read_bytes()
    path.write_bytes(content[:4_096] + b"\x55" * (len(content) - 4_096))


@pytest.mark.parametrize("damage", [_not_a_database, _other_tables, _broken_pages])
def test_a_damaged_file_is_replaced(damage: object, path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert callable(damage)
    damage(path)
    cache = Cache(path, max_bytes=ROOM)
    assert cache.get(keys(100)) == {}
    cache.put({b"key": VALUE})
    assert cache.get([b"key"]) == {b"key": VALUE}
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


def test_a_file_that_another_process_writes_to_for_long_is_not_waited_for(path: Path) -> None:
    cache = Cache(path, max_bytes=ROOM, timeout=0.01)
    cache.put({b"kept": VALUE})
    other = sqlite3.connect(path)
    other.execute("BEGIN IMMEDIATE")
    cache.put({b"lost": VALUE})
    assert cache.get([b"kept", b"lost"]) == {b"kept": VALUE}
    other.rollback()
    other.close()
    cache.put({b"late": VALUE})
    assert cache.get([b"late"]) == {b"late": VALUE}


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
def test_a_full_disk_loses_values_and_nothing_else(path: Path) -> None:
    code = (
        "import resource, sys; from pathlib import Path\n"
        "from deepcritical_mcp.net.cache import Cache\n"
        "cache = Cache(Path(sys.argv[1]), max_bytes=10**9); cache.put({b'early': b'value'})\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "for number in range(300): cache.put({str(number).encode(): bytes(1536)})\n"
        "print(cache.get([b'early']), len(cache.get([str(n).encode() for n in range(300)])))"
    )
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, str(path)], capture_output=True, text=True, timeout=60, check=True
    )
    kept, count = ended.stdout.rsplit(" ", 1)
    assert kept == "{b'early': b'value'}"
    assert 0 < int(count) < 300
    assert ended.stderr.count("cannot be used now") == 1
