"""XML as a tree: whatever a provider sends becomes elements, in linear time and without a DTD.

The tree is lxml's, which reads damaged XML as far as it goes; its elements have the interface of the standard
library's, after which they are typed here.
"""

from __future__ import annotations

import re
from html.entities import html5
from typing import Any, cast
from xml.etree.ElementTree import Element
from xml.sax.saxutils import escape

from lxml import etree  # pyright: ignore[reportMissingTypeStubs, reportAttributeAccessIssue, reportUnknownVariableType]

from deepcritical_mcp.errors import UnreadableDocumentError
from deepcritical_mcp.text import decoded

_LXML = cast("Any", etree)  # it has no types
_ENCODING = re.compile(rb"""<\?xml[^<>]{0,99}encoding=["']([A-Za-z0-9._-]{1,40})["']""")
_IN_PROLOG = re.compile(
    r"<!DOCTYPE|<!--.*?(?:-->|\Z)|<\?.*?(?:\?>|\Z)|\"[^\"]*+\"|'[^']*+'|[\[\]>]|<(?=[A-Za-z])", re.DOTALL
)
_REFERENCE = re.compile(r"&(?:#(?:[xX]([0-9a-fA-F]{1,8})|([0-9]{1,10}));|([A-Za-z][A-Za-z0-9]{0,40});)?")
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_SAFE = {"resolve_entities": False, "no_network": True, "load_dtd": False, "encoding": "utf-8"}
_XML_ENTITIES = {"amp", "lt", "gt", "quot", "apos"}


class XmlError(UnreadableDocumentError):
    """The document cannot be read as XML: the message says why."""


def read_xml(data: bytes, *, is_huge: bool = False) -> tuple[Element, str, bool]:
    """The root element of a document, its text from there on, and whether that was cut off or broken, so that some of
    it may be missing. Nothing is loaded, and no entity that it declares is expanded; all others are those of
    HTML. Unless it `is_huge`, elements nested more deeply than 256 levels, and texts of 10 MB, count as damage.

    Raises:
        XmlError: it is not XML.
    """
    declared = _ENCODING.match(data[:200].lstrip())
    text = _without_declarations(decoded(data, declared[1].decode() if declared else ""))
    # Every named entity as its character, and nothing that XML forbids; CDATA stays as it is.
    head, *rest = _ILLEGAL.sub("", text).split("<![CDATA[")
    plain = [_REFERENCE.sub(_plain_reference, head)]
    for piece in rest:
        inside, end, after = piece.partition("]]>")
        plain.append(f"<![CDATA[{inside}{end}{_REFERENCE.sub(_plain_reference, after)}")
    parser = _LXML.XMLParser(recover=True, remove_comments=True, remove_pis=True, huge_tree=is_huge, **_SAFE)
    try:
        root = _LXML.fromstring("".join(plain).encode("utf-8", "replace"), parser)
    except _LXML.XMLSyntaxError as error:
        raise XmlError("it is not XML") from error
    if root is None:
        raise XmlError("it is not XML")
    # Undeclared prefixes of names are no damage.
    is_damaged = any(entry.domain_name != "NAMESPACE" and entry.level_name == "FATAL" for entry in parser.error_log)
    return cast("Element", root), text, is_damaged


NOTHING = cast("Element", _LXML.Element("nothing"))


def first(element: Element, path: str) -> Element:
    """The first element at `path`; an empty one if there is none."""
    found = element.find(path)
    return NOTHING if found is None else found


def new_element(name: str) -> Element:
    """An empty element, to which others can be added."""
    return cast("Element", _LXML.Element(name))


def attribute(element: Element, name: str) -> str:
    """An attribute, whatever its namespace, on one line: "href" also finds xlink:href; "" if it is missing."""
    for key, value in element.attrib.items():
        if key == name or key.endswith((f"}}{name}", f":{name}")):
            return " ".join(value.split())
    return ""


def _without_declarations(text: str) -> str:
    """The text from the root element on: without the XML declaration and the document type with its entities."""
    within = ""  # the document type, or "[" for its internal subset
    for found in _IN_PROLOG.finditer(text):
        mark = found[0]
        if mark == "<" and not within:
            return text[found.start() :]
        if mark == "<!DOCTYPE" or (within and mark == "]"):
            within = "<!DOCTYPE"
        elif within and mark in ("[", ">"):
            within = "[" if "[" in (mark, within) else ""
    if within:
        raise XmlError("it is cut off in its document type")
    return ""


def _plain_reference(found: re.Match[str]) -> str:
    hexadecimal, decimal, name = found.groups()
    if name:
        return found[0] if name in _XML_ENTITIES else escape(html5.get(f"{name};", "") or found[0])
    if not (hexadecimal or decimal):
        return "&amp;"
    code = int(hexadecimal, 16) if hexadecimal else int(decimal)
    is_legal = code in (9, 10, 13) or 0x20 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD or 0x10000 <= code <= 0x10FFFF
    return found[0] if is_legal else ""
