"""What the demo prints."""

from __future__ import annotations

import pytest

from deepcritical_mcp.cli.screen import Screen
from deepcritical_mcp.models import STATUSES, Evidence, Publication, status_label


def test_every_status_is_shown_under_its_label(capsys: pytest.CaptureFixture[str]) -> None:
    for status in STATUSES:
        one = Publication.of("abstract", "Text.", provider="p", source="pubmed", title="The title", status=status)
        Screen().evidence((Evidence.of(one),))
        label = status_label(status)
        assert f"1. {label} The title".replace("  ", " ") in capsys.readouterr().out
