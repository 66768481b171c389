"""References as the ICMJE's and NLM's samples write them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.models import AuthorName, Citation, Publication, StatusNotice, vancouver
from tests.publications import published

HALPERN = (AuthorName("Halpern", "Scott D"), AuthorName("Ubel", "Peter A"), AuthorName("Caplan", "Arthur L"))


def paper(title: str = "Solid-organ transplantation in HIV-infected patients.", **fields: Any) -> Publication:
    known: dict[str, Any] = {
        "source": "pubmed",
        "title": title,
        "pmid": "12140307",
        "authors": HALPERN,
        "journal": "The New England journal of medicine",
        "journal_abbreviation": "N. Engl. J. Med.",
        "date": "2002-07-25",
        "volume": "347",
        "issue": "4",
        "pages": "284-7",
    }
    return published("Text.", **(known | fields))


def test_an_article() -> None:
    assert vancouver(paper(doi="10.1056/NEJMsb020632", pmcid="PMC1", language="eng")) == (
        "Halpern SD, Ubel PA, Caplan AL. Solid-organ transplantation in HIV-infected patients. N Engl J Med. "
        "2002 Jul 25;347(4):284-7. doi: 10.1056/NEJMsb020632. PMID: 12140307; PMCID: PMC1."
    )


def body(name: str) -> AuthorName:
    return AuthorName(name)


@pytest.mark.parametrize(
    ("authors", "shown"),
    [
        ((), "Solid-organ"),
        ((AuthorName("van Moorselaar", "R J"), body("Alf-One Study Group")), "van Moorselaar RJ; Alf-One Study Group."),
        ((body("Group A"), body("Group B")), "Group A, Group B."),
        ((body("Group A"), AuthorName("Berg", "Jan")), "Group A, Berg J."),
        ((body("Board A, Unit B"), body("Group C")), "Board A, Unit B; Group C."),
        ((AuthorName("Rose", "Mark E", "Jr."), AuthorName("Hu", "M", "3rd")), "Rose ME Jr, Hu M 3rd."),
        (
            (AuthorName("Silva", "Ana Paula de"), AuthorName("Li", "Ming-Hui"), AuthorName("Yu", "J-M")),
            "Silva AP, Li MH",
        ),
        ((AuthorName("Curtis", "Karen M C"), AuthorName("Saxena", "K M B")), "Curtis KM, Saxena KM."),
        ((AuthorName("Akagi", "Jun-Ichi", initials="J"), AuthorName("Li", "Ch", "", "Ch")), "Akagi J, Li Ch."),
        ([AuthorName(f"A{number}", "B") for number in range(6)], "A0 B, A1 B, A2 B, A3 B, A4 B, A5 B."),
        ([AuthorName(f"A{number}", "B") for number in range(7)], "A0 B, A1 B, A2 B, A3 B, A4 B, A5 B, et al."),
    ],
)
def test_authors_as_nlm_writes_them(authors: Sequence[AuthorName], shown: str) -> None:
    assert vancouver(paper(authors=tuple(authors))).startswith(shown)


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({"date": "2002"}, "N Engl J Med. 2002;347(4):284-7. PMID"),
        ({"date": "2002-07"}, "N Engl J Med. 2002 Jul;347(4):284-7. PMID"),
        ({"date": "Unknown"}, "N Engl J Med. [date unknown];347(4):284-7. PMID"),
        ({"date": "1990", "issue_date": "1990 Spring"}, "N Engl J Med. 1990 Spring;347(4):284-7. PMID"),
        ({"date": "1998-12", "issue_date": "1998 Dec-1999 Jan"}, "N Engl J Med. 1998 Dec-1999 Jan;347(4):284-7. PMID"),
        ({"medline_abbreviation": "J Antibiot (Tokyo)"}, "patients. J Antibiot (Tokyo). 2002 Jul 25;347"),
        ({"volume": ""}, "N Engl J Med. 2002 Jul 25;(4):284-7. PMID"),
        ({"issue": ""}, "N Engl J Med. 2002 Jul 25;347:284-7. PMID"),
        ({"volume": "42 Suppl 2", "issue": "", "pages": "S93-9"}, "2002 Jul 25;42 Suppl 2:S93-9. PMID"),
        ({"pages": "", "volume": "", "issue": ""}, "N Engl J Med. 2002 Jul 25. PMID"),
        ({"journal_abbreviation": ""}, "patients. The New England journal of medicine. 2002 Jul"),
        ({"journal_abbreviation": "Proc. Natl. Acad. Sci. U.S.A."}, " Proc Natl Acad Sci U S A. 2002"),
        ({"journal_abbreviation": "Antivir. Ther. (Lond.)"}, " Antivir Ther (Lond). 2002"),
        ({"title": "Does it work?"}, "Caplan AL. Does it work? N Engl J Med."),
        ({"title": "It works"}, "Caplan AL. It works. N Engl J Med."),
        (
            {"title": "[Osteoid osteoma].", "language": "por"},
            "[Osteoid osteoma]. N Engl J Med. 2002 Jul",
        ),
        ({"title": "[Osteoid osteoma].", "language": "por"}, ":284-7. Portuguese. PMID"),
        ({"language": "eng, fre, ger"}, ":284-7. English, French, German. PMID"),
        ({"language": "und"}, ":284-7. PMID"),
        ({"language": "xyz"}, ":284-7. xyz. PMID"),
        ({"status": "retracted"}, "HIV-infected patients [Retracted]. N Engl"),
        ({"status": "retracted", "title": "Why?"}, "Why? [Retracted]. N Engl"),
        ({"status": "retracted", "title": "Retracted trials."}, "Retracted trials [Retracted]. N Engl"),
        ({"status": "retracted", "title": "RETRACTED: Why?"}, "RETRACTED: Why? N Engl"),
        ({"status": "corrected"}, "HIV-infected patients. N Engl"),
        ({"publication_stage": "aheadofprint"}, "347(4):284-7. PMID"),
        (
            {"publication_stage": "aheadofprint", "doi": "10.1/x", "volume": "", "issue": "", "pages": ""},
            "2002 Jul 25. doi: 10.1/x. Epub ahead of print. PMID: 12140307.",
        ),
    ],
)
def test_the_parts_of_an_article(fields: dict[str, Any], shown: str) -> None:
    assert shown in vancouver(paper(**fields))


EDITORS = (AuthorName("Vogelstein", "Bert"), AuthorName("Kinzler", "Kenneth W"))
CHAPTER: dict[str, Any] = {
    "journal": "",
    "journal_abbreviation": "",
    "volume": "",
    "issue": "",
    "title": "Chromosome alterations",
    "book_title": "The genetic basis of human cancer",
    "editors": EDITORS,
    "publisher": "McGraw-Hill",
    "publisher_place": "New York",
    "pages": "93-113",
    "date": "Unknown",
    "book_years": "2002",
}


def test_a_chapter_and_its_book() -> None:
    assert vancouver(paper(**CHAPTER)) == (
        "Halpern SD, Ubel PA, Caplan AL. Chromosome alterations. In: Vogelstein B, Kinzler KW, editors. "
        "The genetic basis of human cancer. New York: McGraw-Hill; 2002. p. 93-113. PMID: 12140307."
    )


def test_a_chapter_of_an_online_book_that_is_revised() -> None:
    fields = {"pages": "", "date": "2006-02-15", "revised_date": "2024-12-19", "book_years": "1993-2025"}
    assert vancouver(paper(**CHAPTER | fields | {"bookshelf_id": "NBK1403"})) == (
        "Halpern SD, Ubel PA, Caplan AL. Chromosome alterations. 2006 Feb 15 [updated 2024 Dec 19]. In: Vogelstein B, "
        "Kinzler KW, editors. The genetic basis of human cancer [Internet]. New York: McGraw-Hill; 1993-2025. "
        "PMID: 12140307; Bookshelf ID: NBK1403."
    )


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({"authors": ()}, "Vogelstein B, Kinzler KW, editors. The book. New York: McGraw-Hill; 2002 Sep. PMID"),
        ({"authors": (), "editors": EDITORS[:1]}, "Vogelstein B, editor. The book. New York"),
        ({"editors": ()}, "Halpern SD, Ubel PA, Caplan AL. The book. New York: McGraw-Hill; 2002 Sep. PMID"),
        ({}, "Caplan AL. The book. Vogelstein B, Kinzler KW, editors. New York: McGraw-Hill; 2002 Sep. PMID"),
        ({"book_years": "1993-"}, "New York: McGraw-Hill; 1993-. PMID"),
    ],
)
def test_a_whole_book(fields: dict[str, Any], shown: str) -> None:
    known = {"title": "The book", "book_title": "The book", "date": "2002-09", "book_years": "", "pages": ""}
    assert shown in vancouver(paper(**CHAPTER | known | fields))


def test_a_web_page_says_on_which_day_it_was_read() -> None:
    page = published("Text.", source="web", title="Zinc", url="https://who.int/zinc", accessed="2026-11-23")
    dated = page.model_copy(update={"date": "2024-05"})
    older = page.model_copy(update={"accessed": "Unknown"})
    assert vancouver(page).startswith("Zinc [Internet]. who.int; [date unknown] [cited 2026 Nov 23]. Available")
    assert "who.int; 2024 May [cited 2026 Nov 23]." in vancouver(dated)
    assert "who.int; [date unknown]. Available" in vancouver(older)


def test_a_preprint_of_pubmed_and_one_of_another_source() -> None:
    known: dict[str, Any] = {"volume": "", "issue": "", "pages": "2023.02.07.527548", "date": "2023-02-08"}
    listed = paper(journal_abbreviation="bioRxiv", publication_types=("Preprint", "Journal Article"), **known)
    other = paper(source="preprint", pmid="", journal="", journal_abbreviation="", publisher="medRxiv", **known)
    assert vancouver(listed).endswith("patients. bioRxiv [Preprint]. 2023 Feb 8:2023.02.07.527548. PMID: 12140307.")
    assert vancouver(other).endswith("patients. medRxiv [Preprint]. 2023 Feb 8:2023.02.07.527548.")


def page(**fields: Any) -> Publication:
    known: dict[str, Any] = {"source": "web", "title": "Cancer-Pain.org", "url": "https://www.cancer-pain.org/a"}
    return published("Text.", provider="tavily", **known | fields)


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        (
            {"date": "2002-05-16", "publisher": "Association of Cancer Online Resources"},
            "Cancer-Pain.org [Internet]. Association of Cancer Online Resources; 2002 May 16. "
            "Available from: https://www.cancer-pain.org/a",
        ),
        (
            {},
            "Cancer-Pain.org [Internet]. cancer-pain.org; [date unknown]. Available from: https://www.cancer-pain.org/a",
        ),
        (
            {
                "source": "trial",
                "nct": "NCT00000001",
                "title": "A trial",
                "url": "https://clinicaltrials.gov/study/NCT00000001",
            },
            "A trial [Internet]. clinicaltrials.gov; [date unknown]. Identifier: NCT00000001. "
            "Available from: https://clinicaltrials.gov/study/NCT00000001",
        ),
        (
            {
                "source": "trial",
                "nct": "NCT00000001",
                "title": "A trial",
                "authors": (AuthorName("Zinc Foundation"),),
                "publisher": "ClinicalTrials.gov",
                "date": "2020-04-01",
                "revised_date": "2022-03-04",
                "status_checked": "2026-10-09",
                "url": "https://clinicaltrials.gov/study/NCT00000001",
            },
            "Zinc Foundation. A trial [Internet]. ClinicalTrials.gov; 2020 Apr 1 [updated 2022 Mar 4; cited 2026 Oct 9]"
            ". Identifier: NCT00000001. Available from: https://clinicaltrials.gov/study/NCT00000001",
        ),
        ({"source": "user", "title": "My note", "url": ""}, "My note."),
        ({"source": "user", "title": "My note", "url": "javascript:alert(1)", "date": "2020-05"}, "My note. 2020 May."),
    ],
)
def test_pages_trials_and_notes(fields: dict[str, Any], shown: str) -> None:
    assert vancouver(page(**fields)) == shown


def test_a_citation_shows_ten_authors_and_the_last_of_more_than_twelve() -> None:
    names = [AuthorName(f"A{number}", "B") for number in range(1004)]
    few, many = (Citation.of(paper(authors=tuple(names[:count]))) for count in (12, 1004))
    assert few.authors == tuple(f"A{number} B" for number in range(12))
    assert many.authors == (*(f"A{number} B" for number in range(10)), "…", "A1003 B")
    assert (few.authors_total, many.authors_total) == (12, 1004)
    assert many.reference.startswith("A0 B, A1 B, A2 B, A3 B, A4 B, A5 B, et al. Solid")


TEXTS = st.text(max_size=12)


@given(title=TEXTS, family=TEXTS, given_name=TEXTS, journal=TEXTS, book=TEXTS, language=TEXTS, url=TEXTS)
def test_a_reference_is_one_line_for_any_text(
    title: str, family: str, given_name: str, journal: str, book: str, language: str, url: str
) -> None:
    one = published(
        "Text.",
        source="web",
        title=title,
        url=f"https://example.org/{url}",
        authors=(AuthorName(family or "Body", given_name),),
        journal=journal,
        book_title=book,
        language=language,
        status_notices=(StatusNotice(kind="about", reference=title),),
    )
    line = vancouver(one)
    assert line.strip()
    assert len(line.splitlines()) == 1
