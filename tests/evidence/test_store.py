"""The evidence store in all three places: what goes in, what comes out, and in which order."""

import pytest

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import SessionFullError, SessionNotFoundError
from deepcritical_mcp.models import NO_ABSTRACT, Publication
from tests.evidence.stand_ins import Registries, piece

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


async def test_the_question_is_answered_by_meaning_before_stray_words(place: Settings, registries: Registries) -> None:
    store = await registries(place).open()
    await store.add_evidence([*STRAY, *OTHERS, AMPK, BIGUANIDE])
    found = await store.search_similar("metformin alzheimer", max_results=4)
    assert {AMPK.id, BIGUANIDE.id} <= {piece.id for piece in found}
    assert found[0].id == BIGUANIDE.id
    assert all(0 < piece.relevance < 1 for piece in found)


async def test_what_merges_is_completed_and_takes_the_best_id(place: Settings, registries: Registries) -> None:
    store = await registries(place).open()
    await store.add_evidence([piece("Short.", "Metformin and ageing", doi="10.1/a", found_by=["ageing"])])
    whole = piece(
        "The whole abstract of the trial of metformin in ageing.",
        "Metformin and ageing",
        doi="10.1/A",
        pmid="7",
        journal="Ageing Cell",
        date="2021-03",
        status="retracted",
        found_by=["metformin"],
    )
    (outcome,) = await store.add_evidence([whole])
    kept = (await store.get(["doi:10.1/a"]))["doi:10.1/a"]
    publication = (await store.publications([kept.id]))[kept.id]
    assert (outcome.status, outcome.reason) == ("duplicate", "same DOI and a similar title")
    assert kept == outcome.evidence
    assert kept.id == "pubmed:7"
    assert kept.content == whole.text.content
    assert (kept.citation.pmid, kept.citation.date, kept.citation.status) == ("7", "2021-03", "retracted")
    assert publication.found_by == ("ageing", "metformin")
    assert (await store.search_similar("trial in ageing people"))[0].content == whole.text.content


async def test_evidence_is_known_by_what_identifies_it(place: Settings, registries: Registries) -> None:
    store = await registries(place).open()
    await store.add_evidence([AMPK, piece("x", url="https://example.org/a/?utm_source=b#top", source="web")])
    assert await store.known(
        [
            piece("other text", pmid="101"),
            piece("y", url="https://EXAMPLE.org/a", source="web"),
            piece(AMPK.text.content, "AMPK Activation and its Neuroprotection."),
            piece("z", "AMPK Activation and Neuroprotection."),
            piece("new", pmid="9"),
        ]
    ) == [AMPK.id, (await store.page(1, 1))[0].id, "", "", ""]


async def test_relevance_is_the_same_in_every_call_and_can_be_demanded(place: Settings, registries: Registries) -> None:
    store = await registries(place).open()
    await store.add_evidence([*OTHERS, AMPK, BIGUANIDE])
    found = await store.search_similar("does metformin slow dementia?", max_results=6)
    publications = await store.publications([piece.id for piece in found])
    demanded = (await store.search("does metformin slow dementia?", max_results=6, min_relevance=0.3)).evidence
    measured = await store.relevance("does metformin slow dementia?", list(publications.values()))
    assert measured == pytest.approx([piece.relevance for piece in found], abs=1e-4)
    assert [piece.id for piece in demanded] == [piece.id for piece in found if piece.relevance >= 0.3]
    assert 0 < len(demanded) < len(found)


async def test_variants_find_more_and_never_outvote_the_question(place: Settings, registries: Registries) -> None:
    store = await registries(place).open()
    await store.add_evidence([*OTHERS, AMPK, BIGUANIDE])
    variants = ["fin regrowth in fish", "fish fins", "zebrafish", "fins", "regeneration", "regrowth", "amputation"]
    found = (await store.search("dementia under biguanides", variants=variants, max_results=2)).evidence
    assert [piece.id for piece in found] == [BIGUANIDE.id, "pubmed:104"]


async def test_what_says_nearly_the_same_is_shown_once_and_names_the_other(
    place: Settings, registries: Registries
) -> None:
    store = await registries(place).open()
    twin = piece(AMPK.text.content, "AMPK activation and neuroprotection again", pmid="999")
    _, outcome = await store.add_evidence([AMPK, twin])
    shown = await store.search_similar("AMPK in neurons", max_results=5)
    assert outcome.status == "added"
    assert [id for id, _ in outcome.folds] == [AMPK.id]
    assert outcome.folds[0][1] >= 0.95
    assert [piece.id for piece in shown] in ([AMPK.id], [twin.id])
    assert {shown[0].id, *shown[0].similar} == {AMPK.id, twin.id}
    assert await store.count() == 2


async def test_opposites_stay_two_and_are_both_shown(place: Settings, registries: Registries) -> None:
    store = await registries(place).open()
    yes = piece("Protein X is essential for the survival of neurons.", "Protein X is essential for neurons")
    no = piece("Protein X is not essential for the survival of neurons.", "Protein X is not essential for neurons")
    outcomes = await store.add_evidence([yes, no])
    assert [outcome.status for outcome in outcomes] == ["added", "added"]
    assert {piece.id for piece in await store.search_similar("is protein X essential?")} == {yes.id, no.id}


async def test_a_long_document_is_found_by_its_best_passage(place: Settings, registries: Registries) -> None:
    store = await registries(place).open()
    filler = "The committee met on Tuesday and approved the minutes of the last meeting. "
    needle = "Metformin delayed the onset of cognitive impairment in elderly patients. "
    long = piece(filler * 60 + needle + filler * 60, "Minutes", source="web", url="https://example.org/minutes")
    await store.add_evidence([long, *OTHERS])
    found = await store.search_similar("metformin and cognitive impairment", max_results=1)
    assert found[0].id == long.id
    assert found[0].content == long.text.content
    assert found[0].relevance > 0.4


async def test_a_dropped_session_is_gone_with_its_documents(place: Settings, registries: Registries) -> None:
    registry = registries(place)
    store = await registry.open()
    await store.add_evidence([AMPK])
    await store.keep_document("report", "short")
    await registry.drop(store.session_id)
    for attempt in (
        *(store.count, lambda: store.add_evidence([AMPK]), lambda: registry.get(store.session_id)),
        *(lambda: store.document("report"), lambda: store.keep_document("report", "again")),
    ):
        with pytest.raises(SessionNotFoundError):
            await attempt()
    if registry.backend.undo_seconds:
        assert await (await registry.restore(store.session_id)).document("report") == "short"


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


@pytest.mark.parametrize("crowd", ["titles", "copies"])
async def test_what_is_ranked_last_or_folded_keeps_no_other_out(crowd: str, registries: Registries) -> None:
    titles = [piece(NO_ABSTRACT, f"Migraine prophylaxis: letter {number}", pmid=str(number)) for number in range(1, 61)]
    text = "Prophylaxis of migraine with topiramate was tried in adults, and attacks became less frequent in group {}."
    copies = [piece(text.format(number), f"Migraine trial {number}", pmid=str(number)) for number in range(1, 91)]
    words = "amber birch cedar delta ember fjord grove heath ivory jetty".split()
    others = [
        piece(
            f"{one} {two} clinics gave {two} {one} tablets as prophylaxis of migraine to {number} nurses.",
            f"{one} {two} tablets",
            pmid=str(1_000 + number),
        )
        for number, (one, two) in enumerate((one, two) for one in words for two in words if one != two)
    ]
    store = await registries(Settings()).open()
    await store.add_evidence([*(titles if crowd == "titles" else copies), *others])
    found = await store.search_similar("migraine prophylaxis", max_results=5)
    assert len(found) == 5
    assert all(one.content != NO_ABSTRACT for one in found)
