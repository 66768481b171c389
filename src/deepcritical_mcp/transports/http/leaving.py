"""The way out of the process."""

from __future__ import annotations

import logging
import os
import sys
from typing import NoReturn


def leave(code: int) -> NoReturn:
    """End the process now: threads that still compute or wait must not hold it up."""
    logging.shutdown()
    sys.stderr.flush()
    os._exit(code)
