"""References as LaTeX sets them, in plain text.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from deepcritical_mcp.search.references.plain_text import PlainText
from deepcritical_mcp.spelling import GREEK_NAMES
from deepcritical_mcp.text import normalized

_SIGNS = re.compile(
    r"\\(?:[a-zA-Z]{2,30}\s?\{|(?:em|it|bf|sc|newblock|BibitemOpen)\b|[\"'`^~=.uvHtcdbkr]\s?\{|[\"'`^~=.]\\?[a-zA-Z]|[&%$#_]|[oOlLij](?![a-zA-Z]))|``|\w~\w"
)
_ACCENTS = {
    "`": "\u0300", "'": "\u0301", "^": "\u0302", "~": "\u0303", '"': "\u0308", "=": "\u0304", ".": "\u0307",
    "u": "\u0306", "v": "\u030c", "H": "\u030b", "c": "\u0327", "d": "\u0323", "b": "\u0331", "k": "\u0328",
    "r": "\u030a", "t": "",
}  # fmt: skip
_LETTERS = {
    "o": "ø", "O": "Ø", "l": "ł", "L": "Ł", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "aa": "å", "AA": "Å", "ss": "ß",
    "i": "i", "j": "j", "dh": "ð", "DH": "Ð", "th": "þ", "TH": "Þ", "dj": "đ", "DJ": "Đ",
}  # fmt: skip
_SYMBOLS = {
    "textendash": "–", "textemdash": "—", "textquoteright": "’", "textquoteleft": "‘", "textquotedblleft": "“",
    "textquotedblright": "”", "textregistered": "", "texttrademark": "", "textdegree": "°", "slash": "/", "and": "and",
    "ndash": "–", "mu": "µ", "pm": "±", "times": "×", "leq": "≤", "geq": "≥", "textasciitilde": "~", "textgreater": ">",
    "textless": "<", "textbackslash": " ", "textmu": "µ",
}  # fmt: skip
_GREEK = {name: letter for letter, name in GREEK_NAMES.items()}
_ACCENT = re.compile(r"\{?\\([\"'`^~=.]|[uvHtcdbkr](?=[\s{]))\s?\{?\s?\\?([A-Za-z])(?![a-z]{20})\}?\}?")
_LETTER = re.compile(rf"\{{?\\({'|'.join(sorted(_LETTERS, key=len, reverse=True))})(?:\{{\}}|(?![a-zA-Z])\s?)\}}?")
_DROPPED = re.compile(
    r"\\bibitem\s?(?:\[(?:[^\[\]]|\{[^{}]{0,200}\}){0,200}\])?\s?\{[^{}]{0,200}\}|\\BibitemShut\s?\{[^{}]{0,40}\}|"
    r"\\BibitemOpen\b|\\natexlab\s?\{[^{}]{0,20}\}|\\providecommand\b[^\n]{0,200}|\\href@noop\s?\{[^{}]{0,20}\}"
)
_KINDS = re.compile(r"\\(?:bibinfo|bibfield)\s{0,3}\{[^{}]{0,40}\}\s{0,3}")
_HREF = re.compile(r"\\href\s?\{([^{}]{0,1000})\}\s?(?=\{)")
_DOI = re.compile(r"\\doi\s?\{([^{}]{0,300})\}")
_COMMAND = re.compile(r"\\([a-zA-Z]{1,30})\*?(\s?\{|\s?)")
_SWITCHES = frozenset("em it bf sc rm tt sl itshape bfseries scshape newblock small ensuremath".split())
_ESCAPED = re.compile(r"\\([&%$#_{}~ ])")
_TYPED = re.compile(r"-{2,3}|``|''|[{}$]")
_MARKS = {"---": "—", "--": "–", "``": "“", "''": "”"}
_SPACES = re.compile(r"\\[,;:!/ ]|(?<!\\)~|\\\\")


def without_latex(text: str) -> str:
    """The text with letters for LaTeX's accents, and without its commands; as it is if it has none."""
    return plain_latex(PlainText.of(text)).text if _SIGNS.search(text) else text


def plain_latex(text: PlainText) -> PlainText:
    """The same of a text that knows where its letters stand."""
    if not _SIGNS.search(text.text):
        return text
    steps: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
        (_DROPPED, " "),
        (_DOI, lambda found: f" doi:{found[1]} "),
        (_HREF, lambda found: f" {found[1]} "),
        (_KINDS, ""),
        (_ACCENT, lambda found: normalized("NFKC", found[2] + _ACCENTS[found[1]])),
        (_LETTER, lambda found: _LETTERS[found[1]]),
        (_SPACES, " "),
        (_ESCAPED, lambda found: found[1]),
        (_COMMAND, _of_command),
        (_TYPED, lambda found: _MARKS.get(found[0], "")),
    )
    for pattern, new in steps:
        text = text.sub(pattern, new)
    return text


def _of_command(found: re.Match[str]) -> str:
    """What a command stands for: a symbol, nothing if it sets type, otherwise its own name, as no command is meant."""
    name = found[1]
    if symbol := _SYMBOLS.get(name) or _GREEK.get(name):
        return symbol
    return " " if found[2].endswith("{") or name in _SWITCHES else f"{name}{found[2]}"
