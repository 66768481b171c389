"""The web, through the first search provider that answers.

`chain` asks the providers in turn: those with a key (`tavily`; `keyed`: Brave Search, SerpAPI, and what all three
share), then `duckduckgo`. `provider` is what all share, `request` what they are asked; `earlier_results` answers if
none does. `tavily` reads pages, too.
"""
