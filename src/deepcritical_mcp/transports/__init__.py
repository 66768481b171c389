"""How clients connect: stdio, streamable HTTP and SSE."""

from __future__ import annotations

import logging
import os
import sys
from typing import NoReturn


def exit_now(code: int) -> NoReturn:
    """End the process without waiting for its threads, which may be blocked in a read or busy computing."""
    logging.shutdown()
    sys.stderr.flush()
    os._exit(code)
