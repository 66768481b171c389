"""Words and phrases of a text, compared by their stems, and the abbreviations that it defines."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache

import Stemmer

# Words that PubMed does not search for (NLM, PubMed Help, "Stopwords").
PUBMED_STOP_WORDS = frozenset(
    """a about again all almost also although always among an and another any are as at be because been before being
    between both but by can could did do does done due during each either enough especially etc for found from further
    had has have having here how however i if in into is it its itself just kg km made mainly make may mg might ml mm
    most mostly must nearly neither no nor obtained of often on our overall perhaps pmid quite rather really regarding
    seem seen several should show showed shown shows significantly since so some such than that the their theirs them
    then there therefore these they this those through thus to upon use used using various very was we were what when
    which while with within without would""".split()
)
NEGATIONS = frozenset("cannot neither never no non nor not without".split())
CONJUNCTIONS = frozenset("and or versus vs".split())
FUNCTION_WORDS = (
    PUBMED_STOP_WORDS
    | NEGATIONS
    | CONJUNCTIONS
    | frozenset(
        """across after against along amongst ever get he her him his i'm me my onto own per please she till together
        toward towards until us via whether where who whom whose why yet you your""".split()
    )
)
# Too general to be looked up in MeSH or to be followed from one paper to the next. Ambiguous words (lead, impact, near)
# are not among them.
_GENERAL_WORDS = """
    academic adult analysis area article aspect assessment associated available care case cause center centre change
    characteristic children clinic common compared comparison concern condition consequence control current data
    dependent determine development difference early effect effective effectiveness efficacy evaluation evidence
    experience factor female finding following form function general group high higher hospital human implication
    important improve improvement increase individual initial issue level literature long low lower main male
    management marker measure men method model mortality necessary new normal number observation older outcome overview
    paper parameter particular patient pattern people period population possible potential practice predictive
    presence
    prevalence prevention primary problem process prospective quality question rate recent reduce reduction relation
    relationship report research response result retrospective review risk role routine sample secondary setting severe
    short significance significant single specific status strategy studied study subject success support
    survival system technique term test therapeutic therapy time tool topic treatment true type understanding update
    useful valid validity value women work young"""

_TOKEN = re.compile(r"[^\W_]+(?:(?:[-‐‑'’.+·]|(?<=\d),(?=\d))[^\W_]+)*\+*|\S")
_GREEK_NAMES = "alpha beta gamma delta epsilon zeta theta kappa lambda sigma omega".split()
_GREEK = str.maketrans(dict(zip("αβγδεζθκλσω", _GREEK_NAMES, strict=True)))
# British spelling -> American, on words in lower case.
_SPELLINGS = [
    pair.split(">")
    for pair in """aemi>emi haem>hem oedema>edema oesoph>esoph foet>fet paediatr>pediatr gynaec>gynec orthopaed>orthoped
    rrhoea>rrhea pnoea>pnea tumour>tumor colour>color behaviour>behavior fibre>fiber anaesth>anesth caesar>cesar
    oestr>estr coeliac>celiac aetiol>etiol sulph>sulf leucocyt>leukocyt isation>ization randomis>randomiz ageing>aging
    signalling>signaling labelling>labeling modelling>modeling""".split()
]
# PyStemmer is not thread-safe.
_STEMMER = Stemmer.Stemmer("english")  # pyright: ignore  # no type hints
_LOCK = threading.Lock()

_BRACKET = re.compile(r"[()\[\]]")
_MAX_CHARS_BEFORE = 200
_MAX_CHARS_INSIDE = 100
_MAX_SHORT_CHARS = 10


def stems(text: str) -> frozenset[str]:
    """The stems of the words of `text` that carry meaning, in American spelling and with Greek letters spelled out."""
    plain = text.lower().replace("'", "").replace("’", "").translate(_GREEK)
    return frozenset(stem for word in re.findall(r"\w+", plain) if (stem := _stem(word)))


@cache
def general_stems() -> frozenset[str]:
    """The stems of words that name no subject."""
    return stems(_GENERAL_WORDS)


def phrases(text: str) -> Iterator[tuple[str, ...]]:
    """The runs of words between function words and punctuation."""
    run: list[str] = []
    all_caps = not any(letter.islower() for letter in text)
    for token in _TOKEN.findall(text):
        if _is_content(token, all_caps=all_caps):
            run.append(token)
        elif run:
            yield tuple(run)
            run = []
    if run:
        yield tuple(run)


def natural_order(heading: str) -> str:
    """An inverted heading in natural order: "Diabetes Mellitus, Type 2" -> "Type 2 Diabetes Mellitus"."""
    return " ".join(reversed(heading.split(", "))) if heading.count(", ") in (1, 2) else heading


def definitions(texts: Iterable[str]) -> dict[str, str]:
    """Abbreviation -> long form, as the texts define them; the first definition wins. Takes linear time.

    After A. S. Schwartz and M. A. Hearst, "A simple algorithm for identifying abbreviation definitions in biomedical
    text" (Pacific Symposium on Biocomputing 2003): a short form in parentheses after its long form, or the other way
    round; every character of the short form is found in the long one, from right to left, the first at the beginning
    of a word.
    """
    found: dict[str, str] = {}
    for text in texts:
        for before, inside in _parenthesized(text):
            short, long = _pair(before, inside)
            if long:
                found.setdefault(short, long)
    return found


def _is_content(token: str, *, all_caps: bool) -> bool:
    is_acronym = token.isupper() and len(token) > 1 and not all_caps and token not in {"AND", "OR", "NOT"}
    is_word = any(letter.isalnum() for letter in token)
    return is_word and (is_acronym or token.lower().replace("’", "'") not in FUNCTION_WORDS)


@lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    """The stem of a word in lower case, "" for a function word."""
    if word in FUNCTION_WORDS and word not in NEGATIONS:
        return ""
    for british, american in _SPELLINGS:
        word = word.replace(british, american)
    with _LOCK:
        return str(_STEMMER.stemWord(word))  # pyright: ignore


def _parenthesized(text: str) -> Iterator[tuple[str, str]]:
    """(text before, text inside) of each innermost pair of brackets; the former starts at the previous bracket."""
    start = after_bracket = 0
    opening = -1
    for match in _BRACKET.finditer(text):
        place = match.start()
        if match[0] in "([":
            start, opening = after_bracket, place
        elif opening >= 0:
            if place - opening - 1 <= _MAX_CHARS_INSIDE:
                before = text[max(start, opening - _MAX_CHARS_BEFORE) : opening]
                yield before.strip(), text[opening + 1 : place].strip()
            opening = -1
        after_bracket = place + 1


def _pair(before: str, inside: str) -> tuple[str, str]:
    """The short and the long form in "before (inside)"; long is "" if nothing is defined."""
    inside = re.split("[;,]", inside, maxsplit=1)[0].strip()
    if _can_be_short_form(inside):
        last_sentence = re.split(r"[.;:!?]\s", before)[-1]
        return inside, _long_form(inside, " ".join(last_sentence.split()[-_max_words(inside) :]))
    short = before.split()[-1] if before else ""
    if _can_be_short_form(short) and len(inside.split()) > 1:
        long = _long_form(short, inside)
        return short, long if long == inside else ""
    return short, ""


def _max_words(short: str) -> int:
    return min(len(short) + 5, 2 * len(short))


def _can_be_short_form(text: str) -> bool:
    """2 to 10 characters in at most two words, with two capitals, or one and a digit."""
    if not 2 <= len(text) <= _MAX_SHORT_CHARS or len(text.split()) > 2 or not text[0].isalnum():
        return False
    capitals = sum(letter.isupper() for letter in text)
    return capitals >= 2 or (capitals == 1 and any(letter.isdigit() for letter in text))


def _long_form(short: str, text: str) -> str:
    """The shortest end of `text` that `short` abbreviates, "" if there is none."""
    position = len(text) - 1
    letters = [letter.lower() for letter in short if letter.isalnum()]
    for index in range(len(letters) - 1, -1, -1):
        while position >= 0 and not (
            text[position].lower() == letters[index]
            and (index > 0 or position == 0 or not text[position - 1].isalnum())
        ):
            position -= 1
        if position < 0:
            return ""
        position -= 1
    long = text[position + 1 :].strip(" -,;:\"'")
    is_longer = len(long) > len(short) and short.lower() not in long.lower().split()
    return long if is_longer and len(long.split()) <= _max_words(short) else ""
