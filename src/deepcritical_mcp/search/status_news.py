"""What happened to publications since their status was last asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from deepcritical_mcp.errors import ProviderError
from deepcritical_mcp.models import (
    NOTICE_LABELS,
    NewsItem,
    NewsKind,
    NoticeKind,
    Publication,
    StatusNotice,
    gravest,
    united,
    vancouver,
)
from deepcritical_mcp.search.witness import OutageRemark, Witness, has_askable_status, status_fields
from deepcritical_mcp.sources.base import Source
from deepcritical_mcp.text import clipped

_KINDS: Mapping[NoticeKind, NewsKind] = {
    "retraction": "retracted",
    "partial_retraction": "corrected",
    "concern": "concern",
    "erratum": "corrected",
    "update": "superseded",
    "published": "published",
    "republished": "corrected",
    "result": "trial",
}
_MAX_REFERENCE = 300


@dataclass(frozen=True)
class StatusNews:
    """What asking for the status of publications gave.

    Attributes:
        changed: publications whose status changed, to be kept.
        items: the news of it.
        errors: who could not be asked.
        trials: what the registry says now about each trial that changed.
        asked: how many publications somebody answered about.
        unanswered: ids of the others whose status can be asked for.
    """

    changed: tuple[Publication, ...]
    items: tuple[NewsItem, ...]
    errors: tuple[str, ...]
    trials: Mapping[str, tuple[str, ...]]
    asked: int
    unanswered: tuple[str, ...]


async def status_news(
    held: Sequence[Publication], witness: Witness, registry: Source | None, told: Mapping[str, Sequence[str]]
) -> StatusNews:
    """Ask again for the status of publications that a session holds, however lately it was read. `told` has what was
    said about trials before, by number. Keeps nothing."""
    asked = await witness.rechecked(held)
    answered = set(asked.answered)
    errors = [one for one in asked.remarks if isinstance(one, OutageRemark)]
    numbers = [one.nct for one in held if one.nct and one.source == "trial" and one.is_record]
    trials: Mapping[str, Publication] = {}
    if registry and numbers:
        try:
            trials = (await registry.fetch_anew(numbers)).records
        except ProviderError as error:
            errors.append(OutageRemark(f"{registry.title} could not be asked about {len(numbers)} trials: {error}"))
    changed, items, says = list[Publication](), list[NewsItem](), dict[str, tuple[str, ...]]()
    for place, (old, new) in enumerate(zip(held, asked.publications, strict=True)):
        fresh = trials.get(old.nct) if old.source == "trial" else None
        if fresh:
            answered.add(place)
            new = _with_papers(new, fresh)
            before = told.get(old.nct, old.publication_types)
            if gained := [word for word in fresh.publication_types if word not in before]:
                items.append(NewsItem(kind="trial", id=old.id, text=f"now {', '.join(gained)}: {_reference(old)}"))
                says[old.nct] = fresh.publication_types
        items += _news(old, new)
        if status_fields(new) != status_fields(old):
            changed.append(new)
    silent = (one for place, one in enumerate(held) if place not in answered)
    unanswered = tuple(one.id for one in silent if has_askable_status(one) or (registry and one.nct in numbers))
    return StatusNews(tuple(changed), tuple(items), tuple(errors), says, len(answered), unanswered)


def _with_papers(trial: Publication, fresh: Publication) -> Publication:
    return trial.model_copy(update={"status_notices": united(trial.status_notices, fresh.status_notices)})


def _news(old: Publication, new: Publication) -> Iterator[NewsItem]:
    """One item for each kind of news."""
    notices: dict[NewsKind, list[StatusNotice]] = {}
    for notice in new.status_notices:
        if notice.kind in _KINDS and not any(_is_same(notice, one) for one in old.status_notices):
            notices.setdefault(_KINDS[notice.kind], []).append(notice)
    grave = new.status if new.status != old.status and gravest((old.status, new.status)) == new.status else ""
    if grave in ("retracted", "concern", "superseded", "corrected"):
        notices.setdefault(grave, [])
    for kind, some in notices.items():
        named = "; ".join(map(_named, some))
        yield NewsItem(kind=kind, id=new.id, text=f"{_reference(new)}{f' {named}.' if named else ''}")


def _is_same(notice: StatusNotice, other: StatusNotice) -> bool:
    """Whether both are one: of a kind, with a number in common, or without numbers and with the same words."""
    if notice.kind != other.kind:
        return False
    if (notice.pmid and notice.pmid == other.pmid) or (notice.doi and notice.doi.lower() == other.doi.lower()):
        return True
    return notice.reference == other.reference and not ((notice.pmid and other.pmid) or (notice.doi and other.doi))


def _named(notice: StatusNotice) -> str:
    number = f"PMID {notice.pmid}" if notice.pmid else notice.own_doi
    return f"{NOTICE_LABELS[notice.kind]}: {' '.join(filter(None, (notice.reference, number)))}"


def _reference(publication: Publication) -> str:
    return clipped(vancouver(publication), _MAX_REFERENCE)
