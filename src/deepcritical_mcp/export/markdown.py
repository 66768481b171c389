"""A list of references with what each says, as Markdown (CommonMark) to read, print or keep among notes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote

from deepcritical_mcp.export.reference import Reference, status_label
from deepcritical_mcp.models import AuthorName
from deepcritical_mcp.text import clean_line

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$&!^@])")
# What makes a list, a heading or a rule of a line that begins with it.
_AT_LINE_START = re.compile(r"^(\s*)(?:([-+=:])|(\d+)([.)]))", re.MULTILINE)
_SHOWN_AUTHORS = 6


def entry(reference: Reference) -> str:
    """A numbered section: status, citation, links, and what it says as a quotation."""
    heading = f"## {reference.number}. {_text(reference.title)}"
    return "\n\n".join([heading, *_paragraphs(reference), ""])


def _paragraphs(reference: Reference) -> Iterator[str]:
    if reference.status_note:
        label = status_label(reference.evidence)
        yield f"**{label}**{_text(reference.status_note.removeprefix(label))}"
    yield _citation(reference)
    links = _links(reference)
    if links:
        yield " · ".join(links)
    text = reference.abstract or reference.remark
    if text:
        yield _quotation(text)


def _citation(reference: Reference) -> str:
    piece, citation = reference.evidence, reference.evidence.citation
    authors = ", ".join(_name(author) for author in reference.authors[:_SHOWN_AUTHORS])
    more = " et al." if len(reference.authors) > _SHOWN_AUTHORS else ""
    volume = piece.volume + (f"({piece.issue})" if piece.issue else "")
    where = ", ".join(filter(None, (volume, "–".join(filter(None, reference.pages)))))
    journal = f"*{_text(citation.journal)}*" if citation.journal else ""
    date = citation.date if citation.date != "Unknown" else "no date"
    published = " ".join(filter(None, (journal, _text(where))))
    source = {"pubmed": "PubMed", "web": "web page", "user": "own note"}[citation.source]
    parts = (_text(authors + more), f"({date})", published, f"[{source}]".translate({91: r"\[", 93: r"\]"}))
    return " ".join(filter(None, parts))


def _name(author: AuthorName) -> str:
    return " ".join(filter(None, (author.family, author.given, author.suffix)))


def _links(reference: Reference) -> list[str]:
    citation = reference.evidence.citation
    links: list[str] = []
    if citation.pmid:
        links.append(f"[PMID {_text(citation.pmid)}](https://pubmed.ncbi.nlm.nih.gov/{quote(citation.pmid, safe='')}/)")
    if citation.pmcid:
        links.append(
            f"[{_text(citation.pmcid)}](https://pmc.ncbi.nlm.nih.gov/articles/{quote(citation.pmcid, safe='')}/)"
        )
    if citation.doi:
        links.append(f"[doi:{_text(citation.doi)}](https://doi.org/{quote(citation.doi, safe='/')})")
    if reference.url and not citation.pmid:
        links.append(_web_link(reference.url))
    return links


def _web_link(url: str) -> str:
    target = re.sub(r"[\s<>()\\\"`\[\]{}|^]", lambda match: quote(match[0], safe=""), url)
    return f"[{_text(url)}]({target})"


def _text(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", clean_line(text))


def _quotation(text: str) -> str:
    """`text` as a quotation in which each of its lines is a paragraph."""
    escaped = _AT_LINE_START.sub(_harmless, _SPECIAL.sub(r"\\\1", text))
    return "\n>\n".join(f"> {line.strip()}" for line in escaped.split("\n") if line.strip())


def _harmless(match: re.Match[str]) -> str:
    blank, sign, number, end = match.groups()
    return f"{blank}\\{sign}" if sign else f"{blank}{number}\\{end}"
