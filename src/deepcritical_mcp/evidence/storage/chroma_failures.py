"""What Chroma raises, as errors of ours."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Generator

import httpx
from chromadb.errors import ChromaError, NotFoundError

from deepcritical_mcp.errors import EvidenceStoreError, SessionNotFoundError
from deepcritical_mcp.evidence.storage.session_file import DISK_FULL

logger = logging.getLogger(__name__)

_DAMAGE = ("malformed", "not a database", "corrupt")
_REASONS = {
    "the Chroma server does not respond. Evidence stored earlier is safe; try again in a moment.": (
        "could not connect",
    ),
    DISK_FULL: ("full", "no space", "disk i/o", "file too large"),
    "DEEPCRITICAL_DATA_DIR must be a writable folder. Evidence stored earlier is safe.": (
        *("readonly", "read-only", "permission denied", "unable to open"),
    ),
    "its database failed. Try again, or open a new session.": ("",),
}
"""What is wrong, by what Chroma's message says."""


@contextlib.contextmanager
def translated(action: str) -> Generator[None]:
    """Translate what Chroma raises while it tries to `action` into one of our errors.

    Raises:
        SessionNotFoundError: the collection is gone, or another call has closed the session.
        EvidenceStoreError: anything else.
    """
    try:
        yield
    except NotFoundError:
        raise SessionNotFoundError() from None
    except AttributeError as error:  # a closed client has no `bindings`
        if "bindings" not in str(error):
            raise
        raise SessionNotFoundError() from None
    # Chroma raises bare ValueErrors and RuntimeErrors besides its own errors.
    except (ChromaError, httpx.HTTPError, OSError, ValueError, RuntimeError) as error:
        logger.warning("chroma could not %s: %s", action, type(error).__name__)
        text = "could not connect" if isinstance(error, httpx.HTTPError) else str(error).lower()
        if any(sign in text for sign in _DAMAGE):
            raise damaged() from error
        reason = next(reason for reason, signs in _REASONS.items() if any(sign in text for sign in signs))
        raise EvidenceStoreError(f"The evidence store could not {action}: {reason}") from error


def damaged() -> EvidenceStoreError:
    """The error for a session whose files cannot be read."""
    error = EvidenceStoreError(
        "This session is damaged: its evidence cannot be read. Delete it with clear_session, and pass "
        'session_id="new" to continue in a fresh one.'
    )
    error.retryable = False
    return error
