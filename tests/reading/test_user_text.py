"""A user's own text, read into sections."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.reading.user_text import read_own_text

LONG = "Zinc was given to 40 adults with warts, and placebo to 41. " * 8
MARKDOWN = f"""# Zinc for warts

## Methods

{LONG}

- first item
- second *item*

## 2. Results

Warts went away in 31 % (p <0.05).

Table 1. Deaths by arm

| Arm | Deaths |
|-----|:------:|
| Zinc | 0 |

### Harms

{LONG}
"""
PLAIN = f"Zinc for warts\n\n{LONG}\n\nMETHODS\n{LONG}\n\n3. Results\n\nHealing was faster with zinc.\n\n{LONG}"
HTML = f"<h1>Zinc</h1><h2>Methods</h2><p>{LONG}</p><h2>Results</h2><p>Healing was <b>faster</b>.</p><p>{LONG}</p>"


def test_markdown_is_read_into_sections_with_anchors_and_tables() -> None:
    reading, title = read_own_text(MARKDOWN)
    assert title == "Zinc for warts"
    assert [(one.anchor, one.kind, one.path) for one in reading.parts] == [
        ("s1.1", "section", ("Methods",)),
        ("s1.2", "section", ("Results",)),
        ("t1", "table", ("Results", "Table 1")),
        ("s1.2.1", "section", ("Results", "Harms")),
    ]
    assert "#" not in reading.content
    assert "Results" not in reading.content
    assert "- first item\n- second *item*" in reading.content
    assert "Table 1. Deaths by arm\n\n| Arm | Deaths |\n" in reading.content


@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize("heading", ["Follow-up", "Methods"])
def test_headings_that_are_all_equal_are_not_the_title(heading: str, count: int) -> None:
    reading, title = read_own_text("\n\n".join(f"# {heading}\n\nGoat {one} limped." for one in range(count)))
    assert (title, [part.path for part in reading.parts]) == ("", [(heading,)] * count)


SAID = "It helps. It is cheap. I would try it."


@pytest.mark.parametrize("note", [f"# Zinc\n\n{SAID}", f"<h1>Zinc</h1><p>{SAID}</p>", f"Zinc\n====\n\n{SAID}\n"])
def test_a_short_note_has_its_heading_as_title(note: str) -> None:
    reading, title = read_own_text(note)
    assert (title, reading.content.strip(), reading.parts) == ("Zinc", SAID, ())


@pytest.mark.parametrize(
    ("text", "last"),
    [
        (f"# Zinc\n\n## Methods\n\n{SAID}\n\n## Results\n\nWarts went away.", "Warts went away."),
        (f"<h1>Zinc</h1><h2>Methods</h2><p>{SAID}</p><h2>Results</h2><p>Warts went away.</p>", "Warts went away."),
        (PLAIN, LONG.strip()),
        (HTML, LONG.strip()),
    ],
)
def test_texts_with_headings_have_sections_however_short_and_in_any_form(text: str, last: str) -> None:
    reading, title = read_own_text(text)
    assert title == ("" if text == PLAIN else "Zinc")
    assert [one.path[-1].lstrip("3. ").title() for one in reading.parts[-2:]] == ["Methods", "Results"]
    assert "Methods" not in reading.content
    assert reading.content.endswith(last)


@given(st.lists(st.sampled_from(["# ", "a b.", "\n", "| a | b |", "|---|---|", "METHODS", "- ", "<p>", "1. X"])))
def test_any_text_is_read_and_parts_lie_within_it(pieces: list[str]) -> None:
    text = "\n".join(pieces) + "\n" + LONG * 3
    reading, _ = read_own_text(text)
    assert reading.content.strip()
    assert all(0 <= one.start <= len(reading.content) for one in reading.parts)
