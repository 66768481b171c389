"""A record of Europe PMC's search (resultType=core; lite has fewer fields) as a publication."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from deepcritical_mcp.dates import current_date, iso_date, readings
from deepcritical_mcp.identifiers import RecordIds, normalize_doi, normalize_pmcid, normalize_pmid
from deepcritical_mcp.models import (
    NO_ABSTRACT,
    NO_TITLE,
    PREPRINT,
    UNKNOWN_DATE,
    Publication,
    RecordLink,
    split_names,
    status_from_links,
)
from deepcritical_mcp.net.json_fields import (
    field_at,
    mapping_of,
    plain_abstract,
    rows_of,
    text_at,
    texts_of,
)
from deepcritical_mcp.sources.fields import authors_at, field_table, fields_at, json_texts
from deepcritical_mcp.urls import is_web_address

PROVIDER = "europepmc"
PREPRINTS = "PPR"
"""The source code of preprints."""
_WITH_STATUS = ("MED", "PMC", PREPRINTS)
"""Source codes of records that have links to retractions and the like; patents and theses have none."""
_FIELDS, _AUTHOR = field_table(__file__, "fields.txt"), field_table(__file__, "author_fields.txt")
_FREE = ("OA", "F")
"""Codes of full texts that anybody may read: open access, and free."""


@dataclass(frozen=True)
class EuropePMCRecord:
    """A record, and where its text is.

    Attributes:
        source: who the record is from: "MED" (PubMed), "PMC", "PPR" (preprints); others are patents, theses and so on.
        id: Europe PMC's own, e.g. "PPR1036674".
        is_open: whether it is open access.
        full_text_id: under which Europe PMC has the full text; "" if it has none.
        free_copies: addresses of copies that anybody may read, PDFs first.
    """

    publication: Publication
    source: str
    id: str
    is_open: bool = False
    full_text_id: str = ""
    free_copies: tuple[str, ...] = ()

    @property
    def is_preprint(self) -> bool:
        """Whether it is a preprint server's own."""
        return self.source == PREPRINTS


def articles_first(record: EuropePMCRecord) -> tuple[bool, bool]:
    """Sorts articles before preprints, and records of PubMed and PMC before others."""
    return record.is_preprint, record.source not in ("MED", "PMC")


def europe_pmc_page(source: str, number: str) -> str:
    """The address of a record's page in Europe PMC."""
    return f"https://europepmc.org/{'articles' if source == 'PMC' else f'article/{source}'}/{number}"


def identifier_terms(ids: RecordIds) -> Iterator[str]:
    """A term of Europe PMC's query language for each identifier that it knows."""
    doi = normalize_doi(ids.doi).replace('"', "").replace("\\", "")
    if ids.pmid:
        yield f"(EXT_ID:{ids.pmid} AND SRC:MED)"
    if ids.pmcid:
        yield f"PMCID:{ids.pmcid}"
    if doi:
        yield f'DOI:"{doi}"'
    if ids.preprint_number:
        yield f"(EXT_ID:{ids.preprint_number} AND SRC:{PREPRINTS})"


def read_record(row: Mapping[str, object]) -> EuropePMCRecord | None:
    """The record in a row of results; None if it has no id."""
    source, number = text_at(row, "source"), text_at(row, "id")
    if not source or not number:
        return None
    ids = texts_of(field_at(row, "fullTextIdList", "fullTextId"))
    has_text = text_at(row, "inEPMC") == "Y" or bool(ids)
    return EuropePMCRecord(
        publication=_publication(row, source, number),
        source=source,
        id=number,
        is_open=text_at(row, "isOpenAccess") == "Y",
        full_text_id=(ids[0] if ids else normalize_pmcid(text_at(row, "pmcid"))) if has_text else "",
        free_copies=_free_copies(row),
    )


def _publication(row: Mapping[str, object], source: str, number: str) -> Publication:
    is_preprint = source == PREPRINTS
    fields = fields_at(row, _FIELDS, json_texts)
    if source == "MED":
        fields["pmid"] = fields["pmid"] or normalize_pmid(number)
    if fields["medline_abbreviation"] == fields["journal_abbreviation"]:
        fields["medline_abbreviation"] = ""
    types = tuple(dict.fromkeys(_types(row)))
    status, notices = status_from_links(_links(row), types, str(fields["journal_abbreviation"]))
    people = [
        one if text_at(one, "lastName") else {"collectiveName": text_at(one, "fullName"), **one}
        for one in rows_of(field_at(row, "authorList", "author"))
    ]
    authors = authors_at(people, _AUTHOR, json_texts)
    grants = (
        ", ".join(filter(None, (text_at(grant, "grantId"), text_at(grant, "agency"))))
        for grant in rows_of(field_at(row, "grantsList", "grant"))
    )
    more = {
        "title": fields["title"] or NO_TITLE,
        "url": _address(source, number, str(fields["pmid"]), str(fields["doi"])),
        "date": _date(row, is_preprint=is_preprint),
        "authors": authors or tuple(split_names(text_at(row, "authorString").strip().rstrip("."))),
        "version": fields["version"] if is_preprint else "",
        "preprint_number": number if is_preprint else "",
        "publication_types": types,
        "grants": tuple(dict.fromkeys(filter(None, grants))),
        "status": status,
        "status_notices": notices,
        "status_checked": current_date().isoformat() if source in _WITH_STATUS else "",
    }
    kind = "preprint" if is_preprint else "pubmed" if source in ("MED", "PMC") else "web"
    abstract = plain_abstract(text_at(row, "abstractText")) or NO_ABSTRACT
    return Publication.of("abstract", abstract, provider=PROVIDER, source=kind, **(fields | more))


def _address(source: str, number: str, pmid: str, doi: str) -> str:
    if pmid:
        return f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/"
    return f"https://doi.org/{doi}" if doi else europe_pmc_page(source, number)


def _types(row: Mapping[str, object]) -> Iterator[str]:
    names = texts_of(field_at(row, "pubTypeList", "pubType")) or text_at(row, "pubType").split(";")
    if row.get("source") == PREPRINTS:
        yield PREPRINT
    yield from (PREPRINT if name.strip().lower() == "preprint" else name.strip() for name in names if name.strip())


def _links(row: Mapping[str, object]) -> Iterator[RecordLink]:
    """Links to other records. A preprint is known only by Europe PMC's number, e.g. "PPR179288"; it is not the article
    that another preprint became, and neither is what has no name."""
    for link in rows_of(field_at(row, "commentCorrectionList", "commentCorrection")):
        number, source = text_at(link, "id"), text_at(link, "source")
        kind, reference = text_at(link, "type"), text_at(link, "reference")
        if kind.lower() == "preprint of" and (source == PREPRINTS or not (number or reference)):
            continue
        if not reference and source == PREPRINTS:
            by_title = " (matched by title and first author)" if "match" in text_at(link, "note") else ""
            reference = f"Preprint {number} in Europe PMC{by_title}"
        pmid = normalize_pmid(number) if source == "MED" else ""
        yield RecordLink(kind, reference if reference or pmid or not number else f"{number} in Europe PMC", pmid)


def _date(row: Mapping[str, object], *, is_preprint: bool) -> str:
    """That of the issue; of a preprint, when it was posted."""
    posted = iso_date(text_at(row, "firstPublicationDate")) or UNKNOWN_DATE
    if is_preprint and posted != UNKNOWN_DATE:
        return posted
    issue = mapping_of(row.get("journalInfo"))
    year = iso_date(text_at(issue, "yearOfPublication") or text_at(row, "pubYear")) or UNKNOWN_DATE
    if written := text_at(issue, "dateOfPublication"):
        # The words may be a season or a range: then only the year is sure.
        return next(iter(readings(written)), year)
    return posted if year in (posted[:4], UNKNOWN_DATE) else year


def _free_copies(row: Mapping[str, object]) -> tuple[str, ...]:
    """Addresses in the order in which they are worth reading; Europe PMC's own first, as a script may read those."""
    rows = rows_of(field_at(row, "fullTextUrlList", "fullTextUrl"))
    free = [one for one in rows if one.get("availabilityCode") in _FREE and is_web_address(text_at(one, "url"))]
    free.sort(key=lambda one: (one.get("documentStyle") != "pdf", one.get("availabilityCode") != "OA"))
    return tuple(dict.fromkeys(text_at(one, "url") for one in free))
