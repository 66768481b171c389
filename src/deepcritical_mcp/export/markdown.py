"""A list of references with abstracts and notes, as Markdown (CommonMark)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from urllib.parse import quote

from deepcritical_mcp.export.reference import Reference, listed_value
from deepcritical_mcp.models import decision_line, decision_sentence, status_label, vancouver
from deepcritical_mcp.text import clean_line

# Also what GitHub's Markdown makes a link of without being asked: "https://…", "www.…", "a@b".
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$&!^@]|:(?=//)|(?<=www)\.)", re.IGNORECASE)
# What makes a list, a heading or a rule of a line that begins with it.
_BLOCK_START = re.compile(r"^([^\S\n]*+(?:\d++(?=[.)]))?)([-+=:.)])", re.MULTILINE)
_NOT_IN_TARGETS = re.compile(r"[\s<>()\\\"`\[\]{}|^]")


def entry(reference: Reference) -> str:
    """A numbered section: status, citation, links, and what it says as a quotation."""
    heading = f"## {reference.number}. {_text(reference.title)}"
    return "\n\n".join([heading, *filter(None, _paragraphs(reference)), ""])


def entry_of_fields(reference: Reference, fields: Collection[str]) -> str:
    """A numbered section with what these fields say, and nothing that they do not, but for a mark."""
    values = {name: listed_value(reference, name) for name in fields if name != "title"}
    texts = [_quotation(values.pop(name, "")) for name in ("abstract", "notes")]
    lines = [f"- {name.replace('_', ' ')}: {_text(value)}" for name, value in values.items() if value]
    heading = f"## {reference.number}. {_text(reference.title)}"
    marks = [f"**{_text(reference.status_note)}**"] if reference.status_note else []
    return "\n\n".join([heading, *filter(None, (*marks, "\n".join(lines), *texts)), ""])


def _paragraphs(reference: Reference) -> Iterator[str]:
    if reference.status_note:
        label = status_label(reference.publication.status)
        yield (f"**{label}**" if label else "") + _text(reference.status_note.removeprefix(label))
    yield _blocks(clean_line(vancouver(reference.publication)))
    yield " · ".join(_links(reference))
    yield _text(decision_sentence(decision_line(reference.publication)))
    yield _text(" ".join(filter(None, (reference.data_note, *reference.licences))))
    yield _quotation(reference.abstract or reference.pasted)
    if reference.user_notes and reference.publication.source != "user":
        yield "The user's note, not part of the source:"
    yield _quotation(reference.user_notes)


def _links(reference: Reference) -> Iterator[str]:
    one = reference.publication
    pmid, pmcid, nct = (quote(number, safe="") for number in (one.pmid, one.pmcid, one.nct))
    if pmid:
        yield f"[PMID {_text(one.pmid)}](https://pubmed.ncbi.nlm.nih.gov/{pmid}/)"
    if pmcid:
        yield f"[{_text(one.pmcid)}](https://pmc.ncbi.nlm.nih.gov/articles/{pmcid}/)"
    if one.doi:
        yield f"[doi:{_text(one.doi)}](https://doi.org/{quote(one.doi, safe='/')})"
    if nct and one.nct not in vancouver(one):
        is_at_home = nct.startswith("NCT")
        yield (f"[{_text(one.nct)}](https://clinicaltrials.gov/study/{nct})" if is_at_home else _text(one.nct))
    if reference.url and not pmid:
        target = _NOT_IN_TARGETS.sub(lambda match: quote(match[0], safe=""), reference.url)
        yield f"[{_text(reference.url)}]({target})"
    if one.asked:
        yield one.asked


def _text(text: str) -> str:
    return escaped(clean_line(text))


def escaped(text: str) -> str:
    """`text`, of which nothing is formatting or a link inside of a line."""
    return _SPECIAL.sub(r"\\\1", text)


def escaped_start(markdown: str) -> str:
    """Markdown of which no line begins a list, a heading or a rule."""
    return _BLOCK_START.sub(r"\1\\\2", markdown)


def _blocks(text: str) -> str:
    """`text` escaped so that no line of it begins a list or a heading."""
    return escaped_start(escaped(text))


def _quotation(text: str) -> str:
    """`text` as a quotation in which each of its lines is a paragraph."""
    return "\n>\n".join(f"> {line.strip()}" for line in _blocks(text).split("\n") if line.strip())
