"""A paragraph on the searches for the methods section, and what its author has to add."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from deepcritical_mcp._version import __version__
from deepcritical_mcp.export.cell_tables import plain_line
from deepcritical_mcp.export.distinct_search import PAGING_LIMITS, DistinctSearch, distinct_searches, repetitions
from deepcritical_mcp.export.flow_numbers import FlowNumbers
from deepcritical_mcp.export.searched_sources import SEARCHED, SearchedSource, searched_source
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
    repeated = [log[place] for place in sorted(again)]
    answered = [one for one in numbered.values() if one.kind == "search" and not one.failed]
    if not answered:
        failed = " ".join(_failures(numbered))
        return f"No search of a source was answered in this session. {failed}".strip()
    distinct = distinct_searches(answered)
    sentences = [*_searched(answered, distinct), *_limits(numbered), *_reach(distinct)]
    sentences += [*_other_methods(list(numbered.values())), *_updates(repeated)]
    return " ".join([*sentences, *_counts(numbers), *_failures(numbered)])


def _searched(answered: Sequence[LoggedSearch], distinct: Sequence[DistinctSearch]) -> Iterator[str]:
    sources = Counter(one.source for one in distinct)
    named = [_named(source, answered) for source in sources]
    verb = "was" if len(named) == 1 else "were"
    yield f"{_listed(named)} {verb} searched {_period(answered)} with deepcritical-mcp {__version__}."
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
        yield "The source mapped queries to its own vocabulary; the second table has its reading of each."


def _named(source: SearchedSource, answered: Iterable[LoggedSearch]) -> str:
    """Its name and interface; of a web search, the engines that answered."""
    titles = (one.title.partition(" (")[2].removesuffix(")") for one in answered if searched_source(one) == source)
    engines = "; ".join(dict.fromkeys(filter(None, titles))) if source.method == "website" else ""
    through = source.interface or plain_line(engines)
    return plain_line(source.name) + (f" through {through}" if through else "")


def _limits(log: Mapping[int, LoggedSearch]) -> Iterator[str]:
    """Each limit with the numbers of the searches that had it."""
    limited: dict[str, list[int]] = {}
    for number, one in log.items():
        for limit in (clean_line(one) for one in one.filters if not one.startswith(PAGING_LIMITS)):
            if one.kind == "search" and not one.failed:
                limited.setdefault(limit, []).append(number)
    if not limited:
        yield "No limits by date, language or study type were applied."
        return
    said = [f"{plain_line(limit)} ({_numbered(where)})" for limit, where in [*limited.items()][:_MAX_LISTED]]
    more = len(limited) - len(said)
    others = f"; {more} more {'is' if more == 1 else 'are'} in the table" if more else ""
    yield f"Limits were: {'; '.join(said)}{others}. No other limits were set."


def _reach(distinct: Sequence[DistinctSearch]) -> Iterator[str]:
    beyond = sum(one.total > one.examined for one in distinct)
    if not beyond:
        yield "All results were examined."
        return
    depths = sorted({one.examined for one in distinct if one.total})
    depth = f"{depths[0]:,}" if len(depths) == 1 else f"{depths[0]:,} to {depths[-1]:,}"
    yield (
        f"Results were examined in the order of the source's ranking, {depth} of each search; {beyond} of "
        f"{counted(len(distinct), 'search', 'searches')} had more results than were examined (see the table)."
    )


def _other_methods(log: Sequence[LoggedSearch]) -> Iterator[str]:
    links = [one for one in log if one.kind == "citations" and not one.failed]
    looks = [one for one in log if one.kind == "lookup" and not one.failed]
    if links:
        yield f"Citing, cited or similar papers were looked for {_times(len(links))} ({_period(links)})."
    if looks:
        yield f"Known records were fetched by identifier or reference {_times(len(looks))}."


def _updates(repeated: Sequence[LoggedSearch]) -> Iterator[str]:
    """When a watch repeated searches, and what that gave."""
    answered = [one for one in repeated if not one.failed]
    if answered:
        last, new = max(one.at for one in answered), sum(one.new for one in repeated)
        yield (
            f"Searches were last repeated on {_day(last)}, for what had been added since; all repetitions together "
            f"gave {counted(new, 'new record')}."
        )
    if failed := sum(one.failed or bool(one.errors) for one in repeated):
        yield f"{counted(failed, 'repetition')} failed or {_was(failed)} incomplete; the table says why."


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def _counts(numbers: FlowNumbers) -> Iterator[str]:
    found, again = numbers.total_identified, numbers.duplicates
    yield (
        f"These led to {counted(found, 'record')}. Records were compared automatically by PMID, DOI, PMCID and "
        "registration number, and by title, authors, year and text where a number was missing; "
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


def _failures(log: Mapping[int, LoggedSearch]) -> Iterator[str]:
    whole = {number: one for number, one in log.items() if one.failed}
    partly = {
        number: one
        for number, one in log.items()
        if not one.failed and (one.errors or any(query.status == "failed" for query in one.queries))
    }
    for failed, what in ((whole, "failed and found nothing for that reason"), (partly, "was incomplete")):
        if failed:
            said = [f"no. {number} ({plain_line(one.title)}, {_day(one.at)})" for number, one in failed.items()]
            shown = said[:_MAX_LISTED]
            more = f" and {len(said) - len(shown)} more" if len(said) > len(shown) else ""
            verb = what if len(said) == 1 else what.replace("was", "were")
            yield f"{'Search' if len(said) == 1 else 'Searches'} {_listed(shown)}{more} {verb}; the table says why."


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
    "Item 4, online resources": "sites that were browsed by hand, and print sources.",
    "Item 6, contacts": "authors, experts or manufacturers who were asked.",
    "Item 7, other methods": "any other way in which records were found.",
    "Item 8, full strategies": "who wrote the queries (a person or a language model), and from which concepts.",
    "Item 9, limits": "the reason for each limit, and for examining only the first results where that is so.",
    "Item 10, search filters": "the citation of each published filter, and whether it was changed.",
    "Item 11, prior work": "strategies of earlier reviews that were adapted.",
    "Item 12, updates": "which searches were repeated as updates, and how new records were told from old ones.",
    "Item 14, peer review": "whether the strategy was peer reviewed, e.g. with PRESS.",
    "PRISMA 2020": "who screened, how many reviewers there were, and how they agreed.",
}


def left_to_the_author(log: Sequence[LoggedSearch]) -> Iterator[str]:
    """What PRISMA-S and PRISMA 2020 ask for and no log can know, and which kinds of sources were not searched."""
    searched = {one.source for one in log if one.kind == "search" and not one.failed}
    missing = [SEARCHED[name].name for name in ("pubmed", "preprints", "trials") if name not in searched]
    if missing:
        yield f"Items 1 to 3, sources: {_listed(missing)} {_was(len(missing))} not searched here; say so, or why."
    yield "Items 1 and 2, other databases: Embase, CENTRAL, Scopus and others that were searched elsewhere."
    if not any(one.kind == "citations" and not one.failed for one in log):
        yield "Item 5, citation searching: none is in this log; say whether reference lists were examined."
    yield from (f"{item}: {what}" for item, what in _ALWAYS_LEFT.items())
