"""The evidence of a session: recognized, stored, and found again.

`store` is what tools use of one session; it builds on `session_access` (opened, written by turns, embedded in the
background; its log of searches; what was removed can come back). `sessions` finds and opens them, and lets idle ones
rest.
Adding: `adding` (merged or new), `clustering` (what is one publication), `identity` and `titles` (whether two are the
same), `identity_values` (what identifies one).
In memory: `catalogue` (all publications), `text_index` (their passages and words), `lexical` (BM25 over stems).
Finding: `chunking` (texts into passages), `searching` (a session), `paper_passages` (vectors, and which passages of one
text answer a question), `passage_quotes` (what is shown of it).
`embedding` holds the models, `storage` the places where sessions are kept.
"""
