"""A topic as the user wrote it, and the same as a query that PubMed reads without losing or inverting a word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.models import QUERY_LIMIT
from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.phrases import phrases, stems
from deepcritical_mcp.search.expansion.word_lists import (
    CONJUNCTIONS,
    DRUG_ENDINGS,
    FOREIGN_STOP_WORDS,
    FUNCTION_WORDS,
    NEGATIONS,
    PUBMED_STOP_WORDS,
    QUESTION_WORDS,
    REQUEST_ENDINGS,
    REQUEST_OPENINGS,
    REQUEST_WORDS,
)
from deepcritical_mcp.text import clean_line

DESCRIPTION_LIMIT = 20_000
# Brave Search, the narrowest of the web providers, takes 400 characters and 50 words.
WEB_CHARS = 400
WEB_WORDS = 50
OTHER_SCRIPT = "another script"
# How many words a negation covers at most, itself included: "without a diagnosis of type 2 diabetes".
_LONGEST_NEGATION = 7

_PICO_LABEL = re.compile(
    r"(?<!\w)(?:[PICOTS]|[Pp]opulation|[Pp]atients?|[Pp]roblem|[Ii]ntervention|[Ee]xposure|[Cc]ompar(?:ison|ator)|"
    r"[Cc]ontrol|[Oo]utcomes?) ?[:=] ?"
)


@dataclass(frozen=True)
class Topic:
    """A topic, read.

    Attributes:
        text: the user's words on one line.
        subject: the same without a request or the labels of PICO; of PubMed syntax the words that name the subject.
        syntax: a well-formed PubMed query where the user wrote in PubMed's syntax, else "".
        parts: without `syntax`, the words for PubMed in order; a negation and what it negates are one quoted part.
        left_out: how many words are not in `parts` because the query would be too long.
        language: "" for English or unknown; else the language it seems to be written in.
        typed: of a topic in NCBI's spelling, the topic for PubMed as the user typed it.
    """

    text: str
    subject: str
    syntax: str
    parts: tuple[str, ...]
    left_out: int
    language: str
    typed: str = ""

    @property
    def words(self) -> str:
        """The topic for PubMed, which joins its words by AND and maps them to MeSH."""
        return self.syntax or " ".join(self.parts)

    @property
    def pubmed(self) -> str:
        """`words`, or in either spelling where there are two."""
        return (
            f"{pubmed_syntax.grouped(self.words)} OR {pubmed_syntax.grouped(self.typed)}" if self.typed else self.words
        )

    @property
    def negated(self) -> frozenset[str]:
        """The stems of what the topic negates."""
        return stems(" ".join(part for part in self.parts if part.startswith('"'))) - NEGATIONS

    @property
    def has_exclusion(self) -> bool:
        """Whether its syntax excludes something, which words alone cannot say."""
        return " NOT " in f" {self.syntax}"

    def find(self, term: str) -> range | None:
        """The places in `parts` of the words of `term`, in whatever case; None where they do not stand together."""
        wanted = term.casefold().split()
        parts = [part.casefold() for part in self.parts]
        starts = (start for start in range(len(parts)) if wanted and parts[start : start + len(wanted)] == wanted)
        start = next(starts, None)
        return None if start is None else range(start, start + len(wanted))


def read_topic(topic: str) -> Topic:
    """Read a topic in words or in PubMed's syntax.

    Raises:
        InvalidInputError: it is blank, longer than `QUERY_LIMIT` characters, or has no word to search for.
    """
    text = clean_line(topic)
    if not text:
        raise InvalidInputError('The topic is blank. Name what to search for, e.g. "metformin alzheimer".')
    if len(text) > QUERY_LIMIT:
        raise InvalidInputError(
            f"The topic has {len(text):,} characters; the limit is {QUERY_LIMIT:,}. Keep the essential terms."
        )
    syntax = pubmed_syntax.repair(text) if pubmed_syntax.uses_pubmed_syntax(text) else ""
    subject = ", ".join(pubmed_syntax.subjects(text)) if syntax else " ".join(_subject(text))
    if not any(phrases(subject)):
        raise InvalidInputError(
            "The topic has no word to search for. Name the disease, drug, gene or method it is about."
        )
    parts = () if syntax else _without_joints(tuple(_parts(_words(subject))))
    fitting = _fitting(parts, limit=pubmed_syntax.LONGEST_QUERY, most_words=len(parts))
    return Topic(
        text=text,
        subject=subject,
        syntax=syntax,
        parts=fitting,
        left_out=len(parts) - len(fitting),
        language=language_of(subject),
    )


def corrected_topic(asked: Topic, spelling: str) -> Topic:
    """`asked` in another spelling, which PubMed searches for in either one."""
    return replace(read_topic(spelling), typed=asked.words)


def language_of(text: str) -> str:
    """The language `text` seems to be in, "" where that is English or cannot be told."""
    letters = [letter for letter in text if letter.isalpha()]
    if letters and sum(letter < "\u0250" or "\u0370" <= letter <= "\u03ff" for letter in letters) < len(letters) / 2:
        return OTHER_SCRIPT
    words = re.findall(r"[^\W\d_]+", text.lower())
    counts = {name: sum(word in stops for word in words) for name, stops in FOREIGN_STOP_WORDS.items()}
    language = max(counts, key=lambda name: counts[name])
    english = sum(word in FUNCTION_WORDS for word in words)
    return language if counts[language] >= 2 and counts[language] > english else ""


def is_symbol(word: str) -> bool:
    """Whether a word looks like a gene, an abbreviation or a compound: "AMPK", "p53", "IL-6", "TNF-α"."""
    has_digit = any(letter.isdigit() for letter in word)
    return (has_digit or sum(letter.isupper() for letter in word) > 1) and any(letter.isalpha() for letter in word)


def is_drug(word: str) -> bool:
    """Whether a word looks like the name of a drug."""
    lower = word.lower()
    return len(lower) > 6 and lower.endswith(DRUG_ENDINGS)


def fit_web(text: str) -> str:
    """The longest start of `text` that every web provider takes."""
    return " ".join(_fitting(text.split(), limit=WEB_CHARS, most_words=WEB_WORDS))


def _fitting(words: Sequence[str], *, limit: int, most_words: int) -> tuple[str, ...]:
    """The first words that have at most `limit` characters together; of a single longer one, its start."""
    length, count = -1, 0
    for word in words[:most_words]:
        length += len(word) + 1
        if length > limit:
            break
        count += 1
    return tuple(words[:count]) or tuple(word[:limit] for word in words[:1])


def _subject(text: str) -> Sequence[str]:
    """The words of `text` without the labels of PICO, or without a request that ends in "papers about" and the like."""
    if _PICO_LABEL.match(text) and len(_PICO_LABEL.findall(text)) > 1:
        return _PICO_LABEL.sub("", text).split()
    words = text.split()
    opening = 0
    while opening < len(words) and words[opening].lower() in REQUEST_WORDS:
        opening += 1
    if opening and words[0].lower() in REQUEST_OPENINGS:
        ends = [place for place in range(opening) if words[place].lower() in REQUEST_ENDINGS]
        return words[ends[-1] + 1 :] if ends and ends[-1] + 1 < len(words) else words
    return words


def _words(text: str) -> list[tuple[str, bool]]:
    """The words for PubMed without those that open a question, and whether a clause ends after each."""
    words: list[tuple[str, bool]] = []
    for token in text.split():
        read = [word for word in pubmed_syntax.words(token).split() if any(map(str.isalnum, word))]
        words += [(word, False) for word in read[:-1]]
        words += [(word, token[-1] in ",;:.?!)]") for word in read[-1:]]
    opening = 0
    for (word, _), (following, _) in pairwise(words):
        if word.lower() not in QUESTION_WORDS or word.isupper() or following.lower() in NEGATIONS:
            break
        opening += 1
    return words[opening:]


def _parts(words: Sequence[tuple[str, bool]]) -> Iterator[str]:
    """The words, each negation with what it negates as one phrase in quotes, since PubMed ignores "without" alone."""
    place = 0
    while place < len(words):
        word, _ = words[place]
        end = _end_of_negation(words, place)
        if end > place:
            yield pubmed_syntax.phrase(" ".join(word for word, _ in words[place:end]))
            place = end
            continue
        if not _is_operator(word):
            yield "and" if word.lower() == "and" else word
        place += 1


def _is_operator(word: str) -> bool:
    """Whether the word means to PubMed what it does not mean here, or only contrasts two others."""
    return word.upper() in {"OR", "NOT"} or (word.lower() in {"versus", "vs"} and not word.isupper())


def _without_joints(parts: Sequence[str]) -> tuple[str, ...]:
    """Without "and" at an end or next to a phrase; between words it is kept ("sensitivity and specificity")."""
    around = ["", *parts, ""]
    return tuple(
        part
        for before, part, after in zip(around, parts, around[2:], strict=False)
        if part != "and" or not {before[:1], after[:1]} & {"", '"'}
    )


def _end_of_negation(words: Sequence[tuple[str, bool]], place: int) -> int:
    """Where the negation that begins at `place` ends; `place` where none begins.

    It runs over function words to what it negates, and on over "of" ("without a diagnosis of diabetes"). In "with or
    without" and where nothing follows, nothing is negated; "NO" in a text in mixed case is nitric oxide.
    """
    first = place + (words[place][0].lower() == "do" and place + 1 < len(words))
    negation = words[first][0]
    shouts = all(word.isupper() or not word.isalpha() for word, _ in words)
    is_negation = negation.lower() in NEGATIONS and (shouts or not negation.isupper())
    if not is_negation or (place and words[place - 1][0].lower() in CONJUNCTIONS) or words[first][1]:
        return place
    end, has_object = first + 1, False
    while end < len(words) and end - first < _LONGEST_NEGATION:
        word, is_last = words[end]
        is_function_word = word.lower() in FUNCTION_WORDS
        if has_object and is_function_word and word.lower() != "of":
            break
        has_object = has_object or not is_function_word
        end += 1
        if is_last:
            break
    while end > first + 1 and words[end - 1][0].lower() in PUBMED_STOP_WORDS:
        end -= 1
    return end if has_object else place
