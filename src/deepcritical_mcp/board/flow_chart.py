"""The numbers of a PRISMA 2020 flow diagram as the boxes that the page draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from deepcritical_mcp.export.flow_numbers import ExcludedRecords, FlowNumbers

_MOST_REASONS = 8
_REGISTERED = ("database", "register")


class FlowStep(TypedDict):
    """A box and, `aside`, what left the flow there; each a list of lines, () for none."""

    phase: str
    lines: Sequence[str]
    aside: Sequence[str]


class FlowChart(TypedDict):
    """The boxes from top to bottom, and remarks below them."""

    steps: Sequence[FlowStep]
    notes: Sequence[str]


def flow_chart(numbers: FlowNumbers) -> FlowChart:
    """The diagram as far as the session knows its numbers: without decisions it ends where screening begins."""
    undecided = [f"Not decided on (n = {numbers.undecided})"] if numbers.undecided else []
    steps = [
        _step("Identification", _identified(numbers), _removed(numbers)),
        _step("Screening", [f"Records in the session (n = {numbers.records})"], undecided),
    ]
    if numbers.screened:
        left = numbers.screened - sum(one.records for one in numbers.excluded)
        excluded = _excluded("Excluded without a full text", numbers.excluded)
        steps.append(_step("Screening", [f"Records decided on (n = {numbers.screened})"], excluded))
        if numbers.excluded_with_text:
            excluded = _excluded("Excluded, full text in the session", numbers.excluded_with_text)
            steps.append(_step("Eligibility", [f"Records left (n = {left})"], excluded))
        steps.append(_step("Included", _included(numbers)))
    return FlowChart(steps=steps, notes=_notes(numbers))


def _step(phase: str, lines: Sequence[str], aside: Sequence[str] = ()) -> FlowStep:
    return FlowStep(phase=phase, lines=lines, aside=aside)


def _identified(numbers: FlowNumbers) -> list[str]:
    lines = [f"Records identified (n = {numbers.total_identified})"]
    for title, is_registered in (("From databases and registers:", True), ("By other methods:", False)):
        some = [one for one in numbers.identified if (one.source.method in _REGISTERED) == is_registered]
        lines += [title, *(f"– {one.source.name}: {one.records}" for one in some)] if some else []
    return lines


def _removed(numbers: FlowNumbers) -> list[str]:
    counts = {
        "Duplicates": numbers.duplicates,
        "Left out by filters": numbers.left_out,
        "Removed from the session": numbers.removed,
    }
    lines = [f"– {name}: {count}" for name, count in counts.items() if count]
    return [f"Removed before screening (n = {sum(counts.values())})", *lines] if lines else []


def _excluded(title: str, excluded: Sequence[ExcludedRecords]) -> list[str]:
    if not excluded:
        return []
    shown = excluded if len(excluded) <= _MOST_REASONS else excluded[: _MOST_REASONS - 1]
    lines = [f"– {one.reason}: {one.records}" for one in shown]
    rest = excluded[len(shown) :]
    lines += [f"– {len(rest)} other reasons: {sum(one.records for one in rest)}"] if rest else []
    return [f"{title} (n = {sum(one.records for one in excluded)})", *lines]


def _included(numbers: FlowNumbers) -> list[str]:
    lines = [f"Records included (n = {numbers.included})", *_retracted(numbers.retracted_included)]
    lines += [f"Records marked as cited (n = {numbers.cited})"] if numbers.cited else []
    return [*lines, *_retracted(numbers.retracted_cited)]


def _retracted(ids: Sequence[str]) -> list[str]:
    return [f"– retracted of these: {len(ids)}"] if ids else []


def _notes(numbers: FlowNumbers) -> list[str]:
    texts = f"The session has the full text, page or registration of {numbers.retrieved} of {numbers.records} records"
    texts += f"; of {numbers.not_retrieved} it was asked for and not obtained." if numbers.not_retrieved else "."
    decided = "" if numbers.screened else "Nothing has been included or excluded yet, so the diagram ends here."
    undecided = "Whether the records without a decision were screened is not known." if numbers.undecided else ""
    return [line for line in (decided, undecided if numbers.screened else "", texts) if line]
