"""The texts of elements of PubMed's XML as plain text.

Superscripts and subscripts become Unicode if every character has one; other markup (italics, MathML) becomes its text.
"""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element

from deepcritical_mcp.text import limited

# Only digits, signs and brackets: letters exist too, but "CD4ˡᵒʷ" is hard to read and to search for.
_SCRIPTS = {
    "sup": str.maketrans("0123456789+-−–=()", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻⁼⁽⁾"),
    "sub": str.maketrans("0123456789+-−–=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₋₌₍₎"),
}
MAX_TEXT = 100_000
"""Characters of one element: many times the longest abstract."""
# The two bytes of a Latin letter in UTF-8, each read as a character of Latin-1. After "Ã" the second one may be a sign
# ("Ã©" for "é"); after "Ä" and "Å" only a control character counts, because "Å³" and the like are units.
_ENCODED_TWICE = re.compile("(?:Ã[\x80-\xbf]|[ÄÅ][\x80-\x9f])+")


_NOTHING = Element("nothing")


def first(element: Element, path: str) -> Element:
    """The first element at `path`; an empty one if there is none."""
    found = element.find(path)
    return _NOTHING if found is None else found


def text_at(element: Element, *paths: str) -> str:
    """The first text at one of `paths`, tried in this order, that is not empty; "" if there is none."""
    return next((text for path in paths for text in texts_at(element, path)), "")


def texts_at(element: Element, path: str) -> tuple[str, ...]:
    """The texts of the elements at `path` that are not empty, each on one line."""
    texts = (limited(_plain(found), MAX_TEXT) for found in element.iterfind(path))
    lines = (" ".join(repair_letters(text).split()) for text in texts)
    return tuple(filter(None, lines))


def repair_letters(text: str) -> str:
    """`text` with Latin letters decoded that older records have encoded twice: "FÅ\\x93tus" becomes "Fœtus".

    Only what is certain is touched, within a word: correct text has no capital "Ã" and a sign next to a lower-case
    letter, and no control character next to any letter.
    """
    return _ENCODED_TWICE.sub(_decoded, text)


def _decoded(match: re.Match[str]) -> str:
    start, end = match.span()
    around = match.string[max(start - 1, 0) : start], match.string[end : end + 1]
    has_control = any(letter < "\xa0" for letter in match[0])
    if not any(one.islower() or (has_control and one.isalpha()) for one in around):
        return match[0]
    letters = match[0].encode("latin-1").decode("utf-8", "replace")
    return letters if letters.isalpha() else match[0]


def _plain(element: Element) -> str:
    text = (element.text or "") + "".join(_plain(child) + (child.tail or "") for child in element)
    core, table = text.strip(), _SCRIPTS.get(element.tag)
    has_form = core and table and all(ord(character) in table for character in core)
    return text.replace(core, core.translate(table)) if table and has_form else text
