"""Formulas as text: MathML in reading order ("x_i^2", "(a+b)/c"), or TeX as its authors wrote it."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element

from deepcritical_mcp.text import normalized

IMAGE = "[…]"
"""Stands where a formula is only an image."""
SUPERSCRIPTS = str.maketrans("0123456789+-−–=()", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻⁼⁽⁾")
SUBSCRIPTS = str.maketrans("0123456789+-−–=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₋₌₍₎")
"""Only digits, signs and brackets: letters are hard to read and to search for."""
_INVISIBLE = re.compile("[\u2061-\u2064]")
_ATOM = re.compile(r"[^\W_]+(?:[.,][0-9]+)?|\W")
_GROUPS = {"mrow", "mstyle", "mpadded", "math", "semantics", "menclose", "merror", "maction", "mtd"}
_LEAVES = {"mi", "mn", "mo", "mtext", "ms"}


def in_script(text: str, table: dict[int, int]) -> str:
    """`text` in Unicode's superscripts or subscripts; "" if a character has none."""
    return text.translate(table) if text and all(ord(character) in table for character in text) else ""


def formula_text(formula: Element) -> str:
    """One rendering of a formula, on one line: its MathML, else its TeX, else its characters; "" for an image."""
    children = [child for child in formula if child.tag != "label"]
    kinds = {child.tag for child in children}
    if formula.tag == "math":
        return _tidy(mathml(formula))
    if formula.tag == "tex-math":
        return tex("".join(formula.itertext()))
    if formula.tag == "alternatives":
        best = next((child for name in ("math", "tex-math") for child in children if child.tag == name), None)
        found = [best] if best is not None else children
        return next((text for child in found if (text := formula_text(child))), "")
    if formula.tag in ("graphic", "inline-graphic", "alt-text", "long-desc", "object-id"):
        return ""
    pieces = [formula.text or ""]
    for child in formula:
        if child.tag != "label" and not (child.tag == "tex-math" and "math" in kinds):
            pieces.append(formula_text(child))
        pieces.append(child.tail or "")
    return _tidy("".join(pieces))


def tex(source: str) -> str:
    """The formula in a TeX document, without its preamble and the outer dollar signs."""
    start, end = source.find("\\begin{document}"), source.rfind("\\end{document}")
    if start >= 0:
        source = source[start + len("\\begin{document}") : end if end > start else None]
    return " ".join(source.split()).strip("$ ")


def mathml(element: Element) -> str:
    """MathML as text that says the same: powers, indices, fractions and roots with brackets where they need them."""
    name, parts = element.tag, [child for child in element if child.tag not in ("annotation", "annotation-xml")]
    if name in ("mspace", "mphantom", "none", "maligngroup", "malignmark"):
        return " " if name == "mspace" else ""
    if name in _LEAVES or not parts:
        return _INVISIBLE.sub("", " ".join("".join(element.itertext()).split()))
    if name in _GROUPS:
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
    if name == "mmultiscripts":
        return _joined(texts)
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
