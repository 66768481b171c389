"""Citation styles in CSL 1.0 (citationstyles.org), read from untrusted XML into plain values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from itertools import pairwise
from xml.etree.ElementTree import Element

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.reading.xml_tree import XmlError, read_xml

MAX_STYLE_BYTES = 1_000_000
"""The largest style of the CSL project has a quarter of this."""
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_STYLES = resources.files("deepcritical_mcp.export") / "styles"


@dataclass(frozen=True, eq=False)
class Node:
    """An element of a style: `tag` without namespace, its attributes as `options`."""

    tag: str
    options: Mapping[str, str]
    children: tuple[Node, ...] = ()
    text: str = ""

    def get(self, name: str, default: str = "") -> str:
        """An attribute."""
        return self.options.get(name, default)

    def first(self, tag: str) -> Node | None:
        """The first child with that tag."""
        return next((child for child in self.children if child.tag == tag), None)

    @cached_property
    def tests(self) -> tuple[tuple[str, str], ...]:
        """What a condition tests, a name at a time: ("type", "book"), ("variable", "DOI")."""
        return tuple((test, word) for test, value in self.options.items() if test != "match" for word in value.split())

    def walk(self) -> Iterator[Node]:
        """This element and all below it."""
        yield self
        for child in self.children:
            yield from child.walk()


_NOTHING = Node("nothing", {})


class CitationStyle:
    """A style with its macros and the terms and dates of its language, English as a rule; from its XML, see
    `style_tree`.

    Attributes:
        layouts: "bibliography" and, if there is one, "citation".
        dates: the localized dates by form ("text", "numeric").
        remark: what a user of the style must know; "" as a rule.

    Raises:
        InvalidInputError: it is not a style of its own with a bibliography.
    """

    def __init__(self, root: Node) -> None:
        if root.tag != "style":
            raise InvalidInputError("The file is not a CSL style: its first element is not <style>.")
        if parent := parent_style(root):
            raise InvalidInputError(
                f'The style only points to "{parent}". Put {parent}.csl into the same folder, or choose another style.'
            )
        self.root = root
        self.layouts = {node.tag: node for node in root.children if node.tag in ("bibliography", "citation")}
        if "bibliography" not in self.layouts:
            raise InvalidInputError("The style has no bibliography, only citations or notes. Choose another style.")
        if any(node.first("layout") is None for node in self.layouts.values()):
            raise InvalidInputError("The style has no layout. Choose another style.")
        self.macros = {node.get("name"): node for node in root.children if node.tag == "macro"}
        if missing := {node.get("macro") for node in root.walk()} - {"", *self.macros}:
            raise InvalidInputError(f'The style has no macro "{min(missing)[:50]}", but uses it. Choose another style.')
        language = root.get("default-locale", "en-US")
        order = ("", language.split("-")[0], language)
        own = [node for node in root.children if node.tag == "locale" and node.get(_LANGUAGE) in order]
        locales = [_shipped_locale(name) for name in ("en-US", "en-GB") if name in ("en-US", language)]
        locales += sorted(own, key=lambda node: order.index(node.get(_LANGUAGE)))
        terms = (node for one in locales for node in (one.first("terms") or _NOTHING).children)
        self._terms = {(node.get("name"), node.get("form", "long")): _words(node) for node in terms}
        self.dates = {node.get("form"): node for one in locales for node in one.children if node.tag == "date"}
        options = (node.first("style-options") or _NOTHING for node in locales)
        stated = [said for one in options if (said := one.get("punctuation-in-quote"))]
        self.takes_stops_into_quotes = bool(stated) and stated[-1] == "true"
        told = f"The style is for {language[:20]}; the words and dates that it does not define itself are in English."
        self.remark = "" if language.startswith("en") else told

    def term(self, name: str, form: str = "long", *, plural: bool = False) -> str:
        """A word in a form, or else in the next longer one; "" if there is none."""
        while not (found := self._terms.get((name, form))) and form != "long":
            form = {"verb-short": "verb", "symbol": "short"}.get(form, "long")
        return found[plural] if found else ""

    @cached_property
    def quotation_marks(self) -> tuple[tuple[str, str], tuple[str, str]]:
        """The opening and the closing mark, of quotations and of those within them."""
        outer, inner = ((self.term(f"open-{kind}quote"), self.term(f"close-{kind}quote")) for kind in ("", "inner-"))
        return outer, inner

    @cached_property
    def has_own_suffixes(self) -> bool:
        """Whether the style says where the letter of 2020a goes; otherwise it follows the year."""
        return any(node.get("variable") == "year-suffix" for node in self.root.walk())

    @cached_property
    def access_terms(self) -> frozenset[Node]:
        """Terms in front of the day on which something was read ("Retrieved"), which say nothing without it."""
        return frozenset(
            term
            for one in self.root.walk()
            for term, after in pairwise(one.children)
            if term.get("term") in ("retrieved", "accessed", "cited")
            and any(one.tag == "date" and one.get("variable") == "accessed" for one in after.walk())
        )

    @property
    def has_year_suffixes(self) -> bool:
        """Whether publications that would be cited alike get a letter after the year."""
        citation = self.layouts.get("citation")
        return citation is not None and citation.get("disambiguate-add-year-suffix") == "true"


def parent_style(root: Node) -> str:
    """The name of the style that a dependent style only points to; "" for a style of its own."""
    links = (root.first("info") or _NOTHING).children if not root.first("bibliography") else ()
    parents = [one.get("href") for one in links if one.get("rel") == "independent-parent"]
    return parents[0].rsplit("/", 1)[-1][:100] if parents else ""


def _words(term: Node) -> tuple[str, str]:
    single, multiple = term.first("single"), term.first("multiple")
    return (single.text, multiple.text) if single and multiple else (term.text, term.text)


def style_tree(source: bytes) -> Node:
    """The root of a CSL file, which may not have a document type declaration, and so no entities of its own.

    Raises:
        InvalidInputError: it is not XML, or too large.
    """
    if len(source) > MAX_STYLE_BYTES:
        raise InvalidInputError(f"The style is too large: at most {MAX_STYLE_BYTES:,} bytes.")
    if b"<!DOCTYPE" in source:
        raise InvalidInputError("The style has a document type declaration, which is not allowed in a CSL file.")
    try:
        root, _, is_damaged = read_xml(source)
    except XmlError:
        is_damaged, root = True, None
    if is_damaged or root is None:
        raise InvalidInputError("The file is not a CSL style: it is not well-formed XML.")
    return _node(root)


def _node(element: Element) -> Node:
    texts = [element.text or "", *(child.tail or "" for child in element)]
    return Node(element.tag.rpartition("}")[2], dict(element.attrib), tuple(map(_node, element)), "".join(texts))


@cache
def shipped_style(name: str) -> CitationStyle:
    """A style that comes with the server, by the name of its file in the CSL project."""
    return CitationStyle(style_tree((_STYLES / f"{name}.csl").read_bytes()))


@cache
def _shipped_locale(name: str) -> Node:
    return style_tree((_STYLES / f"locales-{name}.xml").read_bytes())
