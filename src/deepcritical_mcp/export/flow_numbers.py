"""The numbers of a PRISMA 2020 flow diagram, and the distinct searches of a log, as far as a session knows them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, get_args

from deepcritical_mcp.models import RELEVANT, LoggedSearch, Publication, asked_on
from deepcritical_mcp.text import clean_line, counted

SearchMethod = Literal["database", "register", "website", "citation searching", "look-up", "other"]


class SearchedSource(NamedTuple):
    """A source's name, what PRISMA 2020 counts it as, and the interface that it is searched through; "" if that is
    named in each search."""

    name: str
    method: SearchMethod
    interface: str = ""


SEARCHED: Mapping[str, SearchedSource] = {
    "pubmed": SearchedSource("PubMed", "database", "the NCBI E-utilities"),
    "preprints": SearchedSource("Europe PMC (preprints)", "database", "its RESTful web service"),
    "trials": SearchedSource("ClinicalTrials.gov", "register", "its API, version 2"),
    "web": SearchedSource("Web search", "website"),
}
"""Sources by their wire names; another one that can be searched is a database."""
LOOK_UPS = SearchedSource("Look-ups of known records", "look-up")
OF_FILE, NO_DATABASE = "a file that was exported from it", "Library"
OTHER_FILES = SearchedSource("Files of records from no named database", "other")
UNLOGGED = SearchedSource("Added without a logged search", "other")


def searched_source(search: LoggedSearch) -> SearchedSource:
    """What a logged search searched."""
    if search.kind == "file":
        is_named = search.title != NO_DATABASE
        return SearchedSource(search.title, "database", OF_FILE) if is_named else OTHER_FILES
    if search.kind != "search":
        return SearchedSource("Citation searching", "citation searching") if search.kind == "citations" else LOOK_UPS
    return SEARCHED.get(search.source, SearchedSource(search.title, "database"))


PAGING_LIMITS = ("at most ", "only results new")
"""The beginnings of limits that do not make it another search."""
_SINCE = ("added to ", "posted since ")
"""Those of the limit with which a watch looks for what was added since a day."""


class DistinctSearch:
    """A search with all of its pages and repetitions: what it led to, and how many of its `total` results were
    examined, each counted once. `runs` are the pages, each as often as it was asked for; some may overlap."""

    def __init__(self, runs: Sequence[LoggedSearch]) -> None:
        self.source, self.queries = searched_source(runs[0]), tuple(one.query for one in runs[0].queries)
        self.ids, self.total = {id for one in runs for id in one.ids}, max(one.total for one in runs)
        pages: dict[int, list[LoggedSearch]] = {}
        for one in runs:
            pages.setdefault(one.first, []).append(one)
        reached = self.examined = self.duplicates = self.left_out = 0
        for first, some in sorted(pages.items()):
            last = first - 1 + max(one.examined for one in some)
            new = max(0, last - max(reached, first - 1))
            # If a page overlaps the one before it, only what it had beyond that one counts.
            most = new if first <= reached else last + max(one.duplicates + one.left_out for one in some)
            self.duplicates += min(most, max(one.duplicates for one in some))
            self.left_out += min(most, max(one.left_out for one in some))
            self.examined, reached = self.examined + new, max(reached, last)


def distinct_searches(log: Sequence[LoggedSearch]) -> list[DistinctSearch]:
    """The searches that were answered, without look-ups: pages are put together, and a repeated page counts once.

    What a watch found when it repeated a search belongs to that search, as far as no other had found it.
    """
    again, pages = repetitions(log), dict[tuple[object, ...], list[LoggedSearch]]()
    for place, one in enumerate(log):
        if one.kind != "lookup" and not one.failed and place not in again:
            pages.setdefault((*_asked(one), _lasting(one)), []).append(one)
    searches = {key: DistinctSearch(some) for key, some in pages.items()}
    known = {id for search in searches.values() for id in search.ids}
    for place in sorted(again):
        one = log[place]
        asked, fresh = _asked(one), {*one.ids} - known
        alike = [key for key in searches if key[: len(asked)] == asked]
        searches[max(alike, key=lambda key: key[-1] == _lasting(one))].ids |= fresh
        known |= fresh
    return list(searches.values())


def repetitions(log: Sequence[LoggedSearch]) -> set[int]:
    """The positions of entries in which a watch repeated an answered search, for what had been added since or
    unchanged. A watch that makes up for a failed or incomplete search repeats nothing."""
    answered, whole, found = set[tuple[object, ...]](), set[tuple[object, ...]](), set[int]()
    for place, one in enumerate(log):
        asked, lasting = _asked(one), (*_asked(one), _lasting(one))
        if one.is_watch and (lasting in whole or (asked in answered and has_since(one))):
            found.add(place)
        elif one.kind != "lookup" and not one.failed:
            answered.add(asked)
            if one.is_whole:
                whole.add(lasting)
    return found


def _asked(one: LoggedSearch) -> tuple[object, ...]:
    return one.kind, one.source, tuple(dict.fromkeys(query.query for query in one.queries))


def _lasting(one: LoggedSearch) -> tuple[str, ...]:
    """The limits without those of one run."""
    of_one_run = (*PAGING_LIMITS, *(_SINCE if one.is_watch else ()))
    return tuple(limit for limit in one.filters if not limit.startswith(of_one_run))


def has_since(one: LoggedSearch) -> bool:
    """Whether a watch asked only for what had been added since a day."""
    return one.is_watch and any(limit.startswith(_SINCE) for limit in one.filters)


class CitationRound(NamedTuple):
    """A round of citation searching: the links of some papers were followed, in one call or in several.

    Attributes:
        number: of the round in its session, from 1; `at` is when it began.
        papers: how many papers it started from.
        candidates: what is linked to them, as far as `services` said; `examined` of them were looked at while all of
            these answered about every paper.
        is_whole: whether they ever did.
        decisions: how many of what no earlier entry of the log had found were decided how, "" for undecided.
        undecided: how many of everything that it led to have no decision.
        unfollowed: how many papers that count as relevant now neither it nor a round before it followed to the end, in
            both directions.
    """

    number: int
    at: str
    papers: int
    candidates: int
    examined: int
    is_whole: bool
    services: str
    decisions: Mapping[str, int]
    undecided: int
    unfollowed: int

    @property
    def verdict(self) -> str:
        """What came of it, and whether it says that there is nothing more to be found this way (saturation)."""
        new, unseen = sum(self.decisions.values()), self.candidates - self.examined
        counts = ", ".join(f"{count} {name or 'undecided'}" for name, count in sorted(self.decisions.items()))
        told = f"Round {self.number} of citation searching, from {counted(self.papers, 'paper')}, led to "
        told += f"{counted(new, 'record')} that no earlier search had found{f' ({counts})' if new else ''}."
        if any(self.decisions.get(one) for one in RELEVANT):
            return told
        missing = [f"{self.undecided:,} without a decision"] if self.undecided else []
        missing += [f"{unseen:,} of {counted(self.candidates, 'candidate')} not looked at"] if unseen > 0 else []
        missing += [] if self.is_whole else ["not every service answered"]
        if self.unfollowed:
            missing.append(f"{counted(self.unfollowed, 'included paper')} not followed to the end in both directions")
        verdict = (
            f"saturation is open ({', '.join(missing)})"
            if missing
            else f"citation searching is saturated, according to {self.services}"
        )
        return f"{told} Nothing of it was included: {verdict}."


def citation_rounds(log: Sequence[LoggedSearch], publications: Iterable[Publication]) -> list[CitationRound]:
    """The rounds in which the links of several papers were followed, in their order; links of a single paper that a
    call named by `pmid` are none, and similar papers are not linked by citations."""
    held = {one.id: one for one in publications}
    relevant = [one for one in held.values() if one.screening in RELEVANT and not one.is_note and (one.pmid or one.doi)]
    followed = set[str]()
    rounds, known = dict[tuple[object, ...], list[LoggedSearch]](), set[str]()
    new: dict[tuple[object, ...], set[str]] = {}
    for one in log:
        is_round = one.kind == "citations" and '"ids"' in one.request and '"similar"' not in one.request
        if is_round and not one.failed:
            rounds.setdefault(_asked(one), []).append(one)
            new.setdefault(_asked(one), set()).update({*one.ids} - known)
        known.update(one.ids)
    found: list[CitationRound] = []
    for number, (key, runs) in enumerate(rounds.items(), start=1):
        complete = [one for one in runs if one.is_whole]
        seen = DistinctSearch(complete or runs)
        papers = runs[0].queries[0].query.split(", ")
        if complete and seen.examined >= seen.total and len(seen.queries) > 1:
            followed |= {paper.split()[-1].lower() for paper in papers}
        round_ = CitationRound(
            number=number,
            at=runs[0].at,
            papers=len(papers),
            candidates=seen.total,
            examined=seen.examined,
            is_whole=bool(complete),
            services=runs[-1].title,
            decisions=Counter(held[id].screening if id in held else "removed" for id in new[key]),
            undecided=sum(id in held and not held[id].screening for id in {id for one in runs for id in one.ids}),
            unfollowed=sum(followed.isdisjoint((one.pmid, one.doi.lower())) for one in relevant),
        )
        found.append(round_)
    return found


_ORDER = get_args(SearchMethod)
NO_REASON = "no reason given"


class IdentifiedRecords(NamedTuple):
    """How many records a source led to. `searches` are distinct: pages and repetitions of one count once."""

    source: SearchedSource
    records: int
    searches: int


class FlowNumbers:
    """The numbers of a session's flow diagram. `publications` are all that it has: what is missing counts as removed.

    A record that three searches found is identified three times and screened once. The pages of a search, and the same
    search asked again, also by a watch, identify a record once. A look-up identifies only what no search has found.
    `total_identified` = `duplicates` + `left_out` + `removed` + `records`, and
    `records` = `excluded_records` + `included` + `cited` + `undecided`.

    Attributes:
        identified: records by source, before duplicates were removed: databases, registers, websites, then others.
        duplicates: records found more than once, by one search or by several.
        left_out: results that filters or limits left out after the source had answered.
        removed: records that searches had led to and that the session does not have any more.
        records: distinct records in the session, without the user's notes.
        excluded: how many of `records`, by their reason (`NO_REASON` if none was given), most frequent first; those
            whose full text is not in the session.
        excluded_with_text: the same for records whose full text is in the session.
        included: of `records`, those marked as included; `cited` are those marked as cited only, and not among them.
        undecided: of `records`, those without a decision.
        retrieved: of `records`, those whose full text, page or whole registration is in the session.
        not_retrieved: of `records`, those whose full text was asked for but not found, and is not in the session.
        retracted: ids of the `records` that are retracted, each with its decision.
        total_identified: records of all sources, before duplicates were removed.
        excluded_records: those that were excluded, for whatever reason.
        screened: those with a decision; whether anybody looked at the others is not known.
        asked: when the status of the records was last asked; `unchecked` is how many nobody was asked about.
    """

    def __init__(self, log: Sequence[LoggedSearch], publications: Iterable[Publication]) -> None:
        known = {one.id: one for one in publications if not one.is_note}
        records = list(known.values())
        searches, look_ups = distinct_searches(log), [one for one in log if one.kind == "lookup" and not one.is_check]
        found = {id for search in searches for id in search.ids}
        looked_up = {id for one in look_ups for id in one.ids} - found
        asked = {id for one in log if one.tool == "get_full_text" for id in one.ids}
        excluded = [one for one in records if one.screening == "excluded"]
        decisions = Counter(one.screening for one in records)
        counts, times = Counter[SearchedSource](), Counter(one.source for one in searches)
        for one in searches:
            counts[one.source] += len(one.ids) + one.duplicates + one.left_out
        times[LOOK_UPS] = len(look_ups)
        others = {LOOK_UPS: len(looked_up), UNLOGGED: len(known.keys() - found - looked_up)}
        counts.update({source: count for source, count in others.items() if count})
        sources = sorted(counts, key=lambda source: _ORDER.index(source.method))
        self.identified = tuple(IdentifiedRecords(source, counts[source], times[source]) for source in sources)
        self.duplicates = sum(len(one.ids) + one.duplicates for one in searches) - len(found)
        self.left_out = sum(one.left_out for one in searches)
        self.removed = len((found | looked_up) - known.keys())
        self.records = len(records)
        self.excluded = _reasons(one for one in excluded if not has_whole_text(one))
        self.excluded_with_text = _reasons(one for one in excluded if has_whole_text(one))
        self.included, self.cited, self.undecided = (decisions[one] for one in ("included", "cited", ""))
        self.retrieved = sum(map(has_whole_text, records))
        self.not_retrieved = sum(not has_whole_text(known[id]) for id in asked & known.keys())
        self.retracted = {one.id: one.screening for one in records if one.status == "retracted"}
        self.asked = asked_on(*(one.status_checked for one in records))
        self.unchecked = sum(not one.status_checked for one in records)
        self.total_identified = sum(one.records for one in self.identified)
        self.excluded_records = len(excluded)
        self.screened = self.records - self.undecided


def _reasons(excluded: Iterable[Publication]) -> Mapping[str, int]:
    """Reasons that differ in case or a full stop only are one."""
    written, counts = dict[str, str](), Counter[str]()
    for one in excluded:
        reason = clean_line(one.screening_reason).rstrip(".") or NO_REASON
        counts[written.setdefault(reason.casefold(), reason)] += 1
    return dict(counts.most_common())


def has_whole_text(record: Publication) -> bool:
    """Whether the session has more of it than a record or a note: a full text, a page or a registration with parts."""
    return any(text.kind == "full_text" or text.parts for text in record.texts)
