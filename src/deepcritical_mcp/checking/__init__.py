"""Checks drafts: their references against records, their quotations and claims against texts.

`draft/` reads a draft; `checker` checks it part by part and keeps the report. `reference_checker` looks references
up, `reference_meaning` says which record is meant and what differs, `reference_verdicts` makes a verdict of it, and
`correction` writes the reference as it should be. Texts: `cited_texts` reads what is cited, `quotation_check` lays
quotations along it, `claim_check` finds the passages nearest to claims, `claim_numbers` compares their numbers, and
`compared_text` is the form in which words are compared. `cited_papers` keeps what a draft cites beside the evidence of
a session. `report_making` puts findings together, `report_text` writes them, in parts that fit an answer.
"""
