"""Titles, journals and pages, written as a reference writes others.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rapidfuzz.distance import Indel

from deepcritical_mcp.models import Publication

_BARE = re.compile(r"</?\w{1,6}>|[\W_]")
_PAGES = re.compile(r"([A-Za-z]{0,5}\d{1,8}[A-Za-z]?)(\s{0,2}[-–—‐−]{1,2}\s{0,2})([A-Za-z]{0,5}\d{1,8}[A-Za-z]?)")
_SMALL = frozenset("a an and as at by for from in into of on or the to with de der des du la le et und".split())
_SIMILAR = 0.5
_WHOLE_WORD = 8
"""Letters of a word of a journal's name that is not abbreviated."""
_MARKS = ":;,?!."


def title_in_style(old: str, title: str) -> Iterator[str]:
    """A title in place of `old`: with its markup and capitals where the words are the same, if most are; then whole."""
    true = title_alone(title) if not old.startswith("[") else title.removesuffix(".")
    words, wanted = old.split(), true.split()
    changes = Indel.opcodes([*map(_key, words)], [*map(_key, wanted)])
    kept = sum(one.src_end - one.src_start for one in changes if one.tag == "equal")
    if kept >= _SIMILAR * max(len(wanted), len(words)):
        put = list[str]()
        for one in changes:
            new = wanted[one.dest_start : one.dest_end]
            pairs = zip(words[one.src_start : one.src_end], new, strict=False)
            put += (_with_mark(word, of) for word, of in pairs) if one.tag == "equal" else new
        patched = " ".join(put).rstrip(".") + (true[-1] if true[-1] in "?!" and put[-1][-1] not in "?!" else "")
        yield patched[:1].upper() + patched[1:] if old[:1].isupper() else patched
    yield true


def title_alone(title: str) -> str:
    """A title without the full stop at its end and the brackets around a translation."""
    bare = title.removesuffix(".")
    inner = bare[1:-1].removesuffix(".")
    return inner if bare.startswith("[") and bare.endswith("]") and "[" not in inner else bare


def _key(word: str) -> str:
    return _BARE.sub("", word).casefold() or word


def _with_mark(old: str, true: str) -> str:
    """The old form of a word with the mark that truly follows it, as in "wounds: a trial"."""
    return old if old[-1:] in "*_>" else old.rstrip(_MARKS) + true[len(true.rstrip(_MARKS)) :]


def journal_in_style(old: str, publication: Publication, *, abbreviates: bool) -> str:
    """The journal's name, abbreviated or in full like `old`; `abbreviates` decides where `old` is a word alone."""
    old, full = (re.split(r"\s?[:;=(\[]|\s/\s", one)[0].strip() or one for one in (old, publication.journal))
    short, words = publication.short_journal, re.findall(r"[^\W\d_]+", old)
    is_full = any(word.lower() in _SMALL or len(word) >= _WHOLE_WORD for word in words) and "." not in old
    if not short or not full:
        return full or short or publication.book_title or publication.publisher
    if abbreviates if len(words) == 1 else not is_full:
        whole = {word.casefold() for word in re.findall(r"[^\W_]+", publication.journal)}
        is_cut = ((word.casefold() not in whole and not word.isupper()) or len(word) == 1 for word in short.split())
        dotted = " ".join(f"{word}." if cut else word for word, cut in zip(short.split(), is_cut, strict=True))
        return dotted if re.search(r"[A-Za-z]\.(?:\s|$)", old) else short
    if words[-1:] and words[-1][0].islower():
        return full
    return " ".join(word if word in _SMALL else word[:1].upper() + word[1:] for word in full.split())


def pages_in_style(old: str, pages: str) -> str:
    """Pages with the dash of `old`, abbreviated ("1730-44") or in full like it."""
    found, true = _PAGES.fullmatch(old.strip()), _PAGES.fullmatch(pages.strip())
    if not found or not true:
        return pages
    first, last = true[1], true[3]
    if len(last) < len(first) and last.isdecimal():
        last = first[: len(first) - len(last)] + last
    if len(found[3]) < len(found[1]) and len(last) == len(first):
        same = next((at for at, letter in enumerate(first) if letter != last[at]), len(first) - 1)
        last = last[same:]
    return f"{first}{found[2]}{last}"
