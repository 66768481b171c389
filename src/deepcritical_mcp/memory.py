"""Caches that hold so many characters or bytes, not so many calls; what the garbage collector passes over."""

from __future__ import annotations

import gc
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterable
from functools import wraps
from typing import Generic, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


def settle() -> None:
    """Keep what there is now out of later garbage collections, which would stop the process for up to half a second to
    look at all of it. For work that leaves thousands of objects."""
    gc.collect(1)
    gc.freeze()


class SizedCache(Generic[K, T]):
    """Values by key, up to `limit` in size, each for at most so many `seconds`; drops the least recently used. Safe to
    use from several threads."""

    def __init__(self, limit: int, seconds: float = math.inf) -> None:
        self._limit, self._seconds = limit, seconds
        self._size = 0
        self._known: OrderedDict[K, tuple[T, int, float]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, keys: Collection[K], within: float = math.inf) -> dict[K, T]:
        """The values of those `keys` that are cached, and were put `within` the last so many seconds."""
        since = time.monotonic() - min(within, self._seconds)
        with self._lock:
            found = {key: self._known[key][0] for key in keys if key in self._known and self._known[key][2] > since}
            for key in found:
                self._known.move_to_end(key)
        return found

    def put(self, key: K, value: T, size: int) -> None:
        """Cache a value of that size, dropping the least recently used ones beyond the limit."""
        with self._lock:
            self._size += size - self._known.pop(key, (value, 0, 0.0))[1]
            self._known[key] = value, size, time.monotonic()
            while self._size > self._limit:
                self._size -= self._known.popitem(last=False)[1][1]

    def drop(self, keys: Iterable[K]) -> None:
        """Forget these keys."""
        with self._lock:
            self._size -= sum(self._known.pop(key)[1] for key in {*keys} & self._known.keys())


def remembering(characters: int, size: Callable[..., int] | None = None) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Keep what a function gave for the texts that it was given last, which have at most so many characters together:
    a cache that counts calls would hold any number of megabytes. `size` tells the characters from the arguments, if
    these are not texts."""

    def decorated(function: Callable[P, T]) -> Callable[P, T]:
        known = SizedCache[Hashable, T](characters)

        @wraps(function)
        def remembered(*args: P.args, **kwargs: P.kwargs) -> T:
            key = args, *kwargs.items()
            for result in known.get([key]).values():
                return result
            result = function(*args, **kwargs)
            texts = (len(one) for one in (*args, *kwargs.values()) if isinstance(one, str))
            known.put(key, result, size(*args, **kwargs) if size else sum(texts))
            return result

        return remembered

    return decorated
