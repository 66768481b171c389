"""The report on a draft: as Markdown for results, the resource, the export and the command line, and in parts that fit.

Text from outside appears only in block quotes or in one-line fields, and does nothing. The report never says that a
record bears a claim out or not: passages are shown for the reader to judge.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import cast

from pydantic import BaseModel

from deepcritical_mcp.data_files import data_lines
from deepcritical_mcp.models import (
    CheckedClaim,
    CheckedQuotation,
    CheckedRecord,
    CheckedReference,
    CitationReport,
    Finding,
    PublicationStatus,
    ReferenceProblem,
    asked_on,
    findings_of,
    is_marked,
    status_label,
    with_findings,
)
from deepcritical_mcp.text import clean_line, clipped, counted, inert, longer_code_marks, quoted_lines

STATUSES = ("retracted", "concern", "superseded")
"""Those that put a reference first, whatever its verdict; the draft may know them, then they are minor problems."""
MAX_WRITTEN = 120
"""Characters of a reference or quotation that is shown on one line with others."""
_ROWS = [row.split("\t") for row in data_lines(__file__, "findings.txt")]
_WORDS = {name: (words, heading) for name, words, heading in _ROWS}
"""What findings can be, the gravest first, what each is called in the summary, and the heading of its section."""
RANKS = tuple(_WORDS)
BEGINNING = 40
"""Characters of a passage that stands in the answer already."""
MAX_REMARKS, MIN_ROOM = 10, 20
"""Remarks of an answer that is too long; characters to which the texts of a finding are shortened at least."""
_WHOLE = frozenset({"id", "order", "session_id", "next_step", "report_uri"})
"""What is never shortened: what is called by it is not found by half of it."""
SHORTENED = "Shortened here: a finding that is too long for one answer."


def rank_of(finding: Finding) -> str:
    """Which of the `RANKS` a finding has."""
    if isinstance(finding, CheckedClaim):
        return "claim_numbers" if finding.numbers_missing or finding.numbers_elsewhere else "claim"
    if isinstance(finding, CheckedQuotation):
        return f"quotation_{finding.verdict}"
    return min((finding.verdict, *status_ranks(finding)), key=RANKS.index)


def status_ranks(reference: CheckedReference) -> tuple[str, ...]:
    """Which of the `RANKS` the status of its record gives a reference, if the draft does not know it; () for none."""
    if not any(one.field == "status" and not one.minor for one in reference.problems):
        return ()
    return (reference.status if reference.status in (*STATUSES, "notice") else "published",)


def report_text(report: CitationReport) -> str:
    """The report as a document of its own, in Markdown."""
    heading, lines = report_form(report)
    following = ["", f"Next: {inert(report.next_step)}"] if report.next_step else []
    return "\n".join([f"# {heading}", *lines, *following]).rstrip() + "\n"


def report_form(report: CitationReport) -> tuple[str, list[str]]:
    """The heading and the lines of a report; sound references that are only named share a line."""
    named = [one.index for one in report.references if is_sound(one) and not one.written]
    lines = [f"ERROR: {inert(error)}" for error in report.errors]
    lines += [f"Note: {inert(warning)}" for warning in report.warnings]
    lines += [f"Whole report: {report.report_uri}"] if report.report_uri else []
    shown = [one for one in findings_of(report) if not (isinstance(one, CheckedReference) and one.index in named)]
    others = (one for one in shown if not isinstance(one, CheckedClaim))
    for rank, some in groupby(others, lambda one: _WORDS[rank_of(one)][1]):
        lines += ["", f"## {rank}", *_section(list(some))]
    if report.unread:
        lines += ["", "## Not read as references, and not checked", *(f"- {inert(one)}" for one in report.unread)]
    lines += ["", f"Verified: {_references(named)}."] if named else []
    told = report.records or asked(report)
    lines += [f"Records: {told}."] if told else []
    lines += ["", f"## {_WORDS['claim'][1]}", *_claims(report.claims)] if report.claims else []
    return summary(report), lines


def asked(report: CitationReport) -> str:
    """When the status of the records was last asked; "" without records."""
    days = [one.record.status_checked for one in report.references if one.record]
    return asked_on(*days) if days else ""


def summary(report: CitationReport) -> str:
    """E.g. "42 references: 2 retracted, 3 differing from the record, 3 not found, 34 verified", the gravest first."""
    counts = report.counts
    total, unread, entries = (counts.get(name, 0) for name in ("references", "unread", "entries"))
    known = ((rank, words, rank.replace("quotation_", "quotations_")) for rank, (words, _) in _WORDS.items() if words)
    told = [("quotation" in rank, f"{counts[name]:,} {words}") for rank, words, name in known if counts.get(name)]
    references, quotations = ([words for is_quoted, words in told if is_quoted == which] for which in (False, True))
    if left := total - counts.get("checked", 0):
        references.append(f"{left:,} not checked yet")
    lines = (
        f"{counted(entries, 'entry', 'entries')}, {unread:,} not read" if unread else "",
        counted(total, "reference") + _after(", ".join(references)),
        f"quotations: {', '.join(quotations)}" if quotations else "",
    )
    return "; ".join(filter(None, lines))


def ranges(numbers: Iterable[int]) -> str:
    """Numbers with those that follow each other put together: "1–12, 14, 16–60"."""
    runs = groupby(enumerate(sorted({*numbers})), lambda one: one[1] - one[0])
    ends = ([str(number) for _, number in run] for _, run in runs)
    return ", ".join("–".join(dict.fromkeys((run[0], run[-1]))) for run in ends)


def _references(numbers: Sequence[int]) -> str:
    return f"reference{'s' * (len(numbers) > 1)} {ranges(numbers)}"


def is_sound(one: CheckedReference) -> bool:
    """Whether there is nothing to say about it."""
    return one.verdict == "verified" and not (one.problems or one.reason or is_marked(one.status))


def _section(findings: Sequence[CheckedReference | CheckedQuotation]) -> Iterator[str]:
    outages = [one for one in findings if isinstance(one, CheckedReference) and one.verdict == "outage"]
    for reason in dict.fromkeys(one.reason for one in outages):
        yield f"- {ranges(one.index for one in outages if one.reason == reason)}{_after(reason)}"
    for one in findings:
        if isinstance(one, CheckedQuotation):
            yield from _quotation(one)
        elif one.verdict != "outage":
            yield from _reference(one)


def _reference(one: CheckedReference) -> Iterator[str]:
    """What the reference is, on one line; then what is wrong with it, and the line to paste instead."""
    is_plain = one.verdict in ("verified", "unchecked")
    also = "" if is_plain or rank_of(one) == one.verdict else f", {_WORDS[one.verdict][0]}"
    record = f" {inert(one.record.id)}{_mark(one.record)}" if one.record else ""
    shown = one.record.reference if one.record and is_sound(one) else clipped(one.written, MAX_WRITTEN)
    reason = f" ({inert(one.reason)})" if one.reason else ""
    label, index = inert(one.label), str(one.index)
    name = f"Reference {index}" if not label else f"[{label}]" + (f" (reference {index})" if label != index else "")
    yield f"- {name}{also}{record}{_after(shown)}{reason}"
    problems = sorted(one.problems, key=lambda each: each.field != "year")
    yield from (f"  - {told}" for each in problems if (told := problem_text(each, one.status)))
    for each in one.candidates:
        told = "" if each.reference in one.reason else each.reference
        yield f"  - It may be {inert(each.id)}{_after(told)}{_mark(each)}"
    if one.corrected:
        fence = longer_code_marks(one.corrected, 3)
        block = [f"    > {line}" for line in (fence, *one.corrected.split("\n"), fence)]
        yield "  - Corrected, to paste:"
        yield from block if "\n" in one.corrected else quoted_lines(one.corrected, "    ")


def problem_text(problem: ReferenceProblem, status: PublicationStatus = "unchecked") -> str:
    """What is wrong with a reference, on one line; of its record's `status`, if marked, what the mark does not say."""
    if problem.field == "status":
        return inert(problem.true.partition(". ")[2] if is_marked(status) else problem.true)
    if problem.field == "work":
        return f"a further work in this entry, not checked: “{inert(problem.written)}”"
    said = f"written “{inert(problem.written)}”" if problem.written else "not written"
    true = f"“{inert(problem.true)}”" if problem.true else "none"
    return f"{inert(problem.field)}: {said}, the record has {true}{' (minor)' * problem.minor}"


def _mark(record: CheckedRecord) -> str:
    return f" **{status_label(record.status)}**" if is_marked(record.status) else ""


def _quotation(one: CheckedQuotation) -> Iterator[str]:
    name = f"quotation {one.index}{f' of {_references(one.references)}' if one.references else ''}"
    difference = f" ({inert(one.difference)})" if one.difference else ""
    quote = clipped(one.quote, MAX_WRITTEN) if one.verdict == "verbatim" else one.quote
    yield f"- {name}: “{inert(quote)}”{difference}"
    if one.passage and one.verdict != "verbatim":
        stands = "it stands in" if one.verdict in ("altered", "misattributed") else "nearest passage"
        yield f"  - {stands} {inert(one.where)}: “{inert(clean_line(one.passage))}”"


def _claims(claims: Sequence[CheckedClaim]) -> Iterator[str]:
    """The passages of each sentence; then, in a line, of which references nothing could be read."""
    sentence, told = "", ""
    for one in claims:
        sentence = one.sentence or sentence
        if one.passage:
            yield from [f"- “{inert(sentence)}”"] if sentence != told else ()
            yield _claim(one)
            told = sentence
    if unread := {one.references[0] for one in claims if not one.passage and one.references}:
        yield f"- {ranges(unread)}: no abstract, and nothing else that could be read"


def _claim(claim: CheckedClaim) -> str:
    name = f"  - {f'[{claim.references[0]}] ' if claim.references else ''}{inert(claim.where)}"
    name += "" if " " in claim.where else ", abstract"
    if claim.numbers_missing:
        name += f", numbers missing in all that was read: {inert(', '.join(claim.numbers_missing))}"
    if claim.numbers_elsewhere:
        others = ", ".join(one.partition(":")[0] for one in claim.numbers_elsewhere)
        name += f", numbers that stand there with another group or outcome: {inert(others)}"
    return f"{name}: “{inert(clean_line(claim.passage))}”"


def _after(text: str) -> str:
    return f": {inert(text)}" if text else ""


def beginning_of(report: CitationReport, count: int) -> CitationReport:
    """`report` with only the first `count` of its findings; says where the next part starts."""
    findings = findings_of(report)
    if not (left := findings[count:]):
        return report
    offset = report.offset + count
    step = report.next_step.replace(f"offset={report.next_offset}", f"offset={offset}")
    call = "" if f"offset={offset}" in step else f": {report.call} offset={offset}"
    step = f"Not shown here: {counted(len(left), 'finding')}{call}. {step}".strip()
    return with_findings(report, findings[:count]).but(next_offset=offset, next_step=step)


def fitting(report: CitationReport, limit: int, length: Callable[[CitationReport], int]) -> CitationReport:
    """`report`, cut until `length(report) <= limit`.

    Remarks are cut; the findings that do not fit then are left for the next part. A single one that does not fit is
    shortened.
    """
    if length(report) <= limit:
        return report
    remarks = ("unread", "warnings", "errors")
    short = report.model_copy(update={name: _shortened(getattr(report, name), limit // 60) for name in remarks})
    total = len(findings_of(short))
    count = bisect_right(range(1, total + 1), limit, key=lambda count: length(beginning_of(short, count)))
    if count or not total:
        return beginning_of(short, count)
    first, room = beginning_of(short, 1), limit // 4
    first = first.but(warnings=(SHORTENED, *first.warnings))
    while length(short := cast(CitationReport, _shortened(first, room))) > limit and room > MIN_ROOM:
        room //= 2
    return short


def brief(report: CitationReport) -> CitationReport:
    """The report for an answer: of sound references only the record, of those that were not checked the beginning, of
    claims their own reference, each sentence once, and of a passage that stands there already the beginning.
    `report://` has all of it."""
    claims, before, shown = list[CheckedClaim](), "", set[str]()
    for one in report.claims:
        is_known = one.passage in shown and not one.numbers_elsewhere
        told: dict[str, object] = {"references": one.references[:1]}
        told |= {"passage": f"{clipped(one.passage, BEGINNING)} (as above)"} if is_known else {}
        claims.append(one.model_copy(update=told | ({"sentence": ""} if one.sentence == before else {})))
        before = one.sentence
        shown.add(one.passage)
    references = [*report.references]
    for at, one in enumerate(references):
        if is_sound(one) and one.record:
            record = CheckedRecord(id=one.record.id)
            references[at] = CheckedReference(index=one.index, verdict=one.verdict, record=record)
        elif one.verdict in ("unchecked", "outage"):
            reason = "" if report.errors and one.verdict == "outage" else one.reason
            told = {"written": clipped(one.written, MAX_WRITTEN), "reason": reason}
            references[at] = one.model_copy(update=told)
        elif one.record and one.corrected:
            told = {"record": one.record.but(reference="")}
            references[at] = one.model_copy(update=told)
    told = {"references": tuple(references), "claims": tuple(claims), "records": asked(report)}
    return report.model_copy(update=told)


def _shortened(held: object, room: int) -> object:
    """`held` with texts of at most `room` characters and lists of at most a few items, in all that it holds."""
    if isinstance(held, str):
        return clipped(held, room)
    if isinstance(held, tuple):
        return tuple(_shortened(one, room) for one in cast("tuple[object, ...]", held)[:MAX_REMARKS])
    if isinstance(held, BaseModel):
        names = type(held).model_fields.keys() - _WHOLE
        return held.model_copy(update={name: _shortened(getattr(held, name), room) for name in names})
    return held
