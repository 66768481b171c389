"""Write the English words that are no nouns, by class, and the most common other ones, for the reading of topics.

    pip install lemminflect==0.2.3 && pip install --no-deps symspellpy==6.10.1 && python scripts/word_classes.py

Source and licence stand at the top of the file that it replaces.
"""

from __future__ import annotations

import gzip
import re
import textwrap
from collections import defaultdict
from importlib.resources import files
from pathlib import Path

TARGET = Path(__file__).parents[1] / "src" / "deepcritical_mcp" / "search" / "expansion" / "word_classes.txt"
OTHERS = {"noun", "propn", "pron", "adp", "det", "cconj", "sconj", "num", "intj"}
WIDTH = 116
COMMON = 8e-6
USED = 5e-7
"""From what share of all words on a word is common, and one is not rare."""


def main() -> None:
    classes: defaultdict[str, set[str]] = defaultdict(set)
    forms: defaultdict[str, set[str]] = defaultdict(set)
    table = files("lemminflect") / "resources" / "lemma_lu.csv.gz"
    for row in gzip.decompress(table.read_bytes()).decode().splitlines():
        word, name, lemmas = row.split(",", 2)
        classes[word].add(name)
        if name == "verb":
            forms[lemmas].add(word)
    found: defaultdict[str, list[str]] = defaultdict(list)
    used = _common(USED)
    rare = {word for words in forms.values() if not words & used for word in words}
    for word, names in sorted(classes.items()):
        if re.fullmatch("[a-z]{2,18}", word) and not names & OTHERS:
            name = "adjective" if "adj" in names else "verb" if names <= {"verb", "aux"} else "adverb"
            found["rare verb" if name == "verb" and word in rare else name].append(word)
    found["common"] = sorted(_common(COMMON))
    head = [line for line in TARGET.read_text("utf-8").splitlines() if line.startswith("#")]
    rows = [
        f"{name}\t{line}"
        for name in ("verb", "adjective", "rare verb", "adverb", "common")
        for line in textwrap.wrap(" ".join(found[name]), width=WIDTH - len(name))
    ]
    TARGET.write_text("\n".join([*head, *rows]) + "\n", "utf-8")


def _common(share: float) -> set[str]:
    table = files("symspellpy") / "frequency_dictionary_en_82_765.txt"
    rows = [row.split() for row in table.read_text("utf-8-sig").splitlines()]
    every = sum(int(count) for _, count in rows)
    return {word for word, count in rows if int(count) >= share * every and re.fullmatch("[a-z]{3,18}", word)}


if __name__ == "__main__":
    main()
