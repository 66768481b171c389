"""A document as a caller names it, and what was found for it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from deepcritical_mcp.identifiers import RecordIds, preprint_number
from deepcritical_mcp.models import (
    Attempt,
    AuthorName,
    DocumentStatus,
    FetchVerdict,
    Publication,
    Text,
    is_marked,
    status_label,
)
from deepcritical_mcp.sources import off_for
from deepcritical_mcp.text import clean_line, clipped

_SHOWN = 80
_NOTICES = ("Retraction of Publication", "Published Erratum", "Expression of Concern", "Addendum")
"""Types of publications that are about another one."""

PUBMED_OFF = "PubMed is switched off on this server."
"""Why it could not be asked, where asking again cannot help."""


@dataclass(frozen=True)
class DocumentId:
    """A document as a caller named it: by an evidence id, by numbers, by an address, or as a `reference`, in any style.

    `name` is what was written; a `title` besides a number must be that of the record, and the first of its `authors`
    among `authors`. `text` is one that claims to be the document's.
    """

    name: str
    evidence: str = ""
    ids: RecordIds = field(default_factory=RecordIds)
    url: str = ""
    title: str = ""
    reference: str = ""
    authors: tuple[AuthorName, ...] = ()
    text: Publication | None = None

    def not_asked(self, ids: RecordIds, off: Collection[str]) -> str:
        """Why nobody can say that it does not exist: who could know it, by `ids` or as it is named, but is switched
        off; "" if nobody is."""
        is_trial = ids.nct.startswith("NCT")
        kinds = {name for name, value in ids._asdict().items() if value and (name != "nct" or is_trial)}
        kinds |= {"preprint_number"} if preprint_number(self.url) else {"url"} if self.url else set()
        names = off_for(kinds | ({"reference"} if self.reference else set()), off)
        if not names:
            return ""
        verb, name = "is" if len(names) == 1 else "are", clipped(clean_line(self.name), _SHOWN)
        told = f"{' and '.join(names)} {verb} switched off on this server (DEEPCRITICAL_OFF)"
        return f"{told}, so {name} could not be looked up there"


LinkKind = Literal["similar", "cited_by", "references", "citations"]
"""Links that are followed from papers; "citations" are "cited_by" and "references"."""
MARKED = "marked:"
"""Before a decision or tag, the name of all papers of the session that have it."""
MAX_PAPERS = 500
"""Papers whose links are followed at once."""


@dataclass(frozen=True)
class Round:
    """Papers that are linked to some papers are looked for: a round of citation searching, or, if not `is_round`, the
    links of one paper, which a watch looks for again."""

    papers: Sequence[DocumentId]
    kind: LinkKind = "citations"
    max_results: int = 10
    offset: int = 0
    only_new: bool = False
    is_round: bool = True


@dataclass(frozen=True)
class FoundRecord:
    """What was found for one document.

    Attributes:
        publication: None unless exactly one is meant, without a doubt.
        verdict: why there is none: "wrong" if a number belongs to another title or record than the caller says,
            "ambiguous" if several may be meant, or one that does not agree with what is written.
        reason: for the caller.
        candidates: the records that may be meant, best first; if "wrong", also the one that the number leads to.
        remark: what differs between the record and what was written.
        unasked: why PubMed could not be asked; a record then comes from elsewhere, and its status is unchecked.
    """

    publication: Publication | None
    verdict: FetchVerdict = "found"
    reason: str = ""
    candidates: tuple[Publication, ...] = ()
    remark: str = ""
    unasked: str = ""


@dataclass(frozen=True)
class FoundText:
    """What was found for one document.

    Attributes:
        publication: None if nobody knows the document.
        text: with its parts; None if nobody has it.
        id: the evidence id of the text, or of the publication; "" if nothing was kept.
        attempts: who was asked, and what each said.
        errors: what failed on the way.
        warnings: what a reader must know, the gravest first.
    """

    status: DocumentStatus
    publication: Publication | None = None
    text: Text | None = None
    id: str = ""
    attempts: tuple[Attempt, ...] = ()
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def told_first(publication: Publication) -> Iterator[str]:
    """What must be known before a paper is used: its status, and whether a preprint was published since."""
    if is_marked(publication.status):
        yield f"This is marked {status_label(publication.status)}."
    if what := ", ".join(one for one in publication.publication_types if one in _NOTICES):
        about = [one for one in publication.status_notices if one.kind == "about"]
        named = "; ".join(f"PMID {one.pmid}" if one.pmid else one.doi or one.reference for one in about)
        yield f"This is a notice ({what}) about {named or 'another paper'}: it is not that paper."
    articles = [one for one in publication.status_notices if one.kind == "published"]
    for notice in publication.status_notices if publication.source == "web" else ():
        if notice.kind == "about":
            told = f"It has the title of PMID {notice.pmid}, which is marked {status_label('retracted')}"
            yield f"{told}: {notice.reference} It may be that paper."
    for notice in articles:
        where = f"PMID {notice.pmid}" if notice.pmid else notice.doi or notice.reference
        yield f"This is a preprint, published as {where}: read and cite that one."
    if publication.form == "preprint" and not articles:
        yield "This is a preprint, which was not peer reviewed."
