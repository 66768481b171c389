"""Checks drafts: their references against records, their quotations and claims against texts.

`draft/` reads a draft; `checker` checks it part by part and keeps the report. References: `reference_checker` looks them
up, `reference_meaning` says which record is meant and what differs, `reference_verdicts` makes a verdict of it, and
`correction` writes the reference as it should be. Texts: `cited_texts` reads what is cited, `quotation_check` lays
quotations along it, `claim_check` finds the passages nearest to claims, with the numbers of `claim_numbers` and the words
of `compared_text`. `cited_papers` keeps what a draft cites beside the evidence of a session. The report: `report_making`
puts findings together, `report_text` writes them, in parts that fit. Light to import: `cited_papers` and `report_text`.
"""
