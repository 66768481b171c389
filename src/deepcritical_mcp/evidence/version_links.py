"""Which preprints and articles belong together, by the numbers that their notices name."""

from __future__ import annotations

from collections.abc import Iterable

from deepcritical_mcp.identifiers import named_preprints, normalize_doi
from deepcritical_mcp.models import Publication

_Number = tuple[str, str]
_KINDS = ("published", "preprint")


class VersionLinks:
    """Preprints with the articles that they became, in whichever order they are put."""

    def __init__(self) -> None:
        self._own: dict[str, tuple[_Number, ...]] = {}
        self._named: dict[str, tuple[_Number, ...]] = {}
        self._having: dict[_Number, dict[str, None]] = {}
        self._naming: dict[_Number, dict[str, None]] = {}

    def put(self, id: str, publication: Publication | None) -> None:
        """Set what publication `id` is; None removes it."""
        if publication is not None and publication.source == "user":  # a note has the number of what it is about
            publication = None
        _set(self._own, self._having, id, _own(publication) if publication else ())
        _set(self._named, self._naming, id, _named(publication) if publication else ())

    def of(self, id: str) -> list[str]:
        """The ids of the articles of preprint `id`, or of the preprints of an article."""
        found = [one for number in self._named.get(id, ()) for one in self._having.get(number, ())]
        found += [one for number in self._own.get(id, ()) for one in self._naming.get(number, ())]
        return [one for one in dict.fromkeys(found) if one != id]


def _set(
    numbers: dict[str, tuple[_Number, ...]],
    ids: dict[_Number, dict[str, None]],
    id: str,
    new: Iterable[_Number],
) -> None:
    for number in numbers.pop(id, ()):
        ids[number].pop(id, None)
        if not ids[number]:
            del ids[number]
    if known := tuple(dict.fromkeys(new)):
        numbers[id] = known
    for number in known:
        ids.setdefault(number, {})[id] = None


def _own(publication: Publication) -> list[_Number]:
    numbers = {
        "pmid": publication.pmid,
        "doi": normalize_doi(publication.doi),
        "ppr": publication.preprint_number,
    }
    return [(kind, value) for kind, value in numbers.items() if value]


def _named(publication: Publication) -> list[_Number]:
    found: list[_Number] = []
    for notice in publication.status_notices:
        if notice.kind in _KINDS:
            found += [("pmid", notice.pmid)] if notice.pmid else []
            found += [("doi", normalize_doi(notice.doi))] if notice.doi else []
            found += [("ppr", number) for number in named_preprints(notice.reference)]
    return found
