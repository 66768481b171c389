"""Searching sources, and finding and reading documents.

`pipeline` searches one source or several, in the steps of `search_steps`, which writes the log of searches, a page at
a time (`paging`); `snowballing` follows the links of papers, which `linking` gathers; `citing` counts citations.
`documents` are what callers name and what was found for it: `record_finder` finds records by numbers,
`reference_finder` by what references say (see `references`), `item_finder` by both; `full_texts` reads papers, and
`copies` judges what providers sent. `witness` asks what happened to records; `news` repeats searches. `expansion`
proposes queries.
"""
