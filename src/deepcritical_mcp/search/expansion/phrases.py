"""Words and phrases of a text, compared by their stems: "neuroprotective" and "neuroprotection" count as one."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from functools import lru_cache

import Stemmer

from deepcritical_mcp.search.expansion.word_lists import FUNCTION_WORDS, NEGATIONS

_TOKEN = re.compile(r"[^\W_]+(?:(?:[-‐‑'’.+·]|(?<=\d),(?=\d))[^\W_]+)*\+*|\S")
_SILENT_WORDS = FUNCTION_WORDS - NEGATIONS
_GREEK = str.maketrans(
    {
        "α": "alpha",
        "β": "beta",
        "γ": "gamma",
        "δ": "delta",
        "ε": "epsilon",
        "ζ": "zeta",
        "θ": "theta",
        "κ": "kappa",
        "λ": "lambda",
        "σ": "sigma",
        "ω": "omega",
    }
)
# British spelling -> American, on words in lower case.
_SPELLINGS = (
    ("aemi", "emi"),
    ("haem", "hem"),
    ("oedema", "edema"),
    ("oesoph", "esoph"),
    ("foet", "fet"),
    ("paediatr", "pediatr"),
    ("gynaec", "gynec"),
    ("orthopaed", "orthoped"),
    ("rrhoea", "rrhea"),
    ("pnoea", "pnea"),
    ("tumour", "tumor"),
    ("colour", "color"),
    ("behaviour", "behavior"),
    ("fibre", "fiber"),
    ("anaesth", "anesth"),
    ("caesar", "cesar"),
    ("oestr", "estr"),
    ("coeliac", "celiac"),
    ("aetiol", "etiol"),
    ("sulph", "sulf"),
    ("leucocyt", "leukocyt"),
    ("isation", "ization"),
    ("randomis", "randomiz"),
    ("ageing", "aging"),
    ("signalling", "signaling"),
    ("labelling", "labeling"),
    ("modelling", "modeling"),
)
# A stemmer of PyStemmer must not be used by two threads at once.
_STEMMER = Stemmer.Stemmer("english")  # pyright: ignore  # comes without types
_LOCK = threading.Lock()


def stems(text: str) -> frozenset[str]:
    """The stems of the words of `text` that carry meaning, in American spelling and with Greek letters spelled out."""
    plain = text.lower().replace("'", "").replace("’", "").translate(_GREEK)
    return frozenset(stem for word in re.findall(r"\w+", plain) if (stem := _stem(word)))


def phrases(text: str) -> Iterator[tuple[str, ...]]:
    """The runs of words between function words and punctuation."""
    run: list[str] = []
    shouts = not any(letter.islower() for letter in text)
    for token in _TOKEN.findall(text):
        if _is_content(token, shouts=shouts):
            run.append(token)
        elif run:
            yield tuple(run)
            run = []
    if run:
        yield tuple(run)


def natural_order(heading: str) -> str:
    """An inverted heading in natural order: "Diabetes Mellitus, Type 2" -> "Type 2 Diabetes Mellitus"."""
    return " ".join(reversed(heading.split(", "))) if heading.count(", ") in (1, 2) else heading


def _is_content(token: str, *, shouts: bool) -> bool:
    is_word = any(letter.isalnum() for letter in token)
    is_acronym = token.isupper() and len(token) > 1 and not shouts and token not in {"AND", "OR", "NOT"}
    return is_word and (is_acronym or token.lower().replace("’", "'") not in FUNCTION_WORDS)


@lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    """The stem of a word in lower case, "" for a function word."""
    if word in _SILENT_WORDS:
        return ""
    for british, american in _SPELLINGS:
        word = word.replace(british, american)
    with _LOCK:
        return str(_STEMMER.stemWord(word))  # pyright: ignore
