"""What the web can be asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

from pydantic import model_validator

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.sources.base import Hit, SearchRequest
from deepcritical_mcp.sources.web.provider import WebOptions


class WebRequest(SearchRequest, WebOptions):
    """The arguments of `web_search`: the query, the options of each provider, and the lowest score that counts."""

    MOST_RESULTS: ClassVar[int] = 50
    LAST_RESULT: ClassVar[int] = 50

    min_score: float = 0.3

    @model_validator(mode="after")
    def _check_score(self) -> Self:
        if not 0 <= self.min_score <= 1:
            raise InvalidInputError(f"min_score: 0 to 1, got {self.min_score:g}.")
        return self

    @property
    def options(self) -> WebOptions:
        """The part that each provider is asked with."""
        return WebOptions(**{name: getattr(self, name) for name in WebOptions.model_fields})

    def leave_out(self, found: Sequence[Hit]) -> tuple[list[Hit], tuple[str, ...]]:
        """Without results below `min_score`."""
        good = [hit for hit in found if hit.score >= self.min_score]
        low = len(found) - len(good)
        if not low:
            return good, ()
        return good, (f"{low} result{'s' if low > 1 else ''} below min_score {self.min_score:g} left out.",)
