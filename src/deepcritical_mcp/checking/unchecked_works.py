"""What a reference is to, if that is something that neither PubMed nor Crossref need have: a book, a law, a site.

Every regular expression in `work_kinds.txt` is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

from deepcritical_mcp.search.references import MAX_REFERENCE, WrittenReference
from deepcritical_mcp.text import clean_line


class _Sign(NamedTuple):
    """Words that tell what a reference is to; certain ones stand in no reference to an article."""

    kind: str
    pattern: re.Pattern[str]
    is_certain: bool


@lru_cache(maxsize=1)
def _known() -> tuple[Mapping[str, str], tuple[_Sign, ...]]:
    """The kinds of works by the types of entries, and the signs in the order in which they count."""
    types, signs = dict[str, str](), list[_Sign]()
    for row in (files("deepcritical_mcp.checking") / "work_kinds.txt").read_text("utf-8").splitlines():
        if row.startswith("#"):
            continue
        kind, flags, value = row.split("\t")
        if flags == "types":
            types |= dict.fromkeys(value.split(), kind)
        else:
            signs.append(_Sign(kind, re.compile(value, 0 if "a" in flags else re.IGNORECASE), "!" in flags))
    return types, tuple(signs)


class UncheckedWork(NamedTuple):
    """What a reference is to, e.g. "a book"; `is_certain` if no journal article is written like that."""

    kind: str
    is_certain: bool


def unchecked_work(written: str, reference: WrittenReference) -> UncheckedWork | None:
    """What else than an article a reference is to; None if it is to an article, as far as one can tell."""
    says = reference.says
    if reference.entry:
        type_ = reference.entry.type
        kind = _known()[0].get(type_, "")
        if kind or says.journal or any(reference.ids):
            return UncheckedWork(kind, True) if kind and not (says.journal and says.volume) else None
        return _by_sign(clean_line(written[:MAX_REFERENCE]), is_article=False) or (
            UncheckedWork("a work without a journal", False) if type_ in ("misc", "gen", "document") else None
        )
    line = clean_line(written[:MAX_REFERENCE])
    is_article = bool(says.journal and says.volume and (says.pages or says.issue)) or (
        bool(reference.ids.pmid or reference.ids.pmcid)
    )
    return _by_sign(line, is_article=is_article)


def _by_sign(line: str, *, is_article: bool) -> UncheckedWork | None:
    for kind, pattern, is_certain in _known()[1]:
        if (is_certain or not is_article) and pattern.search(line):
            return UncheckedWork(kind, is_certain)
    return None
