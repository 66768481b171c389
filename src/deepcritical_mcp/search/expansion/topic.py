"""A topic as the user wrote it, and as a PubMed query that neither loses nor inverts a word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.models import QUERY_LIMIT
from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.phrases import (
    CONJUNCTIONS,
    FUNCTION_WORDS,
    NEGATIONS,
    PUBMED_STOP_WORDS,
    phrases,
    stems,
)
from deepcritical_mcp.text import clean_line

DESCRIPTION_LIMIT = 20_000
# The limits of Brave Search, the strictest of the web providers.
WEB_CHARS = 400
WEB_WORDS = 50
OTHER_SCRIPT = "another script"
# How many words a negation covers at most, itself included: "without a diagnosis of type 2 diabetes".
_MAX_NEGATION_WORDS = 7

# First words of questions and of requests for papers. Not "a", "in", "may" and "who", which can start a name.
_QUESTION_WORDS = frozenset(
    """are can could did do does had has have how is should the there was were what when where whether which why
    would""".split()
)
_REQUEST_WORDS = _QUESTION_WORDS | frozenset(
    """a about all am an any article articles concerning evidence find for i i'm in information interested know learn
    like literature looking me need on paper papers please publications recent regarding research search show some
    studies study tell to us want we you""".split()
)
_REQUEST = re.compile(
    rf"^(?:find|i|i'm|looking|please|show|tell|we)(?: (?:{'|'.join(sorted(_REQUEST_WORDS))}))*"
    r" (?:about|concerning|for|in|on|regarding) (?=\S)",
    re.IGNORECASE,
)
# Enough function words to notice that a text is not in English.
_FOREIGN_WORDS = {
    "Spanish": "al como con de del el en entre es la las los más o para por que qué se sin sobre son su sus un una y",
    "Portuguese": "a ao com da das de do dos e em entre na nas no nos o os ou para por que se sem seu sobre um uma",
    "French": "au aux avec chez dans de des du en entre est et la le les ou par pour que qui sans se ses sur un une",
    "Italian": "alla che con dei del della delle di e fra gli i il in la le lo nel nella o per senza su tra un una",
    "German": "bei das dem den der des die durch ein eine einer für im in ist mit nach oder sind und vom von wie zur",
    "Dutch": "aan als bij dat de die door een en het in is met naar of op over te van voor zijn zonder",
}
# Endings of drug names (WHO, "The use of stems in the selection of International Nonproprietary Names").
_DRUG_ENDINGS = tuple(
    """azepam azolam caine ciclib cillin conazole coxib cycline dipine dronate dronic floxacin formin gatran gepant
    gliflozin gliptin glitazone glutide lukast mab nidazole olol oxetine parib platin prazole pril profen rafenib
    rubicin sartan setron taxel thromycin tidine tinib triptan vastatin vir xaban zomib""".split()
)
_PICO_LABEL = re.compile(
    r"(?<!\w)(?:[PICOTS]|[Pp]opulation|[Pp]atients?|[Pp]roblem|[Ii]ntervention|[Ee]xposure|[Cc]ompar(?:ison|ator)|"
    r"[Cc]ontrol|[Oo]utcomes?) ?[:=] ?"
)


@dataclass(frozen=True)
class Topic:
    """A parsed topic.

    Attributes:
        text: the user's words on one line.
        subject: the same without "find papers about" or PICO labels; for PubMed syntax, only the words that name the
            subject.
        syntax: a well-formed PubMed query if the user wrote PubMed syntax, else "".
        parts: without `syntax`, the words for PubMed in order; a negation and what it negates are one quoted part.
        left_out: how many words are not in `parts` because the query would be too long.
        language: "" for English or unknown; else the language it seems to be written in.
        typed: the PubMed query as the user typed it, if the topic is in NCBI's spelling; else "".
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
        """`words`, in either spelling if there are two."""
        return self.or_typed(self.words)

    def or_typed(self, query: str) -> str:
        """`query`, or the topic as the user typed it if that is spelled differently."""
        return f"{pubmed_syntax.grouped(query)} OR {pubmed_syntax.grouped(self.typed)}" if self.typed else query

    @property
    def negations(self) -> list[str]:
        """The parts that negate something, without quotes."""
        return [part.strip('"') for part in self.parts if part.startswith('"')]

    @property
    def negated(self) -> frozenset[str]:
        """The stems of what the topic negates."""
        return stems(" ".join(self.negations)) - NEGATIONS

    @property
    def affirmed(self) -> str:
        """The words outside of negations."""
        if self.syntax:
            return pubmed_syntax.words(self.subject)
        return " ".join(part for part in self.parts if not part.startswith('"'))

    @property
    def has_exclusion(self) -> bool:
        """Whether its syntax excludes something, which plain words cannot express."""
        return " NOT " in f" {self.syntax}"

    def find(self, term: str) -> range | None:
        """The positions in `parts` of the words of `term`, in any case; None if they are not adjacent."""
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
    subject = ", ".join(pubmed_syntax.subjects(text)) if syntax else _subject(text)
    if not any(phrases(subject)):
        raise InvalidInputError("The topic has no word to search for. Name the disease, drug, gene or method.")
    parts = () if syntax else _without_stray_and(tuple(_parts(_words(subject))))
    fitting = _fitting(parts, limit=pubmed_syntax.MAX_QUERY_LENGTH, max_words=len(parts))
    return Topic(text, subject, syntax, fitting, len(parts) - len(fitting), language_of(subject))


def corrected_topic(asked: Topic, spelling: str) -> Topic:
    """`asked` in another spelling; PubMed is searched for both."""
    return replace(read_topic(spelling), typed=asked.words)


def language_of(text: str) -> str:
    """The language `text` seems to be in, "" if it is English or unclear."""
    letters = [letter for letter in text if letter.isalpha()]
    if letters and sum(letter < "\u0250" or "\u0370" <= letter <= "\u03ff" for letter in letters) < len(letters) / 2:
        return OTHER_SCRIPT
    words = re.findall(r"[^\W\d_]+", text.lower())
    counts = {name: sum(word in known.split() for word in words) for name, known in _FOREIGN_WORDS.items()}
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
    return len(lower) > 6 and lower.endswith(_DRUG_ENDINGS)


def fit_web(text: str) -> str:
    """The longest prefix of `text` that every web provider accepts."""
    return " ".join(_fitting(text.split(), limit=WEB_CHARS, max_words=WEB_WORDS))


def _fitting(words: Sequence[str], *, limit: int, max_words: int) -> tuple[str, ...]:
    """The first words that fit into `limit` characters; if not even one fits, its start."""
    ends = accumulate(len(word) + 1 for word in words[:max_words])
    count = sum(end <= limit + 1 for end in ends)
    return tuple(words[:count]) or tuple(word[:limit] for word in words[:1])


def _subject(text: str) -> str:
    """`text` without the labels of PICO, or without a request that ends in "papers about" and the like."""
    if _PICO_LABEL.match(text) and len(_PICO_LABEL.findall(text)) > 1:
        return clean_line(_PICO_LABEL.sub("", text))
    return _REQUEST.sub("", text)


def _words(text: str) -> list[tuple[str, bool]]:
    """The words for PubMed without those that open a question, and whether a clause ends after each."""
    words: list[tuple[str, bool]] = []
    for token in text.split():
        read = [word for word in pubmed_syntax.words(token).split() if any(map(str.isalnum, word))]
        words += [(word, False) for word in read[:-1]]
        words += [(word, token[-1] in ",;:.?!)]") for word in read[-1:]]
    opening = 0
    for (word, _), (following, _) in pairwise(words):
        if word.lower() not in _QUESTION_WORDS or word.isupper() or following.lower() in NEGATIONS:
            break
        opening += 1
    return words[opening:]


def _parts(words: Sequence[tuple[str, bool]]) -> Iterator[str]:
    """The words, each negation with what it negates as one phrase in quotes, since PubMed ignores "without" alone."""
    place = 0
    while place < len(words):
        word, _ = words[place]
        end = _end_of_negation(words, place)
        # PubMed would read "or" and "not" as operators; "versus" only contrasts.
        is_silent = word.lower() in {"or", "not"} or (word.lower() in {"versus", "vs"} and not word.isupper())
        if end > place:
            yield pubmed_syntax.phrase(" ".join(word for word, _ in words[place:end]))
        elif not is_silent:
            yield "and" if word.lower() == "and" else word
        place = max(end, place + 1)


def _without_stray_and(parts: Sequence[str]) -> tuple[str, ...]:
    """Without "and" at an end or next to a phrase; between words it is kept ("sensitivity and specificity")."""
    around = ["", *parts, ""]
    return tuple(
        part
        for before, part, after in zip(around, parts, around[2:], strict=False)
        if part != "and" or not {before[:1], after[:1]} & {"", '"'}
    )


def _end_of_negation(words: Sequence[tuple[str, bool]], place: int) -> int:
    """Where the negation that begins at `place` ends; `place` if none begins there.

    It includes function words up to what it negates, and "of" after that ("without a diagnosis of diabetes"). Nothing
    is negated in "with or without" or at the end of a text; "NO" in mixed-case text is nitric oxide.
    """
    first = place + (words[place][0].lower() == "do" and place + 1 < len(words))
    negation = words[first][0]
    all_caps = all(word.isupper() or not word.isalpha() for word, _ in words)
    is_negation = negation.lower() in NEGATIONS and (all_caps or not negation.isupper())
    if not is_negation or (place and words[place - 1][0].lower() in CONJUNCTIONS) or words[first][1]:
        return place
    end, has_object = first + 1, False
    while end < len(words) and end - first < _MAX_NEGATION_WORDS:
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
