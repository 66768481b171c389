"""Calls as hasty models make them: understood with a note, or refused with the right call spelled out."""

import time
from typing import Any

import pytest
from mcp.client import Client

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.server import _tool  # pyright: ignore[reportPrivateUsage]
from deepcritical_mcp.tools import TOOLS
from deepcritical_mcp.tools.arguments.schemas import read_arguments
from tests.fakes import fake_server
from tests.publications import published
from tests.wire import text_of

PAPER = published("Zinc and sleep.", source="pubmed", pmid="31978945", title="Zinc")
Schemas = dict[str, dict[str, Any]]
Q = "zinc sleep"
TWO = [{"pmid": "24451147"}, {"pmid": "32048627"}]
PAGE = "https://clinicaltrials.gov/study/NCT00000009"
ARTICLE = "https://www.nature.com/articles/s41586-000-0000-1"
RUIZ = "Ruiz A. Zinc. 2021."


@pytest.fixture(scope="module")
def schemas() -> Schemas:
    return {spec.name: _tool(spec, ())[1] for spec in TOOLS}


def of_pubmed(**arguments: object) -> tuple[str, dict[str, object]]:
    return "pubmed_search", {"query": Q, **arguments}


def note(**fields: object) -> tuple[str, dict[str, object]]:
    return "add_evidence", {"items": [{"content": "A note.", **fields}]}


def items(given: object) -> tuple[str, dict[str, object]]:
    return "add_evidence", {"items": given}


IDS = ["pubmed:31978945", "pubmed:20358181"]
WRAPPED = (
    "“31978945”", "#31978945", "pubmed_31978945", "pubmed/31978945", "［31978945］", "`31978945`", "[31978945]",
    "31978945.", "https://pubmed.ncbi.nlm.nih.gov/31978945/", f"evidence://rs_{'0' * 32}/pubmed:31978945",
)  # fmt: skip
ASKED: dict[str, dict[str, object]] = {
    f"Can you look up articles on {Q}": {"query": Q},
    "`zinc` sleep": {"query": Q},
    "PMID: 6677511, 2877511": {"query": "6677511[pmid] OR 2877511[pmid]"},
    "PMIDs 6677511 2877511": {"query": "6677511[pmid] OR 2877511[pmid]"},
}
ITEMS: list[tuple[dict[str, object], dict[str, object]]] = [
    ({"id": "NCT00000009"}, {"nct": "NCT00000009"}),
    ({"id": "PMC7000001"}, {"pmcid": "PMC7000001"}),
    ({"id": "doi:10.1000/zinc"}, {"doi": "10.1000/zinc"}),
    ({"id": 1234567}, {"pmid": "1234567"}),
    *(({name: "NCT00000009"}, {"nct": "NCT00000009"}) for name in ("nct_id", "nctid", "trial", "trial_id")),
    *(({name: RUIZ}, {"reference": RUIZ}) for name in ("citation", "ref", "bibliography")),
    ({"pubmed_id": "7"}, {"pmid": "7"}),
    ({"pmc": "PMC7000001"}, {"pmcid": "PMC7000001"}),
    ({"nct": PAGE}, {"nct": "NCT00000009"}),
    ({"doi": PAGE}, {"nct": "NCT00000009"}),
    ({"doi": ARTICLE}, {"doi": "10.1038/s41586-000-0000-1"}),
    ({"doi": "https://who.example/zinc"}, {"url": "https://who.example/zinc"}),
    ({"nct": PAGE, "doi": "10.1000/zinc"}, {"nct": "NCT00000009", "doi": "10.1000/zinc"}),
]
VALUES = {
    "age_group": {
        "aged": "elderly|older adults|65+|≥65", "over_80": "80+", "adult": "adults|18+", "newborn": "neonates",
        "infant": "babies", "preschool": "toddlers", "adolescent": "teenagers", "middle_aged": "middle-aged",
    },
    "study_filter": {
        "rct": "RCTs|randomised|randomized controlled trials", "systematic_review": "systematic reviews",
        "diagnosis": "diagnostic", "prognosis": "prognostic", "therapy": "treatment|therapy/narrow",
        "therapy_broad": "therapy/broad", "etiology": "aetiology",
    },
}  # fmt: skip
UNDERSTOOD: list[tuple[tuple[str, dict[str, object]], dict[str, object]]] = [
    (of_pubmed(limit=3), {"query": Q, "max_results": 3}),
    (of_pubmed(maxResults="3"), {"query": Q, "max_results": 3}),
    (of_pubmed(max_results=500), {"query": Q, "max_results": 100}),
    (of_pubmed(start=5), {"query": Q, "offset": 5}),
    (of_pubmed(start=2015), {"query": Q, "min_date": "2015"}),
    *(
        (of_pubmed(**{name: written}), {"query": Q, name: meant})
        for name, values in VALUES.items()
        for meant, words in values.items()
        for written in words.split("|")
    ),
    (of_pubmed(age_group="all ages", study_filter="all"), {"query": Q, "age_group": "any", "study_filter": "none"}),
    (of_pubmed(min_date="since 2015"), {"query": Q, "min_date": "2015"}),
    (of_pubmed(publication_types="twin studies"), {"query": Q, "publication_types": ["Twin Study"]}),
    (of_pubmed(publication_types=["multicentre studies"]), {"query": Q, "publication_types": ["Multicenter Study"]}),
    (("pubmed_search", {"query": f'{{"query": "{Q}", "limit": 3}}'}), {"query": Q, "max_results": 3}),
    (("semantic_search", {"query": Q, "filter": {"source": "pubmed"}}), {"query": Q, "source": "pubmed"}),
    (("semantic_search", {"query": Q, "full_text": False}), {"query": Q, "detail": "passages"}),
    (("semantic_search", {"query": Q, "only_retracted": True}), {"query": Q, "status": "retracted"}),
    (("export_evidence", {"format": "md", "papers": "31978945"}), {"format": "markdown", "ids": IDS[:1]}),
    (("web_search", {"query": f"Please search the web for {Q}"}), {"query": Q}),
    (("expand_queries", {"topic": f"Please search PubMed for {Q}"}), {"topic": Q}),
    (of_pubmed(min_date="Jan 5, 2010", max_date="present"), {"query": Q, "min_date": "2010-01-05", "max_date": ""}),
    (of_pubmed(min_date="31/12/2010"), {"query": Q, "min_date": "2010-12-31"}),
    (of_pubmed(sort_by="newest"), {"query": Q, "sort": "date"}),
    (of_pubmed(type="reviews, meta-analyses"), {"query": Q, "publication_types": ["Review", "Meta-Analysis"]}),
    (of_pubmed(exclude_retracted=True), {"query": Q, "include_retracted": False}),
    (of_pubmed(include_known=False), {"query": Q, "only_new": True}),
    (of_pubmed(variants="zinc dreams; copper sleep"), {"query": Q, "variants": ["zinc dreams", "copper sleep"]}),
    (of_pubmed(session_id="current", min_date="null"), {"query": Q, "session_id": ""}),
    (of_pubmed(reasoning="because", db="pubmed", include_abstracts=True), {"query": Q}),
    (("pubmed_search", {"params": {"q": Q}}), {"query": Q}),
    (("pubmed_search", {"query": "https://pubmed.ncbi.nlm.nih.gov/31978945/"}), {"query": "31978945"}),
    (("pubmed_search", {"query": "“zinc” sleep"}), {"query": '"zinc" sleep'}),
    (("semantic_search", {"query": Q, "threshold": "0.5"}), {"query": Q, "min_relevance": 0.5}),
    (("semantic_search", {"query": Q, "sources": ["PubMed"]}), {"query": Q, "source": "pubmed"}),
    (("get_evidence", {"id": 31978945}), {"ids": IDS[:1]}),
    (("get_evidence", {"ids": "['pubmed:31978945','pubmed:20358181']"}), {"ids": IDS}),
    (("get_evidence", {"pmids": "31978945, 20358181"}), {"ids": IDS}),
    (("get_evidence", {"ids": ["`pubmed:31978945`.", "[PMID 20358181]"]}), {"ids": IDS}),
    (("get_evidence", {"ids": IDS, "query": "why"}), {"ids": IDS, "about": "why"}),
    (("get_evidence", {"ids": ["[a](https://doi.org/10.1000/ABC(1)2)"]}), {"ids": ["doi:10.1000/abc(1)2"]}),
    (("pubmed_related", {"id": "PMID:31978945", "kind": "refs"}), {"pmid": "31978945", "kind": "references"}),
    (("export_evidence", {"format": "endnote", "ids": "all"}), {"format": "ris", "ids": []}),
    (("expand_queries", {"query": Q, "max_results": 20}), {"topic": Q, "count": 8}),
    (("web_search", {"query": Q, "time_range": "past year"}), {"query": Q, "recency": "year"}),
    (("add_evidence", {"items": "A note."}), {"items": [{"content": "A note."}]}),
    (
        ("add_evidence", {"items": [{"body": "A note.", "year": 2020, "authors": "Lee M; Roe J"}]}),
        {"items": [{"content": "A note.", "date": "2020", "authors": ["Lee M; Roe J"]}]},
    ),
    (("export_evidence", {"format": "ris", "fields": "title; doi"}), {"format": "ris", "fields": ["title", "doi"]}),
    *(
        (("web_search", {"query": Q, "include_domains": names}), {"query": Q, "include_domains": ["a.b", "c.d"]})
        for names in ("a.b, c.d", "a.b\nc.d", "a.b|c.d", ["a.b, c.d"], '["a.b", "c.d"]')
    ),
    *((items([written]), items([meant])[1]) for written, meant in ITEMS),
    *(
        (items(written), items(TWO)[1])
        for written in (
            "24451147, 32048627", "24451147\n32048627", "PMID: 24451147 and PMID 32048627", ["24451147", "32048627"],
            [24451147, 32048627], '"24451147","32048627"', "'24451147' '32048627'", [{"content": "24451147, 32048627"}],
        )
    ),
    (
        items("NCT00000620; PMC1790863, doi:10.1000/zinc https://who.example/zinc"),
        items([{"nct": "NCT00000620"}, {"pmcid": "PMC1790863"}, {"doi": "10.1000/zinc"},
               {"url": "https://who.example/zinc"}])[1],
    ),
    *(
        (items(text), items([{"content": text}])[1])
        for text in ("24451147 disagrees with 32048627", "Zinc, iron", "In 2021, 24451147 patients", "12, 15")
    ),
    *((("get_full_text", {name: "7"}), {"id": "7"}) for name in ("pmid", "doi", "url", "paper_id", "article", "pmcid")),
    *((("pubmed_search", {"query": text}), meant) for text, meant in ASKED.items()),
    *((("get_evidence", {"ids": [text]}), {"ids": IDS[:1]}) for text in WRAPPED),
    *((("pubmed_related", {"pmid": text}), {"pmid": "31978945"}) for text in WRAPPED),
    *((note(pmid=text), note(pmid="31978945")[1]) for text in WRAPPED),
    *((note(doi=text), note(doi="10.1000/ab(1)2")[1]) for text in ("`10.1000/ab(1)2`", "[10.1000/ab(1)2]")),
]  # fmt: skip


@pytest.mark.parametrize(("call", "meant"), UNDERSTOOD, ids=lambda value: str(value)[:90])
def test_what_can_mean_one_thing_only_is_understood(
    schemas: Schemas, call: tuple[str, dict[str, object]], meant: dict[str, object]
) -> None:
    tool, arguments = call
    values, notes = read_arguments(tool, arguments, schemas[tool])
    assert values == meant
    assert notes


REFUSED: list[tuple[tuple[str, dict[str, object]], list[str]]] = [
    (of_pubmed(min_date="03/04/2010"), ['min_date="2010-03-04"', 'min_date="2010-04-03"']),
    (of_pubmed(limit=3, max_results=5), ["limit=3", "max_results=5", "do not agree"]),
    (of_pubmed(page=2, limit=50), ["then pass next_offset as offset"]),
    (("web_search", {"query": Q, "pageNumber": 2}), ["there is only one page"]),
    (("expand_queries", {"topic": Q, "page_num": 2}), ["there is only one page"]),
    (
        ("add_evidence", {"items": [{"id": IDS[0]}], "decision": "excluded", "reason": "wrong population"}),
        ['items=[{"decision": …, "reason": …}]'],
    ),
    (of_pubmed(years="2010-2015"), ['min_date="2015", max_date="2020"']),
    (("add_evidence", {"references": [RUIZ]}), ['items=[{"reference": …}]']),
    (("pubmed_search", {"query": ["zinc", "sleep"]}), ['variants=["sleep"]', 'query="zinc sleep"']),
    (("pubmed_search", {"queries": ["zinc", "iron"]}), ['query="zinc", variants=["iron"]']),
    (of_pubmed(new_only=True), ["only_new=true", 'sort="date"']),
    *(
        ((tool, {**query, **given}), ['status="ok"', "cannot leave one out"])
        for tool, query in (("semantic_search", {"query": Q}), ("list_evidence", {}))
        for given in ({"retracted": False}, {"include_retracted": False}, {"status": "!retracted"})
    ),
    (("semantic_search", {"query": Q, "source": "!web"}), ['cannot express "not": pass one of']),
    (("pubmed_search", {"pmids": ["31978945", "20358181"]}), ["31978945[pmid]"]),
    (of_pubmed(publication_types=["not review"]), ['query="(…) NOT Review[pt]"']),
    (of_pubmed(articles=["zinc"]), ['Unknown argument "articles"']),
    (of_pubmed(**{f"argument_{number}": 1 for number in range(500)}), ["And 495 more."]),
    (of_pubmed(variants=3), ["expand_queries count=3"]),
    (of_pubmed(species="mouse"), ['query="(…) AND animals[mh]"']),
    (of_pubmed(free_full_text=True), ['query="(…) AND free full text[sb]"']),
    (of_pubmed(gender="female"), ['query="(…) AND female[mh]"']),
    (of_pubmed(last_n_years=5), ['query="(…) AND 2020:3000[dp]"']),
    (("semantic_search", {"query": Q, "filter": "pubmed"}), ['Unknown argument "filter"', "accepts query, variants"]),
    (of_pubmed(exclude_publication_types=["Review"]), ['query="(…) NOT Review[pt]"']),
    (("semantic_search", {"query": Q, "min_relevance": 5}), ["min_relevance=0.5"]),
    (("pubmed_search", {"query": Q, "offset": -1}), ["without next_offset is the last one"]),
    (("get_evidence", {"ids": "all"}), ["list_evidence lists the ids"]),
    *(
        (of_pubmed(study_filter=written), ["publication_types=[", 'query="(…) AND', "systematic_review"])
        for written in ("cohort", "meta-analysis", "case reports", "guideline")
    ),
    *(
        (of_pubmed(age_group=written), ["young adult[mh]", "6 to 12 years", "over_80"])
        for written in ("schoolchildren", "young adults", "pregnant", "5-10")
    ),
]


@pytest.mark.parametrize(("call", "told"), REFUSED, ids=lambda value: str(value)[:90])
def test_what_could_mean_two_things_is_refused_with_the_right_call(
    schemas: Schemas, call: tuple[str, dict[str, object]], told: list[str]
) -> None:
    with pytest.raises(InvalidInputError) as caught:
        read_arguments(call[0], call[1], schemas[call[0]])
    assert all(text in caught.value.message for text in told), caught.value.message


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (of_pubmed(min_date="last 5 years"), ['min_date="last 5 years" as min_date=']),
        (of_pubmed(min_date="2015-2020"), ['as min_date="2015"', 'as max_date="2020"']),
        (of_pubmed(max_date="before 1999"), ['max_date="1999" includes that date']),
        (of_pubmed(max_date="present"), ["as no max_date"]),
        (("pubmed_search", {"input": {"query": Q}}), ["Read what input contains"]),
        (("pubmed_search", {"query": f"look for {Q}"}), ['also searches for the words "look for"']),
        (of_pubmed(abstracts=True), ["Ignored abstracts: pubmed_search has no such argument."]),
        (("pubmed_search", {"query": f"Find papers on {'zinc ' * 30}"}), ['query="Find papers on zinc', "…"]),
        (("pubmed_search", {"query": "(zinc AND sleep"}), ["brackets are not balanced"]),
        (("pubmed_search", {"query": '"zinc sleep'}), ["quotation mark"]),
        (("pubmed_search", {"query": "zinc[topic]"}), ['"[topic]"']),
        (("pubmed_search", {"query": "zinc or copper"}), ["write OR"]),
    ],
)  # fmt: skip
def test_notes_name_what_else_a_hasty_model_must_know(
    schemas: Schemas, call: tuple[str, dict[str, object]], told: list[str]
) -> None:
    _, notes = read_arguments(*call, schemas[call[0]])
    assert all(text in " ".join(notes) for text in told), notes


def test_a_tool_that_deletes_is_taken_literally(schemas: Schemas) -> None:
    for arguments in ({"id": "rs_" + "0" * 32}, {"session": "current"}):
        with pytest.raises(InvalidInputError):
            read_arguments("clear_session", arguments, schemas["clear_session"], literal=True)
    assert read_arguments("clear_session", {"session_id": "current"}, schemas["clear_session"], literal=True) == (
        {"session_id": "current"},
        [],
    )


UNKNOWN = {
    "pubmed_search": ("search", "search_pubmed", "mcp__deepcritical__pubmedSearch"),
    "get_evidence": ("fetch", "get_abstract", "get_paper"),
    "mean clear_session": ("delete_session",),
    'session_id="new"': ("new_session", "reset_session"),
    "clear_session with session_id and their ids": ("delete_evidence", "clear_evidence"),
    "undo=true": ("undo", "restore_session"),
    "": ("close_session", "session", "cleat_session", "get_session"),
}


async def test_an_unknown_tool_leads_to_the_right_one_and_only_deleting_to_deletion() -> None:
    async with Client(fake_server()) as client:
        for told, tools in UNKNOWN.items():
            for tool in tools:
                text = text_of(await client.call_tool(tool, {}))
                assert told in text
                assert ("clear_session" in text) == ("clear_session" in told or told == "undo=true"), tool


def test_what_is_right_is_taken_as_it_is(schemas: Schemas) -> None:
    types = ["Clinical Trial, Phase III"]
    given: dict[str, object] = {
        "query": Q,
        "variants": ["zinc, copper"],
        "publication_types": types,
        "min_date": "2010",
    }
    assert read_arguments("pubmed_search", given, schemas["pubmed_search"]) == (given, [])


@pytest.mark.long
@pytest.mark.parametrize(
    "text", [" ", "[", "(", "-", "pmid ", ",", ")", '"', "1995-", "pubmed:1 ", "a, ", "please "], ids=repr
)
def test_long_arguments_are_read_in_linear_time(schemas: Schemas, text: str) -> None:
    def seconds(length: int) -> float:
        long = text * (length // len(text))
        calls: list[tuple[str, dict[str, object]]] = [
            of_pubmed(min_date=long, variants=long, publication_types=long, max_results=long),
            ("get_evidence", {"ids": [long]}),
            ("pubmed_related", {"pmid": long}),
            ("add_evidence", {"items": long}),
        ]
        began = time.thread_time()
        for tool, arguments in calls:
            try:
                read_arguments(tool, arguments, schemas[tool])
            except InvalidInputError:
                continue
        return time.thread_time() - began

    short = max(min(seconds(20_000) for _ in range(3)), 0.002)
    assert min(seconds(200_000) for _ in range(2)) < 40 * short


@pytest.mark.parametrize(
    ("tool", "name", "never"),
    [
        ("pubmed_search", "exclude_mesh", "include_retracted"),
        ("pubmed_search", "min_results", "max_results"),
        ("pubmed_search", "short", "sort"),
        ("web_search", "include_answer", "include_domains"),
    ],
)
def test_no_hint_turns_the_meaning_around(schemas: Schemas, tool: str, name: str, never: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        read_arguments(tool, {"query": Q, name: True}, schemas[tool])
    assert f'did you mean "{never}"' not in caught.value.message
    assert "Read" not in caught.value.message


async def test_deleting_without_an_exact_id_leads_to_the_id() -> None:
    async with Client(fake_server()) as client:
        for written in ("current", "default", "all", "*", "rs_" + "0" * 20):
            text = text_of(await client.call_tool("clear_session", {"session_id": written}))
            assert "again without" not in text
            assert "list_evidence shows" in text
