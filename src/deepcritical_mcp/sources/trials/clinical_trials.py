"""ClinicalTrials.gov: registrations of trials, with their results."""

from __future__ import annotations

from typing import Self

from deepcritical_mcp.config import Settings
from deepcritical_mcp.identifiers import normalize_trial
from deepcritical_mcp.models import Publication
from deepcritical_mcp.sources.base import Net
from deepcritical_mcp.sources.full_text import Copy, FullTextSource, Wanted
from deepcritical_mcp.sources.trials.registration import trial_publication
from deepcritical_mcp.sources.trials.trial_record import ADDRESS, NCT_NUMBER, Study, nct_of, trial_reading
from deepcritical_mcp.sources.trials.trials_client import (
    NAME,
    TITLE,
    TrialsClient,
    UnknownTrialError,
    moved,
    trials_client,
)


class ClinicalTrials(FullTextSource):
    """ClinicalTrials.gov's API, by NCT number. Other registries' numbers (ISRCTN…) are not in it."""

    name = NAME
    title = TITLE

    def __init__(self, client: TrialsClient) -> None:
        self._client = client

    @classmethod
    def create(cls, settings: Settings, net: Net) -> Self:
        return cls(trials_client(settings, net))

    def accepts(self, wanted: Wanted) -> bool:
        """Only if the registration itself is wanted: an article that names its trial is another document."""
        return bool(wanted.ids.nct) and not (wanted.ids.pmid or wanted.ids.pmcid or wanted.ids.doi)

    async def read(self, wanted: Wanted) -> Copy:
        number = normalize_trial(wanted.ids.nct)
        if not NCT_NUMBER.fullmatch(number):
            page = f"https://www.isrctn.com/{number}" if number.startswith("ISRCTN") else ""
            detail = f"{TITLE} has trials by their NCT numbers only, not those of other registries."
            return Copy("not_found", detail, elsewhere=(page,) if page else ())
        try:
            return _copy(number, await self._client.study(number))
        except UnknownTrialError:
            return Copy("not_found", f"{TITLE} has no trial {number}.")

    async def record(self, wanted: Wanted) -> Publication | None:
        return (await self.record_and_copy(wanted))[0]

    async def record_and_copy(self, wanted: Wanted) -> tuple[Publication | None, Copy | None]:
        """The registration with what matters most of it as text, and the whole of it, of one answer."""
        number = normalize_trial(wanted.ids.nct)
        if not NCT_NUMBER.fullmatch(number):
            return None, None
        try:
            study = await self._client.study(number)
        except UnknownTrialError:
            return None, None
        return trial_publication(study), _copy(number, study)


def _copy(number: str, study: Study) -> Copy:
    reading, current = trial_reading(study), nct_of(study)
    detail = moved(number, current)
    if not reading.content:
        return Copy("no_text", f"{TITLE} has {current} without any text. {detail}".strip(), reading)
    return Copy("full_text", detail, reading, f"{ADDRESS}{current}")
