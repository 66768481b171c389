"""A paragraph on the searches for the methods section, and what its author has to add."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from deepcritical_mcp.export.cell_tables import plain_line
from deepcritical_mcp.export.distinct_search import (
    PAGING_LIMITS,
    DistinctSearch,
    distinct_searches,
    has_since,
    made_good,
    repetitions,
)
from deepcritical_mcp.export.flow_numbers import FlowNumbers
from deepcritical_mcp.export.searched_sources import SEARCHED, UNLOGGED, SearchedSource, searched_source
from deepcritical_mcp.models import LoggedSearch
from deepcritical_mcp.text import clean_line, counted

MONTH_NAMES = "January February March April May June July August September October November December".split()
_MAX_LISTED = 8


def methods_paragraph(log: Sequence[LoggedSearch], numbers: FlowNumbers) -> str:
    """What was searched, how, and what came of it: plain sentences in the past tense, as Markdown.

    It says only what the log knows, and also which searches failed.
    """
    again = repetitions(log)
    numbered = {number: one for number, one in enumerate(log, start=1) if number - 1 not in again}
    others = [one for one in numbered.values() if one.kind != "search" and not one.failed]
    answered = [one for one in numbered.values() if one.kind == "search" and not one.failed]
    sentences = ["No search of a database, register or website was answered in this session."]
    if answered:
        distinct = distinct_searches(answered)
        sentences = [*_searched(answered, distinct), *_limits(numbered), *_reach(distinct)]
    sentences += [*_other_methods(others), *_updates([log[place] for place in sorted(again)])]
    counts = _counts(numbers) if answered or others or numbers.records else ()
    return " ".join([*sentences, *counts, *_failures(numbered, made_good(log))])


def _searched(answered: Sequence[LoggedSearch], distinct: Sequence[DistinctSearch]) -> Iterator[str]:
    sources = Counter(one.source for one in distinct)
    named = _listed([_named(source, answered) for source in sources])
    versions = _listed(sorted({one.version for one in answered if one.version}))
    yield (
        f"{named[0].upper()}{named[1:]} {_was(len(sources))} searched {_period(answered)} with "
        f"deepcritical-mcp{f' {versions}' if versions else ''}{', each on its own' if len(sources) > 1 else ''}."
    )
    asked = ((one.source, query) for one in answered for query in one.queries if query.status == "ok")
    queries = len({(source, query.sent or query.query) for source, query in asked})
    each = [f"{plain_line(source.name)}: {count}" for source, count in sources.items()]
    split = f" ({'; '.join(each)})" if len(each) > 1 else ""
    count = len(distinct)
    yield (
        f"{'There was' if count == 1 else 'There were'} {counted(count, 'search', 'searches')}{split} with "
        f"{counted(queries, 'query', 'queries')}; the table lists each as it was sent."
    )
    if any(len(one.queries) > 1 for one in distinct):
        yield "Where a search had several queries, their results were ranked together."
    if any(query.translation for one in answered for query in one.queries):
        yield "A source may read a query in its own way, e.g. map it to subject headings; the second table shows how."


def _named(source: SearchedSource, answered: Iterable[LoggedSearch]) -> str:
    """Its name and interface; of the web, the engines that answered."""
    titles = (one.title.partition(" (")[2].removesuffix(")") for one in answered if searched_source(one) == source)
    engines = "; ".join(dict.fromkeys(filter(None, titles))) if source.method == "website" else ""
    through = source.interface or plain_line(engines)
    name = "the web" if source.method == "website" else plain_line(source.name)
    return name + (f" through {through}" if through else "")


def _limits(log: Mapping[int, LoggedSearch]) -> Iterator[str]:
    """Each limit with the numbers of the searches that had it."""
    limited: dict[str, list[int]] = {}
    for number, one in log.items():
        for limit in (clean_line(one) for one in one.filters if not one.startswith(PAGING_LIMITS)):
            if one.kind == "search" and not one.failed:
                limited.setdefault(limit, []).append(number)
    if not limited:
        yield "No limits were set, e.g. by date, language or study type, other than those in the queries themselves."
        return
    said = [f"{plain_line(limit)} ({_numbered(where)})" for limit, where in [*limited.items()][:_MAX_LISTED]]
    more = len(limited) - len(said)
    others = f"; {more} more {'is' if more == 1 else 'are'} in the table" if more else ""
    yield f"Limits were: {'; '.join(said)}{others}. No others were set, except in the queries themselves."


def _reach(distinct: Sequence[DistinctSearch]) -> Iterator[str]:
    depths = sorted({one.examined for one in distinct if one.total})
    beyond = sum(one.total > one.examined for one in distinct)
    if not depths:
        yield "None of the searches had any results." if len(distinct) > 1 else "The search had no results."
        return
    if not beyond:
        yield "All results were collected."
        return
    depth = f"{depths[0]:,}" if len(depths) == 1 else f"{depths[0]:,} to {depths[-1]:,}"
    yield (
        f"Results were collected in the order in which the source gave them, {depth} of each search; {beyond} of "
        f"{counted(len(distinct), 'search', 'searches')} had more results than were collected (see the table)."
    )


def _other_methods(log: Sequence[LoggedSearch]) -> Iterator[str]:
    links = [one for one in log if one.kind == "citations"]
    looks = [one for one in log if one.kind == "lookup" and not one.is_check]
    if links:
        yield f"Citing, cited or similar papers were looked for {_times(len(links))} ({_period(links)})."
    if looks:
        yield f"Known records were fetched by identifier or reference {_times(len(looks))}."


def _updates(repeated: Sequence[LoggedSearch]) -> Iterator[str]:
    """When a watch repeated searches, and what that gave."""
    answered = [one for one in repeated if not one.failed]
    if answered:
        last, new = max(one.at for one in answered), sum(one.new for one in repeated)
        what = ", for what had been added since" if all(map(has_since, answered)) else ""
        yield (
            f"Searches were last repeated on {_day(last)}{what}; all repetitions together gave "
            f"{counted(new, 'new record')}."
        )
    if failed := sum(one.failed or bool(one.errors) for one in repeated):
        yield f"{counted(failed, 'repetition')} failed or {_was(failed)} incomplete; the table says why."


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def _counts(numbers: FlowNumbers) -> Iterator[str]:
    found, again = numbers.total_identified, numbers.duplicates
    unlogged = sum(one.records for one in numbers.identified if one.source == UNLOGGED)
    by_hand = f", {unlogged} of them without a logged search" if unlogged else ""
    yield (
        f"In all, {counted(found, 'record')} {_was(found)} identified{by_hand}. Records were compared automatically by "
        "PMID, DOI, PMCID and registration number, and by title, authors, year and text where a number was missing; "
        f"{counted(again, 'duplicate')} {_was(again)} removed."
    )
    if numbers.left_out:
        yield f"Filters and limits left out {counted(numbers.left_out, 'result')} after the source had answered."
    if numbers.removed:
        yield f"{counted(numbers.removed, 'record')} {_was(numbers.removed)} removed from the session later."
    yield f"{counted(numbers.records, 'distinct record')} remained."
    if numbers.screened:
        included, excluded = numbers.included, numbers.excluded_records
        cited = f"; {numbers.cited} {_was(numbers.cited)} marked as cited only" if numbers.cited else ""
        yield (
            f"Of these, {numbers.screened} {_was(numbers.screened)} screened: {included} {_was(included)} included and "
            f"{excluded} excluded{cited}; {numbers.undecided} had no decision."
        )


def _was(count: int) -> str:
    return "was" if count == 1 else "were"


def _failures(log: Mapping[int, LoggedSearch], later: Mapping[int, int]) -> Iterator[str]:
    """Which entries failed or were incomplete; `later` has the places of those in which that was made good."""
    missed = {number: one for number, one in log.items() if not one.is_whole}
    for is_good in (False, True):
        for is_failure, verb in ((True, "failed"), (False, "was incomplete")):
            some = {
                number: one
                for number, one in missed.items()
                if one.failed == is_failure and (number - 1 in later) == is_good
            }
            if some:
                again = dict.fromkeys(str(later[number - 1] + 1) for number in some) if is_good else ()
                yield _told_failures(some, verb, [*again])


def _told_failures(entries: Mapping[int, LoggedSearch], verb: str, again: Sequence[str]) -> str:
    """`again` are the numbers of the entries that made them good."""
    said = [f"{number} ({plain_line(one.title)}, {_day(one.at)})" for number, one in entries.items()]
    shown = said[:_MAX_LISTED]
    more = f" and {len(said) - len(shown)} more" if len(said) > len(shown) else ""
    is_one = len(said) == 1
    what = verb if is_one else verb.replace("was", "were")
    numbers = f"{'entry' if len(again) == 1 else 'entries'} {_listed(again)}"
    end = f", but {_was(len(said))} repeated in full later ({numbers})." if again else "; the table says why."
    return f"{'Entry' if is_one else 'Entries'} {_listed(shown)}{more} {what}{end}"


def _numbered(numbers: Sequence[int]) -> str:
    return f"{'search' if len(numbers) == 1 else 'searches'} {_listed(list(map(str, numbers)))}"


def _listed(texts: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(texts[:-1]), *texts[-1:])))


def _period(searches: Iterable[LoggedSearch]) -> str:
    days = sorted(one.at[:10] for one in searches)
    first, last = _day(days[0]), _day(days[-1])
    if first == last:
        return f"on {first}"
    is_same_month = days[0][:7] == days[-1][:7]
    return f"from {first.partition(' ')[0] if is_same_month else first} to {last}"


def _day(at: str) -> str:
    year, month, day = at[:10].split("-")
    return f"{int(day)} {MONTH_NAMES[int(month) - 1]} {year}"


_ALWAYS_LEFT: Mapping[str, str] = {
    "Item 6, contacts": "authors, experts or manufacturers who were asked",
    "Item 7, other methods": "any other way in which records were found",
    "Item 8, full strategies": "who wrote the queries, a person or a language model, and from which concepts",
    "Item 9, limits": "the reason for each limit, and for collecting only the first results where that is so",
    "Item 10, search filters": "the citation of each published filter, and whether it was changed",
    "Item 11, prior work": "strategies of earlier reviews that were adapted",
    "Item 12, updates": "how often, and until when, the searches were repeated",
    "Item 14, peer review": "whether the strategy was peer reviewed, e.g. with PRESS",
    "PRISMA 2020": "who screened, how many reviewers there were, and how they agreed",
}
BLANK = "[…]"
"""What an author replaces."""


def left_to_the_author(log: Sequence[LoggedSearch]) -> Iterator[str]:
    """What PRISMA-S and PRISMA 2020 ask for and no log can know, each with a blank, and which
    kinds of sources were not searched."""
    searched = {one.source for one in log if one.kind == "search" and not one.failed}
    missing = [SEARCHED[name].name for name in ("pubmed", "preprints", "trials") if name not in searched]
    left = dict[str, str]()
    if missing:
        left["Items 1 to 3, sources"] = f"{_listed(missing)} {_was(len(missing))} not searched here: why, or where else"
    left["Items 1 and 2, other databases"] = "Embase, CENTRAL, Scopus and others that were searched elsewhere"
    left["Item 4, online resources"] = "sites that were browsed by hand, and print sources"
    if not any(one.kind == "citations" and not one.failed for one in log):
        left["Item 5, citation searching"] = "none is in this log: whether reference lists were examined"
    yield from (f"{item} ({what}): {BLANK}" for item, what in {**left, **_ALWAYS_LEFT}.items())
