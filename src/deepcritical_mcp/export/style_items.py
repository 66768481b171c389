"""The variables of a publication that a citation style gets."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any, cast

from deepcritical_mcp.export.reference import ET_AL, Reference
from deepcritical_mcp.export.reference_managers import csl_item
from deepcritical_mcp.export.rich_text import KEEP, Rich, marked, read_title
from deepcritical_mcp.models import status_label

_PARTICLES = re.compile(r"(?:[a-zà-ÿ][\w’'-]{0,12}(?:(?<=[’'])|\s))+(?=\S)")
_YEARS = re.compile("([0-9]{4})[-–]([0-9]{4})?")
_APOSTROPHES = ("'", "’")
_PROPER_NAMES = ("container-title", "container-title-short", "publisher")
SHORT_FORMS = {"title": "title-short", "container-title": "container-title-short"}
"""Variables with a short form, and the variable that has it."""


@dataclass(frozen=True)
class StyleName:
    """A name in its parts; `literal` is a collective author's whole name."""

    family: str = ""
    given: str = ""
    dropping: str = ""
    particle: str = ""
    suffix: str = ""
    literal: str = ""


@dataclass(frozen=True)
class StyleDate:
    """A date, or the first and the last of a range, each of up to three numbers. `season`: its words or its number;
    `is_open`: of a range without an end."""

    begin: tuple[int, ...]
    end: tuple[int, ...] = ()
    season: str = ""
    is_open: bool = False


@dataclass(frozen=True)
class StyleItem:
    """A publication as a style sees it.

    Attributes:
        names_cut: whether its record names only its first authors.
        is_edited: whether the names under "author" are those of editors.
    """

    key: str
    type: str
    language: str
    texts: Mapping[str, Rich]
    names: Mapping[str, Sequence[StyleName]]
    dates: Mapping[str, StyleDate]
    names_cut: bool = False
    is_edited: bool = False

    def has(self, variable: str) -> bool:
        """Whether something is known of it."""
        return variable in self.texts or variable in self.names or variable in self.dates

    @property
    def is_without_authors(self) -> bool:
        """Whether it has editors only."""
        return bool(self.names.get("editor")) and not self.names.get("author")

    def with_editors_first(self) -> StyleItem:
        """With the editors in place of authors, for styles that have no place for editors of a whole book."""
        return replace(self, names={**self.names, "author": self.names["editor"], "editor": ()}, is_edited=True)


def style_item(reference: Reference) -> StyleItem:
    """The variables that styles get of a reference."""
    texts, names, dates = dict[str, Rich](), dict[str, Sequence[StyleName]](), dict[str, StyleDate]()
    item = style_fields(reference)
    for name, value in item.items():
        if isinstance(value, list):
            names[name] = [_name(one) for one in cast("list[dict[str, str]]", value)]
        elif isinstance(value, dict):
            date = cast("dict[str, Any]", value)
            dates[name] = StyleDate(*date["date-parts"][:2], season=date.get("season", ""))
        else:
            text, word = read_title(str(value)), str(value).split(" ")[0]
            has_own_case = name in _PROPER_NAMES and word[:1].islower() and not word.islower()  # medRxiv
            texts[name] = marked(text, KEEP) if has_own_case else text
    if reference.form == "book" and (years := _YEARS.fullmatch(reference.publication.book_years)):
        end = (int(years[2]),) if years[2] else ()
        dates["issued"] = StyleDate((int(years[1]),), end, is_open=not end)
    cut = ET_AL in reference.publication.authors
    kind, language = str(item["type"]), str(item.get("language", ""))
    return StyleItem(reference.key, kind, language, texts, names, dates, names_cut=cut)


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
    suffix = value.get("suffix", "")
    return StyleName(family[len(particle) :].strip(), given, " ".join(dropping), particle, suffix)


def with_particle(particle: str, family: str) -> str:
    """ "van Berg", "d'Alembert"."""
    return f"{particle}{'' if particle.endswith(_APOSTROPHES) else ' '}{family}" if particle else family
