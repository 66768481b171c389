"""What programs and databases call the fields of a publication is read, whichever form they write."""

import json

import pytest

from deepcritical_mcp.export import EXPORT_FILES, written_entries
from deepcritical_mcp.models import NO_ABSTRACT, Accession, AuthorName, Publication
from deepcritical_mcp.reading.library_entries import read_library
from deepcritical_mcp.search.library.records import LibraryRecord, read_entry

TITLE = "Zinc for venous ulcers of the leg: a randomised trial"
BERG = AuthorName("Berg", "Jan")


def records(text: str | bytes) -> list[LibraryRecord]:
    reading = read_library(text.encode() if isinstance(text, str) else text)
    assert reading.form
    return [read_entry(one, reading.form) for one in reading.entries]


def record(text: str | bytes) -> LibraryRecord:
    (one,) = records(text)
    return one


def publication(text: str | bytes) -> Publication:
    found = record(text).publication
    assert found
    return found


RIS = f"""TY  - JOUR
TI  - {TITLE}
AU  - Berg, Jan A
AU  - Zinc Group,
T2  - Journal of Wounds
J2  - J Wounds
PY  - 2019
DA  - 2019/05/12/
VL  - 12
IS  - 3
SP  - 101
EP  - 110
DO  - 10.1000/zinc.1
SN  - 1234-5678
LA  - English
KW  - zinc
KW  - wound healing
AB  - Zinc closed wounds.
UR  - https://pubmed.ncbi.nlm.nih.gov/31000001/
ER  -
"""
NBIB = """
PMID- 31000001
OWN - NLM
TI  - Zinc for venous ulcers of the leg: a
      randomised trial
FAU - Berg, Jan A
AU  - Berg JA
CN  - Zinc Group
JT  - Journal of Wounds
TA  - J Wounds
DP  - 2019 May 12
VI  - 12
IP  - 3
PG  - 101-110
IS  - 1234-5678 (Electronic)
LID - 10.1000/zinc.1 [doi]
LA  - eng
OT  - zinc
OT  - wound healing
AB  - Zinc closed
      wounds.

"""
WOS = """FN Clarivate Analytics Web of Science
VR 1.0
PT J
AU Berg, JA
AF Berg, Jan A
   Zinc Group,
TI Zinc for venous ulcers of the leg: a
   randomised trial
SO Journal of Wounds
JI J Wounds
PD MAY 12
PY 2019
VL 12
IS 3
BP 101
EP 110
DI 10.1000/zinc.1
SN 1234-5678
LA English
DE zinc; wound healing
AB Zinc closed wounds.
PM 31000001
UT WOS:000282053800003
ER

EF"""
ENW = f"""%0 Journal Article
%T {TITLE}
%A Berg, Jan A
%A Zinc Group,
%J Journal of Wounds
%D 2019
%8 May 12
%V 12
%N 3
%P 101-110
%R 10.1000/zinc.1
%@ 1234-5678
%G eng
%K zinc
wound healing
%X Zinc closed wounds.
%U https://pubmed.ncbi.nlm.nih.gov/31000001/
"""
BIBTEX = """@string{jw = {Journal of Wounds}}
@article{berg_2019,
  title = {Zinc for venous ulcers of the leg: a randomised trial},
  author = {Berg, Jan A and {Zinc Group}},
  journal = jw, shortjournal = {J Wounds}, date = {2019-05-12},
  volume = {12}, number = {3}, pages = {101--110}, doi = {10.1000/zinc.1}, pmid = {31000001},
  issn = {1234-5678}, langid = {english}, keywords = {zinc, wound healing}, abstract = {Zinc closed wounds.},
}
"""
CSL = json.dumps(
    [
        {
            "id": "berg2019",
            "type": "article-journal",
            "title": TITLE,
            "author": [{"family": "Berg", "given": "Jan A"}, {"literal": "Zinc Group"}],
            "container-title": "Journal of Wounds",
            "journalAbbreviation": "J Wounds",
            "issued": {"date-parts": [["2019", 5, 12]]},
            "volume": "12",
            "issue": "3",
            "page": "101-110",
            "DOI": "10.1000/zinc.1",
            "ISSN": "1234-5678",
            "language": "en-US",
            "keyword": "zinc; wound healing",
            "abstract": "Zinc closed wounds.",
            "note": "PMID: 31000001",
        }
    ]
)
STYLED = '<style face="normal" font="default" size="100%">{}</style>'
XML = (
    '<?xml version="1.0" encoding="UTF-8" ?><xml><records><record><ref-type name="Journal Article">17</ref-type>'
    f"<contributors><authors><author>{STYLED.format('Berg, Jan A')}</author><author>Zinc Group,</author></authors>"
    f"</contributors><titles><title>{STYLED.format('Zinc for ')}{STYLED.format(TITLE[9:])}</title>"
    "<secondary-title>Journal of Wounds</secondary-title></titles><periodical>"
    "<full-title>Journal of Wounds</full-title><abbr-1>J Wounds</abbr-1></periodical>"
    "<pages>101-110</pages><volume>12</volume><number>3</number><dates>"
    "<year>2019</year><pub-dates><date>May 12</date></pub-dates></dates><isbn>1234-5678</isbn><accession-num>31000001"
    "</accession-num><remote-database-name>Medline</remote-database-name><language>eng</language><keywords><keyword>zinc"
    "</keyword><keyword>wound healing</keyword></keywords><abstract>Zinc closed wounds.</abstract>"
    "<electronic-resource-num>https://doi.org/10.1000/zinc.1</electronic-resource-num></record></records></xml>"
)
TABLE = (
    "Title,Authors,Journal,Journal Abbreviation,Date,Volume,Issue,Pages,DOI,PMID,ISSN,Language,Keywords,Abstract\n"
    f'"{TITLE}","Berg, Jan A; Zinc Group,",Journal of Wounds,J Wounds,2019-05-12,12,3,101-110,10.1000/zinc.1,31000001,'
    "1234-5678,English,zinc; wound healing,Zinc closed wounds.\n"
)


@pytest.mark.parametrize("text", [RIS, NBIB, WOS, ENW, BIBTEX, CSL, XML, TABLE])
@pytest.mark.parametrize(("mark", "end"), [("", "\n"), ("", "\r\n"), ("\ufeff", "\n")])
def test_one_paper_is_the_same_in_every_form(text: str, mark: str, end: str) -> None:
    one = publication(mark + text.replace("\n", end))
    assert (one.title, one.text.content) == (TITLE, "Zinc closed wounds.")
    assert one.authors == (AuthorName("Berg", "Jan A"), AuthorName("Zinc Group"))
    assert (one.journal, one.date) == ("Journal of Wounds", "2019-05-12")
    assert one.journal_abbreviation == ("" if text is ENW else "J Wounds")
    assert (one.volume, one.issue, one.pages, one.issn) == ("12", "3", "101-110", "1234-5678")
    assert (one.language, one.keywords) == ("eng", ("zinc", "wound healing"))
    assert one.claims == ("PMID 31000001", "doi:10.1000/zinc.1")


def ris(*lines: str) -> Publication:
    return publication("\n".join(("TY  - JOUR", f"TI  - {TITLE}", *lines, "ER  - ")))


@pytest.mark.parametrize(
    ("lines", "accession", "pmid"),
    [
        (
            ["U2  - L2029880245", "C5  - 38773066", "DB  - Embase", "DB  - Medline"],
            ("Embase", "L2029880245"),
            "38773066",
        ),
        (["AN  - CN-00778158", "C3  - PUBMED 21314913"], ("CENTRAL", "CN-00778158"), "21314913"),
        (["AN  - WOS:000282053800003"], ("Web of Science", "WOS:000282053800003"), ""),
        (
            [
                "UR  - https://www.scopus.com/inward/record.uri?eid=2-s2.0-85189760133&doi=x",
                "C2  - 38580657",
                "DB  - Scopus",
            ],
            ("Scopus", "2-s2.0-85189760133"),
            "38580657",
        ),
        (["ID  - 2021-94054-001", "DB  - APA PsycInfo <2021>"], ("PsycInfo", "2021-94054-001"), ""),
        (["DB  - cin20", "N1  - Accession Number: 176404503; Doe, J. 1"], ("CINAHL", "176404503"), ""),
        (["AN  - 31234567", "DP  - NLM"], ("MEDLINE", "31234567"), "31234567"),
        (["AN  - 2214991469; 51887", "DB  - PTSDpubs"], ("PTSDpubs", "2214991469; 51887"), ""),
        (["AN  - rayyan-42924189", "UR  - https://x.org     U2  - L2029880245"], ("Embase", "L2029880245"), ""),
    ],
)
def test_the_database_of_a_record_and_its_number_are_kept(
    lines: list[str], accession: tuple[str, str], pmid: str
) -> None:
    one = ris(*lines)
    assert (one.accessions, one.claimed_ids.pmid) == ((Accession(*accession),), pmid)


@pytest.mark.parametrize(
    ("lines", "date"),
    [
        (["PY  - 2015", "DA  - 2015/03//"], "2015-03"),
        (["PY  - 2019", "DA  - 2019/10//undefined"], "2019-10"),
        (["PY  - 2011", "DA  - Jun"], "2011-06"),
        (["PY  - 2010", "DA  - SEP 22"], "2010-09-22"),
        (["Y1  - 2020//"], "2020"),
        (["PY  - 10 15"], "Unknown"),
        (["PY  - 0000"], "Unknown"),
        (["PY  - 2013", "DA  - 2013/11//Nov-Dec"], "2013-11"),
    ],
)
def test_dates_are_read_as_far_as_they_mean_one_thing(lines: list[str], date: str) -> None:
    assert ris(*lines).date == date


def test_fields_that_programs_write_in_odd_ways() -> None:
    one = ris("SP  - No", "EP  - Specified", "KW  - one", "two", "MS", "AB  - [No abstract available]", "AU  - et al.")
    assert (one.pages, one.keywords, one.text.content, one.authors) == ("", ("one", "two", "MS"), NO_ABSTRACT, ())
    assert ris("DO  - 10.1000/xyz.123     LK  - https://x.org").claims == ("doi:10.1000/xyz.123",)
    assert ris("SP  - 1279‐1297").pages == "1279-1297"
    assert ris("AB  - First.", "", "Third line.", "ER then a word").text.content == "First. Third line. ER then a word"


def test_tags_behind_the_end_of_a_record_are_its_own_and_one_that_nothing_closes_is_read() -> None:
    first = f"1. \nTY  - JOUR\nT1  - {TITLE}\nER  -  \nNL  - J W\n\nLink to the text\n\n"
    text = f"{first}2. \nTY  - JOUR\nT1  - Iron\nAU  - Oka, B"
    one, second = records(text)
    assert (one.line, second.line) == (2, 10)
    assert second.publication
    assert second.publication.authors == (AuthorName("Oka", "B"),)


@pytest.mark.parametrize(
    ("text", "decision", "reason", "tags", "notes"),
    [
        (
            'N1  - mine | RAYYAN-INCLUSION: {"Amy"=>"Excluded"} | RAYYAN-LABELS: batch 1,pilot | '
            'RAYYAN-EXCLUSION-REASONS: wrong population | USER-NOTES: {"Amy"=>["check later"]}',
            "excluded",
            "wrong population",
            ("batch 1", "pilot"),
            "mine\ncheck later",
        ),
        ("N1  - ASReview_relevant", "included", "", (), ""),
        ("N1  - ASReview_not_seen. More.", "", "", (), "More."),
        ("N1  - <p>My <i>note</i></p>", "", "", (), "My note"),
        ("N1  - Times Cited in Web of Science Core Collection:  5\nTotal Times Cited:  7", "", "", (), ""),
    ],
)
def test_decisions_tags_and_notes_are_the_users(
    text: str, decision: str, reason: str, tags: tuple[str, ...], notes: str
) -> None:
    one = record(f"TY  - JOUR\nTI  - {TITLE}\n{text}\nER  - \n")
    assert one.publication
    told = "".join(each.content for each in one.publication.texts if each.kind == "note")
    assert (one.decision, one.decision_reason, one.tags, told) == (decision, reason, tags, notes)


def test_people_who_disagree_have_decided_nothing() -> None:
    one = record(f'TY  - JOUR\nTI  - {TITLE}\nN1  - RAYYAN-INCLUSION: {{"A"=>"Included", "B"=>"Excluded"}}\nER  - \n')
    assert one.publication
    assert (one.decision, "Excluded" in one.publication.texts[1].content) == ("", True)


def test_tables_of_databases() -> None:
    embase = f'"SEARCH QUERY","zinc:ti"\n---\n\n"Title","Author Names"\n"{TITLE}","Berg J., Oka B."\n'
    assert publication(embase).authors == (AuthorName("Berg", "J."), AuthorName("Oka", "B."))
    ebsco = f'Article Title,Author,ISSN,Publication Date\n"{TITLE}","Berg, Jan; Oka, B.",="19326203","4/3/2024"\n'
    assert (publication(ebsco).issn, publication(ebsco).date) == ("1932-6203", "2024")
    decided = f"title,included\n{TITLE},1\nIron,0\nCopper,\n"
    assert [one.decision for one in records(decided)] == ["included", "excluded", ""]
    rows = records("title,doi\nA,10.1/a\nB,10.1/b,too,many\n")
    assert [(one.line, bool(one.publication)) for one in rows] == [(2, True), (3, False)]


def test_what_cannot_be_read_is_named_with_its_line() -> None:
    broken = f"@article{{a, title={{{TITLE}}}}}\n\n@article{{b, title={{Iron\n\n@article{{c, title={{Copper}}}}\n"
    assert [(one.line, bool(one.publication)) for one in records(broken)] == [(1, True), (3, False), (5, True)]
    cut = CSL[:-1] + ', {"id": "b", "title": "Ir'
    assert [bool(one.publication) for one in records(cut)] == [True, False]
    assert [one.reason for one in records("TY  - JOUR\nKW  - x\nER  - \n")] == ["it has neither a title nor a number"]


def test_bytes_of_other_encodings() -> None:
    text = f"TY  - JOUR\nTI  - {TITLE}\nAU  - Müller, Jörg\nER  - \n"
    for encoding in ("utf-8", "latin-1", "utf-16"):
        assert publication(text.encode(encoding)).authors == (AuthorName("Müller", "Jörg"),)
    assert publication(text.replace("\n", "\r").encode()).authors == (AuthorName("Müller", "Jörg"),)


OVID = (
    f"<1. >\nDB  - Embase\nUI  - 621381829\nTI  - {TITLE}\nSO  - J Wounds. 12 (3) (pp 101-110), 2020.\nAU  - Berg J.\n"
)
PUBMED_CSV = (
    "PMID,Title,Authors,Citation,Journal/Book,Publication Year\n"
    f'"31234567","{TITLE}","Doe J, Roe RS Jr, EAGLE Group.","J Wounds. 2019 Jun 5;12(3):101-110.",J Wounds,2019\n'
)
EMBASE_XML = (
    f'<xml xmlns="http://x.org"><records><record><titles><title>{TITLE}</title></titles><notes>L633287662&#xD;x</notes>'
    "<remote-database-name>Embase&#xD;Medline</remote-database-name></record></records></xml>"
)


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        (OVID, "pages", "101-110"),
        (OVID, "journal", "J Wounds"),
        (PUBMED_CSV, "volume", "12"),
        (PUBMED_CSV, "accessions", (Accession("PubMed", "31234567"),)),
        (PUBMED_CSV, "authors", (AuthorName("Doe", "J"), AuthorName("Roe", "RS", "Jr"), AuthorName("EAGLE Group"))),
        (EMBASE_XML, "accessions", (Accession("Embase", "L633287662"),)),
        (f'title,authors,pmid\n{TITLE},X,"31,234,568"\n', "claims", ()),
        (f"title,authors,pmid\n{TITLE},X,31234567.0\n", "claims", ("PMID 31234567",)),
        (f"title,authors\n{TITLE},\"['Marx, Karl', 'Berg, Jan']\"\n", "authors", (AuthorName("Marx", "Karl"), BERG)),
        (f'@article{{a, title = "{TITLE}", journal = "J " # "Wounds"}}', "journal", "J Wounds"),
        (f"@misc{{a, title={{{TITLE}}}, author={{{{Care and Cure}}}}}}", "authors", (AuthorName("Care and Cure"),)),
        (f"PMID- 1\nTI  - {TITLE}\nPT  - Retracted Publication\n", "status", "retracted"),
        (f"TY  - JOUR\nTI  - {TITLE}\nM3  - Preprint\nER  -\n", "publication_types", ("Preprint",)),
        (f"TY  - JOUR\nTI  - {TITLE}\nAU  - NCT03339999,\nER  -\n", "claims", ("NCT03339999",)),
        (f"TY  - JOUR\nTI  - {TITLE}\nAU  - Press, I.\nER  -\n", "authors", (AuthorName("Press", "I."),)),
        (f"TY  - JOUR\nTI  - {TITLE}\nDB  - ; all were screened. None was retracted\nER  -\n", "accessions", ()),
        (f"TY  - JOUR\nTI  - {TITLE}\nAB  - {'.' * 60_000}z\nER  -\n", "title", TITLE),
    ],
)
def test_what_programs_write_elsewhere_is_found(text: str, field: str, value: object) -> None:
    assert getattr(publication(text), field) == value


def test_a_damaged_letter_leaves_the_others() -> None:
    text = f"TY  - JOUR\nTI  - {TITLE}\nAU  - Müller, Jörg\nER  - \n".encode() + b"TY  - JOUR\nTI  - A \xe9\nER  - \n"
    one, other = records(text)
    assert one.publication
    assert one.publication.authors == (AuthorName("Müller", "Jörg"),)
    assert other.publication
    assert other.publication.title == "A \ufffd"


def test_a_quotation_mark_that_nothing_closes_takes_no_other_row_in() -> None:
    rows = f'Title,Authors,Year\n{TITLE},Berg,2019\n"Iron,Oka,2020\nCopper,"Li\nWu",2021\n'
    assert [one.publication and one.publication.date for one in records(rows)] == ["2019", "2020", "2021"]
    wos = 'PT\tAU\tTI\tUT\nJ\tDoe, J\t"Iron, no end\tWOS:1\nJ\tDoe, J\tCopper\tWOS:2\n'
    assert [one.publication and one.publication.title for one in records(wos)] == ['"Iron, no end', "Copper"]


def test_what_is_no_library_is_not_read_as_one() -> None:
    assert read_library(b"title,name,age\nMr,Doe,50\n").form == ""
    assert not record('{"a": 1, "title": "x"}').publication
    (huge,) = records(f"TY  - JOUR\nTI  - {TITLE}\nN1  - {'a' * 300_000}\nER  -\n")
    assert huge.reason == "it has a field of 300,000 characters; the limit is 200,000"


def test_votes_that_decide_nothing_and_reasons_of_covidence_are_kept() -> None:
    maybe = record(f'TY  - JOUR\nTI  - {TITLE}\nN1  - RAYYAN-INCLUSION: {{"A"=>"Maybe"}}\nN1  - mine\nER  - \n')
    assert (maybe.decision, maybe.is_undecided, maybe.tags) == ("", True, ())
    assert maybe.publication
    assert maybe.publication.texts[1].content == 'RAYYAN-INCLUSION: {"A"=>"Maybe"}\nmine'
    covidence = record(f'Title,Authors,Notes\n{TITLE},Berg,"Exclusion reason: Wrong design; Amy: text; "\n')
    assert (covidence.decision, covidence.decision_reason) == ("excluded", "Wrong design")
    own = record(f"id,title,year,decision\npubmed:31541001,{TITLE},2019,included\n")
    assert own.publication
    assert (own.own_id, own.publication.claims) == ("pubmed:31541001", ("PMID 31541001",))


def test_decisions_and_tags_come_back_from_our_own_ris() -> None:
    one = publication(RIS).but(screening="excluded", screening_reason="no controls; see p. 3", tags=("rct", "adults"))
    back = record("".join(EXPORT_FILES["ris"].with_pieces(written_entries([one], "ris")).chunks()))
    assert (back.decision, back.decision_reason, back.tags) == ("excluded", "no controls; see p. 3", ("rct", "adults"))
    assert back.publication
    assert not any("Screening" in text.content for text in back.publication.texts)
