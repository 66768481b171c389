"""Web pages as the process that reads them gives them back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.models import AuthorName
from deepcritical_mcp.reading import PageReading, web_page
from deepcritical_mcp.text import decoded

URL = "https://journal.example/articles/1"
SENTENCE = "Metformin lowered glucose in this trial of ten thousand adults, who were followed for five years, or more. "
TEXT = SENTENCE * 3


@pytest.fixture(params=[True, False], ids=["trafilatura", "readability"], autouse=True)
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    if request.param:
        pytest.importorskip("trafilatura")
    monkeypatch.setattr(web_page, "HAS_TRAFILATURA", request.param)
    return bool(request.param)


def read(body: str, head: str = "", *, url: str = URL) -> PageReading:
    page = f"<!doctype html><html lang='en-GB'><head>{head}</head><body>{body}</body></html>"
    return web_page.read_page(page.encode(), url=url, charset="utf-8")


ARTICLE_HEAD = """
  <title>A trial | Journal of Trials</title><meta name="citation_title" content="A trial of metformin in adults">
  <meta name="citation_author" content="Berg, Jan"><meta name="citation_author" content="Ruiz, Ana">
  <meta name="citation_doi" content="doi:10.1000/ABC.1"><meta name="citation_pmid" content="31978945">
  <meta name="citation_journal_title" content="Journal of Trials"><meta name="citation_volume" content="12">
  <meta name="citation_firstpage" content="3"><meta name="citation_lastpage" content="9">
  <meta name="citation_publication_date" content="2024/03/05"><meta name="citation_pdf_url" content="/articles/1.pdf">
  <link rel="canonical" href="/articles/1"><link rel="license" href="https://creativecommons.org/licenses/by/4.0/">"""
ABSTRACT = f"<h1>A trial of metformin in adults</h1><h2>Abstract</h2><h3>Aims</h3><p>{SENTENCE}</p><p>{SENTENCE}</p>"
MENU = "<nav><ul><li><a href='/'>Home</a></li><li><a href='/all'>All issues of this journal</a></li></ul></nav>"
ARTICLE = f"""{MENU}<main>{ABSTRACT}
  <h2>1. Introduction</h2><p>{TEXT}</p><p>Another paragraph, <i>slightly</i> different. {TEXT}</p>
  <h2>2. Results</h2><p>{TEXT}It begins.</p>
  <h3>2.1. Primary outcome</h3><ul><li>One item: {SENTENCE}</li><li>Another item: {SENTENCE}</li></ul>
  <table><caption>Outcomes</caption><tr><th>Arm</th><th>Value|unit</th></tr>
    <tr><td rowspan="2">Metformin</td><td>12</td></tr><tr><td>13</td></tr></table>
  <h2>Vitamin B12. Discussion</h2><p>{TEXT}That is all.</p></main><footer><p>Copyright by the journal</p></footer>"""


def test_an_article_becomes_sections_tables_and_fields():
    page = read(ARTICLE, ARTICLE_HEAD)
    assert (page.status, page.detail) == ("full_text", "")
    assert [(part.anchor, part.path, part.parent) for part in page.reading.parts] == [
        ("s1", ("Introduction",), ""),
        ("s2", ("Results",), ""),
        ("s2.1", ("Results", "Primary outcome"), "s2"),
        ("t1", ("Results", "Primary outcome", "Table 1"), "s2.1"),
        ("s3", ("Vitamin B12. Discussion",), ""),
    ]
    paragraphs = page.reading.content.split("\n\n")
    assert paragraphs[1] == f"Another paragraph, slightly different. {TEXT}".strip()
    assert "Table 1. Outcomes" in paragraphs
    assert "| Arm | Value\\|unit |\n| --- | --- |\n| Metformin | 12 |\n| Metformin | 13 |" in paragraphs
    assert page.reading.abstract == f"{SENTENCE}\n{SENTENCE}".replace(" \n", "\n").strip()
    assert not any(around in page.reading.content for around in ("Copyright", "All issues"))
    assert page.reading.fields == {
        "title": "A trial of metformin in adults",
        "authors": (AuthorName("Berg", "Jan"), AuthorName("Ruiz", "Ana")),
        "date": "2024-03-05",
        "doi": "10.1000/abc.1",
        "pmid": "31978945",
        "journal": "Journal of Trials",
        "volume": "12",
        "pages": "3-9",
        "language": "en",
        "url": URL,
    }
    assert page.reading.licence == "https://creativecommons.org/licenses/by/4.0/"
    assert page.copies == ("https://journal.example/articles/1.pdf",)


def test_dublin_core_and_open_graph_are_read_too():
    head = """<meta name="DC.Title" content="Guideline"><meta name="DC.Creator" content="World Health Organization">
      <meta name="dc.identifier" content="doi:10.1000/g">
      <meta property="article:published_time" content="2023-02-01T08:00:00Z">
      <meta property="og:site_name" content="The agency"><link rel="canonical" href="https://elsewhere.example/">"""
    fields = read(f"<p>{TEXT}</p>", head).reading.fields
    assert (fields["title"], fields["doi"], fields["date"]) == ("Guideline", "10.1000/g", "2023-02-01")
    assert fields["authors"] == (AuthorName("World Health Organization"),)
    assert (fields["publisher"], fields["url"]) == ("The agency", URL)


LOGIN = "<div><p>Log in to continue reading</p><a>Access through your institution</a><a>Purchase PDF</a></div>"


ONLY, PAYWALL = "This page shows only an abstract.", "This page asks for a subscription or a login."
CLOSED = ARTICLE_HEAD + '<script type="application/ld+json">{"isAccessibleForFree": "False"}</script>'
CHALLENGE = "<h1>Just a moment...</h1><p>Verifying you are human. This may take a few seconds.</p>"
CONSENT = "<div><p>We and our 812 partners use cookies to store data.</p><button>Accept all</button></div>"
SCRIPTED = "<div id=root></div><noscript>You need to enable JavaScript.</noscript><script>x()</script>"
IN_PLACE = {
    "abstract": (ABSTRACT, ARTICLE_HEAD, "abstract_only", ONLY),
    "both": (ABSTRACT + LOGIN, ARTICLE_HEAD, "abstract_only", f"{ONLY[:-1]} and asks for a subscription or a login."),
    "login": (LOGIN, ARTICLE_HEAD, "not_allowed", PAYWALL),
    "closed": (f"<p>{SENTENCE}</p>", CLOSED, "not_allowed", PAYWALL),
    "challenge": (CHALLENGE, "", "not_allowed", "a check that only a browser passes, and does not serve programs."),
    "JavaScript": (SCRIPTED, "", "no_text", "no text inside: this page needs JavaScript to show its text."),
    "consent": (CONSENT, "", "no_text", "no text inside: this page shows only a request for consent."),
    "empty": ("", "", "no_text", "no text inside: this page has no text of its own."),
    "text": (f"<p>{TEXT}</p>", "", "full_text", ""),
    "redirect": ("", '<meta http-equiv="REFRESH" content="0; url=\'/article/2\'">', "no_text", ""),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_what_stands_in_place_of_a_text_is_named(name: str):
    body, head, status, detail = IN_PLACE[name]
    page = read(body, head)
    assert (page.status, page.detail.endswith(detail)) == (status, True)
    assert name != "redirect" or page.copies == ("https://journal.example/article/2",)


@pytest.mark.parametrize(
    ("content", "charset"),
    [
        ("<p>größer</p>".encode(), "iso-8859-1"),
        ("<p>größer</p>".encode("latin-1"), "utf-8"),
        ("<p>größer</p>".encode("latin-1"), ""),
        ("<p>größer</p>".encode("utf-8-sig"), "iso-8859-1"),
        ("\ufeff<p>größer</p>".encode("utf-16-le"), ""),
    ],
)
def test_the_encoding_is_found_whatever_the_header_says(content: bytes, charset: str):
    assert "größer" in decoded(content, charset)


@given(st.text(alphabet="<>/=\"'& abpth1!-\n\u00e9\x00", max_size=300))
def test_any_text_is_a_page(text: str):
    web_page.read_page(text.encode("utf-8", errors="replace"), url=URL)
