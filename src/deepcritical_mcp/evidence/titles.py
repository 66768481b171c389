"""Comparison of titles: whether two name the same document, and which words distinguish them.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from html import unescape
from typing import Literal

from rapidfuzz import fuzz
from rapidfuzz.distance import Indel, Levenshtein

from deepcritical_mcp.models import without_retraction_mark
from deepcritical_mcp.text import (
    FOREIGN_FUNCTION_WORDS,
    FUNCTION_WORDS,
    GREEK_NAMES,
    NEGATIONS,
    data_lines,
    normalized,
    one_spelling,
)

Likeness = Literal["same", "near", "other"]

LONG_TITLE = 25
"""Minimum characters of a normalized title that identifies a document."""
CONTENT_WORDS = 5
"""Minimum content words of such a title."""
LONG_WORD = 7
"""Minimum letters of a word in which one different letter may be a typo."""

NEARLY_ALL = 90
"""Of 100: how much of a title must stand there as it is written."""
HEAD = 800
"""Characters: the title of a document that gives itself none stands among its first ones."""

_TOKEN = re.compile(r"[^\W\d_]+|\d+")
_LISTS: dict[str, list[str]] = {}
for _kind, _, _words in (line.partition(": ") for line in data_lines(__file__, "title_words.txt")):
    _LISTS.setdefault(_kind, []).append(_words)
_SIGNS = (one.partition(" ") for one in _LISTS["sign"])
_NAMES = {letter: f" {name} " for letter, name in (*GREEK_NAMES.items(), *((sign, name) for sign, _, name in _SIGNS))}
_WORDS = {word: str(number) for number, words in enumerate(_LISTS["numeral"]) for word in words.split()}
_OPPOSITES = tuple(frozenset(pair.split("/")) for pair in " ".join(_LISTS["opposites"]).split())
_PREFIXES = tuple(tuple(pair.split("/")) for pair in " ".join(_LISTS["prefixes"]).split())
# A title that begins with one of these is about another document, or is not that document.
_NOTICES = re.compile(
    r"(?:authors? (?:s )?|publishers? (?:s )?|editorial |notice of )?"
    r"(?:correction|corrigend(?:um|a)|errat(?:um|a)|addend(?:um|a)|retraction(?! stud)|withdrawal|"
    r"expression of concern|re|reply|response|(?:comments?|commentary) (?:on|to)|letter (?:to|by|regarding)|"
    r"in (?:response|reply)|protocol|republished|summary of|abstract)\b"
)
DENIALS = NEGATIONS | frozenset("none lack lacks lacking fail fails failed".split())
_MARKUP = re.compile(r"</?(?:i|b|u|em|strong|sub|sup|sc|span|inf)\b[^<>]{0,80}>", re.IGNORECASE)
_END_MARK = re.compile(
    r"[\[(](?:pdf|(?:article in |in )?(?:chinese|french|german|spanish|russian|japanese|polish|italian|korean))[\])]$",
    re.IGNORECASE,
)
_GENERIC = re.compile("|".join(_LISTS["generic"]))
_JUNK_ENDINGS = (".pdf", ".doc", ".docx", ".htm", ".html", ".indd", ".qxd", ".dvi")
_MARK = re.compile(r"[:?!.–—-](?=\s)|\s[(\[]")
_SEPARATOR = re.compile(r"\s(?:\||::|»|·|•|—|–|-)\s")
_SITE_PREFIX = re.compile(
    r"^(?:[\[(](?:pdf|html|full text)[\])]\s*|"
    r"(?:news|press release|(?:full )?article|abstract|research|home)\s?(?::|\||-|–)\s)",
    re.IGNORECASE,
)
_VIEWS = frozenset({("abstract",), ("full", "text"), ("pdf",), ("html",), ("request", "pdf")})
_SITES, _JOURNAL_WORDS, _NO_SITE, ABSTRACT_LABELS = (
    frozenset(" ".join(_LISTS[kind]).split()) for kind in ("site", "journal", "no site", "label")
)
_SMALL_WORDS = frozenset("of the and for in on & de et la".split())
_ENGLISH = "the of and in with for from on an by to is are patients study"
_WORDS_OF = {name: {*words.split()} for name, words in {"English": _ENGLISH, **FOREIGN_FUNCTION_WORDS}.items()}


@lru_cache(maxsize=1_000)
def tokens(text: str) -> tuple[str, ...]:
    """The words and numbers of a text in one spelling: no case, accents or punctuation; numerals as digits; British
    words as American ones; Greek letters by their names; letters apart from digits, so that PD-1 is PD1."""
    bare = _MARKUP.sub("", unescape(text)) if "<" in text or "&" in text else text
    plain = plain_letters("".join(_NAMES.get(letter, letter) for letter in bare.casefold()))
    return tuple(map(_token, _TOKEN.findall(plain)))


def plain_letters(text: str) -> str:
    """A text in small letters without accents and ligatures."""
    plain = text.casefold().replace("œ", "oe").replace("æ", "ae")
    return "".join(letter for letter in normalized("NFKD", plain) if not unicodedata.combining(letter))


def _token(word: str) -> str:
    if word.isdigit():
        return str(int(word)) if len(word) < 20 else word
    return _WORDS.get(word) or one_spelling(word)


def bare_title(title: str, host: str = "") -> str:
    """A title without what a site puts around it: "WHO warns of cholera | News | WHO" -> "WHO warns of cholera".

    What follows "|" or a dash is a site's name only if it is known or shares a word with `host`.
    """
    bare = _END_MARK.sub("", _MARKUP.sub("", unescape(title).strip())).rstrip()
    bare = _SITE_PREFIX.sub("", without_retraction_mark(bare))
    of_site = _SITES | {word for word in tokens(host) if len(word) > 2}
    while (
        end := max((one.start() for one in _SEPARATOR.finditer(bare) if len(bare) - one.end() <= 60), default=-1)
    ) > 0:
        suffix = tokens(bare[end:])
        is_site = suffix in _VIEWS or not of_site.isdisjoint(suffix)
        if len(tokens(bare[:end])) < CONTENT_WORDS or not is_site or len(suffix) > 6:
            break
        bare = bare[:end].rstrip()
    return bare


def adds_a_site(title: str, other: Sequence[str], journals: Collection[Sequence[str]], is_known: bool) -> bool:
    """Whether a title, as it is written, is the `other` one, as `tokens`, with the name of a journal or site before or
    behind it ("Gout in men of Lyon | Scientific Reports").

    Args:
        journals: names, as `tokens`, that the two publications give.
        is_known: whether their authors and years agree, so that any name will do.
    """
    if not identifies(other):
        return False
    for found in _SEPARATOR.finditer(title):
        parts = title[: found.start()], title[found.end() :]
        for rest, name in (parts, parts[::-1]):
            if tokens(rest) == tuple(other):
                return all(_is_site(part, journals, is_known) for part in _SEPARATOR.split(name))
    return False


def _is_site(name: str, journals: Collection[Sequence[str]], is_known: bool) -> bool:
    words = tokens(name)
    if words in _VIEWS or words in journals:
        return True
    is_name = 0 < len(words) <= 6 and all(word[0].isupper() for word in name.split() if word not in _SMALL_WORDS)
    if not is_name or any(map(str.isdigit, words)) or not _NO_SITE.isdisjoint(words):
        return False
    return is_known or not _SITES.isdisjoint(words) or not _JOURNAL_WORDS.isdisjoint(words)


def is_generic(words: Sequence[str]) -> bool:
    """Whether many documents have such a title, so that it identifies none of them."""
    return _GENERIC.fullmatch(" ".join(words)) is not None


def is_junk(title: str) -> bool:
    """Whether it is the name of a file or site rather than a title."""
    plain = title.strip().casefold()
    if _SITES.issuperset(tokens(title)):
        return True
    if not plain or plain.startswith(("microsoft word", "untitled")) or plain.endswith(_JUNK_ENDINGS):
        return True
    first, *others = plain.split()
    is_file = any(map(str.isdigit, first)) and ("." in first or not others)
    return is_file and not any(any(map(str.isalpha, word)) for word in others)


def identifies(words: Sequence[str]) -> bool:
    """Whether a title can identify a document together with its content: it is long and has enough content words."""
    return len(" ".join(words)) >= LONG_TITLE and len(content_words(words)) >= CONTENT_WORDS


def content_words(words: Sequence[str]) -> list[str]:
    """The words and numbers of a title, as `tokens`, that say what it is about."""
    return [word for word in words if word not in FUNCTION_WORDS]


def likeness(one: Sequence[str], other: Sequence[str]) -> Likeness:
    """How two titles compare, given as `tokens`.

    "same": equal except for function words. "near": equal except for typos, or one has an additional subtitle. "other":
    a significant word differs: any number, a name, a population, a negation, a drug, or a notice in front.
    """
    first, second = sorted(map(content_words, (one, other)))
    if "".join(first) == "".join(second):  # also "health care", "healthcare"
        return "same"
    if not first or not second or is_notice(one) != is_notice(other):
        return "other"
    found: Likeness = "same"
    for gone, come, at_end in changes(first, second):
        if "".join(gone) == "".join(come):  # "health care", "healthcare"
            continue
        if gone and come:
            is_near = len(gone) == len(come) and all(map(is_misprint, gone, come))
        else:
            is_near = at_end and len(gone or come) >= 2 and _DESIGNS.issuperset(gone or come)
        if not is_near:
            return "other"
        found = "near"
    return found


def changes(one: Sequence[str], other: Sequence[str]) -> list[tuple[list[str], list[str], bool]]:
    """Where two texts differ, given as `tokens`: the words of one, those of the other in their place, and whether both
    texts end there."""
    found: list[tuple[list[str], list[str], bool]] = []
    start, from_ = 0, 0
    equal = [(op.src_start, op.dest_start, op.src_end) for op in Indel.opcodes(one, other) if op.tag == "equal"]
    for end, to, next_start in [*equal, (len(one), len(other), len(one))]:
        gone, come = list(one[start:end]), list(other[from_:to])
        if gone or come:
            found.append((gone, come, (end, to) == (len(one), len(other))))
        start, from_ = next_start, to + next_start - end
    return found


def replaced(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether one title has a word in the place of another's: a population, drug, place or opposite."""
    first, second = sorted(map(content_words, (one, other)))
    found = [(gone, come) for gone, come, _ in changes(first, second) if "".join(gone) != "".join(come)]
    return any(
        gone and come and (len(gone) == len(come) or len(found) == 1) and not all(map(is_misprint, gone, come))
        for gone, come in found
    )


def names_a_part(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether only one title says that it is an abstract of a supplement, a subgroup or a further analysis."""
    first, second = sorted(map(content_words, (one, other)))
    found = [{*gone, *come} for gone, come, _ in changes(first, second)]
    return any(not words <= _DESIGNS and (words & _PARTS or any(map(str.isdigit, words))) for words in found)


def numbers_agree(one: Iterable[str], other: Iterable[str]) -> bool:
    """Whether two texts can belong to one document by their numbers: equal, or one a subset of the other."""
    first, second = ({word for word in words if word.isdigit()} for words in (one, other))
    return first <= second or second <= first


def is_translation(one: str, other: str) -> bool:
    """Whether two titles are written in two languages, by their scripts or function words; False if in doubt."""
    scripts = _script(one), _script(other)
    if all(scripts) and scripts[0] != scripts[1]:
        return True
    first, second = _languages(one), _languages(other)
    return bool(first and second and first.isdisjoint(second))


def _script(text: str) -> str:
    """LATIN, CJK, CYRILLIC and so on: that of most letters."""
    letters = [unicodedata.name(letter, "").partition(" ")[0] for letter in text if letter.isalpha()]
    return max(set(letters), key=lambda script: (letters.count(script), script)) if letters else ""


def _languages(text: str) -> frozenset[str]:
    """The languages with most function words in a text; none when there are fewer than two."""
    words = text.casefold().split()
    counts = {language: sum(word in known for word in words) for language, known in _WORDS_OF.items()}
    most = max(counts.values())
    return frozenset(language for language in counts if counts[language] == most) if most >= 2 else frozenset()


def is_notice(words: Sequence[str]) -> bool:
    """Whether a title, as `tokens`, is that of a correction, retraction, reply or protocol."""
    return _NOTICES.match(" ".join(words)) is not None


def is_subtitle(title: str, rest: Sequence[str]) -> bool:
    """Whether these words, as `tokens`, are what follows a mark in a title as it is written."""
    return any(tokens(title[found.end() :]) == tuple(rest) for found in _MARK.finditer(title))


def begins_with(text: str, title: str) -> bool:
    """Whether a title stands where a document begins, not as what a comment or a correction is about."""
    words, beginning = " ".join(tokens(title)), " ".join(tokens(text[:HEAD]))
    found = fuzz.partial_ratio_alignment(words, beginning)
    if not words or found is None or found.score < NEARLY_ALL:
        return False
    before = beginning[: found.dest_start].split()
    return not any(is_notice(before[at:]) for at in range(len(before)))


def continues(title: Sequence[str], cut: Sequence[str]) -> bool:
    """Whether `cut` is how `title` begins; its last word may be cut as well, unless it is a number."""
    *begun, last = cut
    word = title[len(begun)] if len(title) >= len(cut) else ""
    return [*title[: len(begun)]] == begun and (word == last or (word.startswith(last) and not last.isdigit()))


def is_misprint(one: str, other: str) -> bool:
    """Whether two words differ in one letter only, as by a misprint: not in the first letter, not in numbers, and not
    as opposites."""
    if one == other:
        return True
    if one.isdigit() or other.isdigit() or is_opposite(one, other):
        return False
    short, long = sorted((one, other), key=len)
    if long in (f"{short}s", f"{short}es") and len(short) > 3:
        return True
    return len(short) >= LONG_WORD and one[0] == other[0] and Levenshtein.distance(one, other, score_cutoff=1) <= 1


def is_opposite(one: str, other: str) -> bool:
    """Whether two words look alike, but are known to mean different things: afferent and efferent, hypo- and hyper-."""
    words = one, other
    by_prefix = any(
        a.startswith(first) and b.startswith(second) for a, b in (words, words[::-1]) for first, second in _PREFIXES
    )
    return by_prefix or frozenset(words) in _OPPOSITES


# What distinguishes the parts of one supplement, and what says how a study was done.
_PARTS, _DESIGNS = (frozenset(map(_token, " ".join(_LISTS[kind]).split())) for kind in ("part", "design"))
