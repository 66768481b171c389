"""The interface of everything that delivers full texts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from deepcritical_mcp.errors import (
    ProviderError,
    ProviderResponseError,
    ProviderTimeoutError,
    ProviderUnavailableError,
    UnreadableDocumentError,
)
from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.models import DocumentStatus, Publication
from deepcritical_mcp.reading import Reading
from deepcritical_mcp.reading.reader_process import read_articles
from deepcritical_mcp.sources.base import Service


@dataclass(frozen=True)
class Wanted:
    """The document that is looked for: all its identifiers that are known, and addresses where a copy may be."""

    ids: RecordIds
    urls: tuple[str, ...] = ()


@dataclass(frozen=True)
class Copy:
    """What a provider answers. An outage is not an answer, but a ProviderError.

    Attributes:
        status: "full_text" comes with a `reading`.
        detail: one sentence for people that says why, e.g. "PMC has this article, but the publisher does not allow it
            to be downloaded."; for a full text, which version it is, if not the published one.
        reading: the text, or, with another status, what the provider knows about the document.
        url: where the copy was read.
        elsewhere: addresses where a copy may be, best first.
        needs_browser: whether the page at `url` does not serve programs, or needs JavaScript, so that a provider that
            runs a browser may be asked; not if it asks for a subscription, or forbids programs in robots.txt.
    """

    status: DocumentStatus
    detail: str = ""
    reading: Reading | None = None
    url: str = ""
    elsewhere: tuple[str, ...] = ()
    needs_browser: bool = False


class FullTextSource(Service):
    """A provider of full texts.

    Attributes:
        has_browser: whether it reads pages that need one; it is asked only for those.
        off: why it is not asked at all, e.g. "no email address (NCBI_EMAIL)"; "" if it is.
        at_once: documents whose records one request asks for.
    """

    has_browser: bool = False
    off: str = ""
    at_once: int = 1

    @abstractmethod
    def accepts(self, wanted: Wanted) -> bool:
        """Whether it can be asked for a document with these identifiers and addresses."""

    @abstractmethod
    async def read(self, wanted: Wanted) -> Copy:
        """Its copy of the document, or why it has none."""

    async def record(self, wanted: Wanted) -> Publication | None:
        """Its bibliographic record of the document, with an abstract or NO_ABSTRACT; None if it has none."""
        return None

    async def records_and_copies(self, wanted: Sequence[Wanted]) -> Sequence[tuple[Publication | None, Copy | None]]:
        """Its records of up to `at_once` documents, and its copies if the same answer has them; None for each that it
        does not have."""
        return [(await self.record(one), None) for one in wanted]


def outage_of(error: UnreadableDocumentError, provider: str) -> ProviderError | None:
    """The outage that kept a document from being read; None if the reason is the document."""
    if error.is_too_slow:
        return ProviderTimeoutError(provider, error.message)
    return ProviderUnavailableError(provider, error.message) if error.retryable else None


async def articles_in(body: bytes, provider: str, title: str) -> Sequence[Reading]:
    """The articles in a provider's answer in JATS; a ProviderError if it cannot be read."""
    try:
        return await read_articles(body)
    except UnreadableDocumentError as error:
        unread = f"{title} sent a full text that cannot be read. {error.message}"
        raise outage_of(error, provider) or ProviderResponseError(provider, unread) from error
