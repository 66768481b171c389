"""Characters that nobody sees: what comes from outside is kept without them, but for what languages need of them."""

from __future__ import annotations

import re
from typing import cast

# Unicode 16: Default_Ignorable_Code_Point (DerivedCoreProperties.txt), the general categories Cc, Cf and Cs without
# what is seen (Prepended_Concatenation_Mark, PropList.txt), and Noncharacter_Code_Point. Not tabs and ends of lines.
_NEVER_NEEDED = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufdd0-\ufdef\ufe03-\ufe0d\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
)
_NEVER_NEEDED_BEYOND = (
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e0110-\U000e0fff"
    + "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0x10000, 0x110000, 0x10000))
)
_AT_TIMES_NEEDED = "\u180b-\u180f\u200c\u200d\ufe00-\ufe02\ufe0e\ufe0f\U000e0100-\U000e010f"
# All beyond U+FFFF: many ranges would take time in each text.
_SUSPECT = re.compile(f"[{_NEVER_NEEDED}{_AT_TIMES_NEEDED}\U00010000-\U0010ffff]")

# Emoji-variation-sequences.txt and Extended_Pictographic (emoji-data.txt), as blocks.
_EMOJI = (
    "\xa9\xae\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u23ff\u24c2\u25aa-\u27bf\u2934\u2935\u2b05-\u2b55\u3030\u303d"
    "\u3297\u3299\U0001f000-\U0001faff"
)
# Scripts whose letters are joined or kept apart by U+200C and U+200D (The Unicode Standard, 23.2): Arabic to Mandaic,
# the Indic ones, Tibetan, Myanmar, Khmer, Mongolian and their supplements.
_JOINING = (
    "\u0620-\u08ff\u0900-\u0dff\u0f40-\u109f\u1780-\u17d3\u1820-\u18aa\u1900-\u1cff\ua840-\ua8ff\ua980-\uaa7f"
    "\uabc0-\uabff\ufb50-\ufdcf\ufdf0-\ufdff\ufe70-\ufefc\U00010a00-\U00010fff\U00011000-\U00011fff\U0001e900-\U0001e95f"
)
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_NEEDED = (
    # U+200D also at the end of a word: the Persian abbreviation of the Hijri era
    rf"(?<=[{_JOINING}])(?:\u200d|\u200c(?=[\w{_JOINING}]))|(?<=[\w{_JOINING}])[\u200c\u200d](?=[{_JOINING}])"
    # after a virama: forms of Malayalam, Bengali and Sinhala at the end of a word
    r"|(?<=[\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca])\u200c"
    r"|(?<=[\u1820-\u18aa])[\u180b-\u180f]"
    rf"|(?<=[{_HAN}])[\ufe00-\ufe02\U000e0100-\U000e010f]"
    r"|(?<=[#*0-9])\ufe0f(?=\u20e3)"
    rf"|(?<=[{_EMOJI}])(?:\ufe0f?\u200d(?=[{_EMOJI}])|[\ufe0e\ufe0f])"
)
_REPEATED = re.compile(f"([{_AT_TIMES_NEEDED}])\\1+")
_NEVER = re.compile(f"[{_NEVER_NEEDED}{_NEVER_NEEDED_BEYOND}]+")
_NOT_NEEDED = re.compile(rf"(?<![{_AT_TIMES_NEEDED}])(?!(?:{_NEEDED})(?![{_AT_TIMES_NEEDED}]))[{_AT_TIMES_NEEDED}]+")


def without_invisible(text: str) -> str:
    """`text` without the characters that nobody sees.

    Kept are single joiners between letters of scripts that have them, variation selectors of Han characters, Mongolian
    letters and emoji, and emoji that are joined; one of these typed twice is one. Marks of direction go: they change
    neither letters nor their order. Characters of private use stay: everybody sees that there is one.
    """
    if _SUSPECT.search(text) is None:
        return text
    return _NOT_NEEDED.sub("", _REPEATED.sub(r"\1", _NEVER.sub("", text)))


def all_without_invisible(value: object) -> object:
    """A value of JSON with all of its texts `without_invisible`."""
    if isinstance(value, str):
        return without_invisible(value)
    if isinstance(value, dict):
        return {name: all_without_invisible(one) for name, one in cast("dict[str, object]", value).items()}
    if isinstance(value, list):
        return [all_without_invisible(one) for one in cast("list[object]", value)]
    return value
