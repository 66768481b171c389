"""The settings of the sources: addresses, keys, paces. They stand apart so that reading them imports no source."""

from __future__ import annotations

from pydantic import Field, SecretStr

from deepcritical_mcp.config import Address, BaseUrl, Key, OwnSettings


class PubMedSettings(OwnSettings):
    """Key and addresses of NCBI's services."""

    ncbi_api_key: Key = Field(
        SecretStr(""), validation_alias="NCBI_API_KEY", description="NCBI API key: 10 requests per second instead of 3"
    )
    ncbi_base_url: BaseUrl = Field(
        default="https://eutils.ncbi.nlm.nih.gov/entrez/eutils", description="E-utilities, ending in /entrez/eutils"
    )
    idconv_base_url: BaseUrl = Field(
        default="https://pmc.ncbi.nlm.nih.gov/tools/idconv/api/v1/articles",
        description="NCBI's ID converter, ending in /api/v1/articles",
    )
    citmatch_url: BaseUrl = Field(
        "https://pubmed.ncbi.nlm.nih.gov/api/citmatch", description="PubMed's citation matcher, ending in /api/citmatch"
    )


class EuropePMCSettings(OwnSettings):
    """Where Europe PMC is."""

    europepmc_base_url: BaseUrl = Field(
        default="https://www.ebi.ac.uk/europepmc/webservices/rest",
        description="Europe PMC's REST service, ending in /webservices/rest",
    )


class CrossrefSettings(OwnSettings):
    """Where Crossref is; the address that it asks for is a setting of the core."""

    crossref_base_url: BaseUrl = Field("https://api.crossref.org", description="Crossref's REST API, without /works")


class ICiteSettings(OwnSettings):
    """Where iCite is."""

    icite_base_url: BaseUrl = Field(default="https://icite.od.nih.gov/api", description="NIH's iCite, ending in /api")


class OpenCitationsSettings(OwnSettings):
    """Where OpenCitations is."""

    opencitations_base_url: BaseUrl = Field(
        default="https://api.opencitations.net/index/v2", description="OpenCitations' Index, ending in /index/v2"
    )


class OpenAlexSettings(OwnSettings):
    """Where OpenAlex is; it is asked without a key."""

    openalex_base_url: BaseUrl = Field("https://api.openalex.org", description="OpenAlex's API, without /works")


class TrialsSettings(OwnSettings):
    """Where ClinicalTrials.gov is."""

    clinicaltrials_base_url: BaseUrl = Field(
        default="https://clinicaltrials.gov/api/v2", description="ClinicalTrials.gov's API, ending in /api/v2"
    )


class UnpaywallSettings(OwnSettings):
    """Where Unpaywall is; it is asked only with an email address, which is a setting of the core."""

    unpaywall_base_url: BaseUrl = Field(default="https://api.unpaywall.org/v2", description="Unpaywall, ending in /v2")


class WebSettings(OwnSettings):
    """Keys, addresses and pace of the web search providers."""

    tavily_api_key: Key = Field(SecretStr(""), validation_alias="TAVILY_API_KEY", description="enables Tavily")
    brave_api_key: Key = Field(SecretStr(""), validation_alias="BRAVE_API_KEY", description="enables Brave Search")
    serpapi_api_key: Key = Field(SecretStr(""), validation_alias="SERPAPI_API_KEY", description="enables SerpAPI")
    tavily_base_url: BaseUrl = Field(default="https://api.tavily.com", description="Tavily's API")
    brave_base_url: BaseUrl = Field(default="https://api.search.brave.com/res/v1", description="Brave Search's API")
    serpapi_base_url: BaseUrl = Field(default="https://serpapi.com", description="SerpAPI")
    duckduckgo_url: Address = Field("https://html.duckduckgo.com/html/", description="DuckDuckGo's HTML endpoint")
    web_concurrency: int = Field(default=3, ge=1, le=20, description="concurrent requests to each web provider")
    web_delay: float = Field(
        default=0.5, ge=0, description="seconds between the starts of two requests to the same web provider"
    )
    tavily_per_minute: int = Field(default=100, ge=1, description="requests per minute to Tavily")
    brave_per_second: float = Field(default=1, gt=0, description="requests per second to Brave Search")
    cache_ttl: float = Field(default=86_400, gt=0, description="seconds for which web results are cached")
