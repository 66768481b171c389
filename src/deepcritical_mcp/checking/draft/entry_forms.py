"""What an entry of a list of references looks like."""

from __future__ import annotations

import re

_NAME = (
    r"(?:(?:[Vv][ao]n|[Dd][aeiou][lnrs]?|[Ll][ae]|[Ee]l|[Tt]er|[Tt]en|[Zz]ur?|a[fv]|della)[ ]){0,2}"
    r"[^\W\d_a-zß-öø-ÿа-я][\w'’‐-]{1,30}"
)
_INITIALS = r"[A-ZÀ-ÞА-Я]\.(?:[ -]{0,2}[A-ZÀ-ÞА-Я]\.){0,3}"
_STARTS = re.compile(
    rf"""[*_\"“„«'‘(\[]{{0,3}}(?:
      (?:{_NAME}\ ){{0,3}}{_NAME},?\ {_INITIALS}                   # Berg, J. A.   van der Berg J.
    | (?:{_NAME}\ ){{0,3}}{_NAME},?\ [A-ZÀ-Þ]{{1,3}}(?:[,.;:(\ ]|$)   # Berg JA,
    | {_INITIALS}\ ?(?:{_NAME}\ ){{0,2}}{_NAME}[,.;\ ]              # J. A. Berg,
    | (?:{_NAME}\ ){{0,2}}{_NAME},\ {_NAME}                        # Berg, Jan
    | (?:{_NAME}\ ){{0,2}}{_NAME},?\ (?:et\ al|and\ |&|\(|(?:1[5-9]|20)\d\d[a-z]?[,.:])   # Berg et al.   Berg (2019)
    )""",
    re.VERBOSE,
)
_BODY_START = re.compile(
    r"[^\W\d_a-zß-öø-ÿа-я][^\d()\n]{3,120}?[.,]? ?(?:\((?:1[5-9]|20)\d\d[a-z]?[,)]|(?:1[5-9]|20)\d\d[a-z]?\.\s)"
)
_MEDLINE = re.compile(r"\b(?:1[5-9]|20)\d\d[ A-Za-z0-9-]{0,12}; ?\d{1,4}(?:\([^()\n]{1,12}\))?: ?[A-Za-z]{0,2}\d")
_QUOTED_START = re.compile(r"[\"“„«]|\[[^\]\n]{8,600}\]\(https?:")
_YEAR = re.compile(r"(?<![\w.])(?:1[5-9]|20)\d\d[a-z]?(?![\w-])")
_PLACE = re.compile(
    r"\d{1,4} {0,2}(?:\([^()\n]{1,20}\))?[:,;] {0,2}(?:pp?\. ?)?[A-Za-z]{0,2}\d|\bpp?\. ?\d|\bvol(?:\.|ume)|\bno\. ?\d",
    re.IGNORECASE,
)
ID = re.compile(
    r"\b(?:PMID|PubMed(?: ID)?)\b[\s:#]{0,4}[1-9][0-9]{2,8}\b|\bPMC[1-9][0-9]{3,9}\b|\bNCT[0-9]{8}\b"
    r"|\bISRCTN[0-9]{5,10}\b"
    r"|\barXiv ?: ?[0-9]{4}\.|\b10\.[0-9]{4,9}(?:\.[0-9]{1,6}){0,3}/[^\s]|https?://[^\s/]{3}|\bISBN\b",
    re.IGNORECASE,
)
_PMID = re.compile(r"\bPMID[\s:#]{0,4}([1-9][0-9]{2,8})\b", re.IGNORECASE)
_BARE_ID = re.compile(
    r"[\s\[(<]{0,4}(?:(?:PMID|PubMed(?: ID)?|PMCID|DOI|https?|arXiv|NCT)\b|10\.[0-9]{4}"
    r"|PMC[0-9]|NCT[0-9]|[1-9][0-9]{5,8}\b)"
    r"[\s:#]{0,4}(?:[^\s]{1,1000}[ ,;]{0,3}){0,2}\s{0,4}",
    re.IGNORECASE,
)
_TITLE_AND_ID = re.compile(r"[^\n]{10,600}[(\[](?:PMID|PMCID|doi|https?|PMC|NCT|10\.)[^()\n]{1,300}[)\]]\s{0,3}")
_TITLE_AND_YEAR = re.compile(r"[“\"„«][^\n]{8,500}[”\"“»],? ?\([^()\n]{3,120}\b(?:1[5-9]|20)\d\d[a-z]?\)\.?\s{0,3}")
_WORK = re.compile(
    r"\b(?:Press|Publish\w*|Verlag|Editors?|Eds?\.|edition|edn|Journal|University|Report|Available|Retrieved|Accessed)\b"
)
_SENTENCE_WORDS = re.compile(
    r"\b(?:we|our|was|were|is|are|has|have|had|been|this|these|that|which|et al\.?,? \(?(?:1[5-9]|20)\d\d\)? \w)\b",
    re.IGNORECASE,
)
_CITES = re.compile(
    r"\w\s?\[[0-9]{1,3}(?:[,–-] ?[0-9]{1,3}){0,5}\][.,; ]|\((?:see|cf\.|e\.g\.,)\s"
    r"|\((?:[^\W\d_][\w'’-]{1,30}(?: et al\.?|(?: and| &) [^\W\d_][\w'’-]{1,30})?,? (?:1[5-9]|20)\d\d[a-z]?[);])"
)
_TELLS = re.compile(
    r"\((?:1[5-9]|20)\d\d[a-z]?(?:[,;:] [^()\n]{1,200})?\),? [a-z]{2}"
    r"|\]\([^()\s]{1,200}\),? (?:is|are|was|were|has|have|had|shows?|showed|finds?|found|reports?|reported)\b"
    r"|\b(?:et al\.?|(?:and|&) (?:colleagues|co-?workers)),? (?!eds?\b|editors?\b|in\b|in:|für\b|the\b)[a-zß-ÿ]{3}"
)
_REPEATED = re.compile(
    r"(?:(?:see|cf\.?|vgl\.?|siehe)\s{1,3}(?:also\s{1,3}|auch\s{1,3})?)?[*_]{0,2}"
    r"(?:(?:ders|dies|dens)\.,?\s{1,3})?"
    r"(?:[ií]b[ií]d(?:em)?|ebd|ebenda|idem|id\.|a\.\s?a\.\s?o\.|(?:op|loc|art|ob)\.?\s?cit|там же|"
    r"ivi(?=[,.])|ib(?=\.,))"
    r"(?!\w)[.,]{0,2}[*_]{0,2}"
    r"(?:[\s,.:(]{1,4}(?:at|pp?\.|S\.|hier|here|esp\.|ff?\.|passim|vol\.|no\.|Bd\.|n\.|and|und|&|"
    r"\d{1,5}(?:\s?[-–—]\s?\d{1,5})?f{0,2}(?!\w)))"
    r"{0,8}[.)]{0,2}",
    re.IGNORECASE,
)
"""The entry before again, with its pages: "Ibid., 47"."""
_LONGEST = 1_500


def starts_like_entry(text: str) -> bool:
    """Whether a text begins as entries do: with names, a title in quotation marks, a link or a number of a record."""
    text = " ".join(text[:700].split()).lstrip(" )]}.,;:")
    if _STARTS.match(text) or _QUOTED_START.match(text) or _BARE_ID.match(text):
        return True
    body = _BODY_START.match(text)
    return body is not None and is_without_verb(body[0])


def starts_with_names(text: str) -> bool:
    """Whether a text begins with the name of a person, as entries write it."""
    return _STARTS.match(" ".join(text[:200].split())) is not None


def is_whole_entry(text: str) -> bool:
    """Whether a text says enough to be one reference: a number of a record, or a year and more."""
    text = text[:_LONGEST]
    return bool(
        ID.search(text)
        or _BARE_ID.fullmatch(text)
        or (_YEAR.search(text) and (_STARTS.match(text) or _says_more(text)))
    )


def end_of_repeated(text: str) -> int:
    """Where "Ibid., 47" ends, with which an entry means the one before it again; 0 if it does not begin so."""
    found = _REPEATED.match(text)
    return found.end() if found else 0


def is_repeated(text: str) -> bool:
    """Whether an entry begins as the one before it again."""
    return end_of_repeated(text) > 0


def tells(text: str) -> bool:
    """Whether a text begins as sentences do, "Berg et al. (2001) found", and references do not."""
    return _TELLS.search(text[:300]) is not None


def is_no_entry(text: str) -> bool:
    """Whether a text is a heading, sentences or the like rather than a reference, whatever it is about."""
    text = text[:_LONGEST].strip()
    if _CITES.search(text, 1):
        return True
    if ID.search(text) or (_YEAR.search(text) and starts_like_entry(text)):
        return False
    return bool(_SENTENCE_WORDS.search(text)) or (len(text) < 60 and "." not in text and not _YEAR.search(text))


def is_without_verb(text: str) -> bool:
    """Whether a text has none of the words that sentences have and titles seldom."""
    return _SENTENCE_WORDS.search(text) is None


def is_bare_id(text: str) -> bool:
    """Whether a text is nothing but a number or an address of a record."""
    return _BARE_ID.fullmatch(text) is not None


def has_date_or_id(text: str) -> bool:
    """Whether the year or a number of the record was said."""
    return bool(_YEAR.search(text) or ID.search(text))


def _has_several_numbers(text: str) -> bool:
    """Whether a text names several PMIDs, as sentences may, and one reference does not."""
    return len({*_PMID.findall(text)}) > 1


def _says_more(text: str) -> bool:
    return bool(_PLACE.search(text) or _WORK.search(text) or _QUOTED_START.match(text.lstrip()))


def is_surely_entry(text: str) -> bool:
    """Whether a text without a heading above it is a reference rather than a sentence of a draft."""
    if len(text) > _LONGEST or not (text := " ".join(text.split())):
        return False
    if _MEDLINE.search(text) and not _CITES.search(text, 1):
        return True
    if _BARE_ID.fullmatch(text) or _TITLE_AND_YEAR.fullmatch(text):
        return True
    if _TITLE_AND_ID.fullmatch(text) and text.count("](") < 2:
        return True
    if _CITES.search(text, 1) or _has_several_numbers(text):
        return False
    if tells(text) or (len(_SENTENCE_WORDS.findall(text)) >= 3 and not _PLACE.search(text)):
        return False
    return starts_like_entry(text) and is_whole_entry(text)
