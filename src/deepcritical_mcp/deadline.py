"""How a call's time is shared: the one place that says how long each phase may take.

A call's deadline is the innermost cancel scope around it (`anyio.fail_after` in the server). A phase either reserves
a share of the remaining time for what follows, or may use at most a share of it. All times are in seconds. `for_each`
does something for many values at once.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any

import anyio

Progress = Callable[[float, str], Awaitable[None]]
"""Called with the fraction done, 0..1, and a message for people."""


async def no_progress(fraction: float, message: str) -> None:
    """For callers that do not want reports."""


def phase(progress: Progress, start: float, end: float) -> Progress:
    """Reports of one phase of a call, which goes from `start` to `end`."""

    async def report(fraction: float, message: str) -> None:
        await progress(start + (end - start) * fraction, message)

    return report


@dataclass(frozen=True)
class Share:
    """A share of the remaining time, capped at `cap` seconds."""

    part: float
    cap: float = math.inf

    def of(self, seconds: float) -> float:
        """This share of `seconds`."""
        return min(self.part * seconds, self.cap)


# Reserved for what follows.
TO_REPORT_FAILURE = Share(0.2, 1.5)
"""After a provider's last attempt, so that the caller learns what failed."""
TO_KEEP_RESULTS = Share(0.15, 5.0)
"""After the variants were asked, for storing the results."""
TO_FETCH_RECORDS = Share(0.5)
"""After the variants were asked, if the records must still be fetched and stored."""
TO_READ_CACHE = Share(0.1, 2.0)
"""After the last web provider, for cached results."""
TO_CHECK_TEXTS = Share(0.3, 12.0)
"""After a draft's references were looked up, for its quotations and claims."""

# Upper limits.
IN_LINE = Share(0.9)
"""To wait until a provider that limits requests per second may be asked."""
AT_ENTRY = Share(0.8)
"""The longest wait to expect when a call enters that line: less than the above, since a crowd slows the line down."""
TO_EMBED = Share(0.4)
"""To embed documents; without vectors they are found by words until embedded later."""
TO_EMBED_FOR_ANSWER = Share(0.2)
"""To embed, within a search of the session, what it could compare by words as well."""
VOCABULARY = Share(0.3, 12.0)
"""To look up a topic's concepts; five small requests to NCBI take about 2 seconds, each abbreviation 2 more."""
TO_ASK_WITNESS = Share(0.2, 6.0)
"""To ask a second witness what happened to publications; without it, their records say what is known."""
TO_READ_STATUS = Share(0.3, 12.0)
"""To read the status of kept records again."""
TO_RECHECK_EXPORT = Share(0.5, 30.0)
"""To ask again for the status of all that is exported; what is not reached is counted in the answer."""
COUNTS = Share(0.4, 10.0)
"""To count what the proposed queries find: a request each, about 3 a second."""
TO_READ_REFERENCES = Share(0.5, 15.0)
"""To ask services that read one reference a request; those that they were not asked for are named."""
TO_READ_CITED_TEXTS = Share(0.6, 30.0)
"""To read the full texts of papers that a draft cites, many of them; the others are read in the next part."""
LINKS_OF_ONE = Share(0.3, 10.0)
"""To ask all services about the links of one paper, side by side."""
LINKS = Share(0.62, 28.0)
"""The same of many papers; a later call asks about those that are left."""
NAMES = Share(0.3, 6.0)
"""To learn which of the papers that they name are the same."""
CITATION_COUNTS = Share(0.4, 5.0)
"""To count how often the papers found have been cited; one request, which only completes a result."""
OWN_TEXTS = Share(0.6)
"""To read the texts of a user's own library; a later call reads those that are left."""
CLIENT_MODEL = Share(0.5)
"""To wait for the client's own model, whose user may have to approve the request."""


def seconds_left(cap: float = math.inf) -> float:
    """Seconds until the innermost deadline around the caller, at most `cap`; infinity without a deadline."""
    return min(cap, anyio.current_effective_deadline() - anyio.current_time())


def seconds_before(reserved: Share, *, cap: float = math.inf) -> float:
    """Seconds left, at most `cap`, minus the share reserved for what follows."""
    left = seconds_left(cap)
    return left if math.isinf(left) else left - reserved.of(left)


def seconds_for(share: Share, *, cap: float = math.inf) -> float:
    """How many of the seconds left, at most `cap`, a phase may take."""
    return share.of(seconds_left(cap))


def even_share(end: float, following: int) -> float:
    """Seconds for one of several equal turns: the time until `end` (on the event loop's clock), divided by this turn
    and the `following` ones."""
    return max(0.0, end - anyio.current_time()) / (1 + following)


async def for_each(ask: Callable[..., Coroutine[Any, Any, None]], *given: Iterable[object]) -> None:
    """Do something for each of some values at once, or for each row of several values side by side."""
    async with anyio.create_task_group() as tasks:
        for some in zip(*given, strict=True):
            tasks.start_soon(ask, *some)
