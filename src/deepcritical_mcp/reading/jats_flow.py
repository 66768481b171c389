"""Running text of JATS: mixed content becomes lines of text, with the blocks that stand in it set apart."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element

from deepcritical_mcp.reading.jats_formulas import IMAGE, SUBSCRIPTS, SUPERSCRIPTS, formula_text, in_script
from deepcritical_mcp.reading.jats_xml import attribute
from deepcritical_mcp.text import normalized

SECTIONS = {
    *("sec", "boxed-text", "app", "ack", "bio", "notes", "glossary", "treatment-sec", "taxon-treatment"),
    "fn-group",
}
FLOATS = {"fig", "table-wrap", "fig-group", "table-wrap-group", "floats-group"}
# What stands inside a paragraph in XML, but beside it in print.
_ASIDE = FLOATS | {"fn", "supplementary-material", "media", "ref-list"}
# What ends a paragraph.
_BLOCKS = SECTIONS | {
    *("p", "list", "def-list", "disp-quote", "verse-group", "speech", "statement", "preformat", "code", "array"),
    *("disp-formula-group", "chem-struct-wrap", "table", "app-group", "title", "nomenclature", "question-wrap"),
    *("td", "th", "entry", "list-item", "def-item", "term", "def", "verse-line", "attrib", "speaker"),
    *("answer-set", "question", "answer", "explanation", "block-alternatives", "key-points", "ref"),
}
_DROPPED = {
    *("index-term", "index-term-range-end", "alt-text", "long-desc", "permissions", "graphic", "inline-graphic"),
    *("object-id", "glyph-data", "processing-meta", "sec-meta", "private-char", "colgroup", "col", "hr"),
}
_FORMULAS = {"inline-formula", "disp-formula", "tex-math", "math"}
_CITES = {"bibr", "ref"}
_NOTES = {"fn", "table-fn", "tablefn"}
_NUMBERS = re.compile(r"[0-9]+[a-z]?(?:\s*[,;–−-]\s*[0-9]+[a-z]?)*", re.ASCII)
_NUMBER_LIST = re.compile(r"[0-9]{1,3}(?:\s*[,–−-]\s*[0-9]{1,3})+", re.ASCII)
_LETTERS = re.compile(r"[^\W\d_](?:\s*(?:[,;–−-]\s*)?[^\W\d_]){0,5}")
_MARKS = re.compile(r"[a-z](?:\s*,\s*[a-z])+")
_NOTE_MARK = re.compile(rf"{_LETTERS.pattern}|[0-9]{{1,3}}(?:\s*[,;–−-]\s*[0-9]{{1,3}})*")
_ORDINALS = {"st", "nd", "rd", "th", "er", "re", "e", "è", "o", "ème", "eme", "de", "ste", "tm"}
_LONGEST_SCRIPT = 60


class Flow:
    """The running text of an element, in order.

    Attributes:
        pieces: lines of text, and elements that stand between them.
        asides: figures, tables, footnotes and the like that stand in the text but do not interrupt it.
    """

    def __init__(self, element: Element, *, is_paragraph: bool) -> None:
        self.pieces: list[str | Element] = []
        self.asides: list[Element] = []
        self._is_paragraph = is_paragraph
        self._text: list[str] = []
        self._walk(element)
        self._end_line()

    def _walk(self, element: Element) -> None:
        if element.text:
            self._text.append(element.text)
        for child in element:
            self._add(child)
            if child.tail:
                self._text.append(child.tail)

    def _add(self, child: Element) -> None:
        name = child.tag
        if name in _ASIDE and (self._is_paragraph or name == "fn"):
            self.asides.append(child)
        elif name in _BLOCKS or name in _ASIDE or (name == "disp-formula" and not self._is_paragraph):
            self._end_line()
            self.pieces.append(child)
        elif name in _FORMULAS or (name == "alternatives" and _is_formula(child)):
            space = " " if name == "disp-formula" else ""
            self._text += [space, formula_text(child) or IMAGE, space]
        elif name == "alternatives":
            self._add_one_of(child)
        elif name in ("sup", "sub", "xref"):
            self._add_marked(child)
        elif name == "label" and not self._is_paragraph:
            return
        elif name == "break":
            self._text.append(" ")
        elif name in ("ext-link", "uri") and not "".join(child.itertext()).strip():
            self._text.append(attribute(child, "href"))
        elif name not in _DROPPED:
            self._walk(child)

    def _add_one_of(self, alternatives: Element) -> None:
        """The first alternative with text: images and the like have none."""
        for child in alternatives:
            if child.tag not in _DROPPED and (child.tag in _BLOCKS or any(map(str.strip, child.itertext()))):
                self._add(child)
                return

    def _add_marked(self, element: Element) -> None:
        """A superscript, subscript or reference, written so that a number keeps its meaning."""
        start = len(self._text)
        self._walk(element)
        length = sum(map(len, self._text[start:]))
        if not 0 < length <= _LONGEST_SCRIPT:
            return
        text = "".join(self._text[start:])
        core = text.strip()
        before = "".join(self._text[max(start - 3, 0) : start])[-3:]
        if marked := _marked(element, core, before):
            self._text[start:] = [text.replace(core, marked, 1)]

    def _end_line(self) -> None:
        if line := " ".join("".join(self._text).split()):
            self.pieces.append(line)
        self._text = []


def line_of(element: Element | None) -> str:
    """All running text of an element on one line, without what stands beside it; "" for None."""
    if element is None:
        return ""
    if not len(element):
        return " ".join((element.text or "").split())
    found: list[str] = []
    for piece in Flow(element, is_paragraph=True).pieces:
        found.append(piece if isinstance(piece, str) else line_of(piece))
    return " ".join(filter(None, found))


def _marked(element: Element, core: str, before: str) -> str:
    """How a superscript, subscript or reference is written after `before`; "" for as it is.

    A citation that is a raised number gets brackets ("0.5[12]"); other digits and signs become Unicode's, as in
    PubMed's abstracts; what has none gets "^" where it would be read as part of a number ("10^−0.5").
    """
    plain = normalized("NFKC", core)
    if element.tag == "xref":
        if attribute(element, "ref-type") in _NOTES:
            return _note_mark(plain.removeprefix("^"), before)
        is_number = attribute(element, "ref-type") in _CITES and _NUMBERS.fullmatch(plain)
        is_glued = plain != core or re.search(r"(?:\w|[.)%”’\"']|\][,–−-]?)\Z", before)
        return f"[{plain.replace('−', '–')}]" if is_number and is_glued else ""
    if element.tag == "sub":
        return in_script(core, SUBSCRIPTS)
    if any(attribute(one, "ref-type") in _CITES for one in element.iter("xref")):
        bare = core.replace("[", "").replace("]", "")
        return f"[{bare}]" if _NUMBERS.fullmatch(bare) else ""
    if any(attribute(one, "ref-type") in _NOTES for one in element.iter("xref")):
        return ""  # marked already
    if not before and core.isalpha():
        return f"{core} "  # the mark of a note
    if re.search(r"[^\W\d_]{2}(?:[^\W\d_]|[.,;:)”])\Z", before) and _NUMBER_LIST.fullmatch(core):
        return f"[{core}]"  # citations without links
    if script := in_script(core, SUPERSCRIPTS):
        return core if before.endswith("]") and not core[:1].isdigit() else script
    return _raised(core) if re.search(r"[\w.,)\]]\Z", before) and _is_apart(core, before) else ""


def _is_apart(core: str, before: str) -> bool:
    """Whether a superscript after `before` would be read as part of it: an exponent, the mark of a note."""
    has_number = re.search("[0-9]", core)
    if core[0] in "+−–-":
        return len(core) > 1
    if before[-1].isdigit():
        is_word = re.search(r"[^\W\d_]\w{0,2}\Z", before)  # "CD4"
        is_plain = len(core) > 1 and (is_word or core in _ORDINALS)  # "CD4low", "1st"
        return bool(has_number) or core[0] == "(" or (core[0].isalnum() and not is_plain)
    letters = (len(core) == 1 and core.isalpha()) or bool(_MARKS.fullmatch(core))
    return letters or bool(before[-1].isalpha() and has_number and not core[0].isalpha())


def _raised(core: str) -> str:
    is_one = re.fullmatch(r"[+−–-]?[\w.,]+|\([^()]*\)", core)
    return f"^{core}" if is_one else f"^({core})"


def _note_mark(mark: str, before: str) -> str:
    """The mark of a note told apart from the word or number before it: "39.1^c", "Malawi²", "39.1[2]"."""
    if not (re.search(r"[\w.,;:%)\]”\"’'°]\Z", before) and _NOTE_MARK.fullmatch(mark)):
        return ""
    if not re.search("[0-9]", mark):
        return f"^{mark}"
    return f"[{mark}]" if before[-1].isdigit() or not mark.isdecimal() else in_script(mark, SUPERSCRIPTS)


def _is_formula(alternatives: Element) -> bool:
    return any(child.tag in ("math", "tex-math") for child in alternatives)
