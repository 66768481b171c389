"""How a call's time is shared: the one place that says how long each phase may take.

A call's deadline is the innermost cancel scope around it (`anyio.fail_after` in the server). A phase either keeps back
a part of the time left for what follows it, or takes a part of it. All times are in seconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import anyio


@dataclass(frozen=True)
class Share:
    """A part of the time left, and at most so many seconds of it."""

    part: float
    most: float = math.inf

    def of(self, seconds: float) -> float:
        """This share of `seconds`."""
        return min(self.part * seconds, self.most)


# Kept back for what follows.
TO_REPORT_FAILURE = Share(0.2, 1.5)
"""After a provider's last attempt, so that the caller learns what failed."""
TO_KEEP_RESULTS = Share(0.15, 5.0)
"""After the variants were asked, for storing what they found."""
TO_FETCH_RECORDS = Share(0.5)
"""After several variants were asked, where the records have yet to be fetched and stored."""
TO_READ_CACHE = Share(0.1, 2.0)
"""After the last web provider, for earlier results."""

# Taken at most.
VOCABULARY = Share(0.3, 10.0)
"""To look up a topic's concepts; five small requests to NCBI take about 3 seconds."""
CLIENT_MODEL = Share(0.5)
"""To wait for the client's own model, whose user may have to approve the request."""


def seconds_left(most: float = math.inf) -> float:
    """Seconds until the innermost deadline around the caller, at most `most`; infinity where there is no deadline."""
    return min(most, anyio.current_effective_deadline() - anyio.current_time())


def seconds_before(kept: Share, *, most: float = math.inf) -> float:
    """Seconds left, at most `most`, without the share that is kept back for what follows."""
    left = seconds_left(most)
    return left if math.isinf(left) else left - kept.of(left)


def seconds_for(taken: Share, *, most: float = math.inf) -> float:
    """Seconds that a phase may take of those left, at most `most`."""
    return taken.of(seconds_left(most))


def even_share(end: float, following: int) -> float:
    """Seconds for one of several equal turns: the time until `end` (on the event loop's clock), divided by this turn
    and the `following` ones."""
    return max(0.0, end - anyio.current_time()) / (1 + following)
