"""A record laid along a reference: what is written otherwise, what is left out, and what nothing explains."""

import pytest

from deepcritical_mcp.checking.reference_meaning import corrected
from deepcritical_mcp.models import Publication
from deepcritical_mcp.search.references import title_agreement
from tests.checking.reference_cases import article, checked, graver

TITLE = "Association between frailty and depression"
SUBTITLE = "a cohort study of adults in ten countries"
FRAILTY = article(
    "30000101",
    f"{TITLE}: {SUBTITLE}.",
    "Sun, Wei; Berg, Anna; O'Neil, Sean P; Zhang, Li",
    "Science advances | Sci Adv | 2023-09-22 | 9 | 38 | eadi3902",
    doi="10.1126/sciadv.adi3902",
)
NAMES = "Sun W, Berg A, O'Neil SP, Zhang L"


def in_journal(journal: str, short: str, volume: str, pages: str, year: str, issue: str = "") -> Publication:
    place = {"journal": journal, "journal_abbreviation": short, "volume": volume, "pages": pages, "issue": issue}
    return article("30000102", f"{TITLE}.", "Sun, Wei; Berg, Anna", date=year, **place)


@pytest.mark.parametrize("page", ["2034", "1977", "1925", "1713"])
async def test_a_page_that_looks_like_a_year_is_a_page(page: str) -> None:
    record = in_journal("Scientific reports", "Sci Rep", "7", page, "2017", "1")
    written = f"Sun, W. & Berg, A. {TITLE}. Sci. Rep. 7, {page} (2017)."
    assert (await checked(written, [record])).verdict in ("minor", "verified")
    wrong = written.replace("2017", "2012")
    outcome = await checked(wrong, [record])
    assert graver(outcome) == {"year"}
    assert corrected(wrong, record, outcome.problems) == written


@pytest.mark.parametrize(
    ("journal", "short", "place"),
    [
        ("Frontiers in genetics", "Front Genet", "Front. Genet. 10, 1 (2019)."),
        ("Frontiers in genetics", "Front Genet", "Front. Genet.. 2019 Dec;10(6):1-14."),
        ("The Indian journal of medical research", "Indian J Med Res", "Indian J. Med. Res.. 2019 Dec;10(6):1-14."),
    ],
)
async def test_short_numbers_and_two_full_stops_are_no_further_work(journal: str, short: str, place: str) -> None:
    record = in_journal(journal, short, "10", "1-14", "2019", "6")
    assert (await checked(f"Sun W, Berg A. {TITLE}. {place}", [record])).problems == ()


@pytest.mark.parametrize("others", [", et al", " et al.", ", and others", ""])
@pytest.mark.parametrize("stop", [".", "", ":", ","])
async def test_a_title_begins_where_the_record_has_it_whatever_stands_before_it(others: str, stop: str) -> None:
    written = f"Sun W, Berg A{others}{stop} {TITLE}: {SUBTITLE}. Science Advances 2023;9(38):eadi3902."
    outcome = await checked(written, [FRAILTY])
    assert (outcome.verdict, outcome.problems) == ("verified", ())


async def test_only_a_whole_word_is_the_name_of_a_preprint_server() -> None:
    assert "journal" in graver(await checked(f"{NAMES}. {TITLE}: {SUBTITLE}. Atmosfera. 2023;9(38):1.", [FRAILTY]))
    assert graver(await checked(f"{NAMES}. {TITLE}: {SUBTITLE}. OSF Preprints. 2021.", [FRAILTY])) == set()


@pytest.mark.parametrize("names", ["", f"{NAMES}. "])
async def test_a_subtitle_may_be_left_out(names: str) -> None:
    written = f"{names}{TITLE}. Sci Adv. 2023;9(38):eadi3902. doi: 10.1126/sciadv.adi3902"
    assert (await checked(written, [FRAILTY])).problems == ()


@pytest.mark.parametrize("word", ["ANXIETY", "Depressions'S", "DEMENTIA"])
async def test_a_changed_word_in_capitals_is_found(word: str) -> None:
    written = f"{NAMES}. {TITLE.upper().replace('DEPRESSION', word)}: {SUBTITLE.upper()}. Sci Adv. 2023;9(38):eadi3902."
    assert {one.field for one in (await checked(written, [FRAILTY])).problems} == {"title"}


async def test_another_small_word_in_a_title_is_said_and_no_difference() -> None:
    written = f"{NAMES}. {TITLE}: {SUBTITLE.replace('of adults', 'in adults')}. Sci Adv. 2023;9(38):eadi3902."
    assert [(one.field, one.minor) for one in (await checked(written, [FRAILTY])).problems] == [("title", True)]


@pytest.mark.parametrize("names", ["Sun W, Zhang L", "Sun W, Berg A, Zhang L"])
async def test_authors_left_out_without_a_word_are_said_and_no_difference(names: str) -> None:
    outcome = await checked(f"{names}. {TITLE}: {SUBTITLE}. Sci Adv. 2023;9(38):eadi3902.", [FRAILTY])
    assert outcome.verdict == "verified"
    assert outcome.reason == f"{names.count(',') + 1} of 4 authors are named, without “et al.”."
    assert (await checked(f"{names}, et al. {TITLE}. Sci Adv. 2023;9(38):eadi3902.", [FRAILTY])).reason == ""


async def test_a_year_off_by_one_is_the_first_thing_said_of_what_is_minor() -> None:
    written = f"Sun W, Berg X. {TITLE}: {SUBTITLE.replace('of adults', 'in adults')}. Sci Adv. 2022;9(37):eadi3902."
    outcome = await checked(written, [FRAILTY])
    assert outcome.verdict == "minor"
    assert outcome.problems[0].field == "year"


@pytest.mark.parametrize("field", ["journal", "booktitle"])
async def test_the_venue_of_an_entry_is_compared_in_whatever_field_it_stands(field: str) -> None:
    people = "Wei Sun and Anna Berg and Sean P. O'Neil and Li Zhang"
    entry = f"@inproceedings{{x, author={{{people}}}, title={{{TITLE}: {SUBTITLE}}}, "
    assert graver(await checked(f"{entry}{field}={{AAAI}}, year={{2023}}}}", [FRAILTY])) == {"journal"}
    assert (await checked(f"{entry}{field}={{Science Advances}}, year={{2023}}}}", [FRAILTY])).problems == ()


async def test_an_entry_is_read_whole_however_many_authors_it_names() -> None:
    people = [f"Family{chr(97 + n % 26)}{chr(97 + n // 26)}, Given Name" for n in range(500)]
    record = article("30000103", f"{TITLE}.", "; ".join(people), journal="Science advances", date="2023")
    entry = f"@article{{x, author={{{' and '.join(people)}}}, title={{{TITLE}}}, journal={{Sci Adv}}, year={{2023}}}}"
    assert (await checked(entry, [record])).problems == ()


@pytest.mark.parametrize(
    ("wrong", "fields"),
    [
        (f"{NAMES}. {TITLE}. Sci Adv. 2023;9(38):eadi3902. Zinc for dogs. Smith J. Lancet 2019;3:12-9.", {"work"}),
        (f"{NAMES}. {TITLE}. Sci Adv Mater. 2023;9(38):eadi3902.", {"journal"}),
        (f"Sun W, Berg A, Li Q. {TITLE}. Sci Adv. 2023;9(38):eadi3902.", {"authors"}),
        (f"{NAMES}. Lack of association between frailty and depression. Sci Adv. 2023;9(38):eadi3902.", {"title"}),
        (f"{NAMES}. {TITLE} in nursing homes of Norway during winters. Sci Adv. 2023;9(38):eadi3902.", {"title"}),
        (f"{NAMES}. {TITLE}. Sci Adv. 2023;9(38):eadi3920.", {"pages"}),
        (f"{NAMES}. {TITLE}. Sci Adv 2019, 9, eadi3902.", {"year"}),
        (f"{NAMES}. {TITLE}. Sci Adv 7 (2023) eadi3902.", {"volume"}),
    ],
)
async def test_another_value_in_the_place_of_the_records_is_a_difference(wrong: str, fields: set[str]) -> None:
    assert graver(await checked(wrong, [FRAILTY])) == fields


@pytest.mark.parametrize(
    "written",
    [
        f"{NAMES}. {TITLE}. Sci Adv. 2023.",
        f"{NAMES}. {TITLE}. 2023;9:eadi3902.",
        f"{TITLE}. Sci Adv. 2023;9(38).",
        f"{NAMES} (2023). {TITLE}.",
        f"{TITLE} (Sun et al. 2023)",
        "Sun et al. Sci Adv. 2023;9(38):eadi3902.",
        f"2023 | Sun | {TITLE} | Sci Adv",
    ],
)
async def test_a_field_that_is_absent_is_no_difference(written: str) -> None:
    outcome = await checked(written, [FRAILTY])
    assert (outcome.verdict, outcome.problems) == ("verified", ())


GUIDE = article(
    "30000104",
    "Steroids in hospitalized patients with influenza.",
    "RESCUE Collaborative Group; Horn, Peter; Lim, Wei Shen",
    "The New England journal of medicine | N Engl J Med | 2021-02-25 | 384 | 8 | 693-704",
)


@pytest.mark.parametrize(
    "names", ["Horn P, Lim WS, Mafek M, et al", "RESCUE Collaborative Group, Horn P", "Horn P, Lim WS"]
)
async def test_members_of_a_group_that_a_record_does_not_name_are_no_other_authors(names: str) -> None:
    written = f"{names}. Steroids in Hospitalized Patients with Influenza. N Engl J Med. 2021;384(8):693-704."
    outcome = await checked(written, [GUIDE])
    assert (outcome.verdict, outcome.problems, outcome.reason) == ("verified", (), "")


async def test_another_first_author_of_a_groups_paper_is_a_difference() -> None:
    written = "Mafek M, Lim WS. Steroids in hospitalized patients with influenza. N Engl J Med. 2021;384(8):693-704."
    assert graver(await checked(written, [GUIDE])) == {"authors"}


async def test_a_publisher_behind_a_journal_is_no_part_of_its_name() -> None:
    record = in_journal("bioRxiv : the preprint server for biology", "bioRxiv", "", "", "2021")
    written = f"Sun W, Berg A. {TITLE}. bioRxiv. Cold Spring Harbor Laboratory; 2021."
    assert (await checked(written, [record])).problems == ()


NUTRITION = in_journal("The Journal of nutrition", "J Nutr", "20", "5-16", "2017", "1")
CITED = f"Sun W, Berg A. {TITLE}. J Nutr. "


@pytest.mark.parametrize(
    "place",
    [
        "2017 [citado 2021 jun 15];20(1):5-16. Disponível em: http://example.org/a",
        "[Internet]. 2017 Jan [cited 2021 Jun 15];20(1):5-16.",
        "2017[2021-06-15];20(1):5-16.",
        "2017;20(1):5-16. Accessed 3 May 2021.",
        "2017;20(1):5-16. Epub 2013/11/10.",
        "2017;20(1):5-16. Acesso em: 12 maio 2021.",
        "2017;20(1):5-16 [consulté le 15 juin 2021].",
    ],
)
async def test_the_day_of_a_visit_is_not_the_year(place: str) -> None:
    assert (await checked(CITED + place, [NUTRITION])).problems == ()
    swapped = place.replace("2017", "2012").replace("2021", "2017").replace("2013", "2017")
    assert graver(await checked(CITED + swapped, [NUTRITION])) == {"year"}


async def test_the_number_of_a_volume_is_not_found_inside_the_pages() -> None:
    record = in_journal("Medico-chirurgical transactions", "Med Chir Trans", "1", "1-12.1", "1809")
    written = f"Sun W, Berg A. {TITLE}. Med Chir Trans. 1809;%s:1-12.1."
    assert (await checked(written % 1, [record])).problems == ()
    assert graver(await checked(written % 3, [record])) == {"volume"}


def part(pmid: str, number: str, rest: str, pages: str) -> Publication:
    place = {"journal": "ZooKeys", "journal_abbreviation": "Zookeys", "volume": "866", "pages": pages, "date": "2019"}
    return article(pmid, f"South American lacewings: {number}. {rest}.", "Tauber, Catherine A", **place)


PARTS = [
    part("30000111", "I", "Description of Nothochrysa ehrenbergi", "1-18"),
    part("30000112", "II", "Redescription of Leptochrysa prisca", "19-38"),
]


@pytest.mark.parametrize("place", ["2019;866:1-18.", "2019."])
async def test_the_numerals_tell_which_part_of_a_series_is_meant(place: str) -> None:
    written = f"Tauber CA. South American lacewings: I. %s of Nothochrysa ehrenbergi. Zookeys. {place}"
    assert (await checked(written % "Description", PARTS)).problems == ()
    outcome = await checked(written % "Acute", PARTS)
    assert outcome.publication is not None
    assert outcome.publication.pmid == "30000111"
    assert graver(outcome) == {"title"}


@pytest.mark.parametrize("title", ["South American lacewings: 3. Eggs of Nothochrysa ehrenbergi", "Corrigendum"])
async def test_another_part_or_a_correction_is_another_paper(title: str) -> None:
    written = f"Tauber CA. {title}. Zookeys. 2019;866:39-52."
    assert (await checked(written, PARTS)).verdict in ("not_found", "ambiguous")


async def test_the_beginning_of_a_title_that_many_have_means_no_paper() -> None:
    place = {"journal": "Science (New York, N.Y.)", "journal_abbreviation": "Science", "date": "2014"}
    record = article(
        "30000113",
        "Public health. Measuring the path toward malaria elimination.",
        "Churcher, Thomas S; Cohen, Justin M",
        volume="344",
        pages="1230-2",
        **place,
    )
    written = "Cuthbertson SA, Poole J. Inequalities in stage at diagnosis. J Public Health (Oxf). 2009;31(3):398-405."
    assert (await checked(written, [record])).verdict in ("not_found", "ambiguous")


async def test_a_list_of_an_entry_that_leaves_authors_out_says_so() -> None:
    entry = f"@article{{x, author={{%s}}, title={{{TITLE}}}, journal={{Sci Adv}}, year={{2023}}}}"
    for names in ("Sun, Wei and Berg, Anna", "Sun, Wei and Zhang, Li", "Sun, Wei"):
        outcome = await checked(entry % names, [FRAILTY])
        assert (outcome.verdict, [one.field for one in outcome.problems]) == ("minor", ["authors"])
    for names in ("Sun, Wei and others", "Sun, Wei and Berg, Anna and O'Neil, Sean and Zhang, Li"):
        assert (await checked(entry % names, [FRAILTY])).verdict == "verified"


async def test_a_doi_with_escaped_marks_is_the_same_one() -> None:
    record = FRAILTY.model_copy(update={"doi": "10.1007/978-1-60761-842-3_11"})
    written = f"{NAMES}. {TITLE}. Sci Adv. 2023;9(38):eadi3902. doi: 10.1007/978-1-60761-842-3\\_11."
    assert (await checked(written, [record])).problems == ()


@pytest.mark.parametrize("notice", ["Corrigendum to “{}”", "Re: {}", "Author Correction: {}", "Erratum. {}"])
@pytest.mark.parametrize("names", [NAMES, "Sun, W., Berg, A., O'Neil, S. P., & Zhang, L. (2023)", "Sun W, et al"])
async def test_a_notice_of_a_paper_is_not_the_paper(names: str, notice: str) -> None:
    written = f"{names}. {notice.format(f'{TITLE}: {SUBTITLE}')}. Sci Adv. 2023;9(38):eadi3902."
    outcome = await checked(written, [FRAILTY])
    assert (outcome.verdict, outcome.publication, FRAILTY.id in outcome.reason) == ("unchecked", None, True)
    own = FRAILTY.model_copy(update={"pmid": "30000109", "title": f"{notice.format(FRAILTY.title)}.", "doi": ""})
    found = (await checked(written, [FRAILTY, own])).publication
    assert found == own


@pytest.mark.parametrize("title", ["Zinc in the fœtus of sheep", "Zinc in the foetus of sheep"])
def test_ligatures_are_two_letters(title: str) -> None:
    record = article("30000103", "Zinc in the fetus of sheep.", "Sun, Wei")
    assert title_agreement(title, record) == "agrees"


@pytest.mark.parametrize(
    "doi", ["10.5555/j.wound- care.2019", "10.5555/j.wound-care. 2019", "10.5555/j.wound- care.2019."]
)
async def test_a_doi_that_is_broken_at_the_end_of_a_line_is_minor(doi: str) -> None:
    record = PLACED.model_copy(update={"doi": "10.5555/j.wound-care.2019"})
    written = f"Sun W, Berg A. {TITLE}. J Wound Care. 2019;28(4):214-21. doi:{doi}"
    assert (await checked(written, [record])).verdict in ("minor", "verified")


PLACED = in_journal("Journal of wound care", "J Wound Care", "28", "214-21", "2019", "4")


@pytest.mark.parametrize(
    ("place", "right"),
    [
        ("4(28):214-21", "28(4):214-21"),
        ("67(28):214-21", "28(4):214-21"),
        ("214(4):28-35", "28(4):214-21"),
        ("64(28):512-29", "28(4):214-21"),
        ("4, 512-29", "28, 214-21"),
    ],
)
async def test_a_number_of_the_record_in_anothers_place_is_a_difference(place: str, right: str) -> None:
    written = f"Sun W, Berg A. {TITLE}. J Wound Care. 2019;"
    outcome = await checked(f"{written}{place}.", [PLACED])
    assert "volume" in graver(outcome)
    assert corrected(outcome.reference.text, PLACED, outcome.problems) == f"{written}{right}."


ACADEMY = "Proceedings of the National Academy of Sciences of the United States of America"


@pytest.mark.parametrize("journal", ["Science", ACADEMY])
async def test_a_name_of_one_word_or_of_many_small_ones_is_another_journal(journal: str) -> None:
    written = f"Sun W, Berg A. {TITLE}. {journal}. 2019;28(4):214-21."
    assert graver(await checked(written, [PLACED])) == {"journal"}


async def test_pages_that_look_like_years_are_no_year_behind_their_word() -> None:
    written = f"W. Sun and A. Berg, “{TITLE},” J. Wound Care, vol. 99, no. 2, pp. 1646–1654, Nov. 2009."
    outcome = await checked(written, [PLACED])
    assert graver(outcome) == {"year", "volume", "pages"}
    assert {one.field: one.written for one in outcome.problems if one.field in ("year", "pages")} == {
        "year": "2009",
        "pages": "1646–1654",
    }


async def test_the_pages_of_one_of_two_letters_are_right() -> None:
    record = PLACED.model_copy(update={"pages": "1563-5; author reply 1565-6"})
    assert (await checked(f"Sun W, Berg A. {TITLE}. J Wound Care. 2019;28(4):1565-6.", [record])).problems == ()


async def test_penalties_of_latex_are_no_numbers() -> None:
    written = f"Wei Sun and Anna Berg. {TITLE}. \\emph{{J. Wound Care}}, 28\\penalty0 (4):\\penalty0 214--221, 2019."
    assert (await checked(written, [PLACED])).verdict == "verified"


@pytest.mark.parametrize(
    "written",
    [
        "Sun W, Berg A. {}. J Wound Care. 2019;28(4):214-21.",
        "Sun, W., & Berg, A. (2019). {}. *Journal of Wound Care*, *28*(4), 214–221.",
        "Sun, W., and A. Berg. 2019. {}. Journal of Wound Care 28:214-221.",
        "Sun, Wei, and Anna Berg. “{}.” *Journal of Wound Care* 28, no. 4 (2019): 214–221.",
        "Sun, W.; Berg, A. {}. *J. Wound Care* **2019**, *28* (4), 214–221.",
    ],
)
@pytest.mark.parametrize("title", ["Hope", "Asthma", "Two cases of tetanus"])
async def test_a_paper_that_all_but_the_title_names_is_meant(written: str, title: str) -> None:
    outcome = await checked(written.format(title), [PLACED])
    assert (outcome.verdict, [(one.field, one.written) for one in outcome.problems]) == ("differs", [("title", title)])


async def test_a_paper_in_a_journal_that_is_named_like_a_conference_is_found() -> None:
    name = "7th Greenhouse Gas and Animal Agriculture Conference, Foz do Iguaçu"
    record = article(
        "30000114", "Grazing decreases emissions of dairy cows.", "Civiero, M", journal=name, date="2019", pages="141"
    )
    written = f"Civiero M. Grazing decreases emissions of dairy cows. {name}; 2019 pp. 141–141."
    assert (await checked(written, [record])).verdict == "verified"


async def test_the_update_of_another_year_is_another_paper() -> None:
    place = {"journal": "Circulation", "date": "2017", "volume": "135", "pages": "e146-e603"}
    names = "Benjamin, Emelia J; Blaha, Michael J"
    record = article("30000117", "Heart disease and stroke statistics--2017 update: a report.", names, **place)
    written = "Benjamin EJ, Blaha MJ. Heart disease and stroke statistics—%s update: a report. Circulation. %s."
    assert (await checked(written % (2017, "2017;135:e146-e603"), [record])).verdict == "verified"
    assert (await checked(written % (2018, "2018;137:e67-e492"), [record])).verdict in ("not_found", "ambiguous")
    assert graver(await checked(written % (2018, "2017;135:e146-e603"), [record])) == {"title"}


@pytest.mark.parametrize(
    ("title", "verdict"), [("Hope", "differs"), ("Obesity in Samoa", "differs"), ("Frailty in adults", "minor")]
)
async def test_a_title_of_few_words_is_compared(title: str, verdict: str) -> None:
    outcome = await checked(f"{NAMES}. {title}. Sci Adv. 2023;9(38):eadi3902. doi:10.1126/sciadv.adi3902", [FRAILTY])
    assert (outcome.verdict, [one.field for one in outcome.problems]) == (verdict, ["title"])


async def test_of_records_that_come_near_it_is_told_what_agrees_and_what_does_not() -> None:
    outcome = await checked(f"Sun W, Berg A. {TITLE}. Burns. 2009;77(1):12-19.", [PLACED])
    assert (outcome.verdict, [one.pmid for one in outcome.candidates]) == ("ambiguous", ["30000102"])
    assert outcome.reason.startswith(
        "no record agrees with it as a whole; these come nearest: "
        'pubmed:30000102 has the same title, authors; but year "2009", in the record "2019"'
    )
