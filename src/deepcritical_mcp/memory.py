"""Caches that hold so many characters, not so many calls."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def _length(*given: object, **named: object) -> int:
    return sum(len(one) for one in (*given, *named.values()) if isinstance(one, str))


def remembering(characters: int, size: Callable[..., int] = _length) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Keep what a function gave for the texts that it was given last, which have at most so many characters together:
    a cache that counts calls would hold any number of megabytes. `size` tells the characters from the arguments."""

    def decorated(function: Callable[P, T]) -> Callable[P, T]:
        known: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        lock, held = threading.Lock(), 0

        @wraps(function)
        def remembered(*args: P.args, **kwargs: P.kwargs) -> T:
            nonlocal held
            key = args, *kwargs.items()
            with lock:
                if key in known:
                    known.move_to_end(key)
                    return known[key][0]
            result, own = function(*args, **kwargs), size(*args, **kwargs)
            with lock:
                held += own - known.pop(key, (result, 0))[1]
                known[key] = result, own
                while held > characters:
                    held -= known.popitem(last=False)[1][1]
            return result

        return remembered

    return decorated
