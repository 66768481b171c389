"""One entry of a bibliography: the elements of a citation style, applied to one publication."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import NamedTuple

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.export.citation_style import CitationStyle, Node
from deepcritical_mcp.export.rich_text import Rich, in_quotes, joined_text, plain, rich, with_quotation_marks
from deepcritical_mcp.export.style_items import SHORT_FORMS, StyleItem
from deepcritical_mcp.export.style_values import (
    finished,
    name_options,
    page_ranges,
    sortable_date,
    written_date_of,
    written_names,
)

_NUMERIC = re.compile(r"[A-Za-z]{0,2}[0-9]{1,20}[A-Za-z]{0,2}")
_LEADING_ZEROS = re.compile(r"(?<![0-9A-Za-z])0+(?=[0-9])")
_RANGES = ("page", "volume", "issue")
"""Variables that may be a range of numbers."""
_SEPARATORS = re.compile(r"\s?[,&–-]\s?")


_MAX_STEPS = 100_000
"""Elements that one entry can take, macros included; Chicago's take some hundreds."""
_EDITORS_LABEL = Node("label", {"form": "short", "prefix": " (", "suffix": ")"})


class _Written(NamedTuple):
    """The output of an element: whether it asked for a variable of the publication, and whether there was one."""

    text: Rich
    asked: bool = False
    got: bool = False


_NOTHING = _Written(())


@dataclass
class EntryWriter:
    """Writes one publication by one layout of a style.

    Attributes:
        scope: "bibliography" or "citation".
        number: the publication's place in the bibliography, from 1.
        year_suffix: "a" of 2020a.
        name_options: override what the style says on names, for sorting and comparing.
        sorting: dates are digits then, and names are written with the family name first.
    """

    style: CitationStyle
    item: StyleItem
    _: KW_ONLY
    scope: str = "bibliography"
    number: int = 0
    year_suffix: str = ""
    name_options: Mapping[str, str] = field(default_factory=dict[str, str])
    sorting: bool = False
    _substituted: set[str] = field(default_factory=set[str], init=False)
    _used: set[str] = field(default_factory=set[str], init=False)
    _origin: Node | None = field(default=None, init=False)
    _steps: int = field(default=0, init=False)

    def entry(self) -> tuple[Rich, Rich]:
        """The number in front, where the style sets it apart, and the rest."""
        layout = self.style.layouts[self.scope].first("layout")
        if layout is None or not layout.children:
            return (), ()
        apart = 1 if "second-field-align" in self.style.layouts[self.scope].options else 0
        label, body = (self._children(nodes, "").text for nodes in (layout.children[:apart], layout.children[apart:]))
        return label, finished(body, layout.options)

    def macro(self, name: str) -> Rich:
        """What a macro gives by itself, for sorting."""
        return self._children(self.style.macros[name].children, "").text

    def _element(self, node: Node, delimiter: str) -> _Written:
        self._steps += 1
        if self._steps > _MAX_STEPS:
            raise InvalidInputError("The style is too complex to be used. Choose another one.")
        match node.tag:
            case "text":
                return self._text(node)
            case "number":
                return self._number_element(node)
            case "label":
                return self._label(node)
            case "date":
                return self._date(node)
            case "names":
                return self._names(node)
            case "group":
                # Nothing if it asks for variables and gets none; a group in it that gives something counts as one.
                inside = self._children(node.children, node.get("delimiter"))
                if not inside.text or (inside.asked and not inside.got):
                    return _Written((), inside.asked)
                return _Written(finished(inside.text, node.options), True, True)
            case "choose":
                branches = (one for one in node.children if one.tag == "else" or self._holds(one))
                chosen = next(branches, None)
                return self._children(chosen.children, delimiter) if chosen else _NOTHING
            case _:
                return _NOTHING

    def _children(self, nodes: Iterable[Node], delimiter: str) -> _Written:
        silent = () if self.item.has("accessed") else self.style.access_terms
        found = (self._element(node, delimiter) for node in nodes if node not in silent)
        if not (written := [one for one in found if one is not _NOTHING]):
            return _NOTHING
        text = joined_text((one.text for one in written), delimiter)
        return _Written(text, any(one.asked for one in written), any(one.got for one in written))

    def _holds(self, branch: Node) -> bool:
        tests, match = (self._is(test, word) for test, word in branch.tests), branch.get("match", "all")
        return all(tests) if match == "all" else any(tests) is (match == "any")

    def _is(self, test: str, word: str) -> bool:
        """Positions, locators and disambiguation are matters of citations in a text."""
        if test == "type":
            return word == self.item.type
        if test == "variable":
            return self.item.has(word) or (word == "citation-number" and bool(self.number))
        return test == "is-numeric" and _is_numeric(plain(self.item.texts.get(word, ())))

    def _text(self, node: Node) -> _Written:
        if macro := node.get("macro"):
            origin, self._origin = self._origin, None
            inside = self._children(self.style.macros[macro].children, "")
            self._origin = origin
            return inside._replace(text=self._finished(inside.text, node))
        if name := node.get("variable"):
            value = self._variable(name, node.get("form"))
            # Whether there is a letter after the year must not decide whether "n.d." is written.
            return _Written(self._finished(value, node), name != "year-suffix", bool(value))
        if name := node.get("term"):
            word = self.style.term(name, node.get("form", "long"), plural=node.get("plural") == "true")
            return _Written(self._finished(rich(word), node))
        return _Written(self._finished(rich(node.get("value")), node))

    def _variable(self, name: str, form: str = "") -> Rich:
        if name == "citation-number":
            return rich(str(self.number or ""))
        if name == "year-suffix":
            return rich(self.year_suffix)
        if name in self._substituted:
            return ()
        self._used.add(name)
        texts = self.item.texts
        if name == "publisher-place" and "publisher" in self._used:
            # A publisher may say where it is: "University of Washington, Seattle" for "Seattle (WA)".
            publisher, place = (plain(texts.get(one, ())) for one in ("publisher", name))
            return () if publisher.endswith(f", {place.partition(' (')[0]}") else texts.get(name, ())
        if form == "short" and (short := texts.get(SHORT_FORMS.get(name, ""))):
            return short
        if name == "page-first":
            return rich(re.split("[-–,]", plain(texts.get("page", ())), maxsplit=1)[0].strip())
        if name in _RANGES:
            how, dash = self.style.root.get("page-range-format"), self.style.term("page-range-delimiter") or "–"
            return rich(page_ranges(plain(texts.get(name, ())), how if name == "page" else "", dash))
        return texts.get(name, ())

    def _finished(self, text: Rich, node: Node) -> Rich:
        if not text:
            return ()
        options, takes_stops = node.options, self.style.takes_stops_into_quotes
        outer, inner = self.style.quotation_marks
        if options.get("quotes") == "true":
            text = in_quotes(text, outer, inner, takes_stops=takes_stops)
        elif "variable" in options:
            text = with_quotation_marks(text, outer, takes_stops=takes_stops)
        if node.get("text-case") == "title" and self.item.language[:2] not in ("", "en"):
            options = {**options, "text-case": ""}
        return finished(text, options)

    def _number_element(self, node: Node) -> _Written:
        value = self._variable(node.get("variable"))
        if _is_numeric(text := plain(value)):
            value = rich(_LEADING_ZEROS.sub("", text).replace("-", "–"))
        return _Written(finished(value, node.options), True, bool(value))

    def _label(self, node: Node) -> _Written:
        name = node.get("variable")
        value = plain(self.item.texts.get(name, ()))
        if not value or name in self._substituted:
            return _NOTHING
        word = self.style.term(name, node.get("form", "long"), plural=_is_plural(value, node))
        return _Written(finished(rich(word), node.options))

    def _date(self, node: Node) -> _Written:
        name = node.get("variable")
        date = self.item.dates.get(name) if name not in self._substituted else None
        if date is None:
            return _Written((), True)
        self._used.add(name)
        if self.sorting:
            shown = node.get("date-parts") if node.get("form") else ""
            digits = sortable_date(date)
            return _Written(rich(digits[:5] if shown == "year" else digits), True, True)
        suffix = "" if self.style.has_own_suffixes or name != "issued" else self.year_suffix
        text = written_date_of(date, node, self.style, suffix)
        return _Written(finished(text, node.options), True, bool(text))

    def _names(self, node: Node) -> _Written:
        """Names of each variable; if there are none, the first substitute that gives something, in the same form."""
        origin = self._origin
        form = node if node.children or origin is None else origin
        variables = [name for name in node.get("variable").split() if name not in self._substituted]
        lists = [self._list(name, form, origin or node) for name in variables if self.item.names.get(name)]
        self._used.update(name for name in variables if self.item.names.get(name))
        between = (
            node.get("delimiter")
            or name_options(self.style, self.style.layouts[self.scope], None, {})["names-delimiter"]
        )
        text = joined_text(lists, between)
        if not text:
            return self._substitute(node)
        return _Written(finished(text, node.options), True, True)

    def _list(self, variable: str, form: Node, origin: Node) -> Rich:
        node, label, names = form.first("name"), form.first("label"), self.item.names[variable]
        node = node or origin.first("name")
        options = name_options(self.style, self.style.layouts[self.scope], node, self.name_options)
        if options["form"] == "count":
            return rich(f"{len(names):04}" if self.sorting else str(len(names)))
        mark = form.first("et-al") or origin.first("et-al")
        et_al = rich(self.style.term(mark.get("term", "et-al") if mark else "et-al"))
        et_al = finished(et_al, mark.options, bare=True) if mark else et_al
        cut = variable == "author" and self.item.names_cut
        text = written_names(names, options, et_al, cut=cut)
        text = finished(text, node.options) if node else text
        if self.item.is_edited and variable == "author":
            label, variable = label or _EDITORS_LABEL, "editor"
        if label is None:
            return text
        plural = label.get("plural") == "always" or (label.get("plural") != "never" and len(names) > 1)
        word = finished(rich(self.style.term(variable, label.get("form", "long"), plural=plural)), label.options)
        tags = [child.tag for child in form.children if child.tag in ("label", "name")]
        is_first = tags == ["label", "name"]
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


def _is_plural(value: str, node: Node) -> bool:
    how = node.get("plural", "contextual")
    if how != "contextual":
        return how == "always"
    parts = [part for part in _SEPARATORS.split(value) if part]
    return len(parts) > 1 and all(any(map(str.isdigit, part)) or part.isalpha() for part in parts)
