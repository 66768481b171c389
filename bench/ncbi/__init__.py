"""A stand-in for NCBI: MeSH by hand, PubMed of records in files."""
