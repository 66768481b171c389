"""What export writes, read back by the programs that people read it with; real records; licences."""

import json
import re
import shutil
import subprocess
from importlib import import_module
from typing import Any, cast, get_args

import pytest

from deepcritical_mcp.board import board_report
from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.export import EXPORT_FILES, ExportFormat, read_jsonl
from deepcritical_mcp.export.reference import is_open
from deepcritical_mcp.models import NO_ABSTRACT, AuthorName, Part, Publication, StatusNotice, Text, vancouver
from deepcritical_mcp.session_export import ExportRequest
from deepcritical_mcp.tools.export_evidence import record_part
from tests.export.recorded import needs_records, recorded_publications
from tests.publications import export, published

# None of the three has types; what they give is checked value by value below.
pybtex: Any = import_module("pybtex.database")
bibtexparser: Any = import_module("bibtexparser")
middlewares: Any = import_module("bibtexparser.middlewares")
rispy: Any = import_module("rispy")

FORMATS: tuple[ExportFormat, ...] = get_args(ExportFormat)
needs_pandoc = pytest.mark.skipif(shutil.which("pandoc") is None, reason="pandoc is not installed (apt: pandoc)")

AWKWARD_TITLE = r'50% of mRNA & COVID-19 in Parkinson: $5 #1 a_b {x} \alpha ~10^2 p<0.05 "q" Größe, 王'
AWKWARD_DOI = "10.1002/(SICI)1097(19980815/30)17:15/16<1661::AID_SIM968>3.0.CO;2-2"

ARTICLE = published(
    "BACKGROUND: a_b rose by 5%.\nRESULTS: {x} fell.",
    provider="pubmed",
    authors=(
        AuthorName("van der Berg", "Jan", "Jr"),
        AuthorName("Study Group, Geneva & Łódź"),
        AuthorName("García López", "José"),
        AuthorName("王", "伟"),
        AuthorName("Sand and Stone", "A"),
    ),
    volume="12",
    issue="3 Suppl 1",
    pages="1123-30",
    source="pubmed",
    title=AWKWARD_TITLE + ".",
    url="https://pubmed.ncbi.nlm.nih.gov/31000001/",
    date="2021-03-04",
    pmid="31000001",
    doi=AWKWARD_DOI,
    pmcid="PMC7000001",
    journal="Annals of A & B",
    mesh_terms=("Diabetes Mellitus, Type 2", "Aging"),
    status="retracted",
    status_notices=(StatusNotice(kind="retraction", pmid="31000002", reference="Ann A B. 2022;13(1):2."),),
)
PAGE = published(
    "Wash your hands.",
    provider="tavily",
    source="web",
    title="Advice for Travellers From the WHO",
    url="https://example.org/a_b?x={1}&y=%20#part",
    authors=("Smith JA", "Example Health Agency"),
)
NOTE = published(
    "I doubt 5% & more.", provider="user", source="user", title="My note", url="javascript:alert(1)", date="2020-05"
)
EVERYTHING = (ARTICLE, PAGE, NOTE)


def article(title: str = "A title", *, content: str = "Text.", pmid: str = "1", **fields: Any) -> Publication:
    return published(content, source="pubmed", title=title, pmid=pmid, journal="J", **fields)


def csl_items(text: str, source: str) -> list[dict[str, Any]]:
    """What pandoc reads in a file, as CSL."""
    command = ["pandoc", "--from", source, "--to", "csljson", "--wrap", "none"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True, timeout=60)
    return cast("list[dict[str, Any]]", json.loads(done.stdout))


def bibtex_entries(text: str) -> list[dict[str, Any]]:
    library = bibtexparser.parse_string(
        text,
        append_middleware=[
            middlewares.SeparateCoAuthors(),
            middlewares.SplitNameParts(),
            middlewares.LatexDecodingMiddleware(),
        ],
    )
    assert not library.failed_blocks
    return [{"type": entry.entry_type, "key": entry.key, **dict(entry.items())} for entry in library.entries]


def test_pybtex_tells_families_particles_suffixes_and_bodies_apart() -> None:
    entries = pybtex.parse_string(export(EVERYTHING, "bibtex"), "bibtex").entries
    people = entries["vanderberg2021mrna"].persons["author"]
    assert [(one.prelast_names, one.last_names, one.lineage_names, one.first_names) for one in people] == [
        (["van", "der"], ["Berg"], ["Jr"], ["Jan"]),
        ([], [r"{Study Group, Geneva \& Łódź}"], [], []),
        ([], ["García", "López"], [], ["José"]),
        ([], ["王"], [], ["伟"]),
        ([], ["{Sand and Stone}"], [], ["A"]),
    ]
    assert [one.last_names for one in entries["smithadvice"].persons["author"]] == [
        ["Smith"],
        ["{Example Health Agency}"],
    ]


@pytest.mark.parametrize(
    ("status", "title", "shown", "note"),
    [
        ("ok", "Sleep", "Sleep", ""),
        ("concern", "Sleep", "Sleep", "EXPRESSION OF CONCERN."),
        ("corrected", "Sleep", "Sleep", "CORRECTED."),
        ("retracted", "Sleep", "RETRACTED: Sleep", "RETRACTED."),
        *(
            ("retracted", f"{mark}Sleep", f"{mark}Sleep", "RETRACTED.")
            for mark in ("Retracted: ", "RETRACTED ARTICLE: ", "[Retracted] ", "(Retracted paper) ", "WITHDRAWN: ")
        ),
        *(
            ("retracted", title, f"RETRACTED: {title}", "RETRACTED.")
            for title in ("Retraction of the gastric wall", "Retracted eyelids after surgery", "Withdrawn patients")
        ),
    ],
)
def test_a_status_is_noted_and_a_retraction_stands_once_in_the_title_of_every_export(
    status: str, title: str, shown: str, note: str
) -> None:
    paper = article(f"{title}.", status=status)
    (item,) = json.loads(export((paper,), "csl-json"))
    assert item.get("note", "") == note
    assert re.sub("<[^>]*>", "", item["title"]) == shown
    assert f"TI  - {shown}" in export((paper,), "ris")
    assert shown in export((paper,), "bibtex").replace("{", "").replace("}", "")
    assert shown in export((paper,), "markdown").replace("\\", "")
    assert vancouver(paper).startswith(f"{title}. " if shown == title else f"{title} [Retracted]. ")


def test_citation_keys_are_readable_ascii_and_unique() -> None:
    lopez = [AuthorName("Łukasiewicz-Ødegård", "J")]
    pieces = [
        article("The effect of β-blockers", authors=lopez, date="2021-05"),
        article("Effect again", pmid="2", authors=lopez, date="2021"),
        article("On effect", pmid="3", authors=lopez, date="2021"),
        article("睡眠", pmid="4", authors=[AuthorName("王", "伟")]),
        article("A 12-week diet", pmid="5", date="1999"),
    ]
    assert [item["id"] for item in json.loads(export(pieces, "csl-json"))] == [
        "lukasiewiczodegard2021effect",
        "lukasiewiczodegard2021effect-2",
        "lukasiewiczodegard2021effect-3",
        "pubmed4",
        "week1999",
    ]


@pytest.mark.parametrize("line", ["{", "[]", '{"id": "x"}', "null"])
def test_a_line_that_is_not_a_publication_is_named(line: str) -> None:
    with pytest.raises(InvalidInputError, match=r"^Line 2 is not a publication"):
        read_jsonl(f"{ARTICLE.model_dump_json()}\n{line}\n")


def test_jsonl_is_read_back_whole() -> None:
    assert read_jsonl(export(EVERYTHING, "jsonl")) == list(EVERYTHING)
    assert read_jsonl("\ufeff" + export(EVERYTHING, "jsonl").replace("\n", "\r\n\r\n")) == list(EVERYTHING)


@pytest.mark.parametrize("format", FORMATS)
def test_parts_put_together_are_the_whole(format: ExportFormat) -> None:
    pieces, request = (*EVERYTHING, ARTICLE, NOTE) * 4, ExportRequest(format, abstracts=True)
    parts: list[str] = []
    start = 0
    while start < len(pieces):
        text, count, _ = record_part(pieces, request, format, start=start, limit=2_500)
        assert len(json.dumps(text)) <= 2_500
        parts.append(text)
        start += count
    assert 1 < len(parts) < len(pieces)
    if format == "csl-json":
        assert [item for part in parts for item in json.loads(part)] == json.loads(export(pieces, format))
    else:
        assert EXPORT_FILES[format].separator.join(parts) == export(pieces, format)


SENTENCE = "Zinc was given to every second patient of the ward. "


def paper(licence: str, abstract: str = "Zinc speeds up repair.") -> Publication:
    """A paper whose full text was read."""
    whole = Text(
        kind="full_text",
        content=SENTENCE * 200,
        provider="pmc",
        parts=(Part(anchor="s1", path=("Results",)),),
        licence=licence,
        url="https://pmc.example/PMC1",
    )
    record = published(abstract, source="pubmed", title="Zinc in wounds", pmid="7")
    texts = (whole, *record.texts) if abstract == NO_ABSTRACT else (*record.texts, whole)
    return record.model_copy(update={"texts": texts})


CREATIVE_COMMONS = "https://creativecommons.org/licenses"
OPEN = (
    "CC BY 4.0", "cc-by", "CC BY-SA", f"{CREATIVE_COMMONS}/by/4.0/", f"{CREATIVE_COMMONS}/by-sa/3.0/us/", "cc0 1.0",
    "https://creativecommons.org/publicdomain/zero/1.0/", "Public domain (US government work)",
    "This is an open access article under the terms of the Creative Commons Attribution License.",
)  # fmt: skip
OTHERS = (
    "", "CC BY-NC 4.0", "cc-by-nc-nd", "CC BY-ND", f"{CREATIVE_COMMONS}/by-nc-sa/4.0/", "TDM", "All rights reserved.",
    "Creative Commons Attribution-NonCommercial-NoDerivatives 4.0",
    "This file is available for text mining. It may also be used consistent with the principles of fair use.",
)  # fmt: skip


def test_open_licences_are_known_in_any_spelling_and_no_others_are_open() -> None:
    assert [one for one in OPEN if not is_open(one)] == [one for one in OTHERS if is_open(one)] == []


@pytest.mark.parametrize("format", ["bibtex", "ris", "csl-json", "markdown", "jsonl"])
@pytest.mark.parametrize("abstract", ["Zinc speeds up repair.", NO_ABSTRACT])
@pytest.mark.parametrize(("licence", "most"), [("CC BY 4.0", 1_500), ("CC BY-NC 4.0", 300), ("", 300)])
def test_no_export_has_a_full_text(format: ExportFormat, abstract: str, licence: str, most: int) -> None:
    for written in (export([paper(licence, abstract)], format), board_report([paper("", abstract)])):
        assert written.count(SENTENCE.strip()) * len(SENTENCE) <= most


@pytest.mark.parametrize("format", ["ris", "csl-json", "markdown"])
def test_the_licence_travels_with_the_reference(format: ExportFormat) -> None:
    written = export([paper("CC BY-NC 4.0")], format).replace("\\", "")
    assert "Full text (pmc): licence CC BY-NC 4.0, https://pmc.example/PMC1." in written


@pytest.fixture(scope="module")
def recorded() -> list[Publication]:
    publications = recorded_publications()
    assert len(publications) > 100
    return publications


@needs_records
@pytest.mark.long
def test_every_library_reads_every_record(recorded: list[Publication]) -> None:
    bibtex = export(recorded, "bibtex")
    assert len(pybtex.parse_string(bibtex, "bibtex").entries) == len(recorded)
    assert len(bibtex_entries(bibtex)) == len(recorded)
    assert len(rispy.loads(export(recorded, "ris"))) == len(recorded)
    assert read_jsonl(export(recorded, "jsonl")) == recorded


@needs_records
@needs_pandoc
@pytest.mark.parametrize(("format", "dialect"), [("csl-json", "csljson"), ("bibtex", "biblatex")])
def test_pandoc_reads_every_record_as_it_is(recorded: list[Publication], format: Any, dialect: str) -> None:
    ours = unset(json.loads(export(recorded, "csl-json")))
    theirs = unset(csl_items(export(recorded, format), dialect))
    same = ("id", "container-title", "volume", "issue", "page", "DOI", "PMID", "PMCID", "URL", "issued")
    for one, other in zip(ours, theirs, strict=True):
        # pandoc does not read a season in CSL-JSON, and reads one of BibTeX as the months 21 to 24.
        seasons = {"Spring": 21, "Summer": 22, "Fall": 23, "Winter": 24}
        season = seasons.get(one["issued"].pop("season", "")) if "issued" in one else None
        if season and dialect == "biblatex":
            one["issued"]["date-parts"][0].append(season)
        assert {name: other.get(name) for name in same} == {name: one.get(name) for name in same}
        assert [plain_name(name) for name in other.get("author", [])] == [
            plain_name(name) for name in one.get("author", [])
        ]


def unset(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """`items` without the apostrophes and fixed spaces that pandoc sets."""
    text = json.dumps(items, ensure_ascii=False)
    return json.loads(text.replace("’", "'").replace("‘", "'").replace("\N{NO-BREAK SPACE}", " "))


def plain_name(name: dict[str, str]) -> str:
    """A name as one line, whatever its particles were called."""
    parts = ("literal", "dropping-particle", "non-dropping-particle", "family", "given", "suffix")
    return " ".join(name[part] for part in parts if part in name)
