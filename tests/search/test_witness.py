"""A second witness of what happened to publications, and status that is read again."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from deepcritical_mcp.dates import current_date
from deepcritical_mcp.errors import ProviderError, ProviderUnavailableError
from deepcritical_mcp.models import Publication, StatusNotice
from deepcritical_mcp.search.witness import Witness
from deepcritical_mcp.sources.base import Answer, Fetched, SearchRequest, Service, Source
from deepcritical_mcp.sources.lookup import StatusLookup
from tests.publications import published
from tests.search.lookup_fakes import FakeRecords
from tests.uncreated import Uncreated

TODAY = current_date().isoformat()
RETRACTED = StatusNotice(kind="retraction", doi="10.5555/notice", reference="Retraction Watch, 2021-05-04")
ARTICLE = StatusNotice(kind="published", doi="10.5555/article")
DOWN = ProviderUnavailableError("crossref", "Crossref is unavailable (HTTP 503).")


class FakeWitness(Uncreated, StatusLookup):
    """Says what it is told to, or fails with `error`; `asked` has the DOIs of each request."""

    name, title = "crossref", "Crossref"

    def __init__(self, told: Mapping[str, tuple[StatusNotice, ...]] | None = None, error: ProviderError | None = None):
        self.told, self.error = dict(told or {}), error
        self.asked: list[Sequence[str]] = []

    async def notices(self, dois: Sequence[str]) -> Mapping[str, tuple[StatusNotice, ...]]:
        self.asked.append(dois)
        if self.error:
            raise self.error
        return {doi: self.told[doi] for doi in dois if doi in self.told}


class FakePubMed(Uncreated, Source):
    """Fetches records that say what they are told to say."""

    name, title, kind, cited_as, two_step = "pubmed", "PubMed", "literature", "pubmed", True

    def __init__(self, *records: Publication, error: ProviderUnavailableError | None = None) -> None:
        self.records = {one.pmid: one.model_copy(update={"status_checked": TODAY}) for one in records}
        self.error = error
        self.asked: list[Sequence[str]] = []
        self.within: list[float] = []

    async def ask(self, variant: str, request: SearchRequest, *, offset: int, limit: int) -> Answer:
        raise NotImplementedError

    async def fetch(self, ids: Sequence[str], *, within: float = math.inf) -> Fetched:
        self.within.append(within)
        self.asked.append(ids)
        if self.error:
            raise self.error
        return Fetched({id: self.records[id] for id in ids if id in self.records})


def paper(pmid: str = "1", *, doi: str = "10.5555/zinc", **fields: Any) -> Publication:
    fields = {"source": "pubmed", "title": f"Zinc in wound repair {pmid}", "status_checked": TODAY} | fields
    return published("Zinc closed wounds.", pmid=pmid, doi=doi, **fields)


def preprint(doi: str = "10.1101/2020.01.01.1", **fields: Any) -> Publication:
    fields = {"source": "preprint", "title": "Zinc, early", "status_checked": TODAY} | fields
    return published("Zinc may close wounds.", provider="preprints", doi=doi, **fields)


async def completed(
    publication: Publication, *notices: StatusNotice, others: Sequence[Service] = ()
) -> tuple[Publication, tuple[str, ...]]:
    witness = Witness([FakeWitness({publication.doi.lower(): notices}), *others])
    (one,), remarks, _ = await witness.completed([publication])
    return one, remarks


def article_records() -> FakeRecords:
    return FakeRecords("europepmc", {"10.5555/article": paper("7", doi="10.5555/article")}, takes="doi")


async def test_a_retraction_that_pubmed_does_not_know_counts_and_says_who_reports_it():
    one, remarks = await completed(paper(), RETRACTED)
    assert one.status == "retracted"
    (notice,) = one.status_notices
    assert notice.doi == "10.5555/notice"
    assert notice.reference == "Retraction Watch, 2021-05-04 (Crossref); PubMed does not say so"
    assert remarks == (
        "PMID 1 is marked RETRACTED by Retraction Watch, 2021-05-04 (Crossref), but not by PubMed. The graver status "
        "counts.",
    )


async def test_a_retraction_that_the_witness_does_not_know_stays_and_the_contradiction_is_said():
    own = StatusNotice(kind="retraction", pmid="9", reference="Ann Zinc. 2021;8:1")
    one, remarks = await completed(paper(status="retracted", status_notices=(own,)))
    assert (one.status, one.status_notices) == ("retracted", (own,))
    assert remarks == ("PMID 1 is marked RETRACTED by PubMed, but not by Crossref. The graver status counts.",)


async def test_a_retraction_without_a_notice_in_pubmed_gets_that_of_the_witness():
    one, remarks = await completed(paper(status="retracted"), RETRACTED)
    assert [notice.reference for notice in one.status_notices] == ["Retraction Watch, 2021-05-04 (Crossref)"]
    assert remarks == ()


async def test_an_outage_is_a_remark_and_changes_nothing():
    service, record = FakeWitness({"10.5555/zinc": (RETRACTED,)}, DOWN), paper()
    witness = Witness([service])
    publications, remarks, _ = await witness.completed([record])
    assert publications == [record]
    assert remarks == (
        "Crossref, the second witness of retractions, could not be asked about 10.5555/zinc (status last asked "
        f"{TODAY}): Crossref is unavailable (HTTP 503).",
    )
    _, again, _ = await witness.completed([record])
    assert "skipped for now" in again[0]
    assert len(service.asked) == 1


async def test_a_preprint_names_its_article_by_pmid():
    records = article_records()
    one, remarks = await completed(preprint(), ARTICLE, others=[records])
    assert [(notice.kind, notice.pmid, notice.doi) for notice in one.status_notices] == [
        ("published", "7", "10.5555/article")
    ]
    assert (one.status, remarks) == ("ok", ())
    assert len(records.asked) == 1
    known = (StatusNotice(kind="published", pmid="7"),)
    one, _ = await completed(preprint(status_notices=known), ARTICLE, others=[article_records()])
    assert one.status_notices == known, "it is not named twice"


async def test_an_outage_says_that_preprints_may_have_been_published():
    _, remarks, _ = await Witness([FakeWitness(error=DOWN)]).completed([preprint(), paper()])
    assert remarks == (
        "Crossref, the second witness of retractions and of published preprints, could not be asked about "
        f"10.1101/2020.01.01.1, 10.5555/zinc (status last asked {TODAY}): Crossref is unavailable (HTTP 503).",
        "These preprints may have been published: unpublished_only leaves out only those whose records say so.",
    )


async def test_a_witness_that_is_switched_off_is_named_where_preprints_may_have_been_published():
    witness, known = Witness(off=["Crossref"]), StatusNotice(kind="published", pmid="8")
    _, remarks, _ = await witness.completed([preprint()])
    assert remarks == (
        "Crossref is switched off here (DEEPCRITICAL_OFF), so these preprints may have been published: "
        "unpublished_only leaves out only those whose records say so.",
    )
    _, remarks, _ = await witness.completed([paper(), preprint(status_notices=(known,)), preprint("")])
    assert remarks == ()


async def test_status_that_cannot_be_read_again_is_a_remark():
    error = ProviderUnavailableError("pubmed", "PubMed is unavailable (HTTP 503).")
    old = paper(status_checked="2020-01-01")
    never = paper("2", status_checked="")
    found, remarks, answered, is_down = await Witness((), FakePubMed(error=error)).rechecked([old, paper("3"), never])
    assert (found, [one.status for one in found]) == ([old, paper("3"), never], ["ok", "ok", "unchecked"])
    assert remarks == (
        "The status of PMID 2 (status unchecked); PMID 1 (status last asked 2020-01-01); PMID 3 (status last asked "
        f"{TODAY}) could not be asked again and may be out of date: PubMed is unavailable (HTTP 503).",
    )
    assert (answered, is_down) == (set(), True)


async def test_what_the_witness_said_outlasts_its_outage_until_pubmed_says_it():
    contested, _ = await completed(paper(), RETRACTED)
    old = contested.model_copy(update={"status_checked": "2020-01-01"})
    own = StatusNotice(kind="retraction", pmid="9", reference="Ann Zinc. 2021;8:1")
    pubmed = FakePubMed(paper(status="retracted", status_notices=(own,)))
    (one,), remarks, *_ = await Witness([FakeWitness({old.doi: (RETRACTED,)})], pubmed).rechecked([old])
    assert (one.status, one.status_notices, remarks) == ("retracted", (own,), ())
    (one,), remarks, *_ = await Witness([FakeWitness(error=DOWN)], FakePubMed(paper())).rechecked([old])
    assert (one.status, one.status_notices) == ("retracted", contested.status_notices)
    assert "could not be asked" in remarks[0]
