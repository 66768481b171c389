"""ClinicalTrials.gov as a source of evidence, of records of known trials, and of whole registrations: a study as a
publication and as a text with sections. Contact persons are never read.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, islice
from typing import cast

import httpx

from deepcritical_mcp.dates import current_date
from deepcritical_mcp.errors import ProviderError, ProviderRequestError, ProviderResponseError
from deepcritical_mcp.identifiers import RecordIds, normalize_pmid, normalize_trial
from deepcritical_mcp.models import (
    MAX_TRIAL_PAPERS,
    NO_ABSTRACT,
    NO_TITLE,
    AuthorName,
    NoticeKind,
    Publication,
    StatusNotice,
)
from deepcritical_mcp.net.client import ApiOfService, JsonService
from deepcritical_mcp.net.fields import (
    field_at,
    field_table,
    fields_at,
    first_records,
    json_answer,
    json_texts,
    mapping_of,
    number_of,
    rows_of,
    text_at,
    text_of,
    texts_of,
)
from deepcritical_mcp.reading import Block, Reading, Section, assembled, outline, with_text
from deepcritical_mcp.sources.base import Answer, Fetched, Source, SourceCheck, as_sent
from deepcritical_mcp.sources.lookup import Copy, FullTextSource, RecordLookup, Wanted
from deepcritical_mcp.sources.settings import TrialsSettings
from deepcritical_mcp.sources.trials.outline import (
    WORDS,
    arms,
    framed,
    in_words,
    joined,
    labeled,
    line,
    locations,
    outcome_rows,
    paragraphs,
    part,
    results_of,
    typed,
    without_contacts,
)
from deepcritical_mcp.sources.trials.request import TrialRequest
from deepcritical_mcp.text import clean_line, clipped, counted, data_lines

FIELDS, RECORD_FIELDS = data_lines(__file__, "fields.txt")
"""The fields that are read of a whole study, and those that a record of one needs; no contact persons."""
NAME, TITLE, ADDRESS = "trials", "ClinicalTrials.gov", "https://clinicaltrials.gov/study/"
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
    source = f"Source: ClinicalTrials.gov, U.S. National Library of Medicine{dated}."
    return f"{source} The text is the sponsor's; its layout was changed."


def trial_fields(study: Study) -> dict[str, object]:
    """Fields of `Publication`. The sponsor stands for the authors; `version` is the day of the data."""
    fields, number = fields_at(study, _FIELDS, json_texts), nct_of(study)
    # Another trial's number is in the full text: here it would be taken for a former number of this one.
    others = json_texts(study, "protocolSection.identificationModule.secondaryIdInfos.id")
    secondary = (one for one in others if not NCT_NUMBER.fullmatch(normalize_trial(one)))
    sponsor = line(field_at(study, "protocolSection", "sponsorCollaboratorsModule", "leadSponsor", "name"))
    keywords = [text for one in cast("tuple[str, ...]", fields["keywords"]) if (text := line(one))]
    design = field_at(study, "protocolSection", "designModule")
    codes = (
        text_at(design, "studyType"),
        *(code for code in texts_of(field_at(design, "phases")) if code != "NA"),
        text_at(study, "protocolSection.statusModule.overallStatus"),
    )
    posted = ["Results posted"] if study.get("hasResults") is True else []
    return fields | {
        "source": "trial",
        "title": line(fields["title"]),
        "url": f"{ADDRESS}{number}",
        "nct": number,
        "authors": (AuthorName(sponsor),) if sponsor else (),
        "publisher": TITLE,
        "publication_types": (*map(in_words, filter(None, codes)), *posted),
        "keywords": tuple(dict.fromkeys(keywords)),
        "registrations": tuple(dict.fromkeys((*former_numbers(study), *secondary))),
        "accessed": current_date().isoformat(),
    }


def trial_reading(study: Study) -> Reading:
    """The registration and, if there are any, its results."""
    protocol = mapping_of(study.get("protocolSection"))
    sections = [*outline(with_text([*_registration(protocol), *results_of(mapping_of(study.get("resultsSection")))]))]
    content, parts = assembled([*sections, *_references(mapping_of(protocol.get("referencesModule")))])
    licence, remarks = "Free to use, with attribution", (attribution(study),)
    return Reading(content, parts, trial_fields(study), licence=licence, remarks=remarks)


def _registration(protocol: Study) -> Iterator[Block]:
    description, eligibility = (mapping_of(protocol.get(f"{one}Module")) for one in ("description", "eligibility"))
    criteria = paragraphs(eligibility.get("eligibilityCriteria"), eligibility.get("studyPopulation"))
    yield from part(1, "Brief summary", paragraphs(description.get("briefSummary")))
    yield from part(1, "Detailed description", paragraphs(description.get("detailedDescription")))
    yield from part(1, "Identification", _lines(protocol, "Identification"))
    yield from part(1, "Status", [*_lines(protocol, "Status"), *_lines(protocol, "Dates")])
    yield from part(1, "Design", _lines(protocol, "Design"))
    yield from part(1, "Conditions", _lines(protocol, "Conditions"))
    yield from part(1, "Arms and interventions", arms(mapping_of(protocol.get("armsInterventionsModule"))))
    yield from part(1, "Planned outcomes")
    for kind in ("Primary", "Secondary", "Other"):
        outcomes = outcome_rows(field_at(protocol, "outcomesModule", f"{kind.lower()}Outcomes"))
        yield from part(2, f"{kind} outcomes", outcomes)
    yield from part(1, "Eligibility", [*criteria, *_lines(protocol, "Eligibility")])
    yield from part(1, "Locations", locations(rows_of(field_at(protocol, "contactsLocationsModule", "locations"))))


def _lines(protocol: Study, section: str) -> list[str]:
    """The labeled lines of a section in `registration.txt` that have a value."""
    rows = ((label, path, how) for part, label, path, how in _ROWS if part == section)
    found = (labeled(label, _READERS[how](field_at(protocol, *path.split(".")))) for label, path, how in rows)
    return [*filter(None, found)]


def _dated(struct: object) -> str:
    """A date with whether it is an estimate: "2020-05 (actual)"."""
    day = text_at(struct, "date")
    return day and f"{day}{framed(' ({})', in_words(text_at(struct, 'type')))}"


def _enrollment(info: object) -> str:
    """How many take part, and whether that is an estimate: "120 (actual)"; "" if it is unknown."""
    count = number_of(field_at(info, "count"))
    if count is None or count >= UNKNOWN_COUNT:
        return ""
    return f"{int(count)}{framed(' ({})', in_words(text_at(info, 'type')))}"


def _references(module: Study) -> Iterator[Section]:
    """Publications; those marked as found by NLM's matching were not named by the sponsor."""
    rows: list[str] = []
    for one in rows_of(module.get("references")):
        marks = (framed("PMID {}.", text_at(one, "pmid")), framed("[{}]", in_words(text_at(one, "type"))))
        rows.append(joined(" ", line(one.get("citation")), *marks, _retracted(one)))
    for one in rows_of(module.get("seeAlsoLinks")):
        rows.append(joined(" ", line(one.get("label")), without_contacts(text_at(one, "url"))))
    if rows:
        yield Section("r1", rows, "references", ("References",))


def _retracted(reference: Study) -> str:
    """A mark if ClinicalTrials.gov knows of a retraction of a publication that a study lists."""
    return "[Retracted]" if rows_of(reference.get("retractions")) else ""


_MAX_LISTED = 500
"""Characters of a list in one line."""
_CITED, _MAX_CITATION = 5, 200
"""Characters of the citation that are kept of the first papers that the sponsor names; of others, only the PMID."""
_PAPERS: dict[str, NoticeKind] = {"RESULT": "result", "DERIVED": "derived"}


def trial_publication(study: Study) -> Publication:
    """A study as a publication; its text, of the kind "registration", has what matters most, a line each ("Status:
    Completed."), then the brief summary."""
    protocol = mapping_of(study.get("protocolSection"))
    facts = _lines({**protocol, "hasResults": study.get("hasResults")}, "Summary")
    # Full stops, because exports write a text on one line.
    ended = (fact if fact.endswith((".", "?", "!")) else f"{fact}." for fact in facts)
    summary = "\n".join(paragraphs(field_at(protocol, "descriptionModule", "briefSummary")))
    text = joined("\n", *ended, labeled("Brief summary", summary)) or NO_ABSTRACT
    fields = {"title": NO_TITLE, **trial_fields(study), "status_notices": _notices(study)}
    return Publication.of("registration", text, provider=NAME, **fields)


def _state(module: object) -> str:
    state, last = (in_words(text_at(module, name)) for name in ("overallStatus", "lastKnownStatus"))
    return state and f"{state}{framed(' (last known: {})', last.lower())}"


def _design_in_short(design: object) -> str:
    names = ("allocation", "interventionModel", "observationalModel", "timePerspective")
    codes = [text_at(design, path) for path in ("studyType", *(f"designInfo.{name}" for name in names))]
    parts = [in_words(code).lower() for code in codes if code != "NA"]
    for label, name in (("masking", "maskingInfo.masking"), ("purpose", "primaryPurpose")):
        parts.append(labeled(label, in_words(text_at(design, f"designInfo.{name}")).lower()))
    return joined("; ", *parts).capitalize()


def _dates(status: object) -> str:
    lines = _lines({"statusModule": status}, "Dates")
    return "; ".join(f"{one[0].lower()}{one[1:]}".replace(": ", " ", 1) for one in lines)


def _typed_names(rows: object, name: str) -> str:
    """Arms or interventions, each with its type."""
    return _listed([typed(one, name) for one in rows_of(rows) if line(one.get(name))])


def _outcomes(rows: object) -> str:
    frames = ((line(one.get("measure")), line(one.get("timeFrame"))) for one in rows_of(rows))
    return _listed([f"{measure}{framed(' [{}]', frame)}" for measure, frame in frames])


def _listed(texts: Sequence[str]) -> str:
    """The first ones, and how many more there are; at least one."""
    known = list(dict.fromkeys(filter(None, texts)))
    ends = [*accumulate(map(len, known))]
    found = [clipped(text, _MAX_LISTED) for text, end in zip(known, ends, strict=True) if end <= _MAX_LISTED]
    found = found or [clipped(text, _MAX_LISTED) for text in known[:1]]
    more = len(known) - len(found)
    return joined("; ", *found, f"and {more} more" if more else "")


def _sponsor(sponsor: object) -> str:
    name, kind = line(field_at(sponsor, "name")), WORDS.get(f"class {text_at(sponsor, 'class')}", "")
    return name and f"{name}{framed(' ({})', kind)}"


def _one_of(value: object, no: str, yes: str) -> str:
    return (yes if value else no) if isinstance(value, bool) else ""


def _countries(rows: object) -> str:
    sites = Counter(line(one.get("country")) for one in rows_of(rows))
    return ", ".join(f"{country} ({counted(count, 'site')})" for country, count in sites.items() if country)


def _papers(references: object) -> dict[NoticeKind, dict[str, Study]]:
    """The papers that the sponsor names as its results, and those that NLM found, by PMID or else citation; a paper in
    both is one of the sponsor's."""
    found: dict[NoticeKind, dict[str, Study]] = {"result": {}, "derived": {}}
    for one in rows_of(references):
        kind = _PAPERS.get(text_at(one, "type"))
        name = normalize_pmid(text_at(one, "pmid")) or line(one.get("citation"))
        if kind and name:
            found[kind].setdefault(name, one)
    found["derived"] = {name: one for name, one in found["derived"].items() if name not in found["result"]}
    return found


def _counted_papers(references: object) -> str:
    named = zip(("named by the sponsor", "found by NLM's matching"), _papers(references).values(), strict=True)
    return ", ".join(f"{len(papers)} {how}" for how, papers in named if papers)


def _notices(study: Study) -> tuple[StatusNotice, ...]:
    """The first `MAX_TRIAL_PAPERS` papers of a trial, those that the sponsor names first. What is only background is
    left to the full text."""
    papers = _papers(field_at(study, "protocolSection", "referencesModule", "references"))
    cited = [*papers["result"].values()][:_CITED]
    notices = (_paper(kind, one, is_cited=one in cited) for kind, some in papers.items() for one in some.values())
    return tuple(islice(notices, MAX_TRIAL_PAPERS))


def _paper(kind: NoticeKind, reference: Study, *, is_cited: bool) -> StatusNotice:
    pmid, citation = normalize_pmid(text_at(reference, "pmid")), line(reference.get("citation"))
    authors, stop, rest = citation.partition(". ")
    names = authors.split(", ")
    short = f"{names[0]}, et al{stop}{rest}" if len(names) > 2 and rest else citation
    shown = clipped(short, _MAX_CITATION) if is_cited or not pmid else ""
    return StatusNotice(kind=kind, pmid=pmid, reference=joined(" ", _retracted(reference), shown))


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


SPACING = 1.0
"""Seconds between two starts, as its robots.txt asks; the API has no published limit."""
LARGEST_PAGE = 1_000
LISTED = "NCTId,NCTIdAlias,VersionHolder"
"""The fields that a search requests of each study; its record is fetched later."""
_UNREADABLE = re.compile(r"error parsing query|(?:mismatched|extraneous) input|no viable alternative", re.IGNORECASE)
_MAX_QUOTE = 200


class UnknownTrialError(ProviderRequestError):
    """ClinicalTrials.gov has no trial with this number."""


class UnreadableQueryError(ProviderRequestError):
    """The query is not valid in ClinicalTrials.gov's query language."""


def explain_plain_text(response: httpx.Response) -> ProviderError | None:
    """The error behind an HTTP status: its errors are plain text, a web page is not its answer."""
    is_page = "html" in response.headers.get("content-type", "") or response.text.lstrip().startswith("<")
    if is_page or response.status_code not in (400, 404):
        return None
    if response.status_code == 404:
        return UnknownTrialError(NAME, f"{TITLE} has no such trial.")
    is_syntax = _UNREADABLE.search(response.text[:2_000]) is not None
    # What its parser would have expected is a list of all its operators.
    text = response.text.partition(" expecting {")[0] if is_syntax else response.text
    said = clean_line(text)[:_MAX_QUOTE].strip(" .")
    kind = UnreadableQueryError if is_syntax else ProviderRequestError
    return kind(NAME, f'{TITLE} refused the request: "{said}".' if said else f"{TITLE} refused it.")


class TrialsService(JsonService):
    """ClinicalTrials.gov's studies. Raises only ProviderErrors."""

    name, title = NAME, TITLE
    api = ApiOfService(
        NAME, TITLE, lambda settings: settings.of(TrialsSettings).clinicaltrials_base_url, SPACING, explain_plain_text
    )

    async def studies(self, numbers: Sequence[str]) -> dict[str, Study]:
        """The studies with these NCT numbers, in one request, by the number asked for, which may be a former one; those
        that do not exist are missing."""
        wanted = list(dict.fromkeys(numbers))
        sent = {"filter.ids": ",".join(wanted), "fields": RECORD_FIELDS, "pageSize": str(len(wanted))}
        studies, _ = await self._api.get("studies", sent, _page) if wanted else ((), 0)
        by_number = {old: study for study in studies for old in former_numbers(study)}
        by_number |= {nct_of(study): study for study in studies}
        return {number: by_number[number] for number in wanted if number in by_number}


def moved(number: str, current: str) -> str:
    """A sentence on a trial that was found under a former number; "" if it is the present one."""
    return f"{number} is now registered as {current}." if current != number else ""


def _page(response: httpx.Response) -> tuple[Sequence[Study], int]:
    payload = json_answer(NAME, TITLE, response)
    if not isinstance(payload.get("studies"), list):
        raise ProviderResponseError(NAME, f"{TITLE} sent JSON that is not a search result.")
    studies = first_records(payload["studies"])
    if not all(map(nct_of, studies)):
        raise ProviderResponseError(NAME, f"{TITLE} sent studies without numbers.")
    return studies, max(int(number_of(payload.get("totalCount")) or 0), len(studies))


_NUMBER_IN_TEXT = re.compile(r"\bNCT[0-9]{8}\b", re.IGNORECASE)


class Trials(TrialsService, Source[TrialRequest]):
    """ClinicalTrials.gov: one request returns the numbers of trials, one their records."""

    kind, cited_as, tool, id_name = "trials", "trial", "trial_search", "NCT"
    request, two_step, steps = TrialRequest, True, 2

    async def ask(self, variant: str, request: TrialRequest, *, offset: int, limit: int) -> Answer:
        """One page of the trials that match `variant`; ClinicalTrials.gov keeps no pages, so each is requested together
        with those before it."""
        params, count = request.params(variant), str(min(offset + limit, LARGEST_PAGE))
        listed = {"fields": LISTED, "pageSize": count, "countTotal": "true", "sort": "@relevance"}
        try:
            studies, total = await self._api.get("studies", {**params, **listed}, _page)
        except UnreadableQueryError as error:
            advice = "Write the query in plain words with AND, OR, NOT."
            if special := request.special(variant):
                advice = (
                    f"Remove {special} from it, or put what belongs together in pairs of ( ) or quotation marks. [ ] "
                    "are reserved for AREA[…] and the like: PubMed's tags ([ti], [MeSH Terms]) are not understood."
                )
            told = f"{error.message} It is not a query that ClinicalTrials.gov can read. {advice}"
            raise UnreadableQueryError(NAME, told) from error
        ids = tuple(map(nct_of, studies))[offset : offset + limit]
        written = {number.upper() for number in _NUMBER_IN_TEXT.findall(variant)}
        former = [(old, nct_of(study)) for study in studies for old in former_numbers(study) if old in written]
        told = (*(moved(*numbers) for numbers in former), *map(attribution, studies[:1]))
        sent = as_sent(params)
        return Answer(ids, total, remarks=(*request.remarks(variant), *told), translation=sent, sent=sent)

    def sent(self, variant: str, request: TrialRequest) -> str:
        return as_sent(request.params(variant))

    async def fetch(self, ids: Sequence[str], *, within: float = math.inf) -> Fetched:
        """The records of trials, by the number asked for, which may be a former one."""
        found = await self.studies(ids)
        losses = {id: f"{TITLE} has no trial {id}." for id in ids if id not in found}
        return Fetched({id: trial_publication(study) for id, study in found.items()}, losses)

    def stub(self, id: str) -> Publication:
        fields = {"source": "trial", "title": NO_TITLE, "nct": id.upper()}
        return Publication.of("registration", NO_ABSTRACT, provider=NAME, **fields)

    def checks(self) -> Sequence[SourceCheck]:
        sample = {"pageSize": "1", "fields": "NCTId"}
        return (SourceCheck.answering(self.title, lambda: self._api.get("studies", sample, _page)),)


class TrialRecords(TrialsService, RecordLookup):
    """Records of trials by NCT numbers, also former ones: 100 cost one request."""

    def accepts(self, ids: RecordIds) -> bool:
        """Only if the registration itself is wanted: an article that names its trial is another document."""
        return bool(NCT_NUMBER.fullmatch(normalize_trial(ids.nct))) and not (ids.pmid or ids.pmcid or ids.doi)

    async def records(self, wanted: Sequence[RecordIds]) -> Sequence[Publication | str]:
        """See `RecordLookup`. A record found under a former number has it among its `registrations`."""
        numbers = [normalize_trial(ids.nct) for ids in wanted]
        found = await self.studies(numbers)
        return [trial_publication(found[one]) if one in found else f"{TITLE} has no trial {one}." for one in numbers]


class ClinicalTrials(TrialsService, FullTextSource):
    """ClinicalTrials.gov's API, by NCT number. Other registries' numbers (ISRCTN…) are not in it."""

    def accepts(self, wanted: Wanted) -> bool:
        """Only if the registration itself is wanted: an article that names its trial is another document."""
        return bool(wanted.ids.nct) and not (wanted.ids.pmid or wanted.ids.pmcid or wanted.ids.doi)

    async def read(self, wanted: Wanted) -> Copy:
        number = normalize_trial(wanted.ids.nct)
        if not NCT_NUMBER.fullmatch(number):
            pages = (f"https://www.isrctn.com/{number}",) if number.startswith("ISRCTN") else ()
            detail = f"{TITLE} has trials by their NCT numbers only, not those of other registries."
            return Copy("not_found", detail, elsewhere=pages)

        def read(response: httpx.Response) -> tuple[Reading, str]:
            study = json_answer(NAME, TITLE, response)
            current = nct_of(study)
            # A former number redirects to the present one.
            was_moved = number in former_numbers(study) or response.request.url.path.endswith(f"/{current}")
            if not current or (current != number and not was_moved):
                raise ProviderResponseError(NAME, f"{TITLE} sent JSON that is not the trial it was asked for.")
            return trial_reading(study), current

        try:
            reading, current = await self._api.get(f"studies/{number}", {"fields": FIELDS}, read)
        except UnknownTrialError:
            return Copy("not_found", f"{TITLE} has no trial {number}.")
        detail = moved(number, current)
        if not reading.content:
            return Copy("no_text", f"{TITLE} has {current} without any text. {detail}".strip(), reading)
        return Copy("full_text", detail, reading, f"{ADDRESS}{current}")

    async def records_and_copies(self, wanted: Sequence[Wanted]) -> Sequence[tuple[Publication | None, Copy | None]]:
        """No records: `TrialRecords` has them."""
        return [(None, await self.read(one)) for one in wanted]
