"""How answers are written.

`render` writes the readable form (`citation_lines` that of a citation), `structured` the lean one, `budget` and
`document_budget` shorten both until they fit, and `sections` reads which parts of a text an answer shows.
"""
