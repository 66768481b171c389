"""Titles, journals and pages, written as a reference writes others.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rapidfuzz.distance import Indel

from deepcritical_mcp.models import Publication

_TOKEN = re.compile(r"\S+")
_BARE = re.compile(r"</?\w{1,6}>|[\W_]")
_ABBREVIATIONS = frozenset(
    """acad acta adv am ann annu appl arch assoc biochem bioeng biol biomed biophys br bull can cardiol cell chem clin
    commun comput curr dermatol diabetol dis drug eng engl environ epidemiol eur exp fed gastroenterol genet geriatr
    gynecol haematol hematol hum immunol infect int intern invest j jpn lett med mem metab methods microbiol mol nat
    natl nephrol neurol neurosci nutr obstet oncol ophthalmol opin org orthop parasitol pathol pediatr pharm pharmacol
    phys physiol proc prog psychiatr psychol publ radiol ref rep reprod res respir rev rheumatol scand sci soc spectrosc
    stat struct surg symp technol ther toxicol transl trans trop univ urol vet virol""".split()
)
_FULL_WORD = re.compile(
    r"(?:the|of|and|in|for|de|der|des|journal|annals|archives|reviews?|research|reports|letters|medicine|science|annual|proceedings|"
    r"\w{1,20}(?:logy|istry|actions|ics|ment|tion|ences?|apy|ical|ional|ine|ular|ity|ery|eases?))",
    re.IGNORECASE,
)
_CUT_WORD = re.compile(r"(?<!\.)\b[A-Za-z]{1,12}\. ?[A-Z]")
_SUBTITLE = re.compile(r"\s?[:;=(\[].*|\s/\s.*", re.DOTALL)
_PAGES = re.compile(r"([A-Za-z]{0,5}\d{1,8}[A-Za-z]?)(\s{0,2}[-–—‐−]{1,2}\s{0,2})([A-Za-z]{0,5}\d{1,8}[A-Za-z]?)")
_SMALL = frozenset("a an and as at by for from in into of on or the to with de der des du la le et und".split())
_SIMILAR = 0.5


def title_in_style(old: str, title: str) -> Iterator[str]:
    """A title in place of `old`: with its markup and capitals where the words are the same, if most are; then whole."""
    true = title_alone(title) if not old.startswith("[") else title.removesuffix(".")
    places, wanted = [found.span() for found in _TOKEN.finditer(old)], true.split()
    changes = Indel.opcodes([_key(old[slice(*one)]) for one in places], [_key(word) for word in wanted])
    kept = sum(one.src_end - one.src_start for one in changes if one.tag == "equal")
    if kept >= _SIMILAR * max(len(wanted), len(places)):
        words = list[str]()
        for one in changes:
            if one.tag == "equal":
                words += (
                    _with_end(old[slice(*places[at])], wanted[to], is_last=at == len(places) - 1)
                    for at, to in zip(
                        range(one.src_start, one.src_end), range(one.dest_start, one.dest_end), strict=True
                    )
                )
            elif one.tag in ("insert", "replace"):
                words += wanted[one.dest_start : one.dest_end]
        patched = " ".join(words) + (true[-1] if true[-1:] in "?!" and words[-1][-1:] not in "?!" else "")
        yield patched[:1].upper() + patched[1:] if old[:1].isupper() and words[0].islower() else patched
    yield true


def title_alone(title: str) -> str:
    """A title without the full stop at its end and the brackets around a translation."""
    bare = title.removesuffix(".")
    inner = bare[1:-1].removesuffix(".")
    return inner if bare.startswith("[") and bare.endswith("]") and "[" not in inner else bare


def _key(word: str) -> str:
    return _BARE.sub("", word).casefold() or word


def _with_end(old: str, true: str, *, is_last: bool) -> str:
    """The old form of a word with the mark that truly follows it, as in "wounds: a trial"."""
    if is_last or old[-1:] in "*_>" or old[-1:] == true[-1:]:
        return old
    bare = old.rstrip(":;,?!.")
    mark = true[len(true.rstrip(":;,?!.")) :]
    return bare + mark


def journal_in_style(old: str, publication: Publication, *, abbreviates: bool) -> str:
    """The journal's name, abbreviated or in full like `old`; `abbreviates` decides where `old` does not tell."""
    full = _SUBTITLE.sub("", publication.journal).strip() or publication.journal
    short = publication.short_journal
    if not short or not full:
        return full or short or publication.book_title or publication.publisher
    is_short = is_abbreviated(old)
    if abbreviates if is_short is None else is_short:
        return _dotted(short, publication.journal) if re.search(r"[A-Za-z]\.(?:\s|$)", old) else short
    return _capitalized(full) if _is_title_case(old) else full


def is_abbreviated(journal: str) -> bool | None:
    """Whether a journal's name is abbreviated; None if that cannot be told ("Nature")."""
    words = re.findall(r"[^\W\d_]+", journal)
    if "J" in words:
        return True
    if len(words) > 1 and any(map(_FULL_WORD.fullmatch, words)):
        return False
    if _CUT_WORD.search(journal):
        return True
    known = any(word.lower() in _ABBREVIATIONS for word in words)
    return True if known and len(words) > 1 else None


def _dotted(short: str, full: str) -> str:
    """An abbreviation with full stops behind the words that are cut."""
    whole = {word.casefold() for word in re.findall(r"[^\W_]+", full)}
    return " ".join(
        word if word.casefold() in whole or (word.isupper() and len(word) > 1) else f"{word}." for word in short.split()
    )


def _is_title_case(text: str) -> bool:
    words = [word for word in re.findall(r"[^\W\d_][\w-]*", text) if word.lower() not in _SMALL]
    return all(word[0].isupper() for word in words)


def _capitalized(name: str) -> str:
    return " ".join(
        word if at and word in _SMALL else word[:1].upper() + word[1:] for at, word in enumerate(name.split())
    )


def pages_in_style(old: str, pages: str, *, dash: str = "-") -> str:
    """Pages with the dash of `old`, abbreviated ("1730-44") or in full like it; `dash` if `old` has none."""
    found, true = _PAGES.fullmatch(old.strip()), _PAGES.fullmatch(pages.strip())
    if not true:
        return pages
    first, last = true[1], _full(true[1], true[3])
    if found is None:
        return f"{first}{dash}{last if dash == '–' else true[3]}"
    dash = found[2]
    if len(found[3]) < len(found[1]):
        return f"{first}{dash}{_shortened(first, last)}"
    if dash.strip() == "–" or (len(found[3]) == len(found[1]) > 1 and found[1][:1] == found[3][:1]):
        return f"{first}{dash}{last}"
    return f"{first}{dash}{true[3]}"


def _full(first: str, last: str) -> str:
    return first[: len(first) - len(last)] + last if len(last) < len(first) and last.isdecimal() else last


def _shortened(first: str, last: str) -> str:
    if len(first) != len(last):
        return last
    same = next((at for at, (one, other) in enumerate(zip(first, last, strict=True)) if one != other), len(first) - 1)
    return last[same:]
