"""Every error that this package raises on purpose.

DeepCriticalError
├── ConfigurationError            a setting is wrong; the message names it
├── InvalidInputError             the caller's argument is wrong; the message says what is right
├── SessionError
│   ├── SessionNotFoundError      unknown, expired or foreign session_id
│   ├── AmbiguousSessionError     .sessions; several sessions have titles that begin so
│   ├── SessionRequiredError      no session_id, and no default session
│   ├── SessionBusyError          another process has the session open
│   └── SessionFullError          the session has reached its limit of evidence
├── ProviderError                 .provider
│   ├── ProviderUnavailableError  outage: unreachable, 5xx, connection reset         retryable
│   │   └── ProviderTimeoutError  no complete answer in time                         retryable
│   ├── RateLimitError            .retry_after                                       retryable
│   │   └── LineTooLongError          not sent: there is no place in line in time        retryable
│   ├── QuotaExceededError        the plan is used up
│   ├── AuthenticationError       key missing, wrong or refused
│   ├── BlockedError              blocked as automated traffic
│   ├── ProviderRequestError      the provider refused this request
│   │   ├── ForbiddenAddressError     an address that is not fetched: private, another port
│   │   ├── RobotsRefusedError        the site's robots.txt forbids it
│   │   ├── AccessDeniedError         .status: login, subscription, or no programs
│   │   ├── DocumentNotFoundError     nothing at this address
│   │   ├── DocumentTooLargeError     larger than is read
│   │   ├── DocumentTypeError         neither text nor HTML nor PDF
│   │   └── TooManyRedirectsError     redirected too often
│   ├── ProviderResponseError     the answer cannot be read                          retryable
│   └── CircuitOpenError          failed repeatedly, skipped for now                 retryable
├── AllProvidersFailedError       .causes, in the order they were tried              retryable if one may pass
├── UnreadableDocumentError       .is_protected, .is_too_slow; a file that is damaged, protected or takes too long
├── EvidenceStoreError            the store cannot be read or written
├── ExportFileError               an export cannot be written into its file, or read from it
├── EmbeddingError                the embedding model cannot be loaded or run
├── DeadlineExceededError         the call took too long                             retryable
├── LimitExceededError            .retry_after; the caller makes too many calls      retryable
└── ShuttingDownError             .retry_after; the server is shutting down          retryable

Messages are written for a language model: what failed, and what to try next. They contain no key, header or full URL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Details = Mapping[str, object] | None


class DeepCriticalError(Exception):
    """Root of the tree.

    Attributes:
        message: one or two sentences for the model; what happened and what to do.
        code: stable identifier of the kind of failure, e.g. "rate_limited".
        retryable: whether the same call may succeed later.
        retry_after: seconds to wait before that, 0.0 if unknown.
        details: further facts (JSON values), e.g. {"count": 12, "pmids": [...]}.
    """

    code = "error"
    retryable = False

    def __init_subclass__(cls, *, code: str = "", retryable: bool = False) -> None:
        cls.code, cls.retryable = code or cls.code, retryable or cls.retryable

    def __init__(self, message: str, *, retry_after: float = 0.0, details: Details = None) -> None:
        self.message = message
        super().__init__(self.message)
        self.retry_after = retry_after
        self.details: Mapping[str, object] = details or {}


class ConfigurationError(DeepCriticalError, code="configuration"):
    """A setting has a value that cannot be used."""


class InvalidInputError(DeepCriticalError, code="invalid_input"):
    """An argument has the right type but a value that cannot be used."""


class SessionError(DeepCriticalError, code="session"):
    """The session cannot be used as the call asks."""


class SessionNotFoundError(SessionError, code="session_not_found"):
    """The session_id is unknown, has expired, or belongs to someone else."""

    def __init__(self, message: str = "") -> None:
        usual = (
            "This session is unknown or has expired, or was cleared. clear_session with undo=true brings it back "
            "within a day, if sessions are kept; sessions in memory end with the server. Pass the id exactly as a "
            'result shows it; list_evidence shows the current one. A search with session_id="new" opens a fresh one.'
        )
        super().__init__(message or usual)


class AmbiguousSessionError(SessionError, code="ambiguous_session"):
    """Several sessions have the title, or titles that begin with it.

    Attributes:
        sessions: the ids of all of them, the last used first.
    """

    def __init__(self, message: str, sessions: Sequence[str]) -> None:
        super().__init__(message, details={"sessions": list(sessions)})
        self.sessions = tuple(sessions)


class SessionRequiredError(SessionError, code="session_required"):
    """No session_id was given and this connection has no default session."""

    def __init__(self, message: str = "") -> None:
        usual = (
            "This connection has no default session: pass the session_id that an earlier search or add_evidence "
            "returned. If there is none yet, search first."
        )
        super().__init__(message or usual)


class SessionBusyError(SessionError, code="session_busy", retryable=True):
    """Another process has locked this session, or has it open with an earlier version."""


class SessionFullError(SessionError, code="session_full"):
    """The session has reached its limit of evidence."""


class ProviderError(DeepCriticalError, code="provider_error"):
    """An external source did not return a usable answer.

    Attributes:
        provider: wire name of the provider, e.g. "pubmed".
    """

    def __init__(self, provider: str, message: str, *, retry_after: float = 0.0, details: Details = None) -> None:
        super().__init__(message, retry_after=retry_after, details={"provider": provider, **(details or {})})
        self.provider = provider


class ProviderUnavailableError(ProviderError, code="provider_unavailable", retryable=True):
    """An outage: unreachable, a 5xx status, a broken connection, an error page."""


class ProviderTimeoutError(ProviderUnavailableError, code="provider_timeout"):
    """No complete answer in time."""


class RateLimitError(ProviderError, code="rate_limited", retryable=True):
    """Too many requests; `retry_after` says how long to wait, 0.0 if the provider did not say."""


class LineTooLongError(RateLimitError):
    """The request was not sent: the line is too long for the time that its caller has."""


class QuotaExceededError(ProviderError, code="quota_exceeded"):
    """The plan's quota is used up."""


class AuthenticationError(ProviderError, code="authentication"):
    """The key is missing, wrong or refused."""


class BlockedError(ProviderError, code="blocked"):
    """The provider blocked the request as automated traffic, with a challenge instead of results."""


class ProviderRequestError(ProviderError, code="provider_refused"):
    """The provider refused this request, and would refuse it again."""


class ForbiddenAddressError(ProviderRequestError, code="forbidden_address"):
    """The address is not fetched: private or special networks, other ports, anything but http and https."""


class RobotsRefusedError(ProviderRequestError, code="robots_refused"):
    """The site's robots.txt does not allow programs to read this page."""


class AccessDeniedError(ProviderRequestError, code="access_denied"):
    """The site asks for a login or a subscription, or does not serve programs.

    Attributes:
        status: of the HTTP response: 401, 402, 403 or 451, or what a challenge was sent with.
    """

    def __init__(self, provider: str, message: str, *, status: int) -> None:
        super().__init__(provider, message, details={"status": status})
        self.status = status


class DocumentNotFoundError(ProviderRequestError, code="document_not_found"):
    """There is nothing at this address, or not any more."""


class DocumentTooLargeError(ProviderRequestError, code="document_too_large"):
    """The page or file is larger than is read."""


class DocumentTypeError(ProviderRequestError, code="document_type"):
    """The address leads to something other than text, HTML or PDF."""


class TooManyRedirectsError(ProviderRequestError, code="too_many_redirects"):
    """The address redirects more often than is followed."""


class ProviderResponseError(ProviderError, code="provider_response", retryable=True):
    """The answer is not what the provider's API specifies."""


class CircuitOpenError(ProviderError, code="circuit_open", retryable=True):
    """The provider failed repeatedly and is skipped for some seconds."""


def is_temporary(error: DeepCriticalError) -> bool:
    """Whether waiting can help. A block is lifted too, but not by trying again at once."""
    return error.retryable or isinstance(error, BlockedError)


class AllProvidersFailedError(DeepCriticalError, code="all_providers_failed", retryable=True):
    """No provider could answer; retryable if waiting can help with one of the causes.

    Attributes:
        causes: one error per provider, in the order they were tried.
    """

    def __init__(self, message: str, causes: Sequence[DeepCriticalError], *, retry_after: float = 0.0) -> None:
        names = [{"provider": one.provider} if isinstance(one, ProviderError) else {} for one in causes]
        told = [{**name, "code": one.code, "message": one.message} for name, one in zip(names, causes, strict=True)]
        super().__init__(message, retry_after=retry_after, details={"causes": told})
        self.causes = tuple(causes)
        self.retryable = any(map(is_temporary, causes))


class UnreadableDocumentError(DeepCriticalError, code="unreadable_document"):
    """A page or file cannot be read: it is damaged, or protected, or takes too long.

    Attributes:
        is_protected: whether a password is needed.
        is_too_slow: whether its reader ran out of time, so that nothing is known about its text.
    """

    def __init__(
        self, message: str, *, is_protected: bool = False, is_too_slow: bool = False, retryable: bool = False
    ) -> None:
        super().__init__(message)
        self.is_protected, self.is_too_slow, self.retryable = is_protected, is_too_slow, retryable


class EvidenceStoreError(DeepCriticalError, code="evidence_store", retryable=True):
    """The evidence store cannot be read or written; evidence confirmed earlier is not lost."""


class ExportFileError(DeepCriticalError, code="export_file"):
    """An export cannot be written into its file, or read from where it is kept."""


class EmbeddingError(DeepCriticalError, code="embedding"):
    """The embedding model cannot be loaded or run."""


class DeadlineExceededError(DeepCriticalError, code="deadline_exceeded", retryable=True):
    """The call took longer than its deadline allows."""


class LimitExceededError(DeepCriticalError, code="too_many_calls", retryable=True):
    """The caller exceeded its rate of calls; `retry_after` says when the next one is allowed."""


class ShuttingDownError(DeepCriticalError, code="shutting_down", retryable=True):
    """The server is shutting down and accepts no more calls."""

    def __init__(self) -> None:
        message = (
            "The server is shutting down and could not finish the call. Results found so far stay in their session. "
            "Try again in a moment."
        )
        super().__init__(message, retry_after=10)
