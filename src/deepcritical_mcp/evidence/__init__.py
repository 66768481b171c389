"""The evidence of a session: recognized, stored, and found again.

`store` is what tools use of one session, `sessions` finds and opens them: `session_access` one at a time,
`open_sessions` those whose indexes may go, `kept_sessions` their titles and logs, `removal` what was removed.
Adding: `writing` (embed, write, log), `adding` (merged or new), `clustering` (which descriptions are one publication),
`identity` and `titles` (whether two are the same), `identity_values` (what identifies one).
In memory: `catalogue` (all publications), `text_index` (their passages and words), `lexical` (BM25 over `stemming`).
Finding: `chunking` (texts into passages), `passage_embedder` and `indexing` (their vectors), `searching` (a session),
`paper_passages` (one text), `passage_quotes` (what is shown of it).
`embedding` holds the models, `storage` the places where sessions are kept.
"""
