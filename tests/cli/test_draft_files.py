"""Drafts as people keep them: encodings, several files, word processors."""

import contextlib
import io
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from deepcritical_mcp.checking.draft import read_draft
from deepcritical_mcp.cli import check
from deepcritical_mcp.cli.check import read_drafts
from deepcritical_mcp.errors import InvalidInputError

TEXT = "Zinc “heals” wounds.¹\n\nReferences\n1. Müller Ä. Zinc. 2021.\n"
PANDOC = pytest.mark.skipif(shutil.which("pandoc") is None, reason="pandoc is not installed")


OLD = bytes([0xA4, 0xE6, 0xF8])


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        *((TEXT, encoding) for encoding in ("utf-8", "utf-8-sig", "utf-16", "cp1252")),
        ("% Encoding: ISO-8859-15\n" + OLD.decode("iso-8859-15"), "iso-8859-15"),
        ("\\usepackage[latin9]{inputenc}\n" + OLD.decode("latin9"), "latin9"),
        ("% -*- coding: windows-1250 -*-\n" + OLD.decode("windows-1250"), "windows-1250"),
        ('<?xml version="1.0" encoding="koi8-r"?>\n' + OLD.decode("koi8-r"), "koi8-r"),
        ("% Encoding: rot13\n% coding: nonsense\nMüller", "latin-1"),  # names that are no encodings of texts
    ],
)
def test_a_draft_is_read_in_the_encoding_that_it_has_or_names(tmp_path: Path, text: str, encoding: str):
    file = tmp_path / "refs.bib"
    file.write_bytes(text.encode(encoding))
    assert read_drafts([str(file)]) == text


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode("utf-16"))))
    assert read_drafts(["-"]) == TEXT


@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        ("image.md", b"\x89PNG\r\n\x1a\n\0\0\0", "is not text"),
        ("paper.pdf", b"%PDF-1.7", "pass the document that it was made from"),
    ],
)
def test_what_is_not_a_draft_is_refused_with_advice(tmp_path: Path, name: str, data: bytes, told: str):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InvalidInputError, match=told):
        read_drafts([str(tmp_path / name)])


def test_a_file_that_is_too_large_is_not_read_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(check, "MAX_FILE", 1024 * 1024)
    (tmp_path / "thesis.docx").write_bytes(b"PK" + bytes(1024 * 1024))
    with pytest.raises(InvalidInputError, match="larger than 1 MB"):
        read_drafts([str(tmp_path / "thesis.docx")])


WRITTEN = """# Results

Zinc heals [1]; copper does not.^2,3^ Iron "may do so in some patients".[^a]

# References

1. Ruiz A. Zinc in wound_repair: p < 0.05 & more. *J Made-up Res*. 2021;9(2):11-9. doi:10.5555/a_b_c
2. Adams B. Copper. <https://doi.org/10.5555/x_y>

[^a]: Nadie C. Iron. 2019.
"""


@PANDOC
@pytest.mark.parametrize("kind", ["docx", "odt", "html"])
def test_a_document_of_a_word_processor_is_read_through_pandoc(tmp_path: Path, kind: str):
    file = tmp_path / f"draft.{kind}"
    subprocess.run(["pandoc", "-f", "markdown", "-o", file], input=WRITTEN.encode(), check=True)
    text = read_drafts([str(file)])
    draft = read_draft(text)
    known = "wound_repair: p < 0.05 & more. *J Made-up Res*. 2021;9(2):11-9. doi:10.5555/a_b_c"
    assert draft.references[0].text == f"Ruiz A. Zinc in {known}"
    assert [one.label for one in draft.references if one.text.startswith("Adams")] == ["2"]
    assert "“may do so in some patients”" in text
    assert draft.sentences[0].references[0] == 1
    assert "Nadie C. Iron. 2019." in text


@PANDOC
def test_links_from_citations_to_their_entries_are_dropped(tmp_path: Path):
    (tmp_path / "draft.html").write_text(
        '<p>Zinc<sup><a href="#r1">1</a>,<a href="#r2">2</a></sup> heals [<a href="#r3">3</a>] '
        '<a href="#r4">[4]</a> <a href="https://doi.org/10.5555/a">here</a>.',
        encoding="utf-8",
    )
    assert read_drafts([str(tmp_path / "draft.html")]).strip() == (
        "Zinc<sup>1,2</sup> heals [3] [4] [here](https://doi.org/10.5555/a)."
    )


@PANDOC
def test_a_page_cannot_make_pandoc_read_other_files(tmp_path: Path):
    (tmp_path / "secret.txt").write_text("a secret", encoding="utf-8")
    (tmp_path / "draft.html").write_text(
        f'<p>Zinc heals.</p><iframe src="file://{tmp_path}/secret.txt"></iframe><iframe src="{tmp_path}/secret.txt">',
        encoding="utf-8",
    )
    with contextlib.suppress(InvalidInputError):  # pandoc refuses, or leaves the frames out
        assert "a secret" not in read_drafts([str(tmp_path / "draft.html")])


def test_without_pandoc_the_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "draft.docx").write_bytes(b"PK")
    with pytest.raises(InvalidInputError, match="pandoc, which is not installed: install it"):
        read_drafts([str(tmp_path / "draft.docx")])


@PANDOC
def test_the_length_of_a_document_is_that_of_its_text(tmp_path: Path):
    (tmp_path / "draft.html").write_text(f"<p>{'a b ' * 60_000}</p>", encoding="utf-8")
    with pytest.raises(InvalidInputError, match=r"has 240,0\d\d characters"):
        read_drafts([str(tmp_path / "draft.html")])
