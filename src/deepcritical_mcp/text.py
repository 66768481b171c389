"""Cleaning of external text before it becomes part of a value."""

from __future__ import annotations

import re

# C0 and C1 control characters except tab and newline, lone surrogates, and characters that reorder or hide text.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u200b\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_LIKE_OUR_MARK = re.compile(r"\[(?=…\s*[\d,.]+\s+characters\s+left\s+out)", re.IGNORECASE)
_WHITE_SPACE = re.compile(r"\s+")
_SENTENCE_END = re.compile(r"[.!?。！？][\"'”’)\]]*(?=\s|$)")


def clean_text(text: str) -> str:
    """Remove control characters, lone surrogates and invisible direction marks; line breaks become "\\n".

    The mark of what we leave out (`tools.budget`) is ours alone: what imitates it starts with "(".
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\u2028", "\n").replace("\u2029", "\n")
    return _LIKE_OUR_MARK.sub("(", _UNSAFE.sub("", text).strip())


def clean_line(text: str) -> str:
    """Like `clean_text`, but on one line: every run of white space becomes one space."""
    return _WHITE_SPACE.sub(" ", clean_text(text)).strip()


def counted(number: int, noun: str, plural: str = "") -> str:
    """`number` and `noun`, in the plural unless there is one: "1 item", "1,200 items"."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def cut_at_sentence(text: str, limit: int) -> str:
    """The longest prefix of `text` of at most `limit` characters that ends at the end of a sentence.

    If no sentence ends in its second half, cuts after a word; failing that, at the limit.
    """
    if len(text) <= limit:
        return text
    head = text[: max(limit, 0)]
    ends = [match.end() for match in _SENTENCE_END.finditer(head)]
    if ends and ends[-1] >= limit // 2:
        return head[: ends[-1]]
    space = head.rfind(" ")
    return head[:space].rstrip() if space >= limit // 2 else head


_ADDRESS_PART = r"""[^\s<>`"\[\]|\\]"""
_TLD = r"""(?: [a-z]{2} | com | org | net | edu | gov | mil | int | info | biz | name | pro | web | xxx | aero | asia
  | coop | museum | shop | рф | xn--[a-z0-9-]{1,59}+ | [a-z]{2,63}+(?=[:/?\#]) )"""
"""Which names linkify-it takes for a domain without "www." or a scheme, and any name with a port or a path."""
_ACTIVE = re.compile(
    rf"""
      (?P<url> (?<![a-z])(?:https?|ftp)://{_ADDRESS_PART}++
        | (?<![^\W_])(?:www\.|(?<![:/])//(?=[^\W_])){_ADDRESS_PART}++ )
    | (?P<email> (?<![\w.+-])[\w.+-]++@(?:[\w-]{{1,63}}+\.(?=[\w-]))++[\w-]{{1,63}}+ )
    | (?P<domain> (?<![^\W_])(?<![.:/@-])(?:[^\W_](?:[^\W_]|-){{0,62}}+\.(?=[^\W_]))++{_TLD}(?![^\W_]|-)
        (?:[:/?\#]{_ADDRESS_PART}*+)? )
    | (?P<escape> [\\`]                          # an escape, a code span
        | <(?=[A-Za-z/!?])                       # a tag, a comment, an autolink
        | &(?=\#?\w{{1,32}};)                      # a character that a client may decode too early
        | !(?=\[)                                # an image
        | (?<=\])[(\[:]                          # a link, a reference, a definition
        | (?P<bold>[*_])(?:(?=(?P=bold))|(?<=(?P=bold).))    # bold, as our marks are
      )
    """,
    re.VERBOSE | re.IGNORECASE,
)
_BLOCK_START = re.compile(
    r"^(?:(?P<before>\#{1,6}(?=\s|$)|[>|~]|[-+*_=](?=[-+*_=:|\s]|$)|:(?=-))"
    r"|(?P<number>[0-9]{1,9})(?=[.)](?:\s|$)))",
    re.MULTILINE,
)
_INDENT = re.compile(r"^[ \t]+", re.MULTILINE)
_TRAILING = ".,;:!?)'”’*_~"


def inert(text: str) -> str:
    r"""`text` from outside as Markdown that shows the same characters and does nothing.

    CommonMark and GFM find no image, link, HTML or code in it, and no heading, list, rule or table at the start of a
    line; nor is there one after a client has decoded `&lt;` too early. Addresses become code spans, everything else is
    escaped with a backslash, so that it stays readable ("p<0.05", "[95% CI]"). Indentation is dropped.
    """
    plain = _ACTIVE.sub(_inactive, _INDENT.sub("", text))
    return _BLOCK_START.sub(lambda start: f"{start['number']}\\" if start["number"] else f"\\{start['before']}", plain)


def _inactive(found: re.Match[str]) -> str:
    if found["escape"]:
        return f"\\{found[0]}"
    address = found[0].rstrip(_TRAILING)
    rest = re.sub(r"[*_]", r"\\\g<0>", found[0][len(address) :])
    return f"`{address}`{rest}" if address else rest
