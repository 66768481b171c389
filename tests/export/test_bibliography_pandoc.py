"""Our bibliographies beside pandoc's, which has a CSL processor of its own, on real records."""

from __future__ import annotations

import html
import json
import re
import subprocess
from pathlib import Path

import pytest

from deepcritical_mcp.export.bibliography import STYLES, bibliography
from deepcritical_mcp.export.reference import references
from deepcritical_mcp.export.style_values import style_fields
from deepcritical_mcp.models import Publication
from tests.export.recorded import needs_records, recorded_publications
from tests.export.test_export import needs_pandoc

SHIPPED = Path(__file__).parents[2] / "src/deepcritical_mcp/export/styles"
# Options for names that CSL allows on <style>; pandoc 2.17 reads them on <bibliography> only.
INHERITED = (
    "and delimiter-precedes-et-al delimiter-precedes-last initialize initialize-with initialize-with-hyphen "
    "name-as-sort-order sort-separator name-delimiter names-delimiter"
).split()
pytestmark = [
    needs_records,
    needs_pandoc,
]


@pytest.fixture(scope="module")
def recorded() -> list[Publication]:
    return recorded_publications()[:160]


@pytest.mark.long
@pytest.mark.parametrize("style", [name for name in STYLES if name != "chicago-notes"])
def test_pandoc_writes_the_same_entries(style: str, recorded: list[Publication], tmp_path: Path) -> None:
    theirs = pandoc_entries(recorded, style, tmp_path)
    ours = [explained(line) for line in bibliography(recorded, style, "text").text.splitlines()]

    same = len({explained(line) for line in theirs} & set(ours))
    assert len(theirs) == len(ours) == len(recorded)
    assert same >= 0.95 * len(ours)


def pandoc_entries(publications: list[Publication], style: str, folder: Path) -> list[str]:
    (folder / "items.json").write_text(json.dumps([style_fields(one) for one in references(publications)]), "utf-8")
    (folder / "style.csl").write_text(for_pandoc((SHIPPED / f"{STYLES[style]}.csl").read_text("utf-8")), "utf-8")
    command = ["pandoc", "--from", "markdown", "--to", "html", "--wrap", "none", "--citeproc"]
    command += ["--bibliography", str(folder / "items.json"), "--csl", str(folder / "style.csl")]
    document = "---\nnocite: '@*'\n---\n"
    run = subprocess.run(command, input=document, capture_output=True, text=True, check=True, timeout=300)
    entries = re.findall(r'<div id="ref-[^"]*" class="csl-entry"[^>]*>(.*?)</div>\n(?=<div|</div>)', run.stdout, re.S)
    return [" ".join(html.unescape(re.sub(r"<[^>]+>", "", entry)).split()) for entry in entries]


def for_pandoc(source: str) -> str:
    """The style without what pandoc 2.17 does not understand."""
    head = re.search(r"<style [^>]*>", source)
    assert head
    options = [found[0] for name in INHERITED if (found := re.search(rf' {name}="[^"]*"', head[0]))]
    source = source.replace("<bibliography ", f"<bibliography {' '.join(options)} ", 1)
    source = re.sub(r'(<names variable="(?:author|editor)">\s*)(<label)', r"\1<name/>\2", source)
    return source.replace('"chicago-16"', '"chicago"')


def explained(line: str) -> str:
    """A line without the differences that we know and want: "[Online]", which pandoc leaves out although IEEE's style
    has it; seasons, which pandoc does not read; small words in titles; e01887-19, which pandoc takes for pages."""
    plain = " ".join(line.casefold().replace("™", "tm").replace("[online]. ", "").split())
    plain = re.sub(r"[“”‘’\"']", "'", plain).replace("–", "-")
    return re.sub(r" (?:spring|summer|autumn|fall|winter)(?=[; ])", "", plain)
