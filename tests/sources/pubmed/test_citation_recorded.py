"""Every citation field of every recorded record, against an independent reading of it and against its XML.

`EXCEPTIONS` lists where the reading and the XML disagree, with what the XML says.
"""

import json
import os
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast
from xml.etree import ElementTree

import pytest

from deepcritical_mcp.errors import ProviderError
from deepcritical_mcp.models import NO_ABSTRACT, Publication, vancouver
from deepcritical_mcp.sources.pubmed.records import Records, read_records

SETS = {
    "recorded": os.environ.get("DEEPCRITICAL_RECORDED_DIR", ""),
    "citations": os.environ.get("DEEPCRITICAL_CITATIONS_DIR", ""),
}
Reading = Mapping[str, Any]
Compared = tuple[object, object]
"""What we read and what was expected."""

MONTHS = {
    name: number for number, name in enumerate("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), start=1)
}
SUFFIX = re.compile(r" (Jr\.?|Sr|II|III|IV|2nd|3rd|4th)$")
EXCEPTIONS: Mapping[tuple[str, str], str] = {
    ("20301295", "authors"): "the five are editors in the XML",
    ("20301577", "date"): "1993 is the book's first year; the chapter was contributed on 2006-02-15",
    ("20301382", "date"): "1993 is the book's first year; the chapter was contributed on 2003-12-17",
    ("21413195", "date"): "2009-02 is the book's date; the chapter was contributed on 2012-03-27",
    ("11540070", "content"): "the XML has an abstract, as OtherAbstract",
    ("12179763", "content"): "the XML has an abstract, as OtherAbstract",
    ("12349809", "content"): "the XML has an abstract, as OtherAbstract",
    ("20895115", "title"): "the XML has 'Å\\x93', which is 'œ' encoded twice",
    ("20895118", "title"): "the XML has 'Å\\x93', which is 'œ' encoded twice",
    ("20895154", "title"): "the XML has 'Å\\x93', which is 'œ' encoded twice",
    ("20895138", "title"): "the XML has 'Ã¦', which is 'æ' encoded twice",
    ("32025781", "title"): "the XML has a control character in 'Peripro\\x99sthetic'",
    ("17713168", "authors"): "the XML says of the names that the reading adds that they were wrong (ValidYN='N')",
    ("31449476", "keywords"): "the reading counts an empty element",
    ("19944046", "authors"): "the XML has 'Ã©' and the like, encoded twice",
    ("19944046", "journal"): "the XML has 'Ã©', which is 'é' encoded twice",
    ("19944046", "vernacular_title"): "the XML has 'Ã³', which is 'ó' encoded twice",
}


@pytest.mark.parametrize("name", SETS)
def test_every_field_equals_the_independent_reading_or_the_xml_says_why(name: str) -> None:
    differences = [
        f"{publication.pmid} {field}: {ours!r} instead of {theirs!r}"
        for publication, reading in pairs(name)
        for field, (ours, theirs) in against_reading(publication, reading)
        if plain(ours) != plain(theirs) and (publication.pmid, field) not in EXCEPTIONS
    ]
    assert differences == []


@pytest.mark.parametrize("name", SETS)
def test_every_field_that_the_reading_lacks_equals_the_xml(name: str) -> None:
    differences = [
        f"{publication.pmid} {field}: {ours!r} instead of {theirs!r}"
        for publication, record in elements(name)
        for field, (ours, theirs) in against_xml(publication, record)
        if plain(ours) != plain(theirs) and (publication.pmid, field) not in EXCEPTIONS
    ]
    assert differences == []


@pytest.mark.parametrize("name", SETS)
def test_every_record_has_a_reference_with_all_that_identifies_it(name: str) -> None:
    for publication, _ in elements(name):
        line = vancouver(publication)
        assert "\n" not in line
        assert f"PMID: {publication.pmid}" in line
        assert "  " not in line, line
        assert ".." not in line.replace("...", ""), line
        for part in (publication.doi, publication.volume, publication.pages, publication.pmcid, publication.date[:4]):
            assert part in line, line


@cache
def read(file: Path) -> Records:
    return read_records(file.read_bytes())


def folder(name: str) -> Path:
    if not SETS[name]:
        pytest.skip(f"DEEPCRITICAL_{name.upper()}_DIR is not set")
    return Path(SETS[name])


def pairs(name: str) -> Iterator[tuple[Publication, Reading]]:
    """Each record with its independent reading."""
    root = folder(name)
    readings: dict[str, list[Reading]] = defaultdict(list)
    for line in (root / "records.jsonl").read_text(encoding="utf-8").splitlines():
        reading: Reading = json.loads(line)
        readings[reading["source_file"] if name == "recorded" else "records.xml"].append(reading)
    count = 0
    for file, expected in readings.items():
        records = read(root / file)
        assert records.well_formed, file
        assert all("withdrawn" in loss for loss in records.losses.values()), file
        assert not records.unnamed, file
        publications = records.publications
        if name == "recorded":
            matched = list(zip(publications, expected, strict=False))
        else:
            by_pmid = {publication.pmid: publication for publication in publications}
            matched = [(by_pmid[reading["pmid"]], reading) for reading in expected]
        assert [publication.pmid for publication, _ in matched] == [reading["pmid"] for reading in expected]
        count += len(matched)
        yield from matched
    assert count > 150


def elements(name: str) -> Iterator[tuple[Publication, ElementTree.Element]]:
    """Each record with its XML, parsed by another parser."""
    root = folder(name)
    files = (
        [root / "records.xml"]
        if name == "citations"
        else sorted([*root.glob("efetch/*.xml"), *root.glob("baseline/*.xml")])
    )
    for file in files:
        try:
            document = ElementTree.fromstring(file.read_bytes())
            publications = {one.pmid: one for one in read(file).publications}
        except (ElementTree.ParseError, ProviderError):
            continue
        records = [one for one in document.iter() if one.tag in ("PubmedArticle", "PubmedBookArticle")]
        seen: set[str] = set()
        for record in records:
            pmid = text(record.find(".//PMID"))
            if pmid in publications and pmid not in seen:
                seen.add(pmid)
                yield publications[pmid], record


def against_reading(publication: Publication, reading: Reading) -> Iterator[tuple[str, Compared]]:
    is_book = reading["kind"] == "book"
    yield "title", (publication.title, reading["title"] or reading.get("vernacular_title") or "[No title]")
    yield "content", (publication.text.content, reading["abstract_text"] or NO_ABSTRACT)
    yield (
        "authors",
        (
            [SUFFIX.sub("", str(name)) for name in publication.authors],
            [SUFFIX.sub("", name) for name in reading["authors"]],
        ),
    )
    yield "journal", (publication.journal, reading["journal"] or "")
    yield "journal_abbreviation", (publication.journal_abbreviation, reading.get("journal_abbrev") or "")
    for field in ("volume", "issue"):
        if not is_book:
            yield field, (getattr(publication, field), reading[field] or "")
    if reading.get("pages"):
        yield "pages", (publication.pages, reading["pages"])
    yield "date", (publication.date, date_of(reading))
    if not is_book:
        digits = re.findall(r"\d+", str(reading["article_date"] or ""))
        expected = "-".join([digits[0], *(f"{int(one):02}" for one in digits[1:])]) if digits else "Unknown"
        yield "electronic_date", (publication.electronic_date, expected)
        has_title = bool(reading["title"])
        yield "vernacular_title", (publication.vernacular_title, (reading["vernacular_title"] or "") * has_title)
    yield "language", (publication.language, ", ".join(reading["languages"]))
    yield "doi", (publication.doi, reading["doi"] or "")
    yield "pmcid", (publication.pmcid, reading["pmcid"] or "")
    yield "publication_types", (list(publication.publication_types), reading["publication_types"])
    yield "mesh_terms", (list(publication.mesh_terms), [one["descriptor"] for one in reading["mesh"]])
    words = [plain(word) for word in publication.keywords]
    yield "keywords", (words, list(dict.fromkeys(plain(word) for word in reading["keywords"])))
    yield "retracted", (publication.status == "retracted", reading["is_retracted"])
    if reading["is_retraction_notice"]:
        yield "status", (publication.status, "notice")
    if is_book:
        yield "book_title", (publication.book_title, reading["book_title"])
        yield "form", (publication.form, "chapter" if reading["chapter"] else "book")
        yield "editors", ([str(name) for name in publication.editors], reading["editors"])
        yield "publisher", (publication.publisher, reading["publisher"] or "")
        yield "bookshelf_id", (publication.bookshelf_id, reading["bookaccession"] or "")


LINKS = {
    "RetractionIn": "retraction", "PartialRetractionIn": "partial_retraction", "ExpressionOfConcernIn": "concern",
    "ErratumIn": "erratum", "CorrectedandRepublishedIn": "erratum", "ErratumFor": "about", "CommentOn": "about",
    "RetractionOf": "about", "ExpressionOfConcernFor": "about", "RepublishedIn": "republished",
    "RepublishedFrom": "earlier", "UpdateIn": "update published", "UpdateOf": "earlier preprint",
}  # fmt: skip


def against_xml(publication: Publication, record: ElementTree.Element) -> Iterator[tuple[str, Compared]]:
    issn = record.find(".//Journal/ISSN")
    yield "issn", (publication.issn, text(issn) or text(record.find(".//ISSNLinking")))
    yield "publication_stage", (publication.publication_stage, text(record.find(".//PublicationStatus")))
    yield "conflict_of_interest", (publication.conflict_of_interest, text(record.find(".//CoiStatement")))
    numbers = [text(one) for one in record.iter("AccessionNumber")]
    yield "registrations", ([one.split()[-1] for one in publication.registrations], list(dict.fromkeys(numbers)))
    trials = {one for one in numbers if one.startswith("NCT")}
    yield "nct", (publication.nct, trials.pop() if len(trials) == 1 else "")
    grants = [[text(one.find(name)) for name in ("GrantID", "Agency", "Country")] for one in record.iter("Grant")]
    yield "grants", (list(publication.grants), list(dict.fromkeys(", ".join(filter(None, one)) for one in grants)))
    names = [text(one) for one in record.findall(".//Chemical/NameOfSubstance")]
    yield "substances", (list(publication.substances), list(dict.fromkeys(names)))
    printed = record.find(".//JournalIssue/PubDate")
    if printed is not None and publication.publication_stage != "aheadofprint":
        year, season, words = (text(printed.find(name)) for name in ("Year", "Season", "MedlineDate"))
        yield "issue_date", (publication.issue_date, words or (f"{year} {season}" if season else ""))
    people = [one for one in record.findall(".//AuthorList[@Type='authors']/Author") if one.get("ValidYN") != "N"]
    people = [one for one in people or record.findall(".//Article/AuthorList/Author") if text(one.find("Initials"))]
    wanted = [text(one.find("Initials")) for one in people if one.get("ValidYN") != "N"]
    short = [
        one.short.removeprefix(f"{one.family} ").removesuffix(one.suffix.rstrip(".")) for one in publication.authors
    ]
    if len(wanted) == len(short):  # groups have no initials
        yield "initials", ([one.strip() for one in short], wanted)
    medline = text(record.find(".//MedlineTA"))
    yield (
        "medline",
        (medline == "" or f" {medline}. " in vancouver(publication) or publication.form == "preprint", True),
    )
    yield "publisher_place", (publication.publisher_place, text(record.find(".//PublisherLocation")))
    yield "isbn", (publication.isbn, text(record.find(".//Isbn")))
    yield (
        "suffixes",
        (
            [name.suffix for name in publication.authors if name.suffix],
            [text(one) for one in record.findall(".//Author[@ValidYN='Y']/Suffix")],
        ),
    )
    links = [one for one in record.iter("CommentsCorrections") if one.get("RefType") in LINKS]
    yield (
        "links",
        (
            sorted((one.pmid, one.reference) for one in publication.status_notices),
            sorted((text(one.find("PMID")), text(one.find("RefSource"))) for one in links),
        ),
    )
    kinds = {(text(one.find("PMID")), text(one.find("RefSource"))): LINKS[one.get("RefType", "")] for one in links}
    yield (
        "link kinds",
        ([one for one in publication.status_notices if one.kind not in kinds[one.pmid, one.reference].split()], []),
    )
    revised = record.find("BookDocument/DateRevised")
    parts = [text(revised.find(name)) for name in ("Year", "Month", "Day")] if revised is not None else []
    yield "revised_date", (publication.revised_date, "-".join(one.zfill(2) for one in parts) or "Unknown")
    if not text(record.find(".//MedlinePgn")) and publication.form != "book":
        piis = [text(one) for one in record.findall(".//ELocationID[@EIdType='pii']")]
        yield "article number", (publication.pages in ("", *piis), True)
        if text(record.find(".//PublicationStatus")) in ("ppublish", "epublish") and publication.form == "article":
            yield "pages", (publication.pages, next((one for one in piis if not one.startswith("S0")), ""))


def text(element: ElementTree.Element | None) -> str:
    return " ".join("".join(element.itertext()).split()) if element is not None else ""


def plain(value: object) -> object:
    """Superscripts and subscripts as plain characters: the independent reading keeps those."""
    if isinstance(value, str):
        return re.sub("[−–]", "-", unicodedata.normalize("NFKC", value))
    return [plain(one) for one in cast("list[object]", value)] if isinstance(value, list) else value


def date_of(reading: Reading) -> str:
    """The date as the independent reading's own parts say it."""
    published: Reading = reading["pub_date"] or {}
    if not published.get("year"):
        digits = re.findall(r"\d+", str(reading.get("article_date") or ""))
        return "-".join(digits) or "Unknown"
    said = str(published.get("month") or published.get("season") or published.get("medline_date") or "")
    named = re.search("|".join(MONTHS), said)
    month = MONTHS[named[0]] if named else int(said) if said.isdecimal() else 0
    date = f"{published['year']}-{month:02}" if month else str(published["year"])
    return f"{date}-{int(published['day']):02}" if month and published.get("day") else date
