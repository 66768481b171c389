"""Bibliographies in the styles of journals, as text, Markdown and HTML: their order, and each entry."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.export.citation_style import (
    MAX_STYLE_BYTES,
    CitationStyle,
    Node,
    parent_style,
    shipped_style,
    style_tree,
)
from deepcritical_mcp.export.reference import Reference, parts_of_date, references
from deepcritical_mcp.export.rich_text import (
    Rich,
    appended,
    as_html,
    as_markdown,
    in_quotes,
    joined_text,
    plain,
    rich,
    with_quotation_marks,
)
from deepcritical_mcp.export.style_values import (
    SHORT_FORMS,
    StyleDate,
    StyleItem,
    finished,
    name_options,
    page_ranges,
    sortable_date,
    with_particle,
    written_date_of,
    written_names,
)
from deepcritical_mcp.models import NoticeKind, Publication, status_label, vancouver
from deepcritical_mcp.text import data_lines, normalized


def in_style_order(items: Sequence[StyleItem], style: CitationStyle) -> list[StyleItem]:
    """The publications as the style sorts them, those without a value last; as they are if it does not."""
    sort, ordered = style.layouts["bibliography"].first("sort"), list(items)
    for key in reversed([one for one in sort.children if one.tag == "key"] if sort else []):
        values = {item.key: _value(key, item, style) for item in ordered}
        having = [item for item in ordered if values[item.key]]
        having.sort(key=lambda item: values[item.key], reverse=key.get("sort") == "descending")
        ordered = [*having, *(item for item in ordered if not values[item.key])]
    return ordered


def year_suffixes(ordered: Sequence[StyleItem], style: CitationStyle) -> dict[str, str]:
    """By key, the letter of each publication that would be cited like another one: same names, same year."""
    if not style.has_year_suffixes:
        return {}
    citation = style.layouts["citation"]
    options = {"et-al-min": "1000000", "form": "long"} if citation.get("disambiguate-add-names") == "true" else {}
    alike = defaultdict[str, list[str]](list)
    for item in ordered:
        _, cited = EntryWriter(style, item, scope="citation", name_options=options).entry()
        alike[plain(cited)].append(item.key)
    groups = [keys for cited, keys in alike.items() if cited and len(keys) > 1]
    return {key: _letters(place) for keys in groups for place, key in enumerate(keys)}


def _letters(place: int) -> str:
    """a to z, then aa."""
    letter = chr(ord("a") + place % 26)
    return _letters(place // 26 - 1) + letter if place >= 26 else letter


def _value(key: Node, item: StyleItem, style: CitationStyle) -> str:
    if macro := key.get("macro"):
        cuts = {"et-al-min": key.get("names-min"), "et-al-use-first": key.get("names-use-first")}
        options = {"name-as-sort-order": "all"} | {name: value for name, value in cuts.items() if value}
        return _collated(plain(EntryWriter(style, item, name_options=options, sorting=True).macro(macro)))
    name = key.get("variable")
    if name in item.dates:
        return sortable_date(item.dates[name])
    people = item.names.get(name, ())
    names = (one.literal or f"{with_particle(one.particle, one.family)}, {one.given}" for one in people)
    return _collated("; ".join(names) or plain(item.texts.get(name, ())))


def _collated(text: str) -> str:
    """`text` for comparing: without case, accents and punctuation."""
    folded = normalized("NFKD", text.replace("ø", "o").replace("ł", "l").replace("Ø", "O")).casefold()
    kept = "".join(letter for letter in folded if letter.isalnum() or letter == " ")
    return " ".join(kept.split())


_ROWS = [row.split(" | ") for row in data_lines(__file__, "style_names.txt")]
STYLES = {name: file for name, file, _ in _ROWS}
"""The shipped styles by the name that users give, and their files of the CSL project."""
_OTHER_NAMES = {other: name for name, _, others in _ROWS for other in (name, *others.split(", "))}
_IDLE_WORDS = re.compile(
    r"(?<![0-9])[0-9]{1,2}(?:st|nd|rd|th)?\b|\b(?:ed|edition|style|format|the|and|author|date)\b|[^a-z0-9]+"
)
_MARKED: dict[str, Sequence[NoticeKind]] = {"retracted": ("retraction", "partial_retraction"), "concern": ("concern",)}
"""The statuses that every style shows, and the notices that each is shown with."""
_STYLE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,100}")
_LIST_NUMBER = re.compile(r"[0-9]+\.")
_HEAD, _TAIL = Path(__file__).with_name("bibliography.html").read_text("utf-8").split("@ENTRIES@\n")


class Bibliographies(NamedTuple):
    """A bibliography in pieces, one entry each, and what the user must know about it, a sentence each."""

    pieces: tuple[str, ...]
    remarks: tuple[str, ...] = ()


def bibliography(
    publications: Sequence[Publication],
    style: str = "vancouver",
    output: str = "text",
    *,
    styles_folder: Path | None = None,
    allow_paths: bool = False,
) -> Bibliographies:
    """The publications in a style: one of `STYLES`, the name of a file in `styles_folder`, or a path if allowed.

    Numbered styles keep the order of `publications`; author-date styles sort. A retracted publication, and one with an
    expression of concern, is marked in every style. A publication for which a style has no form is listed in our
    Vancouver form, with a remark.

    Raises:
        InvalidInputError: there is no such style, or the style's file cannot be used.
    """
    chosen = _style(style.strip() or "vancouver", styles_folder, allow_paths=allow_paths)
    try:
        return _bibliography({one.key: one for one in references(publications)}, chosen, output)
    except RecursionError:
        told = "The style's macros call themselves or are nested too deeply. Choose another style."
        raise InvalidInputError(told) from None


def _bibliography(cited: Mapping[str, Reference], style: CitationStyle, output: str) -> Bibliographies:
    items, suffixes = map(StyleItem, cited.values()), dict[str, str]()
    if style.has_year_suffixes or style.layouts["bibliography"].first("sort"):
        items = in_style_order([*items], style)
        suffixes = year_suffixes(items, style)
    unformed, entries = list[str](), list[str]()
    for number, item in enumerate(items, start=1):
        writer = partial(EntryWriter, style, number=number, year_suffix=suffixes.get(item.key, ""))
        label, body = writer(item).entry()
        editors = item.names.get("editor") if not item.names.get("author") else ()
        if editors and editors[0].family not in plain(body):
            item.put_editors_first()
            label, body = writer(item).entry()
        if not plain(body).strip():
            body = rich(vancouver(cited[item.key].publication))
            unformed.append(cited[item.key].publication.id)
        entry = _written(label, _with_status(body, cited[item.key], style), style, output)
        entries.append(f"\n{entry}" if entries and output == "markdown" else entry)
    more = f" and {len(unformed) - 5:,} more" if len(unformed) > 5 else ""
    listed = f"The style has no form for these, which are in Vancouver style: {', '.join(unformed[:5])}{more}."
    remarks = tuple(filter(None, (style.remark, listed if unformed else "")))
    return Bibliographies((_HEAD, *entries, _TAIL) if output == "html" else (*entries,), remarks)


def _with_status(body: Rich, reference: Reference, style: CitationStyle) -> Rich:
    """The entry, followed by what styles have no place for: the day of a chapter's last update, the mark of a
    retraction or a concern unless the style shows it, and where the notice was published."""
    status, day = reference.publication.status, parts_of_date(reference.publication.revised_date)
    if reference.form == "chapter" and day:
        written = written_date_of(StyleDate(day), Node("date", {"form": "text"}), style)
        body = appended(body, rich(f" [Updated {plain(written)}]"))
    if status not in _MARKED:
        return body
    label, notices = status_label(status), reference.notices(_MARKED[status])
    is_said = any(label.lower() in text.lower() for text in (plain(body), *notices))
    marks = notices if is_said else [label, *notices]
    return appended(body, rich(f" [{'. '.join(marks)}]")) if marks else body


def _written(label: Rich, body: Rich, style: CitationStyle, output: str) -> str:
    if output == "html":
        hanging = ' class="hanging"' if style.layouts["bibliography"].get("hanging-indent") == "true" else ""
        return f"<p{hanging}>{' '.join(filter(None, (as_html(label), as_html(body))))}</p>\n"
    number, text = plain(label).strip(), plain(body)
    if output == "markdown":
        number = number if _LIST_NUMBER.fullmatch(number) else as_markdown(rich(number))  # "1." makes a list
        text = as_markdown(body)
    return f"{' '.join(filter(None, (number, text)))}\n"


def _style(name: str, folder: Path | None, *, allow_paths: bool) -> CitationStyle:
    known = name.lower().removesuffix(".csl")
    shipped = STYLES.get(known, known if known in STYLES.values() else "")
    if shipped:
        return shipped_style(shipped)
    path = _style_file(name, folder, allow_paths=allow_paths)
    if path is None and (meant := _OTHER_NAMES.get(" ".join(_IDLE_WORDS.sub(" ", known).split()), "")):
        return shipped_style(STYLES[meant])
    if path is None:
        names = ", ".join(STYLES)
        where = f", or put a file {known[:50]}.csl into {folder}" if folder and _STYLE_NAME.fullmatch(name) else ""
        raise InvalidInputError(f'There is no style "{name[:100]}". Choose one of: {names}{where}.')
    tree = _tree(path)
    if (parent := parent_style(tree)) in STYLES.values():
        return shipped_style(parent)
    found = _style_file(parent, path.parent, allow_paths=False) if parent else None
    return CitationStyle(_tree(found) if found else tree)


def _style_file(name: str, folder: Path | None, *, allow_paths: bool) -> Path | None:
    if folder and _STYLE_NAME.fullmatch(name):
        path = folder / f"{name.removesuffix('.csl')}.csl"
        if path.is_file():
            return path
    if not name.endswith(".csl") or (_STYLE_NAME.fullmatch(name) and not allow_paths):
        return None
    if not allow_paths:
        raise InvalidInputError("A style cannot be given as a path here. Give the name of a style.")
    path = Path(name).expanduser()
    return path if path.is_file() else None


def _tree(path: Path) -> Node:
    try:
        with path.open("rb") as file:
            return style_tree(file.read(MAX_STYLE_BYTES + 1))
    except OSError as error:
        raise InvalidInputError(f"The style {path.name[:100]} cannot be read: {error.strerror}.") from None


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
        if node.tag == "group":
            # Nothing if it asks for variables and gets none; a group in it that gives something counts as one.
            inside = self._children(node.children, node.get("delimiter"))
            if not inside.text or (inside.asked and not inside.got):
                return _Written((), inside.asked)
            return _Written(finished(inside.text, node.options), True, True)
        if node.tag == "choose":
            chosen = next((one for one in node.children if one.tag == "else" or self._holds(one)), None)
            return self._children(chosen.children, delimiter) if chosen else _NOTHING
        writers = {"text": self._text, "number": self._number, "label": self._label, "date": self._date}
        write = self._names if node.tag == "names" else writers.get(node.tag)
        return write(node) if write else _NOTHING

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

    def _number(self, node: Node) -> _Written:
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
        general = name_options(self.style, self.style.layouts[self.scope], None, {})
        text = joined_text(lists, node.get("delimiter") or general["names-delimiter"])
        return _Written(finished(text, node.options), True, True) if text else self._substitute(node)

    def _list(self, variable: str, form: Node, origin: Node) -> Rich:
        node, label, names = form.first("name"), form.first("label"), self.item.names[variable]
        node = node or origin.first("name")
        options = name_options(self.style, self.style.layouts[self.scope], node, self.name_options)
        if options["form"] == "count":
            return rich(f"{len(names):04}" if self.sorting else str(len(names)))
        mark = form.first("et-al") or origin.first("et-al")
        et_al = rich(self.style.term(mark.get("term", "et-al") if mark else "et-al"))
        et_al = finished(et_al, mark.options, bare=True) if mark else et_al
        text = written_names(names, options, et_al, cut=variable == "author" and self.item.names_cut)
        text = finished(text, node.options) if node else text
        if self.item.is_edited and variable == "author":
            label, variable = label or _EDITORS_LABEL, "editor"
        if label is None:
            return text
        plural = label.get("plural") == "always" or (label.get("plural") != "never" and len(names) > 1)
        word = finished(rich(self.style.term(variable, label.get("form", "long"), plural=plural)), label.options)
        tags = [child.tag for child in form.children if child.tag in ("label", "name")]
        return joined_text([word, text] if tags == ["label", "name"] else [text, word])

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
