"""Bibliographies in the styles of journals, as text, Markdown and HTML, and their order."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.export.citation_style import (
    MAX_STYLE_BYTES,
    CitationStyle,
    Node,
    parent_style,
    read_style,
    shipped_style,
    style_tree,
)
from deepcritical_mcp.export.reference import Reference, parts_of_date, references
from deepcritical_mcp.export.rich_text import Rich, appended, as_html, as_markdown, plain, rich
from deepcritical_mcp.export.style_items import StyleDate, StyleItem, style_item, with_particle
from deepcritical_mcp.export.style_rendering import EntryWriter
from deepcritical_mcp.export.style_values import sortable_date, written_date_of
from deepcritical_mcp.models import NoticeKind, Publication, status_label, vancouver
from deepcritical_mcp.text import data_lines, normalized

_MANY = "100000000"


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
    options = {"et-al-min": _MANY, "form": "long"} if citation.get("disambiguate-add-names") == "true" else {}
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
    names = (
        one.literal or f"{with_particle(one.particle, one.family)}, {one.given}" for one in item.names.get(name, ())
    )
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
_MARKED: Mapping[str, tuple[NoticeKind, ...]] = {
    "retracted": ("retraction", "partial_retraction"),
    "concern": ("concern",),
}
"""The statuses that every style shows, and the notices that each is shown with."""
_WHOLE_DATE = Node("date", {"form": "text"})
_STYLE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,100}")
_LIST_NUMBER = re.compile(r"[0-9]+\.")
_HEAD, _TAIL = Path(__file__).with_name("bibliography.html").read_text("utf-8").split("@ENTRIES@\n")


@dataclass(frozen=True)
class Bibliographies:
    """A bibliography in pieces, one entry each, and what the user must know about it, a sentence each."""

    pieces: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The whole of it."""
        return "".join(self.pieces)


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
        raise InvalidInputError(
            "The style's macros call themselves or are nested too deeply. Choose another style."
        ) from None


def _bibliography(cited: Mapping[str, Reference], style: CitationStyle, output: str) -> Bibliographies:
    items, suffixes = map(style_item, cited.values()), dict[str, str]()
    if style.compares_entries:
        items = in_style_order([*items], style)
        suffixes = year_suffixes(items, style)
    unformed, entries = list[str](), list[str]()
    for number, item in enumerate(items, start=1):
        writer = partial(EntryWriter, style, number=number, year_suffix=suffixes.get(item.key, ""))
        label, body = writer(item).entry()
        if item.is_without_authors and item.names["editor"][0].family not in plain(body):
            label, body = writer(item.with_editors_first()).entry()
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
        written = written_date_of(StyleDate(day), _WHOLE_DATE, style)
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
    return read_style(_tree(found) if found else tree)


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
