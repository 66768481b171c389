"""Running text of JATS as lines, with the blocks in it set apart, and its formulas as text."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element

from deepcritical_mcp.data_files import data_lines, data_table
from deepcritical_mcp.reading.xml_tree import attribute
from deepcritical_mcp.text import normalized

IMAGE = "[…]"
"""Stands where a formula is only an image."""
SUPERSCRIPTS = str.maketrans("0123456789+-−–=()", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻⁼⁽⁾")
SUBSCRIPTS = str.maketrans("0123456789+-−–=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₋₌₍₎")
"""Only digits, signs and brackets: letters are hard to read and to search for."""
_INVISIBLE = re.compile("[\u2061-\u2064]")
_ATOM = re.compile(r"[^\W_]+(?:[.,][0-9]+)?|\W")


_ROWS = (row.split(" | ") for row in data_lines(__file__, "jats_names.txt"))
_NAMES = {(kind, value): name for kind, value, name in _ROWS}


def named_as(kind: str, value: str) -> str:
    """What a type of "article", "abstract" or "sub-article", or an untitled "section", is called; in the words of the
    value itself if it is not in the table."""
    return _NAMES.get((kind, value)) or value.replace("-", " ").capitalize()


def in_script(text: str, table: dict[int, int]) -> str:
    """`text` in Unicode's superscripts or subscripts; "" if a character has none."""
    return text.translate(table) if text and all(ord(character) in table for character in text) else ""


def formula_text(formula: Element) -> str:
    """One rendering of a formula, on one line: its MathML, else its TeX, else its characters; "" for an image."""
    has_math = formula.find("math") is not None
    if formula.tag == "math":
        return _tidy(mathml(formula))
    if formula.tag == "tex-math":
        body = "".join(formula.itertext()).rpartition("\\begin{document}")[2].partition("\\end{document}")[0]
        return " ".join(body.split()).strip("$ ")  # without its preamble and the outer dollar signs
    if formula.tag in ("graphic", "inline-graphic", "alt-text", "long-desc", "object-id"):
        return ""
    pieces = [formula.text or ""]
    for child in formula:
        if child.tag != "label" and not (child.tag == "tex-math" and has_math):
            pieces.append(formula_text(child))
        pieces.append(child.tail or "")
    return _tidy("".join(pieces))


def mathml(element: Element) -> str:
    """MathML as text that says the same: powers, indices, fractions and roots with brackets where they need them."""
    name, parts = element.tag, [child for child in element if child.tag not in ("annotation", "annotation-xml")]
    if name in ("mspace", "mphantom", "none", "maligngroup", "malignmark"):
        return " " if name == "mspace" else ""
    if name in {"mi", "mn", "mo", "mtext", "ms"} or not parts:
        return _INVISIBLE.sub("", " ".join("".join(element.itertext()).split()))
    if name in ELEMENTS["math-group"]:
        return _joined([mathml(part) for part in parts])
    texts = [mathml(part) for part in parts]
    if name == "mfenced":
        # MathML 3, 3.3.8: brackets and commas are the default.
        separator = (element.get("separators", ",").strip() or " ")[0]
        return element.get("open", "(") + separator.join(texts) + element.get("close", ")")
    if name == "msqrt":
        return f"√({_joined(texts)})"
    if name == "mtable":
        return "; ".join(filter(None, (text.strip() for text in texts)))
    if name in ("mtr", "mlabeledtr"):
        return " ".join(filter(None, texts))
    return _scripted(name, texts) if len(texts) > 1 else _joined(texts)


def _scripted(name: str, texts: list[str]) -> str:
    """What has a base, and marks above or below it."""
    base, first, *others = texts
    if name == "mfrac":
        return f"{_bracketed(base)}/{_bracketed(first)}"
    if name == "mroot":
        return f"{in_script(first, SUPERSCRIPTS) or f'[{first}]'}√({base})"
    if name in ("mover", "munder") and not re.search(r"\w", first):
        return base + first
    below = name in ("msub", "munder", "msubsup", "munderover")
    marks = [_raised("_" if below else "^", first), *(_raised("^", other) for other in others)]
    return (base if name.startswith("mund") or name == "mover" else _bracketed(base)) + "".join(marks)


def _raised(mark: str, text: str) -> str:
    if not text or re.fullmatch(r"[′″‴'*†]+", text):
        return text
    return in_script(text, SUBSCRIPTS if mark == "_" else SUPERSCRIPTS) or mark + _bracketed(text)


def _bracketed(text: str) -> str:
    is_bracketed = text.startswith("(") and text.find(")") == len(text) - 1
    return text if not text or is_bracketed or _ATOM.fullmatch(text) else f"({text})"


def _joined(texts: list[str]) -> str:
    """Tokens one after the other, with a space between words, which would run together."""
    pieces: list[str] = []
    for text in filter(None, texts):
        if pieces and (len(text) > 1 or len(pieces[-1]) > 1) and pieces[-1][-1:].isalnum() and text[:1].isalpha():
            pieces.append(" ")
        pieces.append(text)
    return "".join(pieces)


def _tidy(text: str) -> str:
    """On one line; letters of mathematical alphabets become plain ones."""
    plain = "".join(normalized("NFKC", one) if "\U0001d400" <= one <= "\U0001d7ff" else one for one in text)
    return " ".join(plain.split())


ELEMENTS = {kind: frozenset(names.split()) for kind, names in data_table(__file__, "jats_elements.txt").items()}
FLOATS = ELEMENTS["float"]
_ASIDE, _BLOCKS = FLOATS | ELEMENTS["aside"], ELEMENTS["section"] | ELEMENTS["block"]
_NUMBERS = re.compile(r"[0-9]+[a-z]?(?:\s*[,;–−-]\s*[0-9]+[a-z]?)*", re.ASCII)
_NUMBER_LIST = re.compile(r"[0-9]{1,3}(?:\s*[,–−-]\s*[0-9]{1,3})+", re.ASCII)
_LETTERS = re.compile(r"[^\W\d_](?:\s*(?:[,;–−-]\s*)?[^\W\d_]){0,5}")
_MARKS = re.compile(r"[a-z](?:\s*,\s*[a-z])+")
_NOTE_MARK = re.compile(rf"{_LETTERS.pattern}|[0-9]{{1,3}}(?:\s*[,;–−-]\s*[0-9]{{1,3}})*")
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
        elif name in ELEMENTS["formula"]:
            space = " " if name == "disp-formula" else ""
            self._text += [space, formula_text(child) or IMAGE, space]
        elif name in ("sup", "sub", "xref"):
            self._add_marked(child)
        elif name == "label" and not self._is_paragraph:
            return
        elif name == "break":
            self._text.append(" ")
        elif name in ("ext-link", "uri") and not "".join(child.itertext()).strip():
            self._text.append(attribute(child, "href"))
        elif name not in ELEMENTS["dropped"]:
            self._walk(child)

    def _add_marked(self, element: Element) -> None:
        """A superscript, subscript or reference, written so that a number keeps its meaning."""
        start = len(self._text)
        self._walk(element)
        text, before = "".join(self._text[start:]), "".join(self._text[max(start - 3, 0) : start])[-3:]
        core = text.strip()
        if 0 < len(text) <= _LONGEST_SCRIPT and core and (marked := _marked(element, core, before)):
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
    pieces = Flow(element, is_paragraph=True).pieces
    return " ".join(filter(None, (piece if isinstance(piece, str) else line_of(piece) for piece in pieces)))


def _marked(element: Element, core: str, before: str) -> str:
    """How a superscript, subscript or reference is written after `before`; "" for as it is.

    A citation that is a raised number gets brackets ("0.5[12]"); other digits and signs become Unicode's, as in
    PubMed's abstracts; what has none gets "^" where it would be read as part of a number ("10^−0.5").
    """
    plain = normalized("NFKC", core)
    refers_to = {attribute(one, "ref-type") for one in element.iter("xref")}
    if element.tag == "xref" and refers_to & ELEMENTS["note"]:
        return _note_mark(plain.removeprefix("^"), before)
    if refers_to & {"bibr", "ref"}:
        bare = plain.replace("[", "").replace("]", "") if element.tag == "sup" else plain
        is_glued = element.tag == "sup" or plain != core or re.search(r"(?:\w|[.)%”’\"']|\][,–−-]?)\Z", before)
        return f"[{bare.replace('−', '–')}]" if is_glued and _NUMBERS.fullmatch(bare) else ""
    if element.tag != "sup" or refers_to & ELEMENTS["note"]:  # a note is marked already
        return in_script(core, SUBSCRIPTS) if element.tag == "sub" else ""
    if not before and core.isalpha():
        return f"{core} "  # the mark of a note
    if re.search(r"[^\W\d_]{2}(?:[^\W\d_]|[.,;:)”])\Z", before) and _NUMBER_LIST.fullmatch(core):
        return f"[{core}]"  # citations without links
    if script := in_script(core, SUPERSCRIPTS):
        return core if before.endswith("]") and not core[:1].isdigit() else script
    if not re.search(r"[\w.,)\]]\Z", before) or not _is_apart(core, before):
        return ""
    return f"^{core}" if re.fullmatch(r"[+−–-]?[\w.,]+|\([^()]*\)", core) else f"^({core})"


def _is_apart(core: str, before: str) -> bool:
    """Whether a superscript after `before` would be read as part of it: an exponent, the mark of a note."""
    if core[0] in "+−–-":
        return len(core) > 1
    is_mark = len(core) == 1 or bool(_MARKS.fullmatch(core))
    has_number = bool(re.search("[0-9]", core))
    if not before[-1].isdigit():
        return (is_mark and core[0].isalpha()) or (before[-1].isalpha() and has_number and not core[0].isalpha())
    is_word = re.search(r"[^\W\d_]\w{0,2}\Z", before) or core in ELEMENTS["ordinal"]  # "CD4low", "1st"
    return has_number or core[0] == "(" or (core[0].isalnum() and (is_mark or not is_word))


def _note_mark(mark: str, before: str) -> str:
    """The mark of a note told apart from the word or number before it: "39.1^c", "Malawi²", "39.1[2]"."""
    if not (re.search(r"[\w.,;:%)\]”\"’'°]\Z", before) and _NOTE_MARK.fullmatch(mark)):
        return ""
    if not re.search("[0-9]", mark):
        return f"^{mark}"
    return f"[{mark}]" if before[-1].isdigit() or not mark.isdecimal() else in_script(mark, SUPERSCRIPTS)
