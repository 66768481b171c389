"""Notes beside a number, in one's own words: "PMID 30000001 – Müller, zinc for wounds"."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from deepcritical_mcp.evidence.titles import content_words, tokens
from deepcritical_mcp.models import Publication
from deepcritical_mcp.search.references import WrittenReference

_LONGEST = 8
"""Words of a note; a reference with a title is longer."""
_STEM = 5
_OF_PAPERS = frozenset("al article clinical cohort et letter meta analysis paper review rct study trial".split())
"""Words for any paper."""


def is_note(reference: WrittenReference, record: Publication) -> bool:
    """Whether what stands beside a number is a note on `record` and no reference: no place, and every word of it, but
    for words for any paper, is one of the record's title, authors, year or subjects; abbreviations count. With the
    first author, it may be one of the abstract's."""
    is_entry = reference.is_labelled and reference.has_title
    if is_entry or reference.says.volume or reference.says.pages:
        return False
    words = [word for word in content_words(tokens(reference.text)) if len(word) > 1 and word not in _OF_PAPERS]
    if not 0 < len(words) <= _LONGEST:
        return False
    said = " ".join((record.title, record.vernacular_title, *map(str, record.authors), *record.mesh_terms))
    known = {*tokens(said), *tokens(" ".join(record.keywords)), record.date[:4], record.electronic_date[:4]}
    is_theirs = bool(record.authors) and {*tokens(record.authors[0].family)} <= {*words}
    if is_theirs:  # "Berg 2019 (PMID 1) - zinc in wounds"
        known |= {*tokens(" ".join(text.content for text in record.texts))}
    short = {part for word in reference.text.split() if word.strip("().,:;").isupper() for part in tokens(word)}
    titles = tokens(record.title)
    return all(_is_known(word, known) or (word in short and _abbreviates(word, titles)) for word in words)


def _abbreviates(short: str, words: Sequence[str]) -> bool:
    """Whether its letters stand in a few words in order, the first one at the start: "HCC", hepatocellular cancer."""
    starts = [at for at, word in enumerate(words) if word[0] == short[0]]
    letters = (iter("".join(words[at : at + len(short)])) for at in starts)
    return any(all(letter in left for letter in short) for left in letters)


def _is_known(word: str, known: Collection[str]) -> bool:
    """Whether it is a known word or another form of one: "statins", "statin"."""
    if word in known or word.removesuffix("s") in known:
        return True
    stem = word[: max(_STEM, len(word) - 2)]
    return len(word) >= _STEM and any(len(one) >= _STEM and one[: len(stem)] == stem[: len(one)] for one in known)
