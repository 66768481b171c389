"""Exports that are saved: in a folder of the user, under names that every system takes, whole or not at all, never over
another; or in the session for clients elsewhere, which read them as resources: compressed, the latest few.

And the latest news as text, which can be read again: each piece of news is told only once."""

from __future__ import annotations

import base64
import filecmp
import os
import re
import tempfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from anyio.to_thread import run_sync

from deepcritical_mcp.dates import current_date
from deepcritical_mcp.errors import ExportFileError, InvalidInputError
from deepcritical_mcp.models import Value
from deepcritical_mcp.session_export.whole_export import WholeExport
from deepcritical_mcp.text import inert, normalized

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.store import EvidenceStore
    from deepcritical_mcp.models import News

MAX_KEPT = 8
MAX_KEPT_COMPRESSED = 16_000_000
"""Characters that a session keeps of all its exports."""
MAX_CHARACTERS = 20_000_000
MAX_COMPRESSED = 4_000_000
"""Characters that a session keeps of one export; BibTeX of 10,000 records takes some 2 million."""
_LIST = "exports"
_LAST_NEWS = "last-news"
MAX_TITLE = 50
"""Characters of a session's title in a file name; four bytes each at most, and 255 bytes are a name everywhere."""
MAX_OF_ONE_NAME = 1_000
_PART = ".export-"


class KeptExport(Value):
    """One of the exports that a session keeps: the document `place` has it, in so many characters when packed."""

    name: str
    media_type: str
    size: int
    place: str
    packed: int = 0


class _KeptExports(Value):
    exports: tuple[KeptExport, ...] = ()


async def keep_export(store: EvidenceStore, name: str, whole: WholeExport) -> tuple[KeptExport, tuple[str, ...]]:
    """Keep an export in the session under its name, in place of an earlier one of that name, and give it, its `size` in
    bytes; also give the names of the oldest, which had to go because there were too many or they were too large.

    Raises:
        InvalidInputError: it is too large to be kept.
        EvidenceStoreError: the session cannot be written.
    """
    packed, size = await run_sync(_packed, whole, abandon_on_cancel=True)
    kept = await listed_exports(store)
    earlier = [one for one in kept if one.name != name]
    others = earlier[-(MAX_KEPT - 1) :]
    while len(packed) + sum(one.packed for one in others) > MAX_KEPT_COMPRESSED:
        del others[0]
    place, media_type = f"export:{name}", whole.request.file_type[1]
    added = KeptExport(name=name, media_type=media_type, size=size, place=place, packed=len(packed))
    await store.keep_document(place, packed)
    await store.keep_document(_LIST, _KeptExports(exports=(*others, added)).model_dump_json())
    written = {*await store.documents("export:")}  # also one that an interrupted call left without an entry
    for left in (written | {one.place for one in kept}) - {one.place for one in (*others, added)}:
        await store.keep_document(left, "")
    return added, tuple(one.name for one in earlier if one not in others)


async def kept_export(store: EvidenceStore, name: str) -> str | None:
    """The text of the export of that name; None if the session does not keep it, or no longer.

    Raises:
        ExportFileError: it is damaged.
    """
    found = next((one for one in await listed_exports(store) if one.name == name), None)
    if found is None:
        return None
    packed = await store.document(found.place)
    try:
        return await run_sync(lambda: zlib.decompress(base64.b85decode(packed)).decode(), abandon_on_cancel=True)
    except (ValueError, zlib.error) as error:
        raise ExportFileError("This export is damaged: export_evidence with save=true makes it again.") from error


async def listed_exports(store: EvidenceStore) -> tuple[KeptExport, ...]:
    """The exports that a session keeps, the latest last."""
    kept = await store.document(_LIST)
    return _KeptExports.model_validate_json(kept).exports if kept else ()


def _packed(whole: WholeExport) -> tuple[str, int]:
    compressor, parts, size = zlib.compressobj(), list[bytes](), 0
    for chunk in whole.chunks if whole.size <= MAX_CHARACTERS else ():
        data = chunk.encode(errors="replace")
        size += len(data)
        parts.append(compressor.compress(data))
    packed = base64.b85encode(b"".join((*parts, compressor.flush()))).decode()
    if not parts or len(packed) > MAX_COMPRESSED:
        raise InvalidInputError(
            f"The export of {whole.count:,} records has {whole.size:,} characters, which is too much to be kept here. "
            "Leave abstracts out, choose records with ids or marked, or leave save out: the text then comes in parts."
        )
    return packed, size


async def told_news(store: EvidenceStore, news: News) -> str:
    """The news as Markdown, which is also kept in the session, so that `last_news` can read later parts of it."""
    told = [f"- {inert(one.line)}" for one in news.items], [f"- Not asked: {inert(one)}" for one in news.errors]
    text = "\n".join("".join(f"{line}\n" for line in lines) for lines in ([inert(news.summary)], *told) if lines)
    await store.keep_document(_LAST_NEWS, text)
    return text


async def last_news(store: EvidenceStore) -> str:
    """The text of `told_news`, as it was told last; "" if there was none."""
    return await store.document(_LAST_NEWS)


def export_name(title: str, session_id: str, whole: WholeExport) -> str:
    """The name of a file: the session's title (else the beginning of its id), the format and the day (UTC)."""
    plain = normalized("NFC", title)
    words = re.sub(r"[^\w-]", " ", plain)[: 4 * MAX_TITLE].split()
    about = " ".join(words)[:MAX_TITLE].strip(" -_") or session_id[:11]
    request = whole.request
    is_named = re.fullmatch(r"[\w-]{1,30}", request.style)
    kind = f"{request.style} bibliography" if is_named else request.format
    return f"{about} {kind} {current_date().isoformat()}{request.file_type[0]}"


def save_export(folder: Path, name: str, whole: WholeExport) -> tuple[Path, int]:
    """Write an export into `folder` under `name`, or under "name (2)" if another file has that; gives its path and
    size in bytes. A file of that name with the same content is left as it is, and given. For a worker thread.

    Raises:
        ExportFileError: it cannot be written; nothing of it is left.
    """
    part: Path | None = None
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        encoding = "utf-8-sig" if whole.request.output == "csv" else "utf-8"
        with tempfile.NamedTemporaryFile(
            "w", prefix=_PART, dir=folder, delete=False, encoding=encoding, errors="replace", newline=""
        ) as file:
            part = Path(file.name)
            file.writelines(whole.chunks)
            file.flush()
            os.fsync(file.fileno())  # on disk, and not only in memory
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
