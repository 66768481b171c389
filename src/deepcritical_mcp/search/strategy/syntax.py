"""A line of a strategy in PubMed's syntax as a tree, with what is wrong in its form.

The grammar is PubMed's (its user guide, "Using search field tags" and "Combining search terms with Boolean
operators"): operators are worked off from left to right, a tag belongs to the words right before it, neighbors are
joined by AND. What is not well-formed is read as PubMed would probably read it, and named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

from deepcritical_mcp.data_files import data_table
from deepcritical_mcp.search.expansion.pubmed_syntax import is_field_tag
from deepcritical_mcp.text import clipped

MAX_DEPTH = 40
"""Brackets within each other, and lines that refer to each other."""
OPERATORS = ("AND", "OR", "NOT")
LIMITING = ("pt", "sb", "la", "dp")
"""Fields of a limit, or of a filter for studies."""
# A phrase may have the bracket of an isotope in it ("[18F]FDG"), but no tag: there a quotation mark is missing.
_TOKEN = re.compile(
    r'"(?:[^"\[\]]|\[[^"\[\]]{1,6}\](?=[\w-]))*"|\[[^\[\]"()]*\]|#\d{1,3}(?!\w)|[()]|[^\s()"\[\]]+|["\[\]]'
)
_TAG = re.compile(r"\[ ?(.*?) ?(?:: ?(noexp)|: ?~(\d{1,4}))? ?\]", re.IGNORECASE)
_SHOWN = 60


class Flaw(NamedTuple):
    """What is wrong: a kind of `problems.txt`, and the term, or what else its message names."""

    kind: str
    what: str = ""
    advice: str = ""


@dataclass(frozen=True)
class Term:
    """Words in a field.

    Attributes:
        text: without quotes.
        tag: as it is written, with brackets; "" for none.
        field: by its name in `field_tags.txt`; "" without a tag, or with one that PubMed does not know.
        explodes: whether narrower headings are included.
        near: how many words may stand between its words; -1 for a phrase.
    """

    text: str
    quoted: bool = False
    tag: str = ""
    field: str = ""
    explodes: bool = True
    near: int = -1

    def __str__(self) -> str:
        return (f'"{self.text}"' if self.quoted else self.text) + self.tag

    @property
    def is_heading(self) -> bool:
        """Whether it is one of MeSH, or a supplementary concept."""
        return self.field in ("mh", "majr", "nm", "pa")

    @property
    def is_free(self) -> bool:
        """Whether its words are looked for in texts."""
        return self.field in ("tiab", "ti", "ab", "tw", "ot", "all") or not self.tag

    @property
    def heading(self) -> str:
        """The name of the heading, without a subheading."""
        return self.text.partition("/")[0].strip() if self.field in ("mh", "majr") else self.text


@dataclass(frozen=True)
class Reference:
    """Another line, by its number."""

    number: str

    def __str__(self) -> str:
        return f"#{self.number}"


@dataclass(frozen=True)
class Group:
    """Operands that one operator joins: the first of NOT without all others."""

    operator: str
    items: tuple[Tree, ...]

    def __str__(self) -> str:
        return f" {self.operator} ".join(f"({one})" if isinstance(one, Group) else str(one) for one in self.items)


Tree = Term | Reference | Group


def terms(tree: Tree | None) -> Iterator[Term]:
    """The terms of a tree, in its order."""
    if isinstance(tree, Term):
        yield tree
    for one in tree.items if isinstance(tree, Group) else ():
        yield from terms(one)


def is_list(tree: Tree | None) -> bool:
    """Whether it is a term, or terms that only OR joins: each finds records on its own."""
    return isinstance(tree, Term) or (
        isinstance(tree, Group) and tree.operator == "OR" and all(map(is_list, tree.items))
    )


def references(tree: Tree | None) -> Iterator[str]:
    """The numbers of the lines that a tree names."""
    if isinstance(tree, Reference):
        yield tree.number
    for one in tree.items if isinstance(tree, Group) else ():
        yield from references(one)


def untagged_words(term: Term) -> Tree:
    """A term, or if it has neither tag nor quotes its words as PubMed reads them: each, joined by AND; "and", "or" and
    "not" as the operators that they are meant to be."""
    if term.tag or term.quoted or " " not in term.text:
        return term
    runs = re.split(r"\s(and|or|not)(?=\s)", f" {term.text} ", flags=re.IGNORECASE)
    parts = (run.upper() if place % 2 else f"({' AND '.join(run.split())})" for place, run in enumerate(runs))
    return parse(" ".join(parts))[0] or term


@cache
def _fields() -> dict[str, str]:
    rows = data_table(__file__, "field_tags.txt")
    return {name: field for field, names in rows.items() for name in (field, *names.split("|"))}


def parse(text: str) -> tuple[Tree | None, tuple[Flaw, ...]]:
    """The tree of a line, None for one without terms, and what is wrong in its form."""
    reader = _Reader(_TOKEN.findall(text))
    tree = reader.sequence(0)
    return tree, tuple(dict.fromkeys(reader.flaws))


class _Reader:
    def __init__(self, tokens: Sequence[str]) -> None:
        self.tokens, self.place, self.is_closed, self.flaws = tokens, 0, False, list[Flaw]()

    def sequence(self, depth: int) -> Tree | None:
        """What stands up to the closing bracket, or the end."""
        read, self.is_closed = _Sequence(self.flaws), False
        while self.place < len(self.tokens):
            token = self.tokens[self.place]
            self.place += 1
            if token == ")":
                if depth:
                    self.is_closed = True
                    return read.tree()
                self._flaw("unbalanced_brackets", '")" without "("')
            elif token == "(":
                read.add(self._group(depth))
            elif token.upper() in OPERATORS and self._is_operator(token):
                read.operator(token)
            elif token[0] == "[" and len(token) > 1:
                read.tagged(token)
            elif token in '"[]':
                kind = "unbalanced_quotes" if token == '"' else "unbalanced_brackets"
                self._flaw(kind, f"{token} before: {self._after(self.place)}")
            elif token[0] == '"':
                read.phrase(" ".join(token[1:-1].split()))
            elif token[0] == "#" and token[1:].isdigit():
                read.add(Reference(token[1:]))
            else:
                read.words.append(token)
        self.is_closed = False
        return read.tree()

    def _group(self, depth: int) -> Tree | None:
        start = self.place
        inner = self.sequence(depth + 1) if depth < MAX_DEPTH else None
        if inner is None:
            self._flaw("empty_brackets", f"before: {self._after(start)}")
        elif not self.is_closed and not any(one.kind == "unbalanced_brackets" for one in self.flaws):
            self._flaw("unbalanced_brackets", f'"(" without ")", before: {self._after(start)}')
        return inner

    def _is_operator(self, token: str) -> bool:
        """In capitals, or next to a bracket, a phrase or a tag: "signs and symptoms" is a phrase."""
        if token.isupper():
            return True
        before = self.tokens[self.place - 2] if self.place > 1 else ""
        after = self.tokens[self.place] if self.place < len(self.tokens) else ""
        if before.startswith("#") or after.startswith("#"):
            return True
        is_one = before.endswith((")", "]", '"')) or after.startswith(("(", '"'))
        if is_one:
            self._flaw("lower_case_operator", token)
        return is_one

    def _flaw(self, kind: str, what: str = "") -> None:
        self.flaws.append(Flaw(kind, what))

    def _after(self, place: int) -> str:
        return clipped(" ".join(self.tokens[place : place + 12]), _SHOWN)


class _Sequence:
    """Operands and operators on one level of brackets."""

    def __init__(self, flaws: list[Flaw]) -> None:
        self.items: list[tuple[str, Tree]] = []
        self.words: list[str] = []
        self._flaws, self._waiting, self._can_tag = flaws, "", False

    def add(self, tree: Tree | None) -> None:
        """Add an operand, joined by the operator before it, or by AND."""
        self._flush()
        self._can_tag = False
        if tree is not None:
            self._append(tree)

    def phrase(self, text: str) -> None:
        is_end = self.words == [":"]  # of a range
        if is_end:
            self.words = []
        self.add(Term(f"{':' * is_end}{text}", quoted=True) if text else None)
        self._can_tag = bool(text)

    def operator(self, token: str) -> None:
        self._flush()
        new = token.upper()
        if (self._waiting or not self.items) and not (self._waiting == "AND" and new == "NOT"):
            self._flaws.append(Flaw("dangling_operator", self._waiting or token))
        self._waiting, self._can_tag = new, False

    def tagged(self, tag: str) -> None:
        """Give the words or the phrase before it this tag."""
        is_words = bool(self.words)
        self._flush()
        last = self.items[-1][1] if self.items else None
        if not isinstance(last, Term) or not (is_words or self._can_tag) or self._waiting:
            kind = "tag_on_group" if isinstance(last, Group) and not self._waiting else "tag_without_term"
            self._flaws.append(Flaw(kind, tag))
            return
        term = _with_tag(last, tag)
        self._can_tag = False
        if not term.field:
            self._flaws.append(Flaw("unknown_tag", str(term), tag))
        before = self.items[-2][1] if len(self.items) > 1 else None
        if term.text.startswith(":") and isinstance(before, Term) and before.field == term.field:
            self.items[-2:] = [(self.items[-2][0], replace(before, text=f"{before.text}{term.text}", quoted=False))]
        else:
            self.items[-1] = self.items[-1][0], term

    def tree(self) -> Tree | None:
        """The operands, joined from left to right."""
        self._flush()
        if self._waiting:
            self._flaws.append(Flaw("dangling_operator", self._waiting))
        if not self.items:
            return None
        used = {operator for operator, _ in self.items[1:]}
        if "OR" in used and len(used) > 1:
            place = next(n for n in range(2, len(self.items)) if self.items[n][0] != self.items[n - 1][0])
            shown = " ".join(f"{one} {clipped(str(item), 30)}" for one, item in self.items[place - 1 : place + 1])
            self._flaws.append(Flaw("mixed_operators", shown))
        joined = ""
        run: list[Tree] = [self.items[0][1]]
        for operator, item in self.items[1:]:
            if joined not in ("", operator):
                run = [Group(joined, tuple(run))]
            run.append(item)
            joined = operator
        return Group(joined, tuple(run)) if joined else run[0]

    def _flush(self) -> None:
        if self.words:
            text, self.words = " ".join(self.words), []
            self._append(Term(text))
            self._can_tag = False

    def _append(self, tree: Tree) -> None:
        is_range = isinstance(tree, Term) and tree.text.startswith(":")
        if self.items and not self._waiting and not is_range:
            shown = f"{clipped(str(self.items[-1][1]), 30)} | {clipped(str(tree), 30)}"
            self._flaws.append(Flaw("no_operator", shown))
        self.items.append((self._waiting or "AND", tree))
        self._waiting = ""


def _with_tag(term: Term, tag: str) -> Term:
    found = _TAG.fullmatch(" ".join(tag.split()))
    name, noexp, near = found.groups() if found else (tag, None, None)
    field = _fields().get(name.lower(), "other" if is_field_tag(name) else "")
    return replace(term, tag=tag, field=field, explodes=not noexp, near=int(near) if near else -1)
