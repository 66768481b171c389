"""ClinicalTrials.gov.

`request` says what is searched for, `record` and `outline` read studies (`registration.txt` has the lines of a
registration; persons are taken out of their texts); `services` are the source, the records and the full texts.
"""
