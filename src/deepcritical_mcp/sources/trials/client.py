"""ClinicalTrials.gov's API, version 2."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import httpx

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import ProviderError, ProviderRequestError, ProviderResponseError
from deepcritical_mcp.net.client import ApiClient
from deepcritical_mcp.net.json_fields import first_records, json_answer, number_of
from deepcritical_mcp.sources.base import Net
from deepcritical_mcp.sources.paced_client import JsonApi, paced_client
from deepcritical_mcp.sources.settings import TrialsSettings
from deepcritical_mcp.sources.trials.record import (
    FIELDS,
    RECORD_FIELDS,
    Study,
    former_numbers,
    nct_of,
)
from deepcritical_mcp.text import clean_line

T = TypeVar("T")
NAME, TITLE = "trials", "ClinicalTrials.gov"
SPACING = 1.0
"""Seconds between two starts, as its robots.txt asks; the API has no published limit."""
LARGEST_PAGE = 1_000
LISTED = "NCTId,NCTIdAlias,VersionHolder"
"""What a search asks for of each study; its record is fetched later."""
_UNREADABLE = re.compile(r"error parsing query|(?:mismatched|extraneous) input|no viable alternative", re.IGNORECASE)
_MAX_QUOTE = 200


class UnknownTrialError(ProviderRequestError):
    """ClinicalTrials.gov has no trial with this number."""


class UnreadableQueryError(ProviderRequestError):
    """The query is not valid in ClinicalTrials.gov's query language."""


@dataclass(frozen=True)
class StudyPage:
    """The first studies of a search, as asked for, and how many there are in all."""

    studies: tuple[Study, ...]
    total: int


class TrialsClient:
    """ClinicalTrials.gov's studies. Raises only ProviderErrors; `client` is built with `explain=explain_plain_text`."""

    def __init__(self, client: ApiClient, *, base_url: str) -> None:
        self._api = JsonApi(client, base_url)

    async def search(self, params: Mapping[str, str], count: int) -> StudyPage:
        """The first `count` studies that `params` find, at most 1,000, the most relevant first, with the fields of
        `LISTED`.

        Raises:
            UnreadableQueryError: a query is not valid.
        """
        sent = {**params, "fields": LISTED, "pageSize": str(count), "countTotal": "true", "sort": "@relevance"}
        return await self._api.get("studies", sent, _page)

    async def studies(self, numbers: Sequence[str]) -> dict[str, Study]:
        """The studies with these NCT numbers, in one request, by the number asked for, which may be a former one; those
        that do not exist are missing."""
        wanted = list(dict.fromkeys(numbers))
        if not wanted:
            return {}
        sent = {"filter.ids": ",".join(wanted), "fields": RECORD_FIELDS, "pageSize": str(len(wanted))}
        page = await self._api.get("studies", sent, _page)
        by_number = {old: study for study in page.studies for old in former_numbers(study)}
        by_number |= {nct_of(study): study for study in page.studies}
        return {number: by_number[number] for number in wanted if number in by_number}

    async def study(self, number: str) -> Study:
        """A whole study.

        Raises:
            UnknownTrialError: there is none with this number.
        """

        def read(response: httpx.Response) -> Study:
            study = json_answer(NAME, TITLE, response)
            current = nct_of(study)
            # A former number redirects to the present one.
            was_moved = number in former_numbers(study) or response.request.url.path.endswith(f"/{current}")
            if not current or (current != number and not was_moved):
                raise ProviderResponseError(NAME, f"{TITLE} sent JSON that is not the trial it was asked for.")
            return study

        return await self._api.get(f"studies/{number}", {"fields": FIELDS}, read)

    async def examine(self) -> None:
        """Send the cheapest request there is."""
        await self._api.get("studies", {"pageSize": "1", "fields": "NCTId"}, _page)


def trials_client(settings: Settings, net: Net, *, steps: int = 1) -> TrialsClient:
    """A client as the settings describe it; all of a process share one pace. `steps` is how many requests a call
    sends, one after the other."""
    base_url = settings.of(TrialsSettings).clinicaltrials_base_url
    client = paced_client(
        settings,
        net,
        name=NAME,
        title=TITLE,
        base_url=base_url,
        spacing=SPACING,
        explain=explain_plain_text,
        steps=steps,
    )
    return TrialsClient(client, base_url=base_url)


def moved(number: str, current: str) -> str:
    """A sentence on a trial that was found under a former number; "" if it is the present one."""
    return f"{number} is now registered as {current}." if current != number else ""


def _page(response: httpx.Response) -> StudyPage:
    payload = json_answer(NAME, TITLE, response)
    if not isinstance(payload.get("studies"), list):
        raise ProviderResponseError(NAME, f"{TITLE} sent JSON that is not a search result.")
    studies = tuple(first_records(payload["studies"]))
    if not all(map(nct_of, studies)):
        raise ProviderResponseError(NAME, f"{TITLE} sent studies without numbers.")
    return StudyPage(studies, max(int(number_of(payload.get("totalCount")) or 0), len(studies)))


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
