"""How the arguments of a call are read.

`schemas` reads all arguments by a tool's schema, with the names (`params`) and values (`values`) that models write, as
`synonyms.txt` lists them. `params` also bounds what is given and declares what tools share, and `call_session` finds
the session that a call means and searches a source in it. `sentences.txt` has tables of what tools say.
"""
