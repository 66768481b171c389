"""Writes the registration of a trial and its results as sections and tables; its Markdown becomes plain paragraphs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from deepcritical_mcp.data_files import data_patterns, data_table
from deepcritical_mcp.net.fields import (
    field_at,
    list_of,
    mapping_of,
    rows_of,
    text_at,
    text_of,
    texts_of,
    without_markup,
)
from deepcritical_mcp.reading import Block, markdown_table
from deepcritical_mcp.text import clean_line, counted

MAX_CHARACTERS = 100_000
"""Of one field; ClinicalTrials.gov allows 32,000."""
_ESCAPE = re.compile(r"\\([\\`*_{}\[\]()#+.!<>~|=&-])")
_BREAK = re.compile(r"\n\s*\n|\n(?=[^\S\n]*(?:[*•-]|[0-9]{1,2}[.)])[^\S\n]+)")
WORDS = data_table(__file__, "codes.txt")
_PHASE = re.compile(r"PHASE([0-9])")


def in_words(code: str) -> str:
    """The words for a code: "ACTIVE_NOT_RECRUITING" is "Active not recruiting", "PHASE2" "Phase 2"."""
    return WORDS.get(code) or _PHASE.sub(r"PHASE \1", code).replace("_", " ").capitalize()


def framed(form: str, text: str) -> str:
    """The `form` with a text in it, e.g. in "({})"; "" without a text."""
    return form.format(text) if text else ""


def joined(separator: str, *texts: str) -> str:
    """The texts that are not empty, in one."""
    return separator.join(filter(None, texts))


def labeled(label: str, value: str) -> str:
    """ "Label: value"; "" without a value."""
    return f"{label}: {value}" if value else ""


def line(value: object) -> str:
    """A field as plain text on one line, without e-mail addresses and telephone numbers."""
    return _on_one_line(text_of(value, MAX_CHARACTERS))


def paragraphs(*values: object) -> list[str]:
    """Fields as plain paragraphs, each item of a list one of its own; without e-mail addresses and telephone
    numbers."""
    texts = (text_of(value, MAX_CHARACTERS).replace("\r\n", "\n") for value in values)
    return [found for text in texts for one in _BREAK.split(text) if (found := _on_one_line(one))]


def _on_one_line(text: str) -> str:
    return without_contacts(clean_line(without_markup(_ESCAPE.sub(r"\1", text))))


def part(level: int, title: str, texts: Iterable[str] = ()) -> list[Block]:
    """A section of this level with its own paragraphs; the sections and tables in it follow."""
    return [Block(title, level), *map(Block, filter(None, texts))]


Row = Mapping[str, object]
TableRow = list[str]


def results_of(results: Row) -> Iterator[Block]:
    """Everything in a study's results."""
    yield from part(1, "Results")
    yield from _flow(mapping_of(results.get("participantFlowModule")))
    yield from _baseline(mapping_of(results.get("baselineCharacteristicsModule")))
    yield from part(2, "Outcome measures")
    yield from map(_measure, rows_of(field_at(results, "outcomeMeasuresModule", "outcomeMeasures")))
    yield from _events(mapping_of(results.get("adverseEventsModule")))
    limits = field_at(results, "moreInfoModule", "limitationsAndCaveats", "description")
    yield from part(2, "Limitations and caveats", paragraphs(limits))


class _Groups:
    """The groups of a table in order: their rows, ids and titles, and what each of them is, as paragraphs."""

    def __init__(self, rows: object) -> None:
        self.rows = rows_of(rows)
        self.ids = [text_at(row, "id") for row in self.rows]
        self.titles = [line(row.get("title")) or number for row, number in zip(self.rows, self.ids, strict=True)]
        self.described = [labeled(line(row.get("title")), line(row.get("description"))) for row in self.rows]

    def cells(self, rows: object, value: Callable[[Row], str]) -> TableRow:
        """One cell for each group, the `value` of its row; "" where nothing was posted for it."""
        values = {text_at(row, "groupId"): value(row) for row in rows_of(rows)}
        return [values.get(number, "") for number in self.ids]

    def table(self, caption: str, first: str, rows: Sequence[TableRow], notes: Iterable[str] = ()) -> Block:
        """A table with a column for each group, and its notes; without rows, the caption and the notes remain."""
        cells = [[clean_line(cell) for cell in row] for row in rows]
        table = [markdown_table([first, *self.titles], cells)] if rows else []
        return Block(caption, table=(*table, *filter(None, notes)))


def _flow(flow: Row) -> Iterator[Block]:
    groups = _Groups(flow.get("groups"))
    texts = paragraphs(flow.get("recruitmentDetails"), flow.get("preAssignmentDetails"))
    yield from part(2, "Participant flow", [*texts, *groups.described])
    for period in rows_of(flow.get("periods")):
        rows = [(in_words(text_at(one, "type")), one.get("achievements")) for one in rows_of(period.get("milestones"))]
        rows += [(f"Left: {line(one.get('type'))}", one.get("reasons")) for one in rows_of(period.get("dropWithdraws"))]
        cells = [[name, *groups.cells(counts, _count)] for name, counts in rows]
        yield groups.table(line(period.get("title")), "Milestone", cells)


def _count(row: Row) -> str:
    """A number of participants."""
    return joined(" ", text_at(row, "numSubjects"), framed("[{} units]", text_at(row, "numUnits")), _comment(row))


def _comment(row: Row) -> str:
    return framed("({})", line(row.get("comment")))


def _baseline(baseline: Row) -> Iterator[Block]:
    groups = _Groups(baseline.get("groups"))
    texts = [*paragraphs(baseline.get("populationDescription")), *groups.described]
    yield from part(2, "Baseline characteristics", texts)
    rows = whole_rows = _denominators(baseline, groups)
    notes: list[str] = []
    for measure in rows_of(baseline.get("measures")):
        title = line(measure.get("title"))
        rows = [*rows, *_measurements(measure, groups, f"{title}{_measured(measure)}", whole_rows)]
        notes.append(labeled(title, line(measure.get("description"))))
    if rows:
        yield groups.table("Baseline characteristics", "Characteristic", rows, notes)


def _measured(measure: Row) -> str:
    """How a measure is given, e.g. " (mean ± standard deviation, years)"."""
    how = [in_words(text_at(measure, name)).lower() for name in ("paramType", "dispersionType") if measure.get(name)]
    return framed(" ({})", joined(", ", " and ".join(how), line(measure.get("unitOfMeasure"))))


def _denominators(of: Row, groups: _Groups, name: str = "Analyzed") -> list[TableRow]:
    counted = [(line(one.get("units")).lower(), one.get("counts")) for one in rows_of(of.get("denoms"))]
    return [[f"{name}: {units}", *groups.cells(counts, lambda row: text_at(row, "value"))] for units, counts in counted]


def _measurements(measure: Row, groups: _Groups, name: str, analyzed: Sequence[TableRow]) -> list[TableRow]:
    """A row for each category of each class, and who was analyzed where that is not what `analyzed` says."""
    numbers = [row[1:] for row in analyzed]
    rows: list[TableRow] = []
    for one in rows_of(measure.get("classes")):
        named = joined(" – ", name, line(one.get("title")))
        rows += [row for row in _denominators(one, groups, joined(" – ", named, "analyzed")) if row[1:] not in numbers]
        for category in rows_of(one.get("categories")):
            label = joined(" – ", named, line(category.get("title"))) or "Value"
            rows.append([label, *groups.cells(category.get("measurements"), _value)])
    return rows


def _value(row: Row) -> str:
    """A value with its spread or its limits, and the sponsor's comment on it ("NA" is explained there)."""
    value, spread = text_at(row, "value"), framed("({})", text_at(row, "spread"))
    return joined(" ", value, spread, framed("[{}]", _interval(row, "lowerLimit", "upperLimit")), _comment(row))


def _interval(row: Row, *ends: str) -> str:
    low, high = (text_at(row, end) for end in ends)
    return f"{low or '–'} to {high or '–'}" if low or high else ""


def _measure(measure: Row) -> Block:
    groups = _Groups(measure.get("groups"))
    title = f"{in_words(text_at(measure, 'type'))} outcome: {line(measure.get('title'))}{_measured(measure)}"
    analyzed = _denominators(measure, groups)
    rows = [*analyzed, *_measurements(measure, groups, "", analyzed)]
    notes = paragraphs(measure.get("description"), measure.get("populationDescription"))
    notes += [_analysis(analysis, groups) for analysis in rows_of(measure.get("analyses"))]
    caption = joined(". ", title, labeled("Time frame", line(measure.get("timeFrame"))))
    return groups.table(caption, "Measure", rows, notes)


def _analysis(analysis: Row, groups: _Groups) -> str:
    """A statistical analysis in one line: what was compared, how, and what came out."""
    titles = dict(zip(groups.ids, groups.titles, strict=True))
    compared = " versus ".join(titles.get(text_of(one), text_of(one)) for one in list_of(analysis.get("groupIds")))
    interval = _interval(analysis, "ciLowerLimit", "ciUpperLimit")
    p_value, spread = text_at(analysis, "pValue"), text_at(analysis, "dispersionValue")
    texts = ("estimateComment", "groupDescription", "statisticalComment", "pValueComment", "nonInferiorityComment")
    found = joined(
        "; ",
        framed("p {}" if p_value[:1] in "<>=" else "p = {}", p_value),
        line(analysis.get("statisticalMethod")),
        joined(" ", line(analysis.get("paramType")), text_at(analysis, "paramValue")),
        f"{text_at(analysis, 'ciPctValue')}% CI {interval}" if interval else "",
        f"{in_words(text_at(analysis, 'dispersionType')).lower()} {spread}" if spread else "",
        in_words(text_at(analysis, "nonInferiorityType")).lower(),
        *(line(analysis.get(name)) for name in texts),
    )
    return f"Analysis of {compared or 'all groups'}: {found}"


def _events(events: Row) -> Iterator[Block]:
    groups = _Groups(events.get("eventGroups"))
    threshold = framed("Other events are listed above a frequency of: {}%", text_at(events, "frequencyThreshold"))
    frame = labeled("Time frame", line(events.get("timeFrame")))
    yield from part(2, "Adverse events", [frame, *paragraphs(events.get("description")), threshold, *groups.described])
    totals = [
        [title, *(_ratio(row, f"{kind}NumAffected", f"{kind}NumAtRisk") for row in groups.rows)]
        for kind, title in (("deaths", "Deaths"), ("serious", "Serious"), ("other", "Other"))
    ]
    if totals := [row for row in totals if any(row[1:])]:
        # Groups may overlap: their numbers must never be added up.
        note = "Participants affected / at risk. Groups may overlap, so their numbers cannot be added up."
        yield groups.table("Totals", "Events", totals, [note])
    note = "Participants affected / at risk, and events in brackets."
    for name, caption in (("seriousEvents", "Serious adverse events"), ("otherEvents", "Other adverse events")):
        if rows := [_event(one, groups) for one in rows_of(events.get(name))]:
            yield groups.table(caption, "Event", rows, [note])


def _event(event: Row, groups: _Groups) -> TableRow:
    def cell(row: Row) -> str:
        return joined(" ", _ratio(row, "numAffected", "numAtRisk"), framed("[{}]", text_at(row, "numEvents")))

    name, *more = (line(event.get(field)) for field in ("term", "organSystem", "notes"))
    return [f"{name}{framed(' ({})', joined('; ', *more))}", *groups.cells(event.get("stats"), cell)]


def _ratio(row: Row, affected: str, at_risk: str) -> str:
    return f"{text_at(row, affected)}{framed(' / {}', text_at(row, at_risk))}"


def outcome_rows(outcomes: object) -> Sequence[str]:
    """The planned outcomes, a paragraph for each."""
    rows = ([line(one.get(name)) for name in ("measure", "timeFrame", "description")] for one in rows_of(outcomes))
    return [f"{name}{framed(' [{}]', frame)}{framed(': {}', text)}" for name, frame, text in rows]


def arms(module: Row) -> Iterator[str]:
    """The arms of a study and its interventions, a paragraph for each."""
    for one in rows_of(module.get("armGroups")):
        yield joined(": ", f"Arm {typed(one, 'label')}", line(one.get("description")))
    for one in rows_of(module.get("interventions")):
        others = framed(", also {}", ", ".join(map(line, texts_of(one.get("otherNames")))))
        yield joined(": ", f"Intervention {typed(one, 'name')}{others}", line(one.get("description")))


def typed(row: Row, name: str) -> str:
    """The name of an arm or intervention, with its type."""
    return f"{line(row.get(name))}{framed(' ({})', in_words(text_at(row, 'type')).lower())}"


def locations(rows: list[Row]) -> list[str]:
    """Sites by country, without the persons who answer there."""
    by_country: dict[str, list[str]] = {}
    for row in rows:
        site = joined(", ", *(line(row.get(name)) for name in ("facility", "city", "state")))
        by_country.setdefault(line(row.get("country")) or "Country unknown", []).append(site)
    found = [f"{counted(len(rows), 'site')} in {counted(len(by_country), 'country', 'countries')}"] if rows else []
    named = ((f"{one} ({len(sites)})", joined("; ", *dict.fromkeys(sites))) for one, sites in by_country.items())
    return found + [labeled(country, sites) or country for country, sites in named]


REMOVED = "[contact removed]"
_CONTACTS = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in data_patterns(__file__, "contact_patterns.txt").items()
}
_REACH = 80
"""Characters before a number in which a word must say that it is a telephone number."""


def without_contacts(text: str) -> str:
    """`text` on one line, with `REMOVED` in place of e-mail addresses and telephone numbers.

    A number is only taken for a telephone number if its form says so, or a word in front of it: no dose, date, range or
    number of a study is removed.
    """
    text = _CONTACTS["EMAIL"].sub(REMOVED, text)
    return _CONTACTS["NUMBER"].sub(lambda found: REMOVED if _is_telephone(found) else found[0], text)


def _is_telephone(found: re.Match[str]) -> bool:
    number, before = found[0], found.string[max(0, found.start() - _REACH) : found.start()]
    groups = re.findall("[0-9]+", number)
    if number.startswith(("+", "(+")):
        return not re.search("[ .]000(?![0-9])", number)  # not "+100 000 000"
    # A date, a period, or a row of small numbers: "12 24 36 48".
    is_row = len(groups) > 2 and all(len(one) < 3 for one in groups) and not number.startswith(("0", "(0"))
    is_date = _CONTACTS["DAY"].fullmatch(number) is not None
    if label := _CONTACTS["LABEL"].search(before):
        is_sure = re.search(r":|\b(?:no|nr|numbers?)\b", label[0], re.IGNORECASE) is not None
        return not is_date and (is_sure or not is_row)
    is_announced = _CONTACTS["CUE"].search(before) is not None and _CONTACTS["STUDY"].search(before) is None
    if form := _CONTACTS["NORTH_AMERICAN"].match(number):
        # "250-500-1000" are doses, "301-302-2016" is a protocol and its year.
        ends = re.findall("[0-9]+", form[0])[-3:]
        is_plain = " " not in number and not all(one.endswith("0") for one in ends) and ends[2][:2] not in ("19", "20")
        return "(" in number or is_plain or is_announced
    # The 0 of most countries in front; other numbers begin so too.
    begins = re.match(r"\(?0[1-9]", number) is not None
    return begins and is_announced and not (is_row or is_date) and sum(map(len, groups)) > 8
