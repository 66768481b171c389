"""Run the README's two set-up lines exactly as written, each without an existing environment."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path


def setup_lines(readme: str) -> list[str]:
    """The two lines, each the only content of a code block marked `sh` whose line makes a virtual environment."""
    blocks = re.findall(r"```sh\n(.+?)\n```", readme, flags=re.DOTALL)
    return [block for block in blocks if block.startswith("python3 -m venv") and "\n" not in block]


def main() -> int:
    lines = setup_lines(Path("README.md").read_text(encoding="utf-8"))
    if len(lines) != 2:
        print(f"expected two set-up lines in README.md, found {len(lines)}")
        return 1
    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    for line in lines:
        shutil.rmtree(".venv", ignore_errors=True)
        print(f"$ {line}", flush=True)
        code = subprocess.run(line, shell=True, env=environment, check=False).returncode
        if code:
            print(f"exit code {code}")
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
