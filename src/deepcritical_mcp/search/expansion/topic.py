"""What a topic is about: its key phrases, with question words and filler off."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.vocabulary import (
    DISEASE_ENDINGS,
    DISEASE_WORDS,
    DRUG_STEMS,
    EPONYMS,
    FILLERS,
    FOREIGN_STOP_WORDS,
    GENERIC_WORDS,
    LETTERED_WORDS,
    STOP_WORDS,
)
from deepcritical_mcp.text import clean_line

TOPIC_LIMIT = 4_000
DESCRIPTION_LIMIT = 20_000
# Brave Search, the narrowest of the web providers, takes 400 characters and 50 words.
WEB_CHARS = 400
WEB_WORDS = 50
# PubMed wants every word of a query in the record: more than these find nothing.
PUBMED_WORDS = 10
CORE_WORDS = 6

_TOKEN = re.compile(r'"[^"]+"|[^\W_]+(?:(?:[-‐‑\'’.+·]|(?<=\d),(?=\d))[^\W_]+)*\+*|\S')


@dataclass(frozen=True)
class Topic:
    """A topic, read.

    Attributes:
        text: the user's words on one line.
        syntax: the same as a well-formed PubMed query where the user wrote in PubMed's syntax, else "".
        phrases: the different key phrases in order; at least one.
        language: "" for English or unknown; else the language it seems to be written in.
    """

    text: str
    syntax: str
    phrases: tuple[str, ...]
    language: str

    @property
    def keywords(self) -> str:
        """The words of all key phrases on one line, each once."""
        return without_repetition(" ".join(self.phrases))

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the key phrases, in order."""
        return tuple(self.keywords.split())


def read_topic(topic: str) -> Topic:
    """Read a topic in words or in PubMed's syntax.

    Raises:
        InvalidInputError: it is blank, longer than `TOPIC_LIMIT` characters, or holds no word to search for.
    """
    text = clean_line(topic)
    if not text:
        raise InvalidInputError('The topic is blank. Name what to search for, e.g. "metformin alzheimer".')
    if len(text) > TOPIC_LIMIT:
        raise InvalidInputError(
            f"The topic has {len(text):,} characters; at most {TOPIC_LIMIT:,} are read. Keep the essential terms."
        )
    syntax = pubmed_syntax.repair(text) if pubmed_syntax.uses_pubmed_syntax(text) else ""
    plain = ", ".join(pubmed_syntax.subjects(text)) if syntax else text
    language = language_of(plain)
    phrases = key_phrases(plain, language=language)
    if not phrases:
        raise InvalidInputError(
            "The topic holds no word to search for, only filler. Name the disease, drug, gene or method it is about."
        )
    return Topic(text=text, syntax=syntax, phrases=phrases, language=language)


def key_phrases(text: str, *, language: str = "") -> tuple[str, ...]:
    """The different runs of words between question words, filler and punctuation."""
    runs = (without_repetition(" ".join(run)) for run in _runs(text, language))
    found: dict[str, str] = {}
    for phrase in filter(None, runs):
        found.setdefault(phrase.casefold(), phrase)
    return tuple(found.values())


def without_repetition(text: str) -> str:
    """`text` without words that came before in it, whatever their case."""
    found: dict[str, str] = {}
    for word in text.split():
        found.setdefault(word.casefold(), word)
    return " ".join(found.values())


def language_of(text: str) -> str:
    """The language `text` seems to be in, "" where that is English or cannot be told."""
    letters = [letter for letter in text if letter.isalpha()]
    if letters and sum(letter < "\u0250" or "\u0370" <= letter <= "\u03ff" for letter in letters) < len(letters) / 2:
        return "another script"
    words = re.findall(r"[^\W\d_]+", text.lower())
    counts = {name: sum(word in stops for word in words) for name, stops in FOREIGN_STOP_WORDS.items()}
    language = max(counts, key=lambda name: counts[name])
    english = sum(word in STOP_WORDS for word in words)
    return language if counts[language] >= 2 and counts[language] > english else ""


def core(phrases: Sequence[str], *, most_words: int = CORE_WORDS) -> str:
    """The words that carry most, in their order: drugs, diseases and molecules before general medical words."""
    weights = weights_in(phrases)
    words = without_repetition(" ".join(phrases)).split()
    by_weight = sorted(range(len(words)), key=lambda index: (-weights.get(words[index], 0), index))
    return " ".join(words[index] for index in sorted(by_weight[:most_words]))


def weights_in(phrases: Iterable[str]) -> dict[str, int]:
    """The weight of each word where it stands: "heart" counts as much as "failure" after it, "type 2" as a name."""
    weights: dict[str, int] = {}
    for phrase in phrases:
        words = phrase.split()
        own = [weight(word) for word in words]
        for index in range(len(words) - 2, -1, -1):
            if words[index].lower() in LETTERED_WORDS and len(words[index + 1]) <= 3:
                own[index] = own[index + 1] = 3
            elif own[index] and is_disease(words[index + 1]):
                own[index] = 3
        for word, value in zip(words, own, strict=True):
            weights[word] = max(value, weights.get(word, 0))
    return weights


def weight(word: str) -> int:
    """How much a word narrows a search: 0 for general medical words, most for diseases, drugs and molecules."""
    lower = word.lower().removesuffix("'s").removesuffix("’s")
    if lower in GENERIC_WORDS or lower.isdigit():
        return 0
    if is_disease(lower) or is_drug(lower) or lower in EPONYMS or is_symbol(word):
        return 3
    return 2 if len(lower) > 6 else 1


def is_disease(word: str) -> bool:
    """Whether a word looks like the name of a disease."""
    lower = word.lower().strip('"')
    return lower in DISEASE_WORDS or (len(lower) > 6 and lower.endswith(DISEASE_ENDINGS))


def is_drug(word: str) -> bool:
    """Whether a word looks like the name of a drug or a chemical."""
    lower = word.lower().strip('"')
    return len(lower) > 6 and lower.endswith(("formin", *(stem for stem, _ in DRUG_STEMS)))


def concept_terms(topic: Topic) -> tuple[str, ...]:
    """The key phrases, from which drugs and diseases named after persons are taken out as terms of their own."""
    terms: list[str] = []
    for phrase in topic.phrases:
        run: list[str] = []
        for word in phrase.split():
            if is_drug(word) or (word.lower() in EPONYMS and run):
                terms += [" ".join(run)] if run else []
                run = []
            if is_drug(word):
                terms.append(word)
            else:
                run.append(word)
        terms += [" ".join(run)] if run else []
    return tuple(term for term in dict.fromkeys(terms) if any(weight(word) for word in term.split()))


def fit_web(text: str, *, beside: str = "") -> str:
    """The longest start of `text` that every web provider takes, followed by `beside` in full."""
    most_words = WEB_WORDS - len(beside.split())
    limit = WEB_CHARS - (len(beside) + 1 if beside else 0)
    words = text.split()[:most_words]
    while len(words) > 1 and len(" ".join(words)) > limit:
        words.pop()
    return f"{' '.join(words)[:limit]} {beside}".strip()


def _runs(text: str, language: str) -> Iterator[list[str]]:
    tokens: list[str] = _TOKEN.findall(text)
    shouts = not any(letter.islower() for letter in text)
    run: list[str] = []
    for index, token in enumerate(tokens):
        before, after = tokens[index - 1] if index else "", tokens[index + 1] if index + 1 < len(tokens) else ""
        if token.startswith('"') and len(token) > 2:
            yield run
            yield token.strip('" ').split()
            run = []
        elif _is_content(token, before, after, language=language, shouts=shouts):
            run.append(token)
        else:
            yield run
            run = []
    yield run


def _is_content(token: str, before: str, after: str, *, language: str, shouts: bool) -> bool:
    lower = token.lower().replace("’", "'")
    if not any(letter.isalnum() for letter in token):
        return False
    if len(lower) == 1 and lower.isalpha() and lower.isascii():
        return before.lower() in LETTERED_WORDS or (token.isupper() and lower not in "ai" and not shouts)
    if language in FOREIGN_STOP_WORDS:
        return lower not in FOREIGN_STOP_WORDS[language]
    if token.isupper() and len(token) > 1 and not shouts:
        return token not in {"AND", "OR", "NOT"}
    if lower == "use" and after.lower().startswith("disorder"):
        return True
    return lower not in STOP_WORDS and lower not in FILLERS


def is_symbol(word: str) -> bool:
    """Whether a word looks like a gene, an abbreviation or a compound: "AMPK", "p53", "IL-6", "TNF-α"."""
    has_digit = any(letter.isdigit() for letter in word)
    return (has_digit or sum(letter.isupper() for letter in word) > 1) and any(letter.isalpha() for letter in word)
