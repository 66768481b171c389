"""Print how large each package is, and fail if the whole is larger than pyproject.toml allows.

    python scripts/size.py

A code line is neither blank nor a comment, nor part of a docstring or an import. The limit is `code-lines` of
`[tool.deepcritical]`: a change may raise it only with a line in the changelog that says for what.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "deepcritical_mcp"


def code_lines(source: str, tree: ast.Module) -> int:
    """How many lines of a module are code."""
    left_out = {place for node in ast.walk(tree) for place in _lines_without_code(node)}
    lines = enumerate(source.splitlines(), start=1)
    return sum(
        bool(line.strip()) and not line.strip().startswith("#") and place not in left_out for place, line in lines
    )


def _lines_without_code(node: ast.AST) -> Iterator[int]:
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    if isinstance(node, ast.Import | ast.ImportFrom) or is_text:
        assert isinstance(node, ast.stmt)
        yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


def patterns(tree: ast.Module) -> int:
    """How many regular expressions a module compiles."""
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    return sum(
        isinstance(call, ast.Attribute)
        and call.attr == "compile"
        and isinstance(call.value, ast.Name)
        and call.value.id == "re"
        for call in calls
    )


def main() -> int:
    found: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for path in sorted(PACKAGE.rglob("*.py")):
        source = path.read_text("utf-8")
        tree = ast.parse(source)
        row = found[path.parent.relative_to(PACKAGE).as_posix()]
        for place, number in enumerate((1, code_lines(source, tree), patterns(tree))):
            row[place] += number
    every = [
        *sorted(found.items(), key=lambda one: -one[1][1]),
        ("all", [sum(x) for x in zip(*found.values(), strict=True)]),
    ]
    for name, (modules, code, expressions) in every:
        sys.stdout.write(f"{name:24s} {modules:4d} modules {code:6d} code lines {expressions:4d} patterns\n")
    limit = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["deepcritical"]["code-lines"]
    if every[-1][1][1] > limit:
        sys.stdout.write(
            f"more than {limit} code lines: remove some, or raise code-lines and say in the changelog for what\n"
        )
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
