"""What is wrong or missing in a strategy, as far as the strategy itself shows it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import cache
from typing import Literal, cast

from deepcritical_mcp.data_files import data_lines, data_table
from deepcritical_mcp.models.strategies import StrategyProblem
from deepcritical_mcp.search.expansion.blocks import plural
from deepcritical_mcp.search.expansion.phrases import is_drug, is_symbol, singular
from deepcritical_mcp.search.expansion.roles import is_never_noun
from deepcritical_mcp.search.expansion.word_lists import word_list
from deepcritical_mcp.search.strategy.lines import Strategy, concept_terms
from deepcritical_mcp.search.strategy.syntax import (
    LIMITING,
    MAX_DEPTH,
    Flaw,
    Group,
    Reference,
    Term,
    Tree,
    references,
    terms,
)
from deepcritical_mcp.text import other_spelling

MAX_NAMED = 8
"""Terms that one problem names."""
LEAST_TRUNCATED = 4
"""Characters before "*" (PubMed's user guide)."""
_NEAR_FIELDS = ("tiab", "ti", "ab", "ad")
_WITH_HUMANS = ("human", "humans", "animals")
# What other databases write, and lists of words by commas; headings have commas and slashes of their own.
_FOREIGN = re.compile(
    r"[?$#]|(?<!\w)['‘]|\b(?:near|adj|next)/?\d|\b(?:w|pre)/\d|\bxor\b|^[,;]|/$|\bexp\s", re.IGNORECASE
)
_OPERATOR_WORDS = frozenset(("or", "not"))
_ROWS = {
    kind: (level, message) for kind, level, message in (row.split("\t") for row in data_lines(__file__, "problems.txt"))
}
_LIMITS = [row.split("\t") for row in data_lines(__file__, "limits.txt")]
KINDS = tuple(_ROWS)
"""Of problems, the gravest first."""
_COUNTABLE = frozenset(" ".join(data_lines(__file__, "countable.txt")).split())
SUBHEADINGS = data_table(__file__, "subheadings.txt")


def problem(kind: str, line: str, what: str = "", advice: str = "", hint: str = "") -> StrategyProblem:
    """A problem of a line, in the words of `problems.txt`."""
    level, message = _ROWS[kind]
    told = message.format(what=what, advice=advice, hint=hint).strip()
    return StrategyProblem(line=line, kind=kind, message=told, level=cast(Literal["error", "remark"], level))


def named(found: Iterable[object]) -> str:
    """Some terms, each once, and how many more there are."""
    every = list(dict.fromkeys(map(str, found)))
    more = f" and {len(every) - MAX_NAMED} more" if len(every) > MAX_NAMED else ""
    return f"{', '.join(every[:MAX_NAMED])}{more}"


def form_problems(strategy: Strategy) -> Iterator[StrategyProblem]:
    """Errors of form, line by line."""
    for place, line in enumerate(strategy.lines):
        found = (
            *line.flaws,
            *(flaw for term in terms(line.tree) for flaw in _flaws(term)),
            *(() if strategy.places[line.number] else _inverted(strategy, line.tree)),
        )
        alike: dict[tuple[str, str], list[Flaw]] = {}
        for flaw in found:
            alike.setdefault((flaw.kind, flaw.advice), []).append(flaw)
        for (kind, advice), flaws in alike.items():
            hint = _like(flaws[0]) if kind == "unknown_tag" else ""
            yield problem(kind, line.number, named(flaw.what for flaw in flaws), advice, hint)
        known = [one.number for one in strategy.lines]
        named_lines = dict.fromkeys(references(line.tree))
        if missing := [f"#{one}" for one in named_lines if one not in known]:
            yield problem("missing_line", line.number, named(missing))
        if later := [f"#{one}" for one in named_lines if one in known[place:]]:
            yield problem("circular_line", line.number, named(later))
    if strategy.captions:
        yield problem("caption", "", named(strategy.captions))
    if strategy.filters:
        yield problem("history_filters", "", named(strategy.filters))
    if strategy.is_numbered and not any(any(references(line.tree)) for line in strategy.lines):
        yield problem("not_combined", strategy.whole.number)
    elif unused := [line.number for line in strategy.lines if line.number not in strategy.used]:
        yield problem("unused_line", ", ".join(unused))


def _flaws(term: Term) -> Iterator[Flaw]:
    """What is wrong in a single term."""
    words, shown = term.text.split(), str(term)
    if term.near >= 0 and ("*" in term.text or term.field not in _NEAR_FIELDS or not term.quoted):
        yield Flaw("proximity_field", shown)
    elif "*" in term.text:
        if re.search(r"(?<!\w)\*\w", term.text):
            yield Flaw("left_truncation", shown)
        elif len(words) == 1 and len(term.text) <= LEAST_TRUNCATED:
            yield Flaw("short_truncation", shown)
        elif term.field in ("mh", "majr") and term.explodes:
            yield Flaw("truncated_heading", shown)
        elif term.quoted:
            yield Flaw("quoted_truncation", shown)
    name = term.text if term.field == "sh" else term.text.partition("/")[2] if term.field in ("mh", "majr") else ""
    if name and not subheading(name):
        yield Flaw("unknown_subheading", shown, name)
    if term.is_free and (_FOREIGN.search(term.text) or (not term.quoted and any(one[-1] in ",;" for one in words))):
        yield Flaw("foreign_sign", shown)
    if not term.quoted and not {*words[1:-1]}.isdisjoint(_OPERATOR_WORDS if term.tag else _OPERATOR_WORDS | {"and"}):
        yield Flaw("lower_case_operator", shown)


def subheading(name: str) -> str:
    """The name of a subheading, from its name or its two letters in any spelling; "" if it is none."""
    plain = " ".join(name.lower().replace("&", " and ").split())
    return (
        plain
        if plain in SUBHEADINGS
        else next((one for one, row in SUBHEADINGS.items() if row[:2] == name.upper()), "")
    )


def _inverted(strategy: Strategy, tree: Tree | None) -> Iterator[Flaw]:
    """What NOT excludes although studies in humans have it: "humans", or "animals" with all below it, as people are."""
    if not isinstance(tree, Group):
        return
    for one in tree.items[:1] if tree.operator == "NOT" else tree.items:
        yield from _inverted(strategy, one)
    if tree.operator == "NOT" and not any(_is_animals(one) for one in _single(strategy, tree.items[0])):
        found = (term for one in tree.items[1:] for term in _single(strategy, one))
        yield from (Flaw("not_humans", f"NOT {one}") for one in found if _is_animals(one))


def _is_animals(term: Term) -> bool:
    is_heading = (term.field in ("mh", "sb") and term.explodes) or not term.tag
    return is_heading and term.heading.lower() in _WITH_HUMANS


def _single(strategy: Strategy, tree: Tree | None, depth: int = 0) -> Iterator[Term]:
    """The terms of which each alone is enough to be found, also through the numbers of lines."""
    if isinstance(tree, Term):
        yield tree
    elif isinstance(tree, Group) and tree.operator == "OR":
        for one in tree.items:
            yield from _single(strategy, one, depth)
    elif isinstance(tree, Reference) and (line := strategy.by_number.get(tree.number)) and depth < MAX_DEPTH:
        yield from _single(strategy, line.tree, depth + 1)


@cache
def _tags() -> tuple[str, ...]:
    return (*sorted(word_list("subject fields")), *sorted(word_list("other fields")))


def _like(flaw: Flaw) -> str:
    """The field tag that is nearest to an unknown one."""
    near = get_close_matches(flaw.advice.strip("[] ").lower(), _tags(), n=1, cutoff=0.6)
    return f"Did you mean [{near[0]}]?" if near else "Correct the tag, or leave it out."


def press_problems(strategy: Strategy) -> Iterator[StrategyProblem]:
    """What a colleague would ask: about the parts that AND joins, and about limits."""
    joined, excluded = strategy.blocks()
    for name, tree in excluded.items():
        yield from _limits(name.lstrip("#"), [*terms(strategy.resolved(tree))], "NOT")
    for part, tree in joined.items():
        name = part.lstrip("#")
        resolved = strategy.resolved(tree)
        found = [*concept_terms(resolved)]
        limits = [*_limits(name, found, "AND"), *_limits(name, found, "ALONE")]
        yield from limits
        if not limits and not any(term.field in LIMITING for term in found):
            yield from _concept(name, found)
    for line in strategy.lines:
        bare = [term for term in terms(line.tree) if not term.tag and not term.text.lower().startswith("hasabstract")]
        if bare:
            yield problem("no_field", line.number, named(bare))


def _limits(name: str, found: Sequence[Term], where: str) -> Iterator[StrategyProblem]:
    """The limits among the terms of a part; of one that AND joins, only if it is nothing else."""
    for field, pattern, place, advice in _LIMITS:
        fitting = [
            term
            for term in found
            if (term.field or "all") == field and re.fullmatch(pattern, term.heading, re.IGNORECASE)
        ]
        if place == where and fitting and (where == "NOT" or len(fitting) == len(found)):
            yield problem("limit", name, named(fitting), hint=advice)


def _concept(name: str, found: Sequence[Term]) -> Iterator[StrategyProblem]:
    """What one concept lacks: a heading, free words, spellings, numbers; what it has twice."""
    free = [term for term in found if term.is_free]
    headings = [term for term in found if term.is_heading]
    if free and not headings:
        yield problem("no_heading", name, f"{named(free[:3])}{' …' if free[3:] else ''}")
    if headings and not free:
        yield problem("no_free_words", name, f"{named(headings[:3])}{' …' if headings[3:] else ''}")
    known = _Known(free)
    for kind, lacking in (("spelling", _other_spelling), ("number", _other_number)):
        others = ((term.text, lacking(term)) for term in free if term.tag)
        if lacks := [f"{text} ({other})" for text, other in others if other and not known.finds(other.rstrip("*"))]:
            yield problem(kind, name, named(lacks))
    times = Counter(str(term).lower().replace('"', "") for term in found)
    if twice := [text for text, count in times.items() if count > 1]:
        yield problem("repeated", name, named(twice))


class _Known:
    """The free words of a part."""

    def __init__(self, free: Sequence[Term]) -> None:
        texts = {term.text.lower() for term in free if term.text.strip("*")}
        self._whole = {text for text in texts if "*" not in text}
        self._beginnings = [f" {text.rstrip('*')}" for text in texts if text.endswith("*")]

    def finds(self, text: str) -> bool:
        """Whether one of them finds these words: the same, some of them, or their beginning truncated."""
        words = text.split()
        runs = (" ".join(words[start:end]) for end in range(1, len(words) + 1) for start in range(end))
        return any(run in self._whole for run in runs) or any(one in f" {text}" for one in self._beginnings)


def _other_spelling(term: Term) -> str:
    """The term as the British spell it if it is American, or the other way round; "" if there is one spelling only."""
    stem = term.text.lower().rstrip("*")
    other = other_spelling(stem)
    if other == stem:
        return ""
    return f"{other}*" if term.text.endswith("*") else other


def _other_number(term: Term) -> str:
    """The singular of a plural, or the plural of a noun that surely has one; not of names."""
    text, (*before, last) = term.text.lower(), (term.text.split() or [""])
    if not last.isalpha() or "'" in text or last.isupper() or is_symbol(last) or is_drug(last) or term.near >= 0:
        return ""
    one = singular(last.lower())
    if last.lower() in _COUNTABLE:
        one = plural(last.lower())
    elif one == last.lower() or one.endswith(("a", "i", "u", "oe")) or is_never_noun(one):
        return ""
    return other if (other := " ".join((*before, one)).lower()) != text else ""
