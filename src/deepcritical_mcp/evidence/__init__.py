"""The evidence of a session: recognized, stored, and found again.

`store` is what tools use of one session; it builds on `writing`, `indexing` and `session_access`. `sessions` finds and
opens them, and lets idle ones rest; `kept_sessions` has their titles and logs.
Adding: `writing` (embed, write, remove), `adding` (merged or new), `clustering` (what is one publication), `identity`
and `titles` (whether two are the same), `identity_values` (what identifies one).
In memory: `catalogue` (all publications), `text_index` (their passages and words), `lexical` (BM25 over `stemming`).
Finding: `chunking` (texts into passages), `passage_embedder` and `indexing` (their vectors), `searching` (a session),
`paper_passages` (one text), `passage_quotes` (what is shown of it).
`embedding` holds the models, `storage` the places where sessions are kept.
"""
