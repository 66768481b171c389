"""ClinicalTrials.gov: registrations of trials, with their results."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Self

import httpx

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import ProviderError, ProviderRequestError, ProviderResponseError
from deepcritical_mcp.identifiers import normalize_trial
from deepcritical_mcp.models import NO_ABSTRACT, Publication
from deepcritical_mcp.net.client import USER_AGENT, ApiClient, InFlight
from deepcritical_mcp.net.json_fields import field_at, json_answer
from deepcritical_mcp.net.pacing import shared_pacing
from deepcritical_mcp.sources.base import Finding, Net, SourceCheck
from deepcritical_mcp.sources.full_text import Copy, FullTextSource, Wanted
from deepcritical_mcp.sources.trials.trial_outline import paragraphs
from deepcritical_mcp.sources.trials.trial_record import (
    ADDRESS,
    FIELDS,
    former_numbers,
    nct_of,
    trial_fields,
    trial_reading,
)
from deepcritical_mcp.sources.trials.trials_settings import TrialsSettings
from deepcritical_mcp.text import clean_line

NAME, TITLE = "trials", "ClinicalTrials.gov"
SPACING = 1.0
"""Seconds between two starts, as its robots.txt asks; the API has no published limit."""
_NUMBER = re.compile(r"NCT[0-9]{8}")
_MAX_QUOTE = 200


class UnknownTrialError(ProviderRequestError):
    """ClinicalTrials.gov has no trial with this number."""


class ClinicalTrials(FullTextSource):
    """ClinicalTrials.gov's API, by NCT number. Other registries' numbers (ISRCTN…) are not in it."""

    name = NAME
    title = TITLE

    def __init__(self, client: ApiClient, *, base_url: str) -> None:
        self._client = client
        self._base_url = base_url
        self._in_flight = InFlight()

    @classmethod
    def create(cls, settings: Settings, net: Net) -> Self:
        base_url = settings.of(TrialsSettings).clinicaltrials_base_url
        limiter = shared_pacing(
            SPACING,
            name=NAME,
            identity=base_url,
            folder=settings.cache_dir,
            redis_url=settings.redis_url.get_secret_value(),
        )
        client = ApiClient(
            net.http,
            provider=NAME,
            title=TITLE,
            retry=net.retry,
            limiter=limiter,
            explain=explain_plain_text,
            keyless=True,
        )
        return cls(client, base_url=base_url)

    def accepts(self, wanted: Wanted) -> bool:
        """Only if the registration itself is wanted: an article that names its trial is another document."""
        return bool(wanted.ids.nct) and not (wanted.ids.pmid or wanted.ids.pmcid or wanted.ids.doi)

    async def read(self, wanted: Wanted) -> Copy:
        number = normalize_trial(wanted.ids.nct)
        if not _NUMBER.fullmatch(number):
            page = f"https://www.isrctn.com/{number}" if number.startswith("ISRCTN") else ""
            detail = f"{TITLE} has trials by their NCT numbers only, not those of other registries."
            return Copy("not_found", detail, elsewhere=(page,) if page else ())
        try:
            study = await self._study(number)
        except UnknownTrialError:
            return Copy("not_found", f"{TITLE} has no trial {number}.")
        reading, current = trial_reading(study), nct_of(study)
        moved = f"{number} is now registered as {current}." if current != number else ""
        if not reading.content:
            return Copy("no_text", f"{TITLE} has {current} without any text. {moved}".strip(), reading)
        return Copy("full_text", moved, reading, f"{ADDRESS}{current}")

    async def record(self, wanted: Wanted) -> Publication | None:
        """The registration with its brief summary as text of the kind "registration"."""
        number = normalize_trial(wanted.ids.nct)
        if not _NUMBER.fullmatch(number):
            return None
        try:
            study = await self._study(number)
        except UnknownTrialError:
            return None
        summary = paragraphs(field_at(study, "protocolSection", "descriptionModule", "briefSummary"))
        return Publication.of(
            "registration", "\n\n".join(summary) or NO_ABSTRACT, provider=self.name, **trial_fields(study)
        )

    async def _study(self, number: str) -> Mapping[str, object]:
        """A study; ProviderResponseError if the answer is another one."""

        def read(response: httpx.Response) -> Mapping[str, object]:
            study = json_answer(NAME, TITLE, response)
            current = nct_of(study)
            # A former number redirects to the present one.
            was_moved = number in former_numbers(study) or response.request.url.path.endswith(f"/{current}")
            if not current or (current != number and not was_moved):
                raise ProviderResponseError(NAME, f"{TITLE} sent JSON that is not the trial it was asked for.")
            return study

        headers = {"User-Agent": USER_AGENT, "Accept": "application/json"}
        url = f"{self._base_url}/studies/{number}"
        return await self._in_flight.ask(
            number, lambda: self._client.request("GET", url, read, params={"fields": FIELDS}, headers=headers)
        )

    def checks(self) -> tuple[SourceCheck, ...]:
        async def examine() -> Finding:
            def read(response: httpx.Response) -> None:
                if "studies" not in json_answer(NAME, TITLE, response):
                    raise ProviderResponseError(NAME, f"{TITLE} sent JSON that is not a search result.")

            params = {"pageSize": "1", "fields": "NCTId"}
            headers = {"User-Agent": USER_AGENT, "Accept": "application/json"}
            await self._client.request("GET", f"{self._base_url}/studies", read, params=params, headers=headers)
            return Finding("answers")

        return (SourceCheck(self.title, examine),)


def explain_plain_text(response: httpx.Response) -> ProviderError | None:
    """The error behind an HTTP status: its errors are plain text, a web page is not its answer."""
    is_page = "html" in response.headers.get("content-type", "") or response.text.lstrip().startswith("<")
    if is_page or response.status_code not in (400, 404):
        return None
    if response.status_code == 404:
        return UnknownTrialError(NAME, f"{TITLE} has no such trial.")
    said = clean_line(response.text)[:_MAX_QUOTE].strip(" .")
    return ProviderRequestError(NAME, f'{TITLE} refused the request: "{said}".' if said else f"{TITLE} refused it.")
