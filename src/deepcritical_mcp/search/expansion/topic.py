"""A topic as the user wrote it, and as a PubMed query that neither loses nor inverts a word."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, groupby, pairwise

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.models import QUERY_LIMIT
from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.asked import ASKED, pico_parts, questions_in, subject_of, without_letters
from deepcritical_mcp.search.expansion.negations import (
    distributed,
    quote_negations,
    untangled,
    without_either_way,
    without_exclusions,
)
from deepcritical_mcp.search.expansion.phrases import phrases, stems
from deepcritical_mcp.text import (
    FOREIGN_FUNCTION_WORDS,
    NEGATIONS,
    QUERY_FUNCTION_WORDS,
    QUESTION_WORDS,
    clean_line,
)

# The limits of Brave Search, the strictest of the web providers.
WEB_CHARS = 400
WEB_WORDS = 50
OTHER_SCRIPT = "another script"
# Words that are English ones too say nothing of a topic's language.
_ALSO_ENGLISH = QUERY_FUNCTION_WORDS | {"die", "men", "over"}
# One of these is enough, since English topics never have them ("de novo", "in vivo").
_NEVER_ENGLISH = frozenset(
    "avec bei bij chez dans della delle für mit nach naar ohne pour sans senza und voor zonder zur".split()
)
# "aged 65 and over", "people over 80", "75 years or older"; "aged 45 to 75".
_AGE = r"(?:1[89]|[2-9]\d)(?! ?[-–] ?\d| (?:to|and) \d)(?: ?(?:years?|yrs?)(?: of age| old)?)?"
_OR_OLDER = "(?:,? (?:and|or) (?:above|older|over|up))?"
_AGED = re.compile(
    rf"\b(?:(?:adults|individuals|patients|people|persons) |(?<=\bwomen )|(?<=\bmen ))"
    rf"(?:who are )?(?:aged |aged over |aged at least |over |above |older than ){_AGE}{_OR_OLDER}(?!\w)"
    rf"|\baged (?:over |at least )?{_AGE}{_OR_OLDER}(?!\w)"
    rf"|\b(?:1[89]|[2-9]\d) (?:years?|yrs?)(?: of age)? (?:and|or) (?:above|older|over)\b"
    r"|\b(?:adults|boys|children|girls|infants|men|patients|people|women) (?:aged )?(?:below|under|younger than) "
    r"(?:the age of )?\d{1,2}(?: ?(?:months?|years?|yrs?)(?: of age| old)?)?(?!\w)"
    r"|\b(?:(?:adolescents|adults|boys|children|girls|individuals|patients|people|persons) )?(?:who are )?"
    r"(?:aged?|ages|between the ages of) \d{1,2}(?: years?)? ?(?:to|and|-|–) ?\d{1,3}(?! ?(?:weeks?|days?))"
    r"(?: ?(?:months?|years?|yrs?)(?: of age| old)?)?(?!\w)",
    re.IGNORECASE,
)
# "A versus B": the words next to it.
_VERSUS = re.compile(
    r"(?<![^ ])([^ ,;.?()]++) (?:versus|vs\.?|compared (?:with|to)) (?:the )?([^ ,;.?()]++)", re.IGNORECASE
)
_QUOTED = re.compile('["“”„]([^"“”„ ,]+(?: [^"“”„ ,]+){1,7})["“”„]')
_NEGATING = (
    " absence of ",
    " cannot ",
    " except ",
    " excluding ",
    " free of ",
    " never ",
    " no ",
    " not ",
    " without ",
)
_OR = re.compile(" (?:or|and/or) ", re.IGNORECASE)
_MAX_ITEM = 3
_CONTEXT_FIRST = re.compile(r" *(?:after|among|before|during|for|following|in|with) ", re.IGNORECASE)
# Between two subjects, as a preposition is.
_FILLERS = re.compile(
    r",? (?:as well as|in case of|in (?:place|relation|terms|the context) (?:of|to)|instead of|rather than|such as|"
    r"versus|vs\.?|or|and/or|with re(?:gard|spect) to) |[,:;] ",
    re.IGNORECASE,
)
_MEASURED = re.compile(r" (?:after|at|by|over|within) (?:\w+ ){1,2}(?:days?|weeks?|months?|years?)\b", re.IGNORECASE)
# Endings of drug names (WHO, "The use of stems in the selection of International Nonproprietary Names").
_DRUG_ENDINGS = tuple(
    """azepam azolam caine ciclib cillin conazole coxib cycline dipine dronate dronic floxacin formin gatran gepant
    gliflozin gliptin glitazone glutide lukast mab nidazole olol oxetine parib platin prazole pril profen rafenib
    rubicin sartan setron stat taxel tecan thromycin tide tidine tinib triptan vastatin vir xaban zomib""".split()
)
# Papers word an effect in many ways, so that no search should require these of them.
_EFFECT_VERBS = frozenset(
    "affect affects decrease decreases help helps improve improves increase increases lowers prevent prevents "
    "reduce reduces shorten shortens".split()
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
        outcome: the words of a PICO question's outcome, which are not in `parts`; and in `outcome_text`, as written.
        starts: where a part of a PICO question begins in `parts`.
        verbs: what a question says of an effect ("reduce"), which is not in `parts` either.
        questions: the questions, if there are several.
        either_way: what it says may be there or not, which is not in `parts`.
        excluded: what it excludes, which is not in `parts`.
        ages: the ages that it is about ("aged 65 and over"), which are not in `parts`.
        comparison: where in `parts` begins what a PICO question compares with; -1 = nowhere.
        sides: the words before and after "versus".
        tangled: negations and conditions that no query can express, which are not in `parts`.
        alternatives: the words before and after each "or" and each comma of a list after a colon.
        quoted: what is in quotes, in small letters.
        listed: the words before and after each comma of what may be a list ("A, B or C").
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
    outcome: str = ""
    outcome_text: str = ""
    starts: frozenset[int] = frozenset()
    verbs: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    either_way: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    ages: tuple[str, ...] = ()
    comparison: int = -1
    sides: tuple[str, ...] = ()
    tangled: tuple[str, ...] = ()
    alternatives: tuple[tuple[str, str], ...] = ()
    listed: tuple[tuple[str, str], ...] = ()
    quoted: frozenset[str] = frozenset()

    @property
    def outcomes(self) -> list[str]:
        """The outcomes one by one, without when they are measured."""
        found = _MEASURED.sub(" ", self.outcome_text)
        return [" ".join(_parts(one)) for one in re.split(r"[,;]| (?:and|or) ", found) if any(phrases(one))]

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
    def is_mended(self) -> bool:
        """Whether its syntax is not quite as the user wrote it."""
        return bool(self.syntax) and self.syntax != self.text

    @property
    def has_exclusion(self) -> bool:
        """Whether it excludes something, which plain words cannot express."""
        return bool(self.excluded) or " NOT " in f" {self.syntax}"

    def find(self, term: str) -> range | None:
        """The positions in `parts` of the words of `term`, in any case, with or without hyphens; None if they are not
        adjacent. A negation is one part."""
        wanted = _unhyphenated(term)
        parts = [*map(_unhyphenated, self.parts)]
        for start in range(len(parts)):
            found: list[str] = []
            for stop in range(start, len(parts)):
                found += parts[stop]
                if found == wanted:
                    return range(start, stop + 1)
                if len(found) >= len(wanted):
                    break
        return None


def _unhyphenated(text: str) -> list[str]:
    return text.casefold().replace('"', "").replace("-", " ").split()


def read_topic(topic: str) -> Topic:
    """Read a topic in words or in PubMed's syntax.

    Raises:
        InvalidInputError: it is blank, longer than `QUERY_LIMIT` characters, or has no word to search for.
    """
    text = without_letters(clean_line(topic))
    if not text:
        raise InvalidInputError('The topic is blank. Name what to search for, e.g. "metformin alzheimer".')
    if len(text) > QUERY_LIMIT:
        raise InvalidInputError(
            f"The topic has {len(text):,} characters; the limit is {QUERY_LIMIT:,}. Keep the essential terms."
        )
    syntax = pubmed_syntax.repair(text) if pubmed_syntax.uses_pubmed_syntax(text) else ""
    subject = ", ".join(pubmed_syntax.subjects(text)) if syntax else subject_of(text)
    if not any(phrases(subject)):
        raise InvalidInputError("The topic has no word to search for. Name the disease, drug, gene or method.")
    pico = {} if syntax else pico_parts(text)
    outcome = " ".join(part for label, part in pico.items() if label.startswith("O"))
    asked = [(label, part) for label, part in pico.items() if not label.startswith("O") and any(phrases(part))]
    asked.sort(key=lambda one: one[0].startswith("C"))  # the comparison last
    required = [part for _, part in asked]
    if not any(phrases(outcome)) or not required:
        outcome, required = "", [subject]
    is_question = text.split()[0].lower() in QUESTION_WORDS or ASKED.match(text) is not None
    is_question = is_question or " whether " in text.lower()
    plain = [untangled(distributed(part)) for part in required]
    excluding = [without_exclusions(part) for part, _ in plain]
    either = [without_either_way(part) for part, _ in excluding]
    required = [part for part, _ in either]
    tangled, excluded, either_way = (
        tuple(one for _, found in some for one in found) for some in (plain, excluding, either)
    )
    ages = tuple(clean_line(found[0]) for part in required for found in _AGED.finditer(part))
    required = [_AGED.sub(" ,", part) for part in required]
    if not any(phrases(" ".join(required))):
        required, tangled, either_way, excluded, ages = [subject], (), (), (), ()
    required = [_QUOTED.sub(_set_off, part) for part in required]
    alternatives = tuple(pair for part in required for pair in _alternatives(part))
    listed = tuple(pair for part in required for pair in _listed(part))
    sides = [] if syntax else [[_parts(side) for side in _FILLERS.split(part)] for part in required]
    verbs = tuple(part for part in chain(*chain(*sides)) if is_question and part.lower() in _EFFECT_VERBS)
    others = [[run for side in some for run in _between(side, verbs)] for some in sides]
    sides, verbs = (others, verbs) if any(phrases(" ".join(chain(*chain(*others))))) else (sides, ())
    ends, parts = [0, *accumulate(map(len, chain(*sides)))], tuple(chain(*chain(*sides)))
    starts = frozenset(ends)
    fitting = _fitting(parts, limit=pubmed_syntax.MAX_QUERY_LENGTH, max_words=len(parts))
    return Topic(
        text,
        subject,
        syntax,
        fitting,
        len(parts) - len(fitting),
        language_of(subject),
        outcome=" ".join(_parts(outcome)),
        outcome_text=outcome,
        starts=starts,
        verbs=verbs,
        questions=() if syntax or pico else questions_in(text),
        either_way=() if syntax else either_way,
        excluded=() if syntax else excluded,
        ages=() if syntax else ages,
        tangled=() if syntax else tangled,
        alternatives=() if syntax else alternatives,
        listed=() if syntax else listed,
        quoted=frozenset() if syntax else frozenset(found[1].lower() for found in _QUOTED.finditer(subject)),
        comparison=ends[-1 - len(sides[-1])] if asked[1:] and asked[-1][0].startswith("C") else -1,
        sides=() if syntax or not (versus := _VERSUS.search(subject)) else versus.groups(),
    )


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
    needed = 2 if _NEVER_ENGLISH.isdisjoint(words) else 1
    return language if counts[language] >= needed and counts[language] > english else ""


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


def _between(words: Iterable[str], left_out: Container[str]) -> Iterator[tuple[str, ...]]:
    """The runs of words between those that are `left_out`."""
    runs = groupby(words, key=lambda word: word in left_out)
    yield from (tuple(run) for is_left_out, run in runs if not is_left_out)


def _set_off(found: re.Match[str]) -> str:
    """A phrase in quotes between commas, unless it is negated."""
    is_negated = f" {found.string[: found.start()].lower()}".endswith(_NEGATING)
    return found[1] if is_negated else f" , {found[1]} , "


def _alternatives(text: str) -> Iterator[tuple[str, str]]:
    """The words around each "or", and each comma after a colon ("antibiotics: amoxicillin, doxycycline")."""
    before, _, after = text.rpartition(": ")
    for some in (_OR.split(text), after.split(",") if before else ()):
        sides = (re.findall(r"[^ ,:;.?()]+", side) for side in some)
        yield from ((one[-1], other[0]) for one, other in pairwise(sides) if one and other)


def _listed(text: str) -> Iterator[tuple[str, str]]:
    """The words around the commas before an "or", which may be those of a list ("A, B or C") or end a clause."""
    items = text.split(",")
    if _CONTEXT_FIRST.match(text):  # "In AF, aspirin or warfarin"
        items = items[1:]
    is_before_or = False
    for one, other in reversed(list(pairwise(items))):
        is_before_or = bool(_OR.search(other)) or (is_before_or and len(other.split()) <= _MAX_ITEM)
        if is_before_or and one.split() and other.split():
            yield one.split()[-1], other.split()[0]


def _parts(text: str) -> tuple[str, ...]:
    """The words for PubMed without those that open a question; each negation with what it negates is one phrase in
    quotes, since PubMed ignores "without" alone. "and" is kept between words only ("sensitivity and specificity").
    """
    tokens = [pubmed_syntax.words(token) + (" ," if token[-1] in ",;:.?!)]" else "") for token in text.split()]
    found = [word for word in " ".join(tokens).split() if word == "," or any(map(str.isalnum, word))]
    for word, following in pairwise([*found, ""]):
        if word.lower() not in QUESTION_WORDS or word.isupper() or following.lower() in NEGATIONS or not following:
            break
        found = found[1:]
    operands = re.findall(
        r'"[^"]*"|[^ ,]+', quote_negations(" ".join(found), all_caps=not any(letter.islower() for letter in text))
    )
    # PubMed would read "or" and "not" as operators; "versus" only contrasts.
    silent = {"or", "OR", "Or", "not", "NOT", "Not", "versus", "Versus", "vs", "Vs"}
    around = ["", *("and" if part.lower() == "and" else part for part in operands if part not in silent), ""]
    return tuple(
        part
        for before, part, after in zip(around, around[1:], around[2:], strict=False)
        if part != "and" or not {before[:1], after[:1]} & {"", '"'}
    )
