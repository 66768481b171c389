"""Time against length for every regular expression of the package, on inputs made to slow it down.

    python bench/patterns.py [--all]

Each pattern meets runs of blanks, combining marks, brackets, quotes, entities, digits and the like, and runs of what
it matches itself, followed by what it does not. A linear pattern takes four times as long for a text four times as
long; a quadratic one sixteen times. Printed are the patterns that need more than a few milliseconds, or `--all`.
`tests/test_patterns.py` fails if one grows faster than the bound.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import pkgutil
import re
import signal
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import deepcritical_mcp

sre_parse: Any = importlib.import_module("re._parser")
LENGTH = 4_000
GROWTH = 4
BOUND = 9.0
"""Between a linear pattern's growth of 4 and a quadratic one's of 16."""
STEADY = 5.0
"""Growth up to `LENGTH` below which nothing is measured further: what passes `BOUND` after it passes 5.8 before, as
a sum of a linear and a quadratic part."""
QUICK = 0.002
"""Seconds at `LENGTH` below which nothing is measured further: a quadratic pattern takes longer."""
METHODS = frozenset("match search fullmatch findall finditer sub subn split".split())
PATIENCE = 20.0
"""Seconds after which a pattern is taken for one that never ends."""
ENDLESS = 99.0
UNITS = (
    " ", "\n", "\t", "\u00a0", "  a", "\u0301", "e\u0301\u0323", "**a ", "**", "*a", "_", "__a", "#", "# ", "`", "`a",
    "&lt;", "&lt;a", "&", "&#", "&#1", "&a", "<", "<a", "<a ", "</", "<!--", "<ERROR>", "<PubmedArticle>", "<PMID",
    "<b>",
    "(", ")", "()", "(a", "( ", "[", "]", "[]", "[a", "[a](",
    "[a](b", "[a](b(c)", "![", "{", "}", '"', '"a', '" ', "'", "''", "“", "’",
    "0", "1", "10.1000/", "10.1000/a.", "1,", "1.", "1-", "2020 ", "2020-", "-", "--",
    "- ", " - ", "–", ".", "..", ". ",
    "a.", "a. ", ",", ", ", "a,", ";", "; ", ":", ": ", "a: ", "/", "//",
    "a/", "\\", "|", " | ", "?", "!", "! ", "=", "a=",
    "%", "%2", "@", "a@", "www.", "http://", "http://a.", "a", "aB", "A", "A ", "Ab ", "a b ", "AND ", "a and ", "NOT ",
    "ß", "é", "中", "。", "Ã\u0080", "+", "~", "^", "$", "``` ", "```json\n", "n't", "x" * 61 + " ",
)  # fmt: skip


END = "\0a"
"""What neither words nor anything else but words may match."""


@dataclass(frozen=True)
class Growth:
    """A pattern's worst input: seconds at `LENGTH`, and by how much they grow when it is `GROWTH` times longer."""

    name: str
    seconds: float
    factor: float
    unit: str
    method: str


def patterns() -> dict[str, tuple[re.Pattern[Any], frozenset[str]]]:
    """Every pattern of the package by its place: values of modules, and literals in calls of `re`; and the methods
    that are called on it."""
    found: dict[str, tuple[re.Pattern[Any], frozenset[str]]] = {}
    sources = set[Any]()
    for info in pkgutil.walk_packages(deepcritical_mcp.__path__, "deepcritical_mcp."):
        if info.name.endswith("__main__"):
            continue
        module = importlib.import_module(info.name)
        tree = ast.parse(Path(cast(str, module.__file__)).read_text(encoding="utf-8"))
        place = info.name.removeprefix("deepcritical_mcp.")
        called = _called(tree)
        names = {target.id for node in tree.body for target in _targets(node)}
        for name in names:
            for number, pattern in enumerate(_compiled(getattr(module, name, None))):
                key = f"{place}.{name}" + (f"[{number}]" if number else "")
                sources.add(pattern.pattern)
                found[key] = (pattern, called.get(name) or called.get("pattern") or frozenset({"search", "fullmatch"}))
        direct = {
            id(one.value): one.attr for one in ast.walk(tree) if isinstance(one, ast.Attribute) and one.attr in METHODS
        }
        for node in ast.walk(tree):
            if _is_call_of_re(node) and isinstance(node.args[0], ast.Constant):
                flags = _flags(node)
                method = direct.get(id(node), node.func.attr)
                if method != "compile" or node.args[0].value not in sources:
                    sources.add(node.args[0].value)
                    methods = frozenset({"search" if method == "compile" else method})
                    found[f"{place}:{node.lineno}"] = (re.compile(node.args[0].value, flags), methods)
    return found


def _is_call_of_re(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and node.func.attr in METHODS | {"compile"}
    )


def _flags(call: Any) -> int:
    return 0 if not any("IGNORECASE" in ast.unparse(one) for one in (*call.args[1:], *call.keywords)) else re.IGNORECASE


def _targets(node: ast.stmt) -> Iterator[ast.Name]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    for target in targets:
        yield from (one for one in ast.walk(target) if isinstance(one, ast.Name))


def _compiled(value: object) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, Mapping):
        for one in (*value, *value.values()):
            yield from _compiled(one)
    elif isinstance(value, tuple | list | set | frozenset):
        for one in cast(Iterable[object], value):
            yield from _compiled(one)


def _called(tree: ast.AST) -> dict[str, frozenset[str]]:
    """The methods used on each name, e.g. `_WORD.findall`."""
    found: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr in METHODS:
            found.setdefault(node.value.id, set()).add(node.attr)
    return {name: frozenset(methods) for name, methods in found.items()}


def samples(pattern: re.Pattern[Any]) -> set[str]:
    """Texts that make the repeats in a pattern run: one match of each part, and of what comes before it."""
    found: set[str] = set()
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")

    def one(tokens: Any) -> str:
        text = ""
        for operator, value in tokens:
            text += part(str(operator), value)
            found.add(text)
        return text

    def part(operator: str, value: Any) -> str:
        match operator:
            case "LITERAL":
                return chr(value)
            case "NOT_LITERAL":
                return "a" if value != ord("a") else "b"
            case "ANY":
                return "a"
            case "IN":
                text = next((some for some in map(member, value) if some), "a")
                found.update(member(some) for some in value)
                if str(value[0][0]) == "NEGATE":
                    found.update("a -")
                    return "a"
                return text
            case "BRANCH":
                texts = [one(branch) for branch in value[1]]
                return texts[0]
            case "SUBPATTERN":
                return one(value[-1])
            case "ATOMIC_GROUP":
                return one(value)
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                least, _, inner = value
                text = one(inner)
                found.add(text)
                return text * max(1, least)
            case "ASSERT" | "ASSERT_NOT":
                one(value[1])
            case _:
                pass
        return ""

    def member(token: Any) -> str:
        match str(token[0]), token[1]:
            case "LITERAL", value:
                return chr(value)
            case "RANGE", (low, _):
                return chr(low)
            case "CATEGORY", value:
                kinds = {"DIGIT": "1", "SPACE": " ", "WORD": "a", "NOT_SPACE": "a", "NOT_WORD": "-", "NOT_DIGIT": "a"}
                return kinds.get(str(value).removeprefix("CATEGORY_").removeprefix("UNI_"), "a")
            case _:
                return ""

    found.add(
        one(
            sre_parse.parse(
                source, pattern.flags & ~re.UNICODE if isinstance(pattern.pattern, bytes) else pattern.flags
            )
        )
    )
    return {text for text in found if text and len(text) <= 80}


def inputs(pattern: re.Pattern[Any]) -> Iterator[tuple[str, str, str]]:
    """Start, unit to repeat, end."""
    own = sorted(samples(pattern))
    for unit in (*UNITS, *own):
        yield "", unit, END
    for start in sorted(own, key=len)[-12:]:
        for unit in {*own[-12:], " ", "a", "1", "-", "a "}:
            yield start, unit, END


def seconds(pattern: re.Pattern[Any], method: str, text: str) -> float:
    subject: Any = text if isinstance(pattern.pattern, str) else text.encode()
    began = time.thread_time()
    with _at_most(PATIENCE):
        _run(pattern, method, subject)
    return time.thread_time() - began


def _run(pattern: re.Pattern[Any], method: str, subject: Any) -> None:
    if method in ("sub", "subn"):
        getattr(pattern, method)("" if isinstance(subject, str) else b"", subject)
    elif method == "finditer":
        for _ in pattern.finditer(subject):
            pass
    else:
        getattr(pattern, method)(subject)


@contextmanager
def _at_most(limit: float) -> Iterator[None]:
    """Raises `TimeoutError` in a pattern that takes longer, where the system has such a timer (not on Windows)."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def timed(pattern: re.Pattern[Any], method: str, start: str, unit: str, end: str, length: int) -> float:
    return seconds(pattern, method, start + unit * (length // len(unit)) + end)


def _measured(pattern: re.Pattern[Any], method: str, start: str, unit: str, end: str) -> tuple[float, float]:
    """Seconds at `LENGTH` and the growth, 1 if it was too quick to tell or grew linearly so far."""
    before = timed(pattern, method, start, unit, end, LENGTH // GROWTH)
    if before < QUICK / GROWTH**2:  # nine of ten: not even a quadratic one would reach `QUICK`
        return GROWTH * before, 1.0
    at = timed(pattern, method, start, unit, end, LENGTH)
    if at < QUICK or at < STEADY * before:
        return at, 1.0
    if at > 1.0:
        return at, ENDLESS
    factor = timed(pattern, method, start, unit, end, GROWTH * LENGTH) / at
    if factor > BOUND:  # once more, in case the machine was busy with something else
        at = min(at, timed(pattern, method, start, unit, end, LENGTH))
        factor = timed(pattern, method, start, unit, end, GROWTH * LENGTH) / at
    return at, factor


def growth(name: str, pattern: re.Pattern[Any], methods: Iterable[str]) -> Growth:
    """The worst of all inputs; `ENDLESS` if it does not come to an end within `PATIENCE`."""
    worst = Growth(name, 0.0, 1.0, "", "")
    for start, unit, end in inputs(pattern):
        for method in methods:
            try:
                at, factor = _measured(pattern, method, start, unit, end)
            except TimeoutError:
                return Growth(name, PATIENCE, ENDLESS, unit, method)
            if factor == 1.0 == worst.factor and at > worst.seconds:
                worst = Growth(name, at, 1.0, unit, method)
            if factor > worst.factor:
                worst = Growth(name, at, factor, unit, method)
            if factor > BOUND:
                return worst
    return worst


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="the quick ones too")
    options = parser.parse_args()
    for name, (pattern, methods) in sorted(patterns().items()):
        found = growth(name, pattern, methods)
        if options.all or found.factor > BOUND:
            print(
                f"{name:58} {found.seconds * 1000:9.2f} ms x{found.factor:5.1f} {found.method:9} {found.unit!r}",
                flush=True,
            )


if __name__ == "__main__":
    main()
