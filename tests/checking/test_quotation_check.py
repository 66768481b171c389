"""Quotations and claims, laid against what could be read of the works that are cited."""

import json
import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.checking.quotation_check import MAX_PASSAGE, check_quotation
from deepcritical_mcp.models import NO_ABSTRACT, Publication
from tests.checking.quoted_papers import ABSTRACT, abstract, full_text
from tests.checking.test_checker import ABSTRACTS, bench, draft, reference
from tests.publications import published

PAPER = abstract()
OTHER = abstract(
    "In this study of 900 people, statins reduced the incidence of major vascular events by 21% over five years. "
    "Further studies are needed to confirm these findings.",
    pmid="102",
    title="Statins",
)
FOLDER = Path(os.environ.get("DEEPCRITICAL_CITATIONS_DIR", ""))


@pytest.mark.parametrize(
    ("quote", "difference"),
    [
        ("patients to receive 2.5 mg of [the metal] or placebo, which was not approved", ""),
        ("patients to receive [4.5 mg] of zinc or placebo, which was not approved", "number changed: “2.5” → “4.5”"),
        ("patients to receive 2.5 mg of zinc [daily] or placebo, which was not approved", ""),
        ("We randomly assign[ed] 1,234 patients to receive [2.5 mg] of zinc", ""),
    ],
)
def test_brackets_hold_an_insertion_or_are_compared(quote: str, difference: str) -> None:
    assert check_quotation(quote, [PAPER], []).difference == difference


@pytest.mark.parametrize(
    "quote",
    [
        "[I]t was not associated with falls in the trial.",
        "“TNF-alpha levels were higher in treated patients”",
        "TNF-&alpha; levels were <i>higher</i> in **treated** patients",
        "TNF-α levels were higher in treated patients [12] than in controls (12.5 vs 10.1 pg/ml, P < 0.05)",
        "TNF-α levels were higher in treated patients (Roe et al., 2020) than in controls",
        "TNF-α levels were higher in treated patients² than in controls,^12^ (12.5 vs 10.1 pg/ml",
        "We randomly assigned 1 234 patients to receive 2.5 mg of zinc … for 12-15 weeks",
        "We randomly assigned 1234 patients to receive 2.5 mg [a dose] of zinc or placebo",
        "for 12–15 weeks. Mortality was 34 percent in the zinc group and 41 per cent in the pla-\ncebo group",
        "hazard ratio, 0·78; 95% CI, 0·65–0·93",
        "non‑significant difference in Ca2+ of −0.5 mmol/L persisted [sic]",
        "Creatinine did not ... increase significantly after treatment",
        "METHODS: We randomly assigned 1,234 patients",
        "Zinc and falls in older adults",
        "modest in both",
    ],
)
def test_typography_omissions_and_marks_of_citations_leave_a_quotation_verbatim(quote: str) -> None:
    found = check_quotation(quote, [PAPER], [PAPER, OTHER])
    assert (found.verdict, found.where, found.difference) == ("verbatim", "pubmed:101", "")


@pytest.mark.parametrize(
    ("quote", "difference"),
    [
        ("Mortality was 36% in the zinc group and 41% in the placebo group", "number changed: “34” → “36”"),
        (
            "Mortality was 41% in the zinc group and 34% in the placebo group",
            "number changed: “34” → “41”; number changed: “41” → “34”",
        ),
        ("We randomly assigned 1,234 patients to receive 25 mg of zinc", "number changed: “2.5” → “25”"),
        ("It was associated with falls in the trial", "negation left out: “not”"),
        ("It was … associated with falls in the trial", "the words left out deny it: “not”"),
        (
            "Creatinine did … increase significantly after treatment",
            "the words left out deny it: “not, in any of the groups studied”",
        ),
        ("TNF-α levels were lower in treated patients than in controls", "turned round: “higher” → “lower”"),
        ("TNF-α levels were higher in controls than in treated patients", "words added: “controls than in”"),
        ("significant difference in Ca²⁺ of −0.5 mmol/L persisted", "negation left out: “non-significant difference”"),
        ("The non-significant difference in Ca²⁺ of 0.5 mmol/L persisted", "words left out: “-”"),
        ("The tumour response was modest in both of the groups", "words changed: “tumor” → “tumour”"),
        ("The non-significant difference in Ca³⁺ of −0.5 mmol/L persisted", "number changed: “²” → “³”"),
        ("Zinc deficiency is frequent in older adults (aged ≥65 years)", "words changed: “common” → “frequent”"),
        ("The tumor response was modest in the groups", "words left out: “both of”"),
        (
            "Zinc deficiency was not common in old adults (aged ≥60 years)",
            "number changed: “65” → “60”; negation changed: “is” → “was not”; words changed: “older” → “old”",
        ),
    ],
)
def test_an_altered_quotation_says_what_was_changed_with_the_gravest_first(quote: str, difference: str) -> None:
    found = check_quotation(quote, [PAPER], [PAPER, OTHER])
    assert (found.verdict, found.where, found.difference) == ("altered", "pubmed:101", difference)


def test_a_quotation_that_begins_behind_a_negation_is_verbatim_with_a_remark() -> None:
    found = check_quotation("associated with falls in the trial", [PAPER], [])
    assert found.verdict == "verbatim"
    assert "“not associated with”" in found.difference


def test_a_quotation_of_another_paper_is_misattributed_and_that_paper_is_named() -> None:
    quote = "statins reduced the incidence of major vascular events by 21% over five years"
    verbatim = check_quotation(quote, [PAPER], [PAPER, OTHER])
    altered = check_quotation(quote.replace("21%", "12%"), [PAPER], [PAPER, OTHER])
    assert (verbatim.verdict, verbatim.where) == ("misattributed", "pubmed:102")
    assert verbatim.passage.startswith("In this study of 900 people, statins reduced")
    assert (altered.verdict, altered.where) == ("misattributed", "pubmed:102")
    assert "number changed: “21” → “12”" in altered.difference


def test_a_common_sentence_that_stands_in_another_paper_is_no_reproach() -> None:
    quote = "Further studies are needed to confirm these findings."
    found = check_quotation(quote, [PAPER], [PAPER, OTHER])
    several = check_quotation(quote, [PAPER], [PAPER, OTHER, abstract(quote, pmid="103", title="Copper")])
    assert (found.verdict, several.verdict) == ("not_found", "not_found")
    assert found.difference.endswith("it may stand in the full text; these words stand in pubmed:102")
    assert several.difference.endswith("it may stand in the full text")


def test_a_quotation_of_nothing_that_could_be_read_is_found_elsewhere() -> None:
    found = check_quotation(
        "statins reduced the incidence of major vascular events by 21% over five years", [], [OTHER]
    )
    assert (found.verdict, found.difference) == ("misattributed", "it stands in pubmed:102")


@pytest.mark.parametrize(
    ("cited", "difference"),
    [
        ([PAPER], "only the abstract (or the title) of pubmed:101 could be read: it may stand in the full text"),
        (
            [abstract(NO_ABSTRACT, pmid="103", title="An old paper")],
            "only the abstract (or the title) of pubmed:103 could be read: it may stand in the full text",
        ),
        ([full_text("Iron was given to all mice.")], "not in the full text of pubmed:202"),
        ([], ""),
    ],
)
def test_what_was_not_found_says_what_was_read(cited: list[Publication], difference: str) -> None:
    found = check_quotation("nothing of this was ever written by anybody at all", cited, [])
    assert (found.verdict, found.where, found.passage) == ("not_found", "", "")
    assert found.difference == difference


def test_a_change_far_behind_the_beginning_of_a_long_quotation_is_noticed() -> None:
    words = [f"{one}{other}" for one in "abcdefghijklmnop" for other in "qrstuvwxyzabcdefghij"]
    found = check_quotation(" ".join([*words[:-3], "banana", *words[-2:]]), [abstract(" ".join(words))], [])
    assert (found.verdict, bool(found.difference)) == ("altered", True)


def test_of_two_sentences_that_resemble_each_other_the_nearer_one_is_compared() -> None:
    paper = abstract(
        "In the DEHP group, liver, adrenal, thymus, spleen, kidney, testis, and prostate weights were increased. "
        "In the ATHC group, kidney, adrenal, thymus, testis and prostate weights were increased."
    )
    found = check_quotation(
        "In the ATHC group, kidney, adrenal, thymus, testis and weights were increased", [paper], []
    )
    assert (found.verdict, found.difference) == ("altered", "words left out: “prostate”")


def test_words_before_an_omission_are_looked_for_near_the_longest_piece() -> None:
    found = check_quotation(
        "Sudden deficiency … was not associated with falls in the trial; however, TNF-α levels were lower", [PAPER], []
    )
    assert found.verdict == "altered"
    assert found.difference == "turned round: “higher” → “lower”; words changed: “Zinc” → “Sudden”"


def test_a_citation_inside_a_quotation_hides_no_word_that_was_left_out() -> None:
    found = check_quotation("Mortality was 34% in the zinc group and 41% in the group[61].", [PAPER], [])
    assert (found.verdict, found.difference) == ("altered", "words left out: “placebo”")


def test_short_quotations_are_never_altered() -> None:
    assert check_quotation("was associated with falls", [PAPER], []).verdict == "not_found"


def test_a_quotation_from_a_full_text_is_found_with_its_paragraph() -> None:
    paper = full_text(
        "Mice were fed iron.", "The weight (Roe, 2019) rose by 12% [3,4] after the iron was given to them."
    )
    found = check_quotation("The weight rose by 12% after the iron was given", [paper], [])
    altered = check_quotation("The weight fell by 12% after the iron was given", [paper], [])
    assert (found.verdict, found.where) == ("verbatim", "pubmed:202 s1p2")
    assert found.passage == "The weight (Roe, 2019) rose by 12% [3,4] after the iron was given to them."
    assert (altered.verdict, altered.where) == ("altered", "pubmed:202 s1p2")
    assert altered.difference == "turned round: “rose” → “fell”"


def test_notes_and_lists_of_references_are_not_the_paper() -> None:
    quote = "A randomized trial of iron in the treatment of anemic mice"
    note = published(quote, source="user", provider="user", title="My note")
    paper = full_text("Mice were fed iron.", references=f"1. Roe J. {quote}. J Iron. 2019.")
    assert check_quotation(quote, [paper], []).verdict == "not_found"
    assert check_quotation(quote, [note], []).verdict == "not_found"


def test_a_passage_is_verbatim_and_short() -> None:
    long = abstract("Iron was given, " * 60 + "and the mice that had been fed on nothing else gained weight quickly.")
    found = check_quotation("the mice that had been fed on nothing else gained weight", [long], [])
    assert found.verdict == "verbatim"
    assert "the mice that had been fed on nothing else gained weight" in found.passage
    assert len(found.passage) <= MAX_PASSAGE


@pytest.mark.parametrize(
    ("quote", "text"),
    [("x" * 60_000, "x" * 200_000), ("the cell … " * 400, "the cell x " * 12_000), ("a " * 5_000, "a " * 60_000)],
    ids=["one word", "gaps", "small words"],
)
def test_hostile_quotations_and_texts_come_to_an_end(quote: str, text: str) -> None:
    assert check_quotation(quote, [abstract(text)], [PAPER]).verdict in ("verbatim", "not_found")


@given(st.text(max_size=300))
def test_any_text_can_be_a_quotation(quote: str) -> None:
    assert check_quotation(quote, [PAPER], [OTHER]).verdict in ("verbatim", "altered", "misattributed", "not_found")


@given(st.integers(0, 600), st.integers(20, 300))
def test_every_part_of_an_abstract_from_word_to_word_is_verbatim(start: int, length: int) -> None:
    words = ABSTRACT[start : start + length].split(" ")[1:-1]
    quote = " ".join(words)
    if "not" in ABSTRACT[: start + 30].split()[-6:] or not any(word.isalpha() for word in words):
        return
    assert check_quotation(quote, [PAPER], []).verdict == "verbatim"


@pytest.mark.skipif("DEEPCRITICAL_CITATIONS_DIR" not in os.environ, reason="citations not available")
def test_recorded_quotations_get_the_right_verdict() -> None:
    records = {one["pmid"]: one for one in _lines("records.jsonl")}
    papers = {
        pmid: abstract(one["abstract_text"] or NO_ABSTRACT, pmid=pmid, title=one["title"] or "[No title]")
        for pmid, one in records.items()
    }
    wrong: Counter[str] = Counter()
    quotes = _lines("quotes.jsonl")
    for one in quotes:
        found = check_quotation(one["quote"], [papers[one["pmid"]]], [*papers.values()])
        kind = one["kind"].partition("_")[0]
        also = one["note"].removeprefix("true of PMID ")
        expected = {"verbatim": "verbatim", "invented": "misattributed" if also in papers else "not_found"}
        told = {"number": "number", "negated": ("negation", "turned round")}.get(kind, "")
        if found.verdict != expected.get(kind, "altered") or not found.difference.startswith(told):
            wrong[kind] += 1
    assert sum(wrong.values()) <= 0.02 * len(quotes), wrong


def _lines(name: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (FOLDER / name).read_text().splitlines()]


SELENIUM = ABSTRACTS["4"].rstrip(".")


async def test_a_quotation_from_a_work_that_nobody_here_can_read_is_not_accused():
    book = "Harper L. Metals in medicine. 3rd ed. Springfield: Made-up Press; 2011."
    text = draft(f'She wrote that "{SELENIUM}" [2]. Zinc helps [1].', "{}", book)
    async with bench() as ours:
        report = await ours.check(text.replace("{}", reference("4")))
        assert [(one.verdict, one.where) for one in report.quotations] == [("unchecked", "pubmed:4")]
        assert "reference 2 (of a kind that is not looked up)" in report.quotations[0].difference
        report = await ours.check(text.replace("[2]", "[1]").replace("{}", reference("4")))
    assert [one.verdict for one in report.quotations] == ["verbatim"]


async def test_a_quotation_from_a_work_that_was_not_found_says_so_and_where_it_stands():
    invented = "Ruiz A, Bono C. Manganese prevents hiccups in seven towns of Patagonia. J Made-up Res. 2020;8(1):1-9."
    text = draft(
        f'They say "{SELENIUM}" [2] and "nobody ever wrote this about manganese and hiccups" [2]. Zinc helps [1].',
        reference("4"),
        invented,
    )
    async with bench() as ours:
        report = await ours.check(text)
    reason = "nothing could be read of reference 2 (not found)"
    assert [(one.verdict, one.where, one.difference) for one in report.quotations] == [
        ("misattributed", "pubmed:4", f"it stands in pubmed:4; {reason}"),
        ("not_found", "", reason),
    ]


async def test_a_quotation_without_a_citation_is_found_but_not_cleared():
    text = draft(f'Zinc helps [1].\n\nSoils matter.\n\nSomebody said: "{SELENIUM}"!\n\nSoils matter.', reference("4"))
    async with bench() as ours:
        report = await ours.check(text)
    assert [(one.references, one.verdict, one.where, one.difference) for one in report.quotations] == [
        ((), "verbatim", "pubmed:4", "the draft names no source for it")
    ]
