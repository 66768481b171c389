"""A topic as the user wrote it, read into words, negations and limits; nothing is lost or inverted."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import accumulate, chain

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.models import QUERY_LIMIT
from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.negations import read_negations
from deepcritical_mcp.search.expansion.phrases import phrases, stems
from deepcritical_mcp.search.expansion.word_lists import word_list, word_table
from deepcritical_mcp.text import (
    FOREIGN_FUNCTION_WORDS,
    NEGATIONS,
    QUERY_FUNCTION_WORDS,
    QUESTION_WORDS,
    REQUEST_WORDS,
    clean_line,
)

# "Please show me studies on", "I want to know whether".
_REQUEST = re.compile(
    rf"^(?:(?:{'|'.join(sorted(REQUEST_WORDS | word_list('asking')))}) )+"
    r"(?:about|concerning|for|if|on|regarding|whether) (?=\S)",
    re.IGNORECASE,
)
_PICO_LABEL = re.compile(
    r"(?<!\w)([PICOTS]|[Pp]opulation|[Pp]atients?|[Pp]roblem|[Ii]ntervention|[Ee]xposure|[Cc]ompar(?:ison|ator)|"
    r"[Cc]ontrol|[Oo]utcomes?)(?: ?[:=] ?| [-–] )"
)


def subject_of(text: str) -> str:
    """`text` without the labels of PICO, or without a request that ends in "papers about" and the like."""
    labeled = "; ".join(part.strip(" ;.,") for part in pico_parts(text).values())
    return clean_line(labeled) or _REQUEST.sub("", text)


def pico_parts(text: str) -> dict[str, str]:
    """The parts of a PICO question by P, I, C and O, "" for a time or a setting; {} if `text` is none."""
    before, *found = _PICO_LABEL.split(text)
    parts: defaultdict[str, list[str]] = defaultdict(list)
    for label, part in zip(found[::2], found[1::2], strict=True):
        letter = label[0].upper().replace("E", "I")
        parts[letter if letter in "PICO" else ""].append(part)
    return {letter: " ; ".join(said) for letter, said in parts.items()} if len(parts) > 1 and not before else {}


# The limits of Brave Search, the strictest of the web providers.
WEB_CHARS = 400
WEB_WORDS = 50
OTHER_SCRIPT = "another script"
# Words that are English ones too say nothing of a topic's language.
_ALSO_ENGLISH = QUERY_FUNCTION_WORDS | {"die", "men", "over"}
# "aged 65 and over", "people over 80", "children under 2 years", "aged 45 to 75".
_PERSONS = "adolescents|adults|boys|children|girls|individuals|infants|men|patients|people|persons|women"
_AGED = re.compile(
    rf"\b(?:(?:{_PERSONS}) (?:who are )?(?:aged )?(?:above|below|over|under|older than|younger than)|"
    rf"(?:(?:{_PERSONS}) )?(?:who are )?aged?(?: at least| over| under)?) "
    r"\d{1,3}(?: ?(?:to|and|-|–) ?\d{1,3})?(?! ?(?:weeks?|days?))(?: ?(?:months?|years?|yrs?)(?: of age| old)?)?"
    r"(?: (?:and|or) (?:above|older|over))?(?!\w| ?(?:to|and|-|–) ?\d)",
    re.IGNORECASE,
)
_QUOTED = re.compile('["“”„]([^"“”„ ,]+(?: [^"“”„ ,]+){1,7})["“”„]')
# "gout and (smartwatches or sirtuins)" is no aside.
_IN_PARENTHESES = re.compile(r"(?<!\band )(?<!\bfor )(?<!\bin )(?<!\bof )(?<!\bor )(?<![^ ])\(([^()]{1,200})\)")
# "In adults with gout, does …"
_ASKS = re.compile(",(?= (?:are|can|do|does|is|should|will) )", re.IGNORECASE)
ASIDE = "aside"
_MARKS = {**dict.fromkeys(",)]", ","), **dict.fromkeys(";:.?!", ";")}


@dataclass(frozen=True)
class Token:
    """A word, a comma, ";" for a stronger mark, or a negation with what it negates, as one phrase in quotes; and the
    letter of the part of a PICO question or the number of the joined term that it is in, `ASIDE` in parentheses and in
    a second question, or ""."""

    text: str
    label: str = ""

    @property
    def is_negation(self) -> bool:
        return self.text.startswith('"')


@dataclass(frozen=True)
class Topic:
    """A parsed topic.

    Attributes:
        text: the user's words on one line.
        subject: the same without "find papers about" or PICO labels; for PubMed syntax, only the words that name the
            subject.
        syntax: a well-formed PubMed query if the user wrote PubMed syntax, else "".
        operands: what the user joined by AND, each the plain terms joined by OR; () for a topic in words.
        tokens: without `syntax`, the words in order.
        language: "" for English or unknown; else the language it seems to be written in.
        typed: the words as the user typed them, if the topic is in NCBI's spelling; else "".
        questions: the questions, if there are several.
        either_way: what it says may be there or not, which is not in `tokens`.
        excluded: what it excludes, which is not in `tokens`.
        ages: the ages that it is about ("aged 65 and over"), which are not in `tokens`.
        quoted: what is in quotes, in small letters.
    """

    text: str
    subject: str
    syntax: str = ""
    operands: tuple[tuple[str, ...], ...] = ()
    tokens: tuple[Token, ...] = ()
    language: str = ""
    typed: str = ""
    questions: tuple[str, ...] = ()
    either_way: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    ages: tuple[str, ...] = ()
    quoted: frozenset[str] = frozenset()

    @property
    def words(self) -> str:
        """The topic for PubMed's term mapping, which joins words by AND."""
        kept = (one.text for one in self.tokens if one.is_negation or one.text.lower() not in _UNSEARCHED)
        return self.syntax or " ".join(kept)

    @property
    def negations(self) -> list[str]:
        """What it says is not there, without quotes."""
        return [one.text.strip('"') for one in self.tokens if one.is_negation]

    @property
    def negated(self) -> frozenset[str]:
        """The stems of what the topic negates."""
        return stems(" ".join(self.negations)) - NEGATIONS

    @property
    def affirmed(self) -> str:
        """The words outside of negations."""
        if self.syntax:
            return pubmed_syntax.words(self.subject)
        return " ".join(one.text for one in self.tokens if not one.is_negation and one.text not in (",", ";"))

    def find(self, term: str) -> range | None:
        """The first of the `places` of `term`; None if it has none."""
        return next(self.places(term), None)

    def places(self, term: str) -> Iterator[range]:
        """Where in `tokens` the words of `term` stand, with or without hyphens, in any case, but no "who" for "WHO"; a
        negation is one."""
        wanted = _unhyphenated(term)
        tokens = [_unhyphenated(one.text) for one in self.tokens]
        for start in range(len(tokens)):
            if term.isupper() and self.tokens[start].text.islower():
                continue
            found: list[str] = []
            for stop in range(start, len(tokens)):
                found += tokens[stop]
                if found == wanted:
                    yield range(start, stop + 1)
                if len(found) >= len(wanted):
                    break


# PubMed would read these as operators; a comma and "versus" only separate.
_UNSEARCHED = frozenset({",", ";", "or", "not", "and", "versus", "vs", "and/or"})


def _unhyphenated(text: str) -> list[str]:
    return text.casefold().replace('"', "").replace("-", " ").split()


_DANGLING = re.compile(r"^(?:(?:AND|OR) )+|(?: (?:AND|OR|NOT)){1,9}[^\w()]{0,99}$")
_TITLE = re.compile(r"^PE?[IC]COT?S? ?(?:question ?)?[:-] ?(?=\w)", re.IGNORECASE)
_GROUPED_NOT = re.compile(r" AND \( ?NOT (\([^()]{1,1000}\)|(?:(?! NOT )[^()]){1,1000})\)")
# What says in other ways that something is left out: pattern, replacement; in joined terms, and in words.
_JOINED_EXCLUSIONS = (
    (re.compile(r" AND [-!](?=\w)|,? (?:but |and )?(?:not|excluding|except)(?= ?\()|, (?:but )?not(?= \w)"), " NOT"),
    (re.compile(r"(?<= NOT), | NOT:"), " NOT "),
)
_EXCLUSIONS = (
    (re.compile(r"\b(no|not|without|except|exclud(?:e|ing)):? ?\(:? ?([^()]{1,200})\)", re.IGNORECASE), r"\1 \2 ;"),
    (re.compile(r"\b(not|except|exclud(?:e|ing)): ", re.IGNORECASE), r"\1 "),
    (re.compile(r"(?<=\w) [-!](?=[A-Za-z]{3,40}(?: |$))"), ", excluding "),
    (re.compile(r"\bw/(?:o|out)\b", re.IGNORECASE), "without"),
    # "Why doesn't metformin cause hypoglycemia?"
    (
        re.compile(
            r"^((?:why|how come) )?(?:are|can|could|did|do|does|is|should|was|were|will|would)n['’]t ", re.IGNORECASE
        ),
        r"\1",
    ),
)
_LOWER_OR = re.compile(r" or (?!(?:above|below|fewer|less|more|not|older|over|under|without|younger)\b)")
_LEADING_NOT = re.compile(r"(?:^|\() ?NOT [\w(\"]")


def read_topic(topic: str) -> Topic:
    """Read a topic in words or in PubMed's syntax.

    Raises:
        InvalidInputError: it is blank, longer than `QUERY_LIMIT` characters, has no word to search for or only what to
            leave out, or is a strategy for another database, which PubMed would misread.
    """
    text = _DANGLING.sub("", _TITLE.sub("", clean_line(topic)))
    is_syntax = pubmed_syntax.uses_pubmed_syntax(text)
    if not is_syntax or {*'["“”'}.isdisjoint(text):  # nothing within a field or a phrase
        for cue, plain in _JOINED_EXCLUSIONS if is_syntax else _EXCLUSIONS:
            text = cue.sub(plain, text)
        if is_syntax and "[" not in text:  # "asthma AND (children or adolescents)"
            text = re.sub(r"\([^()]+\)", lambda group: _LOWER_OR.sub(" OR ", group[0]), text)
    text = _GROUPED_NOT.sub(r" NOT (\1)", text)
    if not text:
        raise InvalidInputError('The topic is blank. Name what to search for, e.g. "metformin alzheimer".')
    if len(text) > QUERY_LIMIT:
        raise InvalidInputError(
            f"The topic has {len(text):,} characters; the limit is {QUERY_LIMIT:,}. Keep the essential terms."
        )
    pubmed_syntax.refuse_other_databases(topic)
    if _LEADING_NOT.search(text) and not text.isupper():
        raise InvalidInputError('NOT has to stand behind what papers are about, e.g. "asthma NOT children".')
    syntax = pubmed_syntax.repair(text) if is_syntax else ""
    subject = ", ".join(pubmed_syntax.subjects(text)) if syntax else subject_of(text)
    if not any(phrases(subject)):
        raise InvalidInputError("The topic has no word to search for. Name the disease, drug, gene or method.")
    operands, excluded = pubmed_syntax.plain_terms(syntax)
    if syntax and not operands:
        return Topic(text, subject, syntax, language=language_of(subject))
    questions = [] if operands else [one.strip(" ,;") for one in subject.split("?") if any(phrases(one))]
    terms = [(str(place), term) for place, term in enumerate(chain.from_iterable(operands))]
    asked = [(ASIDE if place else "", one) for place, one in enumerate(questions)]
    parts = terms or [*pico_parts(text).items()] or asked
    labeled = [said for label, part in parts for said in _with_asides(label, part)]
    read = [read_negations(_words(part)) for _, part in labeled]
    whole = [" ".join(one.words) for one in read]
    said = [_AGED.sub(",", one) for one in whole]
    if not any(map(str.isalnum, "".join(said))):  # "people over 80"
        if any(one.excluded for one in read):
            raise InvalidInputError("The topic only says what to leave out. Name what papers must be about, too.")
        read, whole, said = [], [], [" ".join(_words(part)) for _, part in labeled]
    tokens = [
        Token(word.lower() if word in ("AND", "OR", "NOT") else word, label)
        for (label, _), one in zip(labeled, said, strict=True)
        for word in [*re.findall(r'"[^"]*"|[^ ]+', one), ";"]
    ]
    ends = accumulate(len(one.text) + 1 for one in tokens)
    fitting = max(1, sum(end <= pubmed_syntax.MAX_QUERY_LENGTH for end in ends))
    return Topic(
        text,
        subject,
        operands=tuple(map(tuple, operands)),
        tokens=tuple(tokens[:fitting]),
        language=language_of(subject),
        questions=tuple(questions) if questions[1:] else (),
        either_way=tuple(word for one in read for word in one.either_way),
        excluded=(*(word for one in read for word in one.excluded), *excluded),
        ages=tuple(found[0] for one in whole for found in _AGED.finditer(one)),
        quoted=frozenset(found[1].lower() for found in _QUOTED.finditer(text)),
    )


def _with_asides(label: str, text: str) -> Iterator[tuple[str, str]]:
    """A part with its label, and what it has in parentheses apart, if something else is left."""
    said = _IN_PARENTHESES.sub(" ", text)
    if not any(phrases(said)):
        yield label, text
        return
    yield label, said
    yield from ((ASIDE, f", {one}") for one in _IN_PARENTHESES.findall(text) if len(one) > 1 and any(phrases(one)))


def corrected_topic(asked: Topic, spelling: str) -> Topic:
    """`asked` in another spelling; PubMed is searched for both."""
    return replace(read_topic(spelling), typed=asked.words)


def language_of(text: str) -> str:
    """The language `text` seems to be in, "" if it is English or unclear."""
    letters = [letter for letter in text if letter.isalpha()]
    if letters and sum(letter < "\u0250" or "\u0370" <= letter <= "\u03ff" for letter in letters) < len(letters) / 2:
        return OTHER_SCRIPT
    words = re.findall(r"[^\W\d_]{2,}", text.lower())
    foreign = {name: {*known.split()} - _ALSO_ENGLISH for name, known in FOREIGN_FUNCTION_WORDS.items()}
    counts = {name: sum(word in known for word in words) for name, known in foreign.items()}
    language = max(counts, key=lambda name: counts[name])
    english = sum(word in QUERY_FUNCTION_WORDS for word in words)
    return language if counts[language] > max(1, english) else ""


def fit_web(text: str) -> str:
    """The longest prefix of `text` that every web provider accepts."""
    words = text.split()[:WEB_WORDS]
    ends = accumulate(len(word) + 1 for word in words)
    count = sum(end <= WEB_CHARS + 1 for end in ends)
    return " ".join(words[:count]) or text[:WEB_CHARS]


def _words(text: str) -> list[str]:
    """The words, commas and semicolons of a text without those that open a question, in small letters but for names."""
    words = [word for raw in _ASKS.sub(";", text).split() for word in _cleaned(raw)]
    while words[1:] and words[1].lower() not in NEGATIONS and _opens_question(words[0]):
        words = words[2:] if words[2:] and words[1] in ("I", "we") else words[1:]
    named = [word for word in words if len(word) > 3]
    is_title = len(named) > 3 and sum(word[0].isupper() for word in named) > 0.7 * len(named)
    starts = [place for place in range(len(words)) if words[place - 1 : place] in ([], [";"])]
    return [
        word.lower() if word[1:].islower() and (is_title or place in starts) else word
        for place, word in enumerate(map(str.capitalize, words) if is_title and text.isupper() else words)
    ]


def _opens_question(word: str) -> bool:
    return word in ("A", "An", "The") or (word.lower() in QUESTION_WORDS and not word.isupper())


def _cleaned(raw: str) -> list[str]:
    """A word, or what it is short for, and a comma or ";" for the mark at its end, but for "E. coli"."""
    short = raw.lower().strip(".,;:?!()").replace("’", "'")
    is_initial = len(raw) == 2 and raw[0].isupper() and raw[1] == "."
    mark = "" if is_initial else _MARKS.get(raw[-1], "")
    words = word_table("clipped").get(short, pubmed_syntax.words(raw)).split()
    return [*(word for word in words if any(map(str.isalnum, word))), *filter(None, [mark])]
