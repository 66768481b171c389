"""Memory that is free in the process, given back to the system."""

from __future__ import annotations

import ctypes
import gc
import sys


def give_memory_back() -> None:
    """Return freed memory to the system, where the C library would keep it: glibc holds what other threads have freed.

    Does nothing where the C library is another one.
    """
    gc.collect()
    if sys.platform == "win32":
        return
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
