"""What a caller means as a document: a PMID, PMCID, DOI, NCT number, address or evidence id, in any dress."""

from __future__ import annotations

import json
import re

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.identifiers import RecordIds, normalize_pmcid, preprint_number, record_ids
from deepcritical_mcp.models import split_text_id
from deepcritical_mcp.search.documents import DocumentId
from deepcritical_mcp.text import clean_line
from deepcritical_mcp.tools.arguments.params import evidence_id, split_place, unwrapped
from deepcritical_mcp.urls import clean_url, is_web_address

_LINKED = re.compile(r"\[[^\[\]]*\]\((https?://\S*)\)")
_EVIDENCE = re.compile(r"(?:pubmed|doi|nct|url|text):\S+", re.IGNORECASE)
_SHOWN = 80


def read_document_id(given: str) -> tuple[DocumentId, str]:
    """The document, and the anchor of a section if the id has one ("pubmed:1@s3").

    Raises:
        InvalidInputError: it is not an id, or it is several; the message says what to call instead.
    """
    link = _LINKED.fullmatch(clean_line(given))
    text = unwrapped(link[1] if link else given)
    text, place = (text, "") if is_web_address(text) else split_place(text)
    section = place if place[:1].isalpha() else ""
    document = _read(text)
    if document:
        return document, section
    if not text:
        raise InvalidInputError("id: pass a PMID, PMCID, DOI, NCT number, address or evidence id.")
    shown = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
    raise InvalidInputError(
        f"id {json.dumps(shown, ensure_ascii=False)} is not a PMID, PMCID, DOI, NCT number, address or evidence id. To "
        f"find a paper by its title: pubmed_search query={json.dumps(shown, ensure_ascii=False)}."
    )


def _read(text: str) -> DocumentId | None:
    if is_web_address(text):
        return DocumentId(text, evidence_id(text), record_ids(text), clean_url(text))
    if pmcid := normalize_pmcid(text):
        return DocumentId(text, "", RecordIds(pmcid=pmcid))
    if preprint := preprint_number(text):
        url = f"https://europepmc.org/article/PPR/{preprint}"
        return DocumentId(text, evidence_id(url), url=url)
    own, number = split_text_id(text)
    id = evidence_id(own if number > 1 or text.endswith("~1") else text)
    if " " in id or not _EVIDENCE.fullmatch(id):
        return None
    kind, _, value = id.partition(":")
    names = {"pubmed": "pmid", "doi": "doi", "nct": "nct"}
    ids = RecordIds(**{names[kind.lower()]: value}) if kind.lower() in names else RecordIds()
    return DocumentId(text, id, ids)
