"""The record of a trial: what matters most of its registration, and its papers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from deepcritical_mcp.identifiers import normalize_pmid
from deepcritical_mcp.models import MAX_TRIAL_PAPERS, NO_ABSTRACT, NO_TITLE, NoticeKind, Publication, StatusNotice
from deepcritical_mcp.net.json_fields import field_at, mapping_of, rows_of, text_of, texts_of
from deepcritical_mcp.sources.trials.trial_outline import in_words, labeled, line, paragraphs
from deepcritical_mcp.sources.trials.trial_record import (
    DATES,
    Study,
    dated,
    enrollment,
    former_numbers,
    is_retracted,
    trial_fields,
)
from deepcritical_mcp.text import clipped, counted

PROVIDER = "trials"
_MAX_LISTED = 500
"""Characters of a list in one line."""
_CITED, _MAX_CITATION = 5, 200
"""Of the first papers that the sponsor names, so many characters of the citation are kept; of others, the PMID."""
_SPONSORS = {
    "INDUSTRY": "industry",
    "NIH": "NIH",
    "FED": "U.S. federal agency",
    "OTHER_GOV": "government",
    "NETWORK": "network",
    "INDIV": "individual",
}
_PAPERS: dict[str, NoticeKind] = {"RESULT": "result", "DERIVED": "derived"}


def trial_publication(study: Study) -> Publication:
    """A study as a publication; its text, of the kind "registration", consists of labeled lines, then the summary."""
    fields = {"title": NO_TITLE, **trial_fields(study), "status_notices": papers_of(study)}
    return Publication.of("registration", registration_text(study) or NO_ABSTRACT, provider=PROVIDER, **fields)


def trial_stub(number: str) -> Publication:
    """Enough to recognize a trial in a session."""
    return Publication.of(
        "registration", NO_ABSTRACT, provider=PROVIDER, source="trial", title=NO_TITLE, nct=number.upper()
    )


def registration_text(study: Study) -> str:
    """What matters most, a line each: "Status: Completed." The brief summary comes last; "" if there is nothing."""
    summary = paragraphs(field_at(study, "protocolSection", "descriptionModule", "briefSummary"))
    # Full stops, because exports write a text on one line.
    facts = (fact if fact.endswith((".", "?", "!")) else f"{fact}." for fact in _facts(study))
    return "\n".join([*facts, *labeled("Brief summary", "\n".join(summary))])


def _facts(study: Study) -> Iterator[str]:
    protocol = mapping_of(study.get("protocolSection"))
    design, status = mapping_of(protocol.get("designModule")), mapping_of(protocol.get("statusModule"))
    facts = {
        "Acronym": line(field_at(protocol, "identificationModule", "acronym")),
        "Former numbers": ", ".join(former_numbers(study)),
        "Status": _status(status),
        "Why stopped": line(status.get("whyStopped")),
        "Phase": ", ".join(map(in_words, texts_of(design.get("phases")))),
        "Design": _design(design),
        "Enrollment": enrollment(design),
        "Conditions": _listed([*map(line, texts_of(field_at(protocol, "conditionsModule", "conditions")))]),
        **_compared(mapping_of(protocol.get("armsInterventionsModule"))),
        "Primary outcomes": _listed(_outcomes(field_at(protocol, "outcomesModule", "primaryOutcomes"))),
        "Dates": "; ".join(f"{name.lower()} {day}" for name, field in DATES if (day := dated(status.get(field)))),
        "Sponsor": _sponsor(mapping_of(field_at(protocol, "sponsorCollaboratorsModule", "leadSponsor"))),
        "Results": _results(study.get("hasResults")),
        "Countries": _countries(field_at(protocol, "contactsLocationsModule", "locations")),
        "Papers": _counted_papers(study),
    }
    for label, value in facts.items():
        yield from labeled(label, value)


def _status(module: Study) -> str:
    code, last = text_of(module.get("overallStatus")), text_of(module.get("lastKnownStatus"))
    return in_words(code) + (f" (last known: {in_words(last).lower()})" if last else "") if code else ""


def _design(design: Study) -> str:
    info = mapping_of(design.get("designInfo"))
    names = ("allocation", "interventionModel", "observationalModel", "timePerspective")
    codes = [text_of(design.get("studyType")), *(text_of(info.get(name)) for name in names)]
    masking, purpose = text_of(field_at(info, "maskingInfo", "masking")), text_of(info.get("primaryPurpose"))
    parts = [in_words(code).lower() for code in codes if code and code != "NA"]
    parts += labeled("masking", in_words(masking).lower() if masking else "")
    parts += labeled("purpose", in_words(purpose).lower() if purpose else "")
    return "; ".join(parts).capitalize()


def _compared(module: Study) -> dict[str, str]:
    """Arms and interventions, each with its type."""
    arms, interventions = rows_of(module.get("armGroups")), rows_of(module.get("interventions"))
    return {
        "Arms": _listed([_typed(line(one.get("label")), one) for one in arms]),
        "Interventions": _listed([_typed(line(one.get("name")), one) for one in interventions]),
    }


def _typed(name: str, row: Study) -> str:
    kind = text_of(row.get("type"))
    return f"{name} ({in_words(kind).lower()})" if kind and name else name


def _outcomes(rows: object) -> list[str]:
    frames = [(line(one.get("measure")), line(one.get("timeFrame"))) for one in rows_of(rows)]
    return [f"{measure} [{frame}]" if frame else measure for measure, frame in frames]


def _listed(texts: Sequence[str]) -> str:
    """The first ones, and how many more there are; at least one."""
    found: list[str] = []
    room = _MAX_LISTED
    known = list(dict.fromkeys(filter(None, texts)))
    for text in known:
        room -= len(text)
        if found and room < 0:
            break
        found.append(clipped(text, _MAX_LISTED))
    more = len(known) - len(found)
    return "; ".join(found) + (f"; and {more} more" if more else "")


def _sponsor(module: Study) -> str:
    name, kind = line(module.get("name")), _SPONSORS.get(text_of(module.get("class")), "")
    return f"{name} ({kind})" if name and kind else name


def _results(are_posted: object) -> str:
    return ("posted" if are_posted else "none posted") if isinstance(are_posted, bool) else ""


def _countries(rows: object) -> str:
    sites = Counter(line(one.get("country")) for one in rows_of(rows))
    known = [(country, count) for country, count in sites.items() if country]
    return ", ".join(f"{country} ({counted(count, 'site')})" for country, count in known)


def _papers(study: Study) -> dict[NoticeKind, dict[str, Study]]:
    """The papers that the sponsor names as its results, and those that NLM found, by PMID or else citation; a paper in
    both is one of the sponsor's."""
    rows = rows_of(field_at(study, "protocolSection", "referencesModule", "references"))
    found: dict[NoticeKind, dict[str, Study]] = {"result": {}, "derived": {}}
    for one in rows:
        kind, name = _PAPERS.get(text_of(one.get("type"))), _pmid(one) or line(one.get("citation"))
        if kind and name:
            found[kind].setdefault(name, one)
    found["derived"] = {name: one for name, one in found["derived"].items() if name not in found["result"]}
    return found


def _pmid(reference: Study) -> str:
    return normalize_pmid(text_of(reference.get("pmid")))


def _counted_papers(study: Study) -> str:
    papers = _papers(study)
    counts = {"named by the sponsor": papers["result"], "found by NLM's matching": papers["derived"]}
    return ", ".join(f"{len(named)} {how}" for how, named in counts.items() if named)


def papers_of(study: Study) -> tuple[StatusNotice, ...]:
    """The first `MAX_TRIAL_PAPERS` papers of a trial, those that the sponsor names first. What is only background is
    left to the full text."""
    papers = _papers(study)
    named: list[tuple[NoticeKind, Study]] = [("result", one) for one in papers["result"].values()]
    named.extend(("derived", one) for one in papers["derived"].values())
    return tuple(
        _paper(kind, one, is_cited=kind == "result" and number < _CITED)
        for number, (kind, one) in enumerate(named[:MAX_TRIAL_PAPERS])
    )


def _paper(kind: NoticeKind, reference: Study, *, is_cited: bool) -> StatusNotice:
    pmid, citation = _pmid(reference), line(reference.get("citation"))
    authors, stop, rest = citation.partition(". ")
    names = authors.split(", ")
    short = f"{names[0]}, et al{stop}{rest}" if len(names) > 2 and rest else citation
    shown = clipped(short, _MAX_CITATION) if is_cited or not pmid else ""
    mark = "[Retracted]" if is_retracted(reference) else ""
    return StatusNotice(kind=kind, pmid=pmid, reference=" ".join(filter(None, (mark, shown))))
