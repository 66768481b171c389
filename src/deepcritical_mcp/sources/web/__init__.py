"""The web, through the first search provider that answers.

`chain` asks the providers in turn: those with a key (`keyed`: Tavily, Brave Search, SerpAPI), then `duckduckgo`.
`provider` is what they share, `request` what they are asked; `earlier_results` answers if none does. `tavily` reads
pages.
"""
