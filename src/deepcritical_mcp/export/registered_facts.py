"""Facts that the record of a registered trial has in lines of their own: "Enrollment: 120 (actual)."."""

from __future__ import annotations

import re
from collections.abc import Mapping

from deepcritical_mcp.models import Publication

_LINE = re.compile(r"^(Status|Phase|Design|Enrollment|Countries|Sponsor): (.{1,2000})$", re.MULTILINE)
_COUNT = re.compile(r"([0-9]{1,9})(?: \(estimated\))?", re.IGNORECASE)
_NOT_YET_WHOLE = ("not yet recruiting", "recruiting", "enrolling by invitation")
"""Statuses of trials whose number of people can only be planned, whether or not the registry says so."""
_SITES = re.compile(r" \([0-9,]+ sites?\)")


def registered_facts(record: Publication) -> Mapping[str, str]:
    """The lines by their labels, without the full stop; empty for anything but a registration.

    "Enrollment" says where it is known whether the number is "(actual)" or "(planned)", ClinicalTrials.gov's
    "estimated". Of "Design", "Design" has what precedes masking and purpose, and "Allocation" "randomized" or
    "non-randomized".
    """
    text = record.text
    if text.kind != "registration" or text.is_users:
        return {}
    facts = {label: said.removesuffix(".") for label, said in _LINE.findall(text.content)}
    parts = [part for part in facts.get("Design", "").split("; ") if part and ":" not in part]
    allocation = [part for part in parts if part.casefold() in ("randomized", "non-randomized", "non randomized")]
    countries = _SITES.sub("", facts.get("Countries", ""))
    facts["Enrollment"] = _enrollment(facts.get("Enrollment", ""), facts.get("Status", ""))
    return facts | {"Design": "; ".join(parts), "Allocation": "".join(allocation[:1]), "Countries": countries}


def _enrollment(said: str, status: str) -> str:
    count = _COUNT.fullmatch(said)
    is_planned = count and (count[0] != count[1] or status.casefold() in _NOT_YET_WHOLE)
    return f"{count[1]} (planned)" if count and is_planned else said
