"""Abbreviations and their long forms, where a text defines them.

After A. S. Schwartz and M. A. Hearst, "A simple algorithm for identifying abbreviation definitions in biomedical text"
(Pacific Symposium on Biocomputing 2003): a short form in parentheses after its long form, or the other way round; every
character of the short form is found in the long one, from right to left, the first at the beginning of a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_BRACKET = re.compile(r"[()\[\]]")
_MOST_CHARS_BEFORE = 200
_MOST_CHARS_INSIDE = 100
_MOST_SHORT_CHARS = 10


def definitions(texts: Iterable[str]) -> dict[str, str]:
    """Short form -> long form, as the texts define them; the first definition of a short form stands.

    Takes time proportional to the length of the texts.
    """
    found: dict[str, str] = {}
    for text in texts:
        for before, inside in _parenthesised(text):
            short, long = _pair(before, inside)
            if long:
                found.setdefault(short, long)
    return found


def _parenthesised(text: str) -> Iterator[tuple[str, str]]:
    """What stands in each innermost pair of brackets, and what stands before it, back to the previous bracket."""
    start = after_bracket = 0
    opening = -1
    for match in _BRACKET.finditer(text):
        place = match.start()
        if match[0] in "([":
            start, opening = after_bracket, place
        elif opening >= 0:
            if place - opening - 1 <= _MOST_CHARS_INSIDE:
                before = text[max(start, opening - _MOST_CHARS_BEFORE) : opening]
                yield before.strip(), text[opening + 1 : place].strip()
            opening = -1
        after_bracket = place + 1


def _pair(before: str, inside: str) -> tuple[str, str]:
    """The short and the long form in "before (inside)"; long is "" where nothing is defined."""
    inside = re.split("[;,]", inside, maxsplit=1)[0].strip()
    if _can_be_short_form(inside):
        most_words = min(len(inside) + 5, 2 * len(inside))
        last_sentence = re.split(r"[.;:!?]\s", before)[-1]
        return inside, _long_form(inside, " ".join(last_sentence.split()[-most_words:]))
    short = before.split()[-1] if before else ""
    if _can_be_short_form(short) and len(inside.split()) > 1:
        long = _long_form(short, inside)
        return short, long if long == inside else ""
    return short, ""


def _can_be_short_form(text: str) -> bool:
    """2 to 10 characters in at most two words, with two capitals, or one and a digit."""
    if not 2 <= len(text) <= _MOST_SHORT_CHARS or len(text.split()) > 2 or not text[0].isalnum():
        return False
    capitals = sum(letter.isupper() for letter in text)
    return capitals >= 2 or (capitals >= 1 and any(letter.isdigit() for letter in text))


def _long_form(short: str, text: str) -> str:
    """The shortest end of `text` that `short` abbreviates, "" where there is none."""
    position = len(text) - 1
    letters = [letter.lower() for letter in short if letter.isalnum()]
    for index in range(len(letters) - 1, -1, -1):
        while position >= 0 and not (
            text[position].lower() == letters[index]
            and (index > 0 or position == 0 or not text[position - 1].isalnum())
        ):
            position -= 1
        if position < 0:
            return ""
        position -= 1
    long = text[position + 1 :].strip(" -,;:\"'")
    is_longer = len(long) > len(short) and short.lower() not in long.lower().split()
    return long if is_longer and len(long.split()) <= min(len(short) + 5, 2 * len(short)) else ""
