"""Items of `add_evidence` that bring in files of the user's own, and that declare two ids to be the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import TYPE_CHECKING, NamedTuple

from deepcritical_mcp.errors import InvalidInputError, ProviderError
from deepcritical_mcp.evidence.declarations import can_be_taken_apart
from deepcritical_mcp.models import DECLARED, FILE, AddedItem, DuplicateItem, FileResult, split_text_id, vancouver
from deepcritical_mcp.search.library.files import UserFiles
from deepcritical_mcp.text import clean_line, clean_text, counted
from deepcritical_mcp.tools.arguments.call_session import ToolContext, application, is_local, progress_of
from deepcritical_mcp.tools.evidence_items import NOT_THE_SAME, EvidenceItem, kept_id

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.store import EvidenceStore
    from deepcritical_mcp.models import Publication
    from deepcritical_mcp.tools.arguments.call_session import CallSession

NO_PATHS = "over HTTP no file is read, nor Zotero: pass its text as content, and file as its name"


CHECKED_LATER = (
    "The numbers of these records are compared with the services' records in the background; until then they count as "
    "not checked."
)
TO_DECIDE = (
    'Pairs that may be the same are yours to decide: items=[{"id": one, "same_as": the other}] makes one of them, '
    'same_as="undo" takes that back.'
)
MAX_FILES = 40
"""Files whose outcome an answer tells each; of more, those that were not read whole, and a sum."""


class Imported(NamedTuple):
    """What became of items that name files, by their places in the call; and what a check of numbers found."""

    told: Sequence[FileResult] = ()
    problems: Mapping[int, str] = {}
    done: Set[int] = frozenset()
    checked: str = ""

    @property
    def next_steps(self) -> Sequence[str]:
        """What the model can do next."""
        later = CHECKED_LATER if any(one.new and one.read for one in self.told) else ""
        return (self.checked, later, TO_DECIDE if any(one.unsure for one in self.told) else "")


def has_file(item: EvidenceItem) -> bool:
    """Whether an item names a file, or its text is that of a library, which begins with an entry."""
    if clean_line(item.file):
        return True
    if item.id or item.title or item.numbers or item.reference or item.verdict or item.source != "user":
        return False
    from deepcritical_mcp.reading.library_entries import begins_with_entry

    return begins_with_entry(item.content)


def shortened(told: Sequence[FileResult]) -> tuple[FileResult, ...]:
    """The outcomes of files, in their order; of many, those that an answer tells and the sum of the others."""
    if len(told) <= MAX_FILES:
        return tuple(told)
    shown = {index for index, one in enumerate(told) if one.unread or one.unsure or index == len(told) - 1}
    shown |= {*[index for index in range(len(told)) if index not in shown][: max(0, MAX_FILES - len(shown))]}
    rest = [one for index, one in enumerate(told) if index not in shown]
    documents = [one.detail.startswith("the full text of") for one in rest if not one.read]
    texts = sum(documents)
    summed = FileResult(
        file=f"{len(rest):,} more files, read whole",
        detail=f"{counted(len(documents), 'document')} of them: {texts:,} the full text of its paper, "
        f"{len(documents) - texts:,} your own",
        read=sum(one.read for one in rest),
        new=sum(one.new for one in rest),
        known=sum(one.known for one in rest),
        without_abstract=sum(one.without_abstract for one in rest),
    )
    return (*(told[index] for index in sorted(shown)), *([summed] if rest else ()))


async def imported(ctx: ToolContext, items: Mapping[int, EvidenceItem], session: CallSession) -> Imported:
    """Bring in the files that items name, or whose text they have."""
    if not items:
        return Imported()
    folders, library = application(ctx).settings.import_dirs, (await application(ctx).services()).library
    told, problems = list[FileResult](), dict[int, str]()
    for index, one in items.items():
        files = UserFiles(clean_line(one.file), clean_text(one.content), one.clean_tags, folders)
        if not files.content and not is_local(ctx):
            problems[index] = NO_PATHS
            continue
        try:
            told += await library.bring_in(files, session.store, progress_of(ctx))
        except (InvalidInputError, ProviderError) as error:
            problems[index] = error.message
    checked = library.found(session.store)
    if any(one.read for one in told):
        library.check_later(session.store)
    return Imported(told, problems, items.keys(), checked)


class Declared(NamedTuple):
    """What became of items that declare two ids to be the same, or take that back, by their places in the call."""

    joined: Sequence[DuplicateItem] = ()
    apart: Sequence[AddedItem] = ()
    problems: Mapping[int, str] = {}
    done: Set[int] = frozenset()


async def declared(store: EvidenceStore, items: Mapping[int, EvidenceItem]) -> Declared:
    """Make one publication of the two ids that each item names, or of one what it was before."""
    joined, apart, problems = list[DuplicateItem](), list[AddedItem](), dict[int, str]()
    for index, one in items.items():
        undo = clean_line(one.same_as).lower() == NOT_THE_SAME
        ids = [kept_id(one.id), *([] if undo else [kept_id(one.same_as)])]
        kept = await store.publications(ids)
        if unknown := [id for id in ids if id not in kept]:
            problems[index] = f"{' and '.join(unknown)} is not in this session; list_evidence has the ids"
        elif undo:
            content = _text_of_file(kept[ids[0]], split_text_id(ids[0])[1])
            if not can_be_taken_apart(kept[ids[0]], content):
                problems[index] = f"{ids[0]} was not declared to be the same as another item, and has no text of a file"
                continue
            became = await store.take_apart(ids[0], content)
            apart += (AddedItem(index=index, id=each.id, reference=vancouver(each)) for each in became)
        elif len({one.id for one in kept.values()}) == 1:
            problems[index] = f"{' and '.join(ids)} are one item already"
        else:
            became = await store.declare_same(ids)
            named = {"duplicate_of": became[0].id, "reference": vancouver(became[0])}
            joined.append(DuplicateItem(index=index, similarity=1.0, reason=DECLARED, **named))
    return Declared(joined, apart, problems, items.keys())


def _text_of_file(publication: Publication, number: int) -> str:
    """The text of a file that an id with a number names; "" for no text, or another one, in particular the first."""
    text = publication.texts[number - 1] if 1 < number <= len(publication.texts) else None
    return text.content if text and text.provider == FILE else ""
