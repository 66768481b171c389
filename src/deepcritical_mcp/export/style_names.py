"""Names as a citation style writes them: order, initials, "and", "et al."."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from deepcritical_mcp.export.citation_style import CitationStyle, Node
from deepcritical_mcp.export.rich_text import Rich, joined_text, rich
from deepcritical_mcp.export.style_items import StyleName, with_particle

_DEFAULTS: Mapping[str, str] = {
    "delimiter": ", ",
    "form": "long",
    "sort-separator": ", ",
    "delimiter-precedes-last": "contextual",
    "delimiter-precedes-et-al": "contextual",
    "et-al-use-first": "1",
    "initialize": "true",
    "initialize-with-hyphen": "true",
    "demote-non-dropping-particle": "display-and-sort",
}
_OWN_NAMES = {"delimiter": "name-delimiter", "form": "name-form"}
_SHORTENED = ("Jr", "Sr")
_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


class NameOptions:
    """What a style says about names: of the `name` element, else of the bibliography, else of the whole style.
    `overriding` comes before all of these."""

    def __init__(self, style: CitationStyle, scope: Node, node: Node | None, overriding: Mapping[str, str]) -> None:
        self.style = style
        self._values: dict[str, str] = dict(_DEFAULTS)
        for element in (style.root, scope):
            self._values |= {_OWN_NAMES.get(name, name): value for name, value in element.options.items()}
        self._values |= {**(node.options if node else {}), **overriding}

    def get(self, option: str) -> str:
        """An option of `cs:name`, "" if it is not set."""
        return self._values.get(option, "")

    def has(self, option: str) -> bool:
        """Whether it is set, be it to ""."""
        return option in self._values

    def number(self, option: str) -> int:
        """An option that is a number; 0 if it is not set."""
        value = self.get(option)
        return int(value) if value.isdecimal() and len(value) < 9 else 0


def written_names(names: Sequence[StyleName], options: NameOptions, et_al: Rich, *, cut: bool) -> Rich:
    """The names with delimiters. `cut`: more names than these are not known, so that "et al." follows in any case."""
    least, first = options.number("et-al-min"), max(1, options.number("et-al-use-first"))
    is_shortened = bool(least) and len(names) >= least and len(names) > first
    shown = names[:first] if is_shortened else names
    pieces = [_written(name, place, options) for place, name in enumerate(shown)]
    delimiter = options.get("delimiter")
    if is_shortened and options.get("et-al-use-last") == "true" and len(names) > first + 1 and not cut:
        last = _written(names[-1], len(names) - 1, options)
        return joined_text([joined_text(pieces, delimiter), joined_text([rich("… "), last])], delimiter)
    if is_shortened or cut:
        between = delimiter if _precedes(options, "delimiter-precedes-et-al", len(pieces), 2) else " "
        return joined_text([joined_text(pieces, delimiter), et_al], between)
    return _with_and(pieces, options, delimiter)


def _with_and(pieces: list[Rich], options: NameOptions, delimiter: str) -> Rich:
    word = {"text": options.style.term("and"), "symbol": "&"}.get(options.get("and"), "")
    if not word or len(pieces) < 2:
        return joined_text(pieces, delimiter)
    before = delimiter if _precedes(options, "delimiter-precedes-last", len(pieces) - 1, 2) else " "
    return joined_text([joined_text(pieces[:-1], delimiter), joined_text([rich(f"{word} "), pieces[-1]])], before)


def _precedes(options: NameOptions, option: str, before: int, enough: int) -> bool:
    """Whether the delimiter stands there after `before` names."""
    how = options.get(option)
    if how == "after-inverted-name":
        return _is_inverted(options, before - 1)
    return how == "always" or (how == "contextual" and before >= enough)


def _is_inverted(options: NameOptions, place: int) -> bool:
    how = options.get("name-as-sort-order")
    return how == "all" or (how == "first" and place == 0)


def _written(name: StyleName, place: int, options: NameOptions) -> Rich:
    if name.literal:
        return rich(name.literal)
    if options.get("form") == "short":
        return rich(with_particle(name.particle, name.family))
    given = initialed(name.given, options) if options.has("initialize-with") else name.given
    suffix = _suffix(name.suffix, options)
    if _CJK.search(name.family):
        return rich(f"{name.family}{name.given}")
    if not _is_inverted(options, place):
        family = with_particle(name.particle, name.family)
        return rich(" ".join(filter(None, (given, with_particle(name.dropping, family), suffix))))
    after = (given, name.dropping)
    if options.get("demote-non-dropping-particle") == "display-and-sort":
        family, after = name.family, (*after, name.particle)
    else:
        family = with_particle(name.particle, name.family)
    return rich(options.get("sort-separator").join(filter(None, (family, " ".join(filter(None, after)), suffix))))


def _suffix(suffix: str, options: NameOptions) -> str:
    """ "Jr." as the style's initials: without a full stop where these have none."""
    bare = suffix.removesuffix(".")
    has_stop = "." in options.get("initialize-with") or not options.has("initialize-with")
    return f"{bare}." if has_stop and bare in _SHORTENED else bare


def initialed(given: str, options: NameOptions) -> str:
    """Given names as initials, "J.-P. A."; if the style says `initialize="false"`, only those that are initials."""
    mark, all_names = options.get("initialize-with"), options.get("initialize") == "true"
    keeps_hyphen = options.get("initialize-with-hyphen") == "true"
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
