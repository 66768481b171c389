"""A draft is checked in parts: what was reported stays, records become evidence, the report is kept in the session."""

import sys
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import anyio
import httpx
import pytest

from deepcritical_mcp.checking.checker import CitationChecker
from deepcritical_mcp.checking.draft import DraftReference
from deepcritical_mcp.checking.reference_checker import ReferenceChecker, ReferenceOutcome, ReferenceOutcomes
from deepcritical_mcp.checking.report_text import RANKS, rank_of
from deepcritical_mcp.config import Settings
from deepcritical_mcp.deadline import Progress, no_progress
from deepcritical_mcp.errors import DeadlineExceededError, InvalidInputError
from deepcritical_mcp.evidence.session_access import PassageEmbedder
from deepcritical_mcp.evidence.sessions import SessionRegistry
from deepcritical_mcp.evidence.storage import open_backend
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.models import (
    CheckedRecord,
    CheckedReference,
    CitationReport,
    Finding,
    Publication,
    ReferenceProblem,
    findings_of,
)
from deepcritical_mcp.search.full_texts import FullTexts
from deepcritical_mcp.search.search_steps import ReadingSession
from deepcritical_mcp.search.witness import Witness
from tests.fakes import EMBEDDER
from tests.net.stand_in import Answer
from tests.search.full_text_fakes import FakeFullTexts, copy
from tests.sources.ncbi import Ncbi, article, ncbi, notice, pubmed

TITLES = {
    "1": "Zinc closes chronic wounds faster than placebo in adults",
    "2": "Copper strengthens the bones of ageing laboratory mice",
    "3": "Iron stores of endurance runners after altitude training",
    "4": "Selenium in the soil of northern meadows and its uptake",
}
ABSTRACTS = {
    "1": "We enrolled 240 adults. Wounds closed within 31 days with zinc and within 45 days with placebo.",
    "2": "Mice were given copper for a year. Their bones had become much harder than those of controls.",
    "3": "Runners lost iron at altitude. Their stores recovered within six weeks after they had come home.",
    "4": "Selenium was scarce in all samples. Grass took up more of it where the soil had been limed.",
}
RECORDS = {
    pmid: article(pmid, f"{title}.", f"<AbstractText>{ABSTRACTS[pmid]}</AbstractText>", doi=f"10.1000/m{pmid}")
    for pmid, title in TITLES.items()
}
RETRACTED = RECORDS | {
    "4": article(
        "4",
        f"{TITLES['4']}.",
        f"<AbstractText>{ABSTRACTS['4']}</AbstractText>",
        citation=notice("RetractionIn", "J Made-up Res. 2022;1:2", "99"),
    )
}


def reference(pmid: str, *, title: str = "", number: str = "") -> str:
    return f"Ruiz A. {title or TITLES[pmid]}. J Made-up Res. 2021;9(2):11-9. PMID: {number or pmid}."


def draft(body: str, *references: str) -> str:
    listed = "\n".join(f"{number}. {one}" for number, one in enumerate(references, 1))
    return f"# On metals\n\n{body}\n\n## References\n\n{listed}\n"


BODY = (
    "Zinc closed wounds within 31 days in 240 adults [1]. Bones of mice became harder with copper in 77% [2]. "
    'The authors say that "their stores recovered within six weeks after they had come home" [3]. '
    'They also say that "grass took up much less of it where the soil had been limed" [4].'
)
DRAFT = draft(BODY, *map(reference, TITLES))


@dataclass
class Late(ReferenceChecker):
    """Has no time for the references in `late` when it is first asked for them, and hangs when it is asked for those
    in `lost` for the first time."""

    checker: ReferenceChecker
    late: Collection[int]
    asked: list[list[int]] = field(default_factory=list[list[int]])
    lost: Sequence[int] = ()

    async def ask_again(self, ids: Sequence[str], session: ReadingSession) -> tuple[str, ...]:
        return await self.checker.ask_again(ids, session)

    async def check(
        self, references: Sequence[DraftReference], session: ReadingSession, *, progress: Progress = no_progress
    ) -> ReferenceOutcomes:
        self.asked.append([one.index for one in references])
        if self.asked[-1] == self.lost:
            self.lost = ()
            await anyio.sleep_forever()
        found, errors, _ = await self.checker.check(references, session, progress=progress)
        late, self.late = self.late, ()
        return [_put_off(one, late) for one in found], errors, ()


def _put_off(outcome: ReferenceOutcome, late: Collection[int]) -> ReferenceOutcome:
    is_late = outcome.reference.index in late
    return replace(outcome, verdict="outage", publication=None, pending=True) if is_late else outcome


@dataclass
class Bench:
    """A checker over PubMed as a stand-in plays it, and a session."""

    checker: CitationChecker
    references: Late
    session: EvidenceStore
    registry: SessionRegistry
    ncbi: Ncbi

    async def check(self, text: str = DRAFT, **options: Any) -> CitationReport:
        return await self.checker.check(text, self.session, **options)


@asynccontextmanager
async def bench(
    records: Mapping[str, str] = RECORDS,
    *,
    late: Collection[int] = (),
    texts: Sequence[FakeFullTexts] = (),
    settings: Settings | None = None,
    off: Sequence[str] = (),
    seconds: float = 45.0,
) -> AsyncGenerator[Bench]:
    settings = settings or Settings()
    registry = SessionRegistry(settings, EMBEDDER, open_backend(settings))
    async with ncbi(records) as played, httpx.AsyncClient() as http:
        source = pubmed(played.url, http)
        reading = FullTexts(texts, source, off=off)
        references = Late(ReferenceChecker(reading, Witness((), source)), late)
        checker = CitationChecker(references, reading, PassageEmbedder(EMBEDDER), seconds=seconds)
        yield Bench(checker, references, await registry.open(), registry, played)
    await registry.aclose()


def names(findings: Sequence[Finding]) -> list[str]:
    """ "reference 1", "quotation 2", "claim 3": the index, of a claim that of its reference."""
    kinds = {"CheckedReference": "reference", "CheckedQuotation": "quotation", "CheckedClaim": "claim"}
    return [
        f"{kinds[type(one).__name__]} {getattr(one, 'index', 0) or cast(Any, one).references[0]}" for one in findings
    ]


async def test_findings_come_by_their_gravity_and_else_in_the_order_of_the_draft():
    listed = [
        reference("1"),
        reference("2", title="Copper weakens the teeth of young laboratory rats"),
        reference("3"),
        reference("4"),
    ]
    async with bench(RETRACTED) as ours:
        report = await ours.check(draft(BODY, *listed))
    found = names(findings_of(report))
    assert found[0] == "reference 4"  # retracted
    assert found[1] == "reference 2"  # the PMID of another paper
    assert found[2] == "quotation 2"  # altered
    assert found[3:6] == ["reference 1", "reference 3", "quotation 1"]
    assert all(name.startswith("claim") for name in found[6:])
    assert report.next_offset == -1


async def test_everything_is_counted_and_a_claim_whose_numbers_are_nowhere_comes_before_the_others():
    async with bench(RETRACTED) as ours:
        report = await ours.check()
    assert (report.claims[0].references[0], report.claims[0].numbers_missing) == (2, ("77%",))
    counts = report.counts
    assert (counts["references"], counts["checked"], counts["verified"]) == (4, 4, 3)
    assert (counts["retracted"], "not_found" in counts, "outage" in counts) == (1, False, False)
    assert (counts["quotations"], counts["quotations_verbatim"], counts["quotations_altered"]) == (2, 1, 1)
    assert (counts["claims"], counts["claims_with_numbers_missing"]) == (2, 1)


async def test_sure_records_are_kept_beside_the_evidence_and_nothing_else_is():
    listed = [reference("1"), "Nobody N. On metals that nobody has ever looked at. J Made-up Res. 1999;1(1):1-2."]
    async with bench() as ours:
        ours.ncbi.hits = {}
        report = await ours.check(draft("Zinc helps [1]. So does tin [2].", *listed))
        assert report.cited == (1,)
        assert await ours.session.ids() == []
        assert [*await ours.session.documents("cited-paper:")] == ["cited-paper:pubmed:1"]


async def test_what_there_was_no_time_for_comes_in_the_next_part():
    async with bench(late=(2, 4)) as ours:
        first = await ours.check()
        assert names(first.references) == ["reference 1", "reference 3"]
        assert (first.counts["references"], first.counts["checked"]) == (4, 2)
        assert first.quotations == ()  # they may stand in the papers that were not looked up
        assert {one.references[0] for one in first.claims} == {1, 3}
        assert "2 references, 2 quotations, 2 citing sentences" in " ".join(first.warnings)
        assert first.next_offset == len(findings_of(first))
        second = await ours.check(offset=first.next_offset)
        assert ours.references.asked == [[1, 2, 3, 4], [2, 4]]
        assert names(second.references) == ["reference 2", "reference 4"]
        assert sorted(names(second.quotations)) == ["quotation 1", "quotation 2"]
        assert (second.counts["checked"], second.next_offset) == (4, -1)
        assert "Not checked yet" not in " ".join(second.warnings)
        whole = await ours.checker.kept_report(ours.session)
    assert whole is not None
    assert findings_of(whole) == (*findings_of(first), *findings_of(second))


async def test_pages_of_a_report_that_is_there_ask_nobody():
    async with bench(late=(2,)) as ours:
        first = await ours.check()
        ours.ncbi.server.asked.clear()
        page = await ours.check(offset=1)
        assert findings_of(page) == findings_of(first)[1:]
        assert (page.counts, page.next_offset) == (first.counts, first.next_offset)
        assert (ours.references.asked, ours.ncbi.utilities) == ([[1, 2, 3, 4]], [])


async def test_a_page_of_a_draft_that_the_session_does_not_know_is_checked_from_the_start_and_says_so():
    async with bench() as ours:
        await ours.check(draft("Zinc helps [1].", reference("1")))
        page = await ours.check(offset=2)
        again = await ours.check(offset=2)
        whole = await ours.check()
    assert (len(ours.references.asked), page.counts) == (3, whole.counts)
    assert findings_of(page) == findings_of(whole)[2:]
    assert page.warnings[0].startswith("This session does not keep the check of this text")
    assert "offset=0 shows the 2 findings before these" in page.warnings[0]
    assert not any("does not keep" in one for one in again.warnings)


async def test_a_draft_is_checked_anew_and_of_records_that_the_session_has_only_the_status_is_asked_in_one_request():
    async with bench() as ours:
        await ours.check()
        ours.ncbi.server.asked.clear()
        assert (await ours.check()).counts["verified"] == 4
        assert ours.ncbi.utilities == ["efetch"]
        ours.ncbi.records["1"] = article("1", f"{TITLES['1']}.", citation=notice("RetractionIn", "J. 2022;1:2", "99"))
        report = await ours.check()
        assert (len(ours.references.asked), report.counts["retracted"]) == (3, 1)
        kept = cast(CitationReport, await ours.checker.kept_report(ours.session))
    assert len(findings_of(report)) == len(findings_of(kept))


async def test_an_offset_beyond_the_end_is_refused():
    async with bench() as ours:
        report = await ours.check()
        total = len(findings_of(report))
        with pytest.raises(InvalidInputError, match=f"offset {total} is beyond the end: the report has {total} find"):
            await ours.check(offset=total)


@pytest.mark.parametrize("text", ["", " \n", "Zinc helps. Copper does not."])
async def test_a_text_without_references_is_refused_with_what_is_expected(text: str):
    async with bench() as ours:
        with pytest.raises(InvalidInputError, match=r"No references were found.+PMID or DOI"):
            await ours.check(text)
        assert await ours.checker.kept_report(ours.session) is None


async def test_the_report_outlives_the_process(tmp_path: Path):
    settings = Settings(data_dir=tmp_path)
    async with bench(settings=settings) as ours:
        report = await ours.check()
    registry = SessionRegistry(settings, EMBEDDER, open_backend(settings))
    kept = await ours.checker.kept_report(await registry.get(ours.session.session_id))
    await registry.aclose()
    assert kept is not None
    assert (findings_of(kept), kept.counts) == (findings_of(report), report.counts)


async def test_a_report_that_this_version_cannot_read_is_no_report():
    async with bench() as ours:
        await ours.session.keep_document("citations", '{"form": 9}')
        assert await ours.checker.kept_report(ours.session) is None


async def test_without_a_network_everything_is_an_outage_and_the_report_is_kept():
    async with bench() as ours:
        ours.ncbi.always = dict.fromkeys(("esearch", "efetch", "ecitmatch"), Answer(503))
        report = await ours.check()
        kept = await ours.checker.kept_report(ours.session)
        assert await ours.session.count() == 0
    assert {one.verdict for one in report.references} == {"outage"}
    assert report.claims == ()
    assert [(one.verdict, one.difference) for one in report.quotations] == [
        ("unchecked", "nothing could be read of reference 3 (a service failed)"),
        ("unchecked", "nothing could be read of reference 4 (a service failed)"),
    ]
    assert report.next_offset == -1
    assert report.errors
    assert kept is not None
    assert kept.references == report.references


async def test_a_full_session_still_gets_the_report():
    async with bench(settings=Settings(max_evidence=2), late=(4,)) as ours:
        first = await ours.check()
        second = await ours.check(offset=first.next_offset)
        assert await ours.session.count() == 0
    assert second.errors == ()
    assert (second.counts["verified"], second.counts["quotations_verbatim"]) == (4, 1)


async def test_full_texts_are_read_where_they_are_wanted_and_only_of_what_is_compared():
    text = draft('They write that "healing was faster with zinc" [1].', reference("1"), reference("2"))
    provider = FakeFullTexts("pmc", copy(pmid="1", title=TITLES["1"]))
    async with bench(texts=[provider]) as ours:
        report = await ours.check(text)
        assert (provider.asked, report.quotations[0].verdict) == ([], "not_found")
        assert any("read=true" in one for one in report.warnings)
        report = await ours.check(text, read=True)
        assert [wanted.ids.pmid for wanted in provider.asked] == ["1"]
        assert report.quotations[0].verdict == "verbatim"
        assert report.quotations[0].where.startswith("pubmed:1")
        assert not any("read=true" in one for one in report.warnings)
        report = await ours.check(text)  # the session has it now
        assert (len(provider.asked), report.quotations[0].verdict) == (1, "verbatim")


async def test_what_the_user_wrote_about_a_paper_is_no_part_of_it():
    text = draft('They write that "zinc is the best metal for all wounds" [1].', reference("1"))
    async with bench() as ours:
        note = Publication.of(
            "note",
            "Zinc is the best metal for all wounds.",
            provider="user",
            source="user",
            pmid="1",
            title=TITLES["1"],
        )
        await ours.session.add_evidence([note])
        report = await ours.check(text)
    assert report.quotations[0].verdict == "not_found"


async def test_two_clients_that_go_on_at_once_get_the_same_findings():
    reports: list[CitationReport] = []
    async with bench(late=(2, 4)) as ours:
        first = await ours.check()

        async def go_on() -> None:
            reports.append(await ours.check(offset=first.next_offset))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(go_on)
            tasks.start_soon(go_on)
        whole = cast(CitationReport, await ours.checker.kept_report(ours.session))
    assert findings_of(reports[0]) == findings_of(reports[1])
    assert findings_of(whole) == (*findings_of(first), *findings_of(reports[0]))


async def test_progress_goes_from_the_start_to_the_end():
    told: list[float] = []

    async def progress(fraction: float, message: str) -> None:
        assert message
        told.append(fraction)

    async with bench(texts=[FakeFullTexts("pmc", copy(pmid="1"))]) as ours:
        await ours.check(read=True, progress=progress)
    assert told == sorted(told)
    assert (told[0], told[-1]) == (0.0, 0.95)


def test_a_problem_of_status_that_the_draft_knows_does_not_come_first():
    record = CheckedRecord(id="pubmed:1", reference="Ruiz A. Zinc.", status="retracted")
    told = ReferenceProblem(field="status", true="retracted", minor=True)
    known = CheckedReference(index=1, written="Zinc (retracted)", verdict="verified", record=record, problems=(told,))
    wrong = CheckedReference(index=2, written="Tin", verdict="differs")
    assert RANKS.index(rank_of(wrong)) < RANKS.index(rank_of(known))


@pytest.mark.parametrize("text", ["Zinc helps [@ruiz2021; @oka1999].", "Zinc helps \\cite{ruiz2021}."])
async def test_a_draft_that_cites_by_keys_is_refused_with_advice_to_pass_its_bibliography(text: str):
    async with bench() as ours:
        with pytest.raises(InvalidInputError, match=r"pass its bibliography \(\.bib\)"):
            await ours.check(text)


async def test_a_paper_that_is_listed_twice_is_named():
    listed = (reference("1"), reference("2"), reference("1").replace(" PMID: 1.", " doi:10.1000/m1"))
    async with bench() as ours:
        report = await ours.check(draft("Zinc helps [1,3], copper does not [2].", *listed))
    assert "The same paper is listed more than once: references [1] and [3] (pubmed:1)." in report.warnings


async def test_a_part_that_gets_nowhere_is_an_error_and_not_an_endless_loop():
    async with bench(late=(1, 2, 3, 4)) as ours:
        with pytest.raises(DeadlineExceededError, match="Pass fewer references in one call"):
            await ours.check()
        report = await ours.check()
    assert report.counts["verified"] == 4


async def test_an_offset_far_beyond_what_there_is_time_for_is_an_error():
    async with bench(late=(4,)) as ours:
        with pytest.raises(DeadlineExceededError, match="Nothing from offset 999 on"):
            await ours.check(offset=999)


async def test_more_references_than_one_part_takes_come_in_the_next(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("deepcritical_mcp.checking.checker.MAX_REFERENCES", 3)
    async with bench() as ours:
        first = await ours.check()
        second = await ours.check(offset=first.next_offset)
    assert ours.references.asked == [[1, 2, 3], [4]]
    assert (first.counts["checked"], second.counts["checked"], second.next_offset) == (3, 4, -1)


async def test_what_was_found_before_time_ran_out_is_told_and_the_next_part_goes_on(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("deepcritical_mcp.checking.checker.TOGETHER", 2)
    async with bench(seconds=3.0) as ours:
        ours.references.lost = [3, 4]
        first = await ours.check()
        second = await ours.check(offset=first.next_offset)
    assert (first.counts["checked"], first.counts["verified"]) == (2, 2)
    assert any("Not checked yet, for lack of time: 2 references" in one for one in first.warnings)
    assert (second.counts["verified"], second.next_offset) == (4, -1)


async def test_a_full_text_that_hangs_costs_its_share_of_the_time_and_is_named():
    text = draft("Zinc closed wounds within 31 days [1].", reference("1"))
    async with bench(texts=[FakeFullTexts("pmc", None)], seconds=3.0) as ours:
        report = await ours.check(text, read=True)
    assert any("PMC did not answer in time" in one for one in report.errors)
    assert (report.counts["verified"], len(report.claims), report.next_offset) == (1, 1, -1)


async def test_a_check_that_is_cancelled_keeps_nothing_and_another_one_can_follow():
    async with bench(texts=[FakeFullTexts("pmc", None)]) as ours:

        async def cancel(fraction: float, message: str) -> None:
            if message.startswith("reading full texts"):
                scope.cancel()

        with anyio.CancelScope() as scope:
            await ours.check(read=True, progress=cancel)
        assert scope.cancelled_caught
        assert await ours.checker.kept_report(ours.session) is None
        report = await ours.check()
    assert report.counts["verified"] == 4


@pytest.mark.skipif(sys.platform == "win32", reason="files have no limit there")
async def test_a_report_that_cannot_be_kept_is_given_all_the_same(tmp_path: Path):
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    async with bench(settings=Settings(data_dir=tmp_path)) as ours:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4_096, hard))  # as a quota does
        try:
            report = await ours.check()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert await ours.checker.kept_report(ours.session) is None
    assert (report.counts["verified"], report.next_offset) == (4, -1)
    assert any("The report could not be kept" in one and "disk is full" in one for one in report.errors)


async def test_a_service_that_is_switched_off_is_named_and_is_no_error():
    async with bench(off=["crossref"]) as ours:
        report = await ours.check()
    assert any(one.startswith("crossref is switched off here (DEEPCRITICAL_OFF)") for one in report.warnings)
    assert report.errors == ()


async def test_the_passages_of_a_sentence_stay_together():
    text = draft(
        "Zinc closed wounds within 31 days [1,4]. Copper hardened the bones of mice [2,3].", *map(reference, TITLES)
    )
    async with bench() as ours:
        sentences = [one.sentence for one in (await ours.check(text)).claims]
    assert [*dict.fromkeys(sentences)] == [sentences[0], sentences[2]]
    assert sentences == [sentences[0]] * 2 + [sentences[2]] * 2
