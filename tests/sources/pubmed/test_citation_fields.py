"""What a citation needs of a PubMed record: dates, pages, languages, numbers, books, and the record's own status."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.evidence.identity import identity_of
from deepcritical_mcp.models import AuthorName, Publication, StatusNotice
from deepcritical_mcp.sources.pubmed.records import read_records, repair_letters
from tests.sources.ncbi import article, efetch, notice


def read(record: str) -> Publication:
    (publication,) = read_records(efetch(record).body).publications
    return publication


def location(kind: str, value: str, valid: str = "Y") -> str:
    return f'<ELocationID EIdType="{kind}" ValidYN="{valid}">{value}</ELocationID>'


def electronic(year: str, month: str, day: str) -> str:
    parts = f"<Year>{year}</Year><Month>{month}</Month><Day>{day}</Day>"
    return f'<ArticleDate DateType="Electronic">{parts}</ArticleDate>'


def stage(name: str) -> str:
    return f"<PublicationStatus>{name}</PublicationStatus>"


def test_all_that_a_citation_needs_is_kept() -> None:
    entry = (
        "<VernacularTitle>Zink in der <i>Wundheilung</i>.</VernacularTitle><Language>ger</Language>"
        "<Language>eng</Language><GrantList><Grant><GrantID>R01 1</GrantID><Agency>NIH</Agency>"
        "<Country>United States</Country></Grant><Grant><Agency>DFG</Agency></Grant><Grant><Agency>DFG</Agency></Grant>"
        "</GrantList><DataBankList><DataBank><DataBankName>ClinicalTrials.gov</DataBankName><AccessionNumberList>"
        "<AccessionNumber>NCT02024373</AccessionNumber></AccessionNumberList></DataBank><DataBank>"
        "<DataBankName>ISRCTN</DataBankName><AccessionNumberList><AccessionNumber>ISRCTN77777777</AccessionNumber>"
        "</AccessionNumberList></DataBank></DataBankList>"
    )
    citation = "<CoiStatement>None, P &lt; 0.05<sup>2</sup>.</CoiStatement>"
    found = read(
        article("1", "[Zinc].", entry=entry + electronic("2020", "12", "30"), citation=citation, data=stage("ppublish"))
    )
    assert (found.journal_abbreviation, found.volume, found.issue, found.pages) == ("J Made-up Res", "9", "2", "11-9")
    assert (found.language, found.vernacular_title) == ("ger, eng", "Zink in der Wundheilung.")
    assert (found.date, found.electronic_date, found.publication_stage) == ("2021-03-04", "2020-12-30", "ppublish")
    assert found.registrations == ("ClinicalTrials.gov NCT02024373", "ISRCTN77777777")
    assert found.nct == "NCT02024373"
    assert "nct" not in identity_of(found).numbers  # the paper is not the trial's registration
    assert found.grants == ("R01 1, NIH, United States", "DFG")
    assert found.conflict_of_interest == "None, P < 0.05²."


@pytest.mark.parametrize(
    ("printed", "stage_name", "words", "date"),
    [
        ("<MedlineDate>1998 Dec-1999 Jan</MedlineDate>", "ppublish", "1998 Dec-1999 Jan", "1998-12"),
        ("<Year>2013</Year><Season>Nov-Dec</Season>", "ppublish", "2013 Nov-Dec", "2013-11"),
        ("<Year>1990</Year><Season>Spring</Season>", "ppublish", "1990 Spring", "1990"),
        ("<MedlineDate>1947-1948</MedlineDate>", "ppublish", "1947-1948", "1947"),
        ("<Year>2013</Year><Month>Nov</Month>", "ppublish", "", "2013-11"),
        ("<Year>2013</Year><Season>Nov-Dec</Season>", "aheadofprint", "", "2012-11-10"),
        ("<MedlineDate>Winter</MedlineDate>", "ppublish", "", "2012-11-10"),
    ],
)
def test_a_season_or_a_range_is_kept_in_pubmeds_words(printed: str, stage_name: str, words: str, date: str) -> None:
    found = read(article("1", date=printed, entry=electronic("2012", "11", "10"), data=stage(stage_name)))
    assert (found.issue_date, found.date) == (words, date)


@pytest.mark.parametrize(
    ("fore", "initials", "kept", "shown"),
    [
        ("Karen M C", "KM", "", "Curtis KM"),
        ("Jun-Ichi", "J", "J", "Curtis J"),
        ("Ch", "Ch", "Ch", "Curtis Ch"),
        ("Bennard van", "BV", "BV", "Curtis BV"),
        ("Jan", "", "", "Curtis J"),
    ],
)
def test_initials_are_those_of_the_record(fore: str, initials: str, kept: str, shown: str) -> None:
    author = (
        f'<Author ValidYN="Y"><LastName>Curtis</LastName><ForeName>{fore}</ForeName>'
        f"<Initials>{initials}</Initials></Author>"
    )
    (name,) = read(article("1", authors=author)).authors
    assert (name.initials, name.short, str(name)) == (kept, shown, f"Curtis {fore}")


def test_of_several_trials_none_is_the_one() -> None:
    numbers = "<AccessionNumber>NCT00352534</AccessionNumber><AccessionNumber>NCT00379340</AccessionNumber>"
    entry = (
        "<DataBankList><DataBank><DataBankName>ClinicalTrials.gov</DataBankName>"
        f"<AccessionNumberList>{numbers}</AccessionNumberList></DataBank></DataBankList>"
    )
    found = read(article("1", entry=entry))
    assert (found.nct, len(found.registrations)) == ("", 2)


@pytest.mark.parametrize(
    ("printed", "online", "stage_name", "date"),
    [
        ("<Year>2021</Year><Month>Mar</Month>", ("2020", "11", "10"), "ppublish", "2021-03"),
        ("<Year>2021</Year>", ("2021", "11", "10"), "epublish", "2021"),
        ("<Year>2021</Year><Month>Mar</Month><Day>1</Day>", ("2020", "11", "10"), "aheadofprint", "2020-11-10"),
        ("", ("2020", "11", "10"), "ppublish", "2020-11-10"),
    ],
)
def test_the_issue_dates_a_citation_unless_it_is_ahead_of_print(
    printed: str, online: tuple[str, str, str], stage_name: str, date: str
) -> None:
    found = read(article("1", date=printed, entry=electronic(*online), data=stage(stage_name)))
    assert (found.date, found.electronic_date) == (date, "-".join(online))


@pytest.mark.parametrize(
    ("locations", "stage_name", "pages"),
    [
        (location("pii", "e47969"), "epublish", "e47969"),
        (location("doi", "10.7554/eLife.47969") + location("pii", "e47969"), "epublish", "e47969"),
        (location("doi", "10.1088/1361-6560/acd48e"), "epublish", ""),
        (location("pii", "10.1088/1361-6560/acd48e"), "epublish", ""),
        (location("pii", "S0021-9150(18)30209-0"), "ppublish", ""),
        (location("pii", "S0021915018302090"), "ppublish", ""),
        (location("pii", "wrong", "N"), "ppublish", ""),
        (location("pii", "BSR20182466"), "aheadofprint", ""),
    ],
)
def test_an_article_number_stands_for_pages_but_a_doi_does_not(locations: str, stage_name: str, pages: str) -> None:
    record = article("1", entry=electronic("2020", "1", "2") + locations, data=stage(stage_name))
    assert read(record.replace("<MedlinePgn>11-9</MedlinePgn>", "")).pages == pages
    assert read(record).pages == "11-9"


def other_abstract(language: str, text: str) -> str:
    return (
        f'<OtherAbstract Type="Publisher" Language="{language}"><AbstractText Label="AIM">{text}</AbstractText>'
        "</OtherAbstract>"
    )


@pytest.mark.parametrize(
    ("others", "content"),
    [
        (other_abstract("eng", "Zinc helps."), "AIM: Zinc helps."),
        (other_abstract("ger", "Zink hilft."), "[Abstract in German]\nAIM: Zink hilft."),
        (other_abstract("ger", "Zink hilft.") + other_abstract("eng", "Zinc helps."), "AIM: Zinc helps."),
        (other_abstract("eng", "") + other_abstract("ger", "Zink hilft."), "[Abstract in German]\nAIM: Zink hilft."),
        ("", "[No abstract]"),
    ],
)
def test_another_abstract_stands_in_only_where_the_main_one_is_missing(others: str, content: str) -> None:
    assert read(article("1", abstract="", citation=others)).text.content == content
    assert read(article("1", citation=others)).text.content == "Zinc speeds up repair."


def test_a_pmcid_of_older_records_is_read() -> None:
    other = '<OtherID Source="PIP">1</OtherID><OtherID Source="NLM">PMC3680733 [Available on 06/12/14]</OtherID>'
    assert read(article("1", citation=other)).pmcid == "PMC3680733"
    listed = '<ArticleId IdType="pmc">PMC77</ArticleId>'
    assert read(article("1", citation=other, ids=listed)).pmcid == "PMC77"


BIORXIV = "bioRxiv. 2023 Oct 10:2023.09.29.560131. doi: 10.1101/2023.09.29.560131."
CELL = "Cell. 2023 Jul 20;186(15):3307-3324.e30. doi: 10.1016/j.cell.2023.05.044."
COCHRANE = "Cochrane Database Syst Rev. 2004;(1):CD002020"


@pytest.mark.parametrize(
    ("types", "link", "reference", "status", "kind"),
    [
        (("Retraction of Publication",), "RetractionOf", "J. 2020", "notice", "about"),
        (("Retraction Notice",), "RetractionOf", "J. 2020", "notice", "about"),
        (("Published Erratum",), "ErratumFor", "J. 2020", "notice", "about"),
        (("Comment", "Letter"), "CommentOn", "J. 2020", "notice", "about"),
        (("Expression of Concern",), "ExpressionOfConcernFor", "J. 2020", "notice", "about"),
        ((), "PartialRetractionOf", "J. 2020", "notice", "about"),
        (("Corrected and Republished Article",), "CorrectedandRepublishedFrom", "J. 2020", "corrected", "earlier"),
        (("Corrected and Republished Article",), "RepublishedFrom", "J. 2020", "corrected", "earlier"),
        ((), "RepublishedIn", "J. 2020", "unchecked", "republished"),
        ((), "RetractedandRepublishedIn", "J. 2020", "retracted", "retraction"),
        (("Review",), "UpdateIn", COCHRANE, "superseded", "update"),
        (("Practice Guideline",), "UpdateIn", "Chest. 2021 Aug;160(2)", "superseded", "update"),
        (("Journal Article",), "UpdateIn", "J. Made-up Res 2022;1:2", "superseded", "update"),
        (("Randomized Controlled Trial",), "UpdateIn", "Lancet. 2022;1:2", "unchecked", "update"),
        (("Review",), "UpdateIn", BIORXIV, "unchecked", "update"),
        (("Preprint",), "UpdateIn", CELL, "unchecked", "published"),
        (("Preprint",), "UpdateIn", BIORXIV, "superseded", "update"),
        ((), "UpdateOf", BIORXIV, "unchecked", "preprint"),
        ((), "UpdateOf", COCHRANE, "unchecked", "earlier"),
    ],
)
def test_what_a_record_is_and_what_became_of_it(
    types: tuple[str, ...], link: str, reference: str, status: str, kind: str
) -> None:
    found = read(article("1", types=types, citation=notice(link, reference, "5")))
    assert found.status == status
    assert [(one.kind, one.pmid, one.reference) for one in found.status_notices] == [(kind, "5", reference)]


@pytest.mark.parametrize("link", ["Cites", "CommentIn", "SummaryForPatientsIn", "OriginalReportIn", "Unheard"])
def test_other_links_say_nothing_about_the_status(link: str) -> None:
    found = read(article("1", citation=notice(link, "J. 2020", "5")))
    assert (found.status, found.status_notices) == ("unchecked", ())


def test_a_preprint_and_its_article_name_each_other() -> None:
    preprint = read(article("1", types=("Preprint",), citation=notice("UpdateIn", CELL, "37385249")))
    paper = read(article("2", citation=notice("UpdateOf", BIORXIV, "37873115")))
    assert (preprint.source, preprint.form, paper.form) == ("pubmed", "preprint", "article")
    assert preprint.status_notices == (
        StatusNotice(kind="published", pmid="37385249", doi="10.1016/j.cell.2023.05.044", reference=CELL),
    )
    assert paper.status_notices == (
        StatusNotice(kind="preprint", pmid="37873115", doi="10.1101/2023.09.29.560131", reference=BIORXIV),
    )


def test_a_notice_that_was_corrected_itself_still_says_what_it_is_about() -> None:
    links = notice("CommentOn", "J. 2020", "5") + notice("ErratumIn", "J. 2021", "6")
    found = read(article("1", types=("Comment",), citation=links))
    assert found.status == "corrected"
    assert [one.kind for one in found.status_notices] == ["erratum", "about"]


def person(last: str, fore: str) -> str:
    return f'<Author ValidYN="Y"><LastName>{last}</LastName><ForeName>{fore}</ForeName></Author>'


def book(inside: str = "", *, whole: str = "", title: str = "") -> str:
    chapter = f"<ArticleTitle>{title}</ArticleTitle>" if title else ""
    return (
        '<PubmedBookArticle><BookDocument><PMID Version="1">20301577</PMID><ArticleIdList>'
        '<ArticleId IdType="bookaccession">NBK1403</ArticleId></ArticleIdList><Book><Publisher>'
        "<PublisherName>University of <i>Washington</i>, Seattle</PublisherName>"
        "<PublisherLocation>Seattle (WA)</PublisherLocation></Publisher>"
        "<BookTitle>GeneReviews<sup>®</sup></BookTitle><PubDate><Year>1993</Year></PubDate>"
        f'<AuthorList Type="editors">{person("Adam", "Margaret P")}</AuthorList>{whole}<Isbn>9780000000000</Isbn>'
        f"</Book>{chapter}<Language>eng</Language>{inside}</BookDocument></PubmedBookArticle>"
    )


def test_a_chapter_has_its_own_date_and_names_its_book() -> None:
    inside = (
        f'<AuthorList Type="authors">{person("Napolitano", "Carlo")}</AuthorList>'
        "<ContributionDate><Year>2006</Year><Month>2</Month><Day>15</Day></ContributionDate>"
        "<DateRevised><Year>2024</Year><Month>12</Month><Day>19</Day></DateRevised>"
    )
    years = "<BeginningDate><Year>1993</Year></BeginningDate><EndingDate><Year>2025</Year></EndingDate>"
    found = read(book(inside, whole=years, title="CACNA1C-Related Disorders"))
    assert (found.form, found.title, found.book_title) == ("chapter", "CACNA1C-Related Disorders", "GeneReviews®")
    assert (found.date, found.revised_date, found.book_years) == ("2006-02-15", "2024-12-19", "1993-2025")
    assert (found.authors, found.editors) == ((AuthorName("Napolitano", "Carlo"),), (AuthorName("Adam", "Margaret P"),))
    assert (found.publisher, found.publisher_place) == ("University of Washington, Seattle", "Seattle (WA)")
    assert (found.isbn, found.bookshelf_id, found.language) == ("9780000000000", "NBK1403", "eng")


def test_a_whole_book_has_its_editors_and_years() -> None:
    found = read(book(whole="<BeginningDate><Year>1993</Year></BeginningDate>"))
    assert (found.form, found.title, found.date, found.book_years) == ("book", "GeneReviews®", "1993", "1993-")
    assert (found.authors, found.editors) == ((), (AuthorName("Adam", "Margaret P"),))
    assert read(book()).book_years == ""
    assert read(book(title="A chapter")).book_years == "1993"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("FÅ\x93tus", "Fœtus"),
        ("fÅ\x93tus.", "fœtus."),
        ("TÃ¦nia", "Tænia"),
        ("osteÃ³ide", "osteóide"),
        ("PatrÃ\xadcio", "Patrício"),
        ("ServiÃ§o de S. JoÃ£o", "Serviço de S. João"),
        ("Ã\x89tude", "Étude"),
        ("MARÃ\x8dA", "MARÍA"),
        ("Å\x81ukasz", "Łukasz"),
        ("voilÃ\xa0", "voilà"),
    ],
)
def test_letters_encoded_twice_are_repair_letters(written: str, meant: str) -> None:
    assert repair_letters(written) == meant
    assert repair_letters(meant) == meant


@pytest.mark.parametrize(
    "text",
    [
        "a volume of 1.5 Å³ at 2 Å",
        "inÅ³mol",
        "NESTLÉ® and «CAFÉ» and MAÇÃ®",
        "Åsa på Ängen, SÃO PAULO",
        "résumé» — «Ã»",
        "Weiß²",
        "Pro\x99sthetic",
        "IRMÃ© ",
    ],
)
def test_correct_text_is_left_alone(text: str) -> None:
    assert repair_letters(text) == text


LETTERS = st.characters(categories=("Lu", "Ll"), max_codepoint=0xFF).filter(lambda letter: letter not in "ªµº")


@given(st.text(LETTERS, max_size=12))
def test_what_was_encoded_twice_comes_back_within_a_word(word: str) -> None:
    for written in (f"a{word.lower()}a", f"A{word.upper()}A"):
        if all(letter <= "\xff" for letter in written):
            assert repair_letters(written.encode().decode("latin-1")) == written


@given(st.text(st.characters(exclude_categories=("Cc", "Cs")), max_size=40))
def test_no_text_without_the_mark_of_double_encoding_is_touched(text: str) -> None:
    assert repair_letters(text) == text or re.search("Ã[\xa0-\xbf]", text)


def test_titles_names_and_journals_are_repair_xml_in_a_record() -> None:
    author = '<Author ValidYN="Y"><LastName>PÃ©rez</LastName><ForeName>HÃ©lder</ForeName></Author>'
    found = read(article("1", "Case of a F&#xC5;&#x93;tus.", authors=author))
    assert (found.title, found.authors) == ("Case of a Fœtus.", (AuthorName("Pérez", "Hélder"),))
