"""Citations by names without years, as the MLA style has them: "(Walker 34)", "Walker … (34)"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from deepcritical_mcp.checking.draft.author_year import folded

_PARENS = re.compile(r"\(([^()\n]{1,160})\)")
_PAGES = re.compile(
    r",?\s{0,2}(?:pp?\.\s?|par\.\s?|ch\.\s?)?[0-9]{1,4}(?:[–-][0-9]{1,4})?(?:, ?[0-9]{1,4}(?:[–-][0-9]{1,4})?){0,3}$"
)
_OTHERS = re.compile(r",? (?:et al\.?|and others)$")
_LEADING = re.compile(r"^(?:qtd\. in|see also|see|cf\.|e\.g\.,?)\s")
_SURNAME = re.compile(r"[\"“*_]{0,2}([^\W\d_][^,.;:(\n]{1,60})[,.]")
_WORD = re.compile(r"[^\W\d_][\w’'-]{1,40}")
_NAME_AND_PAGE = re.compile(
    r"(?:see |cf\. )?(?!(?:Table|Fig|Figure|Box|Chapter|Section|Appendix|Panel|Part)\b)"
    r"[^\W\d_a-zß-öø-ÿ][^\d,;:]{1,60}\s[0-9]{1,4}(?:[–-][0-9]{1,4})?"
)
_BACK = 300
_MOST_ALIKE = 5
"""Works of one name that a citation may mean."""


class WorkCitation(NamedTuple):
    """A citation without a year: where it stands, the numbers of the entries that it means, from 0, and what it cites
    besides that no entry has."""

    start: int
    end: int
    entries: tuple[int, ...]
    unknown: tuple[str, ...] = ()


def work_citations(body: str, entries: Sequence[str]) -> Iterator[WorkCitation]:
    """The citations in a text by the names that entries begin with, and by a page behind such a name."""
    by_name = dict[str, tuple[int, ...]]()
    for number, entry in enumerate(entries):
        if found := _SURNAME.match(entry):
            key = folded(found[1]).strip()
            by_name[key] = (*by_name.get(key, ()), number)[:_MOST_ALIKE]
    last_end = 0
    for found in _PARENS.finditer(body):
        inside, unknown = found[1].strip(), tuple[str, ...]()
        if _PAGES.fullmatch(inside):
            low = max(last_end, found.start() - _BACK)
            words = _WORD.findall(body[low : found.start()].rpartition("\n\n")[2])
            meant = next((by_name[key] for word in reversed(words) if (key := _bare(word)) in by_name), ())
        else:
            parts = {part.strip(): _of_name(part, by_name) for part in inside.split(";")}
            unknown = tuple(part for part, entries in parts.items() if not entries)
            meant = tuple(one for entries in parts.values() for one in entries)
            meant = meant if all(_NAME_AND_PAGE.fullmatch(part) for part in unknown) else ()
        if meant:
            last_end = found.end()
            yield WorkCitation(*found.span(), meant, unknown)


def _bare(word: str) -> str:
    return folded(word.removesuffix("’s").removesuffix("'s"))


def _of_name(part: str, by_name: dict[str, tuple[int, ...]]) -> tuple[int, ...]:
    """The entries that a part of a citation means: "Walker 34", "Walker and Lee 34–35", "Walker et al. 3"."""
    names = _OTHERS.sub("", _PAGES.sub("", _LEADING.sub("", part.strip())))
    first = re.split(r",| and | & ", names, maxsplit=1)[0].strip()
    return by_name.get(folded(first), ())
