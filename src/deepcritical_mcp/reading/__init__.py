"""Readers of documents: JATS, web pages and PDFs become paragraphs in sections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from deepcritical_mcp.models import PARAGRAPH_BREAK, DocumentStatus, Part, PartKind
from deepcritical_mcp.text import clean_text


@dataclass(frozen=True)
class Section:
    """A part of a document as its reader found it: see `Part`, and its own paragraphs.

    A paragraph is a paragraph of text, an item of a list, a row of references, a caption, or a whole table in Markdown.
    """

    anchor: str
    paragraphs: Sequence[str]
    kind: PartKind = "section"
    path: tuple[str, ...] = ()
    parent: str = ""


@dataclass(frozen=True)
class Reading:
    """What a reader made of a document.

    Attributes:
        content: the paragraphs, with `PARAGRAPH_BREAK` between them; "" if the document has no text.
        parts: where each section begins.
        fields: what the document says about itself, as fields of `Publication`, e.g. {"title": …, "pmcid": …}.
        abstract: the main abstract, which is not in `content`; "" if there is none.
        licence: as the document says it; "" if it does not.
        is_ocr: whether the text was read from scanned pages by a machine.
        remarks: what a reader of the text must know, e.g. that formulas could not be read.
    """

    content: str
    parts: tuple[Part, ...] = ()
    fields: Mapping[str, object] = field(default_factory=dict[str, object])
    abstract: str = ""
    licence: str = ""
    is_ocr: bool = False
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class PageReading:
    """A web page, text file or PDF as it was read.

    Attributes:
        status: whether it shows the text, only an abstract, a request to pay or log in ("not_allowed"), or nothing.
        detail: a sentence for people that says why; "" for a whole text.
        copies: addresses of the same text elsewhere, as the page names them: a PDF, the page it leads to.
    """

    reading: Reading
    status: DocumentStatus
    detail: str = ""
    copies: tuple[str, ...] = ()


def assembled(sections: Sequence[Section]) -> tuple[str, tuple[Part, ...]]:
    """The content and the parts of a document; sections without text of their own are kept if they have a title."""
    paragraphs: list[str] = []
    parts: list[Part] = []
    position = 0
    for section in sections:
        own = [one for one in (_one_block(text) for text in section.paragraphs) if one]
        if not own and not any(section.path):
            continue
        parts.append(
            Part(anchor=section.anchor, kind=section.kind, path=section.path, start=position, parent=section.parent)
        )
        paragraphs += own
        position += sum(len(one) + len(PARAGRAPH_BREAK) for one in own)
    content = PARAGRAPH_BREAK.join(paragraphs)
    starts = (min(part.start, len(content)) for part in parts)
    return content, tuple(part.model_copy(update={"start": start}) for part, start in zip(parts, starts, strict=True))


def _one_block(text: str) -> str:
    """A paragraph without blank lines inside."""
    return "\n".join(filter(None, (line.rstrip() for line in clean_text(text).split("\n"))))
