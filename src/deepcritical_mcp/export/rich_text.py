"""Text with formatting, as citation styles compose it: joined without doubled punctuation, in title case, as HTML."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from html import escape
from itertools import groupby
from typing import NamedTuple

from deepcritical_mcp.data_files import data_table
from deepcritical_mcp.export.reference_managers import escaped, escaped_start

KEEP = "keep"
"""Mark of words whose case a style must not change."""
CLOSING = "closing quote"
"""Mark of a quotation mark that following full stops and commas go in front of."""
_NO_MARKS: frozenset[str] = frozenset()
_SPAN = re.compile(r'<(span class="nocase"|i|b|sup|sub)>([^<>]*)</(?:span|i|b|sup|sub)>')
_SPAN_MARKS = {"i": "italic", "b": "bold", "sup": "sup", "sub": "sub"}
_TOKEN = re.compile(r"\S+")
_PART = re.compile(r"[^-–—/]+")
_FIRST_OF, _SECOND_OF = "!. !: ?. ?: :. ;. ;:".split(), (":!", ":?", ";!", ";?", " ,", " .", " ;", " :")
_STRAIGHT_OPENING = re.compile(r'(?<![^\s(\[/–—-])"')
_STOP_WORDS = frozenset(data_table(__file__, "words.txt")["small in titles"].split())
"""English words that title case leaves small."""
_TAGS = {"italic": "i", "bold": "b", "underline": "u", "small-caps": 'span style="font-variant: small-caps"'}
_IN_HTML = {mark: (f"<{tag}>", f"</{tag.split()[0]}>") for mark, tag in (_TAGS | {"sup": "sup", "sub": "sub"}).items()}
_IN_MARKDOWN = {"italic": ("*", "*"), "bold": ("**", "**"), **{name: _IN_HTML[name] for name in ("sup", "sub")}}


class Run(NamedTuple):
    """A piece of text, never empty, with its marks."""

    text: str
    marks: frozenset[str] = _NO_MARKS


Rich = tuple[Run, ...]


def rich(text: str) -> Rich:
    """`text` without formatting."""
    return (Run(text),) if text else ()


def read_title(text: str) -> Rich:
    """A text of our CSL-JSON: spans mark words that keep their case, and some sources write <i>, <b>, <sub> and <sup>;
    all other markup is text."""
    if "<" not in text:
        return rich(text)
    runs, place = list[Run](), 0
    for span in _SPAN.finditer(text):
        runs += [*rich(text[place : span.start()]), *marked(rich(span[2]), _SPAN_MARKS.get(span[1], KEEP))]
        place = span.end()
    return (*runs, *rich(text[place:]))


def plain(text: Rich) -> str:
    """`text` without formatting."""
    return "".join(run.text for run in text)


def marked(text: Rich, mark: str) -> Rich:
    """`text` with one more mark."""
    return tuple(Run(run.text, run.marks | {mark}) for run in text)


def appended(left: Rich, right: Rich) -> Rich:
    """Both texts, without punctuation or a space that would be doubled where they meet."""
    if not left or not right:
        return left or right
    last, first = left[-1], right[0]
    if CLOSING in last.marks and first.text[0] in ".,":
        within, stop = left[:-1], first.text[0]
        if not plain(within).endswith(("?", "!")):
            within = appended(within, (Run(stop, within[-1].marks - {CLOSING} if within else _NO_MARKS),))
        return appended((*within, last), _without_first(right))
    kept = _kept(last.text[-1], first.text[0])
    if kept == "first":
        return appended(left, _without_first(right))
    if kept == "second":
        shorter = last.text[:-1]
        return appended((*left[:-1], Run(shorter, last.marks)) if shorter else left[:-1], right)
    return (*left, *right)


def joined_text(pieces: Iterable[Rich], delimiter: str = "") -> Rich:
    """The pieces that are not empty, with `delimiter` between them."""
    whole: Rich = ()
    between = rich(delimiter)
    for piece in pieces:
        if piece:
            whole = appended(appended(whole, between), piece) if whole else piece
    return whole


def _without_first(text: Rich) -> Rich:
    rest = text[0].text[1:]
    return (Run(rest, text[0].marks), *text[1:]) if rest else text[1:]


def _kept(last: str, first: str) -> str:
    """Which of two characters remains where texts meet, as the test suite of CSL has it."""
    both = last + first
    if both in _FIRST_OF or (last == first and last in " .,:;!?"):
        return "first"
    return "second" if both in _SECOND_OF else ""


def without_stops(text: Rich) -> Rich:
    """`text` without full stops."""
    return tuple(Run(bare, run.marks) for run in text if (bare := run.text.replace(".", "")))


def in_quotes(text: Rich, outer: tuple[str, str], inner: tuple[str, str], *, takes_stops: bool) -> Rich:
    """`text` in quotation marks; those within it become `inner` ones. `takes_stops`: see `CLOSING`."""
    runs = tuple(Run(_requoted(run.text, outer, inner), run.marks) for run in text)
    return (Run(outer[0]), *runs, Run(outer[1], frozenset({CLOSING}) if takes_stops else _NO_MARKS))


def with_quotation_marks(text: Rich, marks: tuple[str, str], *, takes_stops: bool) -> Rich:
    """`text` with `marks` for typewriter quotation marks; see `CLOSING` for one at its end."""
    *runs, end = (Run(_requoted(run.text, ("“", "”"), marks), run.marks) if '"' in run.text else run for run in text)
    if takes_stops and end.text[-1] == marks[1]:
        return (*runs, *rich(end.text[:-1]), Run(marks[1], end.marks | {CLOSING}))
    return (*runs, end)


def _requoted(text: str, outer: tuple[str, str], inner: tuple[str, str]) -> str:
    curly = text.replace(outer[0], inner[0]).replace(outer[1], inner[1])
    return _STRAIGHT_OPENING.sub(inner[0], curly).replace('"', inner[1])


def recased(text: Rich, case: str) -> Rich:
    """`text` in a case of CSL ("title", "sentence", "capitalize-first", …), but for the words that keep theirs."""
    change = _CASES.get(case)
    if change is None:
        return text
    whole = plain(text)
    changed, kept, place = change(whole), list[Run](), 0
    for run in text:
        end = place + len(run.text)
        kept.append(run if KEEP in run.marks else Run(changed[place:end], run.marks))
        place = end
    return (*kept,)


def _each(change: Callable[[str], str], text: str) -> str:
    """`text` with each letter changed, as many characters as before: "ß" stays."""
    return "".join(new if len(new := change(letter)) == 1 else letter for letter in text)


def _first_upper(text: str) -> str:
    start = next((place for place, letter in enumerate(text) if letter.isalnum()), 0)
    return text[:start] + _each(str.upper, text[start : start + 1]) + text[start + 1 :]


def _title(text: str) -> str:
    """In English title case: what is in small letters gets a capital, except small words inside."""
    if text.isupper():
        return text
    tokens = [*_TOKEN.finditer(text)]
    letters, starts = list(text), True
    for place, token in enumerate(tokens):
        ends = place == len(tokens) - 1
        for part in _PART.finditer(token[0]):
            word = part[0].strip(".,:;!?()[]\"'“”‘’").lower()
            is_small = (word in _STOP_WORDS and not starts and not ends) or (word == "al" and place > 0)
            start, end = token.start() + part.start(), token.start() + part.end()
            is_prefix = len(part[0]) == 1 < len(token[0]) and not starts  # as in di-n-octyl
            if part[0].islower() and not is_small and not is_prefix:
                letters[start:end] = _first_upper(part[0])
            elif is_small and part[0][:1].isupper() and part[0][1:].islower():
                letters[start:end] = _each(str.lower, part[0])
            starts = False
        starts = token[0][-1] in ":?!." or token[0] in "–—"
    return "".join(letters)


_CASES: Mapping[str, Callable[[str], str]] = {
    "lowercase": partial(_each, str.lower),
    "uppercase": partial(_each, str.upper),
    "capitalize-first": _first_upper,
    "capitalize-all": lambda text: _TOKEN.sub(lambda word: _first_upper(word[0]), text),
    "sentence": lambda text: _first_upper(_each(str.lower, text) if text.isupper() else text),
    "title": _title,
}


def as_html(text: Rich) -> str:
    """`text` as HTML."""
    return "".join(_tagged(run, escape(run.text), _IN_HTML) for run in _merged(text))


def as_markdown(text: Rich) -> str:
    """`text` as Markdown that begins no list, heading or rule."""
    return escaped_start("".join(_tagged(run, escaped(run.text), _IN_MARKDOWN) for run in _merged(text)))


def _tagged(run: Run, body: str, tags: Mapping[str, tuple[str, str]]) -> str:
    inner = body.strip()
    if not inner:
        return body
    before, _, after = body.partition(inner)
    for mark, (start, end) in tags.items():
        if mark in run.marks:
            inner = f"{start}{inner}{end}"
    return f"{before}{inner}{after}"


def _merged(text: Rich) -> Rich:
    """Neighbours with the same visible marks as one run."""
    together = groupby(text, key=lambda run: run.marks - {KEEP, CLOSING})
    return tuple(Run(plain((*runs,)), marks) for marks, runs in together)
