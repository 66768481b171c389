"""The web, through whichever provider answers.

`PROVIDERS` names the providers of web results in the order in which they are asked. Names, so that importing one
provider does not import the others.
"""

PROVIDERS = (
    "deepcritical_mcp.sources.web.tavily:TavilyTool",
    "deepcritical_mcp.sources.web.brave:BraveTool",
    "deepcritical_mcp.sources.web.serpapi:SerpApiTool",
    "deepcritical_mcp.sources.web.duckduckgo:DuckDuckGoTool",
)
