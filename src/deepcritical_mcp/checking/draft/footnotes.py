"""Footnotes of Markdown, "[^a]: Berg J. …", with their indented lines."""

from __future__ import annotations

import re
from collections.abc import Iterator

from deepcritical_mcp.checking.draft.entry_forms import has_date_or_id, is_no_entry, is_whole_entry
from deepcritical_mcp.checking.draft.list_entries import ListEntry
from deepcritical_mcp.checking.draft.masking import lines_of

_NOTE = re.compile(r" {0,3}\[\^([^\]\s]{1,60})\]:[ \t]{0,4}")


def footnotes_in(text: str) -> Iterator[ListEntry]:
    """The footnotes that are references; one that only explains something belongs to the text."""
    lines = [*lines_of(text)]
    for number, line in enumerate(lines):
        if (mark := _NOTE.match(line.text)) is None:
            continue
        last, next_one = number, number + 1
        while next_one < len(lines) and not _NOTE.match(lines[next_one].text):
            if not lines[next_one].text.strip():
                if not "".join(one.text for one in lines[next_one + 1 : next_one + 2]).startswith(("    ", "\t")):
                    break
            else:
                last = next_one
            next_one += 1
        start, end = line.start + mark.end(), lines[last].end
        whole = text[start:end].strip()
        if is_whole_entry(whole) or (has_date_or_id(whole) and not is_no_entry(whole)):
            yield ListEntry(whole, start, end, f"^{mark[1]}")
