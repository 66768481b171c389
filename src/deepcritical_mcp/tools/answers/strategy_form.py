"""The report on a search strategy as Markdown, and shortened until it fits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from typing import Any

from deepcritical_mcp.models import StrategyPart, StrategyReport, StrategySeed, StrategyTranslation
from deepcritical_mcp.search.strategy.translation import target_name
from deepcritical_mcp.text import clipped, counted, inert, longer_code_marks

SHORT = 60
"""Characters of a line of a report that is too long."""


def strategy_form(report: StrategyReport) -> tuple[str, list[str]]:
    """The heading and the lines of a report."""
    tested = [one for one in report.seeds if not one.detail]
    missed = [one for one in tested if not one.found]
    levels = [[one for one in report.problems if one.level == level] for level in ("error", "remark")]
    facts = [
        counted(report.hits, "record") if report.hits >= 0 else "not counted",
        f"{len(tested) - len(missed)} of {counted(len(tested), 'seed')} found" if tested else "",
        counted(len(levels[0]), "error"),
        counted(len(levels[1]), "remark"),
    ]
    lines = [f"ERROR: {inert(one)}" for one in report.errors]
    lines += [f"PubMed was asked {counted(report.requests, 'time')}."] if report.requests else []
    for heading, some in (("Errors", levels[0]), ("Remarks, as a colleague would ask (PRESS)", levels[1])):
        lines += ["", f"## {heading}"] if some else []
        lines += [f"- {_places(one.line)}: {inert(one.message)}" for one in some]
    if report.seeds:
        found = [one.id for one in report.seeds if one.found]
        lines += ["", "## Seeds", *(line for one in report.seeds if not one.found for line in _seed(one))]
        lines += [f"- found: {inert(', '.join(found))}"] if found else []
    if report.lines:
        lines += ["", "## Records that each line and part finds", *map(_part, report.lines)]
    for one in report.translations:
        lines += ["", *_translation(one)]
    return f"Search strategy: {', '.join(filter(None, facts))}", lines


def _places(line: str) -> str:
    return f"line{'s' * (',' in line)} {line}" if line[:1].isdigit() else f"block {line}"


def _part(one: StrategyPart) -> str:
    return f"- {one.number}: {f'{one.hits:,}' if one.hits >= 0 else 'not counted'} · {inert(one.text)}"


def _seed(one: StrategySeed) -> Iterator[str]:
    told = one.detail or f"MISSED, lost by {', '.join(one.lost_by) or 'an unknown part'}"
    yield f"- {inert(one.id)}: {inert(told)}{f' · {inert(one.title)}' if one.title else ''}"
    if one.words:
        yield f"  would have found it: {inert('; '.join(one.words))}"


def _translation(one: StrategyTranslation) -> Iterable[str]:
    fence = longer_code_marks(one.text, 3)
    lost = [f"- {inert(reason)}" for reason in one.not_translated]
    return (
        f"## For {target_name(one.target)}",
        fence,
        one.text,
        fence,
        *(["Not translated, or different:"] if lost else []),
        *lost,
    )


def fit_strategy(report: StrategyReport, limit: int, length: Callable[[Any], int]) -> StrategyReport:
    """`report` with as many translations as fit, at least one; if that is not enough, with short lines, then with fewer
    lines, problems and seeds, which it says."""
    if length(report) <= limit:
        return report
    count = len(report.translations)
    for short, shown in product((_whole, _brief, _briefest), range(count, min(count, 1) - 1, -1)):
        if length(one := _with(short(report), shown, report)) <= limit:
            return one
    only = _with(_briefest(report), min(count, 1), report)
    room = max(0, limit - length(only.but(translations=())) - SHORT * 20)
    cut = tuple(
        one.but(text=clipped(one.text, room // 2), not_translated=one.not_translated[:3]) for one in only.translations
    )
    note = "The translation is too long for one answer: pass some of the lines at a time."
    return only.but(translations=cut, next_step=f"{note} {only.next_step}")


def _with(short: StrategyReport, shown: int, whole: StrategyReport) -> StrategyReport:
    left = [one.target for one in whole.translations[shown:]]
    note = f"More translations do not fit here: call again with targets={left}. ".replace("'", '"') if left else ""
    return short.but(translations=whole.translations[:shown], next_step=f"{note}{short.next_step}")


def _whole(report: StrategyReport) -> StrategyReport:
    return report


def _brief(report: StrategyReport) -> StrategyReport:
    """Long texts shortened."""
    return report.but(
        lines=tuple(one.but(text=clipped(one.text, SHORT)) for one in report.lines),
        seeds=tuple(one.but(title=clipped(one.title, SHORT), words=one.words[:4]) for one in report.seeds),
        problems=tuple(one.but(message=clipped(one.message, 5 * SHORT)) for one in report.problems),
        errors=_first(report.errors, 10),
    )


def _briefest(report: StrategyReport) -> StrategyReport:
    """The first errors and missed seeds."""
    short = _brief(report)
    problems = [one for one in short.problems if one.level == "error"][:15]
    seeds = [one.but(words=one.words[:2]) for one in sorted(short.seeds, key=lambda one: one.found)[:15]]
    note = (
        f"Left out here: lines, remarks, and all but {len(problems)} errors and {len(seeds)} seeds; test fewer lines."
    )
    brief = {"lines": (), "problems": tuple(problems), "seeds": tuple(seeds), "errors": _first(short.errors, 3)}
    return short.but(**brief, next_step=f"{note} {report.next_step}")


def _first(texts: Sequence[str], most: int) -> tuple[str, ...]:
    return tuple(clipped(one, 5 * SHORT) for one in texts[:most])
