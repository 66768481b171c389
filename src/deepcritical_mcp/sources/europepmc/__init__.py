"""Europe PMC.

`client` sends requests and reads records; `preprints` is the source of preprints, `preprint_request` what is
asked of it; `services` has full texts, known records and links between papers.
"""
