"""A strategy for other databases, by the table `targets.txt`; what they lack is named, and never dropped in silence."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from deepcritical_mcp.data_files import data_lines, data_table
from deepcritical_mcp.dates import current_date
from deepcritical_mcp.models.strategies import StrategyTranslation, Target
from deepcritical_mcp.search.expansion.phrases import natural_order
from deepcritical_mcp.search.strategy.lines import Place, Strategy
from deepcritical_mcp.search.strategy.problems import SUBHEADINGS, subheading
from deepcritical_mcp.search.strategy.syntax import Group, Reference, Term, Tree, terms, untagged_words

_YEAR = re.compile(r"\b(?:1\d{3}|2\d{3}|3000)\b")
_FIRST_YEAR = 1800
_PLAIN = re.compile(r"[^\W_]+(?:\*[^\W_]*)*")
_RESERVED = re.compile(r"\b(?:and|or|not|adj\d*|near|next|with|same)\b", re.IGNORECASE)
_AS_IS = "{}"
_LANGUAGES = data_table(__file__, "languages.txt")
_CHECK_TAGS = ("humans", "animals", "male", "female")
"""Headings of nearly all records, whose names few papers say."""


class _Line(NamedTuple):
    """A line as it is written: its number there, its text, the place for which it is, and how many terms it lacks."""

    number: str
    text: str
    place: Place
    left_out: int


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
        self._strategy, self._written = strategy, dict[str, _Line]()
        self._join = {operator: f" {rows[operator.lower()]} " for operator in ("AND", "OR", "NOT")}
        self._left_out, self._is_wider, self._is_changed, self._place = 0, False, False, Place.KEPT

    def lines(self) -> Mapping[str, str]:
        """Each line that something is left of, by its number there: lines follow one another without gaps. Each is
        written for the least strict place in which it is used."""
        for line in self._strategy.lines:
            before, place = self._left_out, self._strategy.places[line.number]
            if text := self.operand(line.tree, place, bare=True):
                left_out = self._left_out - before
                self._written[line.number] = _Line(str(len(self._written) + 1), text, place, left_out)
            elif line.tree:
                self.lose("line", f"#{line.number}")
        return {line.number: line.text for line in self._written.values()}

    def lose(self, key: str, term: Term | str = "") -> None:
        """Note what is lost, if the table has a reason for it."""
        self._is_changed = True
        if reason := self.rows.get(f"lost {key}"):
            named = self.lost.setdefault(reason, [])
            if str(term) and str(term) not in named:
                named.append(str(term))

    def operand(self, tree: Tree | None, place: Place = Place.KEPT, *, bare: bool = False) -> str:
        """A tree as an operand, with `bare` as the whole, without brackets around it; "" if nothing of it is left."""
        tree = untagged_words(tree) if isinstance(tree, Term) else tree
        if isinstance(tree, Reference):
            return self._reference(tree.number, place)
        if tree is None:
            return ""
        if isinstance(tree, Term):
            text, is_one = self._alternatives(Group("OR", (tree,)), place)
        elif tree.operator == "OR":
            text, is_one = self._alternatives(tree, place)
        else:
            text, is_one = self._combined(tree, place)
        return text if bare or is_one or not text else f"({text})"

    def _reference(self, number: str, place: Place) -> str:
        """A line by its number; written out if it must be stricter here than it is there."""
        line = self._written.get(number)
        if line is None:
            self._left_out += 1
            return ""
        if place > line.place:
            text = self.operand(self._strategy.by_number[number].tree, place)
            if text not in (line.text, f"({line.text})"):
                return text
        elif place is not Place.KEPT:
            self._left_out += line.left_out
        return self.rows["line"].format(line.number)

    def _combined(self, tree: Group, place: Place) -> tuple[str, bool]:
        """What AND or NOT joins, and whether it needs no brackets. Of what is excluded, a part of AND that cannot be
        written takes the whole with it, and so does what NOT leaves of it: more would be excluded without."""
        before, inner = self._left_out, place if tree.operator == "AND" else Place(min(place + 1, Place.EXACT))
        first = self.operand(tree.items[0], place)
        after = self._left_out
        others = [self.operand(item, inner) for item in tree.items[1:]]
        parts = [one for one in others if one]
        is_less = {Place.KEPT: False, Place.EXCLUDED: not first, Place.EXACT: self._left_out > before}[place]
        if place is Place.EXCLUDED:
            is_less |= len(parts) < len(others) if tree.operator == "AND" else self._left_out > after
        if is_less:
            self._left_out += 1
            self.lose("not", str(tree))
            return "", True
        if tree.operator == "AND":
            every = [one for one in (first, *parts) if one]
            return self._join["AND"].join(every), len(every) == 1
        if not first or not parts:
            return first, True
        joined = self._join["OR"].join(parts)
        return f"{first}{self._join['NOT']}{joined if len(parts) == 1 else f'({joined})'}", False

    def _alternatives(self, tree: Group, place: Place) -> tuple[str, bool]:
        """What OR joins, the terms of one field together, and whether it needs no brackets."""
        grouped: dict[tuple[str, int], list[str]] = {}
        for number, item in enumerate(tree.items):
            item = untagged_words(item) if isinstance(item, Term) else item
            if isinstance(item, Term):
                if written := self._term(item, place):
                    is_alone = written.template == _AS_IS or written.template.startswith("[")
                    key = (written.template, number if is_alone else 0)
                    grouped.setdefault(key, []).append(written.content)
            elif text := self.operand(item, place):
                grouped[_AS_IS, number] = [text]
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

    def _term(self, term: Term, place: Place) -> _Written | None:
        """A term in its field; None if it is left out, which is noted: there is no field for it, or what is written
        would find what its place does not allow."""
        before = {reason: [*named] for reason, named in self.lost.items()} if place is not Place.KEPT else {}
        self._is_wider, self._is_changed, self._place = False, False, place
        written = self._in_field(term)
        is_other = self._is_wider if place is Place.EXCLUDED else self._is_changed and place is Place.EXACT
        if place is not Place.KEPT and (written is None or is_other):
            self.lost = before
            self.lose("not", term)
            self._left_out += 1
            return None
        return written

    def _in_field(self, term: Term) -> _Written | None:
        field = term.field or "all"
        if term.is_heading:
            return self._heading(term)
        own = self.rows.get(f"{field}:{term.text.lower()}")
        if own:
            return _Written(_AS_IS, own)
        if field == "sh":
            return self._subheading(term)
        if field == "la":
            term = replace(term, text=_language(term.text, as_code=self.rows.get("languages") == "codes"))
        if field == "dp":
            return self._dates(term)
        if field == "pt" and "pt" not in self.rows:
            return self._as_words(term, "words", term.text)
        stricter = f"{field} not" if self._place is Place.EXCLUDED else ""
        template = self.rows.get(stricter, self.rows.get(field, ""))
        if not template:
            self.lose("field", term)
            return None
        if not term.tag:
            self.lose("untagged", term)
        elif f"lost {field}" in self.rows:
            self.lose(field, term)
            self._is_wider |= field == "1au"
        return _Written(template, self._content(term))

    def _heading(self, term: Term) -> _Written | None:
        if own := self.rows.get(f"mh:{term.heading.lower()}"):
            return _Written(_AS_IS, own)
        key = f"{term.field}{'' if term.explodes else '-'}"
        template = self.rows.get(key) or self.rows.get(term.field) or self.rows["mh"]
        if template == "words" and term.heading.lower() in _CHECK_TAGS:
            self.lose("tag", term)
            return None
        if "*" in term.heading:
            return self._as_words(term, "words", term.heading)
        if template == "words" and not _is_phrase(term.heading):
            self.lose("name", term)
            return None
        if template == "words":
            return self._as_words(term, "nm" if "lost nm" in self.rows else "mh", natural_order(term.heading))
        lost = next((one for one in (key, term.field) if f"lost {one}" in self.rows), "")
        if lost and term.heading.lower() not in _CHECK_TAGS:
            self.lose(lost, term)
        if term.field == "majr" and (lost or not {key, "majr"} & {*self.rows}):
            self._is_wider = self._is_changed = True
        slash, name = term.text[len(term.heading) :].strip()[:1], term.text.rpartition("/")[2]
        code = SUBHEADINGS.get(subheading(name), "")[:2]
        if slash and ("{sub}" not in template or not code):
            self.lose("sub", term)
            self._is_wider = True
        if "{sub}" not in template:
            return _Written(_AS_IS, template.format(term.heading))
        sub = self.rows["sub"].format(code.lower() if self.rows["sub"] == _AS_IS else code) if code else ""
        heading = term.heading
        if self.rows["sub"] == _AS_IS and (_RESERVED.search(heading) or "(" in heading):
            heading = f'"{heading}"'
        return _Written(_AS_IS, template.format(heading, sub=sub))

    def _subheading(self, term: Term) -> _Written | None:
        row, template = SUBHEADINGS.get(subheading(term.text), ""), self.rows.get("sh", "")
        code, _, emtree = row.partition(" ")
        if "lnk" in template:
            code = emtree
        if not template or not code:
            self.lose("field", term)
            return None
        if "lost sh" in self.rows and term.explodes:
            self.lose("sh", term)
        return _Written(_AS_IS, template.format(code.lower() if template.endswith(".fs.") else code))

    def _as_words(self, term: Term, key: str, words: str) -> _Written:
        self.lose(key, term)
        self._is_wider = True
        return _Written(self.rows["tiab"], self._content(Term(words.lower(), quoted=True)))

    def _dates(self, term: Term) -> _Written | None:
        years = sorted(int(year) for year in _YEAR.findall(term.text))
        this = current_date().year + 1
        if not years or not {"dp", "years"} & {*self.rows}:
            self.lose("dp", term)
            return None
        first, last = max(years[0], _FIRST_YEAR), min(years[-1], this)
        if "/" in term.text:
            self.lose("days", term)
            self._is_wider = True
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
        pieces = text.replace("-", " ").split()
        if "*" in text and len(pieces) > 1 and self.rows["next"] not in ("", "quoted"):
            if "lost next" in self.rows:
                self.lose("next", term)
                self._is_wider = True
            return f"({self._joined(self.rows['next'], pieces)})"
        if re.search(r"\*\w", text) and "lost inner" in self.rows:
            self.lose("inner", term)
        return self._word(" ".join(words))

    def _near(self, term: Term, words: Sequence[str]) -> str:
        operator, _, more = self.rows["near"].partition("+")
        if len(words) > 2 or operator == "AND":
            self.lose("near", term)
            self._is_wider = True
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
        is_plain = _PLAIN.fullmatch(text) and not _RESERVED.fullmatch(text)
        if "'" in text:
            return f'"{text}"'
        return text if is_plain else self.rows["phrase"].format(text)


def _is_phrase(heading: str) -> bool:
    """Whether papers may say the name of a heading, also the other way round: "Arthritis, Gouty"."""
    last = heading.partition(", ")[2]
    return "," not in last and len(last.split()) <= 2 and not last.lower().endswith("topic")


def _language(name: str, *, as_code: bool) -> str:
    """A language by its name, or by MEDLINE's code of three letters; as it is given if it is not in the table."""
    known = next(((code, full) for code, full in _LANGUAGES.items() if name.lower() in (code, full)), (name, name))
    return known[0 if as_code else 1]
