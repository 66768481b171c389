"""What a citation style is given of a publication, and which elements of the style apply to such a publication."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import NamedTuple, cast

from deepcritical_mcp.export.citation_style import CitationStyle, Node
from deepcritical_mcp.export.reference import ET_AL, Reference
from deepcritical_mcp.export.reference_managers import csl_item
from deepcritical_mcp.export.rich_text import KEEP, Rich, marked, read_title, rich
from deepcritical_mcp.models import status_label

_PARTICLES = re.compile(r"(?:[a-zà-ÿ][\w’'-]{0,12}(?:(?<=[’'])|\s))+(?=\S)")
_YEARS = re.compile("([0-9]{4})[-–]([0-9]{4})?")
_APOSTROPHES = ("'", "’")
_PROPER_NAMES = ("container-title", "container-title-short", "publisher")
SHORT_FORMS = {"title": "title-short", "container-title": "container-title-short"}
"""Variables with a short form, and the variable that has it."""
_SEASONS = {"spring": 1, "summer": 2, "fall": 3, "autumn": 3, "winter": 4}


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

    @property
    def season_number(self) -> int:
        """1 for spring to 4 for winter; 0 if it is none of these."""
        return _SEASONS.get(self.season.lower(), 0)


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
    """What styles are given of a reference."""
    texts, names, dates = dict[str, Rich](), dict[str, Sequence[StyleName]](), dict[str, StyleDate]()
    item = style_fields(reference)
    for name, value in item.items():
        if isinstance(value, str):
            text = read_title(value)
            texts[name] = marked(text, KEEP) if name in _PROPER_NAMES and _keeps_first(value) else text
        elif isinstance(value, list):
            names[name] = [_name(one) for one in cast("list[dict[str, str]]", value)]
        elif isinstance(value, dict):
            dates[name] = _date(cast("dict[str, object]", value))
    if reference.form == "book" and (years := _YEARS.fullmatch(reference.publication.book_years)):
        end = (int(years[2]),) if years[2] else ()
        dates["issued"] = StyleDate((int(years[1]),), end, is_open=not end)
    cut = ET_AL in reference.publication.authors
    texts["citation-label"] = rich(_label(names, dates))
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


def _label(names: Mapping[str, Sequence[StyleName]], dates: Mapping[str, StyleDate]) -> str:
    """What label styles call a publication, as other processors do: "Smit20", "SmBe20", "SmBJ20", "SBJL20"."""
    people = names.get("author") or names.get("editor") or ()
    letters = {1: (4,), 2: (2, 2), 3: (2, 1, 1)}.get(len(people), (1, 1, 1, 1))
    who = "".join((one.family or one.literal)[:count] for one, count in zip(people, letters, strict=False))
    return f"{who}{str(dates['issued'].begin[0])[-2:] if 'issued' in dates else ''}"


def _keeps_first(name: str) -> bool:
    """Whether a name begins with a small letter of its own, as medRxiv does."""
    word = name.split(" ")[0]
    return word[:1].islower() and not word.islower()


def _name(value: Mapping[str, str]) -> StyleName:
    if "literal" in value:
        return StyleName(literal=value["literal"])
    family, given = value.get("family", ""), value.get("given", "")
    before = _PARTICLES.match(family)
    particle = before[0].strip() if before else ""
    words = given.split()
    kept = len(words)
    while kept > 1 and words[kept - 1].islower() and words[kept - 1].isalpha():
        kept -= 1
    return StyleName(
        family[len(particle) :].strip(),
        " ".join(words[:kept]),
        " ".join(words[kept:]),
        particle,
        value.get("suffix", ""),
    )


def _date(value: Mapping[str, object]) -> StyleDate:
    parts = cast("Sequence[tuple[int, ...]]", value["date-parts"])
    return StyleDate(tuple(parts[0]), tuple(parts[1]) if len(parts) > 1 else (), str(value.get("season", "")))


def with_particle(particle: str, family: str) -> str:
    """ "van Berg", "d'Alembert"."""
    return f"{particle}{'' if particle.endswith(_APOSTROPHES) else ' '}{family}" if particle else family


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
