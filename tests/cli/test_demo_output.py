"""What the demo prints."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

import pytest

from deepcritical_mcp.cli.demo_output import Screen
from deepcritical_mcp.models import STATUSES, Evidence, Publication, status_label


def test_every_status_is_shown_under_its_label(capsys: pytest.CaptureFixture[str]) -> None:
    for status in STATUSES:
        one = Publication.of("abstract", "Text.", provider="p", source="pubmed", title="The title", status=status)
        Screen().evidence((Evidence.of(one),))
        label = status_label(status)
        assert f"1. {label} The title".replace("  ", " ") in capsys.readouterr().out


@pytest.mark.skipif(sys.platform == "win32", reason="pipes behave differently there")
async def test_a_reader_that_leaves_ends_the_next_line_but_not_a_task_that_reports(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with suppress(BrokenPipeError), os.fdopen(writer, "w", encoding="utf-8") as output:
        monkeypatch.setattr(sys, "stdout", output)
        screen = Screen()
        async with screen.working("searching") as report:
            await report(0.5, 1.0, "halfway")
        with pytest.raises(BrokenPipeError):
            screen.say("found")
    monkeypatch.undo()
    assert capfd.readouterr().err == ""
