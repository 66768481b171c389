"""The sample library's full text, in place of PMC and the other providers."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Self

from deepcritical_mcp.config import Settings
from deepcritical_mcp.reading import Reading
from deepcritical_mcp.reading.jats import read_jats
from deepcritical_mcp.sources.base import Net
from deepcritical_mcp.sources.full_text import Copy, FullTextSource, Wanted


@cache
def sample_paper() -> Reading:
    """The made-up article that the library has in full."""
    return read_jats(files("deepcritical_mcp.cli").joinpath("sample_article.xml").read_bytes())[0]


class SamplePapers(FullTextSource):
    """One made-up article in full; the library has only abstracts of the others."""

    name = "sample"
    title = "The sample library"

    @classmethod
    def create(cls, settings: Settings, net: Net) -> Self:
        return cls()

    def accepts(self, wanted: Wanted) -> bool:
        return True

    async def read(self, wanted: Wanted) -> Copy:
        paper = sample_paper()
        if wanted.ids.pmid == paper.fields["pmid"]:
            return Copy("full_text", reading=paper)
        return Copy("not_found", f"The sample library has one full text, of PMID {paper.fields['pmid']}.")
