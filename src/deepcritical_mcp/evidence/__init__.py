"""The evidence of a session: recognized, stored, and found again.

`store` is what tools use of one session; it builds on `session_access` (opened, written by turns, embedded in the
background; its log of searches; what was removed can come back). `sessions` finds and opens them, and lets idle ones
rest.
Adding: `adding` (merged or new), `clustering` (what is one publication), `identity` (what identifies one, and whether
two are the same), by their `titles` and by `comparisons` of texts, names and journals.
In memory: `catalogue` (all publications), `text_index` (their passages and words, and how these rank).
Finding: `chunking` (texts into passages), `searching` (a session), `paper_passages` (which passages of one text answer
a question), `passage_quotes` (what is shown of it).
`embedding` holds the models, `storage` the places where sessions are kept.
"""
