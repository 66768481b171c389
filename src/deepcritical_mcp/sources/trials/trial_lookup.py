"""ClinicalTrials.gov's records of known trials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from deepcritical_mcp.config import Settings
from deepcritical_mcp.identifiers import RecordIds, normalize_trial
from deepcritical_mcp.sources.base import Net
from deepcritical_mcp.sources.lookup import FoundRecords, RecordLookup
from deepcritical_mcp.sources.trials.registration import trial_publication
from deepcritical_mcp.sources.trials.trial_record import NCT_NUMBER, nct_of
from deepcritical_mcp.sources.trials.trials_client import (
    NAME,
    TITLE,
    TrialsClient,
    moved,
    trials_client,
)


class TrialRecords(RecordLookup):
    """Records of trials by NCT numbers, also former ones: 100 cost one request."""

    name = NAME
    title = TITLE

    def __init__(self, client: TrialsClient) -> None:
        self._client = client

    @classmethod
    def create(cls, settings: Settings, net: Net) -> Self:
        return cls(trials_client(settings, net))

    def accepts(self, ids: RecordIds) -> bool:
        """Only if the registration itself is wanted: an article that names its trial is another document."""
        return bool(NCT_NUMBER.fullmatch(normalize_trial(ids.nct))) and not (ids.pmid or ids.pmcid or ids.doi)

    async def records(self, wanted: Sequence[RecordIds]) -> FoundRecords:
        """See `RecordLookup`. A record found under a former number has it among its `registrations`; a remark says
        so."""
        numbers = [normalize_trial(ids.nct) for ids in wanted]
        found = await self._client.studies(numbers)
        told = [
            moved(number, nct_of(found[number])) if number in found else f"{TITLE} has no trial {number}."
            for number in numbers
        ]
        records = {number: trial_publication(study) for number, study in found.items()}
        remarks = {place: remark for place, remark in enumerate(told) if remark}
        return FoundRecords(tuple(map(records.get, numbers)), remarks)
