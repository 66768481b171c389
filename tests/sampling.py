"""Long tables of which the default run takes a part."""

from collections.abc import Iterable
from typing import Any

import pytest


def one_in(few: int, table: Iterable[Any]) -> list[Any]:
    """The rows for `parametrize`: one in so many runs by default, the others are marked `long`."""
    rows: list[tuple[Any, ...]] = [row if isinstance(row, tuple) else (row,) for row in table]
    return [pytest.param(*row, marks=[pytest.mark.long] if at % few else []) for at, row in enumerate(rows)]
