"""Citation styles in CSL 1.0 (citationstyles.org), read from untrusted XML into plain values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import resources
from itertools import pairwise
from xml.etree.ElementTree import Element

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.reading.xml_tree import XmlError, read_xml

MAX_STYLE_BYTES = 1_000_000
"""The largest style of the CSL project has a quarter of this."""
_MAX_NESTING = 120
"""Of elements within elements, macros included; Chicago's has 60."""
_MAX_STEPS = 1_000_000
"""Elements that one entry can take, macros included."""
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_LOCALES = ("en-US", "en-GB")
_OF_ACCESS = ("retrieved", "accessed", "cited")
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


@dataclass(frozen=True, eq=False)
class CitationStyle:
    """A style with its macros and the terms and dates of its language, English as a rule.

    Attributes:
        layouts: "bibliography" and, if there is one, "citation".
        terms: (singular, plural) by name and form ("long", "short", "verb", "symbol", …).
        dates: the localized dates by form ("text", "numeric").
        remark: what a user of the style must know; "" as a rule.
    """

    root: Node
    macros: Mapping[str, Node]
    layouts: Mapping[str, Node]
    terms: Mapping[tuple[str, str], tuple[str, str]]
    dates: Mapping[str, Node]
    takes_stops_into_quotes: bool
    remark: str = ""
    _limits: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])

    def term(self, name: str, form: str = "long", *, plural: bool = False) -> str:
        """A word in a form, or else in the next longer one; "" if there is none."""
        wanted: str = form
        while True:
            if found := self.terms.get((name, wanted)):
                return found[plural]
            if wanted == "long":
                return ""
            wanted = {"verb-short": "verb", "symbol": "short"}.get(wanted, "long")

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
        every = [one for top in (self.root, *self.macros.values()) for one in top.walk()]
        pairs = (pair for one in every for pair in pairwise(one.children))
        return frozenset(
            term
            for term, after in pairs
            if term.get("term") in _OF_ACCESS
            and any(one.tag == "date" and one.get("variable") == "accessed" for one in after.walk())
        )

    @property
    def has_year_suffixes(self) -> bool:
        """Whether publications that would be cited alike get a letter after the year."""
        citation = self.layouts.get("citation")
        return citation is not None and citation.get("disambiguate-add-year-suffix") == "true"

    @property
    def compares_entries(self) -> bool:
        """Whether an entry, or its place, depends on the others."""
        return self.has_year_suffixes or self.layouts["bibliography"].first("sort") is not None

    def check(self) -> None:
        """Raises InvalidInputError if a macro is missing, calls itself, or the style is too deep or too long."""
        for layout in self.layouts.values():
            nesting, steps = self._measured(layout, ())
            if nesting > _MAX_NESTING or steps > _MAX_STEPS:
                raise InvalidInputError("The style is too complex to be used. Choose another one.")

    def _measured(self, node: Node, within: tuple[str, ...]) -> tuple[int, int]:
        """How deep the elements go, and how many steps an entry can take."""
        if len(within) > _MAX_NESTING:
            raise InvalidInputError("The style's macros are nested too deeply. Choose another style.")
        parts = [self._measured(child, within) for child in node.children]
        if name := node.get("macro"):
            if name in within:
                raise InvalidInputError(f'The style\'s macro "{name[:50]}" calls itself. Choose another style.')
            if name not in self.macros:
                raise InvalidInputError(f'The style has no macro "{name[:50]}", but uses it. Choose another style.')
            if name not in self._limits:
                self._limits[name] = self._measured(self.macros[name], (*within, name))
            parts.append(self._limits[name])
        nesting = 1 + max((one for one, _ in parts), default=0)
        steps = [many for _, many in parts]
        return nesting, 1 + (max(steps, default=0) + len(steps) if node.tag == "choose" else sum(steps))


def parent_style(source: bytes) -> str:
    """The name of the style that a dependent style only points to; "" for a style of its own.

    Raises:
        InvalidInputError: it is no XML file, or too large.
    """
    root = _tree(source)
    return "" if root.first("bibliography") else _parent(root)


def _parent(root: Node) -> str:
    links = (root.first("info") or _NOTHING).children
    parents = [one.get("href") for one in links if one.get("rel") == "independent-parent"]
    return parents[0].rsplit("/", 1)[-1][:100] if parents else ""


def read_style(source: bytes) -> CitationStyle:
    """A style from the text of a CSL file.

    Raises:
        InvalidInputError: it is not a style of its own with a bibliography, or it is too large or complex.
    """
    root = _tree(source)
    if root.tag != "style":
        raise InvalidInputError("The file is not a CSL style: its first element is not <style>.")
    bibliography = root.first("bibliography")
    if bibliography is None:
        if parent := _parent(root):
            raise InvalidInputError(
                f'The style only points to "{parent}". Put {parent}.csl into the same folder, or choose another style.'
            )
        raise InvalidInputError("The style has no bibliography, only citations or notes. Choose another style.")
    layouts = {node.tag: node for node in (bibliography, root.first("citation")) if node}
    if any(node.first("layout") is None for node in layouts.values()):
        raise InvalidInputError("The style has no layout. Choose another style.")
    language = root.get("default-locale", "en-US")
    locales = [*_shipped_locales(language), *_own_locales(root, language)]
    style = CitationStyle(
        root,
        macros={node.get("name"): node for node in root.children if node.tag == "macro"},
        layouts=layouts,
        terms={key: words for locale in locales for key, words in _terms(locale)},
        dates={node.get("form"): node for locale in locales for node in locale.children if node.tag == "date"},
        takes_stops_into_quotes=_takes_stops(locales),
        remark=""
        if language.startswith("en")
        else f"The style is for {language[:20]}; the words and dates that it does not define itself are in English.",
    )
    style.check()
    return style


def _tree(source: bytes) -> Node:
    """The root of an XML document without a document type declaration, and so without entities of its own."""
    if len(source) > MAX_STYLE_BYTES:
        raise InvalidInputError(f"The style is too large: at most {MAX_STYLE_BYTES:,} bytes.")
    if b"<!DOCTYPE" in source:
        raise InvalidInputError("The style has a document type declaration, which is not allowed in a CSL file.")
    try:
        root, _, is_damaged = read_xml(source, is_huge=True)
    except XmlError:
        is_damaged, root = True, None
    if is_damaged or root is None:
        raise InvalidInputError("The file is not a CSL style: it is not well-formed XML.")
    return _node(root, 1)


def _node(element: Element, depth: int) -> Node:
    if depth > _MAX_NESTING:
        raise InvalidInputError("The style's elements are nested too deeply. Choose another style.")
    texts = [element.text or "", *(child.tail or "" for child in element)]
    children = tuple(_node(child, depth + 1) for child in element)
    return Node(element.tag.rpartition("}")[2], dict(element.attrib), children, "".join(texts))


@cache
def shipped_style(name: str) -> CitationStyle:
    """A style that comes with the server, by the name of its file in the CSL project."""
    return read_style((_STYLES / f"{name}.csl").read_bytes())


@cache
def _shipped_locale(name: str) -> Node:
    return _tree((_STYLES / f"locales-{name}.xml").read_bytes())


def _shipped_locales(language: str) -> list[Node]:
    return [_shipped_locale(name) for name in _LOCALES if name in ("en-US", language)]


def _own_locales(root: Node, language: str) -> list[Node]:
    """The style's own locales that apply, the most specific one last."""
    order = ("", language.split("-")[0], language)
    found = [node for node in root.children if node.tag == "locale" and node.get(_LANGUAGE) in order]
    return sorted(found, key=lambda node: order.index(node.get(_LANGUAGE)))


def _terms(locale: Node) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    for node in (locale.first("terms") or _NOTHING).children:
        single, multiple = node.first("single"), node.first("multiple")
        words = (single.text, multiple.text) if single and multiple else (node.text, node.text)
        yield (node.get("name"), node.get("form", "long")), words


def _takes_stops(locales: list[Node]) -> bool:
    options = [node.first("style-options") for node in locales]
    said = [one.get("punctuation-in-quote") for one in options if one and "punctuation-in-quote" in one.options]
    return bool(said) and said[-1] == "true"
