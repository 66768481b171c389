"""x"""

from __future__ import annotations

import html
import re
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from deepcritical_mcp.text import limited

# Only digits, signs and brackets: letters exist too, but "CD4ˡᵒʷ" is hard to read and to search for.
_SCRIPTS = {
    "sup": str.maketrans("0123456789+-−–=()", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻⁼⁽⁾"),
    "sub": str.maketrans("0123456789+-−–=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₋₌₍₎"),
}
_UNUSED = {"AffiliationInfo", "History", "ReferenceList", "Sections"}
"""What no field needs and makes up most of a record; dropped to save memory."""
MAX_TEXT = 100_000
"""Characters of one element: many times the longest abstract."""
MAX_TAGS = 1_000_000
"""Of a document: 3,000 authors with their affiliations take 100,000."""
MAX_DEPTH = 200
MAX_ATTRIBUTES = 100
SLICE = 65_536
"""Bytes that are parsed at a time, while other threads wait; no tag is nearly as long."""
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_REFERENCE = re.compile(r"&#(?:x([0-9a-f]{1,8})|([0-9]{1,10}));", re.IGNORECASE)
# The two bytes of a Latin letter in UTF-8, each read as a character of Latin-1. After "Ã" the second one may be a sign
# ("Ã©" for "é"); after "Ä" and "Å" only a control character counts, because "Å³" and the like are units.
_ENCODED_TWICE = re.compile("(?:Ã[\x80-\xbf]|[ÄÅ][\x80-\x9f])+")


class ForbiddenXmlError(ValueError):
    """The XML has what PubMed's never has, and an attack would: it says what."""


def parse_xml(document: bytes | str) -> Element:
    """The root element. The entities of PubMed's DTD, which is not loaded, are those of HTML, e.g. "&eacute;".

    Raises expat.ExpatError if it is not well-formed or nested too deeply, and ForbiddenXmlError.
    """
    body = document.encode() if isinstance(document, str) else document
    if body.count(b"<") > MAX_TAGS:
        raise ForbiddenXmlError("it has too many tags")
    tree, depth = TreeBuilder(), 0

    def forbid(*_: object) -> None:
        raise ForbiddenXmlError("it declares entities of its own, which PubMed never does")

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > MAX_DEPTH or len(attributes) > MAX_ATTRIBUTES:
            raise expat.ExpatError("nested too deeply, or too many attributes")
        tree.start(name, attributes)

    def resolve(name: str, is_parameter: bool) -> None:
        if not is_parameter:
            tree.data(html.unescape(f"&{name};"))

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        element = tree.end(name)
        if name in _UNUSED:
            element.clear()

    parser = expat.ParserCreate("utf-8")  # whatever encoding it declares: Python cannot read some
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = tree.data
    parser.EntityDeclHandler = forbid
    parser.SkippedEntityHandler = resolve
    for at in range(0, len(body), SLICE):
        if at - parser.CurrentByteIndex > SLICE:
            raise ForbiddenXmlError("a tag has too many attributes")
        parser.Parse(body[at : at + SLICE], False)
    parser.Parse(b"", True)
    return tree.close()


def repair_xml(body: bytes) -> str:
    """The document as text, without what XML forbids and publishers send nevertheless.

    Publishers send control characters, also as references such as "&#x2;", and bytes that are not UTF-8.
    """

    def legal(match: re.Match[str]) -> str:
        code = int(match[1], 16) if match[1] else int(match[2])
        is_legal = code in (9, 10, 13) or 0x20 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD or code >= 0x10000
        return match[0] if is_legal and code <= 0x10FFFF else ""

    text = body.decode("utf-8-sig", "replace").strip()
    return _REFERENCE.sub(legal, _ILLEGAL.sub("", text))


def first(element: Element, path: str) -> Element:
    """The first element at `path`; an empty one if there is none."""
    found = element.find(path)
    return Element("") if found is None else found


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
