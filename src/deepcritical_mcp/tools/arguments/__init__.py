"""How the arguments of a call are read.

`schemas` reads all arguments by a tool's schema, with the names (`names`) and values (`values`) that models write, which
`synonyms.txt` lists; `pubmed_query` reads queries, and `sizes` bounds what is given. `params` declares the parameters that
tools share, `document_ids` and `item_decisions` read two of them, and `call_session` finds the session that a call means
and searches a source in it.
"""
