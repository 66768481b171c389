"""Parts of a topic of which one is enough: lists, examples, and what is tried for either of two diseases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from deepcritical_mcp.search.expansion.operands import EXAMPLES, JOINING, Operand, tree_kind
from deepcritical_mcp.search.expansion.roles import is_adjective

_COMBINED = ("combin", "concomitant", "interact", "together")


def grouped_parts(parts: Sequence[Operand]) -> list[Operand]:
    """The parts, with those of which one is enough as one: what "or" joins, a list of three of a kind, examples of a
    class, two drugs that nothing combines, and two diseases that something is tried for ("SSRIs for anxiety and
    depression")."""
    subjects = [one for one in parts if one.role == "subject"]
    combined = any(word.startswith(_COMBINED) for one in parts for word in one.text.lower().split())

    def is_choice(run: Sequence[Operand]) -> bool:
        is_apart = run[0].before != "between" and len(subjects) > len(run) and not combined
        is_and = {one.before for one in run[1:]} == {"and"}
        is_tried_for = is_apart and (
            run[0].is_drug or (is_and and run[0].is_disease and run[0].before in ("for", "in", "of"))
        )
        return len(run) > 2 or not {one.before for one in run[1:]} <= {",", "and"} or is_tried_for

    # "Seasonal or perennial rhinitis", "renal and cardiac toxicity".
    pairs = zip(parts, [*parts[1:], None], strict=False)
    parts = [
        replace(one, role="modifier")
        if other and other.before in JOINING and one.concept is None and all(map(is_adjective, one.text.split()))
        else one
        for one, other in pairs
    ]
    found: list[Operand] = []
    for run in runs(parts):
        found += [either_of(run)] if len(run) > 1 and is_choice(run) else run
    return found


def runs(parts: Sequence[Operand]) -> Iterator[Sequence[Operand]]:
    """The parts by the lists that they stand in."""
    place = stop = 0
    while (place := stop) < len(parts):
        stop = place + 1
        while stop < len(parts) and _goes_on(parts[place:stop], parts[stop]):
            stop += 1
        yield parts[place:stop]


def either_of(run: Sequence[Operand]) -> Operand:
    """Some parts of which one is enough."""
    every = [one for part in run for one in part.either or (part,)]
    text = " or ".join(one.text for one in every)
    return replace(run[0], text=text, either=tuple(replace(one, before="") for one in every), concept=None, beside=())


def _goes_on(run: Sequence[Operand], other: Operand) -> bool:
    """Whether a part goes on with a list: joined to it, and of the same kind or of none that is known. A negation and
    what is compared stand alone."""
    first = run[0]
    is_either = other.before == "or" and {first.role, other.role} == {"subject", "group"}
    if first.is_negation or other.is_negation or other.is_compared or (first.role != other.role and not is_either):
        return False
    kinds = {tree_kind(one) for one in (*run, other)} - {""}
    is_same = len(kinds) == 1 and bool(tree_kind(other) and tree_kind(first))
    if other.before == ";":  # "antibiotics: amoxicillin, doxycycline", but not a disease and its outcomes
        return is_same and tree_kind(first) == "D"
    if other.before in EXAMPLES or other.before.startswith("and ") or (other.before == "of" and run[1:]):
        return is_same
    return other.before in JOINING and len(kinds) < 2 and (bool(kinds) or other.before in ("or", "and/or"))
