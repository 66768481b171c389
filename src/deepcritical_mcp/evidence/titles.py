"""Titles compared: whether two of them name the same thing, and which words keep them apart.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Literal

from rapidfuzz.distance import Levenshtein

Likeness = Literal["same", "near", "other"]

LONG_TITLE = 25
"""Characters from which a normalised title can identify a document."""
CONTENT_WORDS = 5
"""Content words from which it can."""
LONG_WORD = 7
"""Letters from which a word with one other letter may be a misprint."""

_TOKEN = re.compile(r"[^\W\d_]+|\d+")
_GREEK = {
    name: letter
    for letter, name in zip(
        "αβγδεζηθικλμνξοπρστυφχψω",
        "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon phi "
        "chi psi omega".split(),
        strict=True,
    )
}
_GREEK_NAMES = {letter: f" {name} " for name, letter in _GREEK.items()}
_ROMAN = {
    numeral: str(number)
    for number, numeral in enumerate("i ii iii iv v vi vii viii ix x xi xii xiii xiv xv".split(), 1)
}
_NUMBER_WORDS = {
    word: str(number)
    for number, words in enumerate(
        "zero|one first once|two second twice|three third|four fourth|five fifth|six sixth|seven seventh|eight eighth|"
        "nine ninth|ten tenth|eleven eleventh|twelve twelfth".split("|")
    )
    for word in words.split()
}
_FUNCTION_WORDS = frozenset(
    "a an and are as at be by can do does for from has have in into is it its of on or our that the their this to was "
    "we were what which who with".split()
)
# Spellings that British and American English write differently; applied to both titles, so it only has to be the same.
_SPELLINGS = (
    (re.compile(r"ae|oe"), "e"),
    (re.compile(r"our(?=$|s$|al|ed|ing|able)"), "or"),
    (re.compile(r"is(?=e$|es$|ed$|er$|ing$|ation)"), "iz"),
    (re.compile(r"ys(?=e$|es$|ed$|ing$)"), "yz"),
    (re.compile(r"(?<=[tb])re(?=$|s$)"), "er"),
    (re.compile(r"ll(?=ed$|ing$|er$)"), "l"),
    (re.compile(r"mme(?=$|s$)"), "m"),
    (re.compile(r"ogue(?=$|s$)"), "og"),
    (re.compile(r"sulph"), "sulf"),
    (re.compile(r"leuco"), "leuko"),
)
# One letter of difference that is no misprint.
_OPPOSITES = tuple(
    frozenset(pair.split("/"))
    for pair in (
        "afferent/efferent abduction/adduction dysphagia/dysphasia abductor/adductor ileal/iliac perineal/peroneal "
        "malleolus/malleus prostate/prostrate anuresis/enuresis apophysis/epiphysis"
    ).split()
)
# A title that begins with one of these is about another document, or is not that document.
_NOTICES = re.compile(
    r"(?:author s? |publisher s? |notice of )?(?:correction|corrigendum|erratum|errata|addendum|retraction(?! stud)|"
    r"withdrawal|expression of concern|re|reply|response|comments? on|commentary on|letter to|in response|author reply|"
    r"protocol|republished|summary of|abstract)\b"
)
_MARKUP = re.compile(r"</?(?:i|b|u|em|strong|sub|sup|sc|span|inf)\b[^<>]{0,80}>", re.IGNORECASE)
_LANGUAGE_MARK = re.compile(
    r"[\[(](?:in )?(?:chinese|french|german|spanish|russian|japanese|polish|italian|korean)[\])]$", re.IGNORECASE
)
_RETRACTED_PREFIX = re.compile(r"^\W*(?:retracted|withdrawn)\b(?: article| paper)?\W*", re.IGNORECASE)
_GENERIC = re.compile(
    r"highlights of prescribing information|(?:full )?prescribing information|package leaflet|"
    r"(?:response|reply|replies|letter|answer)s?(?: to)? (?:the )?(?:letter|editor|author|comment)\b.*|"
    r"frequently asked questions.*|faqs?\b.*|page not found.*|(?:error )?404\b.*|not found.*|access denied.*|"
    r"just a moment.*|full text view.*|home(?:page)?\b.*|search results.*|notes? from .*|meeting (?:notes|minutes).*|"
    r"(?:fda )?drug safety communication.*|safety (?:announcement|alert|notice).*|table of contents.*|contents|"
    r"editorial\b.*|editor s note.*|in this issue.*|news(?: in brief)?|book reviews?|introduction|"
    r"(?:conference |meeting |poster )?abstracts?|case reports?|about(?: us)?|contact(?: us)?|privacy policy|"
    r"patient (?:information|leaflet|education).*|questions and answers.*|q a|"
    r"summary of product characteristics.*|"
    r"weekly epidemiological (?:record|update|report)|situation report|press releases?|sign in|log ?in|cookies?\b.*"
)
_JUNK_ENDINGS = (".pdf", ".doc", ".docx", ".htm", ".html", ".indd", ".qxd", ".dvi")
_SITE_SUFFIX = re.compile(r"\s(?:\||::|»|·|•|—|–|-)\s(?=[^|]{1,60}$)")
_SITE_PREFIX = re.compile(r"^(?:news|press release|article|abstract|research|home)\s?(?::|\||-|–)\s", re.IGNORECASE)
_SITES = frozenset(
    "pubmed pmc nih ncbi medscape medlineplus wikipedia eurekalert sciencedaily medxpress nejm jama bmj lancet nature "
    "springer springerlink sciencedirect elsevier wiley plos cochrane who cdc fda ema nice statpearls uptodate "
    "clinicaltrials gov org com net guidance library journal news world health organization institute europe central "
    "academic oxford researchgate semantic scholar frontiers mdpi biorxiv medrxiv".split()
)
_LANGUAGES = {
    "en": "the of and in with for from on an by to is are patients study",
    "es": "el la los las de del en con por para y una un estudio pacientes",
    "fr": "le la les des du en et avec pour une un chez dans sur étude",
    "de": "der die das des und bei von mit für im zur eine einer",
    "pt": "o os as da do das dos em com por para e uma um no na",
    "it": "il lo gli della del delle nei con per e una un nella di",
    "nl": "de het een van en bij met voor in op te",
}
_WORDS_OF = {language: frozenset(words.split()) for language, words in _LANGUAGES.items()}


@lru_cache(maxsize=20_000)
def tokens(text: str) -> tuple[str, ...]:
    """The words and numbers of a text in one spelling: no case, accents or punctuation; numerals as digits; British
    words as American ones; Greek letters by their names; letters apart from digits, so that PD-1 is PD1."""
    plain = "".join(_GREEK_NAMES.get(letter, letter) for letter in text.casefold().replace("&", " and "))
    plain = unicodedata.normalize("NFKD", plain)
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    return tuple(_one_spelling(word) for word in _TOKEN.findall(plain))


def _one_spelling(word: str) -> str:
    if word.isdigit():
        return str(int(word)) if len(word) < 20 else word
    if word in _ROMAN and word != "i":
        return _ROMAN[word]
    if word in _NUMBER_WORDS:
        return _NUMBER_WORDS[word]
    if len(word) > 4:
        for pattern, replacement in _SPELLINGS:
            word = pattern.sub(replacement, word)
    return word


def bare_title(title: str) -> str:
    """A title without what a site puts around it: "WHO warns of cholera | News | WHO" -> "WHO warns of cholera"."""
    bare = _LANGUAGE_MARK.sub("", _MARKUP.sub("", title.strip())).rstrip()
    bare = _SITE_PREFIX.sub("", _RETRACTED_PREFIX.sub("", bare))
    while (end := _last_separator(bare)) > 0:
        suffix = tokens(bare[end:])
        is_site = any(word in _SITES for word in suffix) or bare[end : end + 3].strip() in ("|", "::", "»")
        if len(tokens(bare[:end])) < CONTENT_WORDS or not is_site or len(suffix) > 6:
            break
        bare = bare[:end].rstrip()
    return bare


def _last_separator(title: str) -> int:
    return max((found.start() for found in _SITE_SUFFIX.finditer(title)), default=-1)


def is_generic(words: Sequence[str]) -> bool:
    """Whether many documents bear such a title, so that it identifies none of them."""
    return _GENERIC.fullmatch(" ".join(words)) is not None


def is_junk(title: str) -> bool:
    """Whether it is a file's name rather than a title."""
    plain = title.strip().casefold()
    if not plain or plain.startswith(("microsoft word", "untitled")) or plain.endswith(_JUNK_ENDINGS):
        return True
    first, *others = plain.split()
    is_file = any(map(str.isdigit, first)) and ("." in first or not others)
    return is_file and not any(any(map(str.isalpha, word)) for word in others)


def identifies(words: Sequence[str]) -> bool:
    """Whether a title can identify a document together with its content: it is long and has enough content words."""
    content = [word for word in words if word not in _FUNCTION_WORDS]
    return len(" ".join(words)) >= LONG_TITLE and len(content) >= CONTENT_WORDS


def likeness(one: Sequence[str], other: Sequence[str]) -> Likeness:
    """How two titles compare, given as `tokens`.

    "same": equal but for function words. "near": equal but for misprints, or one has a subtitle more. "other": a word
    differs that changes what it is: any number, a name, a population, a negation, a drug, or a notice in front.
    """
    first, second = ([word for word in words if word not in _FUNCTION_WORDS] for words in (one, other))
    if first == second:
        return "same"
    if not first or not second or _is_notice(one) != _is_notice(other):
        return "other"
    found: Likeness = "same"
    for kind, start, end, from_, to in SequenceMatcher(None, first, second, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        gone, come = first[start:end], second[from_:to]
        if kind == "replace" and len(gone) == len(come):
            if not all(_is_misprint(a, b) for a, b in zip(gone, come, strict=True)):
                return "other"
        elif "".join(gone) == "".join(come):  # "health care", "healthcare"
            continue
        elif kind == "replace" or not _is_subtitle(gone or come, at_end=end == len(first) and to == len(second)):
            return "other"
        found = "near"
    return found


def numbers_agree(one: Iterable[str], other: Iterable[str]) -> bool:
    """Whether the numbers of two texts can belong to one document: equal, or all of one's among the other's."""
    first, second = ({word for word in words if word.isdigit()} for words in (one, other))
    return first <= second or second <= first


def language_of(text: str) -> str:
    """A guess of a title's language by its function words or script; "" when there are too few to tell."""
    letters = [letter for letter in text if letter.isalpha()]
    foreign = sum(not unicodedata.name(letter, "LATIN").startswith(("LATIN", "GREEK")) for letter in letters)
    if letters and foreign > len(letters) / 2:
        return unicodedata.name(next(letter for letter in letters if ord(letter) > 0x24F), "").partition(" ")[0]
    words = text.casefold().split()
    counts = {language: sum(word in known for word in words) for language, known in _WORDS_OF.items()}
    best = max(counts, key=lambda language: counts[language])
    runner_up = max(count for language, count in counts.items() if language != best)
    return best if counts[best] >= 2 and counts[best] > runner_up else ""


def _is_notice(words: Sequence[str]) -> bool:
    return _NOTICES.match(" ".join(words)) is not None


def _is_misprint(one: str, other: str) -> bool:
    if one.isdigit() or other.isdigit() or frozenset((one, other)) in _OPPOSITES:
        return False
    short, long = sorted((one, other), key=len)
    if long in (f"{short}s", f"{short}es") and len(short) > 3:
        return True
    return len(short) >= LONG_WORD and Levenshtein.distance(one, other, score_cutoff=1) <= 1


_DIVIDING = frozenset(
    "part phase edition update updated version supplement appendix protocol correction erratum reply comment letter "
    "adult adults child children pediatric infant infants neonate neonates adolescent adolescents men women man woman "
    "male males female females elderly older pregnant pregnancy not no without never versus vs ultra extension follow "
    "up interim final rationale design chapter volume series section questions answers guide".split()
)


def _is_subtitle(words: Sequence[str], *, at_end: bool) -> bool:
    """Whether words that only one of two titles has are a subtitle, which the other one leaves out."""
    return at_end and len(words) >= 2 and not any(word.isdigit() or word in _DIVIDING for word in words)
