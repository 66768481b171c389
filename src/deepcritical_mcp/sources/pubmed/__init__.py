"""PubMed and NCBI's other services.

`source` is PubMed as a source of evidence, and as a vocabulary of words and MeSH; `request` is what is asked of it.
`eutils` is E-utilities; `records` reads records, by the tables `article_fields.txt`,
`book_fields.txt` and `author_fields.txt`. `pmc` has full texts and finds articles by other numbers, `citmatch` by
citations; `links` leads from papers to others.
"""
