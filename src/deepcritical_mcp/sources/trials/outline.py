"""Writes the registration of a trial and its results as sections and tables; its Markdown becomes plain paragraphs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from deepcritical_mcp.data_files import data_table
from deepcritical_mcp.net.json_fields import field_at, list_of, mapping_of, rows_of, text_at, text_of, without_markup
from deepcritical_mcp.reading import Block, markdown_table
from deepcritical_mcp.text import clean_line

MAX_CHARACTERS = 100_000
"""Of one field; ClinicalTrials.gov allows 32,000."""
_ESCAPE = re.compile(r"\\([\\`*_{}\[\]()#+.!<>~|=&-])")
_ITEM = re.compile(r"\s*(?:[*•-]|[0-9]{1,2}[.)])\s+")
_WORDS = data_table(__file__, "codes.txt")
_PHASE = re.compile(r"PHASE([0-9])")


def in_words(code: str) -> str:
    """The words for a code: "ACTIVE_NOT_RECRUITING" is "Active not recruiting", "PHASE2" "Phase 2"."""
    return _WORDS.get(code) or _PHASE.sub(r"PHASE \1", code).replace("_", " ").capitalize()


def sponsor_kind(code: str) -> str:
    """The words for a class of sponsors; "" for others."""
    return _WORDS.get(f"class {code}", "")


def line(value: object) -> str:
    """A field as plain text on one line, without e-mail addresses and telephone numbers."""
    return _on_one_line(text_of(value, MAX_CHARACTERS))


def paragraphs(value: object) -> list[str]:
    """A field as plain paragraphs, each item of a list one of its own; without e-mail addresses and telephone
    numbers."""
    found: list[str] = []
    for block in re.split(r"\n\s*\n", text_of(value, MAX_CHARACTERS).replace("\r\n", "\n")):
        begins = True
        for row in filter(str.strip, block.split("\n")):
            if begins or _ITEM.match(row):
                found.append(row)
            else:
                found[-1] = f"{found[-1]} {row}"
            begins = False
    return [text for text in map(_on_one_line, found) if text]


def labeled(label: str, value: str) -> list[str]:
    """ "Label: value" as a paragraph; none without a value."""
    return [f"{label}: {value}"] if value else []


def _on_one_line(text: str) -> str:
    return without_contacts(clean_line(without_markup(_ESCAPE.sub(r"\1", text))))


def part(level: int, title: str, texts: Iterable[str] = ()) -> list[Block]:
    """A section of this level with its own paragraphs; the sections and tables in it follow."""
    return [Block(title, level), *map(Block, texts)]


def _table(caption: str, header: Sequence[str], rows: Sequence[Sequence[str]], notes: Iterable[str] = ()) -> Block:
    """A table, with its notes after it; of a table without rows, the caption and the notes remain."""
    cells = [[clean_line(cell) for cell in row] for row in rows]
    return Block(caption, table=(*([markdown_table(header, cells)] if rows else []), *notes))


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
    """The groups of a table: their ids and titles in order."""

    def __init__(self, rows: object) -> None:
        self.rows = rows_of(rows)
        self.ids = [text_at(row, "id") for row in self.rows]

    def header(self, first: str) -> TableRow:
        return [first, *(line(row.get("title")) or number for row, number in zip(self.rows, self.ids, strict=True))]

    def described(self) -> list[str]:
        """What each group is, a paragraph for each."""
        return [f"{line(row.get('title'))}: {text}" for row in self.rows if (text := line(row.get("description")))]

    def cells(self, values: Mapping[str, str]) -> TableRow:
        """One cell for each group; "" where nothing was posted for it."""
        return [values.get(number, "") for number in self.ids]


def _flow(flow: Row) -> Iterator[Block]:
    groups = _Groups(flow.get("groups"))
    texts = [*paragraphs(flow.get("recruitmentDetails")), *paragraphs(flow.get("preAssignmentDetails"))]
    yield from part(2, "Participant flow", [*texts, *groups.described()])
    for period in rows_of(flow.get("periods")):
        rows = [(in_words(text_at(one, "type")), one.get("achievements")) for one in rows_of(period.get("milestones"))]
        left = [(f"Left: {line(one.get('type'))}", one.get("reasons")) for one in rows_of(period.get("dropWithdraws"))]
        cells = [[name, *groups.cells(_counts(counts))] for name, counts in rows + left]
        yield _table(line(period.get("title")), groups.header("Milestone"), cells)


def _counts(rows: object) -> dict[str, str]:
    """Numbers of participants by group."""
    found: dict[str, str] = {}
    for row in rows_of(rows):
        units = text_at(row, "numUnits")
        parts = (text_at(row, "numSubjects"), f"[{units} units]" if units else "", _comment(row))
        found[text_at(row, "groupId")] = " ".join(filter(None, parts))
    return found


def _comment(row: Row) -> str:
    return f"({comment})" if (comment := line(row.get("comment"))) else ""


def _baseline(baseline: Row) -> Iterator[Block]:
    groups = _Groups(baseline.get("groups"))
    texts = [*paragraphs(baseline.get("populationDescription")), *groups.described()]
    yield from part(2, "Baseline characteristics", texts)
    rows = whole_rows = _denominators(baseline, groups)
    notes: list[str] = []
    for measure in rows_of(baseline.get("measures")):
        name = _measured(measure)
        rows = [*rows, *_measurements(measure, groups, f"{line(measure.get('title'))}{name}", whole_rows)]
        notes += labeled(line(measure.get("title")), line(measure.get("description")))
    if rows:
        yield _table("Baseline characteristics", groups.header("Characteristic"), rows, notes)


def _measured(measure: Row) -> str:
    """How a measure is given, e.g. " (mean ± standard deviation, years)"."""
    how = [
        in_words(text_of(measure.get(name))).lower() for name in ("paramType", "dispersionType") if measure.get(name)
    ]
    parts = (" and ".join(how), line(measure.get("unitOfMeasure")))
    return f" ({', '.join(filter(None, parts))})" if any(parts) else ""


def _denominators(of: Row, groups: _Groups, name: str = "Analyzed") -> list[TableRow]:
    return [
        [
            f"{name}: {line(one.get('units')).lower()}",
            *groups.cells({text_at(row, "groupId"): text_at(row, "value") for row in rows_of(one.get("counts"))}),
        ]
        for one in rows_of(of.get("denoms"))
    ]


def _measurements(measure: Row, groups: _Groups, name: str, analyzed: Sequence[TableRow]) -> list[TableRow]:
    """A row for each category of each class, and who was analyzed where that is not what `analyzed` says."""
    numbers = [row[1:] for row in analyzed]
    rows: list[TableRow] = []
    for one in rows_of(measure.get("classes")):
        title = line(one.get("title"))
        counted = _denominators(one, groups, " – ".join(filter(None, (name, title, "analyzed"))))
        rows += [row for row in counted if row[1:] not in numbers]
        for category in rows_of(one.get("categories")):
            label = " – ".join(filter(None, (name, title, line(category.get("title")))))
            values = {text_at(row, "groupId"): _value(row) for row in rows_of(category.get("measurements"))}
            rows.append([label or "Value", *groups.cells(values)])
    return rows


def _value(row: Row) -> str:
    """A value with its spread or its limits, and the sponsor's comment on it ("NA" is explained there)."""
    spread, low, high = (text_of(row.get(name)) for name in ("spread", "lowerLimit", "upperLimit"))
    limits = f"[{low or '–'} to {high or '–'}]" if low or high else ""
    parts = (text_at(row, "value"), f"({spread})" if spread else "", limits, _comment(row))
    return " ".join(filter(None, parts))


def _measure(measure: Row) -> Block:
    groups = _Groups(measure.get("groups"))
    kind = in_words(text_at(measure, "type"))
    frame = line(measure.get("timeFrame"))
    title = f"{kind} outcome: {line(measure.get('title'))}{_measured(measure)}"
    analyzed = _denominators(measure, groups)
    rows = [*analyzed, *_measurements(measure, groups, "", analyzed)]
    notes = [*paragraphs(measure.get("description")), *paragraphs(measure.get("populationDescription"))]
    notes += [_analysis(analysis, groups) for analysis in rows_of(measure.get("analyses"))]
    caption = f"{title}. Time frame: {frame}" if frame else title
    return _table(caption, groups.header("Measure"), rows, notes)


def _analysis(analysis: Row, groups: _Groups) -> str:
    """A statistical analysis in one line: what was compared, how, and what came out."""
    titles = dict(zip(groups.ids, groups.header("")[1:], strict=True))
    compared = " versus ".join(titles.get(text_of(one), text_of(one)) for one in list_of(analysis.get("groupIds")))
    percent, low, high = (text_of(analysis.get(name)) for name in ("ciPctValue", "ciLowerLimit", "ciUpperLimit"))
    interval = f"{percent}% CI {low or '–'} to {high or '–'}" if low or high else ""
    spread = text_at(analysis, "dispersionValue")
    dispersion = f"{in_words(text_of(analysis.get('dispersionType'))).lower()} {spread}" if spread else ""
    estimate = " ".join(filter(None, (line(analysis.get("paramType")), text_at(analysis, "paramValue"))))
    p_value = text_at(analysis, "pValue")
    parts = (
        f"p {p_value}" if p_value[:1] in "<>=" and p_value else f"p = {p_value}" if p_value else "",
        line(analysis.get("statisticalMethod")),
        estimate,
        interval,
        dispersion,
        in_words(text_at(analysis, "nonInferiorityType")).lower() if analysis.get("nonInferiorityType") else "",
        *(line(analysis.get(name)) for name in ("estimateComment", "groupDescription", "statisticalComment")),
        *(line(analysis.get(name)) for name in ("pValueComment", "nonInferiorityComment")),
    )
    return f"Analysis of {compared or 'all groups'}: {'; '.join(filter(None, parts))}"


def _events(events: Row) -> Iterator[Block]:
    groups = _Groups(events.get("eventGroups"))
    threshold = text_at(events, "frequencyThreshold")
    texts = [
        *labeled("Time frame", line(events.get("timeFrame"))),
        *paragraphs(events.get("description")),
        *labeled("Other events are listed above a frequency of", f"{threshold}%" if threshold else ""),
        *groups.described(),
    ]
    yield from part(2, "Adverse events", texts)
    totals = [
        [title, *(_ratio(text_at(row, f"{kind}NumAffected"), text_at(row, f"{kind}NumAtRisk")) for row in groups.rows)]
        for kind, title in (("deaths", "Deaths"), ("serious", "Serious"), ("other", "Other"))
    ]
    totals = [row for row in totals if any(row[1:])]
    if totals:
        # Groups may overlap: their numbers must never be added up.
        note = "Participants affected / at risk. Groups may overlap, so their numbers cannot be added up."
        yield _table("Totals", groups.header("Events"), totals, [note])
    for name, caption in (("seriousEvents", "Serious adverse events"), ("otherEvents", "Other adverse events")):
        rows = [_event(one, groups) for one in rows_of(events.get(name))]
        if rows:
            note = "Participants affected / at risk, and events in brackets."
            yield _table(caption, groups.header("Event"), rows, [note])


def _event(event: Row, groups: _Groups) -> TableRow:
    values: dict[str, str] = {}
    for row in rows_of(event.get("stats")):
        count = text_at(row, "numEvents")
        ratio = _ratio(text_at(row, "numAffected"), text_at(row, "numAtRisk"))
        values[text_at(row, "groupId")] = f"{ratio} [{count}]" if count else ratio
    name, *more = (line(event.get(field)) for field in ("term", "organSystem", "notes"))
    return [f"{name} ({'; '.join(filter(None, more))})" if any(more) else name, *groups.cells(values)]


def _ratio(affected: str, at_risk: str) -> str:
    return f"{affected} / {at_risk}" if at_risk else affected


def outcome_rows(outcomes: object) -> Sequence[str]:
    """The planned outcomes, a paragraph for each."""
    rows = ([line(one.get(name)) for name in ("measure", "timeFrame", "description")] for one in rows_of(outcomes))
    return [f"{name}{f' [{frame}]' if frame else ''}{f': {text}' if text else ''}" for name, frame, text in rows]


REMOVED = "[contact removed]"
_EMAIL = re.compile(
    r"(?:mailto: ?)?(?<![\w.%+-])[\w.%+-]{1,64}+(?:@| ?[\[(] ?at ?[\])] ?)"
    r"[a-z0-9-]{1,63}(?:(?:\.| ?[\[(] ?dot ?[\])] ?)[a-z0-9-]{1,63}){0,5}(?:\.| ?[\[(] ?dot ?[\])] ?)[a-z]{2,24}"
    r"(?![\w-])",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"(?<![\w.,/:+)\]\-\u2010-\u2013])[+(]{0,2}[0-9](?:[ ()./\-\u2010-\u2013]{0,2}[0-9]){6,14}"
    r"(?![\w%])(?![.,/:-][0-9])(?! ?(?:%|[x×] |mg|g|kg|[µμ]g|ug|mcg|ng|m?l|[im]?u|units?|cells?|copies|times|seconds?|"
    r"minutes?|hours?|days?|weeks?|months?|years?|patients|participants|subjects|people)\b)"
    r"(?: ?(?:ext\.?|extension|x)[ :.]{0,2}[0-9]{1,6})?",
    re.IGNORECASE,
)
"""What may be a telephone number: not before another digit, nor before what is counted."""
_NORTH_AMERICAN = re.compile(
    r"(?:1[ .-]{1,2})?(?:\([2-9][0-9]{2}\)[ .-]{0,2}|[2-9][0-9]{2}[ .\-\u2010-\u2013])"
    r"[0-9]{3}[ .\-\u2010-\u2013][0-9]{4}(?![0-9])"
)
"""555-234-5678, (555) 234-5678, 1-800-234-5678."""
_TELEPHONE = r"\b(?:tel|telephone|phone|cellphone|mobile|fax|telefax|hotline|whatsapp|call|dial"
_LABEL = re.compile(
    rf"{_TELEPHONE})\b[ :.;#,]{{0,3}}(?:(?:no|nr|number|numbers|line|at|on|is)\b[ :.#]{{0,3}}){{0,2}}$", re.IGNORECASE
)
_CUE = re.compile(rf"{_TELEPHONE}|reach|contact(?! (?:lens|dermat)))\b", re.IGNORECASE)
_STUDY_NUMBER = re.compile(
    r"\b(?:study|trial|protocol|number|no\.?|id|registry|code|reference|eudract)[ :#]{0,3}$", re.I
)
_REACH = 80
"""Characters before a number in which a word must say that it is a telephone number."""
_DAY = re.compile(
    r"(?:19|20)[0-9]{2}[ ./-][0-9]{1,2}[ ./-][0-9]{1,2}|[0-9]{1,2}[ ./-][0-9]{1,2}[ ./-](?:19|20)[0-9]{2}"
    r"|\(?(?:19|20)[0-9]{2}[ /\-\u2010-\u2013]{1,3}(?:19|20)[0-9]{2}|(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])[0-3][0-9]"
)


def without_contacts(text: str) -> str:
    """`text` on one line, with `REMOVED` in place of e-mail addresses and telephone numbers.

    A number is only taken for a telephone number if its form says so, or a word in front of it: no dose, date, range or
    number of a study is removed.
    """
    return _NUMBER.sub(lambda found: REMOVED if _is_telephone(found) else found[0], _EMAIL.sub(REMOVED, text))


def _is_telephone(found: re.Match[str]) -> bool:
    number, before = found[0], found.string[max(0, found.start() - _REACH) : found.start()]
    groups = re.findall("[0-9]+", number)
    if number.startswith(("+", "(+")):
        return not re.search("[ .]000(?![0-9])", number)  # not "+100 000 000"
    # A date, a period, or a row of small numbers: "12 24 36 48".
    is_row = len(groups) > 2 and all(len(one) < 3 for one in groups) and not number.startswith(("0", "(0"))
    is_date = _DAY.fullmatch(number) is not None
    if label := _LABEL.search(before):
        is_sure = re.search(r":|\b(?:no|nr|numbers?)\b", label[0], re.IGNORECASE) is not None
        return not is_date and (is_sure or not is_row)
    is_announced = _CUE.search(before) is not None and _STUDY_NUMBER.search(before) is None
    if form := _NORTH_AMERICAN.match(number):
        # "250-500-1000" are doses, "301-302-2016" is a protocol and its year.
        ends = re.findall("[0-9]+", form[0])[-3:]
        is_plain = " " not in number and not all(one.endswith("0") for one in ends) and ends[2][:2] not in ("19", "20")
        return "(" in number or is_plain or is_announced
    # The 0 of most countries in front; other numbers begin so too.
    return (
        re.match(r"\(?0[1-9]", number) is not None
        and is_announced
        and not (is_row or is_date)
        and sum(map(len, groups)) > 8
    )
