"""A study of ClinicalTrials.gov as a publication and as a text with sections. Contact persons are never read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import cast

from deepcritical_mcp.dates import current_date
from deepcritical_mcp.identifiers import normalize_pmid, normalize_trial
from deepcritical_mcp.models import (
    MAX_TRIAL_PAPERS,
    NO_ABSTRACT,
    NO_TITLE,
    AuthorName,
    NoticeKind,
    Publication,
    StatusNotice,
)
from deepcritical_mcp.net.json_fields import field_at, mapping_of, number_of, rows_of, text_at, text_of, texts_of
from deepcritical_mcp.reading import Block, Reading, Section, assembled, outline, with_text
from deepcritical_mcp.sources.fields import field_table, fields_at, json_texts
from deepcritical_mcp.sources.trials.outline import (
    in_words,
    labeled,
    line,
    outcome_rows,
    paragraphs,
    part,
    results_of,
    sponsor_kind,
    without_contacts,
)
from deepcritical_mcp.text import clipped, counted, data_lines

FIELDS, RECORD_FIELDS = data_lines(__file__, "fields.txt")
"""The fields that are read of a whole study, and those that a record of one needs; no contact persons."""
REGISTRY = "ClinicalTrials.gov"
ADDRESS = "https://clinicaltrials.gov/study/"
UNKNOWN_COUNT = 99_999_999
NCT_NUMBER = re.compile(r"NCT[0-9]{8}")
Study = Mapping[str, object]


def nct_of(study: Study) -> str:
    """A study's number; "" if it has none."""
    return text_at(study, "protocolSection.identificationModule.nctId").upper()


def former_numbers(study: Study) -> tuple[str, ...]:
    """The numbers that the study had before."""
    return texts_of(field_at(study, "protocolSection", "identificationModule", "nctIdAliases"))


def attribution(study: Study) -> str:
    """What must be said wherever the text is used, by the terms of ClinicalTrials.gov."""
    dated = f", data of {day}" if (day := text_at(study, "derivedSection.miscInfoModule.versionHolder")) else ""
    return (
        f"Source: ClinicalTrials.gov, U.S. National Library of Medicine{dated}. The text is the sponsor's; its layout "
        "was changed."
    )


def trial_fields(study: Study) -> dict[str, object]:
    """Fields of `Publication`. The sponsor stands for the authors; `version` is the day of the data."""
    fields, number = fields_at(study, _FIELDS, json_texts), nct_of(study)
    # Another trial's number is in the full text: here it would be taken for a former number of this one.
    others = json_texts(study, "protocolSection.identificationModule.secondaryIdInfos.id")
    secondary = (one for one in others if not NCT_NUMBER.fullmatch(normalize_trial(one)))
    sponsor = line(field_at(study, "protocolSection", "sponsorCollaboratorsModule", "leadSponsor", "name"))
    keywords = [text for one in cast("tuple[str, ...]", fields["keywords"]) if (text := line(one))]
    return fields | {
        "source": "trial",
        "title": line(fields["title"]),
        "url": f"{ADDRESS}{number}",
        "nct": number,
        "authors": (AuthorName(sponsor),) if sponsor else (),
        "publisher": REGISTRY,
        "publication_types": tuple(_status_words(study)),
        "keywords": tuple(dict.fromkeys(keywords)),
        "registrations": tuple(dict.fromkeys((*former_numbers(study), *secondary))),
        "accessed": current_date().isoformat(),
    }


def _status_words(study: Study) -> Iterator[str]:
    """Kind, phase and state of a trial: "Interventional", "Phase 2", "Completed", "Results posted"."""
    protocol = mapping_of(study.get("protocolSection"))
    design = mapping_of(protocol.get("designModule"))
    codes = (
        text_at(design, "studyType"),
        *(code for code in texts_of(design.get("phases")) if code != "NA"),
        text_at(protocol, "statusModule.overallStatus"),
    )
    yield from map(in_words, filter(None, codes))
    if study.get("hasResults") is True:
        yield "Results posted"


def trial_reading(study: Study) -> Reading:
    """The registration and, if there are any, its results."""
    protocol = mapping_of(study.get("protocolSection"))
    sections = [*outline(with_text([*_registration(protocol), *results_of(mapping_of(study.get("resultsSection")))]))]
    content, parts = assembled([*sections, *_references(mapping_of(protocol.get("referencesModule")))])
    return Reading(
        content, parts, trial_fields(study), licence="Free to use, with attribution", remarks=(attribution(study),)
    )


def _registration(protocol: Study) -> Iterator[Block]:
    description, eligibility = (mapping_of(protocol.get(f"{one}Module")) for one in ("description", "eligibility"))
    criteria = [*paragraphs(eligibility.get("eligibilityCriteria")), *paragraphs(eligibility.get("studyPopulation"))]
    outcomes = mapping_of(protocol.get("outcomesModule"))
    yield from part(1, "Brief summary", paragraphs(description.get("briefSummary")))
    yield from part(1, "Detailed description", paragraphs(description.get("detailedDescription")))
    yield from part(1, "Identification", _lines(protocol, "Identification"))
    yield from part(1, "Status", [*_lines(protocol, "Status"), *_lines(protocol, "Dates")])
    yield from part(1, "Design", _lines(protocol, "Design"))
    yield from part(1, "Conditions", _lines(protocol, "Conditions"))
    yield from part(1, "Arms and interventions", _arms(mapping_of(protocol.get("armsInterventionsModule"))))
    yield from part(1, "Planned outcomes")
    for kind in ("Primary", "Secondary", "Other"):
        yield from part(2, f"{kind} outcomes", outcome_rows(outcomes.get(f"{kind.lower()}Outcomes")))
    yield from part(1, "Eligibility", [*criteria, *_lines(protocol, "Eligibility")])
    yield from part(1, "Locations", _locations(rows_of(field_at(protocol, "contactsLocationsModule", "locations"))))


def _lines(protocol: Study, section: str) -> list[str]:
    """The labeled lines of a section in `registration.txt` that have a value."""
    rows = ((label, path, how) for part, label, path, how in _ROWS if part == section)
    found = ((label, _READERS[how](field_at(protocol, *path.split(".")))) for label, path, how in rows)
    return [text for label, value in found for text in labeled(label, value)]


def _dated(struct: object) -> str:
    """A date with whether it is an estimate: "2020-05 (actual)"."""
    day, kind = text_at(struct, "date"), text_at(struct, "type")
    return f"{day} ({in_words(kind)})" if day and kind else day


def _enrollment(info: object) -> str:
    """How many take part, and whether that is an estimate: "120 (actual)"; "" if it is unknown."""
    count, kind = number_of(field_at(info, "count")), text_at(info, "type")
    if count is None or count >= UNKNOWN_COUNT:
        return ""
    return f"{int(count)} ({in_words(kind)})" if kind else f"{int(count)}"


def _arms(module: Study) -> list[str]:
    arms = [
        ": ".join(filter(None, (_typed("Arm", one, "label"), line(one.get("description")))))
        for one in rows_of(module.get("armGroups"))
    ]
    for one in rows_of(module.get("interventions")):
        others = ", ".join(map(line, texts_of(one.get("otherNames"))))
        name = _typed("Intervention", one, "name") + (f", also {others}" if others else "")
        arms.append(": ".join(filter(None, (name, line(one.get("description"))))))
    return arms


def _typed(label: str, row: Study, name: str) -> str:
    kind = text_at(row, "type")
    return f"{label} {line(row.get(name))}" + (f" ({in_words(kind).lower()})" if kind else "")


def _locations(rows: list[Mapping[str, object]]) -> list[str]:
    """Sites by country, without the persons who answer there."""
    by_country: dict[str, list[str]] = {}
    for row in rows:
        site = ", ".join(filter(None, (line(row.get(name)) for name in ("facility", "city", "state"))))
        by_country.setdefault(line(row.get("country")) or "Country unknown", []).append(site)
    found = [f"{counted(len(rows), 'site')} in {counted(len(by_country), 'country', 'countries')}"] if rows else []
    for country, sites in by_country.items():
        named = "; ".join(dict.fromkeys(filter(None, sites)))
        found.append(f"{country} ({len(sites)}){f': {named}' if named else ''}")
    return found


def _references(module: Study) -> Iterator[Section]:
    """Publications; those marked as found by NLM's matching were not named by the sponsor."""
    rows: list[str] = []
    for one in rows_of(module.get("references")):
        pmid, kind = text_at(one, "pmid"), in_words(text_at(one, "type"))
        marks = (f"PMID {pmid}." * bool(pmid), f"[{kind}]" * bool(kind), "[Retracted]" * is_retracted(one))
        rows.append(" ".join(filter(None, (line(one.get("citation")), *marks))))
    for one in rows_of(module.get("seeAlsoLinks")):
        rows.append(" ".join(filter(None, (line(one.get("label")), without_contacts(text_at(one, "url"))))))
    if rows:
        yield Section("r1", rows, "references", ("References",))


def is_retracted(reference: Study) -> bool:
    """Whether ClinicalTrials.gov knows of a retraction of a publication that a study lists."""
    return bool(rows_of(reference.get("retractions")))


PROVIDER = "trials"
_MAX_LISTED = 500
"""Characters of a list in one line."""
_CITED, _MAX_CITATION = 5, 200
"""Characters of the citation that are kept of the first papers that the sponsor names; of others, only the PMID."""
_PAPERS: dict[str, NoticeKind] = {"RESULT": "result", "DERIVED": "derived"}


def trial_publication(study: Study) -> Publication:
    """A study as a publication; its text, of the kind "registration", consists of labeled lines, then the summary."""
    fields = {"title": NO_TITLE, **trial_fields(study), "status_notices": papers_of(study)}
    return Publication.of("registration", registration_text(study) or NO_ABSTRACT, provider=PROVIDER, **fields)


def registration_text(study: Study) -> str:
    """What matters most, a line each: "Status: Completed." The brief summary comes last; "" if there is nothing."""
    protocol = mapping_of(study.get("protocolSection"))
    summary = paragraphs(field_at(protocol, "descriptionModule", "briefSummary"))
    facts = _lines({**protocol, "hasResults": study.get("hasResults")}, "Summary")
    # Full stops, because exports write a text on one line.
    ended = (fact if fact.endswith((".", "?", "!")) else f"{fact}." for fact in facts)
    return "\n".join([*ended, *labeled("Brief summary", "\n".join(summary))])


def _state(module: object) -> str:
    code, last = text_at(module, "overallStatus"), text_at(module, "lastKnownStatus")
    return in_words(code) + (f" (last known: {in_words(last).lower()})" if last else "") if code else ""


def _design_in_short(design: object) -> str:
    names = ("allocation", "interventionModel", "observationalModel", "timePerspective")
    codes = [text_at(design, path) for path in ("studyType", *(f"designInfo.{name}" for name in names))]
    parts = [in_words(code).lower() for code in codes if code and code != "NA"]
    for label, name in (("masking", "maskingInfo.masking"), ("purpose", "primaryPurpose")):
        parts += labeled(label, in_words(text_at(design, f"designInfo.{name}")).lower())
    return "; ".join(parts).capitalize()


def _dates(status: object) -> str:
    lines = _lines({"statusModule": status}, "Dates")
    return "; ".join(f"{one[0].lower()}{one[1:]}".replace(": ", " ", 1) for one in lines)


def _typed_names(rows: object, name: str) -> str:
    """Arms or interventions, each with its type."""
    named = [(line(one.get(name)), in_words(text_at(one, "type")).lower()) for one in rows_of(rows)]
    return _listed([f"{text} ({kind})" if kind and text else text for text, kind in named])


def _outcomes(rows: object) -> str:
    frames = [(line(one.get("measure")), line(one.get("timeFrame"))) for one in rows_of(rows)]
    return _listed([f"{measure} [{frame}]" if frame else measure for measure, frame in frames])


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


def _sponsor(sponsor: object) -> str:
    name, kind = line(field_at(sponsor, "name")), sponsor_kind(text_at(sponsor, "class"))
    return f"{name} ({kind})" if name and kind else name


def _one_of(value: object, no: str, yes: str) -> str:
    return (yes if value else no) if isinstance(value, bool) else ""


def _countries(rows: object) -> str:
    sites = Counter(line(one.get("country")) for one in rows_of(rows))
    known = [(country, count) for country, count in sites.items() if country]
    return ", ".join(f"{country} ({counted(count, 'site')})" for country, count in known)


def _papers(references: object) -> dict[NoticeKind, dict[str, Study]]:
    """The papers that the sponsor names as its results, and those that NLM found, by PMID or else citation; a paper in
    both is one of the sponsor's."""
    found: dict[NoticeKind, dict[str, Study]] = {"result": {}, "derived": {}}
    for one in rows_of(references):
        kind, name = _PAPERS.get(text_at(one, "type")), _pmid(one) or line(one.get("citation"))
        if kind and name:
            found[kind].setdefault(name, one)
    found["derived"] = {name: one for name, one in found["derived"].items() if name not in found["result"]}
    return found


def _pmid(reference: Study) -> str:
    return normalize_pmid(text_at(reference, "pmid"))


def _counted_papers(references: object) -> str:
    named = zip(("named by the sponsor", "found by NLM's matching"), _papers(references).values(), strict=True)
    return ", ".join(f"{len(papers)} {how}" for how, papers in named if papers)


def papers_of(study: Study) -> tuple[StatusNotice, ...]:
    """The first `MAX_TRIAL_PAPERS` papers of a trial, those that the sponsor names first. What is only background is
    left to the full text."""
    papers = _papers(field_at(study, "protocolSection", "referencesModule", "references"))
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


_FIELDS = field_table(__file__, "record_fields.txt")
_ROWS = [row.split(" | ") for row in data_lines(__file__, "registration.txt")]
_READERS: Mapping[str, Callable[[object], str]] = {
    "line": line,
    "each": lambda value: "; ".join(map(line, texts_of(value))),
    "comma": lambda value: ", ".join(texts_of(value)),
    "listed": lambda value: _listed([*map(line, texts_of(value))]),
    "names": lambda value: "; ".join(line(one.get("name")) for one in rows_of(value)),
    "numbers": lambda value: "; ".join(
        " ".join(map(text_of, (one.get("type"), one.get("id")))).strip() for one in rows_of(value)
    ),
    "code": lambda value: in_words(text_of(value)),
    "codes": lambda value: ", ".join(map(in_words, texts_of(value))),
    "lower": lambda value: ", ".join(map(in_words, texts_of(value))).lower(),
    "yes": lambda value: _one_of(value, "no", "yes"),
    "posted": lambda value: _one_of(value, "none posted", "posted"),
    "count": _enrollment,
    "date": _dated,
    "dates": _dates,
    "state": _state,
    "design": _design_in_short,
    "arms": lambda value: _typed_names(value, "label"),
    "interventions": lambda value: _typed_names(value, "name"),
    "outcomes": _outcomes,
    "sponsor": _sponsor,
    "countries": _countries,
    "papers": _counted_papers,
}
