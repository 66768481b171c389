"""One entry of a bibliography: the elements of a citation style, applied to one publication."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from deepcritical_mcp.export.citation_style import CitationStyle, Node
from deepcritical_mcp.export.rich_text import (
    Rich,
    in_quotes,
    joined_text,
    plain,
    recased,
    rich,
    with_quotation_marks,
    without_stops,
)
from deepcritical_mcp.export.style_items import SHORT_FORMS, StyleItem
from deepcritical_mcp.export.style_values import (
    affixed,
    finished_part,
    formatted,
    name_options,
    ordinal,
    page_ranges,
    sortable_date,
    written_date_of,
    written_names,
)

_NUMERIC = re.compile(r"[A-Za-z]{0,2}[0-9]{1,20}[A-Za-z]{0,2}")
_LEADING_ZEROS = re.compile(r"(?<![0-9A-Za-z])0+(?=[0-9])")
_RANGES = ("page", "volume", "issue")
"""Variables that may be a range of numbers."""
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_SEPARATORS = re.compile(r"\s?[,&–-]\s?")


_EDITORS_LABEL = Node("label", {"form": "short", "prefix": " (", "suffix": ")"})


class _Written(NamedTuple):
    """The output of an element: whether it asked for a variable of the publication, and whether there was one."""

    text: Rich
    asked: bool = False
    got: bool = False


_NOTHING = _Written(())


class EntryWriter:
    """Writes one publication by one layout of a style.

    Args:
        scope: "bibliography" or "citation".
        number: the publication's place in the bibliography, from 1.
        year_suffix: "a" of 2020a.
        name_options: override what the style says on names, for sorting and comparing.
        sorting: dates are digits then, and names are written with the family name first.
    """

    def __init__(
        self,
        style: CitationStyle,
        item: StyleItem,
        *,
        scope: str = "bibliography",
        number: int = 0,
        year_suffix: str = "",
        name_options: Mapping[str, str] | None = None,
        sorting: bool = False,
    ) -> None:
        self._style, self._item, self._scope = style, item, style.layouts[scope]
        self._number, self._suffix, self._sorting = number, year_suffix, sorting
        self._name_options = dict(name_options or {})
        self._substituted = set[str]()
        self._used = set[str]()
        self._origin: Node | None = None
        self._elements: Mapping[str, Callable[[Node, str], _Written]] = {
            "text": self._text,
            "number": self._number_element,
            "label": self._label,
            "date": self._date,
            "names": self._names,
            "group": self._group,
            "choose": self._choose,
        }

    def entry(self) -> tuple[Rich, Rich]:
        """The number in front, where the style sets it apart, and the rest."""
        layout = self._scope.first("layout")
        if layout is None or not layout.children:
            return (), ()
        apart = 1 if "second-field-align" in self._scope.options else 0
        label, body = (self._children(nodes, "").text for nodes in (layout.children[:apart], layout.children[apart:]))
        return label, affixed(formatted(body, layout.options), layout.options)

    def macro(self, name: str) -> Rich:
        """What a macro gives by itself, for sorting."""
        return self._children(self._style.macros[name].children, "").text

    def _element(self, node: Node, delimiter: str) -> _Written:
        write = self._elements.get(node.tag)
        return write(node, delimiter) if write else _NOTHING

    def _children(self, nodes: Iterable[Node], delimiter: str) -> _Written:
        silent = () if self._item.has("accessed") else self._style.access_terms
        found = (self._element(node, delimiter) for node in nodes if node not in silent)
        if not (written := [one for one in found if one is not _NOTHING]):
            return _NOTHING
        text = joined_text((one.text for one in written), delimiter)
        return _Written(text, any(one.asked for one in written), any(one.got for one in written))

    def _group(self, node: Node, delimiter: str) -> _Written:
        """Nothing if it asks for variables and gets none; a group within it that gives something counts as one."""
        inside = self._children(node.children, node.get("delimiter"))
        if not inside.text or (inside.asked and not inside.got):
            return _Written((), inside.asked)
        return _Written(affixed(formatted(inside.text, node.options), node.options), True, True)

    def _choose(self, node: Node, delimiter: str) -> _Written:
        for branch in node.children:
            if branch.tag == "else" or self._holds(branch):
                return self._children(branch.children, delimiter)
        return _NOTHING

    def _holds(self, branch: Node) -> bool:
        tests, match = (self._is(test, word) for test, word in branch.tests), branch.get("match", "all")
        return all(tests) if match == "all" else any(tests) is (match == "any")

    def _is(self, test: str, word: str) -> bool:
        """Positions, locators and disambiguation are matters of citations in a text."""
        if test == "type":
            return word == self._item.type
        if test == "variable":
            return self._item.has(word) or (word == "citation-number" and bool(self._number))
        return test == "is-numeric" and _is_numeric(plain(self._item.texts.get(word, ())))

    def _text(self, node: Node, delimiter: str) -> _Written:
        if macro := node.get("macro"):
            origin, self._origin = self._origin, None
            inside = self._children(self._style.macros[macro].children, "")
            self._origin = origin
            return inside._replace(text=self._finished(inside.text, node))
        if name := node.get("variable"):
            value = self._variable(name, node.get("form"))
            # Whether there is a letter after the year must not decide whether "n.d." is written.
            return _Written(self._finished(value, node), name != "year-suffix", bool(value))
        if name := node.get("term"):
            word = self._style.term(name, node.get("form", "long"), plural=node.get("plural") == "true")
            return _Written(self._finished(rich(word), node))
        return _Written(self._finished(rich(node.get("value")), node))

    def _variable(self, name: str, form: str = "") -> Rich:
        if name == "citation-number":
            return rich(str(self._number or ""))
        if name == "year-suffix":
            return rich(self._suffix)
        if name in self._substituted:
            return ()
        self._used.add(name)
        texts = self._item.texts
        if name == "publisher-place" and "publisher" in self._used and self._publisher_ends_with_place():
            return ()
        if form == "short" and (short := texts.get(SHORT_FORMS.get(name, ""))):
            return short
        if name == "page-first":
            return rich(re.split("[-–,]", plain(texts.get("page", ())), maxsplit=1)[0].strip())
        if name in _RANGES:
            how, dash = self._style.root.get("page-range-format"), self._style.term("page-range-delimiter") or "–"
            return rich(page_ranges(plain(texts.get(name, ())), how if name == "page" else "", dash))
        return texts.get(name, ())

    def _publisher_ends_with_place(self) -> bool:
        """Whether its name says where it is: "University of Washington, Seattle" for "Seattle (WA)"."""
        publisher, place = (plain(self._item.texts.get(one, ())) for one in ("publisher", "publisher-place"))
        return publisher.endswith(f", {place.partition(' (')[0]}")

    def _finished(self, text: Rich, node: Node) -> Rich:
        if not text:
            return ()
        options, case = node.options, node.get("text-case")
        if options.get("strip-periods") == "true":
            text = without_stops(text)
        is_english = self._item.language.startswith("en") or not self._item.language
        if case and (is_english or case != "title"):
            text = recased(text, case)
        outer, inner = self._style.quotation_marks
        if options.get("quotes") == "true":
            text = in_quotes(text, outer, inner, takes_stops=self._style.takes_stops_into_quotes)
        elif "variable" in options:
            text = with_quotation_marks(text, outer, takes_stops=self._style.takes_stops_into_quotes)
        return affixed(formatted(text, options), options)

    def _number_element(self, node: Node, delimiter: str) -> _Written:
        value = self._variable(node.get("variable"))
        text, form = plain(value), node.get("form", "numeric")
        if text.isdecimal() and len(text) < 6 and form != "numeric":
            word = self._style.term(f"long-ordinal-{int(text):02}") if form == "long-ordinal" else ""
            value = rich(word or (ordinal(int(text), self._style) if form != "roman" else text))
        elif _is_numeric(text):
            value = rich(_LEADING_ZEROS.sub("", text).replace("-", "–"))
        return _Written(finished_part(value, node.options), True, bool(value))

    def _label(self, node: Node, delimiter: str) -> _Written:
        name = node.get("variable")
        value = plain(self._item.texts.get(name, ()))
        if not value or name in self._substituted:
            return _NOTHING
        word = self._style.term(name, node.get("form", "long"), plural=_is_plural(name, value, node))
        return _Written(finished_part(rich(word), node.options))

    def _date(self, node: Node, delimiter: str) -> _Written:
        name = node.get("variable")
        date = self._item.dates.get(name) if name not in self._substituted else None
        if date is None:
            return _Written((), True)
        self._used.add(name)
        if self._sorting:
            shown = node.get("date-parts") if node.get("form") else ""
            digits = sortable_date(date)
            return _Written(rich(digits[:5] if shown == "year" else digits), True, True)
        suffix = "" if self._style.has_own_suffixes or name != "issued" else self._suffix
        text = written_date_of(date, node, self._style, suffix)
        return _Written(affixed(formatted(text, node.options), node.options), True, bool(text))

    def _names(self, node: Node, delimiter: str) -> _Written:
        """Names of each variable; if there are none, the first substitute that gives something, in the same form."""
        origin = self._origin
        form = node if node.children or origin is None else origin
        variables = [name for name in node.get("variable").split() if name not in self._substituted]
        lists = [self._list(name, form, origin or node) for name in variables if self._item.names.get(name)]
        self._used.update(name for name in variables if self._item.names.get(name))
        between = node.get("delimiter") or name_options(self._style, self._scope, None, {})["names-delimiter"]
        text = joined_text(lists, between)
        if not text:
            return self._substitute(node)
        return _Written(affixed(formatted(text, node.options), node.options), True, True)

    def _list(self, variable: str, form: Node, origin: Node) -> Rich:
        node, label, names = form.first("name"), form.first("label"), self._item.names[variable]
        node = node or origin.first("name")
        options = name_options(self._style, self._scope, node, self._name_options)
        if options["form"] == "count":
            return rich(f"{len(names):04}" if self._sorting else str(len(names)))
        mark = form.first("et-al") or origin.first("et-al")
        et_al = finished_part(rich(self._style.term(mark.get("term", "et-al") if mark else "et-al")), {})
        et_al = formatted(et_al, mark.options) if mark else et_al
        cut = variable == "author" and self._item.names_cut
        text = written_names(names, options, et_al, cut=cut)
        text = finished_part(text, node.options) if node else text
        if self._item.is_edited and variable == "author":
            label, variable = label or _EDITORS_LABEL, "editor"
        if label is None:
            return text
        plural = label.get("plural") == "always" or (label.get("plural") != "never" and len(names) > 1)
        word = finished_part(rich(self._style.term(variable, label.get("form", "long"), plural=plural)), label.options)
        is_first = node in form.children and form.children.index(label) < form.children.index(node or label)
        return joined_text([word, text] if is_first else [text, word])

    def _substitute(self, node: Node) -> _Written:
        substitute = node.first("substitute")
        for child in substitute.children if substitute else ():
            before, self._used = self._used, set[str]()
            origin, self._origin = self._origin, node
            written = self._element(child, "")
            self._origin = origin
            used, self._used = self._used, before | self._used
            if written.text:
                self._substituted |= used
                return written._replace(asked=True, got=True)
        return _Written((), True)


def _is_numeric(text: str) -> bool:
    return bool(text) and len(text) < 200 and all(_NUMERIC.fullmatch(part) for part in _SEPARATORS.split(text))


def _is_plural(name: str, value: str, node: Node) -> bool:
    how = node.get("plural", "contextual")
    if how != "contextual":
        return how == "always"
    if name.startswith("number-of-"):
        return value != "1"
    parts = [part for part in _SEPARATORS.split(value) if part]
    return (
        len(parts) > 1
        and not _DATE.fullmatch(value)
        and all(any(map(str.isdigit, part)) or part.isalpha() for part in parts)
    )
