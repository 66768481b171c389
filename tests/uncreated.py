"""Services that tests make themselves, not from settings."""

from typing import Any, Self


class Uncreated:
    """Comes before the kind of service in the bases of a fake."""

    @classmethod
    def create(cls, settings: Any, net: Any) -> Self:
        raise NotImplementedError
