"""A topic expanded with NCBI's stand-in and without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from deepcritical_mcp.config import Settings
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.models import Expansion
from deepcritical_mcp.search.expansion.expander import QueryExpander
from tests.search.expansion.ncbi_stand_in import LIBRARY, NcbiStandIn, Record


@dataclass(frozen=True)
class Ask:
    """Expands a topic with NCBI, which has these records and papers."""

    folder: Path

    async def __call__(
        self,
        topic: str,
        *,
        count: int = 3,
        records: Sequence[Record] = LIBRARY,
        papers: Mapping[str, int] | None = None,
        unknown: Sequence[str] = (),
        ncbi: NcbiStandIn | None = None,
        store: EvidenceStore | None = None,
        seeds: Sequence[str] = (),
    ) -> Expansion:
        asked = ncbi or NcbiStandIn(records=records, papers=papers or {}, unknown=unknown)
        expander = QueryExpander(Settings(), asked.concepts(self.folder))
        return await expander.expand(topic, count=count, store=store, seeds=seeds)


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    return Ask(tmp_path)


async def offline(
    topic: str, *, count: int = 8, store: EvidenceStore | None = None, description: str = "", sampled: str = ""
) -> Expansion:
    """A topic expanded without NCBI."""
    expander = QueryExpander(Settings(), None)
    return await expander.expand(topic, count=count, store=store, description=description, sampled=sampled)
