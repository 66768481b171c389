"""PubMed's records: every shape the DTD allows, and some that it does not."""

import contextlib
import string
import tracemalloc
from html import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.errors import ProviderError, ProviderResponseError, ProviderUnavailableError
from deepcritical_mcp.sources.pubmed.records import Records, read_records
from tests.sources.ncbi import article, efetch


def read(*records: str) -> Records:
    return read_records(efetch(*records).body)


ODD = {
    "no PMID": article("").replace('<PMID Version="1"></PMID>', ""),
    "no number for a PMID": article("abc"),
    "nothing in it": "<PubmedArticle/>",
    "text instead": "<PubmedArticle>wrong format</PubmedArticle>",
    "a book of nothing": "<PubmedBookArticle><BookDocument/></PubmedBookArticle>",
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_an_unreadable_record_costs_itself_alone(odd: str):
    records = read(article("1"), odd, article("2"))
    assert [piece.id for piece in records.publications] == ["pubmed:1", "pubmed:2"]
    assert len(records.losses) + len(records.unnamed) == 1
    assert records.well_formed


DEEP = article("3", "<i>" * 50_000 + "deep" + "</i>" * 50_000)


@pytest.mark.parametrize("between", ["<b>", "</b>", "&", "<PubmedArticle><PMID>7</PMID>", DEEP], ids=range(5))
def test_what_stands_between_records_costs_none_of_them(between: str):
    records = read(article("1"), between, article("2"), between)
    assert [piece.id for piece in records.publications] == ["pubmed:1", "pubmed:2"]


def test_a_maintenance_page_is_an_outage():
    with pytest.raises(ProviderUnavailableError):
        read_records(b"<!-- NCBI -->\n<html lang='en'><head><meta charset=utf-8></head><body>Back soon<br></html>")


@pytest.mark.parametrize("inside", ["<i>" * 2_000_000, "<a/>" * 1_500_000], ids=["unclosed", "elements"])
def test_markup_that_pubmed_never_sends_costs_neither_memory_nor_time(inside: str):
    body = f"<PubmedArticleSet>{inside}</PubmedArticleSet>".encode()
    tracemalloc.start()
    try:
        with pytest.raises(ProviderResponseError, match=r"cannot be read: (it is not valid XML|.* too many)"):
            read_records(body)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10 * len(body)


WORDS = st.text(alphabet=string.ascii_letters + "äßµ<>&\"'", min_size=1, max_size=8)
SUPERSCRIPTS = dict(zip("0123456789+-=()", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾", strict=True))
MARKED: st.SearchStrategy[tuple[str, str]] = st.one_of(
    WORDS.map(lambda word: (escape(word), word)),
    st.tuples(st.sampled_from(["i", "b", "u"]), WORDS).map(
        lambda pair: (f"<{pair[0]}>{escape(pair[1])}</{pair[0]}>", pair[1])
    ),
    st.text(alphabet="0123456789+-=()", min_size=1, max_size=4).map(
        lambda signs: (f"<sup>{signs}</sup>", "".join(SUPERSCRIPTS[sign] for sign in signs))
    ),
    st.text(alphabet="abckLMN", min_size=1, max_size=4).map(lambda letters: (f"<sub>{letters}</sub>", letters)),
)


@given(st.lists(st.tuples(MARKED, st.sampled_from(["", " "])), min_size=1, max_size=12))
def test_no_character_of_a_text_is_lost_or_moved(parts: list[tuple[tuple[str, str], str]]):
    xml = "".join(marked + blank for (marked, _), blank in parts)
    text = "".join(plain + blank for (_, plain), blank in parts).strip()
    (evidence,) = read_records(efetch(article("1", xml, f"<AbstractText>{xml}</AbstractText>")).body).publications
    assert evidence.title == text
    assert evidence.text.content == text


PERSON = "<Author><LastName>L{0}</LastName><ForeName>F{0}</ForeName></Author>", "L{0} F{0}"
GROUP = "<Author><CollectiveName>G{0}</CollectiveName></Author>", "G{0}"
NOBODY = '<Author ValidYN="Y"/>', ""


@given(st.lists(st.sampled_from([PERSON, GROUP, NOBODY]), max_size=20))
def test_every_author_is_kept_in_order(forms: list[tuple[str, str]]):
    xml = "".join(form.format(number) for number, (form, _) in enumerate(forms))
    (evidence,) = read_records(efetch(article("1", authors=xml)).body).publications
    named = [name.format(number) for number, (_, name) in enumerate(forms) if name]
    assert [str(author) for author in evidence.authors] == named


GOOD, NAMELESS, NO_XML = (
    article("{0}"),
    "<PubmedArticle><PubmedData/></PubmedArticle>",
    article("{0}").replace("</Article>", ""),
)


@given(st.lists(st.sampled_from([GOOD, NAMELESS, NO_XML]), min_size=1, max_size=8))
def test_bad_records_never_cost_good_ones(forms: list[str]):
    body = efetch(*(form.format(number) for number, form in enumerate(forms, 1))).body
    good = [str(number) for number, form in enumerate(forms, 1) if form == GOOD]
    if set(forms) == {NO_XML}:
        with pytest.raises(ProviderError):
            read_records(body)
        return
    records = read_records(body)
    assert [piece.pmid for piece in records.publications] == good
    assert len(records.losses) + len(records.unnamed) == len(forms) - len(good)
    assert records.well_formed is (NO_XML not in forms)


@given(st.binary(max_size=300))
def test_junk_is_never_taken_for_records(junk: bytes):
    for body in (junk, b"<PubmedArticleSet>" + junk + b"</PubmedArticleSet>"):
        with contextlib.suppress(ProviderError):
            assert read_records(body).publications == ()


NAMES = st.sampled_from(
    """PubmedArticle MedlineCitation Article PMID ArticleTitle Abstract AbstractText AuthorList Author LastName
    sup i PubDate Year Month Journal Book BookDocument mml:math PubmedBookArticle CommentsCorrectionsList
    CommentsCorrections Keyword DeleteCitation""".split()
)
TREES: st.SearchStrategy[str] = st.recursive(
    st.text(alphabet="12aZ <&", max_size=5).map(escape),
    lambda inside: st.tuples(NAMES, st.lists(inside, max_size=4)).map(
        lambda node: f"<{node[0]}>{''.join(node[1])}</{node[0]}>"
    ),
    max_leaves=25,
)


@given(st.lists(TREES, max_size=4))
def test_elements_in_any_order_are_read_or_named(trees: list[str]):
    records = read_records(f"<PubmedArticleSet>{''.join(trees)}</PubmedArticleSet>".encode())
    for piece in records.publications:
        assert piece.title
        assert piece.text.content


@given(st.integers(min_value=0), st.integers(min_value=1))
def test_half_an_answer_is_never_a_whole_one(start: int, length: int):
    body = efetch(article("1"), article("2"), article("3")).body
    cut = body[: start % len(body)] if length % 2 else body[start % (len(body) - 40) + 40 :]
    try:
        records = read_records(cut)
    except ProviderError:
        return
    assert len(records.publications) == 3 or not records.well_formed
