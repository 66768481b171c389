"""What a session keeps of a check: its report so far, and what the next part must know."""

from __future__ import annotations

import hashlib

from pydantic import ValidationError

from deepcritical_mcp.checking.cited_texts import CitingTexts
from deepcritical_mcp.checking.draft import Draft, DraftReference
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.models import CitationReport, FindingKind, Value

REPORT = "citations"
"""The name under which a session keeps the report of its last check."""


class KeptCheck(Value):
    """A check as far as it went.

    Attributes:
        key: of the draft, see `key_of`.
        sentences: where the citing sentences start whose claims were checked.
        tried: the ids of the records whose full texts were looked for.
        remarks: what the references' services had to say besides, for the warnings of the report.
        order: that of the report, which is not written with it.
    """

    key: str
    report: CitationReport
    sentences: frozenset[int] = frozenset()
    tried: frozenset[str] = frozenset()
    remarks: tuple[str, ...] = ()
    order: tuple[FindingKind, ...] = ()

    @property
    def progress(self) -> tuple[int, ...]:
        """How many findings, sentences and full texts are done: the same after a part that did nothing."""
        return len(self.report.order), len(self.sentences), len(self.tried)

    def with_report(self, report: CitationReport) -> KeptCheck:
        """The same check with another report."""
        return self.model_copy(update={"report": report})

    def references_left(self, draft: Draft) -> list[DraftReference]:
        """Those that were not checked yet."""
        done = {one.index for one in self.report.references}
        return [one for one in draft.references if one.index not in done]

    def texts(self, draft: Draft, *, checked: bool) -> CitingTexts:
        """The quotations and sentences that were `checked`, or not yet."""
        done = {one.index for one in self.report.quotations}
        return CitingTexts(
            [(number, one) for number, one in enumerate(draft.quotations, 1) if (number in done) == checked],
            [one for one in draft.sentences if (one.start in self.sentences) == checked],
        )

    def is_complete(self, draft: Draft) -> bool:
        """Whether everything was checked."""
        left = self.texts(draft, checked=False)
        return not (self.references_left(draft) or left.quotations or left.sentences)


def key_of(text: str, *, read: bool) -> str:
    """Identifies a draft, and how it is checked."""
    return hashlib.sha256(f"{read:d}{text}".encode(errors="surrogatepass")).hexdigest()


async def kept_check(session: EvidenceStore) -> KeptCheck | None:
    """The last check of a session; None if there was none that this version can read."""
    try:
        kept = KeptCheck.model_validate_json(await session.document(REPORT))
    except ValidationError:
        return None
    return kept.with_report(kept.report.model_copy(update={"order": kept.order}))


async def keep_check(check: KeptCheck, session: EvidenceStore) -> None:
    """Keep it, in place of the last one."""
    whole = check.model_copy(update={"order": check.report.order})
    await session.keep_document(REPORT, whole.model_dump_json())
