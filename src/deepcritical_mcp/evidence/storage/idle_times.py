"""For how long files have not been used, as far as servers have seen it.

Neither the dates of files nor one look at the clock tell: a restored backup has old dates, a clock may be wrong once.
So time counts only while servers look, and of a pause between two looks at most a week. It counts down when the clock
was set back: as much as counted when it was set forward.
"""

from __future__ import annotations

import json
import secrets
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

LONGEST_PAUSE = 7 * 86_400.0
"""Seconds between two looks that count at most."""


class IdleTimes:
    """The file in which the times are kept; without it, or if it cannot be read, all begin anew."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def look(self, now: float, stamps: Mapping[str, float]) -> dict[str, float]:
        """Look at what there is, by name, at Unix time `now`: for how many seconds each has been seen with the stamp
        that it has. What has another stamp than at the last look, or is new, begins at 0.

        Raises:
            OSError: the file cannot be written.
        """
        then, known = self._read()
        passed = min(max(now - then, -LONGEST_PAUSE), LONGEST_PAUSE)
        idle = {
            name: known[name][1] + passed if known.get(name, (None,))[0] == stamp else 0.0
            for name, stamp in stamps.items()
        }
        self._write(now, {name: (stamps[name], idle[name]) for name in stamps})
        return idle

    def begin_anew(self, name: str) -> None:
        """Let the time of a name begin at the next look; raises OSError."""
        then, known = self._read()
        if known.pop(name, None) is not None:
            self._write(then, known)

    def _write(self, at: float, idle: Mapping[str, tuple[float, float]]) -> None:
        text = json.dumps({"at": at, "idle": idle})
        write_private(self._path, json.dumps({"checksum": zlib.crc32(text.encode()), "times": text}))

    def _read(self) -> tuple[float, dict[str, tuple[float, float]]]:
        try:
            if not self._path.is_file():  # a pipe would be waited for
                return float("inf"), {}
            file = cast("dict[str, Any]", json.loads(self._path.read_bytes()))
            if file["checksum"] != zlib.crc32(file["times"].encode()):
                raise ValueError("damaged")
            row = cast("dict[str, Any]", json.loads(file["times"]))
            idle = {name: (float(stamp), float(seconds)) for name, (stamp, seconds) in row["idle"].items()}
            return float(row["at"]), idle
        except (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
            return float("inf"), {}


def write_private(path: Path, text: str) -> None:
    """Write a small file that only its owner can read, whole or not at all.

    Raises:
        OSError: it cannot be written; the earlier one stays.
    """
    new = path.with_name(f"{path.name}-{secrets.token_hex(4)}")
    try:
        new.touch(0o600)
        new.write_text(text, "utf-8")
        new.replace(path)
    except OSError:
        new.unlink(missing_ok=True)
        raise
