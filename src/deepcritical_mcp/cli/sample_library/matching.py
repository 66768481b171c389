"""Finding sample records for a query, PubMed's syntax included, well enough for a library of this size."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, partial

from deepcritical_mcp.cli.sample_library.records import ARTICLES, DESCRIPTORS, PAGES, Article, Descriptor, WebPage

LEAST_SCORE = 0.55
_TOKEN = re.compile(r'\(|\)|\b(?:AND|OR|NOT)\b|"[^"]*"(?:\s*\[[^\]]*\])?|[^\s()"\[\]]+(?:\s*\[[^\]]*\])?')
_NOT_ABOUT_CONTENT = re.compile(r"\[(dp|pdat|pt|ptyp|publication type|la|lang|sb|filter|date[^\]]*)\]$", re.I)
_FILLERS = """\
a an and any are as at be been between by can could do does effect effects evidence for from has have how if in into
is it its lead may might new not of on or people patients patient person reduce reduced reduces risk should study
studies than that the their there these they this to treatment treatments used using was were what when which who
why will with without would adults adult older lower lowers improve improves increase increases help helps versus vs
about after before during hasabstract"""
Score = Callable[[str], float]


@dataclass(frozen=True)
class _Shelf:
    """Documents as sets of stems, and how much each stem says: ln(N/n)."""

    documents: tuple[frozenset[str], ...]
    weights: Mapping[str, float]

    def share(self, index: int, text: str) -> float:
        """How much of what `text` asks for document `index` has, 0 to 1; a word that none has weighs most."""
        stems = [stem for stem in _stems(text) if stem not in _FILLER_STEMS]
        rare = math.log(len(self.documents) + 1)
        asked = sum(self.weights.get(stem, rare) for stem in stems)
        found = sum(self.weights.get(stem, rare) for stem in stems if stem in self.documents[index])
        return found / asked if asked else 0.0


def find_articles(query: str) -> list[Article]:
    """Articles that fit `query`, best first."""
    return [ARTICLES[index] for index in _ranked(query, _articles())]


def find_pages(query: str) -> list[WebPage]:
    """Web pages that fit `query`, best first."""
    return [PAGES[index] for index in _ranked(query, _pages())]


def similar_articles(article: Article) -> list[Article]:
    """Other articles, those with the most words in common first."""
    shelf = _articles()
    own = shelf.documents[ARTICLES.index(article)]
    scores = {
        index: sum(shelf.weights[stem] for stem in own & words)
        for index, words in enumerate(shelf.documents)
        if ARTICLES[index] is not article
    }
    return [ARTICLES[index] for index in sorted(scores, key=lambda index: -scores[index])]


def find_descriptors(text: str) -> list[Descriptor]:
    """The MeSH descriptors that `text` names, in its order."""
    words = " ".join(re.findall(r"[\w'-]+", text.lower()))
    places = {
        descriptor: min((match.start() for name in names_of(descriptor) if (match := _named(name, words))), default=-1)
        for descriptor in DESCRIPTORS
    }
    return sorted((one for one in DESCRIPTORS if places[one] >= 0), key=lambda one: places[one])


def names_of(descriptor: Descriptor) -> tuple[str, ...]:
    """All its names, its own first; "Anemia, Sickle Cell" also as "Sickle Cell Anemia"."""
    first, _, second = descriptor.name.partition(", ")
    turned = (f"{second} {first}",) if second else ()
    return (descriptor.name, *turned, *descriptor.synonyms)


def corrected(text: str) -> str:
    """`text` with words spelled as the library spells them; "" when nothing is to be corrected."""
    known = _vocabulary()

    def correct(match: re.Match[str]) -> str:
        word = match.group()
        near = get_close_matches(word.lower(), known, n=1, cutoff=0.85)
        return near[0] if near and word.lower() not in known else word

    better = re.sub(r"[A-Za-z]{6,}", correct, text)
    return better if better != text else ""


def _named(name: str, words: str) -> re.Match[str] | None:
    plain = " ".join(re.findall(r"[\w'-]+", name.lower()))
    return re.search(rf"(?<!\w){re.escape(plain)}s?(?!\w)", words)


def _ranked(query: str, shelf: _Shelf) -> list[int]:
    tokens = _TOKEN.findall(query)
    scores = {index: _group(list(tokens), partial(shelf.share, index)) for index in range(len(shelf.documents))}
    return sorted((index for index, score in scores.items() if score >= LEAST_SCORE), key=lambda index: -scores[index])


def _group(rest: list[str], share: Score, *, depth: int = 0) -> float:
    """AND is the mean of its sides, OR the greater, NOT takes away; read from left to right, as PubMed does."""
    total, count, operator = 0.0, 0, "AND"
    words: list[str] = []

    def add(score: float) -> None:
        nonlocal total, count
        if operator == "NOT":
            total *= 1.0 - (score > 0.9)
        elif operator == "OR" and count:
            total = max(total / count, score) * count
        else:
            total, count = total + score, count + 1

    def flush() -> None:
        if words and any(stem not in _FILLER_STEMS for stem in _stems(" ".join(words))):
            add(share(" ".join(words)))
        words.clear()

    while rest:
        token = rest.pop(0)
        if token == ")":
            if depth:
                break
        elif token in ("AND", "OR", "NOT"):
            flush()
            operator = token
        elif token == "(":
            flush()
            add(_group(rest, share, depth=depth + 1))
        elif not _NOT_ABOUT_CONTENT.search(token):
            plain = re.sub(r"\s*\[[^\]]*\]$", "", token)
            if plain != token or token.startswith('"'):
                flush()
                add(share(plain))
            else:
                words.append(token)
    flush()
    return total / count if count else 0.0


def _stems(text: str) -> list[str]:
    return list(dict.fromkeys(_stem(word) for word in re.findall(r"[a-z0-9]+", text.lower()) if len(word) > 1))


def _stem(word: str) -> str:
    for ending in ("ations", "ation", "ings", "ing", "ies", "ics", "ed", "es", "s", "ic", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


_FILLER_STEMS = frozenset(_stem(word) for word in _FILLERS.split())


@cache
def _articles() -> _Shelf:
    return _shelf(_words_of_article(article) for article in ARTICLES)


@cache
def _pages() -> _Shelf:
    return _shelf(f"{page.title} {page.snippet}" for page in PAGES)


def _words_of_article(article: Article) -> str:
    subjects = [name for one in DESCRIPTORS if one.name in article.mesh for name in names_of(one)]
    texts = [text for _, text in article.abstract]
    return " ".join([article.title, *texts, *article.mesh, *subjects, article.group])


def _shelf(texts: Iterable[str]) -> _Shelf:
    documents = tuple(frozenset(_stems(text)) for text in texts)
    stems = frozenset[str]().union(*documents)
    weights = {stem: math.log((len(documents) + 1) / sum(stem in one for one in documents)) for stem in stems}
    return _Shelf(documents, weights)


@cache
def _vocabulary() -> tuple[str, ...]:
    texts = [_words_of_article(article) for article in ARTICLES]
    return tuple(sorted({word for text in texts for word in re.findall(r"[a-z]{6,}", text.lower())}))
