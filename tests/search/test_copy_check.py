"""Whether a copy is the paper that was asked for."""

import pytest

from deepcritical_mcp.evidence.identity import BEGINNING
from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.models import AuthorName, Publication
from deepcritical_mcp.reading import Reading, Section, assembled
from deepcritical_mcp.search.copies import contradiction, doubt, identity_of_page, page_as_claim

TITLE = "Zinc gluconate for common warts in adults: a randomized trial"
BODY = "Warts were counted by two nurses every week. " * 60
CITED = f"{BODY}\n\nBerg J, Ruiz K. {TITLE}. J Warts. 2019;3:4-9. doi: 10.1000/zinc."


def record(title: str = TITLE, **fields: object) -> Publication:
    return Publication.of(
        "abstract",
        "Zinc was compared with placebo.",
        provider="pubmed",
        source="pubmed",
        title=title,
        pmid="7",
        **fields,
    )


def reading(text: str, title: str = "", **fields: object) -> Reading:
    content, parts = assembled([Section("s0", text.split("\n\n"))])
    return Reading(content, parts, fields | ({"title": title} if title else {}))


SAME = [
    ("its own title", BODY, TITLE),
    ("with the journal's name", BODY, f"{TITLE} | Journal of Warts"),
    ("in capitals", BODY, TITLE.upper()),
    ("a preprint's title", BODY, "Zinc gluconate for common warts in adults: randomised trial"),
    ("no title, but at the beginning", f"J Warts 2019\n\n{TITLE}\n\nJan Berg, Karla Ruiz\n\n{BODY}", ""),
    (
        "broken by a line",
        f"J Warts 2019\n\nZinc gluconate for common warts in\nadults: a randomized trial\n\n{BODY}",
        "",
    ),
    ("a file's name as title", f"{TITLE}\n\n{BODY}", "manuscript_v3.docx"),
]
OTHER = [
    ("cites it", CITED, "Statins in children with asthma: a cohort study"),
    ("cites it, without a title", CITED, ""),
    ("comments on it", BODY, f"Comment on: {TITLE}"),
    ("corrects it", BODY, f"Correction: {TITLE}"),
    ("comments on it, without a title", f"Comment on: {TITLE}\n\n{BODY}", ""),
    ("a list of results", f"1. {TITLE}\n\n2. Zinc for colds\n\n{BODY}", "Search results - Repository"),
    ("other numbers", BODY, "Zinc gluconate for common warts in adults: 2 randomized trials"),
]


@pytest.mark.parametrize(("text", "title"), [row[1:] for row in SAME], ids=[row[0] for row in SAME])
def test_a_copy_with_the_title_of_the_paper_is_taken(text: str, title: str) -> None:
    assert contradiction(record(journal="Journal of Warts"), RecordIds(pmid="7"), reading(text, title)) == ""


@pytest.mark.parametrize(("text", "title"), [row[1:] for row in OTHER], ids=[row[0] for row in OTHER])
def test_a_document_that_only_names_the_paper_is_not_its_text(text: str, title: str) -> None:
    assert "does not carry the title" in contradiction(record(), RecordIds(pmid="7"), reading(text, title))


def test_without_a_record_the_document_must_name_the_doi() -> None:
    wanted = RecordIds(doi="10.1000/zinc")
    assert contradiction(None, wanted, reading(f"doi:10.1000/ZINC\n\n{BODY}")) == ""
    assert "does not name this DOI" in contradiction(None, wanted, reading(BODY))


def test_the_right_number_with_an_unrelated_title_is_doubted() -> None:
    other = reading(BODY, "Statins in children with asthma", pmid="7")
    assert contradiction(record(), RecordIds(pmid="7"), other) == ""
    assert doubt(record(), other) == (
        'Its own title is another one ("Statins in children with asthma"): make sure that it is this paper.'
    )
    assert doubt(record(), reading(BODY, "Zinc for warts", pmid="7")) == ""
    assert doubt(record("[Zink gegen Warzen.]"), other) == ""


def test_the_right_number_with_another_title_and_another_author_is_not_the_text() -> None:
    berg, quack = (AuthorName("Berg", "Jan"),), (AuthorName("Quack", "Quentin"),)
    other = reading(BODY, "Statins in children with asthma", pmid="7", authors=quack)
    assert "does not carry the title" in contradiction(record(authors=berg), RecordIds(pmid="7"), other)
    same = reading(BODY, "Statins in children with asthma", pmid="7", authors=berg)
    assert contradiction(record(authors=berg), RecordIds(pmid="7"), same) == ""


def test_a_page_is_identified_by_the_beginning_of_its_text() -> None:
    page = reading(f"{TITLE}\n\nJan Berg, Karla Ruiz\n\n{BODY * 300}", TITLE, doi="10.1000/zinc")
    claim = page_as_claim(page, url="https://who.example/zinc")
    assert len(claim.text.content) <= BEGINNING
    whole = claim.model_copy(update={"texts": (claim.text.model_copy(update={"content": page.content}),)})
    assert identity_of_page(whole, page) == identity_of_page(claim, page)
