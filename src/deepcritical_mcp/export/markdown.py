"""A list of references with what each says, as Markdown (CommonMark) to read, print or keep among notes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from urllib.parse import quote

from deepcritical_mcp.export.reference import Reference
from deepcritical_mcp.models import AuthorName, Source, status_label
from deepcritical_mcp.text import clean_line

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$&!^@])")
# What makes a list, a heading or a rule of a line that begins with it.
_AT_LINE_START = re.compile(r"^(\s*)(?:([-+=:])|(\d+)([.)]))", re.MULTILINE)
_SHOWN_AUTHORS = 6
_SOURCES: Mapping[Source, str] = {
    "pubmed": "PubMed",
    "preprint": "preprint",
    "trial": "trial registration",
    "web": "web page",
    "user": "own note",
}


def entry(reference: Reference) -> str:
    """A numbered section: status, citation, links, and what it says as a quotation."""
    heading = f"## {reference.number}. {_text(reference.title)}"
    return "\n\n".join([heading, *_paragraphs(reference), ""])


def _paragraphs(reference: Reference) -> Iterator[str]:
    if reference.status_note:
        label = status_label(reference.publication.status)
        yield f"**{label}**{_text(reference.status_note.removeprefix(label))}"
    yield _citation(reference)
    links = _links(reference)
    if links:
        yield " · ".join(links)
    if reference.abstract:
        yield _quotation(reference.abstract)
    if reference.remark:
        if not reference.publication.is_users:
            yield "The user's note, not part of the source:"
        yield _quotation(reference.remark)


def _citation(reference: Reference) -> str:
    publication = reference.publication
    authors = ", ".join(_name(author) for author in reference.authors[:_SHOWN_AUTHORS])
    more = " et al." if len(reference.authors) > _SHOWN_AUTHORS else ""
    volume = publication.volume + (f"({publication.issue})" if publication.issue else "")
    where = ", ".join(filter(None, (volume, "–".join(filter(None, reference.pages)))))
    journal = f"*{_text(publication.journal)}*" if publication.journal else ""
    date = publication.date if publication.date != "Unknown" else "no date"
    published = " ".join(filter(None, (journal, _text(where))))
    source = _SOURCES[publication.source]
    parts = (_text(authors + more), f"({date})", published, f"[{source}]".translate({91: r"\[", 93: r"\]"}))
    return " ".join(filter(None, parts))


def _name(author: AuthorName) -> str:
    return " ".join(filter(None, (author.family, author.given, author.suffix)))


def _links(reference: Reference) -> list[str]:
    publication = reference.publication
    links: list[str] = []
    if publication.pmid:
        links.append(
            f"[PMID {_text(publication.pmid)}](https://pubmed.ncbi.nlm.nih.gov/{quote(publication.pmid, safe='')}/)"
        )
    if publication.pmcid:
        links.append(
            f"[{_text(publication.pmcid)}](https://pmc.ncbi.nlm.nih.gov/articles/{quote(publication.pmcid, safe='')}/)"
        )
    if publication.doi:
        links.append(f"[doi:{_text(publication.doi)}](https://doi.org/{quote(publication.doi, safe='/')})")
    if reference.url and not publication.pmid:
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
