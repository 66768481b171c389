"""External text: decoding and cleaning it before it becomes part of a value, characters that nobody sees, British and
American spelling, and words that say nothing about a subject."""

from __future__ import annotations

import calendar
import codecs
import re
import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Literal, TypeVar, cast
from unicodedata import name as name_of
from unicodedata import normalize

import Stemmer

from deepcritical_mcp.data_files import data_lines as data_lines
from deepcritical_mcp.data_files import data_table
from deepcritical_mcp.memory import remembering

REMEMBERED = 200_000
"""Characters of the texts of which it is remembered how they are quoted."""

_Item = TypeVar("_Item")

_CHARACTERS = data_table(__file__, "characters.txt")
_AT_TIMES = _CHARACTERS["at times"]
_NEEDED = _CHARACTERS["needed"].format(**_CHARACTERS)
# All beyond U+FFFF: many ranges would take time in each text.
_SUSPECT = re.compile(rf"[{_CHARACTERS['never']}{_AT_TIMES}\U00010000-\U0010ffff]")
_REPEATED = re.compile(rf"([{_AT_TIMES}])\1+")
_NEVER = re.compile(f"[{_CHARACTERS['never']}{_CHARACTERS['never beyond']}]+")
_NOT_NEEDED = re.compile(rf"(?<![{_AT_TIMES}])(?!(?:{_NEEDED})(?![{_AT_TIMES}]))[{_AT_TIMES}]+")


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


GREEK_NAMES = {one: name_of(one).split()[-1].lower().replace("lamda", "lambda") for one in "αβγδεζηθικλμνξοπρστυφχψω"}
"""The name of each small Greek letter."""
_LINES = [line.split(" | ") for line in data_lines(__file__, "british_spelling.txt")]
_AMERICAN = [(re.compile(british), american) for kind, british, american in _LINES if kind == "rule"]
_PAIRS = [[word.replace("_", " ") for word in pair] for kind, *pair in _LINES if kind == "pair"]
"""Of an American and a British ending each."""
_SAME_IN_BOTH = frozenset({"academia", "hemolymph"})
_IRREGULAR = {"grey": "gray", "vs": "versus"}


def one_spelling(word: str) -> str:
    """A word in small letters as Americans spell it, or nearly: what comes out need not be a word, so that only two
    results may be compared."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) > 4:
        for british, american in _AMERICAN:
            word = british.sub(american, word)
    return word


def other_spelling(text: str) -> str:
    """A text in small letters with its words as the British spell them if they are American, or the other way round;
    unchanged if there is one spelling only."""
    return "".join(_other(part) if part.isalpha() else part for part in re.split("([ -])", text))


def _other(word: str) -> str:
    padded = f" {word} "
    for american, british in _PAIRS if word not in _SAME_IN_BOTH else ():
        if british in padded:
            return padded.replace(british, american).strip()
        if american in padded:
            return padded.replace(american, british).strip()
    return word


_LINE_END = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_LIKE_OUR_MARK = re.compile(r"\[(?=…\s*[\d,.]+\s+characters\s+left\s+out)", re.IGNORECASE)
_WHITE_SPACE = re.compile(r"\s+")
_SLICE_OF = re.compile(r".{1,200}(?!\S)|.{1,200}", re.DOTALL)
MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_abbr) if name}
"""By the first three letters: {"jan": 1, …}."""
_SENTENCE_END = re.compile(r"[.!?。！？][\"'”’)\]]*(?=\s|$)")

_WORDS = data_table(__file__, "common_words.txt")
FUNCTION_WORDS, QUESTION_WORDS, NEGATIONS, CONJUNCTIONS, PUBMED_STOP_WORDS = (
    frozenset(_WORDS[kind].split()) for kind in ("function", "question", "negation", "conjunction", "PubMed")
)
STOP_WORDS, REQUEST_WORDS = FUNCTION_WORDS | {*_WORDS["stop"].split()}, QUESTION_WORDS | {*_WORDS["request"].split()}
QUERY_FUNCTION_WORDS = (
    STOP_WORDS | QUESTION_WORDS | NEGATIONS | CONJUNCTIONS | PUBMED_STOP_WORDS | {*_WORDS["query"].split()}
)
"""What separates the phrases of a query: all of these, and what else PubMed requires but no paper is about."""
FOREIGN_FUNCTION_WORDS = {name: _WORDS[name] for name in "Spanish Portuguese French Italian German Dutch".split()}
"""Enough of other languages' to notice that a text is not in English."""
_WORD_OR_QUOTE = re.compile(r'"[^"]*"|[^\s"]+')


def without_question_words(query: str) -> str:
    """A question without the words that no paper is about, for sources that look for every word: "Does zinc close
    wounds?" is "zinc close wounds". What is no question, or has an operator in capitals, stays as it is."""
    words = _WORD_OR_QUOTE.findall(query)
    is_question = query.rstrip().endswith("?") or (words and words[0].lower() in QUESTION_WORDS)
    if not is_question or not {"AND", "OR", "NOT"}.isdisjoint(words):
        return query
    fillers = STOP_WORDS | QUESTION_WORDS
    kept = [
        word
        for at, word in enumerate(words)
        if word.strip("?,.;:()").lower() not in fillers or not (word.islower() or at == 0)
    ]
    return " ".join(kept).rstrip("? ") or query


def clean_text(text: str) -> str:
    """Text from outside without what nobody sees (`without_invisible`); line breaks become "\\n".

    The mark of what we leave out (`tools.budget`) is ours alone: what imitates it starts with "(".
    """
    return _LIKE_OUR_MARK.sub("(", without_invisible(_LINE_END.sub("\n", text)).strip())


def clean_line(text: str) -> str:
    """Like `clean_text`, but on one line: every run of white space becomes one space."""
    return _WHITE_SPACE.sub(" ", clean_text(text)).strip()


def limited(text: str, limit: int) -> str:
    """`text`, of which at most `limit` characters are kept; a remark at its end says how many were left out."""
    left = len(text) - limit
    return text if left <= 0 else f"{text[:limit]} (… {left:,} characters left out)"


def normalized(form: Literal["NFC", "NFKC", "NFKD"], text: str) -> str:
    """`text` in a Unicode normal form, in linear time: a run of combining marks takes quadratic time as a whole, while
    all threads wait. Words of up to 200 characters stay whole."""
    return text if text.isascii() else "".join(normalize(form, part[0]) for part in _SLICE_OF.finditer(text))


def batches(items: Sequence[_Item], size: int) -> Iterator[Sequence[_Item]]:
    """`items`, `size` at a time."""
    return (items[start : start + size] for start in range(0, len(items), size))


def largest(low: int, high: int, fits: Callable[[int], bool]) -> int:
    """The largest number in low..high that fits; `low` if none does."""
    return low + bisect_left(range(low + 1, high + 1), True, key=lambda number: not fits(number))


def counted(number: int, noun: str, plural: str = "") -> str:
    """`number` and `noun`, in the plural unless there is one: "1 item", "1,200 items"."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def clipped(text: str, limit: int) -> str:
    """`text` in at most `limit` characters, with "…" where its end is left out."""
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"


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


_TOP_LEVEL = "|".join(data_lines(__file__, "top_level_domains.txt"))
"""Which names linkify-it takes for a domain without "www." or a scheme."""
_ACTIVE = re.compile("|".join(data_lines(__file__, "active_markdown.txt")).replace("TLD", _TOP_LEVEL), re.IGNORECASE)
"""What a client's Markdown makes something else of than its characters, inside of a line."""
_OPENING = re.compile(r"(?<![\w*])\*+(?=[^\s*])|\*(?=[^\s!-/:-@\[-`{-~])")
_CLOSING = re.compile(r"(?<=[^\s*])\*")
_BLOCK_START = re.compile(r"\#{1,6}(?=\s|$)|[>|]|[-+*_=](?=[-+*_=:|\s]|$)|:(?=-)|[0-9]{1,9}[.)](?=\s|$)")
"""The same at the start of a line: a heading, a quotation, a list, a rule, a table."""
_CODE_MARKS = re.compile("`+")


def is_active(text: str) -> bool:
    """Whether Markdown makes something else of `text`, inside of a line, than its characters."""
    return _ACTIVE.search(text) is not None or _emphasizes(text)


def _is_block(line: str) -> bool:
    """Whether it is active as a line: white space around it is lost."""
    return line != line.strip() or _BLOCK_START.match(line) is not None


def _emphasizes(text: str) -> bool:
    opening = _OPENING.search(text)
    return opening is not None and _CLOSING.search(text, opening.end()) is not None


def inert(text: str) -> str:
    """One line from outside as Markdown that shows the same characters and does nothing: as it is, or as code if there
    is anything active in it, such as an address. The characters themselves never change."""
    return as_code(text.replace("\n", " ")) if is_active(text) or any(map(_is_block, text.split("\n"))) else text


def as_code(line: str) -> str:
    """A line as code, which has all of its characters."""
    marks = longer_code_marks(line, 1)
    space = " " if "`" in (line[0], line[-1]) or line[0] == line[-1] == " " else ""
    return f"{marks}{space}{line}{space}{marks}"


@remembering(REMEMBERED)
def quoted_lines(text: str, indent: str = "") -> Sequence[str]:
    """The lines of a text from outside, each quoted, character by character as they are; those with anything active in
    them stand between fences."""
    fence, emphasizes = longer_code_marks(text, 3), _emphasizes(text)
    shown: list[str] = []
    for is_code, lines in groupby(
        text.split("\n"), lambda line: bool(_is_block(line) or _ACTIVE.search(line) or (emphasizes and "*" in line))
    ):
        shown += [fence] * is_code + [*lines] + [fence] * is_code
    return tuple(f"{indent}> {line}" for line in shown)


def longer_code_marks(text: str, least: int) -> str:
    """Code marks, at least so many, and more than the text has anywhere in a row."""
    return "`" * max(least, 1 + max(map(len, _CODE_MARKS.findall(text)), default=0))


UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_OF_BYTES = ("iso8859", "cp", "mac", "koi8", "gb", "big5", "shift_jis", "euc")
"""What the names of encodings begin with that a document may declare; no others are tried."""


_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")


def decoded(data: bytes, *declared: str) -> str:
    """The text of a document: by its byte order mark, else UTF-8 if it can be, since nothing else looks like that, else
    in the first of the encodings that it declares that fits; UTF-8 with a few damaged letters; or as browsers read what
    says nothing (windows-1252)."""
    encoding = "utf-16" if data.startswith(UTF_16) else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        if encoding == "utf-16" or error.reason == "unexpected end of data":
            return data.decode(encoding, "replace")
    for name in declared:
        with suppress(LookupError, ValueError):
            known = codecs.lookup(name).name
            if known.startswith(_OF_BYTES) and known != "iso8859-1":
                return data.decode(known)
    mended = data.decode("utf-8", "replace")
    damaged = mended.count("\ufffd")
    is_mended = sum(map(len, _NOT_ASCII.findall(mended))) > 2 * damaged
    return mended if is_mended else data.decode("windows-1252", "replace")


_WORD = re.compile(r"\w+")
# Without its cache, which takes three times as long as stemming.
_stem = cast(Callable[[list[str]], list[str]], Stemmer.Stemmer("english", 0).stemWords)  # pyright: ignore  # no type hints
_stemming = threading.Lock()
"""The stemmer is not thread-safe."""


def words_of(text: str) -> Counter[str]:
    """The stems of a text and how often each occurs, without stop words. IC₅₀ is read as IC50."""
    words = [word for word in _WORD.findall(normalized("NFKC", text).lower()) if word not in STOP_WORDS]
    with _stemming:
        return Counter(_stem(words))
