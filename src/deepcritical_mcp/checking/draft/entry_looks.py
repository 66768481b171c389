"""What an entry of a list of references looks like.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re

_NAME = (
    r"(?:(?:[Vv][ao]n|[Dd][aeiou][lnrs]?|[Ll][ae]|[Ee]l|[Tt]er|[Tt]en|[Zz]ur?|a[fv]|della)[ ]){0,2}"
    r"[^\W\d_a-zß-öø-ÿа-я][\w'’‐-]{1,30}"
)
_INITIALS = r"[A-ZÀ-ÞА-Я]\.(?:[ -]{0,2}[A-ZÀ-ÞА-Я]\.){0,3}"
_YEAR = r"(?:1[5-9]|20)\d\d[a-z]?"
_NAMES = re.compile(
    rf"""[*_\"“„«'‘(\[]{{0,3}}(?:
      (?:{_NAME}\ ){{0,3}}{_NAME},?\ (?:{_INITIALS}|[A-ZÀ-Þ]{{1,3}}(?:[,.;:(\ ]|$))    # Berg, J. A.   van der Berg JA,
    | {_INITIALS}\ ?(?:{_NAME}\ ){{0,2}}{_NAME}[,.;\ ]                                 # J. A. Berg,
    | (?:{_NAME}\ ){{0,2}}{_NAME},\ {_NAME}                                            # Berg, Jan
    | (?:{_NAME}\ ){{0,2}}{_NAME},?\ (?:et\ al|and\ |&|\(?{_YEAR}[,.:)]|\([Ee]ds?\b)    # Berg et al.   Berg (2019)
    | [㐀-鿿가-힣]{{2,4}}[,，.\ ]                                                        # 王伟,
    )""",
    re.VERBOSE,
)
_BODY_START = re.compile(rf"[^\W\d_a-zß-öø-ÿа-я][^\d()\n]{{3,120}}?[.,]? ?(?:\({_YEAR}[,)]|{_YEAR}\.\s)")
"""World Health Organization. (2020)."""
_TITLE_START = re.compile(r"[\"“„«]|\[[^\]\n]{8,600}\]\(https?:")
_DATED = re.compile(rf"(?<![\w.]){_YEAR}(?![\w-])")
_PLACE = re.compile(
    r"\d{1,4} {0,2}(?:\([^()\n]{1,20}\))?[:,;] {0,2}(?:pp?\. ?)?[A-Za-z]{0,2}\d|\bpp?\. ?\d|\bvol(?:\.|ume)|\bno\. ?\d"
    r"|\[[JMCD](?:/OL)?\]",
    re.IGNORECASE,
)
_OF_BOOKS = frozenset(
    """press publisher publishers publishing verlag editor editors eds ed edition edn journal university report
    available retrieved accessed""".split()
)
ID = re.compile(
    r"\b(?:PMID|PubMed(?: ID)?)\b[\s:#]{0,4}[1-9][0-9]{2,8}\b|\bPMC[1-9][0-9]{3,9}\b|\bNCT[0-9]{8}\b"
    r"|\bISRCTN[0-9]{5,10}\b|\barXiv ?: ?[0-9]{4}\.|\b10\.[0-9]{4,9}(?:\.[0-9]{1,6}){0,3}/[^\s]"
    r"|https?://[^\s/]{3}|\bISBN\b",
    re.IGNORECASE,
)
_BARE_ID = re.compile(
    r"[\s\[(<]{0,4}(?:(?:PMIDs?|PubMed(?: ID)?|PMCID|DOI|https?|arXiv|NCT)\b|10\.[0-9]{4}"
    r"|PMC[0-9]|NCT[0-9]|[1-9][0-9]{5,8}\b)[\s:#]{0,4}(?:[^\s]{1,1000}[ ,;]{0,3}){0,2}\s{0,4}",
    re.IGNORECASE,
)
_TITLE_AND_ID = re.compile(
    r"[^\n]{10,600}[(\[](?:PMID|PMCID|doi|https?|PMC|NCT|10\.)[^()\n]{1,300}[)\]]\s{0,3}"
    rf"|[“\"„«][^\n]{{8,500}}[”\"“»],? ?\([^()\n]{{3,120}}\b{_YEAR}\)\.?\s{{0,3}}"
)
_WORD = re.compile(r"[^\W\d_]+")
_VERBS = frozenset("we our was were is are has have had been this these that which".split())
_TELLERS = frozenset(("we", "our"))
_CITES = re.compile(
    r"\w\s?\[[0-9]{1,3}(?:[,–-] ?[0-9]{1,3}){0,5}\][.,; ]|\((?:see|cf\.|e\.g\.,)\s"
    rf"|\((?:[^\W\d_][\w'’-]{{1,30}}(?: et al\.?|(?: and| &) [^\W\d_][\w'’-]{{1,30}})?,? {_YEAR}[);])"
)
_TELLS = re.compile(
    rf"\({_YEAR}(?:[,;:] [^()\n]{{1,200}})?\),? [a-z]{{2}}"
    r"|\]\([^()\s]{1,200}\),? (?:is|are|was|were|has|have|had|shows?|showed|finds?|found|reports?|reported)\b"
    r"|\b(?:et al\.?|(?:and|&) (?:colleagues|co-?workers)),? (?!eds?\b|editors?\b|in\b|in:|für\b|the\b)[a-zß-ÿ]{3}"
)
_PMID = re.compile(r"\bPMIDs?[\s:#]{0,4}([1-9][0-9]{2,8})\b", re.IGNORECASE)
_REPEATED = re.compile(
    r"(?:(?:see|cf\.?|vgl\.?|siehe)\s)?[*_]{0,2}(?:[ií]b[ií]d(?:em)?|ebd|ebenda|idem|id\.|a\.\s?a\.\s?o\.|там же"
    r"|(?:[^\W\d_]{2,40},? )?(?:supra|(?:op|loc)\.?\s?cit)"
    r"|(?:see|vgl\.|siehe) (?:also )?(?:notes?|Anm\.|Fn\.) \d)(?!\w)",
    re.IGNORECASE,
)
_LONGEST = 1_500


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


def has_verbs(text: str) -> bool:
    """Whether a text has words that sentences have, and titles seldom."""
    return not _VERBS.isdisjoint(_words(text))


def starts_with_names(text: str) -> bool:
    """Whether a text begins with the name of a person, as entries write it."""
    return _NAMES.match(" ".join(text[:200].split())) is not None


def starts_like_entry(text: str) -> bool:
    """Whether a text begins as entries do: with names, a title in quotation marks, a link or a number of a record."""
    text = " ".join(text[:700].split()).lstrip(" )]}.,;:")
    if _NAMES.match(text) or _TITLE_START.match(text) or _BARE_ID.match(text):
        return True
    body = _BODY_START.match(text)
    return body is not None and not has_verbs(body[0])


def is_bare_id(text: str) -> bool:
    """Whether a text is nothing but a number or an address of a record."""
    return _BARE_ID.fullmatch(text) is not None


def has_date_or_id(text: str) -> bool:
    """Whether a year or a number of a record stands in a text."""
    return bool(_DATED.search(text) or ID.search(text))


def is_repeated(text: str) -> bool:
    """Whether a note only points at another one: "Ibid., 47"."""
    return len(text) < 200 and _REPEATED.match(text) is not None


def is_whole_entry(text: str) -> bool:
    """Whether a text says enough to be one reference: a number of a record, or a year and more."""
    text = text[:_LONGEST]
    if ID.search(text) or _BARE_ID.fullmatch(text):
        return True
    says_more = _NAMES.match(text) or _PLACE.search(text) or _TITLE_START.match(text)
    return bool(_DATED.search(text) and (says_more or _OF_BOOKS.intersection(_words(text))))


def is_prose(text: str) -> bool:
    """Whether a text cites, or tells as sentences do, "Berg et al. (2001) found", and references do not."""
    return bool(_CITES.search(text, 1, _LONGEST) or _TELLS.search(text[:300]))


def is_surely_entry(text: str) -> bool:
    """Whether a text without a heading above it is a reference rather than a sentence of a draft."""
    if len(text) > _LONGEST or not (text := " ".join(text.split())):
        return False
    is_linked = "](" not in text or (text.startswith("[") and text.count("](") < 2)
    if _BARE_ID.fullmatch(text) or (is_linked and _TITLE_AND_ID.fullmatch(text)):
        return True
    if is_prose(text) or len({*_PMID.findall(text)}) > 1:
        return False
    words = _words(text)
    is_told = sum(word in _VERBS for word in words) > 2 or not _TELLERS.isdisjoint(words)
    return (not is_told or bool(_PLACE.search(text))) and starts_like_entry(text) and is_whole_entry(text)


def is_remark(text: str) -> bool:
    """Whether a text is a heading or a sentence rather than a reference."""
    if is_prose(text):
        return True
    if ID.search(text[:_LONGEST]) or (_DATED.search(text) and starts_like_entry(text)):
        return False
    return has_verbs(text[:_LONGEST]) or (len(text) < 60 and not _DATED.search(text))
