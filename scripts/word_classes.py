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
"""From what share of all words on a word is common."""


def main() -> None:
    classes: defaultdict[str, set[str]] = defaultdict(set)
    table = files("lemminflect") / "resources" / "lemma_lu.csv.gz"
    for row in gzip.decompress(table.read_bytes()).decode().splitlines():
        word, name, _ = row.split(",", 2)
        classes[word].add(name)
    found: defaultdict[str, list[str]] = defaultdict(list)
    for word, names in sorted(classes.items()):
        if re.fullmatch("[a-z]{2,18}", word) and not names & OTHERS:
            found["adjective" if "adj" in names else "verb" if names <= {"verb", "aux"} else "adverb"].append(word)
    found["common"] = sorted(_common() - {word for words in found.values() for word in words})
    head = [line for line in TARGET.read_text("utf-8").splitlines() if line.startswith("#")]
    rows = [
        f"{name}\t{line}"
        for name in ("verb", "adjective", "adverb", "common")
        for line in textwrap.wrap(" ".join(found[name]), width=WIDTH - len(name))
    ]
    TARGET.write_text("\n".join([*head, *rows]) + "\n", "utf-8")


def _common() -> set[str]:
    table = files("symspellpy") / "frequency_dictionary_en_82_765.txt"
    rows = [row.split() for row in table.read_text("utf-8-sig").splitlines()]
    every = sum(int(count) for _, count in rows)
    return {word for word, count in rows if int(count) >= COMMON * every and re.fullmatch("[a-z]{3,18}", word)}


if __name__ == "__main__":
    main()
