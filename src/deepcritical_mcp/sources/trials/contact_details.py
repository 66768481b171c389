"""E-mail addresses and telephone numbers that sponsors write into the texts of a registration."""

from __future__ import annotations

import re

REMOVED = "[contact removed]"
_EMAIL = re.compile(
    r"(?:mailto: ?)?(?<![\w.%+-])[\w.%+-]{1,64}+(?:@| ?[\[(] ?at ?[\])] ?)"
    r"[a-z0-9-]{1,63}(?:(?:\.| ?[\[(] ?dot ?[\])] ?)[a-z0-9-]{1,63}){0,5}(?:\.| ?[\[(] ?dot ?[\])] ?)[a-z]{2,24}"
    r"(?![\w-])",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"(?<![\w.,/:+)\]\-\u2010-\u2013])[+(]{0,2}[0-9](?:[ ()./\-\u2010-\u2013]{0,2}[0-9]){6,14}"
    r"(?![\w%])(?![.,/:-][0-9])(?! ?(?:%|[x×] |mg|g|kg|[µμ]g|ug|mcg|ng|m?l|[im]?u|units?|cells?|copies|times|seconds?|"
    r"minutes?|hours?|days?|weeks?|months?|years?|patients|participants|subjects|people)\b)"
    r"(?: ?(?:ext\.?|extension|x)[ :.]{0,2}[0-9]{1,6})?",
    re.IGNORECASE,
)
"""What may be a telephone number: not before another digit, nor before what is counted."""
_NORTH_AMERICAN = re.compile(
    r"(?:1[ .-]{1,2})?(?:\([2-9][0-9]{2}\)[ .-]{0,2}|[2-9][0-9]{2}[ .\-\u2010-\u2013])"
    r"[0-9]{3}[ .\-\u2010-\u2013][0-9]{4}(?![0-9])"
)
"""555-234-5678, (555) 234-5678, 1-800-234-5678."""
_WORDS = r"\b(?:tel|telephone|phone|cellphone|mobile|fax|telefax|hotline|whatsapp|call|dial"
_LABEL = re.compile(
    rf"{_WORDS})\b[ :.;#,]{{0,3}}(?:(?:no|nr|number|numbers|line|at|on|is)\b[ :.#]{{0,3}}){{0,2}}$", re.IGNORECASE
)
_CUE = re.compile(rf"{_WORDS}|reach|contact(?! (?:lens|dermat)))\b", re.IGNORECASE)
_NUMBER_OF = re.compile(r"\b(?:study|trial|protocol|number|no\.?|id|registry|code|reference|eudract)[ :#]{0,3}$", re.I)
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
    return _NUMBER.sub(lambda found: REMOVED if _is_telephone(found) else found[0], _EMAIL.sub(REMOVED, text))


def _is_telephone(found: re.Match[str]) -> bool:
    number, before = found[0], found.string[max(0, found.start() - _REACH) : found.start()]
    groups = re.findall("[0-9]+", number)
    if number.startswith(("+", "(+")):
        return not re.search("[ .]000(?![0-9])", number)  # not "+100 000 000"
    # A date, a period, or a row of small numbers: "12 24 36 48".
    is_row = len(groups) > 2 and all(len(one) < 3 for one in groups) and not number.startswith(("0", "(0"))
    is_date = _DATE.fullmatch(number) is not None
    if label := _LABEL.search(before):
        is_sure = re.search(r":|\b(?:no|nr|numbers?)\b", label[0], re.IGNORECASE) is not None
        return not is_date and (is_sure or not is_row)
    is_announced = _CUE.search(before) is not None and _NUMBER_OF.search(before) is None
    if form := _NORTH_AMERICAN.match(number):
        # "250-500-1000" are doses, "301-302-2016" is a protocol and its year.
        ends = re.findall("[0-9]+", form[0])[-3:]
        is_plain = " " not in number and not all(one.endswith("0") for one in ends) and ends[2][:2] not in ("19", "20")
        return "(" in number or is_plain or is_announced
    # The 0 of most countries in front; other numbers begin so too.
    return (
        re.match(r"\(?0[1-9]", number) is not None
        and is_announced
        and not (is_row or is_date)
        and sum(map(len, groups)) > 8
    )
