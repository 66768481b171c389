"""Dates as a citation style writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from deepcritical_mcp.export.citation_style import CitationStyle, Node
from deepcritical_mcp.export.rich_text import Rich, appended, joined_text, marked, recased, rich, without_stops
from deepcritical_mcp.export.style_items import StyleDate

_PARTS = ("year", "month", "day")


class _DatePart(NamedTuple):
    name: str
    options: Mapping[str, str]


def written_date_of(date: StyleDate, node: Node, style: CitationStyle, suffix: str = "") -> Rich:
    """A date or a range of dates by a `cs:date` element; `suffix` follows the year."""
    parts, delimiter = _parts(node, style)
    writer = _DateWriter(style, f"{suffix}–" if date.is_open else suffix)
    if not date.end:
        return joined_text((writer.part(part, date.begin, date.season) for part in parts), delimiter)
    known = min(len(date.begin), len(date.end))
    parts = [part for part in parts if _PARTS.index(part.name) < known]
    differs = next((place for place in range(known) if date.begin[place] != date.end[place]), known)
    apart = [place for place, part in enumerate(parts) if _PARTS.index(part.name) >= differs]
    if not apart:
        return joined_text((writer.part(part, date.begin) for part in parts), delimiter)
    before, among, after = parts[: apart[0]], parts[apart[0] : apart[-1] + 1], parts[apart[-1] + 1 :]
    first = joined_text((writer.part(part, date.begin, bare=part is among[-1]) for part in among), delimiter)
    last = joined_text((writer.part(part, date.end) for part in among), delimiter)
    dash = among[0].options.get("range-delimiter", "–")
    middle = appended(appended(first, rich(dash)), last) if first and last else first or last
    start = joined_text((writer.part(part, date.begin) for part in before), delimiter)
    return joined_text(
        [start, middle, joined_text((writer.part(part, date.begin) for part in after), delimiter)], delimiter
    )


def sortable_date(date: StyleDate) -> str:
    """Digits that sort like the date."""
    return "".join(f"{number + 10_000 if place == 0 else number:02}" for place, number in enumerate(date.begin))


def _parts(node: Node, style: CitationStyle) -> tuple[list[_DatePart], str]:
    """The parts to write in order, and what stands between them."""
    own = {part.get("name"): part.options for part in node.children if part.tag == "date-part"}
    if not node.get("form"):
        return [_DatePart(name, options) for name, options in own.items() if name in _PARTS], node.get("delimiter")
    localized = style.dates.get(node.get("form"))
    if localized is None:
        return [_DatePart("year", {})], ""
    wanted = (node.get("date-parts") or "year-month-day").split("-")
    parts = [
        _DatePart(part.get("name"), {**part.options, **own.get(part.get("name"), {})})
        for part in localized.children
        if part.get("name") in wanted and part.get("name") in _PARTS
    ]
    return parts, node.get("delimiter") or localized.get("delimiter")


class _DateWriter(NamedTuple):
    style: CitationStyle
    suffix: str

    def part(self, part: _DatePart, numbers: tuple[int, ...], season: str = "", *, bare: bool = False) -> Rich:
        """One part; `bare` without what follows it, as before the dash of a range."""
        place = _PARTS.index(part.name)
        if place < len(numbers):
            text = self._written(part, numbers[place])
        elif part.name == "month" and season:
            number = StyleDate((), season=season).season_number
            text = self.style.term(f"season-{number:02}") if number else season
        else:
            return ()
        return finished_part(rich(text), part.options, bare=bare)

    def _written(self, part: _DatePart, number: int) -> str:
        form = part.options.get("form", "long")
        if part.name == "month" and form in ("long", "short"):
            return self.style.term(f"month-{number:02}", form)
        if part.name == "year":
            return (str(number)[-2:] if form == "short" else str(number)) + self.suffix
        if form == "ordinal":
            return ordinal(number, self.style)
        return f"{number:02}" if form == "numeric-leading-zeros" else str(number)


def finished_part(text: Rich, options: Mapping[str, str], *, bare: bool = False) -> Rich:
    """`text` with the periods, case, formatting and affixes that `options` ask for."""
    if not text:
        return ()
    if options.get("strip-periods") == "true":
        text = without_stops(text)
    if case := options.get("text-case"):
        text = recased(text, case)
    text = formatted(text, options)
    return text if bare else affixed(text, options)


def formatted(text: Rich, options: Mapping[str, str]) -> Rich:
    """`text` with the font that `options` ask for."""
    for option, value in options.items():
        if option in ("font-style", "font-weight", "font-variant", "text-decoration", "vertical-align"):
            mark = "italic" if value == "oblique" else value
            if mark in ("italic", "bold", "small-caps", "underline", "sup", "sub"):
                text = marked(text, mark)
    return text


def affixed(text: Rich, options: Mapping[str, str]) -> Rich:
    """`text` with the prefix and suffix of `options`."""
    if not text or not ("prefix" in options or "suffix" in options):
        return text
    return joined_text([rich(options.get("prefix", "")), text, rich(options.get("suffix", ""))])


def ordinal(number: int, style: CitationStyle) -> str:
    """ "2nd"."""
    ending = (
        (style.term(f"ordinal-{number % 100:02}") if number % 100 > 9 else "")
        or style.term(f"ordinal-{number % 10:02}")
        or style.term("ordinal")
    )
    return f"{number}{ending}"
