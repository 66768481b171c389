"""Letters that were encoded twice, as some of PubMed's older records have them."""

from __future__ import annotations

import re

# The two bytes of a Latin letter in UTF-8, each read as a character of Latin-1. After "Ã" the second one may be a sign
# ("Ã©" for "é"); after "Ä" and "Å" only a control character counts, because "Å³" and the like are units.
_ENCODED_TWICE = re.compile("(?:Ã[\x80-\xbf]|[ÄÅ][\x80-\x9f])+")


def repaired(text: str) -> str:
    """`text` with double-encoded Latin letters decoded: "FÅ\\x93tus" becomes "Fœtus".

    Only what is certain is touched, within a word: correct text has no capital "Ã" and a sign next to a lower-case
    letter, and no control character next to any letter.
    """
    return _ENCODED_TWICE.sub(_decoded, text)


def _decoded(match: re.Match[str]) -> str:
    start, end = match.span()
    around = match.string[max(start - 1, 0) : start], match.string[end : end + 1]
    has_control = any(letter < "\xa0" for letter in match[0])
    if not any(one.islower() or (has_control and one.isalpha()) for one in around):
        return match[0]
    letters = match[0].encode("latin-1").decode("utf-8", "replace")
    return letters if letters.isalpha() else match[0]
