"""How clients connect: over stdio (`stdio`, whose first requests `opening` answers), or over streamable HTTP and SSE
(`http`). `messages` reads whatever they send."""

from __future__ import annotations

import logging
import os
import sys
import threading
from typing import NoReturn


def exit_now(code: int) -> NoReturn:
    """End the process without waiting for its threads, which may be blocked in a read or busy computing."""
    logging.shutdown()
    sys.stderr.flush()
    os._exit(code)


def exit_within(seconds: float) -> None:
    """End the process after that time at the latest, even if a thread never returns to the event loop."""
    timer = threading.Timer(seconds, exit_now, (0,))
    timer.daemon = True
    timer.start()
