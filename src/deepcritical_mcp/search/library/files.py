"""Files that a user names, and which of them may be read: regular ones inside folders that a setting names."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit
from urllib.request import url2pathname

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.text import clipped

MAX_BYTES = 50 * 1024**2
"""Of one file."""
MAX_FILES = 1_000
"""Of one folder, with those within it."""
_SETTING = "DEEPCRITICAL_IMPORT_DIRS"


class UserFiles(NamedTuple):
    """What a user wants to have in a session.

    Attributes:
        name: the path of a file or folder, or the name of the file that has this `content`.
        tags: what is put on all that comes of it.
        folders: those that may be read, None for a user in a shell; see `permitted_files`.
    """

    name: str
    content: str = ""
    tags: tuple[str, ...] = ()
    folders: tuple[Path, ...] | None = ()


def is_zotero(given: str) -> bool:
    """Whether this names the user's Zotero, or a collection there ("zotero:Name"), in place of a file."""
    return given.partition(":")[0].strip().lower() == "zotero"


def permitted_files(given: str, folders: Sequence[Path] | None) -> list[Path]:
    """The file at a path, or all files of the folder there, in the order of their names; hidden ones are left out.
    `folders` are those that may be read, None for a user who names the file in a shell.

    Raises:
        InvalidInputError: it does not exist, or must not be read; the message says what to do.
    """
    if folders is not None and not folders:
        raise InvalidInputError(
            f"Files cannot be read on this server: {_SETTING} names no folder. Set it to the folder of your library, "
            "restart the server, and pass the file again; or pass the file's text as content."
        )
    shown, path = clipped(given, 200), _as_path(given)
    try:
        path = path.expanduser()
        places = [path] if path.is_absolute() or folders is None else [folder / path for folder in folders]
        found = next((place.resolve(strict=True) for place in places if os.path.lexists(place)), None)
        allowed = [folder.resolve() for folder in folders or ()]
    except (OSError, RuntimeError, ValueError):  # a loop of links, a name that no file can have
        found, allowed = None, []
    is_inside = folders is None or (found and any(found.is_relative_to(one) for one in allowed))
    if found is None or not is_inside:
        # Whether a file exists elsewhere is nobody's business.
        where = ", ".join(map(str, folders or ()))
        inside = f"in the folders that {_SETTING} names ({where})" if folders else "there"
        raise InvalidInputError(f"{shown}: there is no such file or folder {inside}.")
    if not found.is_dir():
        return [found]
    walked = (
        Path(place, name)
        for place, inner, names in os.walk(found)
        for name in (inner.sort(), *sorted(names))[1:]  # in the order of their names, also within folders
        if not name.startswith(".") and not any(part.startswith(".") for part in Path(place).relative_to(found).parts)
    )
    files = [*islice((one for one in walked if not one.is_symlink()), MAX_FILES + 1)]
    if not files:
        raise InvalidInputError(f"{shown} has no files.")
    if len(files) > MAX_FILES:
        raise InvalidInputError(f"{shown} has more than {MAX_FILES:,} files: pass a folder inside it, or single files.")
    return files


def _as_path(given: str) -> Path:
    """The path in a text that may be in quotation marks or an address of a file."""
    bare = given.strip().strip("\"'")
    is_address = bare.lower().startswith("file://")
    return Path(url2pathname(urlsplit(bare).path) if is_address else bare)


def file_content(path: Path, folders: Sequence[Path] | None) -> bytes:
    """The content of a file that `permitted_files` gave for these `folders`.

    Raises:
        InvalidInputError: it is not a regular file, is too large, or cannot be read.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(path, flags), "rb") as file:
            opened = os.fstat(file.fileno())
            if not stat.S_ISREG(opened.st_mode):
                raise InvalidInputError("It is not a file but a device or the like.")
            # A folder on the way may have been replaced by a link since it was looked at.
            place = path.resolve(strict=True)
            is_inside = folders is None or any(place.is_relative_to(one.resolve()) for one in folders)
            if not is_inside or not os.path.samestat(opened, place.stat()):
                raise InvalidInputError("It was moved while it was read.")
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise InvalidInputError(f"It cannot be read: {error.strerror or type(error).__name__}.") from error
    if len(content) > MAX_BYTES:
        raise InvalidInputError(f"It has more than {MAX_BYTES // 1024**2} MB.")
    return content
