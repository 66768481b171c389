"""What the part of a reference around its title says: names, year, journal, volume and pages, in any style.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from deepcritical_mcp.search.references.stated_years import MONTHS, PAGE, PAGES, stated_year, without_notices

_DATE = re.compile(
    rf"(?:[,.] ?)?\b(?:{MONTHS})\b\.?(?:[-–/](?:{MONTHS})\b\.?)?(?: [0-9]{{1,2}}\b(?![(:]))?", re.IGNORECASE
)
_TO = "[-–/‐]"
_SUPPLEMENT = r"(?:\s{1,2}[Ss]uppl(?:ement|\.)?(?:\s{1,2}\d{1,2})?)?"
_PLACE = re.compile(
    rf"(?<![\w.–-])(?P<volume>[A-Za-z]?\d{{1,4}}(?:[A-Z]|{_TO}\d{{1,4}})?{_SUPPLEMENT})\s{{0,2}}"
    rf"(?:\((?P<issue>[^()]{{0,30}})\))?\s{{0,2}}[:,]\s{{0,2}}"
    rf"(?:pp?\.?\s{{0,2}})?(?P<pages>{PAGES})"
)
_ISSUE = rf"(?:Heft|H\.|Nr\.|[Nn]o\.|n[°º]) ?\d{{1,4}}(?:{_TO}\d{{1,4}})?"
_VOLUME_DATE_AND_PAGES = re.compile(
    rf"(?<![\w.–-])(?P<volume>[A-Za-z]?\d{{1,4}}(?:{_TO}\d{{1,4}})?{_SUPPLEMENT})"
    rf"(?:(?:[./]|[,:] ?| ?\()(?P<issue>\d{{1,3}}(?:{_TO}\d{{1,3}})?)\)?|,? {_ISSUE})?"
    rf",? {{0,2}}\([\s;]{{1,12}}\)[,:]? {{0,2}}(?:{_ISSUE}, {{0,2}})?(?:(?:pp?|S)\. ?)?"
    rf"(?P<pages>{PAGES})(?![\w%]|\s?[,:(] ?\d)"
)
"""Volume and pages around the year, which is left out: "94 (2003) 497–508", "94, Heft 2 (2003), S. 497–508"."""
_VOLUME_POINT_ISSUE = re.compile(
    rf"(?<![\w.,–-])(?P<volume>\d{{1,4}})\.(?P<issue>\d{{1,3}}(?:{_TO}\d{{1,3}})?), {{0,2}}pp?\. ?(?P<pages>{PAGES})"
)
"""As biblatex prints them: "94.2, pp. 497–508"."""
_VOLUME_ISSUE_AND_PAGES = re.compile(
    rf"(?<![\w.])(?P<volume>\d{{1,4}})(?::|, )(?P<issue>\d{{1,3}}), {{0,2}}(?:pp?\. ?)?"
    rf"(?P<pages>{PAGE}\s{{0,2}}[-–—‐−]{{1,2}}\s{{0,2}}{PAGE})"
)
_VOLUME_AND_ISSUE = re.compile(
    rf"(?<![\w.–-])(?P<volume>\d{{1,4}}(?:{_TO}\d{{1,4}})?{_SUPPLEMENT})\s{{0,2}}\((?P<issue>[^()]{{0,30}})\)"
)
_NAMED_VOLUME = re.compile(
    r"\b(?:vol(?:ume|\.)?|Band|Bd\.|Jg\.|t\.|Т\.|v\.|roč\.)\s{0,2}(\d{1,4}(?:[-–/‐]\d{1,4})?)(?:,(\d{1,4})(?=\s?[(;]))?",
    re.IGNORECASE,
)
_VOLUME_BEFORE_ISSUE = re.compile(r"(?<![\w.])(\d{1,4}),? {0,2}(?=no\.)", re.IGNORECASE)
_IS_VOLUME = re.compile(
    rf"\s{{0,2}}(?:\([^()]{{0,30}}\)\s{{0,2}})?[:,]\s{{0,2}}(?:pp?\.?\s{{0,2}})?{PAGES}\b\s{{0,2}}(?P<more>[-–—:,(;]\s?\w{{0,3}}\d{{1,4}})?"
)
"""What follows a year that is a volume: pages, but no volume and pages."""
_PAGES_AT_END = re.compile(rf"[:,]\s{{0,2}}({PAGES})")
_NAME_AND_INITIALS = re.compile(r"(?:[^\W\d_][\w'’-]{1,40} ){1,3}[A-Z]{1,3}")
_NAMED_ISSUE = re.compile(r"\b(?:no\.?|issue|Nr\.|n[°º]|n\.|Heft|č\.)\s{0,2}(\d{1,4})", re.IGNORECASE)
_NAMED_PAGES = re.compile(rf"\b(?:[Pp][Pp]?\.|[Pp]ages?|[sSС]\.)\s{{0,2}}({PAGES})")
ET_AL = re.compile(
    r"\b(?:et\.? al(?:ii)?|and (?:others|colleagues|co-?workers|associates)|(?:y|e|et) col(?:s|l|aboradores)?\.?|"
    r"u\. ?a\.|und andere|(?:und|u\.) Mitarb(?:\.|eiter\w{0,5})|"
    r"m\. ?fl\.|a kol\.|i (?:in|wsp)\.|ve ark\.|и др\.|и соавт\.|ym\.)(?!\w)|"
    r"& al\b|(?<![\u4e00-\u9fff])等(?![\u4e00-\u9fff])",
    re.IGNORECASE,
)
"""What stands for the other authors, in the languages of most references."""
_BETWEEN_NAMES = re.compile(r"[,;&/]|\b(?:and|und|y|et)\b")
_NAMES_AT_MOST = 200
"""Characters in front of "et al." in a reference without a title."""
_NUMBERED = re.compile(r"\A[\W\d]{1,12}")
_COMMA_BEFORE_INITIALS = re.compile(r"(?<=\w), ?(?=[A-Z]{1,4}\.?\s{0,2}(?:[;&]|and\b|\Z))")
_NAME_WORD = re.compile(r"[^\W\d_](?:[^\W\d_]|['’‐-](?=[^\W\d_]))*")
_NOT_NAMES = frozenset("jr sr ii iii iv eds ed editor editors in".split())
_LEADS_TO_NAMES = re.compile(r"[\s.,*_”\"'’»\])]{0,6}[(\[–—-]")
_AFTER_JOURNAL = re.compile(
    r"(?<![\w-])\(?e?\d|[;(\[]|https?:|\b(?:vol|Band|Bd|doi)\b|\b[vtТ]\. ?(?=\d)|\.\s[–—-]\s", re.IGNORECASE
)
_SENTENCE = re.compile(r"(?<=[.?!”\"]) ")
_SHORT_WORD = re.compile(r"[A-Z][^\W\d_]{0,9}\.")
_LONGEST_JOURNAL = 200
_BRACKETED_YEAR = r"\((?:[A-Z][a-z]{2,8}\.? )?(?P<year>(?:1[5-9]|20)\d\d)\)"
_JOURNAL_INSIDE = (
    r"(?P<volume>\d{1,4})(?: ?\((?P<issue>[^()]{0,15})\))? (?P<journal>[A-Z][^\d;:()]{1,120}?(?:\([^()\d]{1,40}\))?),? "
    rf"(?P<pages>{PAGE}(?:[–-]{PAGE})?)"
)
_AS_LAWYERS = (
    re.compile(rf"[\s,.?!*_”\"’]{{1,6}}{_JOURNAL_INSIDE}(?:, {PAGES})? {_BRACKETED_YEAR}"),
    re.compile(rf"[\s,.?!*_”\"’]{{1,6}}{_BRACKETED_YEAR} {_JOURNAL_INSIDE}(?!\w)"),
)
"""The journal between volume and page: "74 Toxicol. Sci. 297, 299 (2003)", "(2003) 74(2) Toxicol. Sci. 297"."""
_IN = re.compile(r"In: {0,2}", re.IGNORECASE)


@dataclass(frozen=True)
class Statements:
    """What a reference says; "" or () for what it does not say.

    Attributes:
        authors: family names in order; of names written out, the whole name.
        pages: as written, "1091–1096"; a number of an article counts as one.
        people: the list of authors as it is written.
    """

    title: str = ""
    authors: tuple[str, ...] = ()
    year: str = ""
    journal: str = ""
    volume: str = ""
    issue: str = ""
    pages: str = ""
    people: str = ""


def statements_around(text: str, start: int, end: int) -> Statements:
    """What a reference says if its title stands between `start` and `end`; the same place if it has no title."""
    before, title, after = text[:start], text[start:end], without_notices(text[end:])
    year = text[slice(*found)] if (found := stated_year(text, start, end)) else ""
    head, _, behind_year = _parted(before, year)
    if not title and not before and (found := ET_AL.search(after[:_NAMES_AT_MOST])):
        # "Berg et al. J Zinc 2019;1:2"
        head, behind_year = after[: found.start()], after[found.end() :]
        after = behind_year
    authors, people = names_in(head), _NUMBERED.sub("", head, count=1).strip(' ,(*_“"')
    if title and (law := next((one for form in _AS_LAWYERS if (one := form.match(after))), None)):
        place = law["volume"], law["issue"] or "", law["pages"]
        return Statements(title, names_in(before), law["year"], law["journal"].strip(" .,*_"), *place, people)
    if not authors and title and (found := _named_after(after)):
        authors, after, people = *found, after[: len(after) - len(found[1])].strip(" .,*_([–—-”\"'’»])")
    behind = after if any(map(str.isalpha, _NAME_WORD.findall(after))) else f"{behind_year} {after}"
    rest = _without_date(behind, year, is_known=year in before)
    place = _place_in(rest)
    return Statements(title, authors, year, _journal_in(rest) or _journal_in(behind_year), *place, people)


def names_in(text: str) -> tuple[str, ...]:
    """The family names in a list of authors: "Berg JA, Ruiz K, et al.", "Berg, J. A., & Ruiz, K.", "Jan Berg"."""
    listed = ET_AL.split(_NUMBERED.sub("", text, count=1), maxsplit=1)[0]
    if ";" in listed:  # "Berg, JA; Ruiz, K"
        listed = _COMMA_BEFORE_INITIALS.sub(" ", listed)
    return tuple(filter(None, map(_family, _BETWEEN_NAMES.split(listed))))


def _family(piece: str) -> str:
    words = [word for word in _NAME_WORD.findall(piece) if word.lower() not in _NOT_NAMES]
    is_short_name = len(words) > 1 and len(words[0]) > 1  # "WU Y."
    while words and _is_initials(words[-1]) and (len(words) > 1 or ("." in piece and not is_short_name)):
        words.pop()
    if len(words) == 1 and len(words[0]) == 1:
        return ""
    while words and len(words) > 1 and _is_initials(words[0]) and f"{words[0]}." in piece:
        words.pop(0)
    return " ".join(words) if any(word[0].isupper() for word in words) else ""


def _is_initials(word: str) -> bool:
    letters = re.sub(r"\W", "", word)
    return (letters.isupper() and len(letters) <= 3) or len(letters) == 1


def _parted(text: str, year: str) -> tuple[str, str, str]:
    """`text` before and behind the year."""
    head, mark, rest = text.partition(year) if year else (text, "", "")
    return head, mark, rest


def _named_after(after: str) -> tuple[tuple[str, ...], str] | None:
    """Names that follow the title, "(Zhang et al., bioRxiv 2023)" or ". Zhang W, Li X. BioRxiv", and what follows."""
    lead, _, rest = after.lstrip(" .,*_").partition(". ")
    listed = [name.strip() for name in ET_AL.split(lead)[0].split(",")]
    if rest and all(_NAME_AND_INITIALS.fullmatch(name) for name in listed if name) and any(listed):
        return names_in(lead), rest
    if not _LEADS_TO_NAMES.match(after):
        return None
    inside = after.lstrip(" .,*_([–—-”\"'’»])")
    if found := ET_AL.search(inside[:200]):
        return names_in(inside[: found.start()]), inside[found.end() :]
    lead, comma, rest = inside.partition(",")
    names = names_in(lead)
    return (names, rest) if comma and 0 < len(names) <= 3 and not any(map(str.isdigit, lead)) else None


def _without_date(text: str, year: str, *, is_known: bool) -> str:
    """`text` without the year, months and days, so that what is left in numbers are volume, issue and pages.

    A journal may number its volumes by the year: where the year stands elsewhere too (`is_known`: before the title),
    "2021, 1-17" are volume and pages.
    """
    years = list(re.finditer(rf"{year}[a-z]?(?!\d)", text)) if year else []
    dates = [one for one in years if not _is_volume(text, one, year)]
    found = next(iter(dates or years), None) if dates or not is_known else None
    bare = f"{text[: found.start()]} ; {text[found.end() :]}" if found else text
    return _DATE.sub(" ; ", bare)


def _is_volume(text: str, found: re.Match[str], year: str) -> bool:
    """Whether a year has a volume's place: pages behind it, and no volume before it."""
    before = text[: found.start()].rstrip(" ,();*")
    behind = _IS_VOLUME.match(text, found.end())
    has_more = behind is not None and behind["more"] and not behind["more"].endswith(year)
    return behind is not None and not has_more and (before.endswith(year) or not before[-1:].isdigit())


def _place_in(text: str) -> tuple[str, str, str]:
    """Volume, issue and pages."""
    if volume := _NAMED_VOLUME.search(text) or _VOLUME_BEFORE_ISSUE.search(text):
        number = _NAMED_ISSUE.search(text, volume.end())
        issue = (volume[2] if volume.re is _NAMED_VOLUME else "") or (number[1] if number else "")
        pages = _NAMED_PAGES.search(text) or _PAGES_AT_END.search(text, number.end() if number else volume.end())
        return volume[1], issue, pages[1] if pages else ""
    forms = (_VOLUME_DATE_AND_PAGES, _VOLUME_POINT_ISSUE, _VOLUME_ISSUE_AND_PAGES, _PLACE)
    if found := next((one for form in forms if (one := form.search(text))), None):
        return found["volume"], found["issue"] or "", found["pages"]
    found = _VOLUME_AND_ISSUE.search(text)
    return (found["volume"], found["issue"], "") if found else ("", "", "")


def journal_before_place(text: str, volume: str, pages: str) -> str:
    """What stands between the last full stop and the year or volume, wherever the title may end; "" if that is nothing.

    Where the title was not recognized, a part of it may be taken for the journal.
    """
    place = next((one for one in _PLACE.finditer(text) if (one["volume"], one["pages"]) == (volume, pages)), None)
    head = text[: place.start()].rstrip(" .,;:(0123456789") if place else ""
    *before, name = _SENTENCE.split(head[-_LONGEST_JOURNAL:])
    while before and _SHORT_WORD.fullmatch(before[-1]) and (" " not in name or "." in name):
        name = f"{before.pop()} {name}"
    return name.strip(" .,;:*_()[]”\"'")


def _journal_in(text: str) -> str:
    lead = text.lstrip(" .,;:*_)]”\"'?!")
    lead = lead[mark.end() :] if (mark := _IN.match(lead)) else lead
    found = _AFTER_JOURNAL.search(lead)
    name = (lead[: found.start()] if found else lead).strip(" .,;:*_()[]”\"'")
    return name if any(map(str.isalpha, name)) else ""
