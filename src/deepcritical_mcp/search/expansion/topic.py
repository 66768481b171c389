"""A topic as the user wrote it, and as a PubMed query that neither loses nor inverts a word."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, pairwise

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.models import QUERY_LIMIT
from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.phrases import phrases, stems
from deepcritical_mcp.text import (
    FOREIGN_FUNCTION_WORDS,
    NEGATIONS,
    PUBMED_STOP_WORDS,
    QUERY_FUNCTION_WORDS,
    QUESTION_WORDS,
    REQUEST_WORDS,
    clean_line,
)

# The limits of Brave Search, the strictest of the web providers.
WEB_CHARS = 400
WEB_WORDS = 50
OTHER_SCRIPT = "another script"
# Words that are English ones too say nothing of a topic's language.
_ALSO_ENGLISH = QUERY_FUNCTION_WORDS | {"die", "men", "over"}
# One of these is enough, since English topics never have them ("de novo", "in vivo").
_NEVER_ENGLISH = frozenset("avec bei bij chez dans della delle für mit nach naar pour und voor zur".split())
# How many words a negation covers at most, itself included: "without a diagnosis of type 2 diabetes".
_MAX_NEGATION_WORDS = 7

_IGNORED = rf"(?:{'|'.join(sorted(QUERY_FUNCTION_WORDS))})(?![^ ])"
# Nothing is negated in "with or without" or at the end of a clause; "of" continues a negation ("without a diagnosis of
# diabetes").
_CLAUSE = "(?:admitted|attending|exposed|given|living|receiving|taking|treated|undergoing)(?![^ ])"
_NEGATION = re.compile(
    r"(?<![^ ])(?<!\band )(?<!\bor )(?<!\bversus )(?<!\bvs )(?:do )?"
    rf"(?P<negation>absence of|free of|lacking|unable to|{'|'.join(sorted(NEGATIONS))})"
    rf"(?: {_IGNORED}){{0,6}}(?: (?:of )?(?!{_IGNORED})[^ ,]++)"
    rf"(?: (?:of )?(?!{_IGNORED}|{_CLAUSE})[^ ,]++){{0,5}}",
    re.IGNORECASE,
)
_SOME_WORDS = rf"(?: (?:of )?(?!{_IGNORED})[^ ,;.?()]++){{1,6}}"
_FOR_WHOM = "(?: (?:among|during|for|in|of|patients|people|those|with)){0,3}"
# What may be there or not, and what is compared with nothing ("surgery vs no surgery"): no paper has to say so.
_EITHER_WAY = re.compile(
    r"(?<![^ ])(?:with (?:and|or) without|with/without|(?:apart|aside) from|other than|"
    rf"(?:versus|vs\.?|or|compared (?:with|to)) (?:no|without)){_FOR_WHOM}"
    rf"{_SOME_WORDS}",
    re.IGNORECASE,
)
_EXCLUDED = re.compile(
    rf"\(not ([^()]{{1,80}})\)|,? (?:excluding|except(?: for)?|but not|"
    rf"(?:apart from|aside from|other than)(?= (?:among|during|for|in) )){_FOR_WHOM}({_SOME_WORDS})",
    re.IGNORECASE,
)
# "aged 65 and over", "people over 80", "75 years or older", but no range of ages.
_AGE = r"(?:1[89]|[2-9]\d)(?! ?[-–] ?\d| (?:to|and) \d)(?: ?(?:years?|yrs?)(?: of age| old)?)?"
_OR_OLDER = "(?:,? (?:and|or) (?:above|older|over|up))?"
_AGED = re.compile(
    rf"\b(?:(?:adults|individuals|patients|people|persons) |(?<=\bwomen )|(?<=\bmen ))"
    rf"(?:who are )?(?:aged |aged over |aged at least |over |above |older than ){_AGE}{_OR_OLDER}(?!\w)"
    rf"|\baged (?:over |at least )?{_AGE}{_OR_OLDER}(?!\w)"
    rf"|\b(?:1[89]|[2-9]\d) (?:years?|yrs?)(?: of age)? (?:and|or) (?:above|older|over)\b",
    re.IGNORECASE,
)
# "A versus B": the words next to it.
_VERSUS = re.compile(
    r"(?<![^ ])([^ ,;.?()]++) (?:versus|vs\.?|compared (?:with|to)) (?:the )?([^ ,;.?()]++)", re.IGNORECASE
)
_REQUEST = re.compile(
    rf"^(?:find|i|i'm|looking|please|show|tell|we)(?: (?:{'|'.join(sorted(REQUEST_WORDS))}))*"
    r" (?:about|concerning|for|in|on|regarding) (?=\S)",
    re.IGNORECASE,
)
_ASKED = re.compile(
    r"^(?:please )?(?:(?:i|we)(?:'d| would)? (?:like|need|want|wish) to |(?:can|could) you |help me )?"
    r"(?:check|determine|explore|find out|investigate|know|learn|see|tell me|understand) "
    r"(?:about|how|if|what|whether|why) (?=\S)",
    re.IGNORECASE,
)
# Between two subjects, as a preposition is.
_FILLERS = re.compile(
    r" (?:as well as|in case of|in relation to|in (?:terms|the context) of|such as|versus|vs\.?|"
    r"with re(?:gard|spect) to) ",
    re.IGNORECASE,
)
_MEASURED = re.compile(r" (?:after|at|by|over|within) (?:\w+ ){1,2}(?:days?|weeks?|months?|years?)\b", re.IGNORECASE)
# Endings of drug names (WHO, "The use of stems in the selection of International Nonproprietary Names").
_DRUG_ENDINGS = tuple(
    """azepam azolam caine ciclib cillin conazole coxib cycline dipine dronate dronic floxacin formin gatran gepant
    gliflozin gliptin glitazone glutide lukast mab nidazole olol oxetine parib platin prazole pril profen rafenib
    rubicin sartan setron stat taxel tecan thromycin tide tidine tinib triptan vastatin vir xaban zomib""".split()
)
_PICO_LABEL = re.compile(
    r"(?<!\w)(?P<label>[PICOTS]|[Pp]opulation|[Pp]atients?|[Pp]roblem|[Ii]ntervention|[Ee]xposure|"
    r"[Cc]ompar(?:ison|ator)|[Cc]ontrol|[Oo]utcomes?) ?[:=] ?"
)
# "In adults with low back pain, does yoga compared with physiotherapy improve pain?"
_PICO_SENTENCE = re.compile(
    r"(?:in|among|for) (?P<P>[^,]++), (?:does|do|is|are|can|will|should) (?P<I>.{1,300}?),? "
    r"(?:compared (?:with|to)|versus|vs\.?|rather than) (?P<C>.{1,300}?),? "
    r"(?:affects?|changes?|decreases?|improves?|increases?|leads? to|lowers?|prevents?|reduces?|results? in) (?P<O>.+)",
    re.IGNORECASE,
)
_PICO_SLASHES = re.compile(r"PICO\b[: -]*+(?P<P>[^/]++)/(?P<I>[^/]++)/(?P<C>[^/]++)/(?P<O>[^/]++)", re.IGNORECASE)
# Where a second question begins: after a question mark, or after "and" or a semicolon before a question word.
_NEXT_QUESTION = re.compile(
    r"\?[ ,;]+(?=\w)|(?:;|,? and) (?=(?:how|what|which|why|when|does|do|is|are|can|should) )", re.IGNORECASE
)
# Papers word an effect in many ways, so that no search should require these of them.
_EFFECT_VERBS = frozenset(
    "affect affects decrease decreases help helps improve improves increase increases prevent prevents reduce "
    "reduces".split()
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
        ages: the ages from which on it is about people ("aged 65 and over"), which are not in `parts`.
        comparison: where in `parts` begins what a PICO question compares with; -1 = nowhere.
        sides: the words before and after "versus".
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
    pico = {} if syntax else _pico(text)
    outcome = " ".join(part for label, part in pico.items() if label.startswith("O"))
    asked = [(label, part) for label, part in pico.items() if not label.startswith("O") and any(phrases(part))]
    asked.sort(key=lambda one: one[0].startswith("C"))  # the comparison last
    required = [part for _, part in asked]
    if not any(phrases(outcome)) or not required:
        outcome, required = "", [subject]
    is_question = text.split()[0].lower() in QUESTION_WORDS or _ASKED.match(text) is not None
    excluded = tuple(clean_line(one or other) for part in required for one, other in _EXCLUDED.findall(part))
    required = [_EXCLUDED.sub(" ", part) for part in required]
    either_way = tuple(found.strip() for part in required for found in _EITHER_WAY.findall(part))
    required = [_EITHER_WAY.sub(" ,", part) for part in required]
    ages = tuple(clean_line(found[0]) for part in required for found in _AGED.finditer(part))
    required = [_AGED.sub(" ,", part) for part in required]
    if not any(phrases(" ".join(required))):
        required, either_way, excluded, ages = [subject], (), (), ()
    pieces = [] if syntax else [_parts(side) for part in required for side in _FILLERS.split(part)]
    verbs = tuple(part for piece in pieces for part in piece if is_question and part.lower() in _EFFECT_VERBS)
    others = [tuple(part for part in piece if part not in verbs) for piece in pieces]
    pieces, verbs = (others, verbs) if any(phrases(" ".join(chain(*others)))) else (pieces, ())
    ends, parts = [*accumulate(map(len, pieces))], tuple(chain(*pieces))
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
        questions=() if syntax or pico else _questions(text),
        either_way=() if syntax else either_way,
        excluded=() if syntax else excluded,
        ages=() if syntax else ages,
        comparison=ends[len(asked) - 2]
        if asked and asked[-1][0].startswith("C") and len(pieces) == len(asked) > 1
        else -1,
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
    words = re.findall(r"[^\W\d_]+", text.lower())
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


def _subject(text: str) -> str:
    """`text` without the labels of PICO, or without a request that ends in "papers about" and the like."""
    return clean_line("; ".join(part.strip(" ;.,") for part in _pico(text).values())) or _ASKED.sub(
        "", _REQUEST.sub("", text)
    )


def _pico(text: str) -> dict[str, str]:
    """The parts of a PICO question by their labels in capitals; {} if `text` is none."""
    if written := _PICO_SENTENCE.fullmatch(text.rstrip(" ?.")) or _PICO_SLASHES.fullmatch(text):
        return written.groupdict()
    labels = list(_PICO_LABEL.finditer(text)) if _PICO_LABEL.match(text) else []
    ends = [label.start() for label in labels[1:]] + [len(text)]
    parts = [(label["label"].upper(), text[label.end() : end]) for label, end in zip(labels, ends, strict=False)]
    return {name: " ; ".join(part for label, part in parts if label == name) for name, _ in parts} if parts[1:] else {}


def _questions(text: str) -> tuple[str, ...]:
    """The questions of a text that asks several."""
    found = [part.strip(" ?,;") for part in _NEXT_QUESTION.split(text)]
    is_question = text.split()[0].lower() in QUESTION_WORDS or "?" in text
    return tuple(found) if is_question and len(found) > 1 and all(any(phrases(one)) for one in found) else ()


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
    all_caps = not any(letter.islower() for letter in text)

    def quoted(match: re.Match[str]) -> str:
        words = match[0].split()
        # "NO" in mixed-case text is nitric oxide.
        if match["negation"].isupper() and not all_caps:
            return match[0]
        end = min(len(words), _MAX_NEGATION_WORDS + (words[0].lower() == "do"))
        while words[end - 1].lower() in PUBMED_STOP_WORDS:
            end -= 1
        return " ".join([pubmed_syntax.phrase(" ".join(words[:end])), *words[end:]])

    operands = re.findall(r'"[^"]*"|[^ ,]+', _NEGATION.sub(quoted, " ".join(found)))
    # PubMed would read "or" and "not" as operators; "versus" only contrasts.
    silent = {"or", "OR", "Or", "not", "NOT", "Not", "versus", "Versus", "vs", "Vs"}
    around = ["", *("and" if part.lower() == "and" else part for part in operands if part not in silent), ""]
    return tuple(
        part
        for before, part, after in zip(around, around[1:], around[2:], strict=False)
        if part != "and" or not {before[:1], after[:1]} & {"", '"'}
    )
