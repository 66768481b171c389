"""Words and phrases of a text, compared by their stems, and the abbreviations that it defines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from itertools import pairwise

from deepcritical_mcp.search.expansion.word_lists import endings, word_list, word_table
from deepcritical_mcp.text import GREEK_NAMES, NEGATIONS, QUERY_FUNCTION_WORDS, one_spelling, words_of

_TOKEN = re.compile(r"[^\W_]+(?:(?:[-‐‑'’.+·]|(?<=\d),(?=\d))[^\W_]+)*\+*|\S")
_PLAIN = str.maketrans({"'": "", "’": "", **GREEK_NAMES})
_PARENTHESIZED = re.compile(r"[(\[]([^()\[\]]{1,100})[)\]]")
_MAX_CHARS_BEFORE = 200


@lru_cache(maxsize=4096)  # the same index terms come again and again
def stems(text: str) -> frozenset[str]:
    """The stems of the words of `text` that carry meaning, in American spelling and with Greek letters spelled out."""
    words = re.findall(r"\w+", text.lower().translate(_PLAIN))
    ignored = QUERY_FUNCTION_WORDS - NEGATIONS
    return frozenset(words_of(" ".join(one_spelling(word) for word in words if word not in ignored)))


@cache
def general_stems() -> frozenset[str]:
    """The stems of words that name no subject."""
    return stems(" ".join(word_list("too general")))


def phrases(text: str) -> Iterator[tuple[str, ...]]:
    """The runs of words between function words and punctuation."""
    run: list[str] = []
    all_caps = not any(letter.islower() for letter in text)
    for token in [*_TOKEN.findall(text), "."]:
        is_acronym = token.isupper() and len(token) > 1 and not all_caps and token not in {"AND", "OR", "NOT"}
        is_word = any(letter.isalnum() for letter in token)
        if is_word and (is_acronym or token.lower().replace("’", "'") not in QUERY_FUNCTION_WORDS):
            run.append(token)
        elif run:
            yield tuple(run)
            run = []


def singular(word: str) -> str:
    """A word in small letters in the singular: "biopsies" -> "biopsy", "diagnoses" -> "diagnosis"."""
    if word in endings("only look plural"):
        return word
    plurals = word_table("plural endings").items()
    found = next(((plural, one) for plural, one in plurals if word.endswith(plural)), ("", ""))
    if found[0] == "s" and word.endswith(endings("only look plural")):
        return word
    return word.removesuffix(found[0]) + found[1]


def natural_order(heading: str) -> str:
    """An inverted heading in natural order: "Diabetes Mellitus, Type 2" -> "Type 2 Diabetes Mellitus"."""
    return " ".join(reversed(heading.split(", "))) if heading.count(", ") in (1, 2) else heading


def definitions(texts: Iterable[str]) -> dict[str, str]:
    """Abbreviation -> long form, as the texts define them; the first definition wins. Takes linear time.

    After A. S. Schwartz and M. A. Hearst, "A simple algorithm for identifying abbreviation definitions in biomedical
    text" (Pacific Symposium on Biocomputing 2003): a short form in parentheses after its long form, or the other way
    round; every character of the short form is found in the long one, from right to left, the first at the beginning
    of a word.
    """
    found: dict[str, str] = {}
    for text in texts:
        for match in _PARENTHESIZED.finditer(text):
            before = re.split(r"[()\[\]]", text[max(0, match.start() - _MAX_CHARS_BEFORE) : match.start()])[-1]
            inside = re.split("[;,]", match[1], maxsplit=1)[0].strip()
            short, long = inside, _long_form(inside, re.split(r"[.;:!?]\s", before)[-1])
            if not _can_be_short_form(inside) and before.split():
                short = before.split()[-1]
                long = inside if _long_form(short, inside) == inside else ""
            if long and _can_be_short_form(short):
                found.setdefault(short, long)
    return found


def _can_be_short_form(text: str) -> bool:
    """2 to 10 characters in at most two words, with two capitals, or one and a digit."""
    capitals = sum(letter.isupper() for letter in text)
    is_marked = capitals >= 2 or (capitals == 1 and any(map(str.isdigit, text)))
    return 2 <= len(text) <= 10 and len(text.split()) <= 2 and text[0].isalnum() and is_marked


def _long_form(short: str, text: str) -> str:
    """The shortest end of `text` that `short` abbreviates, "" if there is none or if it is too long."""
    first, *others = [letter.lower() for letter in short if letter.isalnum()] or [" "]
    place = len(text)
    for letter in reversed(others):
        place = text.lower().rfind(letter, 0, max(place, 0))
    place = text.lower().rfind(first, 0, max(place, 0))
    while place > 0 and text[place - 1].isalnum():
        place = text.lower().rfind(first, 0, place)
    long = text[place:].strip(" -,;:\"'") if place >= 0 else ""
    is_longer = len(long) > len(short) and short.lower() not in long.lower().split()
    return long if is_longer and len(long.split()) <= min(len(short) + 5, 2 * len(short)) else ""


def is_symbol(word: str) -> bool:
    """Whether a word looks like a gene, an abbreviation or a compound: "AMPK", "p53", "IL-6", "TNF-α"."""
    has_digit = any(letter.isdigit() for letter in word)
    has_inner = any(one.islower() and other.isupper() for one, other in pairwise(word))  # "mgrB"
    return (has_digit or has_inner or sum(letter.isupper() for letter in word) > 1) and any(
        letter.isalpha() for letter in word
    )


def is_drug(word: str) -> bool:
    """Whether a word looks like the name of a drug."""
    lower = word.lower()
    return len(lower) > 6 and lower.endswith(endings("drug endings"))
