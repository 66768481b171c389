"""The page itself, or the PDF that it leads to: the last rung for a full text, and the only one for a web address."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Self
from urllib.parse import quote

from deepcritical_mcp.errors import (
    AccessDeniedError,
    DocumentNotFoundError,
    DocumentTooLargeError,
    DocumentTypeError,
    ProviderError,
    TooManyRedirectsError,
    UnreadableDocumentError,
)
from deepcritical_mcp.identifiers import normalize_doi
from deepcritical_mcp.models import DocumentStatus
from deepcritical_mcp.net.client import Net
from deepcritical_mcp.net.guard import Guard, is_refusal
from deepcritical_mcp.net.public_addresses import ANY_ADDRESS, AddressPolicy
from deepcritical_mcp.reading import PageReading, Reading
from deepcritical_mcp.reading.page_metadata import BROWSERS_ONLY, SCRIPTS_ONLY
from deepcritical_mcp.reading.reader_process import outage_of, read_document
from deepcritical_mcp.sources.lookup import Copy, FullTextSource, Wanted

if TYPE_CHECKING:
    from deepcritical_mcp.config import Settings

_MOST_FETCHES = 4
_BEST_FIRST: tuple[DocumentStatus, ...] = ("full_text", "abstract_only", "not_allowed", "no_text", "not_found")


class PageSource(FullTextSource):
    """Reads the addresses of a document, or what its DOI leads to. If a page has only an abstract or no text, the PDF
    or full page that it names is read."""

    name = "page"
    title = "web page"

    def __init__(self, guard: Guard, *, doi_resolver: str = "https://doi.org/") -> None:
        self._guard, self._doi_resolver = guard, doi_resolver

    @classmethod
    def create(cls, settings: Settings, net: Net) -> Self:
        return cls(Guard(cls.name, ANY_ADDRESS if settings.fetch_private else AddressPolicy()))

    def accepts(self, wanted: Wanted) -> bool:
        return bool(wanted.urls or wanted.ids.doi)

    async def read(self, wanted: Wanted) -> Copy:
        by_doi = [f"{self._doi_resolver}{quote(wanted.ids.doi, safe='/:;()._-')}"] if wanted.ids.doi else []
        copies, outages = list[Copy](), list[ProviderError]()
        waiting, asked = [*wanted.urls, *by_doi], set[str]()
        while waiting and len(asked) < _MOST_FETCHES:
            url = waiting.pop(0)
            if url in asked:
                continue
            asked.add(url)
            try:
                copy = await self._copy(url, wanted)
            except ProviderError as error:
                outages.append(error)
                continue
            copies.append(copy)
            if copy.status == "full_text":
                return copy
            waiting = [*copy.elsewhere, *waiting]
        best = min(copies, key=lambda copy: _BEST_FIRST.index(copy.status), default=None)
        # What could not be reached might be better than "not found".
        if best is None or (outages and best.status in ("not_found", "no_text")):
            raise outages[0]
        told = f"{best.detail} A copy elsewhere could not be read: {outages[0].message}" if outages else best.detail
        return replace(best, detail=told)

    async def _copy(self, url: str, wanted: Wanted) -> Copy:
        """What one address has. Raises ProviderError for an outage."""
        try:
            page = await self._guard.fetch(url)
            found = await read_document(page.content, media_type=page.media_type, url=page.url, charset=page.charset)
        except DocumentNotFoundError as error:
            return Copy("not_found", error.message, url=url)
        except (DocumentTooLargeError, DocumentTypeError, TooManyRedirectsError) as error:
            return Copy("no_text", error.message, url=url)
        except UnreadableDocumentError as error:
            if outage := outage_of(error, self.name):
                raise outage from error
            return Copy("not_allowed" if error.is_protected else "no_text", error.message, url=url)
        except ProviderError as error:
            if is_refusal(error):
                needs_browser = isinstance(error, AccessDeniedError) and error.status not in (401, 402, 451)
                return Copy("not_allowed", error.message, url=url, needs_browser=needs_browser)
            raise
        if found.status in ("full_text", "abstract_only") and url.startswith(self._doi_resolver):
            own, doi = str(found.reading.fields.get("doi", "")), wanted.ids.doi
            # A site that has moved shows its home page instead.
            if not (own == normalize_doi(doi) if own else doi.lower() in found.reading.content.lower()):
                told = "The DOI leads to a page that does not name it, perhaps the journal's home page."
                return Copy("not_found", told)
        reading, remark = _own_numbers(found, wanted)
        detail = " ".join(filter(None, (found.detail, remark)))
        needs_browser = found.detail in (BROWSERS_ONLY, SCRIPTS_ONLY)
        return Copy(found.status, detail, reading, page.url, elsewhere=found.copies, needs_browser=needs_browser)


def _own_numbers(found: PageReading, wanted: Wanted) -> tuple[Reading, str]:
    """The reading without numbers that contradict those asked for: a preprint is often offered as a copy of the
    article; and a remark if there were any."""
    fields = found.reading.fields
    others = {
        name: value
        for name, known in wanted.ids._asdict().items()
        if known and (value := fields.get(name)) and str(value).lower() != str(known).lower()
    }
    if not others:
        return found.reading, ""
    kept = {name: value for name, value in fields.items() if name not in wanted.ids._fields}
    named = ", ".join(f"{name.upper()} {value}" for name, value in others.items())
    return replace(found.reading, fields=kept), f"It names itself {named}: it may be another version."
