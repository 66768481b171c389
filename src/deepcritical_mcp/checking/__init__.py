"""Checks drafts: their references against records, their quotations and claims against texts.

`draft/` reads a draft; `checker` checks it part by part, puts the findings together and keeps the report, which
`report_text` writes, in parts that fit an answer. `reference_checker` looks references up and makes verdicts,
`reference_meaning` says which record is meant and what differs, and writes the reference as it should be. Texts:
`cited_texts` keeps what is cited beside the evidence of a session, reads it and finds the passages nearest to claims,
`quotation_check` lays quotations along it, and `claim_numbers` compares the numbers of claims.
"""

from __future__ import annotations

MAX_DRAFT = 200_000
"""Characters of a draft that is checked at once."""
