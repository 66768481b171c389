"""Europe PMC.

`client` sends requests, `record` reads records; `preprints` is the source of preprints, with its queries in
`query_syntax`; `services` has full texts, known records and citing documents.
"""
