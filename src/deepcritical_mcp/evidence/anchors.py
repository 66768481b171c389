"""Parts of a long text, read by their anchors: "s3.2" a section with what is inside it, "s3.2p4" or
"s3.2p4-6" paragraphs of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from deepcritical_mcp.evidence.chunking import own_span, paragraph_spans
from deepcritical_mcp.evidence.passage_quotes import paragraphs_read
from deepcritical_mcp.excerpts import Span
from deepcritical_mcp.models import (
    Evidence,
    ParagraphAnchor,
    Part,
    Publication,
    Text,
    own_spans,
    split_paragraph_anchor,
    with_descendants,
)

MAX_SECTION = 3_000
"""Characters of a section in an answer to a search."""
MAX_NAMED_INSIDE = 10
"""Parts inside another that an error names."""


@dataclass(frozen=True)
class Excerpt:
    """What an anchor leads to, verbatim, and where it begins in the text's content."""

    part: Part
    content: str
    start: int


def excerpt(text: Text, anchor: str) -> Excerpt | None:
    """The part with that anchor together with the parts inside it, or the paragraphs, a table with its caption; None if
    there is none."""
    name, first, last = split_paragraph_anchor(anchor)
    spans = {part.anchor: (part, Span(start, end)) for part, start, end in own_spans(text.parts, len(text.content))}
    if name not in spans:
        return None
    part, own = spans[name]
    if first:
        found = paragraph_spans(text.content, own)
        if not first <= last <= len(found):
            return None
        content = paragraphs_read([text.content[slice(*one)] for one in found], part.kind, first, last)
        return Excerpt(part, content, found[last - 1].end - len(content))
    end = max(spans[one.anchor][1].end for one in with_descendants(text.parts, name))
    return Excerpt(part, text.content[own.start : end].strip(), own.start)


def no_such_part(id: str, text: Text, anchor: str) -> str:
    """That the text `id` has nothing at `anchor`, with the anchors that may have been meant, nearest first."""
    name, first, _ = split_paragraph_anchor(anchor)
    for part, start, end in own_spans(text.parts, len(text.content)):
        if part.anchor == name and first:
            count = len(paragraph_spans(text.content, Span(start, end)))
            if not count:
                return f"{id}: " + no_paragraphs(name, [one.anchor for one in text.parts if one.parent == name])
            return f"{id} has no part {anchor}. The nearest: {name}p{count}, {name}."
    known = [part.anchor for part in text.parts]
    if not known:
        return f"{id} has no part {anchor}. It has no sections: read it without @."
    nearest = get_close_matches(name, known, n=3, cutoff=0.3) or known[:3]
    return f"{id} has no part {anchor}. The nearest: {', '.join(nearest)}."


def no_paragraphs(anchor: str, inside: Sequence[str]) -> str:
    """That a part has only other parts inside."""
    where = f": its text is in {', '.join(inside[:MAX_NAMED_INSIDE])}" if inside else ""
    return f"{anchor} has no paragraphs of its own{where}."


def with_sections(items: Sequence[Evidence], texts: Sequence[tuple[Publication, Text] | None]) -> list[Evidence]:
    """Passages of long texts by the sections that they belong to, each section once, at most about `MAX_SECTION`
    characters of it; other evidence as it is. `texts` are those of the items."""
    shown: dict[tuple[str, str], Evidence] = {}
    for item, found in zip(items, texts, strict=True):
        anchor = split_paragraph_anchor(item.anchor)
        if found is None or not anchor.first:
            shown[item.id, ""] = item
        elif (item.id, anchor.part) not in shown:
            shown[item.id, anchor.part] = _by_section(item, found[1], anchor)
    return list(shown.values())


def _by_section(item: Evidence, text: Text, anchor: ParagraphAnchor) -> Evidence:
    """The paragraphs of its section around a passage; a mark names the call that gives the whole section."""
    name = anchor.part
    part = next(one for one in text.parts if one.anchor == name)
    found = paragraph_spans(text.content, own_span(text, part))
    first, last = anchor.first - 1, anchor.last - 1
    while last + 1 < len(found) and found[last + 1].end - found[first].start <= MAX_SECTION:
        last += 1
    while first > 0 and found[last].end - found[first - 1].start <= MAX_SECTION:
        first -= 1
    content = text.content[found[first].start : found[last].end]
    if len(content) > MAX_SECTION:
        content = item.content
    if left := found[-1].end - found[0].start - len(content):
        content = f'{content}\n\n[… {left:,} characters left out: get_evidence ids=["{item.id}@{name}"] …]'
    return item.model_copy(update={"content": content, "section": part.path, "anchor": name})
