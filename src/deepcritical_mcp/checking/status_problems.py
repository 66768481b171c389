"""What happened to the record of a reference, as a problem of the reference."""

from __future__ import annotations

import re
from collections.abc import Sequence

from deepcritical_mcp.models import NOTICE_LABELS, Publication, ReferenceProblem, is_marked, status_label

_KINDS = {
    "retracted": ("retraction",),
    "concern": ("concern",),
    "corrected": ("erratum", "partial_retraction", "earlier"),
    "superseded": ("update",),
    "notice": ("about",),
}
"""The kinds of notices that say why a record has a status."""
_NOTICES = ("Retraction of Publication", "Retraction Notice", "Published Erratum", "Expression of Concern", "Addendum")
_KNOWN = re.compile(r"\b(?:retract(?:ed|ion)|withdrawn|expression of concern)\b", re.IGNORECASE)


def status_problem(record: Publication, written: str) -> ReferenceProblem | None:
    """What a reader must know of the record's status; None if nothing.

    Corrected papers, comments, and retracted papers that the reference itself calls so, are minor.
    """
    published = [one for one in record.status_notices if one.kind == "published"]
    if not is_marked(record.status):
        if not published or record.form != "preprint":
            return None
        where = published[0]
        number = f"PMID {where.pmid}" if where.pmid else where.doi
        told = " ".join(filter(None, (where.reference, f"({number})" if where.reference and number else number)))
        return ReferenceProblem(field="status", true=f"preprint, published as {told}")
    notices = [one for one in record.status_notices if one.kind in _KINDS[record.status]]
    named = "; ".join(
        " ".join(
            filter(
                None, (f"{NOTICE_LABELS[one.kind]}:", one.reference, f"PMID {one.pmid}" if one.pmid else one.own_doi)
            )
        )
        for one in notices[:2]
    )
    label = status_label(record.status).lower()
    minor = record.status == "corrected" or bool(_KNOWN.search(written)) or _is_comment(record)
    return ReferenceProblem(field="status", true=f"{label}. {named}".strip(" ."), minor=minor)


def with_status_problem(
    problems: Sequence[ReferenceProblem], record: Publication, written: str
) -> tuple[ReferenceProblem, ...]:
    """The problems of a reference with that of its record's status, first if it is grave."""
    told = status_problem(record, written)
    if told is None:
        return tuple(problems)
    return (*problems, told) if told.minor else (told, *problems)


def _is_comment(record: Publication) -> bool:
    """Whether it is a comment or letter on a paper, which people cite as such."""
    return record.status == "notice" and not any(one in _NOTICES for one in record.publication_types)
