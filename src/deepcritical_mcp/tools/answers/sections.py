"""The parts of a text that a caller names, by anchor or by title, and as much of them as an answer holds."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from deepcritical_mcp.data_files import data_lines
from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.evidence.passage_quotes import no_paragraphs, paragraphs_read
from deepcritical_mcp.models import (
    ANCHOR,
    NO_ABSTRACT,
    NOT_OWN,
    PARAGRAPH_BREAK,
    DocumentPassage,
    OutlineEntry,
    PartKind,
    Publication,
    TableEntry,
    Text,
    own_spans,
    section_of,
    split_paragraph_anchor,
)
from deepcritical_mcp.text import clipped, counted

ABSTRACT, ALL, OUTLINE = "abstract", "all", "outline"
"""What `sections` may name besides anchors and titles."""
MAX_CAPTION = 200
MAX_SUB_ARTICLES = 6
MAX_NAMED = 25
"""Titles that an error names."""
_NUMBERING = re.compile(r"^(?:[0-9]{1,3}(?:\.[0-9]{1,3}){0,5}\.?|[ivx]{1,6}\.|[a-z]\)) ", re.IGNORECASE)
_PATH = re.compile(r" ?[>›»/|] ?")
_BETWEEN_NAMES = re.compile(rf"[,;/|\n]| and | & |(?<=[0-9]) (?={ANCHOR}\b)", re.IGNORECASE)
_ID_BEFORE = re.compile(r"\A[^\s,;]+@")
_KINDS: dict[str, PartKind] = {"table": "table", "figure": "figure", "reference": "references"}


_OTHER_NAMES = [frozenset(row.split()) for row in data_lines(__file__, "section_names.txt")]


@dataclass(frozen=True)
class Piece:
    """A part with its own text, without its sub-parts'."""

    anchor: str
    path: tuple[str, ...]
    text: str
    kind: PartKind = "section"
    parent: str = ""

    @property
    def title(self) -> str:
        """Of the part itself; "" for one without."""
        return self.path[-1] if self.path else ""


def pieces_of(publication: Publication, text: Text) -> list[Piece]:
    """The parts of a text in order; in front of a full text the abstract, which is not part of it."""
    spans = own_spans(text.parts, len(text.content))
    parts = [
        Piece(part.anchor, section_of(part), text.content[start:end].strip(), part.kind, part.parent)
        for part, start, end in spans
    ]
    parts = parts or [Piece("s0", (), text.content)]
    abstracts = (one.content for one in publication.texts if one.kind == "abstract" and not one.is_users)
    abstract = next((one for one in abstracts if one != NO_ABSTRACT), "")
    return [Piece(ABSTRACT, ("Abstract",), abstract), *parts] if abstract and text.kind == "full_text" else parts


def own_pieces(pieces: Sequence[Piece]) -> list[Piece]:
    """The publication's own, without sub-articles, which others wrote or translated."""
    return [piece for piece in pieces if piece.kind != "sub_article"]


def sub_articles(pieces: Sequence[Piece]) -> str:
    """Which sub-articles there are, and how to read them; "" if there are none."""
    outer = [piece for piece in pieces if piece.kind == "sub_article" and not piece.parent]
    named = "; ".join(f"{one.anchor} {one.title.removeprefix(f'{NOT_OWN}: ')}" for one in outer[:MAX_SUB_ARTICLES])
    more = f"; and {len(outer) - MAX_SUB_ARTICLES} more" if len(outer) > MAX_SUB_ARTICLES else ""
    return (
        f'{NOT_OWN}, and left out of "{ALL}": {named}{more}. sections=["{outer[0].anchor}"] reads it.' if outer else ""
    )


def outline_of(pieces: Sequence[Piece], depth: int = 0) -> tuple[OutlineEntry, ...]:
    """All parts but tables; with a `depth`, those of so many levels, each with the characters of what is left out."""
    listed = [one for one in pieces if one.kind != "table"]
    shown = {one.anchor: len(one.text) for one in listed if not depth or len(one.path) <= depth}
    parents = {one.anchor: one.parent for one in pieces}
    for one in listed:
        above = one.anchor
        while above and above not in shown:
            above = parents.get(above, "")
        if above and above != one.anchor:
            shown[above] += len(one.text)
    outer = [one for one in listed if one.anchor in shown]
    return tuple(OutlineEntry(section=one.path, anchor=one.anchor, characters=shown[one.anchor]) for one in outer)


def tables_of(pieces: Sequence[Piece]) -> tuple[TableEntry, ...]:
    """The tables with their captions, which are their first paragraphs."""
    captions = ((one, one.text.partition(PARAGRAPH_BREAK)[0] or one.title) for one in pieces if one.kind == "table")
    return tuple(
        TableEntry(anchor=one.anchor, caption=one.title if caption.startswith("|") else clipped(caption, MAX_CAPTION))
        for one, caption in captions
    )


def selected(pieces: Sequence[Piece], names: Sequence[str]) -> tuple[list[Piece], list[str]]:
    """The parts that `names` mean, with their sub-parts, each once, in the order of the text; and remarks on names that
    are read as others, or that no part has.

    Raises:
        InvalidInputError: there are none of these; the message names those that there are.
    """
    chosen: dict[str, Piece] = {}
    remarks, missing = list[str](), list[str]()
    for name in (part for one in names for part in _parts(pieces, one)):
        found, shown = _meant(pieces, name), json.dumps(name[:80], ensure_ascii=False)
        if not found and (found := _alike(pieces, name)):
            inside = {piece.anchor for piece in found}
            remarks.append(f"Read sections={shown} as {_named([one for one in found if one.parent not in inside])}.")
        missing += [] if found else [shown]
        chosen.update((piece.anchor, piece) for piece in found)
    outer = [piece for piece in pieces if not piece.parent and piece.kind != "table"]
    known = f'There are {_named(outer)}; sections=["{OUTLINE}"] lists all.'
    told = f"sections: there is no {', '.join(missing)}. {known}" if missing else ""
    if not chosen:
        raise InvalidInputError(told)
    order = {piece.anchor: number for number, piece in enumerate(pieces)}
    ordered = sorted(chosen.values(), key=lambda piece: (order[split_paragraph_anchor(piece.anchor)[0]], piece.anchor))
    return ordered, [*filter(None, (told,)), *remarks]


def _parts(pieces: Sequence[Piece], name: str) -> list[str]:
    """The names in one text: itself, if a part is called that or nothing separates names in it."""
    parts = [one.strip() for one in _BETWEEN_NAMES.split(name) if one.strip()]
    return parts if len(parts) > 1 and not _meant(pieces, name) else [name.strip()]


def _meant(pieces: Sequence[Piece], name: str) -> list[Piece]:
    plain = _ID_BEFORE.sub("", name.strip().strip("\"'[]")).strip()
    if plain.casefold() == ALL:
        return own_pieces(pieces)
    anchor = split_paragraph_anchor(plain.casefold())
    found = _with_inner(pieces, {anchor.part})
    if found and anchor.first:
        paragraphs = [one for one in found[0].text.split(PARAGRAPH_BREAK) if one.strip()]
        if not paragraphs:
            inside = [piece.anchor for piece in pieces if piece.parent == anchor.part]
            raise InvalidInputError(f"sections: {no_paragraphs(anchor.part, inside)}")
        if not anchor.first <= anchor.last <= len(paragraphs):
            raise InvalidInputError(f"sections: {anchor.part} has {counted(len(paragraphs), 'paragraph')}.")
        text = paragraphs_read(paragraphs, found[0].kind, anchor.first, anchor.last)
        return [Piece(str(anchor), found[0].path, text, found[0].kind)]
    return found or _titled(own_pieces(pieces), plain) or _titled(pieces, plain)


def _with_inner(pieces: Sequence[Piece], anchors: set[str]) -> list[Piece]:
    found, inside = list[Piece](), set(anchors)
    for piece in pieces:
        if piece.anchor in inside or piece.parent in inside:
            inside.add(piece.anchor)
            found.append(piece)
    return found


def _titled(pieces: Sequence[Piece], name: str) -> list[Piece]:
    """The parts with that title or, if there are none, with one that has all its words."""
    path = [words for one in _PATH.split(name) if (words := _words(one))]
    titles = [(piece, [_words(title) for title in piece.path]) for piece in pieces if piece.path]
    if not path:
        return []
    exact = {piece.anchor for piece, own in titles if own[-len(path) :] == path}
    kind = _KINDS.get(" ".join(path[-1])) if len(path) == 1 else None
    exact = exact or {piece.anchor for piece in pieces if kind and piece.kind == kind}
    if not exact and not all("".join(words).isdecimal() for words in path):  # not "1", which may be any
        exact = {piece.anchor for piece, own in titles if _follows(path, own)}
    return _with_inner(pieces, exact)


def _alike(pieces: Sequence[Piece], name: str) -> list[Piece]:
    """The parts whose title may mean the same as one that no part has."""
    named = set(_words(_PATH.split(name)[-1]))
    meant = frozenset[str]().union(*(row for row in _OTHER_NAMES if named & row))
    return _with_inner(pieces, {one.anchor for one in pieces if one.path and meant.intersection(_words(one.title))})


def _follows(path: Sequence[tuple[str, ...]], own: Sequence[tuple[str, ...]]) -> bool:
    """Whether the words of each title in `path` are in one of `own`, the last in the last."""
    places = iter(own[:-1])
    return set(path[-1]) <= set(own[-1]) and all(any(set(one) <= set(title) for title in places) for one in path[:-1])


def _words(title: str) -> tuple[str, ...]:
    """The words of a title without its number, and without their plurals."""
    words = re.findall(r"[^\W_]+", _NUMBERING.sub("", title.strip()).casefold())
    return tuple(word[:-1] if len(word) > 3 and word.endswith("s") else word for word in words)


def _named(pieces: Sequence[Piece]) -> str:
    named = [f"{one.anchor} {clipped(one.title, 60)}".strip() for one in pieces[:MAX_NAMED]]
    more = f", and {len(pieces) - MAX_NAMED} more" if len(pieces) > MAX_NAMED else ""
    return f"{', '.join(named)}{more}"


def shortened_outline(pieces: Sequence[Piece], most: int) -> tuple[OutlineEntry, ...]:
    """The outer levels, as many as have no more than `most` entries; the outermost in any case."""
    depths = sorted(len(one.path) for one in pieces if one.kind != "table")
    return outline_of(pieces, max(depths[most] - 1, 1) if most < len(depths) else 0)


def passages_from(pieces: Sequence[Piece], offset: int, most: int) -> Iterator[DocumentPassage]:
    """The texts of `pieces`, which together have an `offset`, from there on, until there are `most` characters.

    A passage that begins inside a part has the anchor of its paragraph.
    """
    for piece in pieces:
        text = piece.text[offset : offset + most]
        if text:
            anchor = piece.anchor
            if offset and anchor != ABSTRACT and not split_paragraph_anchor(anchor)[1]:
                anchor = f"{anchor}p{piece.text[:offset].count(PARAGRAPH_BREAK) + 1}"
            yield DocumentPassage(anchor=anchor, section=piece.path, text=text)
        most -= len(text)
        offset = max(0, offset - len(piece.text))
