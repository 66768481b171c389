"""E-mail addresses and telephone numbers that sponsors write into the texts of a registration."""

from __future__ import annotations

import re

REMOVED = "[contact removed]"
_GAP = r"[ ()./\-\u2010-\u2013]"
"""What stands between the digits of a telephone number."""
_START = r"(?<![\w.,/:+\-\u2010-\u2013])"
_EXTENSION = r"(?: ?(?:ext\.?|extension|x)[ :.]{0,2}[0-9]{1,6})?"
_END = (
    r"(?![\w%])(?![.,/:-][0-9])(?! ?(?:%|[x×] |mg|g|kg|[µμ]g|ug|mcg|ng|m?l|[im]?u|units?|cells?|copies|times|seconds?|"
    r"minutes?|hours?|days?|weeks?|months?|years?|patients|participants|subjects|people)\b)"
)
"""Not before another digit, nor before what is counted."""
_EMAIL = re.compile(
    r"(?:mailto: ?)?(?<![\w.%+-])[\w.%+-]{1,64}+(?:@| ?[\[(] ?at ?[\])] ?)"
    r"[a-z0-9-]{1,63}(?:(?:\.| ?[\[(] ?dot ?[\])] ?)[a-z0-9-]{1,63}){0,5}(?:\.| ?[\[(] ?dot ?[\])] ?)[a-z]{2,24}"
    r"(?![\w-])",
    re.IGNORECASE,
)
_NORTH_AMERICAN = re.compile(
    rf"{_START}(?:\+?1[ .-]{{1,2}})?"
    r"(?:\([2-9][0-9]{2}\)[ .-]{0,2}|[2-9][0-9]{2}[ .\-\u2010-\u2013])"
    rf"[0-9]{{3}}[ .\-\u2010-\u2013][0-9]{{4}}{_END}{_EXTENSION}"
)
"""555-234-5678, (555) 234-5678, 1-800-234-5678."""
_INTERNATIONAL = re.compile(rf"(?<![\w)\].+-])\+\(?[1-9](?:{_GAP}{{0,2}}[0-9]){{8,14}}{_END}{_EXTENSION}")
_LABELED = re.compile(
    r"(?P<label>\b(?:tel|telephone|phone|cellphone|mobile|fax|telefax|hotline|whatsapp|call|dial)\b"
    r"[ :.;#,]{0,3}(?:(?:no|nr|number|numbers|line|at|on|is)\b[ :.#]{0,3}){0,2})"
    rf"(?P<number>[+(]{{0,2}}[0-9](?:{_GAP}{{0,2}}[0-9]){{6,14}}{_END}{_EXTENSION})",
    re.IGNORECASE,
)
_NATIONAL = re.compile(rf"{_START}\(?0[1-9](?:{_GAP}{{0,2}}[0-9]){{7,10}}{_END}{_EXTENSION}")
"""With the 0 of most countries in front; other numbers begin so too."""
_CUE = re.compile(
    r"\b(?:tel|telephone|phone|cellphone|mobile|fax|hotline|whatsapp|call|dial|reach|contact(?! (?:lens|dermat)))\b",
    re.IGNORECASE,
)
_NUMBER_OF = re.compile(r"(?:study|trial|protocol|number|no\.?|id|registry|code|reference|eudract)[ :#]{0,3}$", re.I)
_REACH = 80
"""Characters before a number in which a word must say that it is a telephone number."""
_DATE = re.compile(
    r"(?:19|20)[0-9]{2}[ ./-][0-9]{1,2}[ ./-][0-9]{1,2}|[0-9]{1,2}[ ./-][0-9]{1,2}[ ./-](?:19|20)[0-9]{2}"
    r"|\(?(?:19|20)[0-9]{2}[ /\-\u2010-\u2013]{1,3}(?:19|20)[0-9]{2}|(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])[0-3][0-9]"
)


def without_contacts(text: str) -> str:
    """`text` on one line, with `REMOVED` in place of e-mail addresses and telephone numbers.

    A number is only taken for a telephone number if its form says so, or a word in front of it: no dose, date, range or
    number of a study is removed.
    """
    text = _EMAIL.sub(REMOVED, text)
    text = _NORTH_AMERICAN.sub(_unless_round, text)
    text = _INTERNATIONAL.sub(_unless_counted, text)
    text = _LABELED.sub(_unless_date, text)
    return _NATIONAL.sub(_if_announced, text)


def _unless_round(found: re.Match[str]) -> str:
    """Keeps "250-500-1000", which are doses, and "301-302-2016", a protocol and its year, unless announced."""
    groups = re.findall("[0-9]+", found[0])[-3:]
    is_plain = "(" not in found[0] and " " not in found[0].removeprefix("1 ")
    is_sure = is_plain and not all(one.endswith("0") for one in groups) and groups[2][:2] not in ("19", "20")
    return REMOVED if "(" in found[0] or is_sure or _is_announced(found) else found[0]


def _unless_counted(found: re.Match[str]) -> str:
    """Keeps "+100 000 000"."""
    return found[0] if re.search("[ .]000(?![0-9])", found[0]) else REMOVED


def _unless_date(found: re.Match[str]) -> str:
    is_sure = re.search(r":|\b(?:no|nr|numbers?)\b", found["label"], re.IGNORECASE) is not None
    is_number = not (_DATE.fullmatch(found["number"]) if is_sure else _is_series(found["number"]))
    return f"{found['label']}{REMOVED}" if is_number else found[0]


def _if_announced(found: re.Match[str]) -> str:
    return REMOVED if _is_announced(found) and not _is_series(found[0]) else found[0]


def _is_series(number: str) -> bool:
    """Whether it is a date, a period, or a row of small numbers: "12 24 36 48"."""
    groups = re.findall("[0-9]+", number)
    is_row = len(groups) > 2 and all(len(one) < 3 for one in groups) and not re.match(r"\(?0[1-9]|\+", number)
    return _DATE.fullmatch(number) is not None or is_row


def _is_announced(found: re.Match[str]) -> bool:
    before = found.string[max(0, found.start() - _REACH) : found.start()]
    return _CUE.search(before) is not None and _NUMBER_OF.search(before) is None
