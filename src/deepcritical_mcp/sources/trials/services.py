"""ClinicalTrials.gov as a source of evidence, of records of known trials, and of whole registrations."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TypeVar

import httpx

from deepcritical_mcp.errors import InvalidInputError, ProviderError, ProviderRequestError, ProviderResponseError
from deepcritical_mcp.identifiers import RecordIds, normalize_trial
from deepcritical_mcp.models import NO_ABSTRACT, NO_TITLE, Publication
from deepcritical_mcp.net.json_fields import first_records, json_answer, number_of
from deepcritical_mcp.reading import Reading
from deepcritical_mcp.sources.base import Answer, Fetched, SearchRequest, Source, SourceCheck, as_sent
from deepcritical_mcp.sources.full_text import Copy, FullTextSource, Wanted
from deepcritical_mcp.sources.json_api import ApiOfService, JsonService
from deepcritical_mcp.sources.lookup import RecordLookup
from deepcritical_mcp.sources.settings import TrialsSettings
from deepcritical_mcp.sources.trials.record import (
    ADDRESS,
    FIELDS,
    NCT_NUMBER,
    RECORD_FIELDS,
    Study,
    attribution,
    former_numbers,
    nct_of,
    trial_publication,
    trial_reading,
)
from deepcritical_mcp.sources.trials.request import TrialRequest
from deepcritical_mcp.text import clean_line

T = TypeVar("T")
NAME, TITLE = "trials", "ClinicalTrials.gov"
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


class Trials(TrialsService, Source):
    """ClinicalTrials.gov: one request returns the numbers of trials, one their records."""

    kind, cited_as, tool, id_name = "trials", "trial", "trial_search", "NCT"
    request, two_step, steps = TrialRequest, True, 2

    async def ask(self, variant: str, request: SearchRequest, *, offset: int, limit: int) -> Answer:
        """One page of the trials that match `variant`; ClinicalTrials.gov keeps no pages, so each is requested together
        with those before it."""
        assert isinstance(request, TrialRequest)
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

    def sent(self, variant: str, request: SearchRequest) -> str:
        assert isinstance(request, TrialRequest)
        return as_sent(request.params(variant))

    async def fetch(self, ids: Sequence[str], *, within: float = math.inf) -> Fetched:
        """The records of trials, by the number asked for, which may be a former one."""
        found = await self.studies(ids)
        losses = {id: f"{TITLE} has no trial {id}." for id in ids if id not in found}
        return Fetched({id: trial_publication(study) for id, study in found.items()}, losses)

    def stub(self, id: str) -> Publication:
        fields = {"source": "trial", "title": NO_TITLE, "nct": id.upper()}
        return Publication.of("registration", NO_ABSTRACT, provider=NAME, **fields)

    def known_id(self, text: str) -> str:
        number = normalize_trial(text)
        if not NCT_NUMBER.fullmatch(number):
            raise InvalidInputError(f'"{clean_line(text)[:40]}" is not an NCT number such as NCT02130466.')
        return number

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
