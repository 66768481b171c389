"""The settings of the web search providers."""

from __future__ import annotations

from pydantic import Field, SecretStr

from deepcritical_mcp.config import Address, BaseUrl, Key, OwnSettings


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
