"""The evidence store in all three places: what goes in, what comes out, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import SessionFullError
from deepcritical_mcp.evidence.catalogue import Catalogue
from deepcritical_mcp.evidence.chunking import Scope
from deepcritical_mcp.evidence.passage_quotes import FIRST_PAGE
from deepcritical_mcp.evidence.searching import Search
from deepcritical_mcp.evidence.sessions import SessionRegistry
from deepcritical_mcp.evidence.storage.session_file import SessionFile
from deepcritical_mcp.evidence.storage.sqlite_space import SqliteSpace
from deepcritical_mcp.evidence.storage.stored_items import KeptItem, SessionInfo
from deepcritical_mcp.evidence.text_index import Layout
from deepcritical_mcp.models import Publication
from tests.evidence.stand_ins import long_sections, paper, piece

Registries = Callable[[Settings], SessionRegistry]

AMPK = piece(
    "Activating AMP-activated protein kinase protects hippocampal neurons from amyloid toxicity and preserves memory "
    "in transgenic mice.",
    "AMPK activation and neuroprotection",
    pmid="101",
)
BIGUANIDE = piece(
    "In a cohort of older adults with type 2 diabetes, long-term biguanide treatment was associated with slower "
    "cognitive decline and a lower incidence of dementia.",
    "Biguanide treatment and cognitive outcomes",
    pmid="102",
)
STRAY = [
    piece(
        "Reagents: agar, trypsin, penicillin, metformin, sodium azide. Plates were poured at 45 degrees and kept cold.",
        "Supplementary list of reagents",
        pmid="103",
    ),
    piece(
        "Braun and Alzheimer surveyed alpine meadows for orchids between 1987 and 1991 and found nineteen species.",
        "Orchids of alpine meadows",
        source="web",
        url="https://example.org/orchids",
    ),
]
OTHERS = [
    piece("Zebrafish regrow their fins within two weeks of amputation.", "Fin regeneration in zebrafish", pmid="104"),
    piece("Aspirin lowers the incidence of colorectal cancer.", "Aspirin and colon cancer", pmid="105"),
    piece("Vaccination of infants against rotavirus prevents severe diarrhoea.", "Rotavirus vaccine", pmid="106"),
    piece("A note on what to read next.", source="user"),
]


async def test_only_one_source_is_searched_when_asked(place: Settings, registries: Registries) -> None:
    store = await registries(place).open()
    await store.add_evidence([*STRAY, *OTHERS, AMPK])
    assert [piece.citation.source for piece in await store.search_similar("alzheimer", source="web")] == ["web"]
    assert [piece.citation.source for piece in await store.search_similar("reading", source="user")] == ["user"]


async def test_related_evidence_is_close_and_not_among_what_was_found(place: Settings, registries: Registries) -> None:
    store = await registries(place).open()
    await store.add_evidence([*OTHERS, AMPK, BIGUANIDE])
    related = await store.related("does metformin slow dementia?", exclude=[AMPK.id])
    assert [item.id for item in related] == [BIGUANIDE.id]
    assert related[0].title == BIGUANIDE.title


async def test_a_full_session_keeps_what_fits_and_says_so(place: Settings, registries: Registries) -> None:
    store = await registries(place.model_copy(update={"max_evidence": 3})).open()
    await store.add_evidence(OTHERS[:2])

    with pytest.raises(SessionFullError, match="full") as caught:
        await store.add_evidence([OTHERS[0], OTHERS[2], AMPK, BIGUANIDE])

    assert caught.value.details == {"kept": [OTHERS[2].id], "left_out": 2}
    assert await store.count() == 3
    assert [outcome.status for outcome in await store.add_evidence([OTHERS[0]])] == ["duplicate"]


async def test_an_empty_session_finds_nothing(place: Settings, registries: Registries) -> None:
    store = await registries(place).open()
    assert await store.search_similar("anything", variants=["something"]) == []
    assert await store.related("anything", exclude=[]) == ()
    assert (await store.count(), await store.page(0, 10), await store.get(["pubmed:1"])) == (0, [], {})
    assert store.warnings == ()


async def test_sessions_never_see_each_other(place: Settings, registries: Registries) -> None:
    registry = registries(place)
    one, other = await registry.open(), await registry.open()
    await one.add_evidence([AMPK])
    assert await other.count() == 0
    assert await other.search_similar("AMPK") == []


async def test_another_article_under_the_same_doi_gets_an_id_of_its_own(
    place: Settings, registries: Registries
) -> None:
    store = await registries(place).open()
    book = [
        piece("Insulin secretion in isolated islets of obese mice.", "Islets of obese mice", doi="10.1/book"),
        piece("Bone density after a spinal injury in athletes.", "Bone loss in athletes", doi="10.1/book"),
    ]
    outcomes = await store.add_evidence(book)
    again = await store.add_evidence(book)

    ids = [outcome.evidence.id for outcome in outcomes]
    assert [outcome.status for outcome in outcomes] == ["added", "added"]
    assert ids[0] == "doi:10.1/book"
    assert ids[1].startswith("doi:10.1/book#")
    assert [outcome.evidence.id for outcome in again] == ids


async def test_a_low_threshold_drops_paraphrases_but_nothing_that_a_number_or_date_tells_apart(
    place: Settings, registries: Registries
) -> None:
    def update(week: int, host: str, date: str) -> Publication:
        text = f"In week {week}, new cholera cases were reported in Sudan. Vaccination continues in Khartoum."
        return piece(
            text, f"WHO update on cholera in Sudan, week {week}", source="web", url=f"https://{host}/a", date=date
        )

    store = await registries(place.model_copy(update={"dedup_threshold": 0.8})).open()
    first = update(12, "who.example", date="2024-03-20")
    later = update(13, "relief.example", date="2024-03-20")
    next_year = update(12, "news.example", date="2025-03-19")
    text = first.text.content.replace("were reported in", "have been reported from")
    paraphrase = piece(text, "Cholera in Sudan, week 12: an update", source="web", url="https://blog.example/c")
    outcomes = await store.add_evidence([first, later, next_year, paraphrase])

    assert [outcome.status for outcome in outcomes] == ["added", "added", "added", "duplicate"]
    assert "nearly the same meaning" in outcomes[-1].reason


async def test_lists_are_deduplicated_without_the_session(place: Settings, registries: Registries) -> None:
    store = await registries(place).open()
    content = AMPK.text.content.replace("Activating", "Activation of")
    paraphrase = piece(content, "Neuroprotection by AMPK activation", source="web", url="https://example.org/p")
    twice: list[Publication] = [AMPK, OTHERS[0], AMPK, paraphrase]
    assert [item.id for item in await store.deduplicate(twice, 0.9)] == [AMPK.id, OTHERS[0].id]
    assert [item.id for item in await store.deduplicate(twice)] == [AMPK.id, OTHERS[0].id]
    assert await store.count() == 0


SHORT = piece("Zinc closed the wounds of 12 of 20 people.", "Zinc in wounds", pmid="7")
NOTE = piece("Read the zinc trial again.", source="user", pmid="7")
LONG = paper(long_sections("zinc", 3), "Zinc in twelve steps", pmid="8", abstract="Zinc was weighed in twelve steps.")
BRIEF = paper(long_sections("zinc", 1)[:1], "Zinc in twelve steps", pmid="8", abstract="Zinc was weighed once.")
QUERY = np.asarray([[1.0, 0.0]], np.float32)


class InterruptedSpace(SqliteSpace):
    """A place in which something else happens after the vectors have been read."""

    meanwhile: Callable[[], None] | None = None

    def vectors(self, parts: Mapping[str, int]) -> dict[str, NDArray[np.float32]]:
        found = super().vectors(parts)
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
        return found


def stored(publication: Publication, order: int) -> KeptItem:
    return KeptItem(publication, order, len(Layout.of(publication).passages), embedded=True, written=order + 1)


@pytest.mark.parametrize("scope", [Scope(), Scope(kind="full_text"), Scope(source="user")])
@pytest.mark.parametrize("change", ["removed", "shortened"])
def test_a_search_goes_on_while_what_it_found_is_removed_or_changed(change: str, scope: Scope) -> None:
    info, catalogue = SessionInfo("", "test"), Catalogue()
    space = InterruptedSpace("rs_0", info, file=SessionFile.create(None, info))
    for order, one in enumerate((SHORT, NOTE, LONG)):
        item = stored(one, order)
        space.write([(item, [QUERY[0]] * item.parts)])
        catalogue.put(item)

    def meanwhile() -> None:
        for id in catalogue.ids():
            if change == "removed":
                catalogue.remove(id)
            elif id == LONG.id:
                catalogue.put(stored(BRIEF, 2))

    space.meanwhile = meanwhile
    found = Search(space, catalogue, None, scope).best(
        "zinc", catalogue.by_words(["zinc in twelve steps"]), QUERY, 0.0, FIRST_PAGE
    )
    assert space.meanwhile is None, "it has happened"
    assert found.evidence
    if change == "removed":
        catalogue.forget_gone()
        assert (
            not Search(space, catalogue, None, scope)
            .best("", catalogue.by_words(["zinc"]), QUERY, 0.0, FIRST_PAGE)
            .evidence
        )
    space.close()
