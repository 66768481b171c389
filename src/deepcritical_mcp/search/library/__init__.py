"""A user's own library: records from files of reference managers and databases, as evidence.

`records` reads an entry as it is written (`reading.library_entries`) into a publication.
"""
