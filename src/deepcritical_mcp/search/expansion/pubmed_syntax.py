"""PubMed's query language: recognise it, repair it, build it.

The grammar: words, "phrases" and (groups), each with an optional [field tag], joined by AND, OR and NOT in upper case
(PubMed's user guide, "Using search field tags" and "Combining search terms with Boolean operators").
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

# Characters of a query made here from words; one in PubMed's syntax keeps its length.
LONGEST_QUERY = 1_000


def _names(text: str) -> frozenset[str]:
    return frozenset(name.strip() for name in text.split("|"))


# Fields that name the subject; words in any other (author, journal, date, type) do not.
_SUBJECT_FIELDS = _names(
    """ab|abstract|all|all fields|majr|mesh|mesh major topic|mesh term|mesh terms|mh|nm|ot|other term|pa|
    pharmacological action|substance name|supplementary concept|text word|text words|ti|tiab|title|
    title/abstract|tt|tw|word"""
)
FIELD_TAGS = _SUBJECT_FIELDS | _names(
    """1au|ad|affiliation|aid|article identifier|au|auid|author|author - corporate|author - first|author - full|
    author - identifier|author - last|book|cn|cois|completion date|conflict of interest statements|
    corporate author|crdt|create date|date - completion|date - create|date - entrez|date - entry|date - mesh|
    date - modification|date - publication|dcom|dep|dp|ec/rn number|ed|edat|editor|
    electronic date of publication|entry date|fau|filter|fir|first author|first author name|full author name|
    full investigator name|gr|grant number|grants and funding|investigator|ip|ir|isbn|issue|jid|journal|la|lang|
    language|last author|last author name|lastau|lid|location id|lr|mdat|mesh date|mesh subheading|mhda|
    modification date|nlm unique id|own|owner|pagination|pdat|personal name as subject|pg|pl|
    place of publication|pmid|ps|pt|ptyp|publication date|publication type|publisher|pubn|rn|sb|
    secondary source id|sh|si|so|stat|status|subject - personal name|subset|ta|transliterated title|uid|vi|
    volume"""
)
_DEEPEST_GROUP = 20
_BOOLEANS = frozenset({"AND", "OR", "NOT"})
_TOKEN = re.compile(r'"[^"]*"|\[[^\[\]]*\]|[()]|[^\s()"\[\]]+')
_FANCY_QUOTES = re.compile("[“”„‟«»＂]")
_NOT_IN_WORDS = re.compile(r"[\"\[\](){}|&~#^<>=\\;?!]|(?<!\w)[:/.,*'’+-]+|[:/.,'’]+(?!\w)|(?<=\S)[:/](?=\S)")
_BLANKS = re.compile(r"\s+")


@dataclass(frozen=True)
class _Term:
    text: str
    tag: str = ""

    def __str__(self) -> str:
        return self.text + self.tag


@dataclass(frozen=True)
class _Group:
    items: tuple[_Node, ...]
    tag: str = ""

    def __str__(self) -> str:
        return f"({' '.join(map(str, self.items))}){self.tag}"


@dataclass(frozen=True)
class _Operator:
    name: str

    def __str__(self) -> str:
        return self.name


_Node = _Term | _Group | _Operator


def is_field_tag(tag: str) -> bool:
    """Whether PubMed knows `[tag]`, with or without ":noexp" or a proximity such as ":~3"."""
    return re.sub(r":(noexp|~\d{1,4})$", "", _BLANKS.sub(" ", tag.strip().lower())) in FIELD_TAGS


def uses_pubmed_syntax(text: str) -> bool:
    """Whether the writer meant PubMed's syntax: a known field tag, an operator between words, or a truncated word."""
    if any(is_field_tag(tag) for tag in re.findall(r"\[([^\[\]]*)\]", text)):
        return True
    if re.search(r"\b\w{3,}\*(?!\w)", text):
        return True
    has_operator = re.search(r"[\w\")]\s+(AND|OR|NOT)\s+[\w\"(]", text) is not None
    return has_operator and any(letter.islower() for letter in re.sub(r"\b(AND|OR|NOT)\b", "", text))


def repair(text: str) -> str:
    """`text` as a query that PubMed reads as it was meant: what is well formed stays as it is.

    Unbalanced quotes and parentheses, empty groups, operators without operands and unknown field tags are removed (the
    words in them stay); operators in lower case next to a group, a phrase or a tag are raised. "" when nothing is left.
    """
    return " ".join(map(str, _parse(text)))


def subjects(text: str) -> list[str]:
    """The operands of a query that name its subject, as plain words without operators, excluded terms, tags or words in
    other fields."""
    return [operand for operand in map(str.strip, _subjects(_parse(text))) if operand]


def words(text: str) -> str:
    """`text` without the characters that mean something to PubMed; the rest goes through its term mapping."""
    return _BLANKS.sub(" ", _NOT_IN_WORDS.sub(" ", _FANCY_QUOTES.sub(" ", text))).strip()


def phrase(text: str, tag: str = "") -> str:
    """`text` as one phrase, e.g. `"heart failure"[tiab]`; a comma or a slash in it is kept."""
    inner = _BLANKS.sub(" ", re.sub(r"[\"\[\]“”„]", " ", text)).strip()
    return f'"{inner}"' + (f"[{tag}]" if tag else "")


def any_of(alternatives: Iterable[str], *, limit: int = LONGEST_QUERY) -> str:
    """The first alternatives that fit in `limit` characters, joined by OR, in parentheses where there are several."""
    chosen: list[str] = []
    for alternative in dict.fromkeys(alternatives):
        if not chosen or len(" OR ".join([*chosen, alternative])) + 2 <= limit:
            chosen.append(alternative)
    return chosen[0] if len(chosen) == 1 else f"({' OR '.join(chosen)})"


def grouped(query: str) -> str:
    """`query` as one operand: in parentheses, unless it is a single word, phrase or group already."""
    return query if len(_parse(query)) == 1 else f"({query})"


def _parse(text: str) -> tuple[_Node, ...]:
    straight = _BLANKS.sub(" ", _FANCY_QUOTES.sub('"', text))
    if straight.count('"') % 2:
        straight = " ".join(straight.rsplit('"', 1))
    return _read_group(iter(_raise_operators(_TOKEN.findall(straight))), depth=0)


def _raise_operators(tokens: Sequence[str]) -> list[str]:
    """Raise operators in lower case next to a phrase, a group or a tag, which only a PubMed query has."""
    raised: list[str] = []
    for index, token in enumerate(tokens):
        before, after = (
            tokens[index - 1][-1:] if index else "",
            tokens[index + 1][:1] if index + 1 < len(tokens) else "",
        )
        is_between = before in ('"', "]", ")") or (after in ('"', "(") and before != "")
        raised.append(token.upper() if token.upper() in _BOOLEANS and is_between and after else token)
    return raised


def _read_group(tokens: Iterator[str], *, depth: int) -> tuple[_Node, ...]:
    items: list[_Node] = []
    for token in tokens:
        if token == ")":
            if depth:
                break
        elif token == "(":
            inner = _read_group(tokens, depth=depth + 1) if depth < _DEEPEST_GROUP else ()
            if inner:
                items.append(_Group(inner))
        elif token in _BOOLEANS:
            items.append(_Operator(token))
        elif token.startswith("["):
            _add_tag(items, token)
        elif any(letter.isalnum() for letter in token):
            items.append(_Term(token))
    return _with_operands(items)


def _add_tag(items: list[_Node], token: str) -> None:
    """Attach a known tag to what stands before it; an unknown one is a word in brackets ("[18F]FDG")."""
    if not is_field_tag(token[1:-1]):
        items.extend(_Term(word) for word in words(token).split())
        return
    last = items[-1] if items else None
    if isinstance(last, _Term) and not last.tag:
        items[-1] = _Term(last.text, token)
    elif isinstance(last, _Group) and not last.tag:
        items[-1] = _Group(last.items, token)


def _with_operands(items: Sequence[_Node]) -> tuple[_Node, ...]:
    """Drop operators that stand at an end or next to another ("AND NOT" means NOT)."""
    kept: list[_Node] = []
    for item in items:
        if isinstance(item, _Operator):
            if not kept:
                continue
            if isinstance(kept[-1], _Operator):
                if item.name == "NOT":
                    kept[-1] = item
                continue
        kept.append(item)
    while kept and isinstance(kept[-1], _Operator):
        kept.pop()
    return tuple(kept)


def _subjects(items: Sequence[_Node]) -> Iterator[str]:
    """The operands of a sequence that name the subject. A tag belongs to the run of words right before it."""
    run: list[str] = []
    is_excluded = False
    for item in items:
        if isinstance(item, _Operator):
            yield " ".join(run)
            run, is_excluded = [], item.name == "NOT"
        elif is_excluded:
            continue
        elif isinstance(item, _Group):
            yield " ".join(run)
            run = []
            if _is_subject(item.tag):
                yield from _subjects(item.items)
        else:
            run = [*run, words(item.text.replace("*", ""))] if _is_subject(item.tag) else []
    yield " ".join(run)


def _is_subject(tag: str) -> bool:
    return not tag or re.sub(r":.*", "", _BLANKS.sub(" ", tag.strip("[] ").lower())) in _SUBJECT_FIELDS
