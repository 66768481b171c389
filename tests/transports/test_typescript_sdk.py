"""The server behind the TypeScript SDK 1.x, on which many hosts are built: a real client, a real process."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from deepcritical_mcp.tools import PROFILES, Profile
from tests.cli.conftest import settings_for
from tests.cli.providers import providers_on_loopback

HOST = Path(__file__).parents[1] / "board" / "host"
SESSION: dict[str, object] = {"session_id": "$session"}
UNKNOWN: dict[str, object] = {"session_id": "rs_" + "0" * 32}
SUCCESSES: dict[str, dict[str, object]] = {
    "pubmed_search": {"query": "zinc"},
    "preprint_search": {"query": "zinc"},
    "trial_search": {"condition": "wounds"},
    "web_search": {"query": "zinc"},
    "expand_queries": {"topic": "zinc in wound repair"},
    "semantic_search": {"query": "zinc"},
    "add_evidence": {"items": [{"content": "A note on zinc."}, {"content": "Zinc.", "source": "pubmed", "pmid": "99"}]},
    "get_full_text": {"id": "11"},
    "check_citations": {"text": "Zinc closes wounds [1].\n\n## References\n\n1. PMID: 11\n2. PMID: 9999999\n"},
    "get_evidence": {"ids": ["pubmed:11"], "about": "zinc"},
    "pubmed_related": {"pmid": "11"},
    "check_strategy": {"strategy": "zinc[tiab] AND wound*[tiab]"},
    "list_evidence": {},
    "list_sessions": {"query": "zinc"},
    "export_evidence": {"format": "bibtex"},
    "clear_session": SESSION,
}
FAILURES: dict[str, tuple[dict[str, object], str]] = {
    "pubmed_search": ({}, "query is required"),
    "preprint_search": ({"query": "x", "min_date": "soon"}, "min_date"),
    "trial_search": ({}, "query, condition"),
    "web_search": ({"query": "x", **UNKNOWN}, "unknown or has expired"),
    "expand_queries": ({"topic": " "}, "must not be blank"),
    "semantic_search": ({"query": "x", **UNKNOWN}, "unknown or has expired"),
    "add_evidence": ({"items": []}, "at least 1 item"),
    "check_citations": ({"text": "draft.md"}, "is the name of a file"),
    "get_full_text": ({"id": "how do wounds heal"}, "is not a PMID"),
    "get_evidence": ({"ids": []}, "at least 1 item"),
    "pubmed_related": ({"pmid": "one"}, "is not a PMID"),
    "check_strategy": ({"strategy": " "}, "strategy"),
    "list_evidence": (UNKNOWN, "unknown or has expired"),
    "list_sessions": ({"offset": -1}, "offset"),
    "export_evidence": ({"format": "bibtex", "ids": ["pubmed:5"]}, "nothing to export"),
    "clear_session": ({}, "session_id is required"),
}

OFFERED = [spec.name for spec in PROFILES["research"]]


def called(folder: Path, profile: Profile, *calls: tuple[str, dict[str, object]]) -> list[dict[str, Any]]:
    """What the client got for each call."""
    node = shutil.which("node")
    if node is None or not (HOST / "node_modules" / "@modelcontextprotocol" / "sdk").exists():
        pytest.skip("the host's packages are not installed (npm install --no-package-lock in tests/board/host)")
    with providers_on_loopback() as address:
        settings = {**settings_for(address, folder), "HOME": str(folder), "PATH": os.environ["PATH"]}
        server = (sys.executable, "-m", "deepcritical_mcp", "serve", "--profile", profile)
        done = subprocess.run(
            [node, "sdk1.js", json.dumps(calls), *server],
            cwd=HOST,
            env=settings,
            capture_output=True,
            timeout=120,
            check=True,
        )
    return json.loads(done.stdout)


def text(result: dict[str, Any]) -> str:
    return result["content"][0]["text"]


def test_every_result_and_every_error_reaches_the_client(tmp_path: Path) -> None:
    calls = [*((name, SUCCESSES[name]) for name in OFFERED), *((name, FAILURES[name][0]) for name in OFFERED)]
    results = called(tmp_path, "research", *calls)
    for (name, arguments), result in zip(calls, results, strict=True):
        assert "thrown" not in result, (name, arguments, result)
    for name, result in zip(OFFERED, results, strict=False):
        assert not result.get("isError"), (name, text(result))
        assert result["fits"], name
    for name, result in zip(OFFERED, results[len(OFFERED) :], strict=True):
        told = FAILURES[name][1]
        assert result["isError"]
        assert told in text(result), (name, text(result))
        assert told in result["structuredContent"]["error"]["message"]


def test_both_tools_of_the_two_tool_profile_reach_the_client(tmp_path: Path) -> None:
    found, fetched, refused = called(
        tmp_path, "search-fetch", ("search", {"query": "zinc"}), ("fetch", {"id": "x"}), ("search", {})
    )
    assert [hit["title"] for hit in found["structuredContent"]["results"]]
    assert "pass the id of a search result" in text(fetched)
    assert "query is required" in text(refused)
