"""Every error this package raises on purpose.

DeepCriticalError
├── ConfigurationError            a setting is wrong; the message names it
├── InvalidInputError             the caller's argument is wrong; the message says what is right
├── SessionError
│   ├── SessionNotFoundError      unknown, expired or foreign session_id
│   ├── SessionRequiredError      no session_id, and none can be assumed
│   ├── SessionBusyError          another process has the session open
│   └── SessionFullError          the session holds all the evidence it may
├── ProviderError                 .provider
│   ├── ProviderUnavailableError  outage: unreachable, 5xx, reset                    retryable
│   │   └── ProviderTimeoutError  no (whole) answer in time                          retryable
│   ├── RateLimitError            .retry_after                                       retryable
│   ├── QuotaExceededError        the plan is used up
│   ├── AuthenticationError       key missing, wrong or refused
│   ├── BlockedError              the provider takes us for a robot
│   ├── ProviderRequestError      the provider refused this request
│   ├── ProviderResponseError     an answer that cannot be read                      retryable
│   └── CircuitOpenError          failed so often lately that it is not asked now
├── AllProvidersFailedError       .causes, in the order they were tried           retryable if one may pass
├── EvidenceStoreError            the store cannot be read or written
├── EmbeddingError                the embedding model cannot be loaded or run
├── DeadlineExceededError         the call's time is up                              retryable
├── LimitExceededError            .retry_after; the caller calls too often           retryable
└── ShuttingDownError             .retry_after; the server is about to end           retryable

Messages are written for a language model: what failed, and what to try next. They hold no key, header or full URL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence


class DeepCriticalError(Exception):
    """Root of the tree.

    Attributes:
        message: one or two sentences for the model.
        code: stable identifier of the kind of failure, e.g. "rate_limited".
        retryable: whether the same call may succeed later.
        retry_after: seconds to wait before that, 0.0 when unknown.
        details: further facts (JSON values), e.g. {"count": 12, "pmids": [...]}.
    """

    code = "error"
    retryable = False

    def __init__(self, message: str, *, retry_after: float = 0.0, details: Mapping[str, object] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.retry_after = retry_after
        self.details: Mapping[str, object] = details or {}


class ConfigurationError(DeepCriticalError):
    """A setting has a value that cannot be used."""

    code = "configuration"


class InvalidInputError(DeepCriticalError):
    """An argument is wrong in a way that only its value shows."""

    code = "invalid_input"


class SessionError(DeepCriticalError):
    """Something is wrong with the session, not with the call."""

    code = "session"


class SessionNotFoundError(SessionError):
    """The session_id is unknown, has expired, or belongs to someone else."""

    code = "session_not_found"

    def __init__(self) -> None:
        super().__init__(
            "This session_id is unknown or has expired. Leave session_id out to use your default session, "
            'or pass "new" to open a fresh one.'
        )


class SessionRequiredError(SessionError):
    """No session_id was given and this connection has no default session."""

    code = "session_required"

    def __init__(self) -> None:
        super().__init__(
            "This connection has no session of its own: pass the session_id that an earlier search or add_evidence "
            "returned. If there was none, search first."
        )


class SessionBusyError(SessionError):
    """Another process has this session open."""

    code = "session_busy"
    retryable = True


class SessionFullError(SessionError):
    """The session holds as much evidence as it may."""

    code = "session_full"


class ProviderError(DeepCriticalError):
    """A source outside did not give a usable answer.

    Attributes:
        provider: wire name of the source, e.g. "pubmed".
    """

    code = "provider_error"

    def __init__(
        self, provider: str, message: str, *, retry_after: float = 0.0, details: Mapping[str, object] | None = None
    ) -> None:
        super().__init__(message, retry_after=retry_after, details={"provider": provider, **(details or {})})
        self.provider = provider


class ProviderUnavailableError(ProviderError):
    """An outage: unreachable, a 5xx status, a broken connection, an error page."""

    code = "provider_unavailable"
    retryable = True


class ProviderTimeoutError(ProviderUnavailableError):
    """No whole answer in time."""

    code = "provider_timeout"


class RateLimitError(ProviderError):
    """Too many requests; `retry_after` says for how long, 0.0 when the provider does not."""

    code = "rate_limited"
    retryable = True


class QuotaExceededError(ProviderError):
    """The plan's quota is used up."""

    code = "quota_exceeded"


class AuthenticationError(ProviderError):
    """The key is missing, wrong or refused."""

    code = "authentication"


class BlockedError(ProviderError):
    """The provider takes this machine for a robot and shows a challenge instead of results."""

    code = "blocked"


class ProviderRequestError(ProviderError):
    """The provider refused this very request."""

    code = "provider_refused"


class ProviderResponseError(ProviderError):
    """The answer is not what the provider's interface promises."""

    code = "provider_response"
    retryable = True


class CircuitOpenError(ProviderError):
    """The provider failed so often lately that it is not asked for some seconds."""

    code = "circuit_open"
    retryable = True


def may_pass(error: DeepCriticalError) -> bool:
    """Whether waiting can help. A block passes too, only not by asking again at once."""
    return error.retryable or isinstance(error, BlockedError)


class AllProvidersFailedError(DeepCriticalError):
    """Nobody could answer; retryable where the failure of one of those asked may pass.

    Attributes:
        causes: one error a provider, in the order they were tried.
    """

    code = "all_providers_failed"
    retryable = True

    def __init__(self, message: str, causes: Sequence[DeepCriticalError], *, retry_after: float = 0.0) -> None:
        super().__init__(
            message,
            retry_after=retry_after,
            details={"causes": [_cause(cause) for cause in causes]},
        )
        self.causes = tuple(causes)
        self.retryable = any(map(may_pass, causes))


def _cause(error: DeepCriticalError) -> dict[str, object]:
    provider = {"provider": error.provider} if isinstance(error, ProviderError) else {}
    return {**provider, "code": error.code, "message": error.message}


class EvidenceStoreError(DeepCriticalError):
    """The evidence store cannot be read or written; what was acknowledged before is still kept."""

    code = "evidence_store"
    retryable = True


class EmbeddingError(DeepCriticalError):
    """The embedding model cannot be loaded or run."""

    code = "embedding"


class DeadlineExceededError(DeepCriticalError):
    """The call's time is up."""

    code = "deadline_exceeded"
    retryable = True


class LimitExceededError(DeepCriticalError):
    """The caller makes more calls than it may; `retry_after` says when the next one is welcome."""

    code = "too_many_calls"
    retryable = True


class ShuttingDownError(DeepCriticalError):
    """The server is about to end and takes no more calls."""

    code = "shutting_down"
    retryable = True

    def __init__(self) -> None:
        super().__init__(
            "This server is shutting down and could not finish the call. What was found by then is kept as long as its "
            "sessions are. Call again in a moment.",
            retry_after=10,
        )
