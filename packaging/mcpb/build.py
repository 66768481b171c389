"""Builds the MCPB bundle, which desktop clients install with one click.

    python packaging/mcpb/build.py [-o deepcritical-mcp.mcpb]

Needs Node with npx: the official `@anthropic-ai/mcpb` validates the manifest and packs the bundle.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MCPB = ["npx", "--yes", "@anthropic-ai/mcpb@^2"]
CONTENTS = ("pyproject.toml", "README.md", "LICENSE", "src")


def pack(output: Path) -> None:
    """Write the bundle to `output`; raises CalledProcessError if the official tool fails."""
    with tempfile.TemporaryDirectory() as folder:
        bundle = Path(folder) / "bundle"
        bundle.mkdir()
        for name in CONTENTS:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, bundle / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
            else:
                shutil.copy2(source, bundle / name)
        shutil.copy2(Path(__file__).with_name("manifest.json"), bundle / "manifest.json")
        subprocess.run([*MCPB, "validate", str(bundle / "manifest.json")], check=True)
        subprocess.run([*MCPB, "pack", str(bundle), str(output.resolve())], check=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, default=Path("deepcritical-mcp.mcpb"))
    try:
        pack(parser.parse_args().output)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"could not build the bundle: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
