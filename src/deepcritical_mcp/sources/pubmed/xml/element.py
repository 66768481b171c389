"""A typed view of what xmltodict makes of a record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import xmltodict

from deepcritical_mcp.sources.pubmed.xml.mojibake import repaired

Content = Mapping[str, Any] | None


class Element:
    """An element of a record as `parse` reads it: every child in a list, every text under "#text".

    Nothing here fails: what a record lacks is "" or no element.
    """

    def __init__(self, content: Content) -> None:
        self._content: Mapping[str, Any] = content or {}

    @property
    def text(self) -> str:
        """The element's text on one line."""
        return " ".join(repaired(str(self._content.get("#text") or "")).split())

    def attribute(self, name: str) -> str:
        """An attribute's value, "" when absent."""
        return str(self._content.get(f"@{name}") or "").strip()

    def all(self, *path: str) -> Iterator[Element]:
        """The elements at `path` below this one, in the record's order."""
        if not path:
            yield self
            return
        for content in self._content.get(path[0]) or ():
            yield from Element(content).all(*path[1:])

    def first(self, *path: str) -> Element:
        """The first element at `path`; an empty one when there is none."""
        return next(self.all(*path), Element(None))

    def texts(self, *path: str) -> tuple[str, ...]:
        """The texts at `path` that are not empty."""
        return tuple(one.text for one in self.all(*path) if one.text)

    def within(self, name: str) -> Element:
        """An element that holds this one under `name`, and nothing else."""
        return Element({name: [self._content]})


def parse(xml: str) -> Element:
    """The outermost element of well-formed XML without mixed content.

    Raises:
        ValueError, expat.ExpatError: `xml` is not an element.
    """
    ((_, (content,)),) = xmltodict.parse(xml, force_list=_is_element, force_cdata=True).items()
    return Element(content)


def _is_element(path: object, key: str, value: object) -> bool:
    return key != "#text"
