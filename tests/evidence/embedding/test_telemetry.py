"""onnxruntime has telemetry of its own, which must stay off."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_EMBED = """
import anyio
from deepcritical_mcp.evidence.embedding.service import EmbeddingService
print(len(anyio.run(EmbeddingService().embed, "text")))
"""


def test_embedding_leaves_no_trace_of_telemetry_in_the_home_folder(tmp_path: Path):
    environment = {name: value for name, value in os.environ.items() if "XDG" not in name}
    environment |= {"HOME": str(tmp_path), "USERPROFILE": str(tmp_path)}
    environment.pop("ORT_DISABLE_TELEMETRY", None)
    done = subprocess.run(
        [sys.executable, "-c", _EMBED], env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "384\n"
    assert done.stderr == ""
    assert [path.name for path in tmp_path.rglob("*")] == []
