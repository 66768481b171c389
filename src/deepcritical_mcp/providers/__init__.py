"""One source of evidence per module, behind `SearchTool`.

`PROVIDERS` names the providers of web results in the order in which they are asked. Names, so that importing one
provider does not import the others.
"""

PROVIDERS = (
    "deepcritical_mcp.providers.tavily:TavilyTool",
    "deepcritical_mcp.providers.brave:BraveTool",
    "deepcritical_mcp.providers.serpapi:SerpApiTool",
    "deepcritical_mcp.providers.duckduckgo:DuckDuckGoTool",
)
