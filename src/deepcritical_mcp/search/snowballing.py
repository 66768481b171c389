"""The papers that are linked to one paper, or to many: a round of citation searching (snowballing)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import TYPE_CHECKING

import anyio
from anyio.to_thread import run_sync

from deepcritical_mcp.deadline import (
    LINKS,
    LINKS_OF_ONE,
    NAMES,
    TO_KEEP_RESULTS,
    Progress,
    no_progress,
    seconds_before,
    seconds_for,
)
from deepcritical_mcp.errors import AllProvidersFailedError, InvalidInputError
from deepcritical_mcp.export.flow_numbers import citation_rounds
from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.models import (
    Evidence,
    LoggedQuery,
    ProviderReport,
    Publication,
    QueryReport,
    SearchResult,
    is_marked,
    matches_mark,
    status_label,
    with_numbers_shown,
)
from deepcritical_mcp.models.publication import QUERY_LIMIT
from deepcritical_mcp.models.screening import WITHOUT_DECISION
from deepcritical_mcp.models.search_log import WATCH_TOOL
from deepcritical_mcp.search.documents import MARKED, MAX_PAPERS, Round
from deepcritical_mcp.search.linking import (
    KEPT,
    LISTS,
    NOT_FINDABLE,
    Answers,
    Candidate,
    LinkIndexes,
    merged,
    names_of_ids,
)
from deepcritical_mcp.search.record_finder import ids_of, is_paper, stub_of
from deepcritical_mcp.search.search_steps import Kept, Ranking, Recording, new_entry
from deepcritical_mcp.sources.lookup import Direction, LinkLookup, Wanted
from deepcritical_mcp.text import clean_line, clipped, counted

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.store import EvidenceStore
    from deepcritical_mcp.search.pipeline import SourceSearch

_TITLES = 3
"""Papers by whose titles the relevance of what is found is measured."""


async def follow(
    search: SourceSearch,
    asked: Round,
    session: EvidenceStore,
    *,
    tool: str = "pubmed_related",
    progress: Progress = no_progress,
) -> SearchResult:
    """A page of the papers linked to some papers, kept in the session; what was asked is in its log, however it ends.

    The warnings say how many candidates there are and how many of them are new to the session; the papers themselves
    are not among them. `errors` name services that did not answer about all papers.

    Raises:
        InvalidInputError: none of the papers is known.
        AllProvidersFailedError: no service answered.
    """
    own = (await session.publications(await session.ids())).values()
    seeds, titles, told = await _seeds(search.links, asked, own, session)
    rounds = citation_rounds(await session.search_log(), own) if asked.is_round else []
    earlier = [one.verdict for one in rounds[-1:]]
    directions: tuple[Direction, ...] = ("cited_by", "references") if asked.kind == "citations" else (asked.kind,)
    named = ", ".join(_shown(one) for one in seeds)
    papers = named if len(seeds) == 1 else counted(len(seeds), "paper")
    what = f"articles {' or '.join(LISTS[one] for one in directions)}".replace(" or that ", " or ")
    who = {"ids": [one.name for one in asked.papers]} if asked.is_round else {"pmid": seeds[0].pmid or seeds[0].doi}
    entry = new_entry(
        tool,
        [(f"{what} {named}", "")],
        kind="citations",
        source=search.source.name,
        title=search.source.title,
        filters=(*["only results new to the session"][: asked.only_new], f"at most {asked.max_results} results"),
        first=asked.offset + 1,
        request=json.dumps({**who, "kind": asked.kind, "max_results": asked.max_results}),
    )
    async with Recording(entry, session, progress) as recording:
        await progress(0.05, f"asking {len(search.links.services)} services for {what} {papers}")
        seconds = seconds_for(LINKS if len(seeds) > 1 else LINKS_OF_ONE, cap=search.seconds)
        within = 0.0 if tool == WATCH_TOOL else KEPT
        answers = await search.links.answers(seeds, directions, seconds=seconds, within=within)
        problems = _problems(answers)
        if not any(one.links for one in answers):
            _note(recording, answers, (), named)
            causes = [one.error for one in answers if one.error]
            told = f"{' '.join(problems.values())} Try again in a minute."
            if not problems:
                told = f"No service that is switched on can be asked for {what} {papers}."
                told += " PubMed alone knows similar papers, by their PMIDs." if asked.kind == "similar" else ""
            raise AllProvidersFailedError(told, causes)
        candidates, unexplained = await _candidates(search.links, answers, seeds)
        _note(recording, answers, candidates, named)
        page = await _page(search, asked, answers, candidates, "; ".join(titles), session, recording)
        result = page.but(
            query=f"{what} {papers}",
            errors=(*problems.values(), *unexplained, *page.errors),
            warnings=(
                *told,
                *page.warnings,
                *_unasked(search.links.services, answers, directions, len(seeds)),
                *_other_papers(_listed_as(seeds, answers)),
                *earlier,
                *session.warnings(),
            ),
            ordered_by=_order(asked, len(seeds)),
            providers=tuple(
                ProviderReport(name=name, status=one.status, results=one.results)
                for name, one in zip(dict.fromkeys(one.service.name for one in answers), page.queries, strict=True)
            ),
        )
        recording.ended(result, new=recording.entry.new, known=recording.entry.ids)
    return recording.with_problem(result)


def _order(asked: Round, seeds: int) -> str:
    if seeds > 1:
        return f"to how many of {seeds:,} papers each is linked, then by how many services"
    if asked.kind == "similar":
        return "the most similar first, as PubMed has them"
    return "the newest in PubMed first, then what PubMed does not have"


async def _seeds(
    indexes: LinkIndexes, asked: Round, own: Iterable[Publication], session: EvidenceStore
) -> tuple[list[RecordIds], list[str], list[str]]:
    """The papers that are named, each once with all its identifiers; the titles of some; and who was left out. `own`
    are the publications of the session."""
    wanted = list[RecordIds]()
    for one in asked.papers:
        mark = clean_line(one.name).removeprefix(MARKED)
        by_mark = [ids_of(held) for held in own if matches_mark(held, mark)] if one.name.startswith(MARKED) else []
        by_id = (await session.publications([one.evidence])).values() if one.evidence else ()
        found = [ids for ids in (*by_mark, *map(ids_of, by_id), one.ids) if is_paper(ids)]
        if not found:
            why = f'No paper of this session is marked "{mark}"' if one.name.startswith(MARKED) else ""
            raise InvalidInputError(f"{why or f'{one.name[:60]} is not a paper with a PMID, PMCID or DOI'}.")
        wanted += found if by_mark else found[:1]
    records, whys = await _records(indexes, list(dict.fromkeys(wanted))[:MAX_PAPERS], session)
    seeds = dict[str, RecordIds]()
    told = list[str]()
    if len(wanted) > MAX_PAPERS:
        told.append(f"Only the first {MAX_PAPERS} of {len(wanted):,} papers were followed: pass the others by id.")
    for ids in dict.fromkeys(wanted[:MAX_PAPERS]):
        record, is_known = records.get(ids), ids in records or whys[ids] != NO_RECORD
        full = ids_of(record).completed(ids) if record else ids
        if is_known and (full.pmid or full.doi):
            seeds.setdefault(full.pmid or full.doi, full)
        else:
            told.append(f"{_shown(ids)} was left out: {whys.get(ids, 'it has neither a PMID nor a DOI.')}")
        if record and is_marked(record.status):
            told.append(f"{_shown(full)} itself is marked {status_label(record.status)}.")
    unread = [why for ids, why in whys.items() if ids not in records and why != NO_RECORD]
    if unread:
        told.append(f"The status of {counted(len(unread), 'paper')} is unchecked: {unread[0]}")
    if not seeds:
        raise InvalidInputError(" ".join(told) or 'Pass pmid, or ids: PMIDs, DOIs, evidence ids or "marked:included".')
    return [*seeds.values()], [one.title for one in records.values()][:_TITLES], told


NO_RECORD = "nobody has a record of it."


async def _records(
    indexes: LinkIndexes, wanted: Sequence[RecordIds], session: EvidenceStore
) -> tuple[dict[RecordIds, Publication], dict[RecordIds, str]]:
    """The record of each paper, in the session or else looked up together with the others; and why there is none."""
    ids = await session.known(await run_sync(lambda: [*map(stub_of, wanted)]))
    held = await session.publications(list(filter(None, ids)))
    found = {one: held[id] for one, id in zip(wanted, ids, strict=True) if id in held and held[id].is_record}
    missing = [one for one in wanted if one not in found]
    lookups = await indexes.records.find([*map(Wanted, missing)], seconds_before(TO_KEEP_RESULTS)) if missing else []
    looked_up = dict(zip(missing, lookups, strict=True))
    found |= {one: lookup.record for one, lookup in looked_up.items() if lookup.record}
    whys = {one: lookup.failures[0].message if lookup.failures else NO_RECORD for one, lookup in looked_up.items()}
    return {one: found[one] for one in wanted if one in found}, whys


def _shown(ids: RecordIds) -> str:
    return f"PMID {ids.pmid}" if ids.pmid else ids.doi or ids.pmcid or ids.preprint_number


def _note(recording: Recording, answers: Sequence[Answers], candidates: Sequence[Candidate], named: str) -> None:
    """What all services together answered for each direction, instead of the only query."""
    by_direction, queries = dict[Direction, list[Answers]](), list[LoggedQuery]()
    for one in answers:
        by_direction.setdefault(one.direction, []).append(one)
    for direction, own in by_direction.items():
        counts = "; ".join(f"{one.service.title} {_count(one)}" for one in own)
        some = sum(direction in one.seeds for one in candidates)
        status = "ok" if any(one.links for one in own) else "failed"
        query = LoggedQuery(query=f"articles {LISTS[direction]} {named}", results=some, detail=counts)
        queries.append(query.model_copy(update={"status": status}))
    titles = ", ".join(dict.fromkeys(one.service.title for one in answers if one.links))
    recording.note(queries=tuple(queries) or recording.entry.queries, title=titles or recording.entry.title)


def _count(answers: Answers) -> str:
    """How many papers a service lists, and how many more it only counts."""
    more = sum(linked.unnamed for linked in answers.links.values())
    return f"{len(answers.found)}{f' and {more:,} not read' if more else ''}" if answers.links else "failed"


async def _candidates(
    indexes: LinkIndexes, answers: Sequence[Answers], seeds: Sequence[RecordIds]
) -> tuple[list[Candidate], list[str]]:
    """All papers that are listed, and who could not explain their names."""
    said, problems = [*map(names_of_ids, seeds), *(names for one in answers for names in one.found)], list[str]()
    end = anyio.current_time() + seconds_for(NAMES)
    candidates = await run_sync(merged, answers, said, seeds)
    for kinds in (NOT_FINDABLE, ("doi",)):  # OpenAlex may explain a number of its own by a DOI
        names = [one.name for one in candidates if one.name.startswith(kinds)]
        known, failed = await indexes.explained(names, seconds=end - anyio.current_time())
        said, problems = [*said, *known], [*problems, *failed]
        candidates = await run_sync(merged, answers, said, seeds) if known else candidates
    return candidates, problems


async def _page(
    search: SourceSearch,
    asked: Round,
    answers: Sequence[Answers],
    candidates: Sequence[Candidate],
    question: str,
    session: EvidenceStore,
    recording: Recording,
) -> SearchResult:
    """The candidates from the offset on, with their records, kept in the session and noted in its log."""
    findable = [one for one in candidates if not one.name.startswith(NOT_FINDABLE)]
    stubs = await run_sync(lambda: [stub_of(one.ids) for one in findable])
    ids, total = await session.known(stubs), len(findable)
    places = [place for place in range(asked.offset, total) if not (asked.only_new and ids[place])][: asked.max_results]
    last = places[-1] + 1 if len(places) == asked.max_results else total
    skipped = [ids[place] for place in range(asked.offset, last) if place not in places]
    recording.note(total=total, examined=max(0, last - asked.offset))
    await recording.progress(0.5, f"fetching {len(places)} of {total:,} records")
    chosen = {findable[place].ids: findable[place] for place in places}
    after = {findable[place].ids: place + 1 for place in places}
    records, whys = await _records(search.links, [*chosen], session)
    outage = next((why for why in whys.values() if why != NO_RECORD), "")
    if outage and not records:
        named = clipped(", ".join(map(_shown, chosen)), 200)
        raise AllProvidersFailedError(f"No record could be fetched ({named}): {outage}", ())
    services = tuple(dict.fromkeys(one.service.title for one in answers))
    found_by = {ids: tuple(chosen[ids].services) for ids in records}
    ranking = Ranking((), total, True, {}, {}, 0, {}, services)
    found = [one.model_copy(update={**WITHOUT_DECISION, "found_by": found_by[ids]}) for ids, one in records.items()]
    kept = await search.keep(found, clipped(question, QUERY_LIMIT), ranking, session, recording, stubs)
    evidence = _with_counts(kept, [chosen[one] for one in records]) if asked.is_round else kept.evidence
    following = {id: after[one] for id, one in zip(kept.ids, records, strict=True)}
    recording.note(ids=(*recording.entry.ids, *skipped))
    lost = dict[str, list[str]]()
    for one in (one for one in chosen if one not in records):
        lost.setdefault(whys[one], []).append(_shown(one))
    unknown = lost.pop(NO_RECORD, [])
    recording.note(examined=recording.entry.examined - sum(map(len, lost.values())))
    new, of = ids.count(""), counted(total, "candidate")
    remarks = [f"{of}, each counted once: {new:,} new to this session, {total - new:,} already in it."]
    if not candidates:
        what = clipped(" or ".join(one.query for one in recording.entry.queries), QUERY_LIMIT)
        remarks = [f"No {what} are listed by {recording.entry.title}."]
    if hidden := len(candidates) - total:
        remarks.append(f"{counted(hidden, 'more paper')} cannot be shown: no PMID or DOI of them is known.")
    remarks += [f"{', '.join(unknown)} could not be fetched: {NO_RECORD}"] if unknown else []
    held = await session.publications([id for id in ids[asked.offset : last] if id])
    examined = [(findable[place], held[ids[place]]) for place in range(asked.offset, last) if ids[place] in held]
    pairs = [(one.names, record) for one, record in examined]
    remarks += _other_papers((*pairs, *((chosen[ids].names, one) for ids, one in records.items())))
    return SearchResult(
        session_id=session.session_id,
        query="",
        evidence=evidence,
        queries=with_numbers_shown(_reports(answers), evidence),
        total_found=total,
        errors=(*(f"{', '.join(some)} could not be fetched: {why}" for why, some in lost.items()), *kept.errors),
        warnings=(*remarks, *kept.problems),
        duplicates_removed=len(skipped) + len(kept.ids) - len(evidence),
        already_known=len(skipped),
        related=kept.related,
        next_offset=last if last < total else -1,
        offsets=() if asked.only_new else tuple(following[one.id] for one in evidence),
    )


def _with_counts(kept: Kept, candidates: Sequence[Candidate]) -> tuple[Evidence, ...]:
    """The items with how many of the papers asked about each is linked to, and how; candidates with one record are
    one."""
    linked = dict[str, Candidate]()
    for id, one in zip(kept.ids, candidates, strict=True):
        whole = linked.setdefault(id, Candidate(one.name))
        for direction, places in one.seeds.items():
            whole.seeds.setdefault(direction, set()).update(places)
    counts = ((item, linked[item.id], linked[item.id].seeds) for item in kept.evidence)
    return tuple(
        item.but(
            seeds=one.count,
            cites_seeds=len(seeds.get("cited_by", ())),
            cited_by_seeds=len(seeds.get("references", ())),
        )
        for item, one, seeds in counts
    )


def _other_papers(pairs: Iterable[tuple[Set[str], Publication | RecordIds]]) -> list[str]:
    """Which papers services name by a DOI that, by their records, is not theirs."""
    found = dict[str, str]()
    for names, one in pairs:
        listed = sorted(name.removeprefix("doi:") for name in names if name.startswith("doi:"))
        if one.doi and listed and one.doi.lower() not in map(str.lower, listed):
            shown = f"PMID {one.pmid}" if one.pmid else one.doi
            found[shown] = (
                f"{shown} is listed with a DOI that is not its own ({', '.join(listed)}), perhaps another paper."
            )
    return [*found.values()]


def _listed_as(seeds: Iterable[RecordIds], answers: Iterable[Answers]) -> Iterator[tuple[Set[str], RecordIds]]:
    """The names that services have for the papers asked about themselves."""
    own = {f"pmid:{one.pmid}": one for one in seeds if one.pmid}
    for names in (names for one in answers for names in one.found):
        yield from ((names, own[name]) for name in names if name in own)


def _unasked(
    services: Sequence[LinkLookup], answers: Sequence[Answers], directions: Sequence[Direction], seeds: int
) -> Iterator[str]:
    """What could not be followed, by no fault of the services."""
    for title, own in _by_service(answers).items():
        if unnamed := sum(linked.unnamed for one in own for linked in one.links.values()):
            more = counted(unnamed, "more link")
            yield f"{title} counts {more} than were read: to works without a number (theses, books), or past its limit."
    asked = {one.service.title: len(one.wanted) for one in answers}
    able = [one.title for one in services if not {*directions}.isdisjoint(one.directions)]
    unasked = {title: left for title in able if (left := seeds - asked.get(title, 0)) > 0}
    for title, count in unasked.items():
        yield f"{title} could not be asked about {count:,} of the papers: they have no number that it knows."


def _by_service(answers: Sequence[Answers]) -> dict[str, list[Answers]]:
    """The answers of each service in all directions, by its title."""
    found = dict[str, list[Answers]]()
    for one in answers:
        found.setdefault(one.service.title, []).append(one)
    return found


def _problems(answers: Sequence[Answers]) -> dict[str, str]:
    """By service, about how many papers it did not say all, and why."""
    found = dict[str, str]()
    for title, own in _by_service(answers).items():
        missing = {place for one in own for place in one.wanted if place not in one.links}
        if errors := [one.error.message for one in own if one.error]:
            of = len(own[0].wanted)
            about = f" about {len(missing)} of {of} papers" if of > 1 else ""
            found[title] = f"{title} has not answered{about}: {errors[0]}"
    return found


def _reports(answers: Sequence[Answers]) -> list[QueryReport]:
    """The outcome for each service in all directions."""
    return [
        QueryReport(
            index=number,
            query=title,
            status="ok" if any(one.links for one in own) else "failed",
            results=len({names for one in own for names in one.found}),
        )
        for number, (title, own) in enumerate(_by_service(answers).items(), start=1)
    ]
