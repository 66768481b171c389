"""What the check of a search strategy returns."""

from __future__ import annotations

from typing import Literal

from deepcritical_mcp.models.publication import Value

Target = Literal["ovid", "embase", "central", "scopus", "wos", "cinahl", "europepmc"]
"""Databases for which a strategy can be written."""


class StrategyPart(Value):
    """A line of a strategy, "3", or a part of one that AND joins or NOT excludes, "B": its beginning, and how many
    records it finds; absent if that was not counted."""

    number: str
    text: str
    hits: int = -1


class StrategySeed(Value):
    """A record that the strategy should find. Of one that it does not find, the lines and blocks that lose it, words of
    its record that would have found it, by block, and why it could not be tested."""

    id: str
    title: str = ""
    found: bool
    lost_by: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    detail: str = ""


class StrategyProblem(Value):
    """Something wrong in a line, or in several ("2, 3"), what it does, and what to do; a "remark" is a question."""

    line: str
    kind: str
    message: str
    level: Literal["error", "remark"] = "error"


class StrategyTranslation(Value):
    """A strategy for another database; `not_translated` names what it lacks, or finds otherwise."""

    target: Target
    text: str
    not_translated: tuple[str, ...] = ()


class StrategyReport(Value):
    """What was found out about a strategy.

    Attributes:
        hits: what the whole finds in PubMed; absent if that is unknown.
        lines: then what AND joins and NOT excludes in the whole, unless that is a line.
        requests: how often PubMed was asked; answers of the same day may come from the cache.
        errors: what could not be asked.
    """

    session_id: str
    hits: int = -1
    lines: tuple[StrategyPart, ...] = ()
    seeds: tuple[StrategySeed, ...] = ()
    problems: tuple[StrategyProblem, ...] = ()
    translations: tuple[StrategyTranslation, ...] = ()
    requests: int = 0
    errors: tuple[str, ...] = ()
    next_step: str = ""
