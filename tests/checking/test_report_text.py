"""The report as a person reads it, and as it fits into answers."""

import re
from collections.abc import Iterable

import pytest
from markdown_it import MarkdownIt

from deepcritical_mcp.checking.report_text import RANKS, brief, rank_of, report_text
from deepcritical_mcp.models import (
    CheckedClaim,
    CheckedQuotation,
    CheckedReference,
    CitationReport,
    Finding,
    ReferenceProblem,
    findings_of,
    with_findings,
)
from deepcritical_mcp.tools.answers.budget import fit
from deepcritical_mcp.tools.answers.structured import wire_length
from tests.checking.reports import ALTERED, CORRECTED, WRITTEN, claim, differing, record, report, retracted, verified
from tests.tools.test_inert import ATTACKS, HARMLESS, tokens

LISTS = {"bullet_list_open", "bullet_list_close", "list_item_open", "list_item_close"}
OURS = {
    "heading_open", "heading_close", "blockquote_open", "blockquote_close", "strong_open", "strong_close", "fence",
    *LISTS,
}  # fmt: skip


def test_the_first_line_sums_up() -> None:
    shown = report_text(report([], references=42, checked=40, verified=34, differs=3, not_found=1, retracted=2))
    assert shown.startswith(
        "# 42 references: 2 retracted, 3 differing from the record, 1 not found, 34 verified, 2 not checked yet\n"
    )


def test_what_is_grave_is_told_in_full_and_what_is_sound_on_one_line() -> None:
    shown = report_text(report([retracted(1), differing(2), ALTERED, verified(3), verified(4)]))
    headings = re.findall("^## (.+)", shown, re.MULTILINE)
    assert headings == ["Retracted", "Differs from the record", "Altered quotations", "Verified"]
    assert "  - Retraction: J Zinc. 2021 Jan;8(1):3 PMID 99\n" in shown
    assert "- [doe2018] (reference 2) pubmed:2: " in shown
    assert (
        "  - year: written “2018”, the record has “2020”\n  - pages: not written, the record has “11-9” (minor)"
        in shown
    )
    assert (
        "  - Corrected, to paste:\n    > ```\n    > Doe J, Roe R. Zinc in wound repair: a trial. J Zinc. 2020" in shown
    )
    assert "- quotation 1 of reference 2: “zinc closed wounds in 10 days” (number: 12 became 10)\n" in shown
    (line,) = re.findall(r"^- \[3\].*", shown, re.MULTILINE)
    assert line == f"- [3] pubmed:3: {record(3).reference}"


def test_sixty_references_in_order_take_ten_lines() -> None:
    answer = brief(report([verified(n) for n in range(1, 61)], references=60, checked=60, verified=60))
    shown = report_text(answer)
    assert len(shown.splitlines()) <= 10
    assert "\nVerified: references 1–60.\n" in shown
    assert len(answer.model_dump_json()) < 60 * 70 + 500


def test_references_that_a_service_was_down_for_share_a_line_and_the_service_is_named_once() -> None:
    down = [CheckedReference(index=n, written="Doe.", verdict="outage", reason=f"Down {n}.") for n in (1, 2, 4)]
    assert "\n- 1: Down 1.\n" in report_text(brief(report(down)))
    answer = brief(report(down).model_copy(update={"errors": ("Crossref is unavailable.",)}))
    assert "\n- 1–2, 4\n" in report_text(answer)
    assert "Down" not in answer.model_dump_json()


def test_a_year_is_the_first_thing_said_about_a_reference() -> None:
    pages, year = (ReferenceProblem(field=name, written="1", true="2", minor=True) for name in ("pages", "year"))
    shown = report_text(report([differing().model_copy(update={"problems": (pages, year)})]))
    assert shown.index("- year:") < shown.index("- pages:")


def test_entries_that_were_not_read_are_named_and_counted() -> None:
    counts = {"entries": 5, "unread": 1, "references": 4, "checked": 4, "verified": 4}
    odd = "a short note: Ibid., p. 12."
    shown = report_text(report([], **counts).model_copy(update={"unread": (odd,)}))
    assert shown.startswith("# 5 entries, 1 not read; 4 references: 4 verified\n")
    assert "\n## Not read as references, and not checked\n- a short note: Ibid., p. 12.\n" in shown


def test_passages_are_shown_for_the_reader_to_judge() -> None:
    shown = report_text(report([claim("Zinc heals by 45% [2]."), claim("Zinc heals by 45% [2].", 3, anchor="s2p1")]))
    assert shown.count("- “Zinc heals by 45% [2].”") == 1
    assert "  - [2] pubmed:2, abstract, numbers missing in all that was read: 45%: “Zinc closed wounds in 12" in shown
    assert "  - [3] pubmed:3 s2p1, numbers missing" in shown
    assert "read and judge" in shown


def test_numbers_that_stand_with_another_group_are_named_before_the_passage_and_come_first() -> None:
    told = {"numbers_missing": (), "numbers_elsewhere": ("21%: “21% with zinc”", "34%: “34% with tin”")}
    plain = claim("Zinc heals [3].", 3).model_copy(update={"numbers_missing": ()})
    swapped = claim("Zinc: 34%, tin: 21% [2].").model_copy(update=told)
    assert RANKS.index(rank_of(swapped)) < RANKS.index(rank_of(plain))
    line = "  - [2] pubmed:2, abstract, numbers that stand there with another group or outcome: 21%, 34%: “Zinc"
    assert line in report_text(report([swapped]))


def test_what_has_no_abstract_is_said_so() -> None:
    unread = [claim(f"Zinc heals {n} [{n}].", n).model_copy(update={"passage": ""}) for n in (2, 3, 5)]
    shown = report_text(report([*unread, claim("Zinc heals [6].", 6)]))
    assert shown.endswith("”\n- 2–3, 5: no abstract, and nothing else that could be read\n")
    assert "Zinc heals 2" not in shown


def test_a_sentence_is_said_once_in_both_forms_and_a_passage_is_one_line() -> None:
    claims = [claim("Zinc heals [2, 3].", n).model_copy(update={"passage": f"Zinc.\n# {n}"}) for n in (2, 3)]
    answer = brief(report(claims))
    shown = report_text(answer)
    assert [one.get("sentence") for one in answer.model_dump()["claims"]] == ["Zinc heals [2, 3].", None]
    assert shown.count("Zinc heals [2, 3].") == 1
    assert "\n# 2" not in shown


def test_a_corrected_entry_of_several_lines_is_one_block_to_paste() -> None:
    entry = "@article{doe,\n  title = {Zinc_2},\n  year = {2020}\n}"
    shown = report_text(report([differing().model_copy(update={"corrected": entry})]))
    assert "".join(f"    > {line}\n" for line in ("```", *entry.split("\n"), "```")) in shown


FINDINGS: list[Finding] = [
    retracted(),
    differing(),
    verified(3),
    ALTERED,
    claim("Zinc heals [2]."),
    CheckedReference(index=5, written="Doe J. Zinc. 2018.", verdict="not_found", reason="Neither PubMed nor Crossref."),
    CheckedReference(index=6, written="Doe J. Zinc.", verdict="ambiguous", candidates=(record(6), record(7))),
    CheckedReference(index=7, written="Doe J. Zinc.", verdict="outage", reason="Crossref is unavailable."),
    CheckedReference(index=8, written="Zinc Act 1990.", verdict="unchecked", reason="a law"),
    CheckedReference(index=9, written="Doe J. Zinc.", verdict="wrong_id", record=record(9), corrected=CORRECTED),
    CheckedReference(index=10, written="Doe J. Zinc.", verdict="minor", record=record(10), corrected=CORRECTED),
    CheckedQuotation(index=2, quote="zinc", verdict="misattributed", where="pubmed:3", passage="Zinc."),
    CheckedQuotation(index=3, quote="zinc", verdict="not_found", difference="only the abstract was read"),
    CheckedQuotation(index=4, quote="zinc", verdict="verbatim", where="pubmed:3"),
]


def test_nothing_is_called_what_nobody_here_can_know() -> None:
    shown = report_text(report(FINDINGS, references=9, checked=9)).casefold()
    assert not re.search("support|contradict|fabricat|hallucinat|fake", shown)
    assert "it may exist all the same" in shown


def test_no_sentence_of_ours_runs_into_a_quotation() -> None:
    depth, quoted = 0, list[str]()
    for token in MarkdownIt("commonmark").parse(report_text(report(FINDINGS))):
        depth += {"blockquote_open": 1, "blockquote_close": -1}.get(token.type, 0)
        quoted += [token.content] if depth and token.type == "inline" else []
    assert not [one for one in quoted if re.search("Record:|Corrected|It stands|Reference|written|pubmed:", one)]


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_text_from_outside_does_anything(attack: str) -> None:
    notice = retracted().record
    assert notice
    hostile = [
        differing(corrected=f"{attack}\n{attack}").model_copy(update={"label": attack, "reason": attack}),
        CheckedReference(
            index=3,
            written=attack,
            verdict="ambiguous",
            candidates=(record().model_copy(update={"reference": attack}),),
        ),
        CheckedReference(index=4, written=attack, verdict="unchecked", reason=attack),
        ALTERED.model_copy(update={"quote": attack, "passage": attack, "difference": attack}),
        claim(attack).model_copy(update={"passage": attack, "numbers_missing": (attack,)}),
    ]
    told = report(hostile).model_copy(update={"unchecked": (attack,), "warnings": (attack,), "errors": (attack,)})
    for parser in (MarkdownIt("commonmark"), MarkdownIt("gfm-like", {"linkify": False})):
        assert {one.type for one in tokens(parser, report_text(told))} <= HARMLESS | OURS


def longest(part: CitationReport) -> int:
    return max(len(report_text(part)), wire_length(part))


def parts(whole: CitationReport, limit: int) -> list[CitationReport]:
    """The answers that a client gets who asks for one part after another."""
    shown = [fit(whole, limit, longest)]
    while (at := shown[-1].next_offset) >= 0:
        rest = with_findings(whole, findings_of(whole)[at:]).model_copy(update={"offset": at})
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
