"""What a citation style gets of a publication, and its names, dates and ranges of pages as the style writes them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple, cast

from deepcritical_mcp.export.citation_style import CitationStyle, Node
from deepcritical_mcp.export.reference import ET_AL, SEASONS, Reference
from deepcritical_mcp.export.reference_managers import csl_item
from deepcritical_mcp.export.rich_text import KEEP, Rich, joined_text, marked, read_title, recased, rich, without_stops
from deepcritical_mcp.models import status_label

_PARTS = ("year", "month", "day")
_FONTS = ("font-style", "font-weight", "font-variant", "text-decoration", "vertical-align")
_DatePart = tuple[str, Mapping[str, str]]
"""A part's name and its options."""


def written_date_of(date: StyleDate, node: Node, style: CitationStyle, suffix: str = "") -> Rich:
    """A date or a range of dates by a `cs:date` element; `suffix` follows the year."""
    parts, delimiter = _date_parts(node, style)

    def written(some: Sequence[_DatePart], numbers: tuple[int, ...], *, bare: bool = False) -> Rich:
        """These parts of a date; `bare` without what follows the last one, as before the dash of a range."""
        texts = (rich(_date_text(name, options, numbers, date, style, suffix)) for name, options in some)
        pairs = zip(texts, some, strict=True)
        return joined_text((finished(text, one[1], bare=bare and one is some[-1]) for text, one in pairs), delimiter)

    known = min(len(date.begin), len(date.end))
    differs = next((place for place in range(known) if date.begin[place] != date.end[place]), known)
    parts = [part for part in parts if not date.end or _PARTS.index(part[0]) < known]
    apart = [place for place, part in enumerate(parts) if date.end and _PARTS.index(part[0]) >= differs]
    if not apart:
        return written(parts, date.begin)
    before, among, after = parts[: apart[0]], parts[apart[0] : apart[-1] + 1], parts[apart[-1] + 1 :]
    both = [written(among, date.begin, bare=True), written(among, date.end)]
    middle = joined_text(both, among[0][1].get("range-delimiter", "–"))
    return joined_text([written(before, date.begin), middle, written(after, date.begin)], delimiter)


def sortable_date(date: StyleDate) -> str:
    """Digits that sort like the date."""
    return "".join(f"{number + 10_000 if place == 0 else number:02}" for place, number in enumerate(date.begin))


def _date_parts(node: Node, style: CitationStyle) -> tuple[Sequence[_DatePart], str]:
    """The parts to write in order, and what stands between them."""
    own = {part.get("name"): part.options for part in node.children if part.tag == "date-part"}
    if not node.get("form"):
        return [(name, options) for name, options in own.items() if name in _PARTS], node.get("delimiter")
    localized = style.dates.get(node.get("form"))
    if localized is None:
        return [("year", {})], ""
    wanted = (node.get("date-parts") or "year-month-day").split("-")
    parts = [
        (part.get("name"), {**part.options, **own.get(part.get("name"), {})})
        for part in localized.children
        if part.get("name") in wanted and part.get("name") in _PARTS
    ]
    return parts, node.get("delimiter") or localized.get("delimiter")


def _date_text(
    name: str, options: Mapping[str, str], numbers: tuple[int, ...], date: StyleDate, style: CitationStyle, suffix: str
) -> str:
    """One part of a date; a season where it has no month."""
    place, form = _PARTS.index(name), options.get("form", "long")
    if place >= len(numbers):
        season = date.season if name == "month" else ""
        return style.term(f"season-{SEASONS[season.lower()]:02}") if season.lower() in SEASONS else season
    number = numbers[place]
    if name == "month" and form in ("long", "short"):
        return style.term(f"month-{number:02}", form)
    if name == "year":
        return f"{str(number)[-2:] if form == 'short' else number}{suffix}{'–' if date.is_open else ''}"
    if form == "ordinal":
        exact = style.term(f"ordinal-{number:02}") if number > 9 else ""
        return f"{number}{exact or style.term(f'ordinal-{number % 10:02}') or style.term('ordinal')}"
    return f"{number:02}" if form == "numeric-leading-zeros" else str(number)


def finished(text: Rich, options: Mapping[str, str], *, bare: bool = False) -> Rich:
    """`text` as `options` ask for: without full stops, in a case, in a font and, unless `bare`, with affixes."""
    if not text:
        return ()
    if options.get("strip-periods") == "true":
        text = without_stops(text)
    text = recased(text, options.get("text-case", ""))
    for mark in map(options.get, _FONTS):
        text = marked(text, mark) if mark in ("italic", "bold", "small-caps", "underline", "sup", "sub") else text
    return text if bare else joined_text([rich(options.get("prefix", "")), text, rich(options.get("suffix", ""))])


_DEFAULTS = {
    "form": "long",
    "et-al-use-first": "1",
    "demote-non-dropping-particle": "display-and-sort",
    **dict.fromkeys(("delimiter", "sort-separator"), ", "),
    **dict.fromkeys(("delimiter-precedes-last", "delimiter-precedes-et-al"), "contextual"),
    **dict.fromkeys(("initialize", "initialize-with-hyphen"), "true"),
}
_OWN_NAMES = {"delimiter": "name-delimiter", "form": "name-form"}
_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


class NameOptions(dict[str, str]):
    """Options of names; "" for one that is not set."""

    def __missing__(self, name: str) -> str:
        return ""


def name_options(style: CitationStyle, scope: Node, node: Node | None, overriding: Mapping[str, str]) -> NameOptions:
    """What a style says about names: of the `name` element, else of the bibliography, else of the whole style.
    `overriding` comes before all of these."""
    general = {_OWN_NAMES.get(name, name): value for one in (style.root, scope) for name, value in one.options.items()}
    own = {**(node.options if node else {}), **overriding}
    return NameOptions(_DEFAULTS | {"and-word": style.term("and")} | general | own)


def _number(options: NameOptions, name: str) -> int:
    """An option that is a number; 0 if it is not set."""
    value = options[name]
    return int(value) if value.isdecimal() and len(value) < 9 else 0


def written_names(names: Sequence[StyleName], options: NameOptions, et_al: Rich, *, cut: bool) -> Rich:
    """The names with delimiters. `cut`: more names than these are not known, so that "et al." follows in any case."""
    least, first = _number(options, "et-al-min"), max(1, _number(options, "et-al-use-first"))
    is_shortened = bool(least) and len(names) >= least and len(names) > first
    shown = names[:first] if is_shortened else names
    pieces = [_written_name(name, place, options) for place, name in enumerate(shown)]
    delimiter, last = options["delimiter"], pieces[-1]
    before, option = pieces[:-1], "delimiter-precedes-last"
    if is_shortened and options["et-al-use-last"] == "true" and len(names) > first + 1 and not cut:
        last = _written_name(names[-1], len(names) - 1, options)
        return joined_text([*pieces, joined_text([rich("… "), last])], delimiter)
    if is_shortened or cut:
        before, last, option = pieces, et_al, "delimiter-precedes-et-al"
    elif (word := {"text": options["and-word"], "symbol": "&"}.get(options["and"], "")) and before:
        last = joined_text([rich(f"{word} "), last])
    else:
        return joined_text(pieces, delimiter)
    how = options[option]
    is_apart = _is_inverted(options, len(before) - 1) if how == "after-inverted-name" else how == "always"
    is_apart = is_apart or (how == "contextual" and len(before) > 1)
    return joined_text([joined_text(before, delimiter), last], delimiter if is_apart else " ")


def _is_inverted(options: NameOptions, place: int) -> bool:
    how = options["name-as-sort-order"]
    return how == "all" or (how == "first" and place == 0)


def _written_name(name: StyleName, place: int, options: NameOptions) -> Rich:
    if name.literal:
        return rich(name.literal)
    if options["form"] == "short":
        return rich(with_particle(name.particle, name.family))
    given = initialed(name.given, options) if "initialize-with" in options else name.given
    # "Jr." without a full stop where the style's initials have none.
    has_stop = "." in options["initialize-with"] or "initialize-with" not in options
    bare = name.suffix.removesuffix(".")
    suffix = f"{bare}." if has_stop and bare in ("Jr", "Sr") else bare
    if _CJK.search(name.family):
        return rich(f"{name.family}{name.given}")
    if not _is_inverted(options, place):
        family = with_particle(name.particle, name.family)
        return rich(" ".join(filter(None, (given, with_particle(name.dropping, family), suffix))))
    after = (given, name.dropping)
    if options["demote-non-dropping-particle"] == "display-and-sort":
        family, after = name.family, (*after, name.particle)
    else:
        family = with_particle(name.particle, name.family)
    return rich(options["sort-separator"].join(filter(None, (family, " ".join(filter(None, after)), suffix))))


def initialed(given: str, options: NameOptions) -> str:
    """Given names as initials, "J.-P. A."; if the style says `initialize="false"`, only those that are initials."""
    mark, all_names = options["initialize-with"], options["initialize"] == "true"
    keeps_hyphen = options["initialize-with-hyphen"] == "true"
    text = ""
    for word in given.replace(".", ". ").split():
        parts = [part for part in word.split("-") if part]
        is_initial = all(len(part.rstrip(".")) == 1 and part[0].isupper() for part in parts)
        if not (is_initial or (all_names and word[0].isupper())):
            text = f"{text.rstrip()} {word} " if text else f"{word} "
            continue
        # The blank of ". " stands after the last of hyphenated initials only: "J.-P. A.".
        inner = mark.rstrip() if keeps_hyphen else mark
        text += ("-" if keeps_hyphen else "").join(mark.join(_letters(part)) + inner for part in parts)
        text += mark[len(inner) :]
    return " ".join(text.split())


def _letters(part: str) -> str:
    """The initials in a word: of "JA" both."""
    bare = part.rstrip(".")
    return bare if bare.isupper() and len(bare) <= 2 else bare[:1].upper()


_RANGE = re.compile(r"([A-Za-z]{0,9})([0-9]{1,12})\s?[-–]\s?([A-Za-z]{0,9})([0-9]{1,12})")
_BREAK = re.compile(r"([,;&]\s?(?:[a-z]{1,9}\s){0,3})")
_DASH = re.compile(r"(?<=\w)\s?-\s?(?=\w)")


def page_ranges(pages: str, how: str, dash: str) -> str:
    """Pages such as "321-328, 401" with the last page of each range as `how` says: "expanded", "minimal",
    "minimal-two", "chicago", "chicago-15" or "chicago-16"; "" leaves it as it is."""
    return "".join(_one(part, how, dash) if place % 2 == 0 else part for place, part in enumerate(_BREAK.split(pages)))


def _one(pages: str, how: str, dash: str) -> str:
    match = _RANGE.fullmatch(pages)
    if not match:
        return _DASH.sub(dash, pages) if (pages.count("-") == 1 and not any(map(str.isdigit, pages))) else pages
    prefix, first, other, last = match.groups()
    if prefix and not other:
        return f"{prefix}{first}{dash}{last}" if int(last) > int(first) else pages  # e01611-19 is one location
    if other != prefix or not how:
        return f"{prefix}{first}{dash}{other}{last}"
    if len(last) < len(first):
        last = first[: len(first) - len(last)] + last
    return f"{prefix}{first}{dash}{_last(prefix, first, last, how)}"


def _last(prefix: str, first: str, last: str, how: str) -> str:
    """The last page, without the digits that it shares with the first, as far as `how` says. The Chicago Manual (9.63)
    has 3-10, 71-72, 100-104, 101-8, 321-25, 1087-89, 1496-1500."""
    same = next((place for place in range(len(first)) if first[place] != last[place : place + 1]), len(first))
    least = 2 if how == "minimal-two" else 1
    if how.startswith("chicago"):
        least = 1 if int(first) % 100 < 10 else 2
        is_long = how != "chicago-16" and len(first) == 4 and len(first) - same > 2
        if int(first) < 100 or int(first) % 100 == 0 or is_long:
            return prefix + last
    if how == "expanded" or len(first) != len(last):
        return prefix + last
    return last[min(same, len(last) - least) :] if len(last) > least else last


_PARTICLES = re.compile(r"(?:[a-zà-ÿ][\w’'-]{0,12}(?:(?<=[’'])|\s))+(?=\S)")
_YEARS = re.compile("([0-9]{4})[-–]([0-9]{4})?")
_APOSTROPHES = ("'", "’")
_PROPER_NAMES = ("container-title", "container-title-short", "publisher")
SHORT_FORMS = {"title": "title-short", "container-title": "container-title-short"}
"""Variables with a short form, and the variable that has it."""


class StyleName(NamedTuple):
    """A name in its parts; `literal` is a collective author's whole name."""

    family: str = ""
    given: str = ""
    dropping: str = ""
    particle: str = ""
    suffix: str = ""
    literal: str = ""


class StyleDate(NamedTuple):
    """A date, or the first and the last of a range, each of up to three numbers. `season`: its words or its number;
    `is_open`: of a range without an end."""

    begin: tuple[int, ...]
    end: tuple[int, ...] = ()
    season: str = ""
    is_open: bool = False


class StyleItem:
    """A reference as a style sees it, by the variables of styles.

    Attributes:
        names_cut: whether its record names only its first authors.
        is_edited: whether the names under "author" are those of editors.
    """

    is_edited = False

    def __init__(self, reference: Reference) -> None:
        item, years = style_fields(reference), _YEARS.fullmatch(reference.publication.book_years)
        self.key, self.type, self.language = reference.key, str(item["type"]), str(item.get("language", ""))
        self.texts, self.names, self.dates = dict[str, Rich](), dict[str, Sequence[StyleName]](), dict[str, StyleDate]()
        for name, value in item.items():
            if isinstance(value, list):
                self.names[name] = [_name(one) for one in cast("list[dict[str, str]]", value)]
            elif isinstance(value, dict):
                date = cast("dict[str, Any]", value)
                self.dates[name] = StyleDate(*date["date-parts"][:2], season=date.get("season", ""))
            else:
                text, word = read_title(str(value)), str(value).split(" ")[0]
                has_own_case = name in _PROPER_NAMES and word[:1].islower() and not word.islower()  # medRxiv
                self.texts[name] = marked(text, KEEP) if has_own_case else text
        if reference.form == "book" and years:
            end = (int(years[2]),) if years[2] else ()
            self.dates["issued"] = StyleDate((int(years[1]),), end, is_open=not end)
        self.names_cut = ET_AL in reference.publication.authors

    def has(self, variable: str) -> bool:
        """Whether something is known of it."""
        return variable in self.texts or variable in self.names or variable in self.dates

    def put_editors_first(self) -> None:
        """Put the editors in place of authors, for styles that have no place for editors of a whole book."""
        self.names |= {"author": self.names["editor"], "editor": ()}
        self.is_edited = True


def style_fields(reference: Reference) -> dict[str, object]:
    """Our CSL-JSON of a reference, for styles: a journal under the name on its cover and with an abbreviation that has
    full stops; one title of the original one and NLM's translation, which is in brackets."""
    item = csl_item(reference)
    translated, original = str(item["title"]), item.pop("original-title", "")
    mark = f"{status_label('retracted')}: "
    if original:
        bare = translated.removeprefix(mark)
        shown = bare if bare.startswith("[") else f"[{bare}]"
        item["title"] = f"{mark if bare != translated else ''}{original} {shown}"
    # Chicago writes it before the date of publication, as if that were the date of the retraction; the title says it.
    item.pop("status", None)
    if reference.form == "other":
        item["type"] = "document"  # an "article" is a preprint to styles; Zotero knows no documents
    if reference.form == "trial":
        item.pop("version", None)  # the day of the registry's data, which the day of access tells as well
    journal = cover_name(reference.publication.journal)
    if reference.publication.form == "preprint":
        item |= {"publisher": journal or item.get("publisher", "")}
        if "DOI" in item:
            item.pop("number", None)  # a part of the DOI
    elif reference.publication.form == "article" and journal:
        item["container-title"] = journal
        if short := str(item.get("container-title-short", "")):
            item["container-title-short"] = dotted(short, journal)
    return {name: value for name, value in item.items() if value}


def cover_name(journal: str) -> str:
    """NLM's title of a journal without what tells it apart: "Science" for "Science (New York, N.Y.)"."""
    start = journal.rfind(" (")
    if start > 0 and journal.endswith(")") and any(sign in journal[start:] for sign in (",", " : ", " ed.")):
        journal = journal[:start]
    return journal.partition(" : ")[0].strip()


def dotted(abbreviation: str, journal: str) -> str:
    """NLM's abbreviation with the full stops of ISO 4: "Clin. Genet."; words of the whole name have none."""
    whole = {word.strip(",;:()").casefold() for word in journal.split()}
    words = cover_name(abbreviation).split()
    has_own = any(word.endswith(".") for word in words) or any("(" in word for word in words)
    is_word = [word.casefold() in whole or (word.isupper() and len(word) > 2) for word in words]
    return abbreviation if has_own else " ".join(w if ok else f"{w}." for w, ok in zip(words, is_word, strict=True))


def _name(value: Mapping[str, str]) -> StyleName:
    if "literal" in value:
        return StyleName(literal=value["literal"])
    family, words = value.get("family", ""), value.get("given", "").split()
    before = _PARTICLES.match(family)
    particle = before[0].strip() if before else ""
    dropping = [*takewhile(lambda word: word.islower() and word.isalpha(), reversed(words[1:]))][::-1]
    given = " ".join(words[: len(words) - len(dropping)])
    return StyleName(family[len(particle) :].strip(), given, " ".join(dropping), particle, value.get("suffix", ""))


def with_particle(particle: str, family: str) -> str:
    """ "van Berg", "d'Alembert"."""
    return f"{particle}{'' if particle.endswith(_APOSTROPHES) else ' '}{family}" if particle else family
