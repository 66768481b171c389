"""Numbers in a user's files are claims: the records that they lead to are fetched and compared."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

from deepcritical_mcp.config import Settings
from deepcritical_mcp.deadline import no_progress
from deepcritical_mcp.errors import ProviderUnavailableError
from deepcritical_mcp.evidence.sessions import SessionRegistry
from deepcritical_mcp.evidence.storage import open_backend
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.models import Publication
from deepcritical_mcp.search.library.files import UserFiles
from deepcritical_mcp.search.library.own_library import OwnLibrary
from deepcritical_mcp.search.record_finder import Lookup
from deepcritical_mcp.sources.lookup import Wanted
from tests.fakes import EMBEDDER
from tests.publications import published

ZINC = "Zinc for venous ulcers of the leg: a randomised trial"
RIS = "".join(
    f"TY  - JOUR\nTI  - {title}\nAU  - Berg, Jan\nPY  - 2019\nC5  - {pmid}\nER  -\n"
    for title, pmid in (
        (ZINC, 11),
        ("Copper for the bones of elderly people in wards", 12),
        ("Iron against anaemia", 13),
    )
)
RECORDS = {
    "11": published("Zinc works.", source="pubmed", pmid="11", title=ZINC, status="retracted", date="2019"),
    "12": published("Other.", source="pubmed", pmid="12", title="A letter about something else", date="2001"),
}


class Records:
    """A `RecordFinder` that knows `RECORDS`, if it can be reached."""

    def __init__(self) -> None:
        self.is_reachable = True
        self.asked = list[str]()
        self.by_doi = dict[str, Publication]()

    async def find(self, wanted: Sequence[Wanted], seconds: float) -> list[Lookup]:
        self.asked += [one.ids.pmid for one in wanted]
        if not self.is_reachable:
            down = ProviderUnavailableError("pubmed", "PubMed is down.")
            return [Lookup(one, failures=[down]) for one in wanted]
        return [Lookup(one, record=RECORDS.get(one.ids.pmid) or self.by_doi.get(one.ids.doi)) for one in wanted]


class Texts:
    def __init__(self, records: Records) -> None:
        self.records = records


@asynccontextmanager
async def opened(tmp_path: Path) -> AsyncGenerator[tuple[OwnLibrary, Records, EvidenceStore]]:
    settings, records = Settings(data_dir=tmp_path), Records()
    registry = SessionRegistry(settings, cast("Any", EMBEDDER), open_backend(settings))
    library = OwnLibrary(cast("Any", Texts(records)), settings.zotero_url)
    try:
        yield library, records, await registry.open(title="zinc")
    finally:
        await library.aclose()
        await registry.aclose()


async def kept(store: EvidenceStore) -> dict[str, Publication]:
    return {one.title: one for one in (await store.publications(await store.ids())).values()}


async def test_a_number_becomes_one_when_its_record_agrees_and_a_remark_otherwise(tmp_path: Path) -> None:
    async with opened(tmp_path) as (library, records, store):
        (told,) = await library.bring_in(UserFiles("a.ris", RIS), store, no_progress)
        assert told.read == 3
        before = await kept(store)
        assert (before[ZINC].claims, before[ZINC].pmid, before[ZINC].status) == (("PMID 11",), "", "unchecked")
        await library.check_soon(store)
        after = await kept(store)
        assert len(after) == 3
        assert (after[ZINC].id, after[ZINC].status) == ("pubmed:11", "retracted")
        assert "another paper" in after["Copper for the bones of elderly people in wards"].claims[0]
        assert after["Iron against anaemia"].claims == ("PMID 13 (of which nobody has a record)",)
        (entry,) = await store.search_log()
        assert "pubmed:11" in entry.ids
        records.asked.clear()
        await library.check_soon(store)
        assert records.asked == []


async def test_what_nobody_could_be_asked_about_is_asked_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as (library, records, store):
        await library.bring_in(UserFiles("a.ris", RIS), store, no_progress)
        records.is_reachable = False
        checked = await library.check(store)
        assert (checked.unasked, checked.told) == (3, "Numbers of records: 3 not checked. PubMed is down.")
        assert (await kept(store))[ZINC].claims == ("PMID 11",)
        records.is_reachable = True
        assert (await library.check(store)).confirmed == 1


async def test_a_file_that_is_brought_in_again_changes_nothing_though_its_numbers_do_not_hold(tmp_path: Path) -> None:
    async with opened(tmp_path) as (library, _, store):
        told = [await library.bring_in(UserFiles("a.ris", RIS), store, no_progress) for _ in range(2)]
        await library.check(store)
        told.append(await library.bring_in(UserFiles("a.ris", RIS), store, no_progress))
        await library.check(store)
        assert [(one.new, one.known) for (one,) in told] == [(3, 0), (0, 3), (0, 3)]
        assert {title: one.claims for title, one in (await kept(store)).items()}["Iron against anaemia"] == (
            "PMID 13 (of which nobody has a record)",
        )
        assert library.found(store) == ""
        assert not [id for entry in await store.search_log() for id in entry.ids if id not in await store.ids()]


async def test_a_wrong_number_beside_a_right_one_keeps_no_paper_apart(tmp_path: Path) -> None:
    entry = f"TY  - JOUR\nTI  - {ZINC}\nAU  - Berg, Jan\nPY  - 2019\nDO  - 10.1000/zinc\n"
    async with opened(tmp_path) as (library, records, store):
        known = published("Zinc works.", source="pubmed", pmid="11", doi="10.1000/zinc", title=ZINC, date="2019")
        records.by_doi["10.1000/zinc"] = known
        await library.bring_in(UserFiles("a.ris", f"{entry}C5  - 11\nER  -\n"), store, no_progress)
        await library.check(store)
        await library.bring_in(UserFiles("b.ris", f"{entry}C5  - 99\nER  -\n"), store, no_progress)
        await library.check(store)
        assert [*await store.ids()] == ["pubmed:11"]


async def test_two_unchecked_records_with_one_number_are_one_only_if_their_titles_agree(tmp_path: Path) -> None:
    first = f"{RIS.split('ER  -')[0]}AB  - Background: One.\nER  -\n"
    both = first + first.replace(ZINC, "Smoking in pregnancy: a cohort")
    async with opened(tmp_path) as (library, _, store):
        await library.bring_in(UserFiles("a.ris", both), store, no_progress)
        assert len(await store.ids()) == 2
