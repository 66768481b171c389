"""Where evidence comes from: one source per row of `SOURCES`, full texts from those of `FULL_TEXTS`, and what is known
about documents from those of `LOOKUPS`.

To add a source, write its file or folder here, its row below, and its tests. `base` and `lookup` say what a source
must do, `settings` has its settings; `net.client` sends its requests, `net.fields` reads its records by a table.
`icite`, `opencitations`, `openalex`, `unpaywall` and `page` (an address that a user names) are services of a file each.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple


class SourceRow(NamedTuple):
    """A source by dotted names, so that reading its settings does not import the source.

    Attributes:
        source: the `Source` class, "package.module:Class".
        settings: its `OwnSettings` class; "" if it has none.
        name: its wire name, by which DEEPCRITICAL_OFF switches it off; "" if that is the name of its package.
        needs: the name of another row that it is switched off with.
        knows: the kinds of identifiers that it can resolve ("pmid", "doi" and so on, "reference", "url"), separated by
            spaces. While it is switched off, no document with such an identifier may be reported as not found.
    """

    source: str
    settings: str = ""
    name: str = ""
    needs: str = ""
    knows: str = ""

    @property
    def own_name(self) -> str:
        """Its name, by which it can be switched off."""
        return self.name or self.source.split(".")[2].partition(":")[0]


_HERE = "deepcritical_mcp.sources."
_SETTINGS = f"{_HERE}settings:"
PUBMED = SourceRow(f"{_HERE}pubmed.source:PubMed", f"{_SETTINGS}PubMedSettings", knows="pmid pmcid doi reference")
WEB = SourceRow(f"{_HERE}web.chain:ProviderChain", f"{_SETTINGS}WebSettings")
EUROPE_PMC_SETTINGS = f"{_SETTINGS}EuropePMCSettings"
PREPRINTS = SourceRow(f"{_HERE}europepmc.preprints:Preprints", EUROPE_PMC_SETTINGS, name="preprints", needs="europepmc")
TRIALS = SourceRow(f"{_HERE}trials.services:Trials", f"{_SETTINGS}TrialsSettings")
SOURCES: tuple[SourceRow, ...] = (PUBMED, PREPRINTS, TRIALS, WEB)
"""In the order in which they are shown and searched."""

FULL_TEXTS: tuple[SourceRow, ...] = (
    SourceRow(f"{_HERE}pubmed.pmc:PMC", PUBMED.settings, name="pmc", knows="pmcid"),
    SourceRow(f"{_HERE}europepmc.services:EuropePMC", EUROPE_PMC_SETTINGS, knows="doi preprint_number"),
    SourceRow(f"{_HERE}trials.services:ClinicalTrials", TRIALS.settings, knows="nct"),
    SourceRow(f"{_HERE}unpaywall:Unpaywall", f"{_SETTINGS}UnpaywallSettings"),
    SourceRow(f"{_HERE}page:PageSource", knows="url"),
    SourceRow(f"{_HERE}web.tavily:TavilyExtract", WEB.settings),
)
"""Providers of full texts, each a `FullTextSource`, in the order in which they are asked. What reads pages comes last,
since it also reads the addresses that the others name."""

CROSSREF = SourceRow(f"{_HERE}crossref.service:Crossref", f"{_SETTINGS}CrossrefSettings", knows="doi reference")
ICITE = SourceRow(f"{_HERE}icite:ICite", f"{_SETTINGS}ICiteSettings")
LINKS: tuple[SourceRow, ...] = (
    SourceRow(f"{_HERE}pubmed.links:PubMedLinks", PUBMED.settings),
    SourceRow(f"{_HERE}europepmc.services:EuropePMCCitations", EUROPE_PMC_SETTINGS),
    ICITE,
    SourceRow(f"{_HERE}opencitations:OpenCitations", f"{_SETTINGS}OpenCitationsSettings"),
    SourceRow(f"{_HERE}openalex:OpenAlex", f"{_SETTINGS}OpenAlexSettings"),
)
"""Services that know links between papers, and nothing else about them that a record would say."""
LOOKUPS: tuple[SourceRow, ...] = (
    SourceRow(f"{_HERE}trials.services:TrialRecords", TRIALS.settings),
    SourceRow(f"{_HERE}pubmed.citmatch:ECitMatch", PUBMED.settings, name="ecitmatch"),
    SourceRow(f"{_HERE}pubmed.citmatch:CitationMatcher", PUBMED.settings, name="citmatch", knows="reference"),
    SourceRow(f"{_HERE}europepmc.services:EuropePMCRecords", EUROPE_PMC_SETTINGS),
    *LINKS,
    CROSSREF,
)
"""Services that know something about documents, each a `Service`, in the order in which they are asked."""


def source_names() -> tuple[str, ...]:
    """The names of all rows, each once: what DEEPCRITICAL_OFF may contain."""
    return tuple(dict.fromkeys(row.own_name for row in (*SOURCES, *FULL_TEXTS, *LOOKUPS)))


def why_off(row: SourceRow, off: Collection[str]) -> str:
    """The name in `off` that switches a row off; "" if it is on."""
    return next((name for name in (row.own_name, row.needs) if name in off), "")


def source_off(name: str, off: Collection[str]) -> str:
    """The name in `off` that switches off the source with that name in `SOURCES`; "" if it is on."""
    return next((why_off(row, off) for row in SOURCES if row.own_name == name), "")


def records_off(off: Collection[str]) -> tuple[str, ...]:
    """The names in `off` of sources that could be asked for records or texts of documents."""
    return _off((PUBMED, *FULL_TEXTS, *(row for row in LOOKUPS if row not in LINKS)), off)


def off_for(kinds: Collection[str], off: Collection[str]) -> tuple[str, ...]:
    """The names in `off` of sources that could have known an identifier of one of these kinds."""
    return _off((row for row in (PUBMED, *FULL_TEXTS, *LOOKUPS) if {*kinds} & {*row.knows.split()}), off)


def _off(rows: Iterable[SourceRow], off: Collection[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, (why_off(row, off) for row in rows))))
