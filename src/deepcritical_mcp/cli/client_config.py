"""Adding this server to a client's configuration file, and removing it again."""

from __future__ import annotations

import contextlib
import difflib
import os
import stat
import tempfile
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from deepcritical_mcp.cli import jsonc
from deepcritical_mcp.cli.clients import SERVER_NAME, McpClient, server_entry
from deepcritical_mcp.errors import ConfigurationError

BACKUP_SUFFIX = ".before-deepcritical-mcp"


@dataclass(frozen=True)
class Change:
    """A planned change of a client's configuration file.

    Attributes:
        before: the file's bytes; None if there is no file.
        after: its new bytes; None to delete the file.
        backup: the backup to write; None if there is one already or none is needed.
        deletes_backup: whether the backup is no longer needed.
    """

    client: McpClient
    before: bytes | None
    after: bytes | None
    backup: bytes | None = None
    deletes_backup: bool = False

    @property
    def is_needed(self) -> bool:
        """Whether the file would change."""
        return self.before != self.after


def installation(client: McpClient, env: Mapping[str, str]) -> Change:
    """The change that adds this server to `client`; other values in its entry (keys, flags) are kept.

    Raises:
        ConfigurationError: the file is not valid.
        OSError: the file cannot be read.
    """
    before = _read(client.path)
    text = _text(client, before)
    with _json_errors_reported(client):
        old = _entry(text, client)
        entry = _completed(old, server_entry(client, env))
        after = (
            text
            if old == entry
            else jsonc.with_member(text, [client.key, SERVER_NAME], entry, comments=client.comments)
        )
    needs_backup = before is not None and (old is None or _read(backup_path(client)) is None)
    return Change(client, before, after.encode(), backup=before if needs_backup else None)


def removal(client: McpClient) -> Change:
    """The change that undoes `installation` and keeps anything else that was changed since.

    Raises:
        ConfigurationError: the file is not valid.
        OSError: the file cannot be read.
    """
    before, backup = _read(client.path), _read(backup_path(client))
    if before is None:
        return Change(client, None, None)
    text, earlier = _text(client, before), _text(client, backup)
    path = [client.key, SERVER_NAME]
    with _json_errors_reported(client):
        entry = _entry(earlier, client)
        if entry is not None:
            after = jsonc.with_member(text, path, entry, comments=client.comments)
        else:
            after = jsonc.without_member(text, path, comments=client.comments)
            had_servers = client.key in _document(earlier, client)
            if not had_servers and after != text and _document(after, client).get(client.key) == {}:
                after = jsonc.without_member(after, [client.key], comments=client.comments)
        is_as_before = backup is not None and _document(after, client) == _document(earlier, client)
        is_empty = backup is None and after != text and not _document(after, client)
    if is_as_before:
        return Change(client, before, backup, deletes_backup=True)
    return Change(client, before, None if is_empty else after.encode())


def apply(change: Change) -> None:
    """Write the backup, then the file, each atomically.

    Raises:
        ConfigurationError: the file has changed since it was read.
        OSError: the file cannot be written.
    """
    path, backup = change.client.path, backup_path(change.client)
    if _read(path) != change.before:
        raise ConfigurationError(
            f"{path} changed in the meantime and was left alone. Close {change.client.title}, then try again."
        )
    if change.backup is not None:
        _write(backup, change.backup, like=path)
    if change.after is None:
        path.unlink(missing_ok=True)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(path, change.after, like=path)
    if change.deletes_backup:
        backup.unlink(missing_ok=True)


def diff(change: Change) -> list[str]:
    """The change as lines of a unified diff; values outside our own entry are hidden, since they may be keys."""
    before, after = _shown(change.client, change.before), _shown(change.client, change.after)
    name = str(change.client.path)
    lines = difflib.unified_diff(before, after, fromfile=f"{name} (before)", tofile=f"{name} (after)", lineterm="")
    return [line.rstrip("\r\n") for line in lines]


def backup_path(client: McpClient) -> Path:
    """Where the original file is kept."""
    return client.path.with_name(client.path.name + BACKUP_SUFFIX)


def _completed(old: object, new: dict[str, object]) -> dict[str, object]:
    if not isinstance(old, Mapping):
        return new
    known = cast("Mapping[str, object]", old)
    env = {**_mapping(known.get("env")), **_mapping(new.get("env"))}
    kept = {name: value for name, value in known.items() if name not in ("type", "url", "headers")}
    return {**kept, **new} | ({"env": env} if env else {})


def _mapping(value: object) -> dict[str, object]:
    return dict(cast("Mapping[str, object]", value)) if isinstance(value, Mapping) else {}


def _document(text: str, client: McpClient) -> dict[str, object]:
    return _mapping(jsonc.parse(text, comments=client.comments).value) if text.strip("\ufeff \t\r\n") else {}


def _entry(text: str, client: McpClient) -> object:
    return _mapping(_document(text, client).get(client.key)).get(SERVER_NAME)


def _shown(client: McpClient, content: bytes | None) -> list[str]:
    text = _text(client, content)
    if not text:
        return []
    keep = (0, 0)
    servers = jsonc.parse(text, comments=client.comments).member(client.key)
    ours = servers.element.member(SERVER_NAME) if servers else None
    if ours:
        keep = (ours.start, ours.element.end)
    return jsonc.without_values(text, keep).splitlines(keepends=True)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _text(client: McpClient, content: bytes | None) -> str:
    try:
        return (content or b"").decode()
    except UnicodeDecodeError:
        raise ConfigurationError(f"{client.path} is not UTF-8 text and was left alone.") from None


@contextlib.contextmanager
def _json_errors_reported(client: McpClient) -> Generator[None]:
    try:
        yield
    except jsonc.JsonError as error:
        raise ConfigurationError(
            f"{client.path} is not JSON that {client.title} can read ({error}) and was left alone. Fix the file, then "
            "try again."
        ) from error


def _write(path: Path, content: bytes, *, like: Path) -> None:
    """Write to a temporary file and move it into place; links and permissions are kept."""
    target = path.resolve()
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if like.exists():
            Path(name).chmod(stat.S_IMODE(like.stat().st_mode))
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
