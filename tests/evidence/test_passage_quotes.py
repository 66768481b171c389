"""What is quoted of a long text stands at the anchor given with it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.evidence.chunking import Passage, own_span, passages
from deepcritical_mcp.evidence.passage_quotes import Quotation, excerpt, quotation, with_neighbors
from deepcritical_mcp.excerpts import GAP, Span, sentences
from deepcritical_mcp.models import Text, split_paragraph_anchor
from deepcritical_mcp.reading import Section
from tests.evidence.stand_ins import paper

SENTENCES = st.lists(st.integers(0, 999), min_size=1, max_size=12).map(
    lambda some: " ".join(f"Group {number} had {number * 7} events in the follow-up of the trial." for number in some)
)
TABLES = st.lists(st.integers(0, 999), min_size=1, max_size=30).map(
    lambda some: "\n".join(
        ["| Arm | Events |", "| --- | --- |", *(f"| Arm. {one} |{f' {one} ' if one % 5 else ' '}|" for one in some)]
    )
)
PARAGRAPHS = st.lists(st.one_of(SENTENCES, TABLES), min_size=1, max_size=7)


@st.composite
def documents(draw: st.DrawFn) -> list[Section]:
    """Sections and tables, with any mix of paragraphs and tables inside."""
    made: list[Section] = []
    for number, paragraphs in enumerate(draw(st.lists(PARAGRAPHS, min_size=1, max_size=4)), 1):
        if draw(st.booleans()):
            made.append(Section(f"t{number}", [f"Table {number}. Events", *paragraphs], "table", ("Results", "Table")))
        else:
            made.append(Section(f"s{number}", paragraphs, path=("Results",)))
    return made


def _check(text: Text, shown: Quotation) -> None:
    """Every sentence and row that is shown stands at the anchor, and something of its first and last paragraph does."""
    whole = excerpt(text, shown.anchor)
    assert whole
    assert all(line.strip() in whole[1] for piece in shown.content.split(GAP) for line in piece.split("\n"))
    part, first, last = split_paragraph_anchor(shown.anchor)
    for number in (first, last):
        one = excerpt(text, f"{part}p{number}")
        assert one
        lines = [line for piece in sentences(one[1]) for line in one[1][slice(*piece)].strip().split("\n")]
        assert any(line in shown.content for line in lines)


def _found(sections: list[Section]) -> tuple[Text, list[Passage]]:
    publication = paper(sections)
    return publication.texts[0], passages(publication)


@given(documents(), st.sampled_from([0, 300, 600]))
def test_every_passage_stands_at_its_anchor(sections: list[Section], length: int) -> None:
    text, found = _found(sections)
    for passage in found:
        shown = with_neighbors(passage, length)
        _check(text, shown)
        assert passage.quotation.split("\n")[0] in shown.content
        rows = [line for line in shown.content.split("\n") if line.startswith("|")]
        assert not rows or rows[:2] == ["| Arm | Events |", "| --- | --- |"]


@given(documents(), st.data())
def test_chosen_sentences_stand_at_their_anchor(sections: list[Section], data: st.DataObject) -> None:
    text, _ = _found(sections)
    for part in text.parts:
        own = own_span(text, part)
        whole = [Span(own.start + one.start, own.start + one.end) for one in sentences(text.content[slice(*own)])]
        chosen = data.draw(st.lists(st.sampled_from(whole), min_size=1, max_size=4, unique=True))
        shown = quotation(text, part, chosen)
        _check(text, shown)
        prose = [text.content[slice(*one)].strip() for one in chosen]
        assert all(one in shown.content for one in prose if "|" not in one)


TWO_TABLES = Section(
    "t6",
    [
        "Table 6. Accuracy of the models",
        "| Model | AUC |\n| --- | --- |\n| RF: soil | 0.81 |",
        "Values are means of ten runs.",
        "| Model | Error |\n| --- | --- |\n| RF: soil + rain | 0.22 |",
        "RF, random forest; rain is yearly precipitation.",
    ],
    "table",
    ("Results", "Table 6"),
)


def test_every_table_of_a_part_is_quoted_below_its_own_header_and_the_caption() -> None:
    text, found = _found([TWO_TABLES])
    late = next(one for one in found if "0.22" in one.quotation)
    shown = with_neighbors(late, 600)
    assert shown.anchor == "t6p4-5"
    assert shown.content == (
        "Table 6. Accuracy of the models\n\n[…]\n\n| Model | Error |\n| --- | --- |\n| RF: soil + rain | 0.22 |\n\n"
        "RF, random forest; rain is yearly precipitation."
    )
    whole = excerpt(text, "t6p4-5")
    assert whole
    assert whole[1] == shown.content


def test_what_is_left_out_between_two_paragraphs_is_marked() -> None:
    text, _ = _found(
        [Section("s1", ["Zinc helped. Copper did not.", "Iron was not given. Gold was."], path=("Results",))]
    )
    chosen = [Span(text.content.index(word), text.content.index(word) + 4) for word in ("Zinc", "Gold")]
    assert quotation(text, text.parts[0], chosen).content == "Zinc\n\n[…]\n\nGold"


@pytest.mark.parametrize("words", ["This did", "In such cases, zinc did", "which did"])
def test_a_sentence_that_refers_back_is_quoted_with_the_one_before_it(words: str) -> None:
    mark = ", " if words.islower() else ". "
    said = f"The dose was halved in week 6{mark}{words} not change the outcome. Zinc was cheap."
    text, _ = _found([Section("s1", [said], path=("Results",))])
    chosen = Span(said.index(words), said.index(" Zinc was"))
    assert quotation(text, text.parts[0], [chosen]).content == said[: said.index(" Zinc was")]
