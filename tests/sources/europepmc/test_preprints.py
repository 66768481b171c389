"""The search of preprints over loopback, through the pipeline."""

from collections.abc import Callable, Mapping, Sequence

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.models import NO_ABSTRACT, SearchResult
from deepcritical_mcp.search.pipeline import SourceSearch
from deepcritical_mcp.sources.europepmc.preprint_request import PreprintRequest, europe_pmc_query
from tests.net.stand_in import Answer, Asked, stand_in
from tests.search.fake_session import FakeSession
from tests.sources.full_text_wire import make_preprints, preprint, results

LINK = {"id": "32000001", "source": "MED", "type": "Preprint of", "reference": "J Made-up Res. 2027;1:2."}
TO_ARTICLE = {"commentCorrectionList": {"commentCorrection": [LINK]}}


def numbered(count: int, **fields: object) -> list[dict[str, object]]:
    """So many preprints, each with a DOI and a title of its own."""
    return [
        preprint(id=f"PPR{n}", doi=f"10.1101/2026.01.01.{n:06}", title=f"Zinc and wound number {n}", **fields)
        for n in range(1, count + 1)
    ]


def play(rows: Sequence[Mapping[str, object]], *, counted: int = 0) -> Callable[[Asked], Answer]:
    """Europe PMC with these preprints: pages by cursor, short forms, and records by DOI or number."""

    def answer(asked: Asked) -> Answer:
        sent = asked.query or asked.form
        if "DOI:" in sent["query"] or "EXT_ID:" in sent["query"]:
            named = [row for row in rows if f'"{row.get("doi")}"' in sent["query"] or f"{row['id']} " in sent["query"]]
            return results(*named)
        start = 0 if sent["cursorMark"] == "*" else int(sent["cursorMark"])
        page = rows[start : start + int(sent["pageSize"])]
        if sent["resultType"] == "lite":
            page = [{name: row[name] for name in ("id", "source", "doi", "title") if name in row} for row in page]
        if sent["resultType"] == "idlist":
            page = [{"id": row["id"], "source": "PPR"} for row in page]
        more = {"nextCursorMark": str(start + len(page))} if page else {}
        return results(*page, hitCount=counted or len(rows), **more)

    return answer


async def search(
    rows: Sequence[Mapping[str, object]], http: httpx.AsyncClient, session: FakeSession | None = None, **request: object
) -> tuple[SearchResult, list[Asked]]:
    async with stand_in() as server:
        server.answer = play(rows)
        source = SourceSearch(make_preprints(server.url, http))
        wanted = PreprintRequest.model_validate({"query": "zinc", **request})
        return await source.search(wanted, session or FakeSession()), server.asked


async def test_what_was_published_since_the_session_began_names_the_article(http: httpx.AsyncClient):
    session = FakeSession()
    await search([preprint()], http, session)
    (id,) = session.kept
    session.kept[id] = session.kept[id].model_copy(update={"status_checked": "2026-01-03"})
    found, _ = await search([preprint(**TO_ARTICLE)], http, session)
    assert [notice.pmid for notice in found.evidence[0].citation.status_notices] == ["32000001"]
    again, _ = await search([preprint(**TO_ARTICLE)], http, session, unpublished_only=True)
    assert again.evidence == ()


async def test_only_what_is_not_published_is_shown_if_wanted(http: httpx.AsyncClient):
    rows = [preprint(**TO_ARTICLE), *numbered(1)]
    found, _ = await search(rows, http, unpublished_only=True)
    assert [item.citation.title for item in found.evidence] == ["Zinc and wound number 1"]
    assert found.left_out == 1
    assert found.warnings == ("1 preprint that was published omitted from this page; the articles are PMID 32000001.",)


@pytest.mark.parametrize("only_new", [False, True])
async def test_what_was_published_is_counted_once_over_all_pages(http: httpx.AsyncClient, *, only_new: bool):
    link = TO_ARTICLE["commentCorrectionList"]
    rows = [row | ({"commentCorrectionList": link} if n % 2 else {}) for n, row in enumerate(numbered(60))]
    session, offset, left_out, shown = FakeSession(), 0, 0, list[str]()
    while offset >= 0:
        found, _ = await search(rows, http, session, unpublished_only=True, only_new=only_new, offset=offset)
        left_out, offset = left_out + found.left_out, found.next_offset
        shown += [item.citation.title for item in found.evidence]
    assert (left_out, len(shown), len(set(shown))) == (30, 30, 30)


async def test_servers_and_dates_narrow_the_search(http: httpx.AsyncClient):
    _, (asked,) = await search(
        [], http, servers=("biorxiv", "www.medrxiv.org", "Research square"), min_date="2025", max_date="2026-02"
    )
    assert asked.query["query"] == (
        '(zinc) AND SRC:PPR AND (PUBLISHER:"bioRxiv" OR PUBLISHER:"medRxiv" OR PUBLISHER:"Research Square") '
        "AND FIRST_PDATE:[2025-01-01 TO 2026-02-28]"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"servers": ["bioxriv"]}, "Did you mean bioRxiv"),
        ({"min_date": "2026", "max_date": "2025"}, "swap them"),
        ({"min_date": "soon"}, "is not a date"),
        ({"query": "??"}, "no words to search for"),
        ({"offset": 9_995}, "may be at most 5"),
    ],
)
def test_a_request_says_what_is_wrong_with_it(arguments: dict[str, object], said: str):
    with pytest.raises(InvalidInputError, match=said):
        PreprintRequest.model_validate({"query": "zinc", **arguments})


async def test_deep_pages_of_several_queries_fetch_only_what_is_shown(http: httpx.AsyncClient):
    found, asked = await search(numbered(400), http, variants=("zinc wounds",), offset=300, max_results=5)
    assert len(found.evidence) == 5
    assert [one.query.get("resultType") or one.form["resultType"] for one in asked] == ["lite", "lite", "core"]
    assert all(item.content != NO_ABSTRACT for item in found.evidence)


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("Does zinc close wounds?", "zinc close wounds"),
        ("HIV/AIDS and/or iron", '"HIV/AIDS" iron'),
        ('TITLE:"zinc" AND (iron OR neuro*)', 'TITLE:"zinc" AND (iron OR neuro*)'),
        ("zinc AND ()", "zinc"),
        ("https://europepmc.org/article/PPR/PPR123", "EXT_ID:PPR123"),
        ("doi:10.1101/2020.01.01.123456v2", 'DOI:"10.1101/2020.01.01.123456"'),
        ("https://www.medrxiv.org/content/10.1101/2020.04.17.20065771v1", 'DOI:"10.1101/2020.04.17.20065771"'),
        ("??", ""),
    ],
)
def test_what_is_sent(written: str, sent: str):
    assert europe_pmc_query(written) == (sent, [])


@pytest.mark.parametrize(
    ("written", "sent", "said"),
    [
        ('"zinc salts"[tiab] AND wounds[MeSH Terms]', '"zinc salts" AND wounds', "field tags ([tiab], [MeSH Terms])"),
        ("zinc AND 2020:2024[dp]", "zinc", "2020:2024[dp] is PubMed's notation"),
        ('("a"[pt] OR "b"[pt]) AND zinc NOT english[la]', "zinc", '"a"[pt], "b"[pt], english[la]'),
        ("(zinc OR iron", "zinc OR iron", "brackets are not balanced"),
        ('"zinc wound', "zinc wound", "quotation mark"),
    ],
)
def test_what_is_changed_is_said(written: str, sent: str, said: str):
    query, (remark,) = europe_pmc_query(written)
    assert query == sent
    assert said in remark


@given(st.text(alphabet='ab "()[]{}?:/\\^~-+*&|ANDORT\u201c', max_size=60))
def test_nothing_that_is_sent_is_half_open(text: str):
    query, _ = europe_pmc_query(text)
    outside = "".join(query.split('"')[::2])
    assert query.count('"') % 2 == 0
    assert outside.count("(") == outside.count(")")
    assert not {*"?{}^~\\"} & {*outside}
    assert query == query.strip()
