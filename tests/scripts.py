"""The scripts that generate the documentation, as modules."""

import importlib.util
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "scripts"


def script(name: str) -> Any:
    """The module `scripts/<name>.py`."""
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
