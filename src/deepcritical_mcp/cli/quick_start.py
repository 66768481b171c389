"""A faster start of the SDK, for our own command only: importing this package does not change the SDK."""

from __future__ import annotations

import gc
import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec, module_from_spec
from typing import Any

import pydantic

THREAD_SAFE = (2, 14)
"""The first pydantic in which two threads may use a model at once that is not built yet: it builds under a lock."""


@contextmanager
def quick_start() -> Generator[None]:
    """Import the SDK within it: most of its some 500 models are never used, and each is built on its first use.

    This is pydantic's `defer_build`, as if the SDK's models were declared with it; with an SDK that declares it itself,
    it changes nothing. Imports leave no garbage, so the collector is off meanwhile.
    """
    major, minor = (int(part) for part in pydantic.VERSION.split(".")[:2])
    is_known = major == THREAD_SAFE[0] and minor >= THREAD_SAFE[1] and version("mcp").startswith("2.")
    defer = is_known and "defer_build" not in pydantic.BaseModel.model_config
    collects = gc.isenabled()
    gc.disable()
    if defer:
        pydantic.BaseModel.model_config["defer_build"] = True  # which each class inherits when it is declared
    try:
        yield
    finally:
        if defer:
            del pydantic.BaseModel.model_config["defer_build"]
        if collects:
            gc.enable()


def import_sdk() -> None:
    """Import the SDK's server with `quick_start`, without its client, and without its logging, which would load rich
    for nothing: the command has set up its own."""
    for package in ("mcp", "httpx2"):  # the first one imports the client, the second one is for the client
        put_off(package)
    with quick_start():
        from mcp.server.mcpserver import server

    if hasattr(server, "configure_logging"):
        server.configure_logging = _configured  # pyright: ignore[reportPrivateImportUsage]


def put_off(package: str) -> None:
    """Let a package's submodules be imported without its `__init__`, which runs when one of its names is first used."""
    spec = find_spec(package)
    if package in sys.modules or spec is None or spec.loader is None:
        return
    loader, module = spec.loader, module_from_spec(spec)

    def load(name: str) -> Any:
        del module.__getattr__
        loader.exec_module(module)
        return getattr(module, name)

    module.__getattr__ = load
    sys.modules[package] = module


def _configured(level: str = "") -> None:
    """In place of the SDK's `configure_logging`."""
