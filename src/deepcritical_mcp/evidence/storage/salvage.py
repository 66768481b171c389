"""What can be read of a damaged session file, without SQLite: every page is looked at by itself, and what its checksum
proves to be as it was written is kept.

The format: https://www.sqlite.org/fileformat2.html#b_tree_pages
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from deepcritical_mcp.evidence.storage.rows import SessionInfo
from deepcritical_mcp.evidence.storage.session_file import COUNTED, DamagedFileError, Row, RowKind, own_row_of

PAGE_SIZE = 4_096
"""Bytes; SQLite's default, with which all our files are made."""
_INDEX_INNER, _INDEX_LEAF, _TABLE_LEAF = 2, 10, 13
_LEFT_CHILD = 4  # bytes before each cell of an inner page, and more in its header
_COLUMNS, _KEY_COLUMNS = 6, 3
_MAX_PAYLOAD = 2**30

Value = int | bytes | None


@dataclass(frozen=True)
class Salvaged:
    """What is left of a session.

    Attributes:
        info: what it says of itself; None if that is lost.
        rows: what is as it was written, by kind and key.
        lost: the kinds and keys of what is known to be missing.
        lost_count: how many publications and documents are missing, at least.
    """

    info: SessionInfo | None
    rows: Mapping[tuple[str, str], Row]
    lost: Sequence[tuple[str, str]]
    lost_count: int


def salvaged(data: bytes) -> Salvaged:
    """What can be read of the bytes of a session's file. Of a session whose owner is lost, only what belongs to nobody
    in particular."""
    found = [row for record in _records(data, _TABLE_LEAF, _COLUMNS) if (row := _row(record))]
    info, count = None, 0
    for row in (row for row in found if row.kind == "session" and row.is_intact("")):
        try:
            info, count, _ = own_row_of(row.value)
        except DamagedFileError:
            continue
    owner = info.owner if info else ""
    rows: dict[tuple[str, str], Row] = {}
    for row in (row for row in found if row.kind != "session" and row.is_intact(owner)):
        earlier = rows.get((row.kind, row.key))
        if earlier is None or earlier.change <= row.change:
            rows[row.kind, row.key] = row
    keys = itertools.chain.from_iterable(_records(data, kind, _KEY_COLUMNS) for kind in (_INDEX_LEAF, _INDEX_INNER))
    named = {key for record in keys if (key := _key(record))}
    lost = sorted(key for key in named if key[0] in COUNTED and key not in rows)
    there = sum(kind in COUNTED for kind, _ in rows)
    return Salvaged(info, rows, lost, max(count - there, len(lost), 0))


def _records(data: bytes, kind: int, columns: int) -> Iterator[list[Value]]:
    """The records of all pages of a kind that have so many columns."""
    child = _LEFT_CHILD if kind == _INDEX_INNER else 0
    for start in range(0, len(data), PAGE_SIZE):
        at = start + 100 if start == 0 else start  # the first page begins with the file's header
        if data[at : at + 1] != bytes([kind]):
            continue
        for cell in range(int.from_bytes(data[at + 3 : at + 5])):
            place = at + 8 + child + 2 * cell
            offset = int.from_bytes(data[place : place + 2])
            try:
                record = _record(_payload(data, start + offset + child, kind), columns)
            except (IndexError, ValueError):
                continue
            if record is not None:
                yield record


def _payload(data: bytes, at: int, kind: int) -> bytes:
    """The payload of the cell at that place, with what overflows into other pages; raises IndexError or ValueError."""
    size, at = _varint(data, at)
    if size > min(_MAX_PAYLOAD, len(data)):
        raise ValueError
    if kind == _TABLE_LEAF:
        _, at = _varint(data, at)
    most = PAGE_SIZE - 35 if kind == _TABLE_LEAF else (PAGE_SIZE - 12) * 64 // 255 - 23
    if size <= most:
        return data[at : at + size]
    least = (PAGE_SIZE - 12) * 32 // 255 - 23
    here = least + (size - least) % (PAGE_SIZE - 4)
    here = here if here <= most else least
    parts, left = [data[at : at + here]], size - here
    page = int.from_bytes(data[at + here : at + here + 4])
    while left > 0:
        start = (page - 1) * PAGE_SIZE
        if page < 1 or start >= len(data):
            raise ValueError
        parts.append(data[start + 4 : start + 4 + min(left, PAGE_SIZE - 4)])
        left -= PAGE_SIZE - 4
        page = int.from_bytes(data[start : start + 4])
    return b"".join(parts)


def _record(payload: bytes, columns: int) -> list[Value] | None:
    """The values of a record; None if it has another number of columns."""
    end, at = _varint(payload, 0)
    types: list[int] = []
    while at < end and len(types) <= columns:
        one, at = _varint(payload, at)
        types.append(one)
    if len(types) != columns:
        return None
    values: list[Value] = []
    for one in types:
        size = (one - 12) // 2 if one >= 12 else (0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0)[one]
        part = payload[end : end + size]
        if one >= 12:
            values.append(part)
        else:
            values.append({0: None, 8: 0, 9: 1}.get(one, int.from_bytes(part, signed=True)))
        end += size
    return values


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of one to nine bytes, and where it ends; raises IndexError."""
    value = 0
    for place in range(at, at + 8):
        value = value << 7 | data[place] & 0x7F
        if data[place] < 0x80:
            return value, place + 1
    return value << 8 | data[at + 8], at + 9


def _row(record: Sequence[Value]) -> Row | None:
    _, kind, key, change, checksum, value = record
    try:
        named = cast(bytes, kind).decode(), cast(bytes, key).decode("utf-8", "surrogatepass")
    except (AttributeError, UnicodeDecodeError):
        return None
    if not (isinstance(value, bytes) and isinstance(change, int) and isinstance(checksum, int)):
        return None
    return Row(cast("RowKind", named[0]), named[1], change, checksum, value)


def _key(record: Sequence[Value]) -> tuple[str, str] | None:
    try:
        kind, key, _ = record
        return cast(bytes, kind).decode(), cast(bytes, key).decode()
    except (AttributeError, UnicodeDecodeError):
        return None
