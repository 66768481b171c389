"""Bibliographies in the styles of journals, as text, Markdown and HTML."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.export.citation_style import MAX_STYLE_BYTES, CitationStyle, read_style, shipped_style
from deepcritical_mcp.export.reference import Reference, references
from deepcritical_mcp.export.rich_text import Rich, appended, as_html, as_markdown, plain, rich
from deepcritical_mcp.export.style_items import style_item
from deepcritical_mcp.export.style_rendering import EntryWriter
from deepcritical_mcp.export.style_sorting import in_style_order, year_suffixes
from deepcritical_mcp.models import Publication, status_label, vancouver

STYLES: Mapping[str, str] = {
    "vancouver": "nlm-citation-sequence",
    "ama": "american-medical-association",
    "apa": "apa",
    "nature": "nature",
    "ieee": "ieee",
    "chicago": "chicago-author-date",
    "chicago-notes": "chicago-notes-bibliography",
}
"""The shipped styles by the name that users give, and their files of the CSL project."""
_NAME_WORDS: Mapping[str, str] = {
    **{name: name for name in ("vancouver", "ama", "apa", "nature", "ieee", "chicago")},
    **dict.fromkeys(("nlm", "icmje"), "vancouver"),
    "jama": "ama",
}
_IDLE_WORD = re.compile(r"(?:[0-9]{1,2}(?:st|nd|rd|th)?|ed|edition|style|format|the|author|date)")
_NOTES_WORDS = frozenset({"note", "notes", "footnotes", "and", "bibliography"})
OUTPUTS = ("text", "markdown", "html")
_MARKED = ("retracted", "concern")
_STYLE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,100}")
_LIST_NUMBER = re.compile(r"[0-9]+\.")
_HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Bibliography</title>
<style>
body { font: 12pt/1.5 serif; margin: 2em auto; max-width: 45em; padding: 0 1em; }
p { margin: 0 0 0.5em; overflow-wrap: anywhere; }
p.hanging { padding-left: 2em; text-indent: -2em; }
</style>
</head>
<body>
"""


@dataclass(frozen=True)
class Bibliographies:
    """A bibliography, one entry a line or paragraph, and what the user must know about it, a sentence each."""

    text: str
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class _StyledEntry:
    label: Rich
    body: Rich


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
        InvalidInputError: there is no such style or output, or the style's file cannot be used.
    """
    if output not in OUTPUTS:
        raise InvalidInputError(f'There is no output "{output[:50]}". Choose one of: {", ".join(OUTPUTS)}.')
    chosen = _style(style.strip() or "vancouver", styles_folder, allow_paths=allow_paths)
    cited = {one.key: one for one in references(publications)}
    ordered = in_style_order([style_item(one) for one in cited.values()], chosen)
    suffixes, entries, unformed = year_suffixes(ordered, chosen), list[_StyledEntry](), list[str]()
    for number, item in enumerate(ordered, start=1):
        time.sleep(0)  # lets the other threads in, which answer the client
        writer = EntryWriter(chosen, item, number=number, year_suffix=suffixes.get(item.key, ""))
        label, body = writer.entry()
        if not plain(body).strip():
            body = rich(vancouver(cited[item.key].publication))
            unformed.append(cited[item.key].publication.id)
        entries.append(_StyledEntry(label, _with_status(body, cited[item.key])))
    return Bibliographies(_WRITERS[output](entries, chosen), (*_remarks(chosen, unformed),))


def _remarks(style: CitationStyle, unformed: Sequence[str]) -> Iterator[str]:
    if style.remark:
        yield style.remark
    if unformed:
        more = f" and {len(unformed) - 5:,} more" if len(unformed) > 5 else ""
        yield f"The style has no form for these, which are in Vancouver style: {', '.join(unformed[:5])}{more}."


def _with_status(body: Rich, reference: Reference) -> Rich:
    """The entry, with its status at the end if it must be marked and the style does not show it."""
    status = reference.publication.status
    label = status_label(status) if status in _MARKED else ""
    if not label or label.lower() in plain(body).lower():
        return body
    return appended(body, rich(f" [{label}]"))


def _style(name: str, folder: Path | None, *, allow_paths: bool) -> CitationStyle:
    known = name.lower().removesuffix(".csl")
    shipped = STYLES.get(known, known if known in STYLES.values() else "")
    if shipped:
        return shipped_style(shipped)
    path = _style_file(name, folder, allow_paths=allow_paths)
    if path is None and (meant := _meant_style(known)):
        return shipped_style(STYLES[meant])
    if path is None:
        names = ", ".join(STYLES)
        where = f", or put a file {known[:50]}.csl into {folder}" if folder and _STYLE_NAME.fullmatch(name) else ""
        raise InvalidInputError(f'There is no style "{name[:100]}". Choose one of: {names}{where}.')
    return read_style(_content(path))


def _meant_style(name: str) -> str:
    """The style that a name means which has more words, or others: "apa 7th ed.", "jama", "chicago author-date"."""
    words = [word for word in re.findall("[a-z]+|[0-9]+(?:st|nd|rd|th)?", name) if not _IDLE_WORD.fullmatch(word)]
    if (full := "-".join(words)) in STYLES.values():
        return next(own for own, file in STYLES.items() if file == full)
    meant = {_NAME_WORDS.get(word, "") for word in words if word not in _NOTES_WORDS}
    if len(meant) != 1:
        return ""
    (style,) = meant
    if _NOTES_WORDS & {*words}:
        return "chicago-notes" if style == "chicago" else ""
    return style


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


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MAX_STYLE_BYTES + 1)
    except OSError as error:
        raise InvalidInputError(f"The style {path.name[:100]} cannot be read: {error.strerror}.") from None


def _as_text(entries: Sequence[_StyledEntry], style: CitationStyle) -> str:
    return "".join(f"{' '.join(filter(None, (plain(one.label).strip(), plain(one.body))))}\n" for one in entries)


def _as_markdown(entries: Sequence[_StyledEntry], style: CitationStyle) -> str:
    """Numbers such as "1." make a list; all others are text."""
    labels = (plain(one.label).strip() for one in entries)
    fronts = (label if _LIST_NUMBER.fullmatch(label) else as_markdown(rich(label)) for label in labels)
    lines = (" ".join(filter(None, (front, as_markdown(one.body)))) for front, one in zip(fronts, entries, strict=True))
    return "\n".join(f"{line}\n" for line in lines)


def _as_html(entries: Sequence[_StyledEntry], style: CitationStyle) -> str:
    start = '<p class="hanging">' if style.layouts["bibliography"].get("hanging-indent") == "true" else "<p>"
    lines = [f"{start}{' '.join(filter(None, (as_html(one.label), as_html(one.body))))}</p>\n" for one in entries]
    return f"{_HEAD}{''.join(lines)}</body>\n</html>\n"


_WRITERS = {"text": _as_text, "markdown": _as_markdown, "html": _as_html}
