"""Europe PMC.

`client` sends requests, `record` reads records; `preprints` is the source of preprints, with its query language;
`services` has full texts, known records and citing documents.
"""
