"""The sentences of a draft: where they stand, and what they claim without marks and markup."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from deepcritical_mcp.checking.draft.masking import Line, blanked, lines_of
from deepcritical_mcp.checking.draft.reference_lists import is_marked_heading
from deepcritical_mcp.excerpts import Span, whole_sentences
from deepcritical_mcp.text import clean_line

_TABLE = re.compile(r"\s{0,20}\||[^|\n]{0,300}\|[^|\n]{0,300}\||(?:[^\t\n]{0,200}\t){2}")
_ITEM = re.compile(r"[ \t]{0,20}(?:[-*+•·]|\(?[0-9]{1,3}[.)]|\(?[a-z][.)])\s{1,4}(?=\S)")
_QUOTE_MARK = re.compile(r"[ \t]{0,8}(?:>[ \t]?){1,5}")
_LINK_LABEL = re.compile(
    r"\s{0,2}(?:https?:|[\d\W]|.{0,80}\b(?:1[5-9]|20)\d\d\b|(?:link|here|source|pubmed|doi|pmid|pmc|ref)\b)", re.I
)
_LINK = re.compile(r"!?\[([^\[\]]{0,600})\]\([^()\s]{0,1000}(?:\([^()\s]{0,100}\)[^()\s]{0,200})?\)")
_MARKUP = re.compile(
    r"\*{1,3}|(?<!\w)_{1,2}(?=\w)|(?<=\w)_{1,2}(?!\w)|\\(?=[\W_])"
    r"|</?(?:i|b|em|strong|sub|sup|u|span|p|br)\b[^<>]{0,100}>|~~|^#{1,6} "
)
_LATEX_COMMAND = re.compile(r"\\(?:emph|textit|textbf|text|mathrm|textsuperscript|textsubscript)\{([^{}]{0,500})\}")
_LATEX_ENDS = re.compile(
    r"\\(?:begin|end|label|ref|section|maketitle|par|item|noindent)\b(?:\{[^{}]{0,80}\})?|(?<!\\)~"
)
_EMPTY = re.compile(
    r"[(\[](?!\s?\.\s?\.)\s{0,9}(?:(?:see(?: also)?|e\.g\.,?|for (?:a )?reviews?,?|pp?\. ?[0-9–-]{1,12}|in press"
    r"|and references therein|but see|as in|by|in|from|cf\.|reviewed in|and|PMIDs?:?|doi:?|refs?\.?|[,;.&])"
    r"\s{0,9}){0,9}[)\]]"
)
_SPACE_BEFORE = re.compile(r"\s{1,20}(?=[.,;:!?)\]])")


_CELLS = re.compile(r"\\?\||\t")


class Paragraph(NamedTuple):
    """A paragraph, or an item of a list; `is_quoted` if every line has ">" in front."""

    start: int
    end: int
    is_quoted: bool


def draft_paragraphs(text: str) -> list[Paragraph]:
    """The paragraphs of a text, without headings and tables."""
    lines = [*lines_of(text)]
    # A message that was forwarded as a whole is no quotation.
    quoted = sum(line.text.startswith(">") for line in lines)
    quotes = quoted < 0.8 * sum(not line.text.isspace() and bool(line.text) for line in lines)
    found, start, is_quoted = list[Paragraph](), -1, False
    for number, line in enumerate(lines):
        stripped = line.text.strip()
        item = _ITEM.match(line.text)
        in_quote = quotes and stripped.startswith(">")
        apart = not stripped or _is_apart(lines, number)
        if start >= 0 and (apart or item or in_quote != is_quoted):
            found.append(Paragraph(start, line.start, is_quoted))
            start = -1
        if not apart and start < 0:
            start, is_quoted = line.start + (item.end() if item else 0), in_quote
    if start >= 0:
        found.append(Paragraph(start, len(text), is_quoted))
    return found


def _is_apart(lines: Sequence[Line], number: int) -> bool:
    """Whether a line is a heading, part of a table, or has no words."""
    line, following = lines[number].text, lines[number + 1].text if number + 1 < len(lines) else ""
    return not any(map(str.isalnum, line)) or is_marked_heading(line, following) or _TABLE.match(line) is not None


def table_rows(text: str) -> list[Span]:
    """The rows of tables."""
    return [Span(line.start, line.end) for line in lines_of(text) if _TABLE.match(line.text) and line.text.strip()]


def row_claim(row: str) -> str:
    """What a row of a table without citation marks says: its cells, joined by "; "."""
    cells = (claim_of(cell) for cell in _CELLS.split(row))
    return "; ".join(cell for cell in cells if any(map(str.isalnum, cell)))


def sentence_spans(text: str, blocks: Sequence[Paragraph], marks: Sequence[tuple[int, int]]) -> list[Span]:
    """The sentences of a text's paragraphs, without quoted ones. What stands in `marks` (sorted, apart) belongs to the
    sentence that it follows, also behind the full stop: "in mice.1 Then". A mark that a small letter follows opens a
    sentence: "[3] found that"."""
    bare = blanked(text, (mark for mark in marks if not _opens_sentence(text, mark)))
    found = list[Span]()
    for one in blocks:
        if not one.is_quoted:
            line = _QUOTE_MARK.sub(_blanks, bare[one.start : one.end].replace("\n", " "))
            found += (Span(one.start + part.start, one.start + part.end) for part in whole_sentences(line))
    return found


def _opens_sentence(text: str, mark: tuple[int, int]) -> bool:
    following = text[mark[1] : mark[1] + 3].lstrip()[:1]
    return following.islower() and text[max(0, mark[0] - 2) : mark[0]].strip()[-1:] in ".!?"


def _blanks(found: re.Match[str]) -> str:
    return " " * len(found[0])


def claim_of(sentence: str) -> str:
    """A sentence without markup, empty brackets and the blanks that marks have left."""
    plain = _LATEX_ENDS.sub(" ", sentence) if "\\" in sentence or "~" in sentence else sentence
    plain = _LATEX_COMMAND.sub(r"\1", _LINK.sub(_linked, plain))
    plain = _EMPTY.sub(" ", clean_line(_MARKUP.sub("", plain)))
    return _SPACE_BEFORE.sub("", clean_line(plain)).strip(" ,;")


def _linked(found: re.Match[str]) -> str:
    """The words of a link, unless they only cite: "[12](…)", "[Berg 2020](…)", "[link](…)"."""
    return "" if found[0].startswith("!") or _LINK_LABEL.match(found[1]) else found[1]
