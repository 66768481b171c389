"""What is one publication, its id and its citation do not depend on the order in which its descriptions arrive."""

from collections.abc import Callable, Mapping, Sequence
from itertools import permutations
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.config import Settings
from deepcritical_mcp.evidence.adding import Batch
from deepcritical_mcp.evidence.catalogue import Catalogue
from deepcritical_mcp.evidence.clustering import member_of
from deepcritical_mcp.evidence.identity import base_id
from deepcritical_mcp.evidence.storage.backend import MemoryBackend, Space
from deepcritical_mcp.evidence.storage.stored_items import KeptSession, new_session_id
from deepcritical_mcp.models import Publication
from tests.evidence.stand_ins import Registries, piece, registry_of
from tests.evidence.test_identity import note, page, paper

BARE = "Prophylactic surgery and survival of women who carry a germline"
DRUG = "Olaparib as maintenance in pancreatic cancer with a mutation: a phase"
DIET = "Salt reduction and blood pressure in chronic kidney disease"
TEXT = "People were followed in a national register; mortality was compared with that of people without treatment."
OTHER = "Dietary salt was reduced for six weeks, and ambulatory pressure was measured in two hundred outpatients."

SEQUENCES: dict[str, tuple[int, tuple[Publication, ...]]] = {
    "a note, the record, and a page with a false DOI": (
        2,
        (
            note("My own words.", DIET, pmid="7", authors=["Wrong A"], date="1999"),
            paper(TEXT, DIET, pmid="7", doi="10.1000/r", date="2020", authors=["Right B"]),
            page(OTHER, DIET, pmid="7", doi="10.9999/x"),
        ),
    ),
    "a cut title and two genes": (
        3,
        (page(TEXT, f"{BARE}…"), page(TEXT, f"{BARE} BRCA1 variant"), page(TEXT, f"{BARE} BRCA2 variant")),
    ),
    "a chain of years": (3, tuple(page(TEXT, DIET, date=year) for year in ("2019", "2020", "2021"))),
    "reports under one DOI": (
        4,
        (
            page(TEXT, DIET, doi="10.1000/s"),
            page(TEXT, f"{DIET}: Asian subgroup", doi="10.1000/s"),
            page(TEXT, f"{DIET}: final overall survival", doi="10.1000/s"),
            page(TEXT, f"{DIET} - Abstract P5-13-02", doi="10.1000/s"),
        ),
    ),
    "two PMIDs and a DOI alone": (
        3,
        (
            page(TEXT, DIET, doi="10.1000/s"),
            page(TEXT, f"{DIET} in adults", pmid="1", doi="10.1000/s"),
            page(TEXT, f"{DIET} in children", pmid="2", doi="10.1000/s"),
        ),
    ),
    "a PMID, a DOI, and both": (
        1,
        (
            page(TEXT, DIET, pmid="7"),
            page(OTHER, DIET, doi="10.1000/a"),
            page("Brief.", DIET, pmid="7", doi="10.1000/a"),
        ),
    ),
    "two authors and none": (
        3,
        (page(TEXT, DIET), page(TEXT, DIET, authors=["Rossi A"]), page(TEXT, DIET, authors=["Bianchi L"])),
    ),
    "a record, its page at PMC, and a copy": (
        1,
        (
            paper(TEXT, DIET, pmid="7", pmcid="PMC7092803"),
            page(OTHER, f"{DIET} - PMC", url="https://pmc.ncbi.nlm.nih.gov/articles/PMC7092803/"),
            page(TEXT, DIET),
        ),
    ),
    "a record, a page that agrees with its claim, and one that does not": (
        2,
        (
            paper(TEXT, DIET, pmid="7", authors=["Right B"]),
            page(OTHER, DIET, pmid="7", authors=["Right B"]).as_claim(),
            page("All cured.", f"{DRUG} 3 trial", pmid="7", authors=["Wrong A"]).as_claim(),
        ),
    ),
    "two claims and no record": (
        2,
        (
            page(TEXT, DIET, doi="10.1000/s", authors=["Right B"]).as_claim(),
            page(OTHER, DIET, doi="10.1000/s", authors=["Right B"]).as_claim(),
            page("All cured.", f"{DRUG} 3 trial", doi="10.1000/s").as_claim(),
        ),
    ),
    "one note, twice about nothing and once about a paper": (
        3,
        (note("Include."), note("Include.", pmid="7"), paper(TEXT, DIET, pmid="7"), note("Include.")),
    ),
    "revisions of a preprint": (
        1,
        (
            page("Swabs daily.", "Viral load dynamics of mild infection", doi="10.1101/2020.10.21.20217042"),
            page("Swabs.", "Viral dynamics of acute infection and applications", doi="10.1101/2020.10.21.20217042"),
            page("Swabs.", "Viral load", url="https://www.medrxiv.org/content/10.1101/2020.10.21.20217042v3"),
        ),
    ),
}


def kept(publications: Sequence[Publication]) -> Catalogue:
    catalogue = Catalogue(MemoryBackend(limit=1).create(new_session_id(), KeptSession()))
    Batch(catalogue, None).add([(one, ()) for one in publications])
    return catalogue


def state(catalogue: Catalogue) -> list[str]:
    """Every publication, whichever of those with one id has a digest behind it."""
    held = [catalogue.item(id).publication for id in catalogue.ids()]
    return sorted(one.model_copy(update={"id": base_id(one.id)}).model_dump_json() for one in held)


@pytest.mark.parametrize("name", SEQUENCES)
def test_the_outcome_is_the_same_in_every_order(name: str) -> None:
    count, publications = SEQUENCES[name]
    catalogues = [kept(order) for order in permutations(publications)]
    assert {len(catalogue) for catalogue in catalogues} == {count}
    assert all(state(catalogue) == state(catalogues[0]) for catalogue in catalogues)
    for catalogue in catalogues:
        assert all(catalogue.resolve(one.id) for one in publications)
        ids = catalogue.ids()
        assert sum(base_id(id) != id for id in ids) == len(ids) - len({*map(base_id, ids)})


TITLES = st.sampled_from(
    [DIET, f"{DIET}…", f"{DIET} in adults", f"{DIET} in children", f"{DIET}: a randomised trial", f"{DIET} | News", ""]
)


def described(
    make: Callable[..., Publication], content: str, title: str, about: Mapping[str, str | Sequence[str]]
) -> Publication:
    return make(content, title, **{part: value for part, value in about.items() if value})


DESCRIPTIONS = st.builds(
    described,
    st.sampled_from([page, page, paper, note]),
    st.sampled_from([TEXT, OTHER, f"{TEXT} {OTHER}", TEXT.replace("register", "hospital"), "Brief."]),
    TITLES,
    st.fixed_dictionaries(
        {
            "pmid": st.sampled_from(["", "", "1", "2"]),
            "doi": st.sampled_from(["", "", "10.1000/a", "10.1000/b", "10.1101/2020.01.01.20000001"]),
            "url": st.sampled_from(["", "", "https://x.example/a", "https://x.example/b"]),
            "date": st.sampled_from(["", "2019", "2020-05", "2021"]),
            "authors": st.sampled_from([(), ("Rossi A",), ("Bianchi L",)]),
        }
    ),
)


CLOSE = st.builds(
    described,
    st.just(page),
    st.sampled_from([TEXT, TEXT, f"{TEXT} {OTHER}"]),
    st.just(DIET),
    st.fixed_dictionaries(
        {
            "doi": st.sampled_from(["", "", "", "10.1000/a", "10.1000/b"]),
            "url": st.sampled_from(["", "", "", "https://x.example/a", "https://y.example/b"]),
            "date": st.sampled_from(["", "2019", "2020", "2021", "2022", "2023"]),
        }
    ),
)


@given(st.lists(DESCRIPTIONS, min_size=2, max_size=6) | st.lists(CLOSE, min_size=3, max_size=8), st.randoms())
def test_random_descriptions_end_up_the_same_in_two_orders(some: list[Publication], random: Random) -> None:
    one, other = kept(some), kept(random.sample(some, len(some)))
    assert state(one) == state(other)
    for catalogue in (one, other):
        held = [catalogue.item(id).publication for id in catalogue.ids()]
        numbers = [held_one.pmid for held_one in held if held_one.pmid and held_one.source != "user"]
        assert len(numbers) == len(set(numbers))
        facts = sorted(member.digest for id in catalogue.ids() for member in catalogue.members(id))
        assert facts == sorted({member_of(member).digest for member in some})
        shown = {text.content for held_one in held for text in held_one.texts}
        written = {text.content for member in some if member.source == "user" for text in member.texts}
        assert written <= shown


async def test_what_turns_out_to_be_several_publications_is_separated_and_said(
    place: Settings, registries: Registries
) -> None:
    store = await registries(place).open()
    first, *others = (page(TEXT, DIET, date=year, authors=["Rossi A"]) for year in ("2021", "2020", "2019"))
    await store.add_evidence(others)
    assert await store.count() == 1
    (outcome,) = await store.add_evidence([first])
    assert (outcome.status, outcome.separates) == ("added", True)
    assert {one.citation.date for one in await store.page(0, 9)} == {"2019", "2020", "2021"}
    assert await store.search_similar("national register")
    assert store.warnings() == ()


@pytest.mark.parametrize("order", list(permutations(range(3))))
async def test_a_twin_of_two_publications_leaves_both_whatever_the_order(
    lasting_place: Settings, registries: Registries, order: tuple[int, ...]
) -> None:
    some = [
        page(TEXT, DIET, doi="10.1000/a"),
        page(TEXT, DIET, doi="10.1000/b"),
        page(TEXT, DIET, url="https://x.org/c"),
    ]
    ids = {one.id for one in some}
    registry = registries(lasting_place)
    store = await registry.open()
    for place in order:
        await store.add_evidence([some[place]])
    for _ in range(2):
        again = await registry.get(store.session_id)
        assert {*await again.ids()} == ids
        (found,) = await again.search_similar("salt and pressure")
        assert {one.id: {*one.similar} for one in await again.page(0, 9)} == {id: ids - {id} for id in ids}
        assert found.id in ids
        assert again.warnings() == ()
        await registry.aclose()
        registry = registries(lasting_place)


ASPIRIN = "Aspirin lowered the risk of colorectal adenoma in a trial of 600 adults over three years."
VITAMIN = "Vitamin D had no effect on falls among 900 older women in nursing homes."
BOOK = "10.1000/book"


def aspirin(**fields: Any) -> Publication:
    return piece(ASPIRIN, "Aspirin and colorectal adenoma in adults", doi=BOOK, **fields)


def vitamin(**fields: Any) -> Publication:
    return piece(VITAMIN, "Vitamin D and falls in nursing homes", doi=BOOK, **fields)


def _nothing(*_: Any) -> None:
    """As if the process had ended before it."""


async def test_a_further_description_does_not_bring_the_id_of_another_publication(
    registries: Registries, tmp_path: Path
) -> None:
    settings = Settings(data_dir=tmp_path)
    registry = registries(settings)
    store = await registry.open()
    described = (aspirin(), aspirin(pmid="1"), vitamin(), vitamin(pmid="2"), vitamin(journal="Bone"))
    for one in (*described, aspirin(pmid="1", keywords=("adenoma",))):
        await store.add_evidence([one])
    for _ in range(2):
        assert await store.ids() == ["pubmed:1", "pubmed:2"]
        assert (await store.get([f"doi:{BOOK}"]))[f"doi:{BOOK}"].id == "pubmed:1"
        await registry.aclose()
        store = await registries(settings).get(store.session_id)
    assert [one.id for one in await store.remove([f"doi:{BOOK}"])] == ["pubmed:1"]


async def test_an_interrupted_renaming_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with registry_of(tmp_path) as registry:
        store = await registry.open()
        await store.add_evidence([aspirin()])
        with monkeypatch.context() as killed:
            killed.setattr(Space, "remove", _nothing)
            await store.add_evidence([aspirin(pmid="1")])
    for expected in (["pubmed:1"], []):
        async with registry_of(tmp_path) as registry:
            store = await registry.get(store.session_id)
            assert await store.ids() == expected
            await store.remove(["pubmed:1"])


@pytest.mark.parametrize("at_once", [False, True])
async def test_nor_does_it_take_that_id_when_the_other_gets_a_better_one(registries: Registries, at_once: bool) -> None:
    store = await registries(Settings()).open()
    await store.add_evidence([aspirin(pmid="1")])
    described = [vitamin(), aspirin(journal="Gut"), vitamin(pmid="3")]
    calls = [described] if at_once else [[one] for one in described]
    outcomes = [outcome for some in calls for outcome in await store.add_evidence(some)]
    assert outcomes[-1].publication.id == "pubmed:3"
    assert "Vitamin" in outcomes[0].publication.title
    assert (await store.get([f"doi:{BOOK}"]))[f"doi:{BOOK}"].id == "pubmed:3"
