"""The elements of a citation style that apply to a kind of publication: worked out once, for all that are alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import NamedTuple

from deepcritical_mcp.export.citation_style import CitationStyle, Node
from deepcritical_mcp.export.style_items import SHORT_FORMS, StyleItem

ABSENT = Node("absent", {})
"""In place of elements that ask for a variable which the publication does not have."""
_OF_ACCESS = ("retrieved", "accessed", "cited")
"""Terms in front of the day on which something was read, which say nothing without it."""
_MAX_KINDS = 200
"""Kinds of publications whose elements are kept; 800 PubMed records are of some 30."""


class _Kind(NamedTuple):
    """What decides which elements apply: the type, and which variables the publication has."""

    type: str
    variables: frozenset[str]


class StyleBranches:
    """Elements of `style` by kind of publication, each worked out once: without the branches of `cs:choose` and the
    variables that do not apply, and with macros in place."""

    def __init__(self, style: CitationStyle) -> None:
        self.style = style
        self._used = {word for node in style.root.walk() for word in _variables(node)}
        self._found: dict[tuple[_Kind, tuple[Node, ...]], tuple[Node, ...]] = {}

    def of(self, nodes: tuple[Node, ...], item: StyleItem, *, is_numbered: bool) -> tuple[Node, ...]:
        """What remains of `nodes`, the children of one element of the style, for `item`."""
        known = self._used & {*item.texts, *item.names, *item.dates}
        kind = _Kind(item.type, frozenset(known | {"citation-number"} if is_numbered else known))
        key = (kind, nodes)
        if (found := self._found.get(key)) is None:
            if len(self._found) >= _MAX_KINDS:
                self._found.clear()
            found = self._found[key] = _Fitting(self.style, kind).all(nodes)
        return found


def _variables(node: Node) -> Sequence[str]:
    names = [*node.get("variable").split(), *(word for test, word in node.tests if test == "is-numeric")]
    return [*names, *(SHORT_FORMS[name] for name in names if name in SHORT_FORMS), "page"]


class _Fitting(NamedTuple):
    style: CitationStyle
    kind: _Kind

    def all(self, nodes: Iterable[Node], *, substitutes: bool = False) -> tuple[Node, ...]:
        """`substitutes`: the nodes are alternatives, so that each has to stay one."""
        nodes = (*nodes,)
        told = [one for one, after in zip_longest(nodes, nodes[1:]) if not (after and self._lacks_day(one, after))]
        fitted = [one for node in told for one in self._one(node, substitutes=substitutes)]
        is_lacking = ABSENT in fitted
        return (*filter(_gives, fitted), *([ABSENT] if is_lacking else ()))

    def _lacks_day(self, node: Node, after: Node) -> bool:
        """Whether it is "Retrieved" before a day that is unknown."""
        is_day = any(one.tag == "date" and one.get("variable") == "accessed" for one in after.walk())
        return is_day and node.get("term") in _OF_ACCESS and "accessed" not in self.kind.variables

    def _one(self, node: Node, *, substitutes: bool) -> tuple[Node, ...]:
        if node.tag == "choose":
            return self._choice(node, substitutes=substitutes)
        if node.tag == "group":
            return self._group(node)
        if node.tag == "names":
            return self._names(node)
        if name := node.get("macro"):
            return self._macro(node, name, substitutes=substitutes)
        if node.tag == "label":
            return (node,) if self._has(node.get("variable")) else ()
        if node.tag in ("date", "number") or "variable" in node.options:
            return (node,) if self._has(node.get("variable"), node.get("form")) else (ABSENT,)
        return (node,)

    def _has(self, name: str, form: str = "") -> bool:
        known = self.kind.variables
        if name == "year-suffix":
            return True
        if name == "page-first":
            return "page" in known
        return name in known or (form == "short" and SHORT_FORMS.get(name) in known)

    def _choice(self, node: Node, *, substitutes: bool) -> tuple[Node, ...]:
        branches = list[Node]()
        for branch in node.children:
            holds = branch.tag == "else" or self._holds(branch)
            if holds is False:
                continue
            children = self.all(branch.children)
            if holds and not branches and not substitutes:
                return children
            branches.append(Node("else", {}, children) if holds else _undecided(branch, children))
            if holds:
                break
        return (Node("choose", {}, (*branches,)),) if branches else ()

    def _holds(self, branch: Node) -> bool | None:
        """Whether the branch is taken; None if only the values of a publication decide that."""
        tests, match = [self._is(test, word) for test, word in branch.tests], branch.get("match", "all")
        decisive = match != "all"
        if decisive in tests:
            return match == "any"
        return None if None in tests else match != "any"

    def _is(self, test: str, word: str) -> bool | None:
        if test == "type":
            return word == self.kind.type
        if test == "variable":
            return word in self.kind.variables
        # Positions, locators and disambiguation are matters of citations in a text.
        return None if test == "is-numeric" and word in self.kind.variables else False

    def _group(self, node: Node) -> tuple[Node, ...]:
        children = self.all(node.children)
        if ABSENT in children and not any(map(_asks, children)):
            return (ABSENT,)
        return (Node(node.tag, node.options, children),) if children else ()

    def _names(self, node: Node) -> tuple[Node, ...]:
        parts = [
            Node(one.tag, one.options, self.all(one.children, substitutes=True)) if one.tag == "substitute" else one
            for one in node.children
        ]
        can_substitute = any(one.tag == "substitute" and any(map(_gives, one.children)) for one in parts)
        if not can_substitute and not self.kind.variables & {*node.get("variable").split()}:
            return (ABSENT,)
        return (Node(node.tag, node.options, (*parts,)),)

    def _macro(self, node: Node, name: str, *, substitutes: bool) -> tuple[Node, ...]:
        children = self.all(self.style.macros[name].children)
        is_plain = len(node.options) == 1 and len(children) == 1 and children[0].tag != "choose"
        if not any(map(_gives, children)) or (is_plain and not substitutes):
            return children
        return (Node(node.tag, node.options, children),)


def _undecided(branch: Node, children: tuple[Node, ...]) -> Node:
    """The branch with the tests that the values decide."""
    options = {name: value for name, value in branch.options.items() if name in ("match", "is-numeric")}
    return Node(branch.tag, options, children)


def _gives(node: Node) -> bool:
    return node is not ABSENT


def _asks(node: Node) -> bool:
    """Whether the element can get a variable."""
    if node.tag in ("number", "date", "names", "group") or (node.tag == "text" and "variable" in node.options):
        return True
    return node.tag in ("choose", "if", "else-if", "else", "text") and any(map(_asks, node.children))
