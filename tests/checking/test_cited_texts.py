"""Quotations and claims of a draft, laid against what could be read of the works that it cites."""

from tests.checking.test_checker import ABSTRACTS, bench, draft, reference

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
