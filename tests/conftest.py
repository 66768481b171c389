"""What holds for all tests."""

import json
import os
import shutil
import sys
from functools import cache
from typing import Any

import httpx
import jsonschema
import pytest
from hypothesis import HealthCheck, settings

from deepcritical_mcp.evidence.embedding.service import ShippedModel

# However busy the machine is: no example fails for the time that it takes.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("patient"), max_examples=25)

_made_anew = httpx.create_ssl_context


@cache
def _made_once(*arguments: Any) -> Any:
    return _made_anew(*arguments[:3])


def _ssl_context(verify: Any = True, cert: Any = None, trust_env: bool = True) -> Any:
    files = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    return _made_once(verify, cert, trust_env, *files)


# Each client of httpx reads the same 140 certificates again, which takes longer than most tests.
vars(sys.modules["httpx._transports.default"])["create_ssl_context"] = _ssl_context

# A process of tests loads the model once, however many servers it makes.
pytest.MonkeyPatch().setattr(ShippedModel, "load", cache(ShippedModel.load))

_check_anew = jsonschema.Draft202012Validator.check_schema
_checked = set[str]()


def _check_once(schema: Any) -> None:
    written = json.dumps(schema)
    if written not in _checked:
        _check_anew(schema)
        _checked.add(written)


# Each client of the SDK would check the schemas of the same tools again, for a third of the time of its test.
pytest.MonkeyPatch().setattr(jsonschema.Draft202012Validator, "check_schema", staticmethod(_check_once))

LONGEST = (
    *("test_patterns", "test_passages", "test_freezes", "test_deletion", "test_locked_files", "test_stdio"),
    *("test_sessions", "test_check", "test_full_texts_recorded", "test_budget", "test_demo"),
    *("test_damage", "test_install", "test_recorded_citations", "test_turns", "test_old_sessions", "test_shutdown"),
    *("test_typescript_sdk", "test_current_status", "test_chroma_access"),
)
"""Files that take long, most of them with the tests that are marked so, the longest first. Several processes that
share the tests by files would wait for one that begins last."""


def pytest_configure(config: pytest.Config) -> None:
    """Properties are tried with a quarter of the examples in a run without the long tests."""
    settings.load_profile("quick" if "not long" in config.option.markexpr else "patient")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One more than cores, as many tests wait for processes; none if files are named on the command line."""
    if config.args_source is pytest.Config.ArgsSource.ARGS:
        return 0
    return min(4, (os.cpu_count() or 1) + 1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    order = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.stem, len(order)))


@pytest.fixture
def no_server_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests of what `doctor` says about other servers do without the two seconds in which it starts ours each time."""
    monkeypatch.setattr(sys, "executable", shutil.which("false") or sys.executable)
