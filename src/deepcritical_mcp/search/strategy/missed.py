"""The words of a record that would have let a part of a strategy find it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import pairwise

from deepcritical_mcp.models import Publication
from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.phrases import general_stems, natural_order, phrases, stems
from deepcritical_mcp.search.expansion.word_lists import word_list
from deepcritical_mcp.search.strategy.syntax import LIMITING, Term, parse, terms
from deepcritical_mcp.sources.base import MeshDescriptor
from deepcritical_mcp.sources.pubmed.request import STUDY_FILTERS

MAX_WORDS = 6
_MAX_APART = 10
_LEAST_BEGINNING = 5
"""Letters that two words must begin with to be of one family."""
PERHAPS = "perhaps "
"""Stands before words that need not help: only the most telling ones of the record, or beside terms that AND joins."""
Headings = Mapping[str, MeshDescriptor]


def record_headings(record: Publication) -> list[str]:
    """The headings of a record, without those of persons and methods."""
    names = dict.fromkeys(one.split("/")[0].strip("* ") for one in record.mesh_terms)
    return [name for name in names if name.casefold() not in word_list("check tags")]


def words_that_find(
    record: Publication, found: Sequence[Term], headings: Headings, others: Iterable[Term] = ()
) -> tuple[str, ...]:
    """Terms for PubMed that the record has and that are near to `found`, the terms of a part: headings, other names,
    other forms; else its most telling words, which are no words of the `others`, the terms of the other parts.
    `headings` are MeSH's records by their names in small letters."""
    text = f"{record.title} ¶ {record.text.content}".lower()
    near = dict.fromkeys((*_near_headings(record, found, headings), *_near_words(text, found, headings)))
    written = {str(term).lower().replace('"', "") for term in found}
    if kept := [one for one in near if one.partition(" (")[0].lower().replace('"', "") not in written]:
        return tuple(kept[:MAX_WORDS])
    if all(term.field in ("la", "dp") for term in found):  # a limit loses it, and no word would find it
        return ()
    if any(term.field in LIMITING for term in found):  # a filter for studies: no word of the subject belongs there
        types = [pubmed_syntax.phrase(one, "pt") for one in record.publication_types if one != "Journal Article"]
        usual = [term for term in terms(parse(STUDY_FILTERS["rct"].pubmed)[0]) if term.is_free]
        return (*types, *(str(term) for term in usual if f" {term.text.lower()}" in f" {text}"))[:MAX_WORDS]
    known = stems(" ".join(term.text for term in others)) | general_stems()
    major = [one.split("/")[0].strip("* ") for one in record.mesh_terms if "*" in one]
    telling = [pubmed_syntax.phrase(one, "mh") for one in dict.fromkeys(major) if not stems(one) & known]
    for run in phrases(record.title.lower()):
        rare = [word for word in run if len(word) > 3 and not stems(word) <= known]
        is_phrase = 1 < len(rare) == len(run) < 4
        telling += [pubmed_syntax.term(one, "tiab") for one in ([" ".join(run)] if is_phrase else rare)]
    new = [one for one in dict.fromkeys(telling) if one.lower().replace('"', "") not in written]
    return tuple(f"{PERHAPS}{one}" for one in new)[:MAX_WORDS]


def _near_headings(record: Publication, found: Sequence[Term], headings: Headings) -> Iterator[str]:
    """Headings of the record next to those of the part in the tree, or with a word of it in their names."""
    own = [headings[name] for term in found if (name := term.heading.lower()) in headings and term.is_heading]
    said = stems(" ".join(term.text for term in found)) - general_stems()
    for name in record_headings(record):
        heading = headings.get(name.lower())
        relation = next(filter(None, (_relation(heading, one) for one in own if heading)), "")
        if relation or stems(name) & said:
            yield f"{pubmed_syntax.phrase(name, 'mh')}{f' ({relation})' if relation else ''}"


def _relation(one: MeshDescriptor, other: MeshDescriptor) -> str:
    pairs = [(mine, its) for mine in one.tree_numbers for its in other.tree_numbers]
    if any(mine.startswith(f"{its}.") for mine, its in pairs):
        return f"narrower than {other.name}"
    if any(its.startswith(f"{mine}.") for mine, its in pairs):
        return f"broader than {other.name}"
    is_beside = any("." in mine and mine.rpartition(".")[0] == its.rpartition(".")[0] for mine, its in pairs)
    return f"next to {other.name}" if is_beside and one.name != other.name else ""


def _near_words(text: str, found: Sequence[Term], headings: Headings) -> Iterator[str]:
    """Other names of the part's headings in a text in small letters; its words in another form, or apart."""
    padded = f" {' '.join(pubmed_syntax.words(text).split())} "
    for term in found:
        record = headings.get(term.heading.lower()) if term.is_heading else None
        for name in map(natural_order, (record.name, *record.entry_terms) if record else ()):
            if f" {name.lower()} " in padded:
                yield pubmed_syntax.term(name.lower(), "tiab")
    tokens = padded.split()
    known = [(word, stems(word)) for word in dict.fromkeys(tokens)]
    pairs = {f"{one} {other}": stems(f"{one} {other}") for one, other in pairwise(tokens)}
    for term in found:
        own, words = stems(term.text.rstrip("*")), term.text.lower().rstrip("*").split()
        if term.is_heading or not own or own <= general_stems():
            continue
        if len(words) == 1:
            beginning = words[0][: max(_LEAST_BEGINNING, len(words[0]) - 3)]
            for word, stem in known:
                if stem == own or (word.startswith(beginning) and len(beginning) >= _LEAST_BEGINNING):
                    yield pubmed_syntax.term(word, "tiab")
        elif same := [pair for pair, stem in pairs.items() if stem == own]:
            yield from (pubmed_syntax.term(pair, "tiab") for pair in same)
        elif {*words} <= {*tokens} and (apart := _apart(tokens, {*words})) >= 0:
            yield pubmed_syntax.phrase(term.text.rstrip("*"), f"tiab:~{apart}")


def _apart(tokens: Sequence[str], own: Set[str]) -> int:
    """How many words stand between these where they are closest; -1 if that is far."""
    places = [(place, word) for place, word in enumerate(tokens) if word in own]
    best = -1
    for start, (first, _) in enumerate(places):
        seen = set[str]()
        for place, word in places[start:]:
            seen.add(word)
            if own <= seen:
                between = place - first - len(own) + 1
                best = between if best < 0 else min(best, between)
                break
    return best if best <= _MAX_APART else -1
