"""The web, through the first search provider that answers.

`chain` asks the providers (`tavily`, `brave`, `serpapi`, `duckduckgo`) in turn; `provider` is what they share,
`request` what they are asked; `earlier_results` answers if none does.
"""
