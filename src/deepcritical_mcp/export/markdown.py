"""A list of references with what each says, as Markdown (CommonMark) to read, print or keep among notes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote

from deepcritical_mcp.export.reference import Reference
from deepcritical_mcp.models import status_label, vancouver
from deepcritical_mcp.text import clean_line

# Also what GitHub's Markdown makes a link of without being asked: "https://…", "www.…", "a@b".
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$&!^@]|:(?=//)|(?<=www)\.)", re.IGNORECASE)
# What makes a list, a heading or a rule of a line that begins with it.
_AT_LINE_START = re.compile(r"^(\s*)(?:([-+=:])|(\d+)([.)]))", re.MULTILINE)


def entry(reference: Reference) -> str:
    """A numbered section: status, citation, links, and what it says as a quotation."""
    heading = f"## {reference.number}. {_text(reference.title)}"
    return "\n\n".join([heading, *_paragraphs(reference), ""])


def _paragraphs(reference: Reference) -> Iterator[str]:
    if reference.status_note:
        label = status_label(reference.publication.status)
        shown = f"**{label}**" if label else ""
        yield shown + _text(reference.status_note.removeprefix(label))
    yield _line(vancouver(reference.publication))
    links = _links(reference)
    if links:
        yield " · ".join(links)
    if reference.abstract:
        yield _quotation(reference.abstract)
    if reference.remark:
        if not reference.publication.is_users:
            yield "The user's note, not part of the source:"
        yield _quotation(reference.remark)


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
    if publication.nct and publication.nct not in vancouver(publication):
        links.append(_trial_link(publication.nct))
    if reference.url and not publication.pmid:
        links.append(_web_link(reference.url))
    return links


def _trial_link(number: str) -> str:
    if not number.startswith("NCT"):
        return _text(number)
    return f"[{_text(number)}](https://clinicaltrials.gov/study/{quote(number, safe='')})"


def _web_link(url: str) -> str:
    target = re.sub(r"[\s<>()\\\"`\[\]{}|^]", lambda match: quote(match[0], safe=""), url)
    return f"[{_text(url)}]({target})"


def _text(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", clean_line(text))


def _line(text: str) -> str:
    """A paragraph of its own: what would make a list or a heading of it is escaped too."""
    return _AT_LINE_START.sub(_harmless, _text(text))


def _quotation(text: str) -> str:
    """`text` as a quotation in which each of its lines is a paragraph."""
    escaped = _AT_LINE_START.sub(_harmless, _SPECIAL.sub(r"\\\1", text))
    return "\n>\n".join(f"> {line.strip()}" for line in escaped.split("\n") if line.strip())


def _harmless(match: re.Match[str]) -> str:
    blank, sign, number, end = match.groups()
    return f"{blank}\\{sign}" if sign else f"{blank}{number}\\{end}"
