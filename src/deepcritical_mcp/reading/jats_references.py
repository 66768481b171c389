"""Lists of references of JATS: each reference as it is printed, on one line."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from deepcritical_mcp.reading.jats_flow import line_of
from deepcritical_mcp.reading.jats_formulas import SUBSCRIPTS, SUPERSCRIPTS, in_script
from deepcritical_mcp.reading.jats_xml import attribute

_CITATIONS = ("mixed-citation", "element-citation", "citation", "nlm-citation", "citation-alternatives", "note", "p")
_PEOPLE = {"person-group", "name", "string-name", "collab", "etal", "name-alternatives", "collab-alternatives"}
_NUMBERS = {"doi": "doi: ", "pmid": "PMID: ", "pmcid": "PMCID: ", "pmc": "PMCID: "}
_USED = {"volume", "issue", "fpage", "lpage", "elocation-id", "page-range", "year", "month", "day", "season", "label"}
_MARKUP = {"italic", "bold", "sup", "sub", "sc", "underline", "monospace", "styled-content", "named-content", "xref"}
_SCRIPTS = {"sup": SUPERSCRIPTS, "sub": SUBSCRIPTS}
_NEAR = 16
"""Characters before a number that may say what it is."""
_SENTENCE_ENDS = (".", "?", "!", "…")


def reference_of(ref: Element) -> str:
    """A `<ref>` on one line, its label in front: "12. Smith J. Title. Journal. 2010;3(2):1-9. doi: 10…"."""
    label = line_of(ref.find("label"))
    is_printed = ref.find("mixed-citation") is not None
    tags = [tag for tag in _CITATIONS if not (is_printed and tag == "element-citation")]  # the same once more
    texts = [text for child in ref if child.tag in tags and (text := _citation(child))]
    text = " ".join(texts) or line_of(ref)
    if not label or text.startswith(label):
        return text or label
    return f"{label if label.endswith(('.', ')', ']')) or not label.isdecimal() else f'{label}.'} {text}"


def _citation(citation: Element) -> str:
    if citation.tag == "citation-alternatives":
        return next((text for child in citation if (text := _citation(child))), "")
    if citation.tag in ("note", "p") or len(citation) == 0:
        return line_of(citation)
    between = [citation.text or "", *(child.tail or "" for child in citation)]
    if any(text.strip() for text in between):
        return " ".join(_printed(citation).split())
    return " ".join(_sentences(citation))


def _printed(element: Element) -> str:
    """A citation with its own punctuation; elements that follow each other without any are kept apart."""
    pieces, end = [element.text or ""], (element.text or "")[-_NEAR:]
    for child in element:
        for text in (_separated(child, _part_of_citation(child, end), end), child.tail or ""):
            if end[-1:].isalnum() and text[:1].isalnum() and child.tag not in _MARKUP:
                text = f" {text}"
            pieces.append(text)
            end = (end + text)[-_NEAR:]
    return "".join(pieces)


def _part_of_citation(child: Element, before: str) -> str:
    """An element of a printed citation; a number says what it is, unless that stands in front of it."""
    if child.tag == "etal":
        return line_of(child) or "et al"
    if child.tag in _PEOPLE:
        return _printed(child)
    text = line_of(child)
    if child.tag in _SCRIPTS:
        text = in_script(text, _SCRIPTS[child.tag]) or text
    name = _NUMBERS.get(attribute(child, "pub-id-type").lower(), "") if child.tag == "pub-id" else ""
    is_named = name and name.rstrip(": ").lower() in before.lower()
    return text if is_named or not text else f"{name}{text}"


def _separated(child: Element, text: str, before: str) -> str:
    if child.tag == "pub-id" and before[-1:] == ".":
        return f" {text}"
    if child.tag in _PEOPLE and before[-1:].isalnum() and text:
        return f", {text}"
    if child.tag in _PEOPLE:
        return text
    whole = "".join(child.itertext())
    return " " * whole[:1].isspace() + text + " " * whole[-1:].isspace()


def _sentences(citation: Element) -> Iterator[str]:
    """The parts of a citation without punctuation, in the order of Vancouver style."""
    rest = [child for child in citation if child.tag not in _USED and child.tag not in _PEOPLE]
    yield _sentence(_people([child for child in citation if child.tag in _PEOPLE]))
    for child in rest:
        if child.tag in ("article-title", "chapter-title", "part-title", "data-title", "trans-title"):
            yield _sentence(line_of(child))
    where = [child for child in rest if child.tag not in ("pub-id", "comment", "ext-link", "uri")]
    for child in where:
        if child.tag not in ("article-title", "chapter-title", "part-title", "data-title", "trans-title"):
            yield _sentence(line_of(child))
    yield _sentence(_issue(citation))
    for child in rest:
        if child.tag == "pub-id":
            yield _sentence(_NUMBERS.get(attribute(child, "pub-id-type").lower(), "") + line_of(child))
        elif child.tag in ("comment", "ext-link", "uri"):
            yield _sentence(line_of(child))


def _people(elements: list[Element]) -> str:
    names: list[str] = []
    for element in elements:
        if element.tag in ("person-group", "name-alternatives", "collab-alternatives"):
            printed = (element.text or "").strip() or any((child.tail or "").strip() for child in element)
            listed = [*element] if element.tag == "person-group" else [*element][:1]
            inner = " ".join(_printed(element).split()) if printed else _people(listed)
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

    def of(name: str) -> str:
        return line_of(citation.find(name))

    date = " ".join(filter(None, (of("year"), of("season"), of("month"), of("day"))))
    volume = of("volume") + (f"({issue})" if (issue := of("issue")) else "")
    pages = of("page-range") or "-".join(dict.fromkeys(filter(None, (of("fpage"), of("lpage"))))) or of("elocation-id")
    return date + (";" if date and volume else "") + volume + (":" if pages and (date or volume) else "") + pages


def _sentence(text: str) -> str:
    return text if not text or text.endswith(_SENTENCE_ENDS) else f"{text}."
