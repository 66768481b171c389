"""ClinicalTrials.gov as a source of evidence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Self

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.identifiers import normalize_trial
from deepcritical_mcp.models import Publication
from deepcritical_mcp.sources.base import Answer, Fetched, Finding, Net, SearchRequest, Source, SourceCheck, as_sent
from deepcritical_mcp.sources.trials.registration import trial_publication, trial_stub
from deepcritical_mcp.sources.trials.trial_record import NCT_NUMBER, attribution, former_numbers, nct_of
from deepcritical_mcp.sources.trials.trial_request import TrialRequest
from deepcritical_mcp.sources.trials.trials_client import (
    LARGEST_PAGE,
    NAME,
    TITLE,
    StudyPage,
    TrialsClient,
    UnreadableQueryError,
    moved,
    trials_client,
)
from deepcritical_mcp.text import clean_line

_NUMBER_IN_TEXT = re.compile(r"\bNCT[0-9]{8}\b", re.IGNORECASE)


class Trials(Source):
    """ClinicalTrials.gov: one request returns the numbers of trials, one their records."""

    name = NAME
    title = TITLE
    kind = "trials"
    cited_as = "trial"
    tool = "trial_search"
    request = TrialRequest
    two_step = True
    id_name = "NCT"

    def __init__(self, client: TrialsClient) -> None:
        self._client = client

    @classmethod
    def create(cls, settings: Settings, net: Net) -> Self:
        return cls(trials_client(settings, net, steps=2))

    async def ask(self, variant: str, request: SearchRequest, *, offset: int, limit: int) -> Answer:
        """One page of the trials that match `variant`; pages are not kept by the other side, so that each is asked for
        together with those before it."""
        assert isinstance(request, TrialRequest)
        params = request.params(variant)
        try:
            page = await self._client.search(params, min(offset + limit, LARGEST_PAGE))
        except UnreadableQueryError as error:
            raise UnreadableQueryError(NAME, _unreadable(error.message, request.special(variant))) from error
        ids = tuple(map(nct_of, page.studies))[offset : offset + limit]
        remarks = (*request.remarks(variant), *_remarks(variant, page))
        sent = self.sent(variant, request)
        return Answer(ids, page.total, remarks=remarks, translation=sent, sent=sent)

    def sent(self, variant: str, request: SearchRequest) -> str:
        assert isinstance(request, TrialRequest)
        return as_sent(request.params(variant))

    async def fetch(self, ids: Sequence[str]) -> Fetched:
        """The records of trials, by the number asked for, which may be a former one."""
        found = await self._client.studies(ids)
        losses = {id: f"{TITLE} has no trial {id}." for id in ids if id not in found}
        return Fetched({id: trial_publication(study) for id, study in found.items()}, losses)

    def stub(self, id: str) -> Publication:
        return trial_stub(id)

    def known_id(self, text: str) -> str:
        number = normalize_trial(text)
        if not NCT_NUMBER.fullmatch(number):
            raise InvalidInputError(f'"{clean_line(text)[:40]}" is not an NCT number such as NCT02130466.')
        return number

    def checks(self) -> Sequence[SourceCheck]:
        async def examine() -> Finding:
            await self._client.examine()
            return Finding("answers")

        return (SourceCheck(self.title, examine),)


def _remarks(variant: str, page: StudyPage) -> Iterator[str]:
    """Trials found under a former number, and what must be said wherever the data are shown."""
    written = {number.upper() for number in _NUMBER_IN_TEXT.findall(variant)}
    for study in page.studies:
        yield from (moved(old, nct_of(study)) for old in former_numbers(study) if old in written)
    if page.studies:
        yield attribution(page.studies[0])


def _unreadable(said: str, special: str) -> str:
    advice = "Write the query in plain words with AND, OR, NOT."
    if special:
        advice = (
            f"Remove {special} from it, or put what belongs together in pairs of ( ) or quotation marks. [ ] are "
            "reserved for AREA[…] and the like: PubMed's tags ([ti], [MeSH Terms]) are not understood."
        )
    return f"{said} It is not a query that ClinicalTrials.gov can read. {advice}"
