"""What an export says of the records whose status could not be asked again."""

from collections.abc import Sequence
from typing import Any

from deepcritical_mcp.search.witness import Rechecked
from deepcritical_mcp.session_export.whole_export import READ_AT_A_TIME, recheck
from tests.publications import published

PAPERS = [published("Zinc.", source="pubmed", title=f"Zinc {one}", pmid=str(one)) for one in range(READ_AT_A_TIME + 2)]
NOTES = [published(f"My view of {one.pmid}.", source="user", title="On it", pmid=one.pmid) for one in PAPERS[:50]]


class AnswersOnce:
    """A witness that is down after the first records."""

    async def refresh(self, session: Any, ids: Sequence[str], *, within: float) -> Rechecked:
        return Rechecked((), (), frozenset(), is_down=True)


async def test_only_records_that_nobody_was_asked_about_are_named_although_notes_share_their_status() -> None:
    witness: Any = AnswersOnce()
    (remark,) = await recheck(witness, witness, [*NOTES, *PAPERS])
    assert remark.startswith(f"The status of PMID {READ_AT_A_TIME}, PMID {READ_AT_A_TIME + 1} (")


async def test_nothing_is_named_if_all_were_asked() -> None:
    witness: Any = AnswersOnce()
    assert await recheck(witness, witness, [*NOTES, *PAPERS[:READ_AT_A_TIME]]) == ()
