"""`deepcritical-mcp check`, as a manuscript's CI calls it, against providers on loopback."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from tests.cli.conftest import Command, settings_for
from tests.cli.providers import providers_on_loopback
from tests.sources.ncbi import KEY, article, notice

NOBODY = "http://127.0.0.1:9"
RECORDS = {
    "11": article(
        "11",
        "Zinc in the repair of surgical wounds.",
        "<AbstractText>Zinc closed 80 of 100 wounds within nine days. It did not prevent infections.</AbstractText>",
        doi="10.5555/zinc.11",
    ),
    "12": article(
        "12",
        "Copper and the common cold in sailors.",
        "<AbstractText>Copper helped 7 of 40 sailors who had a cold and slept in hammocks below deck.</AbstractText>",
        authors='<Author ValidYN="Y"><LastName>Adams</LastName><ForeName>Beth</ForeName></Author>',
        date="<Year>2017</Year>",
    ),
    "13": article(
        "13",
        "Iron in marathon runners at altitude.",
        types=("Journal Article", "Retracted Publication"),
        citation=notice("RetractionIn", "J Made-up Res. 2022;10(1):1", "14"),
    ),
}
ZINC = "Ruiz A. Zinc in the repair of surgical wounds. J Made-up Res. 2021;9(2):11-9. PMID: 11"
COPPER = "Adams B. Copper and the common cold in sailors. J Made-up Res. 2017;9(2):11-9. PMID: 12"
IRON = "Ruiz A. Iron in marathon runners at altitude. J Made-up Res. 2021;9(2):11-9. PMID: 13"
WRONG_ID = COPPER.replace("PMID: 12", "PMID: 11")
INVENTED = "Nadie B. Selenium and the memory of retired pilots. J Made-up Res. 2019;7(1):101-9."


def draft(*references: str, text: str = "Zinc helps wounds to close [1].") -> str:
    entries = "\n".join(f"{number}. {one}" for number, one in enumerate(references, 1))
    return f"# Introduction\n\n{text}\n\n# References\n\n{entries}\n"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with providers_on_loopback(RECORDS) as address:
        yield settings_for(address, tmp_path_factory.mktemp("cache")) | {"NCBI_API_KEY": KEY}  # less waiting


@pytest.mark.parametrize(
    ("references", "code", "verdict"),
    [
        ((ZINC, COPPER), 0, "verified"),
        ((ZINC.replace("2021", "2020"),), 0, "minor"),
        (
            ("World Health Organization. Wounds: a handbook. Geneva: WHO Press; 2019. ISBN 978-3-16-148410-0.",),
            0,
            "unchecked",
        ),
        ((IRON,), 1, "verified"),
        ((WRONG_ID,), 1, "wrong_id"),
        ((ZINC.replace("Ruiz A", "Nadie C").replace("2021", "2011"),), 1, "differs"),
        ((INVENTED,), 1, "not_found"),
    ],
    ids=["sound", "minor", "a book", "retracted", "wrong number", "another author", "invented"],
)
def test_the_exit_code_says_whether_something_is_wrong(
    command: Command, library: dict[str, str], references: tuple[str, ...], code: int, verdict: str
):
    done = command("check", "-", "--json", stdin=draft(*references), **library)
    assert done.returncode == code, done.stdout + done.stderr
    assert [one["verdict"] for one in json.loads(done.stdout)["references"]] == [verdict] * len(references)
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("quotation", "code", "verdict"),
    [
        ("Zinc closed 80 of 100 wounds within nine days", 0, "verbatim"),
        ("Zinc closed 90 of 100 wounds within nine days", 1, "altered"),
        ("Copper helped 7 of 40 sailors who had a cold and slept in hammocks below deck", 1, "misattributed"),
        ("Selenium brings back the memory of pilots", 0, "not_found"),
    ],
)
def test_an_altered_or_misattributed_quotation_is_wrong(
    command: Command, library: dict[str, str], quotation: str, code: int, verdict: str
):
    text = draft(ZINC, COPPER, text=f"They write: “{quotation}” [1]. Copper does something else [2].")
    done = command("check", "-", "--json", stdin=text, **library)
    assert [one["verdict"] for one in json.loads(done.stdout)["quotations"]] == [verdict]
    assert done.returncode == code


def test_the_report_is_for_people_by_default(command: Command, library: dict[str, str], tmp_path: Path):
    (tmp_path / "draft.md").write_text(draft(ZINC, WRONG_ID, IRON), encoding="utf-8-sig")
    done = command("check", str(tmp_path / "draft.md"), **library)
    assert done.returncode == 1
    assert done.stdout.startswith("# 3 references: ")
    assert "RETRACTED" in done.stdout
    assert "“11”" in done.stdout
    assert not any(words in done.stdout for words in ("rs_", "check_citations", "read=true", "Next:", "evidence://"))
    assert "Traceback" not in done.stderr


def test_an_entry_that_nobody_can_read_is_wrong(command: Command, library: dict[str, str], tmp_path: Path):
    text = "@article{a, pmid={11}, title={Zinc in the repair of surgical wounds}}\n\n@article{b, title={Copper in"
    (tmp_path / "refs.bib").write_text(text, encoding="utf-8")
    done = command("check", str(tmp_path / "refs.bib"), "--json", **library)
    assert done.returncode == 1, done.stdout + done.stderr
    assert json.loads(done.stdout)["unread"]


def test_a_draft_and_its_bibliography_are_one(command: Command, library: dict[str, str], tmp_path: Path):
    entry = "@article{zinc, author={Ruiz, Ana}, title={Zinc in the repair of surgical wounds}, year={2021}, pmid={11}}"
    (tmp_path / "draft.md").write_text("Zinc closed 95 of 100 wounds [@zinc].\n", encoding="utf-8")
    (tmp_path / "refs.bib").write_text(entry, encoding="utf-8")
    done = command("check", str(tmp_path / "draft.md"), str(tmp_path / "refs.bib"), "--json", **library)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert [one["label"] for one in report["references"]] == ["zinc"]
    assert [one["numbers_missing"] for one in report["claims"]] == [["95"]]


def test_an_outage_is_told_apart_from_a_false_reference(command: Command, tmp_path: Path):
    done = command(
        "check", "-", "--json", stdin=draft(ZINC, INVENTED), **settings_for(NOBODY, tmp_path), NCBI_API_KEY=KEY
    )
    assert done.returncode == 3, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert [one["verdict"] for one in report["references"]] == ["outage", "outage"]
    assert report["errors"]


def test_a_list_that_takes_several_parts_is_checked_to_its_end(command: Command, library: dict[str, str]):
    text = "# References\n\n" + "".join(f"{number}. {ZINC}\n" for number in range(1, 402))
    done = command("check", "-", "--json", stdin=text, **library)
    report = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert {one["index"] for one in report["references"]} == set(range(1, 402))
    assert (report["counts"]["checked"], report["next_offset"]) == (401, -1)


def test_a_reference_that_was_accepted_by_label_or_words_is_shown_but_is_no_failure(
    command: Command, library: dict[str, str]
):
    text = draft(IRON, INVENTED, text="Iron [1] and selenium [2].")
    accepted = ("--accept", "1", "--accept", "Selenium and the memory")
    done = command("check", "-", "--json", *accepted, stdin=text, **library)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "not_found" in {one["verdict"] for one in json.loads(done.stdout)["references"]}


def test_what_is_accepted_must_name_one_reference(command: Command, library: dict[str, str]):
    accepted = ("--accept", "J Made-up Res", "--accept", "Gold")
    done = command("check", "-", *accepted, stdin=draft(IRON, INVENTED), **library)
    assert done.returncode == 1
    assert '--accept "J Made-up Res" occurs in 2 references and is ignored' in done.stderr
    assert '--accept "Gold" is in no reference and is ignored' in done.stderr


def test_nothing_is_kept_whatever_the_settings_say(command: Command, library: dict[str, str], tmp_path: Path):
    data = tmp_path / "data"
    done = command("check", "-", stdin=draft(ZINC), **library, DEEPCRITICAL_DATA_DIR=str(data))
    assert done.returncode == 0, done.stderr
    assert not data.exists()
    done = command("check", "-", stdin=draft(ZINC), **library, DEEPCRITICAL_CHROMA_URL=NOBODY)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("arguments", "stdin", "told"),
    [
        (("missing.md",), "", "no such file or directory (missing.md)"),
        ((".",), "", "is a folder"),
        (("-",), "  \n", "The draft is empty"),
        (("-",), "x" * 200_001, "200,001 characters"),
        (("-",), "%PDF-1.7 \x00", "is not text"),
        (("-",), "A text that cites nothing at all.", "reference"),
        ((), "", "Missing argument"),
    ],
    ids=["missing", "folder", "empty", "long", "binary", "no references", "no argument"],
)
def test_what_cannot_be_checked_is_exit_code_2(command: Command, arguments: tuple[str, ...], stdin: str, told: str):
    done = command("check", *arguments, stdin=stdin)
    assert done.returncode == 2, done.stdout + done.stderr
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_a_draft_cannot_write_to_the_terminal(command: Command, library: dict[str, str]):
    done = command(
        "check", "-", stdin=draft(ZINC, INVENTED + " \x1b[31mred\x1b]0;title\x07 ![x](http://a.example/b)"), **library
    )
    assert "\x1b" not in done.stdout
    assert "\x07" not in done.stdout
    assert "<img" not in MarkdownIt().render(done.stdout)
