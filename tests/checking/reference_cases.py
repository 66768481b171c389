"""Made-up records, and what a check makes of references to them."""

from collections.abc import Sequence
from typing import Any

from deepcritical_mcp.checking.draft import DraftReference
from deepcritical_mcp.checking.reference_checker import ReferenceChecker, ReferenceOutcome, ReferenceOutcomes
from deepcritical_mcp.errors import ProviderError
from deepcritical_mcp.models import AuthorName, DocumentPassage, Publication, Text
from deepcritical_mcp.search.full_texts import FullTexts
from deepcritical_mcp.search.witness import Witness
from tests.publications import published
from tests.search.fake_session import FakeSession
from tests.search.lookup_fakes import FakeRecords, FakeReferences


class ReadingFakeSession(FakeSession):
    """A session without texts."""

    async def text(self, id: str) -> tuple[Publication, Text] | None:
        return None

    async def best_passages(
        self, id: str, question: str, page: object = None
    ) -> tuple[tuple[DocumentPassage, ...], int]:
        return (), -1


PLACE = ("journal", "journal_abbreviation", "date", "volume", "issue", "pages")


def article(pmid: str, title: str, authors: str, place: str = "", **fields: str) -> Publication:
    """A record of PubMed's; `authors` as "Müller, Jan K; Berg, Anna", `place` as PLACE with " | " in between."""
    names = [AuthorName(*(part.strip() for part in name.split(",", 1))) for name in authors.split(";")]
    stands = dict(zip(PLACE, (part.strip() for part in place.split("|")), strict=False))
    said = {"language": "eng", "source": "pubmed", "status_checked": "2999-01-01", **stands, **fields}
    return published("[No abstract]", pmid=pmid, title=title, authors=names, **said)


ZINC = article(
    "30000001",
    "Zinc supplementation and wound healing in older adults: a randomized controlled trial.",
    "Müller, Jan K; van der Berg, Anna; O'Connor, Sean P; Zhang, Wei; Silva Costa, Ana M; Ødegård, Åse",
    "The Journal of nutrition and wound care | J Nutr Wound Care | 2019-03-04 | 45 | 3 | 327-357",
    doi="10.1016/j.jnwc.2018.12.004",
    electronic_date="2018-12-20",
)
TNF = article(
    "30000002",
    "TNF-α blockade reduces tumour growth in haematopoietic stem cells of mice.",
    "Zhang, Wei; Li, Xiao-Ming; Wang, Yu",
    "Proceedings of the National Academy of Sciences of the United States of America | Proc Natl Acad Sci U S "
    "A | 2018-05-15 | 115 | 20 | E4567-E4576",
    doi="10.1073/pnas.1712345115",
)
LOCATOR = article(
    "30000003",
    "Walking speed and survival of patients with chronic heart failure in Norway.",
    "Smith, John A; Johansson, Lars; Dvořák, Petr; Nguyen, Thi Minh Ha; García-López, María",
    "PloS one | PLoS One | 2015 | 10 | 4 | e0123456",
    doi="10.1371/journal.pone.0123456",
)
SUPPLEMENT = article(
    "30000004",
    "Metformin for the prevention of diabetic nephropathy.",
    "DE LUCA, G; McDonald, R T",
    "Nephrology, dialysis, transplantation : official publication of the European Dialysis and Transplant "
    "Association - European Renal Association | Nephrol Dial Transplant | 2001 | 16 Suppl 5 |  | S12-S18",
)
RENAMED = article(
    "30000005",
    "Depressive symptoms and mortality after hip fracture: a cohort study.",
    "Holmberg, Karin; Jensen, Ole",
    "Archives of internal medicine | Arch Intern Med | 2004-02-09 | 164 | 3 | 301-7",
)
GERMAN = article(
    "30000006",
    "[Treatment of acute pancreatitis in children].",
    "Weiß, Günther; Maier, Hans",
    "Deutsche medizinische Wochenschrift (1946) | Dtsch Med Wochenschr | 1998-06-05 | 123 | 23 | 721-6",
    vernacular_title="Behandlung der akuten Pankreatitis bei Kindern.",
    language="ger",
)
CHINESE = article(
    "30000007",
    "[Epidemiology of hand, foot and mouth disease in Guangdong province].",
    "Chen, Jian-guo; Liu, Hong",
    "Zhonghua liu xing bing xue za zhi = Zhonghua liuxingbingxue zazhi | Zhonghua Liu Xing Bing Xue Za Zhi | "
    "2012-07 | 33 | 7 | 712-5",
    language="chi",
)
GROUP = article(
    "30000008",
    "Tranexamic acid after major orthopaedic surgery: a multicentre randomised trial.",
    "ORTHO-TXA Trial Collaborators; Patel, Rina; Evans, David",
    "BMJ (Clinical research ed.) | BMJ | 2020-02-27 | 368 |  | m6060",
    doi="10.1136/bmj.m6060",
)
OTHER = article(
    "30000009",
    "Vitamin K antagonists and bone density in postmenopausal women.",
    "Rossi, Maria; Bianchi, Carlo; Verdi, Giulia",
    "The New England journal of medicine | N Engl J Med | 2016-08-11 | 375 | 6 | 541-50",
    doi="10.1056/NEJMoa1600001",
)
REVIEWED_BOOK = article(
    "30000010",
    "Principles and practice of infectious diseases in the tropics.",
    "Lang, Peter",
    "Journal of clinical pathology |  | 2006 | 59 |  | 112",
)
LIBRARY = (ZINC, TNF, LOCATOR, SUPPLEMENT, RENAMED, GERMAN, CHINESE, GROUP, OTHER, REVIEWED_BOOK)


async def checked_all(
    written: Sequence[str],
    records: Sequence[Publication] = LIBRARY,
    *,
    session: ReadingFakeSession | None = None,
    error: ProviderError | None = None,
    inline: bool = False,
) -> ReferenceOutcomes:
    """What becomes of references where `records` are all that anybody knows; `error` is that of the service that reads
    citations."""
    drafted = [DraftReference(number, text, is_inline=inline) for number, text in enumerate(written, 1)]
    return await _checked(drafted, records, session, error)


async def _checked(
    references: Sequence[DraftReference],
    records: Sequence[Publication],
    session: ReadingFakeSession | None,
    error: ProviderError | None,
) -> ReferenceOutcomes:
    numbers = {number: one for one in records for number in (one.pmid, one.doi.lower(), one.pmcid) if number}
    lookups = [FakeRecords("numbers", numbers), FakeReferences("reader", *records, error=error)]
    checker = ReferenceChecker(FullTexts([], None, lookups=lookups), Witness())
    return await checker.check(references, session or ReadingFakeSession())


async def checked(written: str, records: Sequence[Publication] = LIBRARY, **more: Any) -> ReferenceOutcome:
    """What becomes of one reference."""
    return (await checked_all([written], records, **more))[0][0]


def graver(outcome: ReferenceOutcome) -> set[str]:
    """The fields that differ in another way than careful people write them."""
    return {problem.field for problem in outcome.problems if not problem.minor}
