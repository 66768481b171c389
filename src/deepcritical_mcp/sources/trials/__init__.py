"""ClinicalTrials.gov.

`request` says what is searched for; `services` are the source, the records and the full texts, whose sections `outline`
writes (`registration.txt` has the lines of a registration; persons are taken out of its texts).
"""
