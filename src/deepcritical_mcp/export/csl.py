"""CSL-JSON (the schema of citationstyles.org, 1.0.2), as pandoc, Zotero and citeproc read it."""

from __future__ import annotations

import json

from deepcritical_mcp.export.reference import PLAIN_FIELDS, Reference
from deepcritical_mcp.models import AuthorName

# Zotero refuses a whole file over one type that it does not know, as "document" was until lately.
_TYPES = {"article": "article-journal", "webpage": "webpage", "other": "article"}


def entry(reference: Reference) -> str:
    """One item of the array."""
    return json.dumps(_item(reference), ensure_ascii=False)


def _item(reference: Reference) -> dict[str, object]:
    publication = reference.publication
    item: dict[str, object] = {
        "id": reference.key,
        "type": _TYPES[reference.kind],
        "title": reference.title,
        "author": [_name(author) for author in reference.authors],
        "issued": {"date-parts": [list(reference.date)]} if reference.date else {},
        **{plain.csl: getattr(publication, plain.field) for plain in PLAIN_FIELDS},
        "page": "-".join(filter(None, reference.pages)),
        "DOI": publication.doi,
        "PMID": publication.pmid,
        "PMCID": publication.pmcid,
        "URL": reference.url,
        "status": "retracted" if publication.status == "retracted" else "",
        "note": "\n".join(filter(None, (reference.status_note, reference.remark))),
        "keyword": "; ".join(reference.keywords),
        "abstract": reference.abstract,
    }
    return {name: value for name, value in item.items() if value}


def _name(author: AuthorName) -> dict[str, str]:
    if not author.given:
        return {"literal": author.family}
    parts = {"family": author.family, "given": author.given, "suffix": author.suffix}
    return {name: part for name, part in parts.items() if part}
