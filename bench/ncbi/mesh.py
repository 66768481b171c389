"""MeSH's database as bench/mesh/tree.txt has it, in the forms of esearch and esummary."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[1] / "mesh"
NUMBERED = re.compile(
    r"(agent|blocker|blockader|inhibitor|antagonist|agonist|disorder|disease|drug|syndrome|infection|neoplasm|cancer|"
    r"tumor|carcinoma|stimulant|antihistamine|analgesic|opioid|antipsychotic|migraine|headache|ulcer|trial)(s?)$",
    re.IGNORECASE,
)


@cache
def plain(text: str) -> str:
    """Words as PubMed indexes them: lower case, one space for hyphens and all other signs."""
    return " ".join(re.findall(r"\w+", text.casefold()))


@dataclass(eq=False)
class Record:
    """A record of the MeSH database: a heading, a supplementary concept, or a pharmacological action."""

    uid: str
    id: str
    kind: str
    names: list[str]
    actions: list[str] = field(default_factory=list[str])
    mapped_to: list[str] = field(default_factory=list[str])
    places: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    children: list[Record] = field(default_factory=list["Record"])


class Mesh:
    """The file tree.txt: records by number and by name, in the forms of esearch and esummary."""

    def __init__(self) -> None:
        self.records: dict[str, Record] = {}
        self.by_name: dict[str, Record] = {}
        self.members: dict[str, list[Record]] = defaultdict(list)
        above: list[Record] = []
        roots: list[tuple[str, Record]] = []
        for line in (DATA / "tree.txt").read_text().splitlines():
            code, _, rest = line.strip().partition(" ") if re.match(r"[A-Z]\d\d ", line) else ("", "", line.strip())
            if line.startswith("#") or not line:
                continue
            rest, _, actions = rest.lstrip("+ ").partition(" => ")
            rest, _, mapped = rest.partition(" ^ ")
            name, _, entries = rest.partition(": ")
            record = self._record(name, entries.split("; "), "C" if line.startswith("+") else "D")
            record.actions += [one for one in actions.split("; ") if one]
            record.mapped_to += [one for one in mapped.split("; ") if one]
            for action in record.actions:
                self.members[plain(action)].append(record)
            depth = (len(line) - len(line.lstrip())) // 2
            if code:
                roots.append((code, record))
            elif record.kind == "D" and record not in above[depth - 1].children:
                above[depth - 1].children.append(record)
            above[depth:] = [record]
        for code, record in roots:
            self._place(record, code, "1000048")
        for record in list(self.records.values()):
            for name in record.names[1:]:
                self.by_name.setdefault(plain(name), record)
        for number, name in enumerate(self.members):
            uid = f"2{number:06d}"
            self.records[uid] = Record(uid, "", "pharmacological-action", [self.by_name[name].names[0]])

    def _record(self, name: str, entries: list[str], kind: str) -> Record:
        if record := self.by_name.get(plain(name)):
            record.names += [one for one in entries if one]
            return record
        names = [name, *(one for one in entries if one)]
        for one in names[:]:
            if match := NUMBERED.search(one):
                names.append(one[:-1] if match[2] else one + "s")
            words = one.split(" ")
            if NUMBERED.search(one) and "," not in one and len(words) == 2:
                names.append(f"{words[1]}, {words[0]}")
        id = f"{kind}9{len(self.records):05d}"
        record = Record(f"6{8 if kind == 'D' else 7}{id[1:]}", id, kind, list(dict.fromkeys(names)))
        self.records[record.uid] = self.by_name[plain(name)] = record
        return record

    def _place(self, record: Record, number: str, parent: str) -> None:
        record.places.append((number, parent))
        for place, child in enumerate(record.children, start=1):
            self._place(child, f"{number}.{place * 40:03d}", record.uid)

    def below(self, record: Record) -> Iterator[Record]:
        yield record
        for child in record.children:
            yield from self.below(child)

    def found(self, term: str) -> list[str]:
        """Records by a name in quotes or before a tag; else by words."""
        quoted = re.findall(r'"([^"]+)"', term) or re.findall(r"([^\[\]()]+)\[[^\]]*\]", term)
        wanted = {plain(re.sub(r"^\s*(OR|AND)\s+", "", one)) for one in quoted or [term]}
        found = [uid for uid, one in self.records.items() if wanted & {plain(name) for name in one.names}]
        if found or quoted:
            return found
        words = set(plain(term).split()) - {"or", "and"}
        return [
            uid for uid, one in self.records.items() if any(words <= set(plain(name).split()) for name in one.names)
        ]

    def summary(self, uid: str) -> dict[str, Any]:
        one = self.records[uid]
        kind = {"D": "descriptor", "C": "supplementary-record"}.get(one.kind, one.kind)
        members = self.members[plain(one.names[0])] if kind == "pharmacological-action" else []
        children = [child.uid for child in one.children]
        places = one.places or ([] if members else [("@1", "1000048")])
        return {
            "uid": uid,
            "ds_recordtype": kind,
            "ds_meshui": one.id,
            "ds_meshterms": one.names,
            "ds_papx": one.actions,
            "ds_headingmappedto": "; ".join(one.mapped_to),
            "ds_palist": [member.kind + member.names[0] for member in members],
            "ds_idxlinks": [{"parent": up, "treenum": place, "children": children} for place, up in places],
        }
