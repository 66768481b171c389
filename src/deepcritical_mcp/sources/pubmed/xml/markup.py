"""One pass over PubMed's XML that cuts it into records and turns mixed content into plain text.

xmltodict, which reads the records afterwards, would lose where in a text its markup stood: `H<sub>2</sub>O` comes out
as "HO". So the markup goes first: superscripts and subscripts become Unicode where every character has one, all else
(italics, MathML) becomes its text. What no field needs is left out on the way, the references above all.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

RECORDS = frozenset(
    {"PubmedArticle", "PubmedBookArticle", "MedlineCitation", "BookDocument", "DeleteCitation", "DeleteDocument"}
)
_TEXTS = frozenset(
    {
        "AbstractText",
        "ArticleTitle",
        "BookTitle",
        "CoiStatement",
        "CollectionTitle",
        "CollectiveName",
        "DescriptorName",
        "ForeName",
        "ISOAbbreviation",
        "Initials",
        "Keyword",
        "LastName",
        "MedlineDate",
        "NameOfSubstance",
        "PublicationType",
        "PublisherLocation",
        "PublisherName",
        "RefSource",
        "Suffix",
        "Title",
        "VernacularTitle",
        "VolumeTitle",
    }
)
_INLINE = frozenset({"b", "i", "u", "sub", "sup", "math", "DispFormula"})
_LEFT_OUT = frozenset(
    {
        "AffiliationInfo",
        "CopyrightInformation",
        "History",
        "Identifier",
        "InvestigatorList",
        "ItemList",
        "PersonalNameSubjectList",
        "ReferenceList",
        "Sections",
        "SupplMeshList",
    }
)
# Digits, signs and brackets only: letters exist too, but "CD4ˡᵒʷ" is neither read nor found by anybody.
_SCRIPTS = {
    "sup": str.maketrans("0123456789+-−–=()", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻⁼⁽⁾"),
    "sub": str.maketrans("0123456789+-−–=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₋₌₍₎"),
}
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_REFERENCE = re.compile(r"&#(?:x([0-9a-f]{1,8})|([0-9]{1,10}));", re.IGNORECASE)


class ForbiddenEntityError(ValueError):
    """The XML declares entities of its own. PubMed never does; an attack would."""


@dataclass(frozen=True)
class RawRecord:
    """One record without mixed content: its element's name and its XML."""

    name: str
    xml: str


@dataclass(frozen=True)
class Pieces:
    """What a document consists of: the name of its outermost element, and its records."""

    root: str
    records: tuple[RawRecord, ...]


def cut(document: bytes | str) -> Pieces:
    """Cut a document into its records.

    Raises:
        expat.ExpatError: it is not well-formed.
        ForbiddenEntityError: it declares entities.
    """
    return _Cutter().run(document)


def repaired(body: bytes) -> str:
    """The document as text, without what XML forbids and publishers send nevertheless.

    That is: control characters, plain or as references such as "&#x2;", and bytes that are no UTF-8.
    """

    def legal(match: re.Match[str]) -> str:
        code = int(match[1], 16) if match[1] else int(match[2])
        is_legal = code in (9, 10, 13) or 0x20 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD or code >= 0x10000
        return match[0] if is_legal and code <= 0x10FFFF else ""

    text = body.decode("utf-8-sig", "replace").strip()
    return _REFERENCE.sub(legal, _ILLEGAL.sub("", text))


class _Cutter:
    """The handlers of one pass. `_out` is the record being written, None between records."""

    def __init__(self) -> None:
        self._root = ""
        self._records: list[RawRecord] = []
        self._out: list[str] | None = None
        self._path: list[str] = []
        self._left_out = 0  # how many open elements are inside one that is left out, itself included
        self._in_text = 0  # the same for text with markup
        self._scripts: list[tuple[str, list[str]]] = []

    def run(self, document: bytes | str) -> Pieces:
        parser = expat.ParserCreate("utf-8" if isinstance(document, str) else None)
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.EntityDeclHandler = _forbid
        parser.SkippedEntityHandler = self._skipped
        parser.Parse(document, True)
        return Pieces(self._root, tuple(self._records))

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._root = self._root or name
        if self._out is None:
            if name not in RECORDS:
                return
            self._out = []
        self._path.append(name)
        if self._left_out or name in _LEFT_OUT:
            self._left_out += 1
        elif self._in_text or name in _INLINE or ":" in name:
            self._in_text += 1
            if name in _SCRIPTS:
                self._scripts.append((name, []))
        else:
            self._in_text += name in _TEXTS
            shown = "".join(f" {key}={quoteattr(value)}" for key, value in attributes.items())
            self._out.append(f"<{name}{shown}>")

    def _end(self, name: str) -> None:
        if self._out is None:
            return
        self._path.pop()
        if self._left_out:
            self._left_out -= 1
            return
        if self._scripts and self._in_text and name in _SCRIPTS:
            kind, parts = self._scripts.pop()
            self._text(_script("".join(parts), kind))
        is_markup = self._in_text > 1 or name in _INLINE or ":" in name
        self._in_text -= bool(self._in_text)
        if is_markup:
            return
        self._out.append(f"</{name}>")
        if not self._path:
            self._records.append(RawRecord(name, "".join(self._out)))
            self._out = None

    def _text(self, data: str) -> None:
        if self._out is None or self._left_out:
            return
        if self._scripts:
            self._scripts[-1][1].append(data)
        else:
            self._out.append(escape(data))

    def _skipped(self, name: str, is_parameter: bool) -> None:
        """An entity of the DTD that is not read, e.g. "&eacute;": the names of HTML are the ones in use."""
        if not is_parameter:
            self._text(html.unescape(f"&{name};"))


def _forbid(*_: object) -> None:
    raise ForbiddenEntityError


def _script(text: str, kind: str) -> str:
    """Superscript or subscript characters for `text`, or `text` itself where one of its characters has none."""
    core = text.strip()
    table = _SCRIPTS[kind]
    return text.replace(core, core.translate(table)) if core and all(ord(one) in table for one in core) else text
