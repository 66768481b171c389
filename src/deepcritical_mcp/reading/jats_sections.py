"""The sections of JATS with their paragraphs, tables, figures and references, as a tree."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from string import ascii_lowercase
from xml.etree.ElementTree import Element

from deepcritical_mcp.models import PartKind
from deepcritical_mcp.reading.jats_tables import (
    footnotes,
    markdown_blocks,
    markdown_tables,
)
from deepcritical_mcp.reading.jats_text import (
    ELEMENTS,
    FLOATS,
    IMAGE,
    SUBSCRIPTS,
    SUPERSCRIPTS,
    Flow,
    formula_text,
    in_script,
    line_of,
    named_as,
)
from deepcritical_mcp.reading.xml_tree import attribute

_NUMBERS = {"doi": "doi: ", "pmid": "PMID: ", "pmcid": "PMCID: ", "pmc": "PMCID: "}
_SCRIPTS = {"sup": SUPERSCRIPTS, "sub": SUBSCRIPTS}
_NEAR = 16
"""Characters before a number that may say what it is."""


def reference_of(ref: Element) -> str:
    """A `<ref>` on one line, its label in front: "12. Smith J. Title. Journal. 2010;3(2):1-9. doi: 10…"."""
    label = line_of(ref.find("label"))
    is_printed = ref.find("mixed-citation") is not None
    tags = [tag for tag in ELEMENTS["citation"] if not (is_printed and tag == "element-citation")]  # the same once more
    text = " ".join(text for child in ref if child.tag in tags and (text := _citation(child))) or line_of(ref)
    if not label or text.startswith(label):
        return text or label
    return f"{label}{'.' if label.isdecimal() else ''} {text}"


def _citation(citation: Element) -> str:
    is_printed = any(text.strip() for text in (citation.text or "", *(child.tail or "" for child in citation)))
    return " ".join(_printed(citation).split() if is_printed else _sentences(citation))


def _printed(element: Element) -> str:
    """A citation with its own punctuation; elements that follow each other without any are kept apart, and a number
    says what it is, unless that stands in front of it."""
    text = element.text or ""
    for child in element:
        own, name = _part_of_citation(child), _number_name(child)
        if own and name.rstrip(": ").lower() not in text[-_NEAR:].lower():
            own = f"{name}{own}"
        for piece in (own, child.tail or ""):
            runs_on = text[-1:].isalnum() and piece[:1].isalnum() and child.tag not in ELEMENTS["markup"]
            if child.tag in ELEMENTS["people"] and piece is own and text[-1:].isalnum() and own:
                text += ", "
            elif runs_on or (child.tag == "pub-id" and piece is own and text[-1:] == "."):
                text += " "
            text += piece
    return text


def _part_of_citation(child: Element) -> str:
    """An element of a printed citation, with the white space at its ends."""
    if child.tag in ELEMENTS["people"]:
        return "et al" if child.tag == "etal" and not child.text else _printed(child)
    whole, text = "".join(child.itertext()), line_of(child)
    if child.tag in _SCRIPTS:
        text = in_script(text, _SCRIPTS[child.tag]) or text
    return " " * whole[:1].isspace() + text + " " * whole[-1:].isspace()


def _number_name(child: Element) -> str:
    return _NUMBERS.get(attribute(child, "pub-id-type").lower(), "") if child.tag == "pub-id" else ""


def _sentences(citation: Element) -> Iterator[str]:
    """The parts of a citation without punctuation, in the order of Vancouver style."""
    people = [child for child in citation if child.tag in ELEMENTS["people"]]
    places: tuple[list[str], list[str], list[str]] = ([], [], [])
    for child in citation:
        if child.tag not in ELEMENTS["place"] | ELEMENTS["people"]:
            place = 0 if child.tag.endswith("-title") else 2 if child.tag in ELEMENTS["link"] else 1
            places[place].append(_number_name(child) + line_of(child))
    parts = (_people(people), *places[0], *places[1], _issue(citation), *places[2])
    yield from (part if part.endswith((".", "?", "!", "…")) else f"{part}." for part in parts if part)


def _people(elements: list[Element]) -> str:
    names: list[str] = []
    for element in elements:
        if element.tag == "person-group":
            inner = _people([*element]) or line_of(element)
            is_editors = attribute(element, "person-group-type") in ("editor", "editors")
            names.append(f"{inner}, editors" if inner and is_editors else inner)
        elif element.tag == "name":
            parts = (line_of(element.find(name)) for name in ("surname", "given-names", "suffix"))
            names.append(" ".join(filter(None, parts)))
        else:
            names.append("et al" if element.tag == "etal" else line_of(element))
    return ", ".join(filter(None, names))


def _issue(citation: Element) -> str:
    """E.g. "2010;3(2):1-9"."""
    of = {name: line_of(citation.find(name)) for name in ELEMENTS["place"]}
    date = " ".join(filter(None, (of["year"], of["season"], of["month"], of["day"])))
    volume = of["volume"] + (f"({of['issue']})" if of["issue"] else "")
    ends = "-".join(dict.fromkeys(filter(None, (of["fpage"], of["lpage"]))))
    pages = of["page-range"] or ends or of["elocation-id"]
    return date + (";" if date and volume else "") + volume + (":" if pages and (date or volume) else "") + pages


OCR = "pmc-ocr-text"
"""The type of `<preformat>` whose text PMC read from scanned pages."""
_ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x")
_BLANK_LINE = re.compile(r"\n[ \t]*\n\s*")


@dataclass
class JatsPart:
    """A section, table, figure or list of references, and what stands in it."""

    title: str = ""
    kind: PartKind = "section"
    paragraphs: list[str] = field(default_factory=list[str])
    floats: list[JatsPart] = field(default_factory=list["JatsPart"])
    sections: list[JatsPart] = field(default_factory=list["JatsPart"])

    @property
    def is_empty(self) -> bool:
        """Whether neither it nor anything inside it has text; a title alone does not count."""
        return not self.paragraphs and all(part.is_empty for part in (*self.floats, *self.sections))

    def add(self, other: JatsPart) -> None:
        """Takes over all that stands in `other`."""
        self.paragraphs += other.paragraphs
        self.floats += other.floats
        self.sections += other.sections


def part_of(element: Element, title: str | None = None) -> JatsPart:
    """The tree of a section, body or the like; with `title` instead of its own."""
    part = JatsPart(title=_title(element) if title is None else title)
    _fill(part, element)
    label = line_of(element.find("label"))
    if element.tag == "boxed-text" and label and part.paragraphs:
        part.paragraphs[0] = f"{_sentence(label)} {part.paragraphs[0]}"
    return part


def add_floats(part: JatsPart, element: Element) -> None:
    """Adds all tables and figures inside `element` to `part`."""
    for inner in _outermost(element, FLOATS - {"floats-group"}):
        _add(part, inner)


def _title(element: Element) -> str:
    own = ("label",) if element.tag == "app" else ()
    titles = (line_of(element.find(path)) for path in ("title", "caption/title", "nomenclature/taxon-name", *own))
    return next(filter(None, titles), named_as("section", element.tag) if element.tag in ELEMENTS["untitled"] else "")


def _fill(part: JatsPart, element: Element, *, is_paragraph: bool = False) -> None:
    """Adds the text of `element` to `part`, block by block."""
    flow = Flow(element, is_paragraph=is_paragraph)
    for piece in (*flow.pieces, *flow.asides):
        if isinstance(piece, str):
            part.paragraphs.append(piece)
        else:
            _add(part, piece)


def _add(part: JatsPart, block: Element) -> None:
    """Adds a block to `part`: a section, a float, a list or anything else that is not running text."""
    name = block.tag
    if name in ELEMENTS["section"]:
        _add_section(part, block)
    elif name in _ADDERS:
        _ADDERS[name](part, block)
    elif name in ("table-wrap", "fig"):
        part.floats.append(_float(block))
        add_floats(part, block)
    elif name in ("fn", "supplementary-material", "media", "array", "table"):
        cells = markdown_blocks(block) if name in ("array", "table") else ()
        for text in cells or [line_of(block) if name == "fn" else _supplement(block)]:
            _append(part, text)
        add_floats(part, block)
    elif name == "disp-formula":
        _append(part, " ".join(filter(None, (formula_text(block) or IMAGE, line_of(block.find("label"))))))
    elif name != "title":
        _fill(part, block, is_paragraph=name in ("p", "attrib", "verse-line"))


def _add_section(part: JatsPart, element: Element) -> None:
    inner = [child for child in element if child.tag not in ("object-id", "label", "sec-meta")]
    if element.tag == "boxed-text" and [child.tag for child in inner] == ["sec"]:
        _add_section(part, inner[0])
    else:
        part.sections.append(part_of(element))


def _float(element: Element) -> JatsPart:
    """A table or figure: its caption, text, cells, notes and files."""
    kind: PartKind = "table" if element.tag == "table-wrap" else "figure"
    text = [line_of(child) for child in element if child.tag in ("p", "attrib", "disp-quote", "disp-formula", "list")]
    files = (one for one in _outermost(element, FLOATS | ELEMENTS["file"]) if one.tag in ELEMENTS["file"])
    paragraphs = [_caption(element), *text, *markdown_tables(element), *footnotes(element), *map(_supplement, files)]
    label = line_of(element.find("label")).rstrip(".:| ") or kind.capitalize()
    return JatsPart(label, kind, [*filter(None, paragraphs)] or [f"[{kind.capitalize()} without a caption]"])


def _add_group(part: JatsPart, group: Element) -> None:
    """The tables or figures of a group; the group's own caption stands in front of the first one's."""
    start, caption = len(part.floats), _caption(group)
    for child in group:
        if child.tag in FLOATS:
            _add(part, child)
        elif child.tag not in ELEMENTS["head"]:
            _fill(part, child)
    if caption and len(part.floats) > start:
        part.floats[start].paragraphs.insert(0, caption)
    else:
        _append(part, caption)


def _caption(element: Element) -> str:
    """Label, title and paragraphs of a caption on one line: "Table 1. Patients. All of them."."""
    label, caption = line_of(element.find("label")), element.find("caption")
    if caption is None:
        return _sentence(label) if label else line_of(element.find("title"))
    title = line_of(caption.find("title"))
    rest = " ".join(line_of(child) for child in caption if child.tag != "title") if len(caption) else line_of(caption)
    return " ".join(filter(None, (_sentence(label), _sentence(title) if rest else title, rest)))


def _supplement(element: Element) -> str:
    """What a file is, on one line."""
    rest = [line_of(child) for child in element if child.tag not in ELEMENTS["head"]]
    return " ".join(filter(None, (_caption(element), element.text and element.text.strip(), *rest)))


def _add_references(part: JatsPart, element: Element) -> None:
    references = JatsPart(_title(element) or "References", "references")
    part.floats.append(references)
    for child in element:
        if child.tag == "ref":
            _append(references, reference_of(child))
        elif child.tag == "ref-list":
            _add_references(part, child)
        elif child.tag not in ("title", "label"):
            _append(references, line_of(child))


def _add_list(part: JatsPart, element: Element) -> None:
    _append(part, line_of(element.find("title")))
    kind, number = attribute(element, "list-type"), 0
    for item in element:
        start = len(part.paragraphs)
        if item.tag == "list-item":
            number += 1
            _fill(part, item)
            _put_in_front(part, start, line_of(item.find("label")) or _mark(kind, number))
        elif item.tag == "def-item":
            for definition in item:
                if definition.tag == "def":
                    _fill(part, definition)
            term = ", ".join(filter(None, (line_of(one) for one in item.iterfind("term"))))
            if len(part.paragraphs) == start:
                _append(part, term)
            else:
                _put_in_front(part, start, f"{term.rstrip(':')}:" if term else "")
        elif item.tag in ("list", "def-list"):
            _add_list(part, item)


def _mark(kind: str, number: int) -> str:
    """What a list puts in front of an item without a label."""
    name, _, case = kind.partition("-")
    if name not in ("order", "alpha", "roman"):
        return "•" if name == "bullet" else ""
    known = {"alpha": ascii_lowercase, "roman": _ROMAN}.get(name, "")
    mark = known[number - 1] if number <= len(known) else str(number)
    return f"{mark.upper() if case == 'upper' else mark}."


def _add_lines(part: JatsPart, element: Element) -> None:
    """Text whose lines count; pages read by a machine become paragraphs at their blank lines."""
    text = "".join(element.itertext())
    if attribute(element, "preformat-type") == OCR:
        part.paragraphs += filter(None, (one.strip() for one in _BLANK_LINE.split(text)))
    else:
        _append(part, text.strip("\n"))


def _put_in_front(part: JatsPart, start: int, mark: str) -> None:
    """Puts `mark` in front of the first paragraph from `start` on, if there is one."""
    if mark and len(part.paragraphs) > start:
        part.paragraphs[start] = f"{mark} {part.paragraphs[start]}"


def _append(part: JatsPart, text: str) -> None:
    if text.strip():
        part.paragraphs.append(text)


def _sentence(text: str) -> str:
    return text if not text or text.endswith((".", ":", "?", "!", "…", "|", "—", "–")) else f"{text}."


def _outermost(element: Element, names: Collection[str]) -> Iterator[Element]:
    for child in element:
        if child.tag in names:
            yield child
        else:
            yield from _outermost(child, names)


_ADDERS = {
    **dict.fromkeys(("fig-group", "table-wrap-group"), _add_group),
    **dict.fromkeys(("list", "def-list"), _add_list),
    **dict.fromkeys(("preformat", "code"), _add_lines),
    "ref-list": _add_references,
}
