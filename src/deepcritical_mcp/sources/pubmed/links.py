"""PubMed's links between papers, of many papers at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

from deepcritical_mcp.config import Settings
from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.net.client import Net
from deepcritical_mcp.sources.lookup import Direction, Linked, LinkLookup
from deepcritical_mcp.sources.pubmed.eutils import PROVIDER, EUtilities, eutilities, explain_refusal, ncbi_client

_NAMES: Mapping[Direction, str] = {
    "similar": "pubmed_pubmed",
    "cited_by": "pubmed_pubmed_citedin",
    "references": "pubmed_pubmed_refs",
}
"""What E-utilities call each kind of links."""


class PubMedLinks(LinkLookup):
    """E-utilities' elink."""

    name, title = PROVIDER, "PubMed"
    directions = ("similar", "cited_by", "references")
    links_at_once = 50

    def __init__(self, eutils: EUtilities) -> None:
        self._eutils = eutils

    @classmethod
    def create(cls, settings: Settings, net: Net) -> Self:
        client = ncbi_client(settings, net, provider=PROVIDER, title=cls.title, explain=explain_refusal)
        return cls(eutilities(settings, client))

    def knows(self, ids: RecordIds) -> bool:
        return bool(ids.pmid)

    async def links(self, papers: Sequence[RecordIds], direction: Direction) -> Sequence[Linked]:
        """See `LinkLookup`; a paper without a list of its own in the answer is asked for alone."""
        pmids, linkname = [one.pmid for one in papers], _NAMES[direction]
        found = await self._eutils.elinks(pmids, linkname=linkname)
        for pmid in (one for one in pmids if one not in found):
            found |= await self._eutils.elinks([pmid], linkname=linkname)
        return [Linked(tuple(frozenset({f"pmid:{one}"}) for one in found[pmid])) for pmid in pmids]
