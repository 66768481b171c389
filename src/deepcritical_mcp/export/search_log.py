"""The log of searches as an appendix, with what PRISMA-S asks for, and a paragraph for the methods section."""

from __future__ import annotations

import calendar
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from deepcritical_mcp.export.flow_numbers import (
    PAGING_LIMITS,
    SEARCHED,
    UNLOGGED,
    CitationRound,
    DistinctSearch,
    FlowNumbers,
    IdentifiedRecords,
    SearchedSource,
    citation_rounds,
    distinct_searches,
    has_since,
    repetitions,
    searched_source,
)
from deepcritical_mcp.export.tables import cell, code_cell, csv_table, markdown_table, plain_line
from deepcritical_mcp.models import LoggedQuery, LoggedSearch, Publication
from deepcritical_mcp.text import clean_line, counted, data_lines

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
    return " ".join([*sentences, *counts, *_failures(numbered)])


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
    searches, sent = counted(len(distinct), "search", "searches"), counted(queries, "query", "queries")
    yield f"There {_was(len(distinct))} {searches}{split} with {sent}; the table lists each as it was sent."
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
    said = [
        f"{plain_line(limit)} ({'search' if len(where) == 1 else 'searches'} {_listed([*map(str, where)])})"
        for limit, where in [*limited.items()][:_MAX_LISTED]
    ]
    more = len(limited) - len(said)
    others = f"; {more} more {'is' if more == 1 else 'are'} in the table" if more else ""
    yield f"Limits were: {'; '.join(said)}{others}. No others were set, except in the queries themselves."


def _reach(distinct: Sequence[DistinctSearch]) -> Iterator[str]:
    depths = sorted({one.examined for one in distinct if one.total})
    beyond = sum(one.total > one.examined for one in distinct)
    if not depths:
        yield "None of the searches had any results." if len(distinct) > 1 else "The search had no results."
        return
    depth = f"{depths[0]:,}" if len(depths) == 1 else f"{depths[0]:,} to {depths[-1]:,}"
    order, more = "in the order in which the source gave them", "had more results than were collected (see the table)"
    part = f"{depth} of each search; {beyond} of {counted(len(distinct), 'search', 'searches')} {more}"
    yield f"Results were collected {order}, {part}." if beyond else "All results were collected."


NAMED_FILES = 3
"""Files of one database that are named; of more, their number."""


def _other_methods(log: Sequence[LoggedSearch]) -> Iterator[str]:
    links = [one for one in log if one.kind == "citations"]
    looks = [one for one in log if one.kind == "lookup" and not one.is_check]
    files = [one for one in log if one.kind == "file"]
    if files:
        told = "; ".join(_brought_in(files))
        yield f"Records exported elsewhere were brought in from files ({told}), {_period(files)}."
    if links:
        many = counted(len(links), "search", "searches")
        yield f"Citing, cited or similar papers were looked for in {many} ({_period(links)})."
    if looks:
        yield f"Known records were fetched by identifier or reference in {counted(len(looks), 'look-up')}."


def _brought_in(files: Sequence[LoggedSearch]) -> Iterator[str]:
    """How many records came from each database, and in which files; one that was sent again counts once."""
    by_database = dict[str, dict[str, int]]()
    for one in files:
        by_database.setdefault(one.title, {})[one.queries[0].query] = one.total
    for database, totals in by_database.items():
        names = ", ".join(map(plain_line, totals)) if len(totals) <= NAMED_FILES else counted(len(totals), "file")
        yield f"{plain_line(database)}: {sum(totals.values()):,} from {names}"


def _updates(repeated: Sequence[LoggedSearch]) -> Iterator[str]:
    """When a watch repeated searches, and what that gave."""
    answered = [one for one in repeated if not one.failed]
    if answered:
        last, gave = max(one.at for one in answered), counted(sum(one.new for one in repeated), "new record")
        what = ", for what had been added since" if all(map(has_since, answered)) else ""
        yield f"Searches were last repeated on {_day(last)}{what}; all repetitions together gave {gave}."
    if failed := sum(one.failed or bool(one.errors) for one in repeated):
        yield f"{counted(failed, 'repetition')} failed or {_was(failed)} incomplete; the table says why."


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


def _failures(log: Mapping[int, LoggedSearch]) -> Iterator[str]:
    """Which entries failed or were incomplete, whether or not a later one made up for them."""
    for is_failure in (True, False):
        missed = {number: one for number, one in log.items() if not one.is_whole and one.failed == is_failure}
        if missed:
            said = [f"{number} ({plain_line(one.title)}, {_day(one.at)})" for number, one in missed.items()]
            more = f" and {len(said) - _MAX_LISTED} more" if len(said) > _MAX_LISTED else ""
            what = "failed" if is_failure else f"{_was(len(said))} incomplete"
            entries = f"{'Entry' if len(said) == 1 else 'Entries'} {_listed(said[:_MAX_LISTED])}{more}"
            yield f"{entries} {what}; the table says why."


def _listed(texts: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(texts[:-1]), *texts[-1:])))


def _period(searches: Iterable[LoggedSearch]) -> str:
    days = sorted(one.at[:10] for one in searches)
    first, last = _day(days[0]), _day(days[-1])
    return f"on {first}" if first == last else f"from {first} to {last}"


def _day(at: str) -> str:
    year, month, day = at[:10].split("-")
    return f"{int(day)} {calendar.month_name[int(month)]} {year}"


_ALWAYS_LEFT = [line.split(" | ") for line in data_lines(__file__, "left_to_author.txt")]
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
    yield from (f"{item} ({what}): {BLANK}" for item, what in (*left.items(), *_ALWAYS_LEFT))


COLUMNS = tuple(data_lines(__file__, "search_log_columns.txt"))
"""The columns of the CSV; a row is a query, and the counts of the whole search stand in the row of its first query.

"Query as sent" is empty for look-ups and linked papers: what was asked for is no query of a database."""
_CODE = ("Query", "Query as sent", "Query as the source read it")
_ONLY_IN_CSV = (*_CODE[::2], "Results of the search", "First result examined", "Duplicates", "Left out", "Tool")
_SHOWN = tuple(name for name in COLUMNS if name not in _ONLY_IN_CSV)


_NO_LOG = "No search is in the log of this session. What was searched elsewhere or before the log began is not known."


def search_log_export(
    log: Sequence[LoggedSearch], publications: Iterable[Publication], output: str, *, title: str = ""
) -> str:
    """The log of a session with the title `title`; `publications` are all that the session has (see `FlowNumbers`).

    "markdown" has a table, a paragraph for the methods section, the numbers of a flow diagram, and what is left for
    the author to add. "csv" has a row for each query. "json" is an array of the entries as they were recorded.
    """
    if output == "json":
        return json.dumps([one.model_dump(mode="json") for one in log], ensure_ascii=False, indent=1) + "\n"
    if output == "csv":
        return csv_table(COLUMNS, ([*row.values()] for row in _rows(log)))
    publications = list(publications)
    numbers, rounds = FlowNumbers(log, publications), citation_rounds(log, publications)
    heading = f"# Search log: {plain_line(title)}" if title else "# Search log"
    translated = [row for row in _rows(log) if row["Query as the source read it"]]
    sections = {
        heading: _table(_SHOWN, _rows(log)) if log else _NO_LOG,
        "## Queries as the sources read them": _table(("No.", "Query", "Query as the source read it"), translated)
        if translated
        else "",
        "## For the methods section": " ".join((methods_paragraph(log, numbers), *(one.verdict for one in rounds))),
        "## Citation searching (PRISMA 2020: identification of studies via other methods)": markdown_table(
            _ROUND_COLUMNS, map(_round_row, rounds)
        )
        if rounds
        else "",
        "## Numbers for a PRISMA 2020 flow diagram": markdown_table(_STEP_COLUMNS, map(list, _steps(numbers))),
        "## Left for the author (PRISMA-S)": "".join(f"- {one}\n" for one in left_to_the_author(log)),
    }
    return "\n".join(f"{name}\n\n{text.rstrip()}\n" for name, text in sections.items() if text)


_ROUND_COLUMNS = ("Round", "Began", "From", "Candidates", "Examined", "New", "Included", "Excluded", "Undecided")


def _round_row(one: CitationRound) -> list[str]:
    counts = (one.decisions.get(name, 0) for name in ("included", "excluded", ""))
    began, papers = one.at.replace("T", " ").removesuffix("Z"), counted(one.papers, "paper")
    figures = (one.candidates, one.examined, sum(one.decisions.values()), *counts)
    return [str(one.number), began, papers, *map(str, figures)]


def _table(columns: Sequence[str], rows: Iterable[Mapping[str, str]]) -> str:
    return markdown_table(columns, ([_shown(name, row) for name in columns] for row in rows))


def _shown(column: str, row: Mapping[str, str]) -> str:
    if column == "Query as sent" and not row[column]:
        return cell(row["Query"])
    return code_cell(row[column]) if column in _CODE else cell(row[column])


def _rows(log: Sequence[LoggedSearch]) -> Iterator[Mapping[str, str]]:
    """A row of `COLUMNS` for each query; its number is that of the search, with that of the query if there are several.
    The counts of the whole search stand in the row of its first query."""
    again = repetitions(log)
    for number, search in enumerate(log, start=1):
        queries, known = search.queries or (LoggedQuery(query=""),), max(0, len(search.ids) - search.new)
        counts = (search.total, search.first, search.examined, search.new, known, search.duplicates, search.left_out)
        for place, query in enumerate(queries):
            is_answered, told = query.status == "ok", (query.detail, *(() if place else search.errors))
            cells = (
                f"{number}.{place + 1}" if len(queries) > 1 else f"{number}",
                search.at.replace("T", " ").removesuffix("Z"),
                search.title,
                query.query,
                (query.sent or query.query) if search.kind == "search" else "",
                query.translation,
                "; ".join(search.filters),
                str(query.results) if is_answered else "",
                *("" if place or search.failed else str(count) for count in counts),
                f"{'answered' if is_answered else 'FAILED'}{' when repeated' if number - 1 in again else ''}",
                "; ".join(dict.fromkeys(filter(None, (one.strip().rstrip(".") for one in told)))),
                search.tool,
            )
            yield dict(zip(COLUMNS, cells, strict=True))


_STEP_COLUMNS = ("Step", "Records", "How it is counted")


def _steps(numbers: FlowNumbers) -> Iterator[tuple[str, str, str]]:
    """The numbers of a flow diagram, and where each comes from."""
    for one in numbers.identified:
        label = one.source.method if one.source.method in ("database", "register", "website") else "other methods"
        yield f"Identified: {cell(one.source.name)} ({label})", str(one.records), _origin(one)
    total = str(numbers.total_identified)
    yield "Identified in all", total, "the same record counts once for each search that found it"
    yield "Duplicates removed", str(numbers.duplicates), "found again, by the same search or by another one"
    yield "Left out", str(numbers.left_out), "by filters and limits, after the source had answered"
    if numbers.removed:
        yield "No longer in the session", str(numbers.removed), "found, and removed later; the log has no reason"
    yield "Distinct records", str(numbers.records), "all of these are in the session"
    yield from _decided(numbers)
    yield "Full texts in the session", str(numbers.retrieved), "full texts, pages and whole registrations"
    if numbers.not_retrieved:
        yield "Full texts not retrieved", str(numbers.not_retrieved), "asked for, and not obtained; the remarks say why"
    never = f"; nobody was asked about {numbers.unchecked:,} of them" if numbers.unchecked else ""
    named = f": {_ids(numbers.retracted)}" if numbers.retracted else ""
    if numbers.records:
        yield "Retracted among the records", str(len(numbers.retracted)), f"{numbers.asked}{never}{named}"
    for mark in ("included", "cited") if numbers.retracted else ():
        ids = [id for id, decision in numbers.retracted.items() if decision == mark]
        if ids or mark == "included":
            yield f"Retracted among the {mark}", str(len(ids)), _ids(ids)


def _origin(one: IdentifiedRecords) -> str:
    if one.source.method == "look-up":
        return f"{counted(one.searches, 'look-up')}; only what no search found"
    if one.source == UNLOGGED:
        return "added by hand, or before searches were logged; notes do not count"
    return f"{counted(one.searches, 'search', 'searches')}, pages and repetitions counted once"


def _ids(ids: Iterable[str]) -> str:
    return ", ".join(map(cell, ids))


def _decided(numbers: FlowNumbers) -> Iterator[tuple[str, str, str]]:
    if not numbers.screened:
        yield "Screened", "not recorded", "no decision is in the session"
        return
    yield "Screened", str(numbers.screened), "records with a decision"
    yield "Undecided", str(numbers.undecided), "records without one; whether they were read is not known"
    yield "Excluded", str(numbers.excluded_records), "for the reasons below"
    for reasons, where in ((numbers.excluded, "not in"), (numbers.excluded_with_text, "in")):
        told = f"the full text is {where} the session"
        yield from ((f"Excluded: {cell(reason)}", str(count), told) for reason, count in reasons.items())
    yield "Included", str(numbers.included), "records marked as included"
    if numbers.cited:
        yield "Cited", str(numbers.cited), "records marked as cited, which are not among the included"
