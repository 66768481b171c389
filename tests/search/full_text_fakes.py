"""Providers of full texts that answer what they are told, and documents made up for tests."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio

from deepcritical_mcp.errors import ProviderError
from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.models import Publication
from deepcritical_mcp.reading import Reading, Section, assembled
from deepcritical_mcp.sources.base import SourceCheck
from deepcritical_mcp.sources.lookup import Copy, FullTextSource, Wanted
from tests.uncreated import Uncreated

TITLE = "Zinc in wound repair"
TABLE = "| Group | Healed |\n| --- | --- |\n| Zinc | 31 (62 %) |\n| Placebo | 20 (40 %) |"


class FakeFullTexts(Uncreated, FullTextSource):
    """A provider that gives `answers` one after the other, the last one again and again; None hangs."""

    def __init__(
        self,
        name: str,
        *answers: Copy | ProviderError | None,
        record: Publication | ProviderError | None = None,
        takes: str = "pmid pmcid doi",
        off: str = "",
    ) -> None:
        self.name, self.title, self.off = name, name.upper(), off
        self.asked: list[Wanted] = []
        self._answers, self._record, self._takes = list(answers), record, takes.split()

    def accepts(self, wanted: Wanted) -> bool:
        return any(getattr(wanted.ids, name, "") for name in self._takes) or (
            "url" in self._takes and bool(wanted.urls)
        )

    async def read(self, wanted: Wanted) -> Copy:
        self.asked.append(wanted)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if answer is None:
            await anyio.sleep_forever()
        if isinstance(answer, ProviderError):
            raise answer
        assert answer
        return answer

    async def record(self, wanted: Wanted) -> Publication | None:
        if isinstance(self._record, ProviderError):
            raise self._record
        return self._record


@dataclass
class FakeCompleter:
    """Knows which identifiers belong together."""

    known: Sequence[RecordIds] = ()
    error: ProviderError | None = None
    asked: list[Sequence[RecordIds]] = field(default_factory=list[Sequence[RecordIds]])

    def check(self) -> SourceCheck:
        raise NotImplementedError

    async def convert(self, ids: Sequence[RecordIds]) -> Sequence[RecordIds]:
        self.asked.append(ids)
        if self.error:
            raise self.error
        return [next((one for one in self.known if set(one) & set(given) - {""}), given) for given in ids]


def copy(
    sections: Sequence[Section] = (),
    *,
    detail: str = "",
    elsewhere: Sequence[str] = (),
    abstract: str = "",
    licence: str = "CC BY 4.0",
    url: str = "https://pmc.example/PMC7700",
    **fields: Any,
) -> Copy:
    """A whole article, by default one with the PMID 7."""
    content, parts = assembled(sections or article())
    fields = fields or {"pmid": "7", "pmcid": "PMC7700", "title": TITLE}
    reading = Reading(content, parts, fields, abstract, licence)
    return Copy("full_text", detail, reading, url, tuple(elsewhere))


def article(filler: int = 0) -> list[Section]:
    """An article with nested sections, a table, a figure and references; `filler` makes it longer."""
    more = [f"Paragraph {number} repeats that nothing else was found in the clinics." for number in range(filler)]
    return [
        Section("s0", ["Dear reader, this is a made-up report."]),
        Section("s1", ["Wounds heal slowly.", "Zinc may help."], path=("Introduction",)),
        Section("s2", [], path=("Patients and methods",)),
        Section("s2.1", ["We enrolled 100 adults.", *more], path=("Patients and methods", "Participants"), parent="s2"),
        Section("s2.2", ["Healing was seen by two nurses."], path=("Patients and methods", "Outcomes"), parent="s2"),
        Section("s3", ["Healing was faster with zinc (p=0.03)."], path=("Results",)),
        Section("t1", ["Table 1. Wounds healed", TABLE, "Percentages of 50."], "table", ("Results", "Table 1"), "s3"),
        Section("f1", ["Figure 1. Time to healing"], "figure", ("Results", "Figure 1"), "s3"),
        Section("s4", ["Zinc helped in this trial."], path=("Discussion",)),
        Section("r1", ["1. Berg J. On wounds. 1999."], "references", ("References",)),
    ]
