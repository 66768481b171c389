"""Search strategies: read, tested, written for other databases."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.client import Client
from pydantic import BaseModel

from deepcritical_mcp.errors import InvalidInputError, ProviderUnavailableError
from deepcritical_mcp.models import StrategyPart, StrategyReport, StrategySeed, StrategyTranslation, Target
from deepcritical_mcp.search.full_texts import FullTexts
from deepcritical_mcp.search.strategy.lines import read_strategy
from deepcritical_mcp.search.strategy.problems import form_problems, press_problems
from deepcritical_mcp.search.strategy.syntax import parse
from deepcritical_mcp.search.strategy.translation import translated
from deepcritical_mcp.sources.base import Hits, MeshDescriptor
from deepcritical_mcp.tools.answers.budget import fit
from deepcritical_mcp.tools.answers.render import to_markdown
from deepcritical_mcp.tools.answers.structured import wire_length
from tests.fakes import fake_server
from tests.publications import published
from tests.search.lookup_fakes import FakeRecords
from tests.wire import both, called

TWO_LINES = [("1", '"Gout"[mh] OR gout*[tiab]'), ("2", "colchicine[tiab]"), ("3", "#1 AND #2")]


@pytest.mark.parametrize(
    "pasted",
    [
        '1. "Gout"[mh] OR gout*[tiab]\n2. colchicine[tiab]\n3. 1 AND 2',
        '#1 "Gout"[mh] OR gout*[tiab] 1,234\n#2 colchicine[tiab]\t55\n\n#3 #1 and #2  12',
        "Search #1: “Gout”[mh] OR gout*[tiab]\nSearch #2: colchicine[tiab]\nSearch #3: #1 AND #2",
        '1\t"Gout"[mh] OR\ngout*[tiab]\t99\n2\tcolchicine[tiab]\t(n = 7)\n3\tand/1-2\t5',
        "#3\tDetails\tSearch: 1-2/AND\t5\t10:11:12\n#2\tDetails\tSearch: colchicine[tiab]\t55\t10:11:12\n"
        '#1\tDetails\tSearch: "Gout"[mh] OR gout*[tiab]\t99\t10:11:12',
        "Search number,Query,Sort By,Filters,Search Details,Results,Time\n3,#1 AND #2,,,x,5,10:00:00\n"
        '2,colchicine[tiab],,,x,55,10:00:00\n1,"""Gout""[mh] OR gout*[tiab]",,,x,99,10:00:00',
        '"Gout"[mh] OR gout*[tiab]\ncolchicine[tiab]\n#1 AND #2',
        'Gout AND colchicine (PubMed)\n1. "Gout"[mh] OR gout*[tiab]\n2. colchicine[tiab]\n3. 1 AND 2',
        '(1) "Gout"[mh] OR gout*[tiab]\n(2) colchicine[tiab]\n(3) 1 AND 2',
        '1. "Gout"[mh] OR gout*[tiab] 2. colchicine[tiab] 3. 1 AND 2',
        '#1\t"Gout"[mh] OR gout*[tiab]\t(n = 12,345,678,901,234)\n#2\tcolchicine[tiab]\t1,000,000 results\n'
        "#3\tPopulation and drug\t#1 AND #2\t(n = 1)",
        'S1 "Gout"[mh] OR gout*[tiab]\nS2 colchicine[tiab]\nS3 S1 AND S2',
        'Line 1: "Gout"[mh] OR gout*[tiab]\nLine 2: colchicine[tiab]\nLine 3: Line 1 AND Line 2',
        '| # | Query |\n|---|---|\n| 1 | "Gout"[mh] OR gout\\*[tiab] |\n| 2 | colchicine[tiab] |\n| 3 | #1 AND #2 |',
        '**#1** "Gout"[mh] OR gout*[tiab]\n**#2** colchicine[tiab]\n**#3** #1 AND #2\n[tiab] = title; * = truncation',
    ],
)
def test_lines_are_read_in_any_dress(pasted: str) -> None:
    strategy = read_strategy(pasted)
    assert [(line.number, str(line.tree)) for line in strategy.lines] == TWO_LINES
    assert strategy.query(strategy.whole.tree) == '("Gout"[mh] OR gout*[tiab]) AND colchicine[tiab]'
    assert [*strategy.blocks()[0]] == ["#1", "#2"]


def test_rows_that_begin_with_a_number_are_no_numbered_lines() -> None:
    wrapped = "T4[tiab] OR\n3 nitrotyrosine[tiab] OR\n4 hydroxynonenal[tiab]"
    assert str(read_strategy(wrapped).whole.tree) == " ".join(wrapped.split())
    assert [line.number for line in read_strategy("1. a[ti]\n2. b[ti] OR\n5 fluorouracil[ti]\n3. 1 OR 2").lines] == [
        *"123"
    ]


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("a[tiab] AND b[tiab] OR c[tiab]", "(a[tiab] AND b[tiab]) OR c[tiab]"),
        ("a[ti] NOT (animals[mh] NOT humans[mh])", "a[ti] NOT (animals[mh] NOT humans[mh])"),
        ("signs and symptoms[tiab] and (b[ti])", "signs and symptoms[tiab] AND b[ti]"),
        ("heart failure x[tiab] y[ti]", "heart failure x[tiab] AND y[ti]"),
        ('("2010/01/01"[dp] : "2020/12/31"[dp]) a', "2010/01/01:2020/12/31[dp] AND a"),
        ("2010[dp]:2020[dp]", "2010:2020[dp]"),
    ],
)
def test_a_line_is_read_as_pubmed_reads_it(line: str, read: str) -> None:
    assert str(parse(line)[0]) == read


SOUND = (
    '("Gout"[Mesh] OR gout*[tiab] OR "uric acid arthropathy"[Title/Abstract]) AND ("Colchicine"[Mesh] OR '
    'colchicine[tiab] OR "colchicine therapy"[tiab:~2]) AND (randomized controlled trial[pt] OR controlled clinical '
    "trial[pt] OR randomized[tiab] OR placebo[tiab] OR drug therapy[sh] OR randomly[tiab] OR trial[tiab] OR "
    "groups[tiab]) NOT (animals[mh] NOT humans[mh])"
)


@pytest.mark.parametrize(
    ("strategy", "found"),
    [
        (SOUND, []),
        (SOUND.replace("NOT (animals[mh] NOT humans[mh])", "NOT (animals[mh] not (animals[mh] and humans[mh]))"),
         [("1", "lower_case_operator")]),
        (f"({SOUND}", [("1", "unbalanced_brackets")]),
        (SOUND.replace('"Gout"', '"Gout'), [("1", "unbalanced_quotes")]),
        ("gout[tiabs]", [("1", "unknown_tag")]),
        ("gout[tiab] ORpodagra[tiab]", [("1", "no_operator")]),
        ("gout[tiab], podagra[tiab]", [("1", "foreign_sign"), ("1", "no_operator")]),
        ("wom?n[tiab] OR 'gout'[tiab] OR tumo#r[ti] OR NEAR/3 flare[ti]", [("1", "foreign_sign")]),
        ('"Arthritis, Gouty"[mh] OR sofosbuvir/velpatasvir[nm] OR "what?"[ta]', []),
        ("gout and podagra", [("1", "lower_case_operator")]),
        ("gout or podagra[tiab]", [("1", "lower_case_operator")]),
        ("1. a[ti]\n2. b[ti]\n3. 1 AND 2 Filters: Humans, English", [("", "history_filters")]),
        ("(a[ti] OR b[ti])[tiab]", [("1", "tag_on_group")]),
        ("[tiab] AND a[ti]", [("1", "dangling_operator"), ("1", "tag_without_term")]),
        ("a[ti] AND b[ti] OR c[ti]", [("1", "mixed_operators")]),
        (
            '"vaccin* schedul*"[tiab] OR *gouty[ti] OR organi*ation[ti]',
            [("1", "quoted_truncation"), ("1", "left_truncation")],
        ),
        ("1. gout[ti]\n2. animals[mh]\n3. 1 NOT 2", [("3", "not_humans")]),
        ("1. gout[ti]\n2. rats[ti]\n3. humans[mh]\n4. 2 NOT 3\n5. 1 NOT 4", []),
        ("1. gout[ti]\nDrugs\n2. zinc[ti]\n3. and/1,2-2", [("", "caption")]),
        ("gou*[tiab]", [("1", "short_truncation")]),
        ('"gouty arthrit*"[tiab]', [("1", "quoted_truncation")]),
        ("gou*[mh]", [("1", "short_truncation")]),
        ("diagnos*[mh:noexp] OR wheeze[ti] AND (animals[mh] NOT humans[mh])", [("1", "mixed_operators")]),
        ("asthma NOT humans", [("1", "not_humans")]),
        ("asthma, wheeze[ti]", [("1", "foreign_sign")]),
        ("1. a[ti]\n3. b[ti]\n4. 1 or 2 or 3", [("4", "missing_line")]),
        ("gouts*[mh]", [("1", "truncated_heading")]),
        ('"a b"[mh:~2]', [("1", "proximity_field")]),
        ('"Gout/drug treatment"[mh]', [("1", "unknown_subheading")]),
        ("a[ti] NOT animals[mh] NOT humans[mh]", [("1", "not_humans")]),
        ("a[ti] NOT (letter[pt] OR animals[mh])", [("1", "not_humans")]),
        ("1. a[ti]\n2. b[ti]\n3. #1 AND #4", [("2", "unused_line"), ("3", "missing_line")]),
        ("1. a[ti]\n2. b[ti] OR #3\n3. #1 AND #2", [("2", "circular_line")]),
        ("1. a[ti]\n2. b[ti]", [("2", "not_combined")]),
    ],
)  # fmt: skip
def test_errors_of_form_are_named_with_their_line(strategy: str, found: Sequence[tuple[str, str]]) -> None:
    assert sorted((one.line, one.kind) for one in form_problems(read_strategy(strategy))) == sorted({*found})


@pytest.mark.parametrize(
    ("block", "kind", "said"),
    [
        ("gout*[tiab] OR podagra[tiab]", "no_heading", "gout*[tiab], podagra[tiab]"),
        ('"Gout"[mh] OR "Hyperuricemia"[mh]', "no_free_words", ""),
        (
            '"Gout"[mh] OR paediatric[tiab] OR ischaemi*[tiab]',
            "spelling",
            "paediatric (pediatric), ischaemi* (ischemi*)",
        ),
        ('"Gout"[mh] OR strokes[tiab] OR attack[tiab] OR flare*[tiab]', "number", "strokes (stroke), attack (attacks)"),
        ('"Gout"[mh] OR flare*[tiab] OR "flare*"[tiab]', "repeated", "flare*[tiab]"),
        ("english[la]", "limit", "limit of language"),
        ("humans[mh]", "limit", "NOT (animals[mh] NOT humans[mh])"),
        ("2010:2020[dp]", "limit", "[crdt]"),
        ("randomized controlled trial[pt]", "limit", 'study_filter="rct"'),
    ],
)
def test_a_colleague_would_ask_about_a_part(block: str, kind: str, said: str) -> None:
    strategy = f'("Stroke"[mh] OR apoplexy[tiab]) AND ({block})'
    (found,) = [one for one in press_problems(read_strategy(strategy)) if one.line == "B"]
    assert (found.kind, found.level) == (kind, "remark")
    assert said in found.message


def test_both_spellings_and_numbers_are_enough() -> None:
    part = '"Stroke"[mh] OR pediatric*[tiab] OR paediatric*[tiab] OR "heart attack"[tiab] OR "heart attacks"[tiab]'
    assert not [*press_problems(read_strategy(part))]


STRATEGY = """1. "Gout"[mh] OR "Gout/drug therapy"[mh:noexp] OR gout*[tiab] OR "gouty arthrit*"[tiab] OR "a b"[tiab:~2]
2. "Wounds and Injuries"[majr] OR drug therapy[sh] OR review[pt]
3. english[la] AND 2018:2020[dp]
4. animals[mh] NOT humans[mh]
5. (#1 AND #2 AND #3) NOT #4"""
WRITTEN: Mapping[Target, tuple[str, str]] = {
    "ovid": (
        "1. exp Gout/ or Gout/dt or (gout* or gouty arthrit* or (a adj3 b)).ti,ab,kf.\n"
        '2. exp *"Wounds and Injuries"/ or dt.fs. or review.pt.\n3. english.lg. and (2018 or 2019 or 2020).yr.\n'
        "4. exp animals/ not exp humans/\n5. (1 and 2 and 3) not 4",
        "narrower subheadings",
    ),
    "embase": (
        "#1. (gout OR gout* OR (gouty NEXT/1 arthrit*) OR (a NEAR/3 b)):ti,ab,kw\n"
        "#2. 'wounds and injuries':ti,ab,kw OR 'drug therapy':lnk OR review:it\n#3. [english]/lim AND [2018-2020]/py\n"
        "#4. [animals]/lim NOT [humans]/lim\n#5. (#1 AND #2 AND #3) NOT #4",
        'Emtree and add \'term\'/exp: "Gout"[mh]; "Gout/drug therapy"[mh:noexp]; "Wounds and Injuries"[majr]',
    ),
    "central": (
        '#1. [mh "Gout"] OR [mh ^"Gout"/DT] OR (gout* OR (gouty NEXT arthrit*) OR (a NEAR/3 b)):ti,ab,kw\n'
        '#2. [mh "Wounds and Injuries"] OR [mh /DT] OR review:pt\n#3. [mh "animals"] NOT [mh "humans"]\n'
        "#4. (#1 AND #2) NOT #3",
        "No such field: left out: english[la]",
    ),
    "scopus": (
        "#1. TITLE-ABS-KEY(gout OR gout* OR (gouty PRE/0 arthrit*) OR (a W/2 b))\n"
        '#2. TITLE-ABS-KEY("wounds and injuries") OR DOCTYPE(re)\n'
        "#3. LANGUAGE(english) AND (PUBYEAR > 2017 AND PUBYEAR < 2021)\n"
        '#4. INDEXTERMS("animals") AND NOT INDEXTERMS("humans")\n#5. (#1 AND #2 AND #3) AND NOT #4',
        "No such field: left out: drug therapy[sh]",
    ),
    "wos": (
        '#1. TS=(gout OR gout* OR "gouty arthrit*" OR (a NEAR/2 b))\n#2. TS=("wounds and injuries") OR DT=(Review)\n'
        "#3. LA=(english) AND PY=(2018-2020)\n#4. (#1 AND #2 AND #3)",
        "would exclude sound papers: animals[mh]; humans[mh]; animals[mh] NOT humans[mh]",
    ),
    "cinahl": (
        "S1. TI (gout OR gout* OR (gouty W0 arthrit*) OR (a N2 b)) OR AB (gout OR gout* OR (gouty W0 arthrit*) OR "
        '(a N2 b))\nS2. TI "wounds and injuries" OR AB "wounds and injuries" OR PT "review"\n'
        'S3. LA english AND PY 2018-2020\nS4. (MH "Animals+") NOT (MH "Human")\nS5. (S1 AND S2 AND S3) NOT S4',
        "CINAHL Subject Headings",
    ),
    "europepmc": (
        '(((KW:"Gout" OR TITLE_ABS:(gout* OR (gouty AND arthrit*) OR (a AND b))) AND (KW:"Wounds and Injuries" OR '
        'PUB_TYPE:review) AND (LANG:eng AND PUB_YEAR:[2018 TO 2020])) NOT (KW:"animals" NOT KW:"humans"))',
        'without narrower ones: add those that you need: "Gout"[mh]',
    ),
}


@pytest.mark.parametrize("target", WRITTEN)
def test_a_strategy_is_written_for_another_database(target: Target) -> None:
    text, lost = WRITTEN[target]
    found = translated(read_strategy(STRATEGY), target)
    assert found.text == (text if target != "europepmc" else text[1:-1])
    assert any(lost in one for one in found.not_translated)


def test_what_has_no_counterpart_is_named_in_every_database() -> None:
    line = '"x"[dcom] AND colchicine AND "Smith J"[au] AND "c"[pa] AND "d"[nm] AND "e"[1au] AND "b c d"[ti:~0]'
    line += ' AND "a b"[ti:~0]'
    for target in WRITTEN:
        found = translated(read_strategy(line), target)
        told = " ".join(found.not_translated)
        assert '"x"[dcom]' in told
        assert "colchicine" in told
        assert "Smith J" in found.text
        assert not {"()", "  ", "None"} & {found.text}
    assert "(a adj1 b or b adj1 a).ti." in translated(read_strategy(line), "ovid").text


@given(st.text(alphabet='ab*"()[]#:~/ANDORT12\n', max_size=120))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        strategy = read_strategy(text)
    except InvalidInputError:
        return
    for target in WRITTEN:
        translated(strategy, target)
    assert all(one.message for one in (*form_problems(strategy), *press_problems(strategy)))
    again, flaws = parse(strategy.query(strategy.whole.tree))
    assert not {one.kind for one in flaws} & {"unbalanced_brackets", "mixed_operators", "dangling_operator"}
    assert str(again or "") == strategy.query(strategy.whole.tree)


GOUT = MeshDescriptor(uid="1", mesh_id="D006073", name="Gout", entry_terms=("Gouts",), tree_numbers=("C05.799.414",))
NARROW = MeshDescriptor(uid="2", mesh_id="D015210", name="Arthritis, Gouty", tree_numbers=("C05.799.414.100",))


class Strategies:
    """PubMed for a strategy: a query finds the seeds that are named with the last of its keys in it."""

    def __init__(self, finds: Mapping[str, Sequence[str]], *, fails: str = "?") -> None:
        self.finds, self.fails, self.asked = finds, fails, list[str]()

    async def hits(self, query: str, *, as_read: bool = False) -> Hits:
        self.asked.append(query)
        if self.fails in query:
            raise ProviderUnavailableError("pubmed", "PubMed is down.")
        unknown = ("ghost phrase",) if "ghost phrase" in query else ()
        return Hits(count=0 if "nothing" in query else 1234, unknown_phrases=unknown, unknown_terms=("nothing",))

    async def among(self, query: str, pmids: Sequence[str]) -> frozenset[str]:
        self.asked.append(query)
        return frozenset(self.finds.get(query, pmids)) & frozenset(pmids)

    async def descriptors(self, headings: Sequence[str]) -> dict[str, MeshDescriptor]:
        known = {"gout": GOUT, "gouts": GOUT, "arthritis, gouty": NARROW}
        return {name: known[name] for name in headings if name in known}


PAPERS = [
    published(
        "Attacks of acute gouty arthritis.", source="pubmed", title="Podagra", pmid="31", mesh_terms=(NARROW.name,)
    ),
    published("A trial of prophylaxis.", source="pubmed", title="Canakinumab in adults", pmid="32"),
]


def server(vocabulary: Strategies) -> Client:
    records = FakeRecords("records", {one.pmid: one for one in PAPERS})
    return Client(fake_server(vocabulary=vocabulary, full_texts=FullTexts((), None, lookups=[records])))


async def test_a_missed_seed_is_explained_by_the_part_that_loses_it_and_the_words_that_find_it() -> None:
    strategy = '1. "Gout"[mh:noexp] OR "acute attack"[tiab]\n2. prophylaxis[tiab]\n3. #1 AND #2\n4. #3 NOT adult*[tiab]'
    first = '"Gout"[mh:noexp] OR "acute attack"[tiab]'
    whole = f"(({first}) AND prophylaxis[tiab]) NOT adult*[tiab]"
    asked = Strategies({whole: [], first: ["32"], "prophylaxis[tiab]": ["32"], "adult*[tiab]": ["32"]})
    async with server(asked) as client:
        text, found = await both(client, "check_strategy", strategy=strategy, seeds=["PMID: 31", "32", "33"])
    assert [(one["id"], one["found"], one["lost_by"]) for one in found["seeds"]] == [
        ("PMID:31", False, ["#1", "#2"]),
        ("32", False, ["NOT C"]),
        ("33", False, []),
    ]
    assert '#1: "Arthritis, Gouty"[mh] (narrower than Gout)' in found["seeds"][0]["words"]
    assert found["seeds"][2]["detail"].startswith("not tested: PubMed has no such record")
    assert ("C", "not_removes_seeds") in {(one["line"], one["kind"]) for one in found["problems"]}
    assert "removes PMID 32" in text
    assert found["hits"] == 1234
    # One request for all seeds, one for each part that may lose them, one for each line and part, two for headings.
    assert len(asked.asked) == 1 + 3 + 5
    assert found["requests"] == len(asked.asked) + 2 + 2


async def test_a_filter_that_loses_a_seed_gets_words_of_filters_and_not_of_the_subject() -> None:
    trials = "clinical trial[pt] OR randomized[tiab]"
    strategy = f"gout AND ({trials})"
    async with server(Strategies({strategy: [], trials: []})) as client:
        found = await called(client, "check_strategy", strategy=strategy, seeds=["32"])
    assert found["seeds"][0]["lost_by"] == ["B"]
    assert found["seeds"][0]["words"] == ["B: trial[tiab]"]


async def test_what_pubmed_lacks_and_what_mesh_calls_otherwise_is_named() -> None:
    strategy = '("Gouts"[mh] OR "Gowt"[mh] OR "Gout"[nm] OR "ghost phrase"[tiab]) AND nothing[tiab]'
    async with server(Strategies({})) as client:
        found = await called(client, "check_strategy", strategy=strategy)
    kinds = {one["kind"] for one in found["problems"] if one["level"] == "error"}
    named = {"renamed_heading", "no_such_heading", "now_a_heading", "phrase_not_indexed", "not_in_pubmed", "empty_line"}
    assert kinds == named


async def test_an_outage_is_said_for_its_line_and_is_no_zero() -> None:
    async with server(Strategies({}, fails="colchicine")) as client:
        text, found = await both(client, "check_strategy", strategy="1. gout[tiab]\n2. colchicine[tiab]\n3. 1 and 2")
    assert [one.get("hits", -1) for one in found["lines"]] == [1234, -1, -1]
    assert "2: not counted" in text
    (error,) = found["errors"]
    assert "PubMed is down. Not known: line 3, line 2" in error


async def test_seeds_are_what_is_marked_in_the_session() -> None:
    async with server(Strategies({})) as client:
        await called(client, "add_evidence", items=[{"pmid": "31"}], session_id="new")
        marks = [{"id": "pubmed:31", "decision": "included"}]
        await called(client, "add_evidence", items=marks)
        found = await called(client, "check_strategy", query="gout", databases=["ovid"], pmids="PMID 31, 32; PMID: 33")
        assert [one["id"] for one in found["seeds"]] == ["PMID:31", "32", "PMID:33"]
        found = await called(client, "check_strategy", strategy="gout", seeds=["marked:included"])
        assert [(one["id"], one["found"]) for one in found["seeds"]] == [("pubmed:31", True)]
        for seed, said in (
            ("hello", "is not a PMID"),
            ("marked:excluded", 'marked "excluded"'),
            ("NCT00000001", "no PMID"),
        ):
            refused = await client.call_tool("check_strategy", {"strategy": "gout", "seeds": [seed]})
            assert refused.is_error
            assert said in str(refused.content)


@pytest.mark.parametrize(
    ("strategy", "said"),
    [
        ("exp Gout/ or gout*.ti,ab.", "syntax of Ovid"),
        ("'gout'/exp OR gout:ti,ab", "syntax of Embase"),
        ("TITLE-ABS-KEY(gout)", "syntax of Scopus"),
        ("TITLE_ABS:gout AND KW:gout", "syntax of Europe PMC"),
        ("MeSH descriptor: [Gout] explode all trees", "syntax of the Cochrane Library"),
        ('(DE "Gout") AND flare', "syntax of EBSCO"),
        ("((", "no search term"),
        ("\n".join(f"{n}. a" for n in range(1, 200)), "at most 150 lines"),
        ("1. a\n2. b\n2. c\n3. 1 AND 2", "numbers 1, 2, 2, 3. Number each once"),
        ("\n".join(["1. abcdefgh", *(f"{n}. #{n - 1} OR #{n - 1}" for n in range(2, 40))]), "more than 60,000"),
        (" AND b OR ".join(["a"] * 2_000), "nested too deeply"),
    ],
)
async def test_what_is_no_strategy_for_pubmed_is_refused_with_what_to_do(strategy: str, said: str) -> None:
    async with server(Strategies({})) as client:
        refused = await client.call_tool("check_strategy", {"strategy": strategy})
    assert refused.is_error
    assert said in str(refused.content)


def text_length(one: BaseModel) -> int:
    return len(to_markdown(one))


@pytest.mark.parametrize("limit", [32_000, 8_000, 4_000])
def test_a_report_fits_and_says_what_was_left_out(limit: int) -> None:
    part = StrategyPart(number="1", text="t" * 200, hits=5)
    texts = tuple(
        StrategyTranslation(target=target, text="word OR " * 2_000, not_translated=("x" * 900,)) for target in WRITTEN
    )
    seed = StrategySeed(id="31", found=False, title="T" * 200, lost_by=("#1",), words=("#1: gout[tiab]",) * 6)
    whole = StrategyReport(session_id="rs_1", lines=(part,) * 150, seeds=(seed,) * 200, translations=texts)
    for length in (wire_length, text_length):
        cut = fit(whole, limit, length)
        assert length(cut) <= limit
        assert 'call again with targets=["' in cut.next_step


@pytest.mark.parametrize(
    ("strategy", "target", "text"),
    [
        ('gout[ti] NOT "Mice"[mh] NOT (rats[ti] AND "Arthritis"[mh])', "wos", "TI=(gout)"),
        ('gout[ti] NOT ("Mice"[mh] OR rats[ti])', "wos", "TI=(gout) NOT TI=(rats)"),
        (
            "1. gout[ti]\n2. rats[ti]\n3. humans[mh]\n4. 2 NOT 3\n5. 1 NOT 4",
            "wos",
            "#1. TI=(gout)\n#2. TI=(rats)\n#3. #1",
        ),
        (
            "1. gout[ti]\n2. rats[ti]\n3. human*[ti] OR humans[mh]\n4. 2 NOT 3\n5. 1 NOT 4",
            "wos",
            "#1. TI=(gout)\n#2. TI=(rats)\n#3. TI=(human*)\n#4. #1",
        ),
        (
            "1. Gout[mh] OR gout[tiab]\n2. 1 AND letter[pt]\n3. 1 NOT 2",
            "scopus",
            "#1. TITLE-ABS-KEY(gout)\n#2. TITLE-ABS(gout) AND DOCTYPE(le)\n#3. #1 AND NOT #2",
        ),
        ("gout[ti] NOT Gout[majr:noexp] NOT rats[all] NOT Lancet[ta]", "europepmc", "TITLE:gout NOT TITLE_ABS:rats"),
        ('"Aged, 80 and over"[mh] OR "Arthritis, Gouty"[mh]', "scopus", 'TITLE-ABS-KEY("gouty arthritis")'),
        ('gout[ti] NOT "gouty arthrit*"[tiab]', "europepmc", "TITLE:gout"),
        ("gout[ti] NOT 2020/06/01:2021/05/31[dp]", "wos", "TI=(gout)"),
        ("gout[ti] AND (english[la] OR french[la])", "embase", "gout:ti AND ([english]/lim OR [french]/lim)"),
        ("anti-inflammator*[ti]", "central", "(anti NEXT inflammator*):ti"),
        (
            "gout flare and colchicine OR zinc",
            "wos",
            "((ALL=(gout) AND ALL=(flare)) AND ALL=(colchicine)) OR ALL=(zinc)",
        ),
        ("eng[la] AND fre[la]", "scopus", "LANGUAGE(english) AND LANGUAGE(french)"),
        ("eng[la] AND chinese[la]", "europepmc", "LANG:eng AND LANG:chi"),
        ("crohn's disease[ti] OR arthrit*[mh]", "embase", '"crohn\'s disease":ti OR arthrit*:ti,ab,kw'),
    ],
)
def test_terms_and_what_not_excludes_are_written_as_pubmed_reads_them(strategy: str, target: Target, text: str) -> None:
    assert translated(read_strategy(strategy), target).text == text
