"""Query expansion: more queries for a topic, to find what the first one misses.

`expander` asks the client's model and proposes, in the steps that its files follow: `topic` reads a topic into words
and `negations`; `concepts` finds what they are called, `blocks` the terms that find them, `abbreviations` what is
short; `nouns` reads words into `parts`, `roles` say what each is to a search and how sure it is that papers name it,
`plan` which must be there, `proposals` the queries, and `filters` what fits beside. `evidence_terms` looks at the
session and seeds; `pubmed_syntax` reads queries; `phrases` and `word_lists` are words.
"""
