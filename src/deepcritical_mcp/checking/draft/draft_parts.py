"""What a draft consists of: its blocks, as the parser of Markdown gives them, and what it cites; and what an entry of a
list of references looks like.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple

from deepcritical_mcp.data_files import data_lines
from deepcritical_mcp.search.references.plain_text import STATED, WORD, stated_ids


@cache
def draft_words(kind: str) -> frozenset[str]:
    """The words or titles of a kind, in small letters, as the file draft_words.txt has them."""
    rows = (row.partition("\t") for row in data_lines(__file__, "draft_words.txt"))
    return frozenset(word for name, _, listed in rows if name == kind for word in listed.split("|"))


@dataclass(frozen=True)
class DraftReference:
    """A reference of a draft.

    Attributes:
        index: its place in the draft's order, from 1; entries of the list of references come before those that stand
            in the text only.
        label: how the draft cites it: "12", "smith2020", "^a"; "" if by names and year, or not at all.
        text: as written, with its markup and line breaks, without the mark in front of it ("12. ", "[^a]: ").
        is_inline: whether it stands in the text itself, "(PMID 123)", and in no list.
    """

    index: int
    text: str
    label: str = ""
    is_inline: bool = False


class CitingSentence(NamedTuple):
    """A sentence that cites references, by their indexes.

    Attributes:
        text: on one line, as written, with the marks that cite.
        claim: the same without these marks and without markup.
        start: where it stands in the draft's running text.
    """

    text: str
    claim: str
    start: int
    references: tuple[int, ...]


class DraftQuotation(NamedTuple):
    """A quotation: its words without the marks around them, and the references that it is attributed to (indexes)."""

    text: str
    references: tuple[int, ...] = ()


@dataclass(frozen=True)
class Draft:
    """A draft; `remarks` tell what is wrong with it as a whole: citations without an entry, entries without one. The
    references and what is `unread` together are all the entries that it has."""

    references: tuple[DraftReference, ...] = ()
    sentences: tuple[CitingSentence, ...] = ()
    quotations: tuple[DraftQuotation, ...] = ()
    remarks: tuple[str, ...] = ()
    unread: tuple[ListEntry, ...] = ()


class ListEntry(NamedTuple):
    """An entry of a list, or what stands there and is not read as one, for a `reason`; `text` is as written, without
    its mark. It begins at `place`, the number of its block and that of its line in this, and `section` is the number of
    its list in the draft."""

    text: str
    place: tuple[int, int] = (0, 0)
    label: str = ""
    reason: str = ""
    section: int = 0


BlockKind = Literal["heading", "paragraph", "item", "note", "entry", "code"]
MarkKind = Literal["note", "key", "raised", "link"]


class Mark(NamedTuple):
    """What the markup says of a stretch of a block's text.

    Attributes:
        kind: "note" (the mark of a note), "key" (of citation keys, one mark for a whole "[@a; @b]" or "\\cite{a,b}"),
            "raised" (superscript), "link".
        target: the label of the note; the keys, joined by ","; the address of the link.
    """

    kind: MarkKind
    start: int
    end: int
    target: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """A heading, a paragraph, an item of a list, a note, an entry of references, or code.

    Attributes:
        kind: "paragraph": a row of a table, too, its cells joined by tabs; "note": a footnote's text; "entry": known to
            be a reference, as a LaTeX \\bibitem.
        text: as it reads, without markup, with the source's line breaks.
        source: its lines as written, without the blanks and marks of quotations and headings in front of them, or the
            label of a note.
        level: of a heading from 1, or the depth of an item from 1.
        label: the number of an item as written, the label of a note, the key of an entry.
        is_quotation: whether it stands in a block quotation.
    """

    kind: BlockKind
    text: str
    source: str
    level: int = 0
    label: str = ""
    marks: tuple[Mark, ...] = ()
    is_quotation: bool = False


_NAME = rf"(?:(?:{'|'.join(draft_words('particles'))})[ ]){{0,2}}[^\W\d_a-zß-öø-ÿа-я][\w'’‐-]{{1,30}}"
_INITIALS = r"[A-ZÀ-ÞА-Я]\.(?:[ -]{0,2}[A-ZÀ-ÞА-Я]\.){0,3}"
_YEAR = r"(?:1[5-9]|20)\d\d[a-z]?"
_START = re.compile(
    rf"""(?P<names>[*_\"“„«'‘(\[]{{0,3}}(?:
      (?:{_NAME}\ ){{0,3}}{_NAME},?\ (?:{_INITIALS}|[A-ZÀ-Þ]{{1,3}}(?:[,.;:(/\ ]|$))    # Berg, J. A.   van der Berg JA,
    | {_INITIALS}\ ?(?:{_NAME}\ ){{0,2}}{_NAME}[,.;\ ]                                 # J. A. Berg,
    | (?:{_NAME}\ ){{0,2}}{_NAME},\ {_NAME}                                            # Berg, Jan
    | (?:{_NAME}\ ){{0,2}}{_NAME},?\ (?:et\ al|and\ |&|\(?{_YEAR}[,.:)]                 # Berg et al.   Berg (2019)
        |\((?:[Ee]ds?\b|[A-Z]{{2,8}}\)))                                               # Ministerio da Saude (BR)
    | [—–_-]{{1,8}}[.,]?\ ?\(?{_YEAR}                                                     # ———. (2003).
    | [㐀-鿿가-힣]{{2,4}}[,，.\ ]))                                                       # 王伟,
    | (?P<title>[\"“„«]|\[[^\]\n]{{8,600}}\]\(https?:)
    | (?P<body>[^\W\d_a-zß-öø-ÿа-я][^\d()\n]{{3,120}}?[.,]?\ ?(?:\({_YEAR}[,)]|{_YEAR}\.\s))""",
    re.VERBOSE,
)
"""How an entry begins; a body: World Health Organization. (2020)."""
YEAR = re.compile(r"(?<![\w./–-])((?:1[5-9]|20)[0-9]{2})([a-z]?)(?![\w–-])")
_PLACE = re.compile(
    r"\d{1,4} {0,2}(?:\([^()\n]{1,20}\))?[:,;] {0,2}(?:(?:pp?|S)\. ?)?[A-Za-z]{0,2}\d|\b(?:pp?|S)\. ?\d"
    r"|\bvol(?:\.|ume)|\bno\. ?\d|\[[JMCD](?:/OL)?\]",
    re.IGNORECASE,
)
_BARE_ID = re.compile(
    r"[\s\[(<]{0,4}(?:(?:PMIDs?|PubMed(?: ID)?|PMCID|DOI|https?|arXiv|NCT)(?![^\W\d])|10\.[0-9]{4}"
    r"|PMC[0-9]|NCT[0-9]|[1-9][0-9]{5,8}\b)[\s:#]{0,4}(?:[^\s]{1,1000}[ ,;]{0,3}){0,2}\s{0,4}",
    re.IGNORECASE,
)
_PROSE = re.compile(
    r"\w\s?\[[0-9]{1,3}(?:[,–-] ?[0-9]{1,3}){0,5}\][.,; ]|\((?:see|cf\.|e\.g\.,)\s"
    rf"|\((?:[^\W\d_][\w'’-]{{1,30}}(?: et al\.?|(?: and| &) [^\W\d_][\w'’-]{{1,30}})?,? {_YEAR}[);])"
    rf"|\({_YEAR}(?:[,;:] [^()\n]{{1,200}})?\),? (?!doi|http)[a-z]{{2,20}}(?![a-z0-9])"
    r"|\]\([^()\s]{1,200}\),? (?:is|are|was|were|has|have|had|shows?|showed|finds?|found|reports?|reported)\b"
    r"|\b(?:et al\.?|(?:and|&) (?:colleagues|co-?workers)),? (?!eds?\b|editors?\b|in\b|in:|für\b|the\b)[a-zß-ÿ]{3}"
)
_REPEATED = re.compile(
    r"(?:(?:see|cf\.?|vgl\.?|siehe)\s)?[*_]{0,2}(?:[ií]b[ií]d(?:em)?|ebd|ebenda|idem|id\.|a\.\s?a\.\s?o\.|там же"
    r"|(?:[^\W\d_]{2,40},? )?(?:supra|(?:op|loc)\.?\s?cit)|(?:see|vgl\.|siehe) (?:also )?(?:notes?|Anm\.|Fn\.) \d"
    r"|(?-i:[^\W\d_a-zß-ÿ])[\w'’ &-]{1,40} (?:19|20)\d\d[a-z]?[*_]{0,2} ?(?:\{[^{}]{1,60}\}[*_]{0,2})?\Z)(?!\w)",
    re.IGNORECASE,
)
_LONGEST = 1_500


def _words(text: str) -> list[str]:
    return [word.lower() for word in WORD.findall(text)]


def has_verbs(text: str, more_than: int = 0) -> bool:
    """Whether a text has words that sentences have, and titles seldom."""
    return sum(word in draft_words("verbs") for word in _words(text)) > more_than


def _start(text: str) -> str:
    """What a text begins with if it begins like an entry: "names", "title" (in quotation marks or linked) or "body" (an
    organization and a year); else ""."""
    found = _START.match(" ".join(text[:700].split()).lstrip(" )]}.,;:"))
    return str(found.lastgroup) if found and not (found["body"] and has_verbs(found[0])) else ""


def starts_with_names(text: str) -> bool:
    """Whether a text begins with the name of a person, as entries write it."""
    return _start(text) == "names"


def starts_like_entry(text: str) -> bool:
    """Whether a text begins as entries do, or with a number of a record."""
    return _start(text) != "" or _BARE_ID.match(text) is not None


def is_bare_id(text: str) -> bool:
    """Whether a text is nothing but a number or an address of a record."""
    return _BARE_ID.fullmatch(text) is not None and any(map(str.isdigit, text))


def has_place(text: str) -> bool:
    """Whether a volume and page, or the number of a paper, stand in a text."""
    return _PLACE.search(text) is not None or any(any(one.ids) for one in stated_ids(text))


def has_date_or_id(text: str) -> bool:
    """Whether a year or a number of a record stands in a text."""
    return bool(YEAR.search(text) or STATED.search(text))


def is_repeated(text: str) -> bool:
    """Whether a text only points at a work: "Ibid., 47", "Smith 2001 {published data only}"."""
    return len(text) < 200 and _REPEATED.match(text) is not None


def is_whole_entry(text: str) -> bool:
    """Whether a text says enough to be one reference: a number of a record, or a year and more."""
    text = text[:_LONGEST]
    if STATED.search(text) or is_bare_id(text):
        return True
    says_more = _start(text) or _PLACE.search(text) or draft_words("of books").intersection(_words(text))
    return bool(YEAR.search(text) and says_more)


def is_prose(text: str) -> bool:
    """Whether a text cites, or tells as sentences do, "Berg et al. (2001) found", and references do not."""
    return _PROSE.search(text, 1, _LONGEST) is not None


def is_surely_entry(text: str) -> bool:
    """Whether a text without a heading above it is a reference rather than a sentence of a draft."""
    text = " ".join(text.split())
    ids = [*{one.key: one for one in stated_ids(text)}.values()]
    if is_bare_id(text) or (len(ids) == 1 and text[ids[0].end :] in (")", "]") and "](" not in text):
        return True
    if len(text) > _LONGEST or is_prose(text) or sum(one.key.startswith("pmid:") for one in ids) > 1:
        return False
    is_told = has_verbs(text, 2) or not {"we", "our"}.isdisjoint(_words(text))
    return (not is_told or bool(_PLACE.search(text))) and starts_like_entry(text) and is_whole_entry(text)


def is_remark(text: str) -> bool:
    """Whether a text is a heading or a sentence rather than a reference."""
    if STATED.search(text[:_LONGEST]) or is_bare_id(text) or (YEAR.search(text) and starts_like_entry(text)):
        return False
    return has_verbs(text[:_LONGEST]) or (len(text) < 60 and not YEAR.search(text))
