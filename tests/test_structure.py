"""The shape of the package: one name for one thing within a package, and imports at the top of modules."""

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "deepcritical_mcp"

# Where an import may stand inside a function, and why.
LATE_IMPORTS = {
    "checking/draft/reading.py": "the reader of LaTeX, a subclass of pylatexenc's, is needed for LaTeX only",
    "search/references/plain_text.py": "as in reading.py",
    "context.py": "build_services is the one lazy door",
    "cli/__init__.py": "each command imports what it needs, so that the server starts quickly",
    "cli/serving.py": "commands that only read settings need not wait for the server",
    "cli/app.py": "each command imports what it needs, so that the server starts quickly",
    "tools/evidence_items.py": "the reader of HTML is needed for texts of one's own only",
    "tools/own_library.py": "the readers of libraries are needed for these only",
    "sources/web/tavily.py": "the reader of Markdown is needed for pages that it read only",
    "cli/quick_start.py": "the SDK is imported while its models are deferred",
}
# Third-party libraries that are optional or take most of a second to import.
HEAVY = {"tavily", "ddgs", "primp", "redis", "onnxruntime", "sentence_transformers", "bibtexparser", "pylatexenc"}


@cache
def _modules() -> dict[str, ast.Module]:
    return {path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text("utf-8")) for path in PACKAGE.rglob("*.py")}


def _late_imports(tree: ast.Module) -> Iterator[str]:
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.ImportFrom):
                    yield node.module or ""
                elif isinstance(node, ast.Import):
                    yield from (name.name for name in node.names)


def test_no_two_public_classes_or_functions_of_a_package_share_a_name() -> None:
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    defined = {(path, one.name) for path, tree in _modules().items() for one in tree.body if isinstance(one, kinds)}
    names = Counter((Path(path).parent, name) for path, name in defined if not name.startswith("_"))
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.long
def test_imports_stand_at_the_top_of_modules() -> None:
    late = {
        f"{name}: {module}"
        for name, tree in _modules().items()
        for module in _late_imports(tree)
        if name not in LATE_IMPORTS and module.partition(".")[0] not in HEAVY
    }
    assert late == set()


def test_modules_stay_short() -> None:
    assert [path.name for path in PACKAGE.rglob("*.py") if len(path.read_text("utf-8").splitlines()) > 500] == []
