"""How much of recorded JATS articles is read, next to another reader.

    python bench/jats.py [folder]        # the folder is that of DEEPCRITICAL_SOURCES_DIR

The folder has articles and an independent reading of them in jats*.jsonl, one line an article. A paragraph is there if
its text, compared without white space, punctuation and case after NFKC, stands somewhere in a reader's text; it is an
equal block if it stands there as a paragraph of its own. pyeuropepmc is measured too if it is installed: its sections
for the text, its Markdown where that has more.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from deepcritical_mcp.reading.jats import read_jats


@dataclass(frozen=True)
class Output:
    """What a reader made of an article: its text (with the abstract), its blocks, titles and number of tables."""

    text: str
    blocks: Sequence[str]
    titles: Sequence[str]
    tables: int


@dataclass
class Score:
    """What a reader made of all articles."""

    articles: int = 0
    paragraphs: int = 0
    there: int = 0
    equal: int = 0
    whole: int = 0
    titles: int = 0
    tables: int = 0
    seconds: float = 0.0
    crashes: list[str] = field(default_factory=list)


Reader = Callable[[bytes, int], Output]


def ours(data: bytes, index: int) -> Output:
    """This project's reader."""
    reading = read_jats(data)[index]
    blocks = [*reading.content.split("\n\n"), *reading.abstract.split("\n")]
    titles = [part.path[-1] for part in reading.parts if part.path]
    tables = sum(part.kind == "table" for part in reading.parts)
    return Output(f"{reading.content}\n{reading.abstract}", blocks, titles, tables)


def pyeuropepmc(data: bytes, index: int) -> Output:
    """The other reader; of several articles in an answer it gets the one that counts."""
    from pyeuropepmc import FullTextXMLParser

    text = data.decode("utf-8")
    articles = re.findall(r"<article[\s>].*?</article>", text, re.DOTALL)
    parser = FullTextXMLParser()
    parser.parse(articles[index] if len(articles) > 1 else text)
    sections = parser.get_full_text_sections()
    tables = parser.extract_tables()
    markdown, plain = parser.to_markdown(), parser.to_plaintext()
    own = "\n".join(f"{section.get('title') or ''}\n{section.get('content') or ''}" for section in sections)
    best = max((own, re.sub(r"[*_`#>\\]", "", markdown), plain), key=len)
    blocks = [block for one in (own, plain, markdown) for block in re.split(r"\n+", one)]
    return Output(
        "\n".join((best, own, plain)), blocks, [section.get("title") or "" for section in sections], len(tables)
    )


def plain(text: str) -> str:
    """What is compared of a text: its letters and digits."""
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", text)).casefold()


def measure(reader: Reader, folder: Path, rows: Sequence[dict[str, Any]]) -> Score:
    """How much `reader` reads of all articles that have a body."""
    score = Score()
    for row in rows:
        data = (folder / row["file"]).read_bytes()
        wanted = [p for one in row["sections"] for p in one["paragraphs"]]
        wanted = [one for one in map(plain, wanted) if one]
        score.articles += 1
        score.paragraphs += len(wanted)
        start = time.process_time()
        try:
            found = reader(data, row.get("index", 0))
        except Exception as error:
            score.crashes.append(f"{row['file']}: {type(error).__name__}")
            continue
        score.seconds += time.process_time() - start
        text, blocks = plain(found.text), set(map(plain, found.blocks))
        there = sum(one in text for one in wanted)
        score.there += there
        score.whole += there == len(wanted)
        score.equal += sum(one in blocks for one in wanted)
        titles = [plain(one["path"][-1]) for one in row["sections"] if one["path"]]
        listed = iter(list(map(plain, found.titles)))
        score.titles += all(any(title == other for other in listed) for title in titles if title)
        score.tables += found.tables == row["tables"]
    return score


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else os.environ["DEEPCRITICAL_SOURCES_DIR"])
    lines = (line for path in sorted(folder.glob("jats*.jsonl")) for line in path.read_text("utf-8").splitlines())
    rows = [row for row in map(json.loads, lines) if row["has_body"]]
    readers: dict[str, Reader] = {"deepcritical-mcp": ours}
    if find_spec("pyeuropepmc"):
        readers[f"pyeuropepmc {version('pyeuropepmc')}"] = pyeuropepmc
    print("| reader | text there | equal block | articles whole | titles in order | tables | crashes | ms/article |")
    print("|---|---|---|---|---|---|---|---|")
    for name, reader in readers.items():
        score = measure(reader, folder, rows)
        of_all = [score.whole, score.titles, score.tables]
        cells = [f"{score.there / score.paragraphs:.1%}", f"{score.equal / score.paragraphs:.1%}"]
        cells += [f"{one / score.articles:.1%}" for one in of_all]
        read = max(score.articles - len(score.crashes), 1)
        print(f"| {name} | {' | '.join(cells)} | {len(score.crashes)} | {1000 * score.seconds / read:.0f} |")
        for crash in score.crashes:
            print(f"<!-- {crash} -->")
    print(f"\n{len(rows)} articles.")


if __name__ == "__main__":
    main()
