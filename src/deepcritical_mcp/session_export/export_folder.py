"""Exports in a folder of the user: under names that every system takes, whole or not at all, never over another."""

from __future__ import annotations

import filecmp
import os
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path

from deepcritical_mcp.dates import current_date
from deepcritical_mcp.errors import ExportFileError
from deepcritical_mcp.session_export.whole_export import WholeExport
from deepcritical_mcp.text import normalized

MAX_TITLE = 50
"""Characters of a session's title in a file name; four bytes each at most, and 255 bytes are a name everywhere."""
MAX_OF_ONE_NAME = 1_000
_PART = ".export-"


def export_name(title: str, session_id: str, whole: WholeExport) -> str:
    """The name of a file: the session's title (else the beginning of its id), the format and the day (UTC)."""
    plain = normalized("NFC", title)
    words = re.sub(r"[^\w-]", " ", plain)[: 4 * MAX_TITLE].split()
    about = " ".join(words)[:MAX_TITLE].strip(" -_") or session_id[:11]
    request = whole.request
    kind = f"{request.style} bibliography" if request.style and _is_name(request.style) else request.format
    return f"{about} {kind} {current_date().isoformat()}{request.file_type.suffix}"


def save_export(folder: Path, name: str, whole: WholeExport) -> tuple[Path, int]:
    """Write an export into `folder` under `name`, or under "name (2)" if another file has that; gives its path and
    size in bytes. A file of that name with the same content is left as it is, and given. For a worker thread.

    Raises:
        ExportFileError: it cannot be written; nothing of it is left.
    """
    part: Path | None = None
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = _written(folder, whole.chunks, "utf-8-sig" if whole.request.output == "csv" else "utf-8")
        path = _placed(part, folder / name)
        return path, path.stat().st_size
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ExportFileError(
            f"The export could not be written into {folder}: {reason}. Nothing of it was left there. Make room or "
            "another folder available (DEEPCRITICAL_EXPORTS_DIR names it), or leave save out: the text then comes in "
            "parts."
        ) from error
    finally:
        if part is not None:
            part.unlink(missing_ok=True)


def _is_name(style: str) -> bool:
    return re.fullmatch(r"[\w-]{1,30}", style) is not None


def _written(folder: Path, chunks: Iterable[str], encoding: str) -> Path:
    """A new file, on disk and not only in memory."""
    handle, name = tempfile.mkstemp(prefix=_PART, dir=folder)
    try:
        with open(handle, "w", encoding=encoding, errors="replace", newline="") as file:
            file.writelines(chunks)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return Path(name)


def _placed(part: Path, wanted: Path) -> Path:
    """The final path of `part`. Its name is reserved first by an empty file, so that only one of two writers gets it
    and no other file is replaced."""
    for number in range(1, MAX_OF_ONE_NAME):
        path = wanted if number == 1 else wanted.with_name(f"{wanted.stem} ({number}){wanted.suffix}")
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            if path.is_file() and filecmp.cmp(path, part, shallow=False):
                return path
            continue
        try:
            os.replace(part, path)
        except OSError:
            path.unlink(missing_ok=True)
            raise
        return path
    raise FileExistsError(0, f"there are {MAX_OF_ONE_NAME - 1} files of this name already")
