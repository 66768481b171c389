"""A topic as the user wrote it, read into words, negations and limits; nothing is lost or inverted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.models import QUERY_LIMIT
from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.negations import (
    distributed,
    quote_negations,
    untangled,
    without_either_way,
    without_exclusions,
)
from deepcritical_mcp.search.expansion.other_databases import read_strategy
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

# What asks, and what stands around it in a request.
_ASKING = word_list("asking")
_AROUND = REQUEST_WORDS | _ASKING | word_list("around a request")
# "As a nurse, I want to know whether …", "The clinician wants to know if …", "Is there good evidence for …".
_LEAD_IN = re.compile(
    rf"^(?=(?:[^ ]+ ){{0,30}}?(?:{'|'.join(sorted(_ASKING))}) )"
    r"(?:(?:hello|hi)[!,.] )?(?:(?:as an?|i am|i'm|i study|i work|we are|we work) "
    rf"[^.?!]{{1,150}}?(?:,|\.| and|;|(?= (?:(?:i|we) )?(?:{'|'.join(sorted(_ASKING))}) )) )?"
    r"(?:(?:an?|my|our|the) (?:[\w-]+ ){1,2}(?=(?:asks?|explores?|is|are|looks?|needs?|wants?|wonders?) ))?"
    rf"(?:(?:{'|'.join(sorted(_AROUND))}) )+"
    r"(?:(?:bachelor|master|phd)['’]?s? (?:essay|project|thesis) )?"
    r"(?:about|at|concerning|for|how|if|in|on|regarding|what|whether|why) (?=\S)",
    re.IGNORECASE,
)
# "Hi, I'm a nursing student.": who asks.
_WHO = re.compile(
    r"^(?:(?:hi|hello|hey|dear \w+)[,!. ]+)?(?:(?:as|i am|i'm|we are) (?:an? )?(?:[\w-]+ ){0,3}?"
    rf"(?:{'|'.join(sorted(word_list('who asks')))})\b[^.?!,;]{{0,60}}[.,;!] )?",
    re.IGNORECASE,
)
_SPAN = re.compile(
    r" (?:during|from|in|over|within) the (?:last|past) (?:[\w-]+ )?(?:decades?|months|years?)\b", re.IGNORECASE
)
_MAY_I = re.compile("^(?:can|could|do|may|must|should) (?:i|one|we|you) (?:[a-z]+ (?=for )|(?=.))", re.IGNORECASE)
_WISH = re.compile(
    "[,.;?!] (?:if possible|ideally|please|preferably|thanks|thank you)(?![^ ,.!]).{0,200}$", re.IGNORECASE
)
_PICO_LABEL = re.compile(
    r"(?<!\w)(?P<label>[PICOTS]|[Pp]opulation|[Pp]atients?|[Pp]roblem|[Ii]ntervention|[Ee]xposure|"
    r"[Cc]ompar(?:ison|ator)|[Cc]ontrol|[Oo]utcomes?)(?: ?[:=] ?| [-–] )"
)
# "In adults with low back pain, does yoga compared with physiotherapy improve pain?"
_PICO_SENTENCE = re.compile(
    r"(?:in|among|for) (?P<P>[^,]++), (?:does|do|is|are|can|will|should) (?P<I>.{1,300}?),? "
    r"(?:compared (?:with|to)|versus|vs\.?|rather than|(?:better|more effective|safer|superior|worse) (?:than|to)) "
    r"(?P<C>.{1,300}?),? (?:affects?|changes?|decreases?|for|improves?|increases?|leads? to|lowers?|prevents?|reduces?|"
    r"results? in) (?P<O>.+)",
    re.IGNORECASE,
)
_PICO_TITLE = re.compile(r"^PE?[IC]COT?S? ?(?:question ?)?[:-] ?(?=\w)", re.IGNORECASE)
_PICO_LETTER = re.compile(r" ?\([PICOT]\)(?=[ ,.;?]|$)")
_PICO_BARE = re.compile(r"(?:^|(?<=[,;] ))([PICOT]) (?=\w)")
# Where a second question begins: after a question mark, or after "and" or a semicolon before a question word.
_NEXT_QUESTION = re.compile(
    r"\?[ ,;]+(?=\w)|(?:;|,? and) (?=(?:how|what|which|why|when|does|do|is|are|can|should) )", re.IGNORECASE
)


def subject_of(text: str) -> str:
    """`text` without the labels of PICO, or without a request that ends in "papers about" and the like."""
    labeled = clean_line("; ".join(part.strip(" ;.,") for part in pico_parts(text).values()))
    asked = _LEAD_IN.sub("", _WHO.sub("", _SPAN.sub("", _WISH.sub("", _PICO_TITLE.sub("", text)))))
    return labeled or _MAY_I.sub("", asked)


def pico_parts(text: str) -> dict[str, str]:
    """The parts of a PICO question by their labels in capitals; {} if `text` is none."""
    text = _PICO_LETTER.sub("", text) if len(_PICO_LETTER.findall(text)) > 1 else text
    if written := _PICO_SENTENCE.fullmatch(_PICO_TITLE.sub("", text.rstrip(" ?."))):
        return written.groupdict()
    if (untitled := _PICO_TITLE.sub("", text)) != text:  # "PICO: P preterm infants, I probiotics"
        text = _PICO_BARE.sub(r"\1: ", untitled)
    labels = list(_PICO_LABEL.finditer(text)) if _PICO_LABEL.match(text) else []
    ends = [label.start() for label in labels[1:]] + [len(text)]
    parts = [(label["label"].upper(), text[label.end() : end]) for label, end in zip(labels, ends, strict=False)]
    return {name: " ; ".join(part for label, part in parts if label == name) for name, _ in parts} if parts[1:] else {}


def questions_in(text: str) -> tuple[str, ...]:
    """The questions of a text that asks several."""
    found = [part.strip(" ?,;") for part in _NEXT_QUESTION.split(text)]
    is_question = text.split()[0].lower() in QUESTION_WORDS or "?" in text
    return tuple(found) if is_question and len(found) > 1 and all(any(phrases(one)) for one in found) else ()


# The limits of Brave Search, the strictest of the web providers.
WEB_CHARS = 400
WEB_WORDS = 50
OTHER_SCRIPT = "another script"
# Words that are English ones too say nothing of a topic's language.
_ALSO_ENGLISH = QUERY_FUNCTION_WORDS | {"die", "men", "over"}
# One of these is enough, since English topics never have them ("de novo", "in vivo").
_NEVER_ENGLISH = word_list("never English")
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
_QUOTED = re.compile('["“”„]([^"“”„ ,]+(?: [^"“”„ ,]+){1,7})["“”„]')
# "gout and (smartwatches or sirtuins)" is no aside.
_IN_PARENTHESES = re.compile(r"(?<!\band )(?<!\bfor )(?<!\bin )(?<!\bof )(?<!\bor )(?<![^ ])\(([^()]{3,200})\)")
ASIDE = "aside"
_GENUS = re.compile(r"(?<![^ ])([A-Z]) ; (?=[a-z]{3})")  # "E. coli"
_NEGATING = tuple(
    f" {words} " for words in ("absence of|cannot|except|excluding|free of|never|no|not|without").split("|")
)


@dataclass(frozen=True)
class Token:
    """A word, a comma, ";" for a stronger mark, or a negation with what it negates, as one phrase in quotes; and the
    letter of the part of a PICO question that it is in, `ASIDE` in parentheses and in a second question, or ""."""

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
        syntax: a well-formed PubMed query if the user wrote PubMed syntax, or that of a database that can be read;
            else "".
        database: the database whose syntax was read, "" for PubMed's.
        operands: what the user joined by AND, each the plain terms joined by OR; () for a topic in words.
        tokens: without `syntax`, the words in order.
        language: "" for English or unknown; else the language it seems to be written in.
        typed: the words as the user typed them, if the topic is in NCBI's spelling; else "".
        questions: the questions, if there are several.
        either_way: what it says may be there or not, which is not in `tokens`.
        excluded: what it excludes, which is not in `tokens`.
        ages: the ages that it is about ("aged 65 and over"), which are not in `tokens`.
        tangled: negations and conditions that no query can express, which are not in `tokens`.
        quoted: what is in quotes, in small letters.
    """

    text: str
    subject: str
    syntax: str = ""
    database: str = ""
    operands: tuple[tuple[str, ...], ...] = ()
    tokens: tuple[Token, ...] = ()
    language: str = ""
    typed: str = ""
    questions: tuple[str, ...] = ()
    either_way: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    ages: tuple[str, ...] = ()
    tangled: tuple[str, ...] = ()
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
        """Where in `tokens` the words of `term` stand, in any case, with or without hyphens; a negation is one."""
        wanted = _unhyphenated(term)
        tokens = [_unhyphenated(one.text) for one in self.tokens]
        for start in range(len(tokens)):
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


_DANGLING = re.compile(r"^(?:(?:AND|OR) )+|(?: (?:AND|OR|NOT))+[^\w()]*$")


def read_topic(topic: str) -> Topic:
    """Read a topic in words, in PubMed's syntax or in that of another database, if that is safe.

    Raises:
        InvalidInputError: it is blank, longer than `QUERY_LIMIT` characters, has no word to search for, or is a
            strategy for another database that PubMed would misread.
    """
    text = _DANGLING.sub("", clean_line(topic))
    if not text:
        raise InvalidInputError('The topic is blank. Name what to search for, e.g. "metformin alzheimer".')
    if len(text) > QUERY_LIMIT:
        raise InvalidInputError(
            f"The topic has {len(text):,} characters; the limit is {QUERY_LIMIT:,}. Keep the essential terms."
        )
    if read := read_strategy(topic):
        database, text = read.database, read.pubmed
    else:
        database = ""
    syntax = pubmed_syntax.repair(text) if pubmed_syntax.uses_pubmed_syntax(text) or database else ""
    subject = ", ".join(pubmed_syntax.subjects(text)) if syntax else subject_of(text)
    if not any(phrases(subject)):
        raise InvalidInputError("The topic has no word to search for. Name the disease, drug, gene or method.")
    plain_terms = pubmed_syntax.plain_terms(syntax) if syntax and not database else None
    operands = tuple(map(tuple, plain_terms[0])) if plain_terms else ()
    if syntax and not operands:
        return Topic(text, subject, syntax, database, language=language_of(subject))
    pico = {} if operands else {label: part for label, part in pico_parts(text).items() if any(phrases(part))}
    labeled = [(_letter(label), part) for label, part in pico.items()] or [("", subject)]
    if operands:
        labeled = [(str(place), term) for place, term in enumerate(term for terms in operands for term in terms)]
    plain = [untangled(distributed(part)) for _, part in labeled]
    excluding = [without_exclusions(part) for part, _ in plain]
    either = [without_either_way(part) for part, _ in excluding]
    parts = [part for part, _ in either]
    ages = tuple(clean_line(found[0]) for part in parts for found in _AGED.finditer(part))
    parts = [_AGED.sub(" ,", part) for part in parts]
    tangled, excluded, either_way = (
        tuple(one for _, found in some for one in found) for some in (plain, excluding, either)
    )
    if not any(phrases(" ".join(parts))):
        parts, tangled, either_way, excluded, ages = [part for _, part in labeled], (), (), (), ()
    quoted = frozenset(found[1].lower() for part in parts for found in _QUOTED.finditer(part))
    questions = () if pico or operands else questions_in(text)
    excluded = (*excluded, *(plain_terms[1] if plain_terms else ()))
    tokens = [
        Token(one, label)
        for (letter, _), part in zip(labeled, parts, strict=True)
        for label, said in _with_asides(letter, _QUOTED.sub(_set_off, part), questions)
        for one in [*_tokens(said), ";"]
    ]
    return Topic(
        text,
        subject,
        operands=operands,
        tokens=tuple(_fitting(tokens)),
        language=language_of(subject),
        questions=questions,
        either_way=either_way,
        excluded=excluded,
        ages=ages,
        tangled=tangled,
        quoted=quoted,
    )


def _with_asides(label: str, text: str, questions: Sequence[str]) -> Iterator[tuple[str, str]]:
    """A part with its label, what it has in parentheses and its second question apart, if something is left."""
    place = text.find(questions[1]) if questions[1:] else -1
    first, rest = (text[:place], text[place:]) if place > 0 else (text, "")
    said = _IN_PARENTHESES.sub(" ", first)
    if not any(phrases(said)):
        yield label, text
        return
    yield label, said
    yield from ((ASIDE, one) for one in [*_IN_PARENTHESES.findall(first), rest] if any(phrases(one)))


def _letter(label: str) -> str:
    """P, I, C or O for the label of a part of a PICO question; "" for a time or a setting."""
    letter = {"E": "I", "C": "C"}.get(label[:1].upper(), label[:1].upper())
    return letter if letter in "PICO" else ""


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


def fit_web(text: str) -> str:
    """The longest prefix of `text` that every web provider accepts."""
    words = text.split()[:WEB_WORDS]
    ends = accumulate(len(word) + 1 for word in words)
    count = sum(end <= WEB_CHARS + 1 for end in ends)
    return " ".join(words[:count]) or text[:WEB_CHARS]


def _fitting(tokens: Sequence[Token]) -> Sequence[Token]:
    """The first tokens that fit in a query."""
    ends = list(accumulate(len(one.text) + 1 for one in tokens))
    return tokens[: max(1, sum(end <= pubmed_syntax.MAX_QUERY_LENGTH for end in ends))]


def _set_off(found: re.Match[str]) -> str:
    """A phrase in quotes between commas, unless it is negated."""
    is_negated = f" {found.string[: found.start()].lower()}".endswith(_NEGATING)
    return found[1] if is_negated else f" , {found[1]} , "


def _tokens(text: str) -> list[str]:
    """The words without those that open a question; each negation with what it negates is one phrase in quotes, since
    PubMed ignores "without" alone."""
    ends = {**dict.fromkeys(",)]", " ,"), **dict.fromkeys(";:.?!", " ;")}
    cleaned = [pubmed_syntax.words(word) + ends.get(word[-1], "") for word in text.split()]
    cleaned = [word_table("clipped").get(word.lower(), word) for word in cleaned]
    found = [
        word
        for word in _GENUS.sub(r"\1 ", " ".join(cleaned)).split()
        if word in (",", ";") or any(map(str.isalnum, word))
    ]
    while found[1:] and (
        found[0] in ("A", "An", "The") or (found[0].lower() in QUESTION_WORDS and not found[0].isupper())
    ):
        if found[1].lower() in NEGATIONS:
            break
        found = found[1:]
    is_shouted = text.isupper() and len(found) > 4
    named = [word for word in found if len(word) > 3]
    is_title = len(named) > 3 and sum(word.istitle() for word in named) > 0.7 * len(named)
    found = [
        word.lower()
        if (is_shouted and word[1:]) or (word[1:].islower() and (is_title or found[place - 1 : place] in ([], [";"])))
        else word
        for place, word in enumerate(found)
    ]
    quoted = quote_negations(" ".join(found), all_caps=text.isupper() and not is_shouted)
    return re.findall(r'"[^"]*"|[^ ]+', quoted)
