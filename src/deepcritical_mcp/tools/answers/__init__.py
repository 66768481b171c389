"""How answers are written.

`render` writes the readable form, `structured` the lean one and what both say of a citation, `budget` shortens both
until they fit, and `sections` reads which parts of a text an answer shows.
"""
