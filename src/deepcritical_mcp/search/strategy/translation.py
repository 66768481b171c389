"""A strategy for other databases, by the table `targets.txt`; what they lack is named, and never dropped in silence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from deepcritical_mcp.data_files import data_lines
from deepcritical_mcp.dates import current_date
from deepcritical_mcp.models.strategies import StrategyTranslation, Target
from deepcritical_mcp.search.expansion.phrases import natural_order
from deepcritical_mcp.search.strategy.lines import Strategy
from deepcritical_mcp.search.strategy.problems import SUBHEADINGS, subheading
from deepcritical_mcp.search.strategy.syntax import Group, Reference, Term, Tree, references, terms

_YEAR = re.compile(r"\b(?:1\d{3}|2\d{3}|3000)\b")
_FIRST_YEAR = 1800
_PLAIN = re.compile(r"[^\W_]+\*?")
_RESERVED = re.compile(r"\b(?:and|or|not|adj\d*|near|next|with|same)\b", re.IGNORECASE)
_AS_IS = "{}"
_CHECK_TAGS = ("humans", "animals", "male", "female")
"""Headings of nearly all records, whose names few papers say."""


class _Written(NamedTuple):
    """A term of a group: the field it stands in, and what stands there."""

    template: str
    content: str


@cache
def _table() -> Mapping[str, Mapping[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for target, key, value in (row.split("\t") for row in data_lines(__file__, "targets.txt")):
        found.setdefault(target, {})[key] = value
    return {target: found["*"] | rows for target, rows in found.items()}


def target_name(target: Target) -> str:
    """The name of a database for people."""
    return _table()[target]["name"]


def translated(strategy: Strategy, target: Target) -> StrategyTranslation:
    """The strategy as `target` takes it, line by line if it has numbered lines, and what it does not say there."""
    writer = _Writer(strategy, _table()[target])
    if strategy.is_numbered and writer.rows["line"]:
        text = "\n".join(f"{writer.rows['line'].format(number)}. {line}" for number, line in writer.lines().items())
    else:
        text = writer.operand(strategy.resolved(strategy.whole.tree), bare=True)
    if any(term.field == "pt" and "trial" in term.text.lower() for line in strategy.lines for term in terms(line.tree)):
        writer.lose("trials")
    lost = (f"{reason}{': ' * bool(named)}{'; '.join(named)}" for reason, named in writer.lost.items())
    return StrategyTranslation(target=target, text=text, not_translated=tuple(lost))


class _Writer:
    """Writes trees by the rows of one database; `lost` has what is lost, by the reason."""

    def __init__(self, strategy: Strategy, rows: Mapping[str, str]) -> None:
        self.rows, self.lost = rows, dict[str, list[str]]()
        self._strategy, self._written = strategy, dict[str, str]()
        self._join = {operator: f" {rows[operator.lower()]} " for operator in ("AND", "OR", "NOT")}

    def lines(self) -> Mapping[str, str]:
        """Each line by its number, "" if nothing of it is left."""
        excluded = {number for line in self._strategy.lines for number in _excluded(line.tree)}
        for line in reversed(self._strategy.lines):  # what an excluded line names is excluded, too
            excluded |= {*references(line.tree)} if line.number in excluded else set()
        for line in self._strategy.lines:
            write = self._exclusion if line.number in excluded else self.operand
            self._written[line.number] = write(line.tree, bare=True)
        return self._written

    def lose(self, key: str, term: Term | str = "") -> None:
        """Note what is lost, if the table has a reason for it."""
        if reason := self.rows.get(f"lost {key}"):
            named = self.lost.setdefault(reason, [])
            if str(term) and str(term) not in named:
                named.append(str(term))

    def operand(self, tree: Tree | None, *, bare: bool = False, is_excluded: bool = False) -> str:
        """A tree as an operand, with `bare` as the whole, without brackets around it; "" if nothing of it is left."""
        if isinstance(tree, Reference):
            is_left = self._written.get(tree.number, "")
            return self.rows["line"].format(tree.number) if is_left else ""
        if tree is None:
            return ""
        if isinstance(tree, Term):
            text, is_one = self._alternatives(Group("OR", (tree,)), is_excluded)
        elif tree.operator == "OR":
            text, is_one = self._alternatives(tree, is_excluded)
        else:
            text, is_one = self._combined(tree, is_excluded)
        return text if bare or is_one or not text else f"({text})"

    def _combined(self, tree: Group, is_excluded: bool) -> tuple[str, bool]:
        """What AND or NOT joins, and whether it needs no brackets."""
        if tree.operator == "AND":
            parts = [one for one in (self.operand(item, is_excluded=is_excluded) for item in tree.items) if one]
            return self._join["AND"].join(parts), len(parts) == 1
        first, *others = tree.items
        kept = self.operand(first, is_excluded=is_excluded)
        excluded = [one for one in (self._exclusion(item) for item in others) if one]
        if not kept or not excluded:
            return kept, True
        joined = self._join["OR"].join(excluded)
        return f"{kept}{self._join['NOT']}{joined if len(excluded) == 1 else f'({joined})'}", False

    def _exclusion(self, tree: Tree | None, *, bare: bool = False) -> str:
        """What is excluded; "" if not all of it can be written exactly, since too much would be excluded."""
        before = {reason: [*named] for reason, named in self.lost.items()}
        text = self.operand(tree, bare=bare, is_excluded=True)
        if self.rows["lost not"] in {*self.lost} - {*before}:
            self.lost = before
            self.lose("not", str(tree))
            return ""
        return text

    def _alternatives(self, tree: Group, is_excluded: bool) -> tuple[str, bool]:
        """What OR joins, the terms of one field together, and whether it needs no brackets."""
        grouped: dict[tuple[str, int], list[str]] = {}
        for place, item in enumerate(tree.items):
            if isinstance(item, Term):
                if written := self._term(item, is_excluded):
                    key = (written.template, place if written.template == _AS_IS else 0)
                    grouped.setdefault(key, []).append(written.content)
            elif text := self.operand(item, is_excluded=is_excluded):
                grouped[_AS_IS, place] = [text]
        parts: list[str] = []
        for (template, _), contents in grouped.items():
            each = list({one.casefold(): one for one in reversed(contents)}.values())[::-1]
            content = each[0] if len(each) == 1 else f"({self._join['OR'].join(each)})"
            if template.endswith("({})"):  # TITLE(…), TS=(…)
                content = content[1:-1] if len(each) > 1 else content
            parts.append(template.replace("{}", content))
        template = next(iter(grouped), ("", 0))[0]
        is_one = len(parts) == 1 and (" OR " not in template or template.startswith("("))
        return self._join["OR"].join(dict.fromkeys(parts)), is_one

    def _term(self, term: Term, is_excluded: bool) -> _Written | None:
        """A term in its field; None if it is left out, which is noted."""
        field = term.field if term.tag and term.field else "all"
        if term.is_heading:
            return self._heading(term, is_excluded)
        own = self.rows.get(f"{field}:{term.text.lower()}")
        if own:
            return _Written(_AS_IS, own)
        if field == "sh":
            return self._subheading(term, is_excluded)
        if field == "dp":
            return self._dates(term)
        if field == "pt" and "pt" not in self.rows:
            return self._as_words(term, "words", term.text, is_excluded)
        if field not in self.rows:
            self.lose("not" if is_excluded else "field", term)
            return None
        self.lose(field, term)
        return _Written(self.rows[field], self._content(term))

    def _heading(self, term: Term, is_excluded: bool) -> _Written | None:
        if own := self.rows.get(f"mh:{term.heading.lower()}"):
            return _Written(_AS_IS, own)
        key = f"{term.field}{'' if term.explodes else '-'}"
        template = self.rows.get(key) or self.rows.get(term.field) or self.rows["mh"]
        if template == "words" and term.heading.lower() in _CHECK_TAGS:
            self.lose("not" if is_excluded else "tag", term)
            return None
        if template == "words":
            return self._as_words(
                term, "nm" if "lost nm" in self.rows else "mh", natural_order(term.heading), is_excluded
            )
        self.lose(key, term)
        _, slash, name = term.text.partition("/")
        code = SUBHEADINGS.get(subheading(name), "")[:2]
        if slash and ("{sub}" not in template or not code):
            self.lose("sub", term)
        if "{sub}" not in template:
            return _Written(_AS_IS, template.format(term.heading))
        sub = self.rows["sub"].format(code.lower() if self.rows["sub"] == _AS_IS else code) if code else ""
        heading = term.heading
        if self.rows["sub"] == _AS_IS and (_RESERVED.search(heading) or "(" in heading):
            heading = f'"{heading}"'
        return _Written(_AS_IS, template.format(heading, sub=sub))

    def _subheading(self, term: Term, is_excluded: bool) -> _Written | None:
        row, template = SUBHEADINGS.get(subheading(term.text), ""), self.rows.get("sh", "")
        code, _, emtree = row.partition(" ")
        if "lnk" in template:
            code = emtree
        if not template or not code:
            self.lose("not" if is_excluded else "field", term)
            return None
        self.lose("sh", term)
        return _Written(_AS_IS, template.format(code.lower() if template.endswith(".fs.") else code))

    def _as_words(self, term: Term, key: str, words: str, is_excluded: bool) -> _Written | None:
        if is_excluded:
            self.lose("not", term)
            return None
        self.lose(key, term)
        return _Written(self.rows["tiab"], self._content(Term(words.lower().replace("*", ""))))

    def _dates(self, term: Term) -> _Written | None:
        years = sorted(int(year) for year in _YEAR.findall(term.text))
        this = current_date().year + 1
        if not years or not {"dp", "years"} & {*self.rows}:
            self.lose("dp", term)
            return None
        first, last = max(years[0], _FIRST_YEAR), min(years[-1], this)
        if "/" in term.text:
            self.lose("days", term)
        if "years" in self.rows:
            every = " or ".join(str(year) for year in range(first, last + 1))
            return _Written(_AS_IS, self.rows["years"].format(f"({every})"))
        return _Written(_AS_IS, self.rows["dp"].format(first=first, last=last, before=first - 1, after=last + 1))

    def _content(self, term: Term) -> str:
        """The words of a term, without a field."""
        text = re.sub(r"[\"()\[\]{}]", " ", term.text).strip()
        words = text.split()
        if term.near >= 0 and len(words) > 1:
            return self._near(term, words)
        if "*" in text and len(words) > 1 and self.rows["next"] not in ("", "quoted"):
            self.lose("next", term)
            return f"({self._joined(self.rows['next'], words)})"
        return self._word(" ".join(words))

    def _near(self, term: Term, words: Sequence[str]) -> str:
        operator, _, more = self.rows["near"].partition("+")
        if len(words) > 2 or operator == "AND":
            self.lose("near", term)
        if operator.startswith("adj") and not term.near and len(words) == 2:  # adj1 keeps the order
            return f"({words[0]} adj1 {words[1]} or {words[1]} adj1 {words[0]})"
        return f"({self._joined(operator.format(term.near + int(more or 0)), words)})"

    def _joined(self, operator: str, words: Sequence[str]) -> str:
        return f" {operator} ".join(map(self._word, words))

    def _word(self, text: str) -> str:
        """A word, or a phrase, in quotes where it must be."""
        if self.rows["phrase"] == _AS_IS:  # Ovid takes words one after the other for a phrase
            is_safe = not _RESERVED.search(text) and re.fullmatch(r"[\w\s*'’-]+", text)
            return text if is_safe else f'"{text}"'
        quote = self.rows["phrase"][0]
        text = text.replace(quote, "’" if quote == "'" else " ")
        return text if _PLAIN.fullmatch(text) and not _RESERVED.fullmatch(text) else self.rows["phrase"].format(text)


def _excluded(tree: Tree | None) -> Iterator[str]:
    """The numbers of the lines that NOT excludes."""
    for place, one in enumerate(tree.items if isinstance(tree, Group) else ()):
        yield from references(one) if isinstance(tree, Group) and tree.operator == "NOT" and place else _excluded(one)
