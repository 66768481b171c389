"""Pairs of descriptions and of texts: which are of one publication, and which are not, in both orders of arrival."""

import sys
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.config import Settings
from deepcritical_mcp.evidence.clustering import Member, clusters_of, member_of
from deepcritical_mcp.evidence.comparisons import copies
from deepcritical_mcp.evidence.titles import bare_title, likeness, tokens
from deepcritical_mcp.models import NO_ABSTRACT, USER, Publication, Text
from tests.evidence.stand_ins import Registries, piece
from tests.publications import published

TITLE = "Cherry extract against flares of gout in primary care"
TEXT = (
    "Outpatients with gout were assigned to 8 weeks of cherry extract or to usual care. Flares fell from 3 to 2 a "
    "month in the extract group, and serum urate was below 360 micromoles at the last visit."
)


ROSSI: dict[str, Any] = {"authors": ["Rossi A"], "journal": "Gout Rep"}


def page(content: str = TEXT, title: str = TITLE, **about: Any) -> Publication:
    """A web page that the user supplied."""
    return piece(content, title, source="web", provider="user", **about)


def paper(content: str = TEXT, title: str = TITLE, **about: Any) -> Publication:
    """A record that PubMed returned."""
    return piece(content, title, **about)


def note(content: str, title: str = "", **about: Any) -> Publication:
    """As `add_evidence` makes it: without a title of its own, the note's beginning takes its place."""
    return piece(content, title or f"{content.rstrip('.')}…", source="user", **about)


def is_one(*publications: Publication) -> bool:
    return len(clusters_of(map(member_of, publications))) == 1


ONE = {
    "the same PMID": (page("One.", "A", pmid="7"), page("Two.", "B", url="https://pubmed.ncbi.nlm.nih.gov/7/")),
    "title and content, spelling and labels": (page(), page(f"Background: {TEXT}", TITLE.upper())),
    "one sign, written in two ways": (
        page(title=f"{TITLE} in CD4<sup>+</sup> and CD8\N{MINUS SIGN} men"),
        page(title=f"{TITLE} in CD4+ and CD8- men"),
    ),
    "a passage": (page(), page("… Flares fell from 3 to 2 a month in the extract group, and serum urate was below …")),
    "a cut title": (page(), page(title="Cherry extract against flares of gout in pri…")),
    "an HTML entity": (page(title=f"Diet &amp; {TITLE}"), page(title=f"Diet & {TITLE}")),
    "one author written in three ways": (
        page(authors=["Müller, Jan"], date="2019"),
        page(authors=["Jan Mueller"], date="2020"),
    ),
    "a family name of several words": (page(authors=["de la Cruz MP"]), page(authors=["M. P. de la Cruz"])),
    "versions of a preprint": (
        page("A first draft of our text.", "Cherry extract in ambulatory gout", doi="10.1101/2020.01.01.20000001"),
        page("A second draft of our text.", "Cherry extract in gout (revised)", doi="10.1101/2020.01.01.20000001"),
    ),
    "a preprint with a PMID of its own": (
        paper(pmid="7", doi="10.1101/2020.01.01.20000001"),
        page(doi="10.1101/2020.01.01.20000001"),
    ),
    "versions of a preprint by their addresses": (
        page("A first draft.", "Cherries in gout", url="https://www.medrxiv.org/content/10.1101/2020.01.01.20000001v1"),
        page("A second draft.", "Fruit in gout", url="https://www.medrxiv.org/content/10.1101/2020.01.01.20000001v2"),
    ),
    "a page and its print view elsewhere on the site": (
        page(url="https://www.example.org/gout/cherries"),
        page(url="https://www.example.org/documents/print/cherries-2019"),
    ),
    "a translation with one DOI": (
        page("Kurz.", "Die Behandlung der Gicht in der Praxis", doi="10.1000/g"),
        page("Short.", "The treatment of gout in the practice", doi="10.1000/g"),
    ),
    "a note twice": (note("Ask about the urate.", "Ideas"), note("Ask about the urate.", "Ideas")),
    "a page titled as its site": (page("Skip to content.", "BMJ", doi="10.1000/c"), page(doi="10.1000/c")),
    "a journal's name behind the title": (page(), page(title=f"{TITLE} | Rheumatology Reports")),
    "a site's name before the title": (page(), page(title=f"Science Weekly | {TITLE}")),
    "the abstract's address": (
        page("One.", url="https://www.sciencedirect.com/science/article/abs/pii/S0140673620301"),
        page("Two.", url="https://www.sciencedirect.com/science/article/pii/S0140673620301"),
    ),
    "online and in print": (page(authors=["Rossi A"], date="2019"), page(authors=["Rossi A"], date="2020")),
    "two years ahead of print": (page(date="2019", **ROSSI), page(date="2021", **ROSSI)),
}
TWO = {
    "a note with the PMID": (paper(pmid="7"), note("Not blinded.", "My notes on the cherry trial", pmid="7")),
    "a note with a page's title and DOI": (page(doi="10.1000/c"), note("My own summary.", TITLE, doi="10.1000/c")),
    "a note with the paper's title": (paper(pmid="7"), note("Not blinded.", TITLE, pmid="7")),
    "a quotation": (paper(pmid="7"), note("Flares fell from 3 to 2 a month", "Quotation", pmid="7")),
    "a note with a page's address": (
        page(url="https://x.example/a"),
        note("See p. 3.", TITLE, url="https://x.example/a"),
    ),
    "a page's text with a comment": (page(), note(f"{TEXT} I doubt it.", TITLE)),
    "two notes on one paper": (note("Low risk.", "Rating", pmid="7"), note("High risk.", "Rating", pmid="7")),
    "one note on two papers": (note("Include.", pmid="7"), note("Include.", pmid="8")),
    "another drug in the text": (page(), page(TEXT.replace("cherry extract", "allopurinol"))),
    "another number in the text": (page(), page(TEXT.replace("8 weeks", "12 weeks"))),
    "a sign in the title": (page(title=f"{TITLE} in HLA-B27+ men"), page(title=f"{TITLE} in HLA-B27- men")),
    "a sign in the text": (
        page(TEXT.replace("Outpatients", "Rh<sup>+</sup> outpatients")),
        page(TEXT.replace("Outpatients", "Rh\N{MINUS SIGN} outpatients")),
    ),
    "a genotype": (page(title=f"{TITLE} in Apoe+/+ mice"), page(title=f"{TITLE} in Apoe+/\N{MINUS SIGN} mice")),
    "a negation in the text": (page(), page(TEXT.replace("was below", "was not below"))),
    "another population in the text": (page(), page(TEXT.replace("Outpatients", "Children"))),
    "two numbers of a bulletin": (page(date="2023-05-07"), page(date="2023-05-14")),
    "one text, this year's and last year's": (page(date="2020"), page(date="2021-03")),
    "a title cut behind a number": (
        page(title="Cherry extract in ambulatory gout: a phase 1…"),
        page(title="Cherry extract in ambulatory gout: a phase 12 trial"),
    ),
    "one text, two years": (page(date="2011"), page(date="2018")),
    "one text, three years of a journal": (page(date="2018", **ROSSI), page(date="2021", **ROSSI)),
    "one text, two years, two journals": (
        page(date="2019", **ROSSI),
        page(date="2021", **{**ROSSI, "journal": "Lancet"}),
    ),
    "two years of a journal, texts alike": (
        page(date="2019", **ROSSI),
        page(TEXT.replace("at the last visit", "when they were seen again by their doctors"), date="2021", **ROSSI),
    ),
    "two years of a journal, no text": (
        page(NO_ABSTRACT, date="2019", **ROSSI),
        paper(NO_ABSTRACT, date="2021", pmid="7", **ROSSI),
    ),
    "one text, two authors": (page(authors=["Rossi A"]), page(authors=["Bianchi L"])),
    "one text, two initials": (page(authors=["Rossi A"]), page(authors=["Rossi L"])),
    "one DOI, two populations": (
        page("Congress.", "Gout flares in postmenopausal women", doi="10.1000/book"),
        page("The congress.", "Gout flares in postpubertal men", doi="10.1000/book"),
    ),
    "a notice with the paper's DOI": (page(doi="10.1000/c"), page(title=f"Retraction: {TITLE}", doi="10.1000/c")),
    "a preprint and a record with a PMID": (
        page(url="https://www.medrxiv.org/content/10.1101/2020.01.01.20000001v1"),
        paper(pmid="7"),
    ),
    "a preprint and its article": (page(doi="10.1101/2020.01.01.20000001"), page(doi="10.1000/c")),
    "a section of a topic": (page(), page(title=f"{TITLE} | Harms")),
    "a substudy": (page(), page(title=f"{TITLE}: cost analysis")),
    "a work on the same topic": (page(), page("Dietary habits of joggers were recorded by phone " * 3)),
}


@pytest.mark.parametrize("name", ONE)
def test_they_are_one_publication(name: str) -> None:
    first, second = ONE[name]
    assert is_one(first, second)
    assert is_one(second, first)


@pytest.mark.parametrize("name", TWO)
def test_they_are_two_publications(name: str) -> None:
    first, second = TWO[name]
    assert not is_one(first, second)
    assert not is_one(second, first)


@pytest.mark.parametrize("order", list(permutations(range(3))))
@pytest.mark.parametrize(
    "three",
    [
        (paper(pmid="7"), paper(pmid="8"), page()),
        (page(doi="10.1000/c"), page(doi="10.1000/d"), page()),
        (page(date="2011"), page(date="2018"), page()),
    ],
)
async def test_what_could_be_either_of_two_is_kept_apart_in_any_order_of_arrival(
    registries: Registries, three: tuple[Publication, ...], order: tuple[int, ...]
) -> None:
    store = await registries(Settings()).open()
    for number in order:
        await store.add_evidence([three[number]])
    found = await store.publications([one.id for one in await store.page(0, 9)])
    assert len(found) == 3
    assert {(one.pmid, one.doi, one.date) for one in found.values()} == {(one.pmid, one.doi, one.date) for one in three}
    assert all(len(one.texts) == 1 for one in found.values())


async def test_a_number_with_another_title_is_doubted(registries: Registries) -> None:
    store = await registries(Settings()).open()
    _, doubted = await store.add_evidence([paper(pmid="7"), page("False.", "Sleep of owls in winter", pmid="7")])
    assert doubted.reason == "same PMID, though the titles differ: check the number"


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("Ageing of grey matter in mould workers", "Aging of gray matter in mold workers", "same"),
        ("Cherry extract in gout", "Cherry extract in gout: a randomised controlled trial", "near"),
        ("Cherry extract in rheumatology clinics", "Cherry extract in rheumatolgy clinics", "near"),
        ("Cherry extract in gout", "Cherry extract in gout: economic evaluation", "other"),
        ("Microvascular disease in gout", "Macrovascular disease in gout", "other"),
        ("Urate < 360 and flares", "Urate > 360 and flares", "other"),
    ],
)
def test_titles_are_alike_but_for_spelling_misprints_and_design(one: str, other: str, expected: str) -> None:
    assert likeness(tokens(one), tokens(other)) == likeness(tokens(other), tokens(one)) == expected


@given(st.text(), st.text())
def test_any_two_texts_can_be_compared_in_either_order(one: str, other: str) -> None:
    assert likeness(tokens(one), tokens(other)) == likeness(tokens(other), tokens(one))
    copies(one, other)
    bare_title(one, other)


def test_what_was_compared_is_soon_forgotten() -> None:
    """20,000 texts were remembered in tokens: 10 MB more every minute under ordinary use, and cleared texts too."""
    before = sys.getallocatedblocks()
    for number in range(3_000):
        tokens(" ".join(f"word{number}x{place}" for place in range(40)))
    assert sys.getallocatedblocks() - before < 200_000


LONG = "Of 412 patients on home dialysis at nine centres, 81 percent lived for two years, and 30 had peritonitis."


@pytest.mark.parametrize(
    ("one", "other", "is_one"),
    [
        ({"issue": "1", "pages": "12-20"}, {"issue": "Suppl 1", "pages": "S12"}, False),
        ({"pages": "5-14"}, {"pages": "e5"}, False),
        ({"issue": "Spring", "pages": "1"}, {"issue": "Autumn", "pages": "1"}, False),
        ({"volume": "34 Suppl 1", "pages": "S5"}, {"volume": "34", "issue": "Supplement 2", "pages": "S5"}, False),
        ({"volume": "34 Suppl 1", "pages": "S5"}, {"volume": "34", "issue": "Supplement 1", "pages": "S05"}, True),
        ({"pages": "P-12"}, {"pages": "O-12"}, False),
        ({"pages": "12", "content": "Editorial"}, {"pages": "30", "content": "Editorial"}, False),
        ({"pages": "12", "notes": "To read"}, {"pages": "30", "notes": "To read"}, False),
        ({"pages": "12", "content": LONG}, {"pages": "e12", "content": LONG}, True),
        ({"pages": "12", "content": LONG}, {"volume": "35", "date": "2021", "pages": "30", "content": LONG}, False),
        ({"volume": "0", "issue": "0"}, {"pages": "30"}, True),
    ],
)
def test_records_of_libraries_in_different_places_are_one_only_with_one_abstract(
    one: dict[str, Any], other: dict[str, Any], is_one: bool
) -> None:
    def record(content: str = NO_ABSTRACT, notes: str = "", **fields: str) -> Member:
        common = {"title": "Survival in home dialysis: a cohort of nine centres", "journal": "Kidney", "volume": "34"}
        made = published(content, source="library", authors=("Berg, Jan",), **{"date": "2020", **common, **fields})
        note = (Text(kind="note", content=notes, provider=USER),) if notes else ()
        return member_of(made.but(texts=(*made.texts, *note)))

    assert (len(clusters_of([record(**one), record(**other)])) == 1) is is_one
