"""ClinicalTrials.gov.

`client` sends requests, `request` says what is searched for, `record` and `outline` read studies, `contact_details`
takes persons out of their texts; `services` are the source, the records and the full texts.
"""
