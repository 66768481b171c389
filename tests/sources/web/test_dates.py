"""Dates as providers write them."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.models import Citation
from deepcritical_mcp.sources.web.dates import publication_date

TODAY = datetime.date(2026, 3, 15)


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2023-05-25T15:48:12", "2023-05-25"),
        ("2023-05-25", "2023-05-25"),
        ("2023-05", "2023-05"),
        ("2023", "2023"),
        ("Tue, 20 May 2025 10:00:00 GMT", "2025-05-20"),
        ("April 20, 2023", "2023-04-20"),
        ("Mar 4, 2021", "2021-03-04"),
        ("Sept. 4th, 2021", "2021-09-04"),
        ("4 March 2021", "2021-03-04"),
        ("Mar 2021", "2021-03"),
        ("05/01/2024, 07:00 AM, +0000 UTC", "2024-05-01"),
        ("5 minutes ago", "2026-03-15"),
        ("an hour ago", "2026-03-15"),
        ("3 days ago", "2026-03-12"),
        ("2 weeks ago", "2026-03"),
        ("1 month ago", "2026-02"),
        ("4 years ago", "2022"),
        ("yesterday", "2026-03-14"),
        ("Today", "2026-03-15"),
        ("", "Unknown"),
        ("soon", "Unknown"),
        ("2023-13-01", "Unknown"),
        ("February 30, 2023", "Unknown"),
        ("9999-01-01", "Unknown"),
        ("0001-01-01", "Unknown"),
        ("99999999 years ago", "Unknown"),
        ("Foo 12, 2023", "Unknown"),
    ],
)
def test_a_date_is_as_exact_as_its_text(text: str, date: str):
    assert publication_date(text, TODAY) == date


@given(st.text())
def test_any_text_gives_a_date_that_a_citation_takes(text: str):
    Citation(source="web", title="T", date=publication_date(text, TODAY))
