"""The main text of a web page, without menus, advertisements and footers."""

from __future__ import annotations

import copy
import importlib
import importlib.util
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

_html: Any = importlib.import_module("lxml.html")  # no type hints
_etree: Any = importlib.import_module("lxml.etree")
HAS_TRAFILATURA = importlib.util.find_spec("trafilatura") is not None
"""Whether the extra "pages" is installed."""
_ENOUGH = 250
_TELLING = 50
_MOST_COMPARED = 200_000_000
_UNREAD = ("script", "style", "nav")
_PARAGRAPHS = ("p", "li", "td", "dd", "blockquote", "pre", "h2", "h3")


@dataclass
class MainText:
    """The part of a page that holds its main text; `root` may hold other things too, which `holds` tells apart.

    Attributes:
        kept: the main text without white space; "" if all of `root` is.
        blocks: its paragraphs, likewise.
    """

    root: Any
    kept: str = ""
    blocks: frozenset[str] = frozenset()
    _left: int = _MOST_COMPARED

    def holds(self, text: str) -> bool:
        """Whether a paragraph belongs to the main text."""
        plain = _squeezed(text)
        if not self.kept or plain in self.blocks:
            return True
        self._left -= len(self.kept)  # of a huge page, only whole paragraphs are found
        return self._left > 0 and plain in self.kept


def main_text(root: Any, url: str) -> MainText | None:
    """Where the main text of a page is; None if it has none.

    trafilatura if it is installed (the extra "pages"), else readability-lxml, says which paragraphs are the main text.
    They are read where they stand in the page: these libraries lose headings, captions and cells. If they find next to
    nothing, it is what the page itself marks as its main part.
    """
    found = _by_trafilatura(root, url) if HAS_TRAFILATURA else _by_readability(root)
    if found is not None and _length(found) >= _ENOUGH:
        blocks = frozenset(_squeezed(_text(one)) for one in cast("Iterator[Any]", found.iter(*_PARAGRAPHS, "h1")))
        main = MainText(root, _squeezed(_text(found)), blocks)
        main.root = _around(root, main)
        return main if main.root is not None else MainText(found)
    marked = cast("list[Any]", root.xpath("//main | //article | //*[@role='main']")) or [root.find("body")]
    own = max((one for one in marked if one is not None), key=_length, default=None)
    return None if own is None else MainText(own)


def _around(root: Any, main: MainText) -> Any:
    """The innermost element around all paragraphs that were kept."""
    around: list[Any] | None = None
    for element in cast("Iterator[Any]", root.iter(*_PARAGRAPHS)):
        text = _text(element)
        if len(text) < _TELLING or not main.holds(text):
            continue
        line = [*reversed([*element.iterancestors()]), element]
        common = line if around is None else _common(around, line)
        around = common
    if not around:
        return None
    return around[-1] if around[-1].tag != "p" or len(around) < 2 else around[-2]


def _common(first: Sequence[Any], second: Sequence[Any]) -> list[Any]:
    return [one for one, other in zip(first, second, strict=False) if one is other]


def _text(element: Any) -> str:
    return "".join(cast("Iterator[str]", element.itertext()))


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _length(element: Any) -> int:
    unread = (one for one in element.iter(*_UNREAD) if next(one.iterancestors(*_UNREAD), None) is None)
    return _characters(element) - sum(map(_characters, unread))


def _characters(element: Any) -> int:
    return sum(len(text.strip()) for text in cast("Iterator[str]", element.itertext()))


def _by_trafilatura(root: Any, url: str) -> Any:
    trafilatura: Any = importlib.import_module("trafilatura")  # takes long to import
    # It changes the tree that it gets.
    found: str | None = trafilatura.extract(
        copy.deepcopy(root), url=url, output_format="html", include_comments=False, include_tables=True, fast=False
    )
    return parsed_html(found or "")


def _by_readability(root: Any) -> Any:
    readability: Any = importlib.import_module("readability.readability")
    source: str = _etree.tostring(root, encoding="unicode", method="html")
    try:
        return parsed_html(str(readability.Document(source).summary(html_partial=True)))
    except (readability.Unparseable, _etree.LxmlError, ValueError, TypeError, AttributeError, RecursionError):
        return None


def parsed_html(text: str) -> Any:
    """The root element of a page, without comments; None for one that has none."""
    parser = _html.HTMLParser(encoding="utf-8", huge_tree=False, remove_comments=True, remove_pis=True)
    try:
        return _html.document_fromstring(text.replace("\0", "").encode("utf-8", errors="replace"), parser=parser)
    except (_etree.LxmlError, ValueError, AssertionError):
        return None
