"""Reports that must fit into answers."""

from collections.abc import Iterable

import pytest

from deepcritical_mcp.checking.report_text import brief, report_from, report_text
from deepcritical_mcp.models import (
    CheckedClaim,
    CheckedQuotation,
    CheckedReference,
    CitationReport,
    Finding,
    findings_of,
)
from deepcritical_mcp.tools.answers.budget import fit
from deepcritical_mcp.tools.answers.structured import wire_length
from tests.checking.reports import ALTERED, WRITTEN, claim, differing, report, retracted, verified


def longest(part: CitationReport) -> int:
    return max(len(report_text(part)), wire_length(part))


def parts(whole: CitationReport, limit: int) -> list[CitationReport]:
    """The answers that a client gets who asks for one part after another."""
    shown = [fit(whole, limit, longest)]
    while shown[-1].next_offset >= 0:
        rest = report_from(whole, shown[-1].next_offset, len(findings_of(whole)))
        shown.append(fit(rest, limit, longest))
    return shown


def names(findings: Iterable[Finding]) -> list[str]:
    return [one.sentence if isinstance(one, CheckedClaim) else f"{type(one).__name__} {one.index}" for one in findings]


def draft(sound: int, claims: int) -> CitationReport:
    findings: list[Finding] = [retracted(1), differing(2), ALTERED]
    findings += [verified(n) for n in range(3, 3 + sound)]
    findings += [claim(f"Zinc heals wound {n} [2].") for n in range(claims)]
    return report(findings, references=2 + sound, checked=2 + sound)


@pytest.mark.parametrize("limit", [2_000, 8_000, 32_000])
def test_parts_fit_and_have_each_finding_once(limit: int) -> None:
    whole = draft(200, 40)
    shown = parts(whole, limit)
    assert names([one for part in shown for one in findings_of(part)]) == names(findings_of(whole))
    assert all(longest(part) <= limit for part in shown)
    assert all(part.counts == whole.counts for part in shown)


def test_two_hundred_sound_references_take_one_answer_and_one_line() -> None:
    (part,) = parts(brief(draft(200, 0)), 32_000)
    assert "\nVerified: references 3–202.\n" in report_text(part)
    assert part.model_dump(mode="json")["references"][-1] == {
        "index": 202,
        "verdict": "verified",
        "record": {"id": "pubmed:202"},
    }


def test_fields_that_are_empty_are_left_out() -> None:
    bare = report(
        [
            CheckedReference(index=1, written=WRITTEN, verdict="not_found"),
            CheckedQuotation(index=1, quote="Zinc heals.", verdict="not_found"),
            CheckedClaim(sentence="Zinc heals.", references=(1,)),
        ]
    ).model_dump(mode="json")
    (reference,), (quotation,), (sentence,) = bare["references"], bare["quotations"], bare["claims"]
    assert reference == {"index": 1, "written": WRITTEN, "verdict": "not_found"}
    assert quotation == {"index": 1, "quote": "Zinc heals.", "verdict": "not_found"}
    assert sentence == {"sentence": "Zinc heals.", "references": [1]}


def test_a_report_that_fits_is_whole() -> None:
    whole = draft(20, 2)
    assert fit(whole, 32_000, longest) is whole


def test_a_part_says_what_is_left_and_how_to_get_it() -> None:
    first, *_ = parts(draft(200, 40), 8_000)
    assert first.next_step.startswith("Not shown here: ")
    assert "findings: check_citations with the same text, offset=" in first.next_step
    assert f"offset={first.next_offset}." in first.next_step


def test_a_call_for_what_was_not_checked_yet_is_for_what_is_not_shown_instead() -> None:
    unfinished = draft(200, 0).model_copy(update={"next_offset": 203, "next_step": "Go on: the same text, offset=203."})
    first = fit(unfinished, 8_000, longest)
    assert first.next_step.count("offset=") == 1
    assert f"Go on: the same text, offset={first.next_offset}." in first.next_step


@pytest.mark.parametrize("limit", [2_000, 32_000])
def test_a_single_finding_that_is_too_long_is_shortened(limit: int) -> None:
    huge = differing(corrected=WRITTEN * 1_000).model_copy(update={"written": WRITTEN * 1_000})
    noisy = report([huge, verified(2)]).model_copy(
        update={
            "warnings": tuple(WRITTEN * 9 for _ in range(90)),
            "unread": tuple(f"not one work: {WRITTEN}" for _ in range(900)),
        }
    )
    first, second = parts(noisy, limit)
    assert longest(first) <= limit
    assert (len(first.references), len(second.references)) == (1, 1)
    assert any("Shortened here" in one for one in first.warnings)
