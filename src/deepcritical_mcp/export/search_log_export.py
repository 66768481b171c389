"""The log of searches as an appendix: what PRISMA-S asks for, as Markdown, CSV or JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.export.cell_tables import cell, code_cell, csv_table, markdown_table, plain_line
from deepcritical_mcp.export.distinct_search import repetitions
from deepcritical_mcp.export.flow_numbers import ExcludedRecords, FlowNumbers, IdentifiedRecords, flow_numbers
from deepcritical_mcp.export.search_log_methods import left_to_the_author, methods_paragraph
from deepcritical_mcp.models import LoggedQuery, LoggedSearch, Publication
from deepcritical_mcp.text import counted

LOG_OUTPUTS = ("markdown", "csv", "json")
COLUMNS = (
    "No.",
    "Date and time (UTC)",
    "Source",
    "Query",
    "Query as sent",
    "Query as the source read it",
    "Filters and limits",
    "Results of the query",
    "Results of the search",
    "First result examined",
    "Examined",
    "New",
    "Already known",
    "Duplicates",
    "Left out",
    "State",
    "Remarks",
    "Tool",
)
"""The columns of the CSV; a row is a query, and the counts of the whole search stand in the row of its first query.

"Query as sent" is empty for look-ups and linked papers: what was asked for is no query of a database."""
_SHOWN = (
    "No.",
    "Date and time (UTC)",
    "Source",
    "Query as sent",
    "Filters and limits",
    "Results of the query",
    "Examined",
    "New",
    "Already known",
    "State",
    "Remarks",
)
_ADVICE = re.compile(r"Try again\b[^.]{0,120}(?:\.|$)")
"""What a message says to whoever called, and no appendix."""
_CODE = ("Query", "Query as sent", "Query as the source read it")


def search_log_export(
    log: Sequence[LoggedSearch], publications: Iterable[Publication], output: str, *, title: str = ""
) -> str:
    """The log of a session with the title `title`; `publications` are all that the session has (see `flow_numbers`).

    "markdown" has a table, a paragraph for the methods section, the numbers of a flow diagram, and what is left for
    the author to add. "csv" has a row for each query. "json" is an array of the entries as they were recorded.

    Raises:
        InvalidInputError: there is no such output.
    """
    if output == "json":
        return json.dumps([one.model_dump(mode="json") for one in log], ensure_ascii=False, indent=1) + "\n"
    if output == "csv":
        return csv_table(COLUMNS, ([row[name] for name in COLUMNS] for row in _rows(log)))
    if output != "markdown":
        raise InvalidInputError(
            f'There is no output "{output[:40]}" of a search log. There are {", ".join(LOG_OUTPUTS)}.'
        )
    numbers = flow_numbers(log, publications)
    heading = f"# Search log: {plain_line(title)}" if title else "# Search log"
    sections = {
        heading: _table(log),
        "## Queries as the sources read them": _translations(log),
        "## For the methods section": methods_paragraph(log, numbers),
        "## Numbers for a PRISMA 2020 flow diagram": flow_table(numbers),
        "## Left for the author (PRISMA-S)": "".join(f"- {one}\n" for one in left_to_the_author(log)),
    }
    return "\n".join(f"{name}\n\n{text.rstrip()}\n" for name, text in sections.items() if text)


def _table(log: Sequence[LoggedSearch]) -> str:
    if not log:
        return (
            "No search is in the log of this session. What was searched elsewhere or before the log began is not known."
        )
    rows = ([_shown(name, row) for name in _SHOWN] for row in _rows(log))
    return markdown_table(_SHOWN, rows)


def _translations(log: Sequence[LoggedSearch]) -> str:
    rows = [row for row in _rows(log) if row["Query as the source read it"]]
    shown = ("No.", "Query", "Query as the source read it")
    return markdown_table(shown, ([_shown(name, row) for name in shown] for row in rows)) if rows else ""


def _shown(column: str, row: Mapping[str, str]) -> str:
    if column == "Query as sent" and not row[column]:
        return cell(row["Query"])
    return code_cell(row[column]) if column in _CODE else cell(row[column])


def _rows(log: Sequence[LoggedSearch]) -> Iterator[dict[str, str]]:
    """A row for each query; its number is that of the search, and a letter if there are several."""
    again = repetitions(log)
    for number, search in enumerate(log, start=1):
        queries = search.queries or (LoggedQuery(query=""),)
        for place, query in enumerate(queries):
            letter = f".{place + 1}" if len(queries) > 1 else ""
            row = dict.fromkeys(COLUMNS, "") | _of_search(search) | _of_query(query) | {"No.": f"{number}{letter}"}
            if search.kind == "search":
                row["Query as sent"] = query.sent or query.query
            if number - 1 in again:
                row["State"] = "FAILED when repeated" if query.status == "failed" else "answered when repeated"
            remarks = (query.detail, *(() if place else search.errors))
            told = (_ADVICE.sub("", one).strip().rstrip(".") for one in remarks)
            row["Remarks"] = "; ".join(dict.fromkeys(filter(None, told)))
            yield row if place else row | _counts(search)


def _of_search(search: LoggedSearch) -> dict[str, str]:
    return {
        "Date and time (UTC)": search.at.replace("T", " ").removesuffix("Z"),
        "Source": search.title,
        "Filters and limits": "; ".join(search.filters),
        "Tool": search.tool,
    }


def _counts(search: LoggedSearch) -> dict[str, str]:
    counts = {
        "Results of the search": search.total,
        "First result examined": search.first,
        "Examined": search.examined,
        "New": search.new,
        "Already known": max(0, len(search.ids) - search.new),
        "Duplicates": search.duplicates,
        "Left out": search.left_out,
    }
    return {name: "" if search.failed else str(count) for name, count in counts.items()}


def _of_query(query: LoggedQuery) -> dict[str, str]:
    is_ok = query.status == "ok"
    return {
        "Query": query.query,
        "Query as the source read it": query.translation,
        "Results of the query": str(query.results) if is_ok else "",
        "State": "answered" if is_ok else "FAILED",
    }


def flow_table(numbers: FlowNumbers) -> str:
    """The numbers of a flow diagram, and where each comes from."""
    return markdown_table(("Step", "Records", "How it is counted"), map(list, _steps(numbers)))


def _steps(numbers: FlowNumbers) -> Iterator[tuple[str, str, str]]:
    for one in numbers.identified:
        label = one.source.method if one.source.method in ("database", "register", "website") else "other methods"
        times = _origin(one)
        yield f"Identified: {cell(one.source.name)} ({label})", str(one.records), times
    yield (
        "Identified in all",
        str(numbers.total_identified),
        "the same record counts once for each search that found it",
    )
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
    if numbers.retracted:
        for what, ids in (("included", numbers.retracted_included), ("cited", numbers.retracted_cited)):
            if ids or what == "included":
                yield f"Retracted among the {what}", str(len(ids)), _ids(ids)


def _origin(one: IdentifiedRecords) -> str:
    if one.source.method == "other" and not one.searches:
        return "added by hand, or before searches were logged; notes do not count"
    what = "look-up" if one.source.method == "look-up" else "search"
    only = "; only what no search found" if what == "look-up" else ", pages and repetitions counted once"
    return f"{counted(one.searches, what, f'{what}es' if what == 'search' else '')}{only}"


def _ids(ids: Sequence[str]) -> str:
    return ", ".join(map(cell, ids))


def _decided(numbers: FlowNumbers) -> Iterator[tuple[str, str, str]]:
    if not numbers.screened:
        yield "Screened", "not recorded", "no decision is in the session"
        return
    yield "Screened", str(numbers.screened), "records with a decision"
    yield "Undecided", str(numbers.undecided), "records without one; whether they were read is not known"
    yield "Excluded", str(numbers.excluded_records), "for the reasons below"
    yield from _excluded(numbers.excluded, "the full text is not in the session")
    yield from _excluded(numbers.excluded_with_text, "the full text is in the session")
    yield "Included", str(numbers.included), "records marked as included"
    if numbers.cited:
        yield "Cited", str(numbers.cited), "records marked as cited, which are not among the included"


def _excluded(reasons: Sequence[ExcludedRecords], where: str) -> Iterator[tuple[str, str, str]]:
    for one in reasons:
        yield f"Excluded: {cell(one.reason)}", str(one.records), where
