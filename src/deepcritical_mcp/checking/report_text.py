"""The report on a draft: as Markdown for results, the resource, the export and the command line, and in parts that fit.

Text from outside appears only in block quotes or in one-line fields, and does nothing. The report never says that a
record bears a claim out or not: passages are shown for the reader to judge.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from importlib.resources import files
from itertools import groupby
from typing import cast

from pydantic import BaseModel

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
MAX_WORDS, FEW_WORDS = 60, 8
"""Words of titles that are compared, and of them those that are shown to differ."""
_ROWS = (files("deepcritical_mcp.checking") / "findings.txt").read_text("utf-8").splitlines()
_WORDS = {name: (words, heading) for name, words, heading in (row.split("\t") for row in _ROWS if row[0] != "#")}
"""What findings can be, what each is called in the summary, and the heading of its section."""
RANKS = tuple(_WORDS)
MAX_REMARKS, MIN_ROOM = 10, 20
"""Remarks of an answer that is too long; characters to which the texts of a finding are shortened at least."""
_WHOLE = frozenset({"id", "order", "session_id", "next_step", "report_uri"})
"""What is never shortened: what is called by it is not found by half of it."""
SHORTENED = "Shortened here: a finding that is too long for one answer."
_ALWAYS_COUNTED = ("entries", "unread", "references", "checked")
_NAMES: Mapping[type[Finding], str] = {
    CheckedReference: "reference",
    CheckedQuotation: "quotation",
    CheckedClaim: "nearest passage",
}


def rank_of(finding: Finding) -> str:
    """Which of the `RANKS` a finding has."""
    if isinstance(finding, CheckedClaim):
        return "claim_numbers" if finding.numbers_missing or finding.numbers_elsewhere else "claim"
    if isinstance(finding, CheckedQuotation):
        return f"quotation_{finding.verdict}"
    ranks: list[str] = [finding.verdict]
    if any(one.field == "status" and not one.minor for one in finding.problems):
        ranks.append(finding.status if finding.status in (*STATUSES, "notice") else "published")
    return min(ranks, key=RANKS.index)


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
    """When the status of the records was last asked, the latest day first; "" without records."""
    days: dict[str, list[int]] = {}
    for one in report.references:
        if one.record:
            days.setdefault(one.record.status_checked, []).append(one.index)
    latest, *earlier = sorted(days, reverse=True) or [""]
    told = [f"{asked_on(day)} of {ranges(days[day])}" for day in earlier]
    return "; ".join((asked_on(latest), *told)) if days else ""


def summary(report: CitationReport) -> str:
    """E.g. "42 references: 2 retracted, 3 differing from the record, 3 not found, 34 verified", the gravest first."""
    counts = report.counts
    total, unread, entries = (counts.get(name, 0) for name in ("references", "unread", "entries"))
    told: dict[bool, list[str]] = {False: [], True: []}  # of references, of quotations
    for rank, (words, _) in _WORDS.items():
        if count := words and counts.get(rank.replace("quotation_", "quotations_"), 0):
            told[rank.startswith("quotation_")].append(f"{count:,} {words}")
    if left := total - counts.get("checked", 0):
        told[False].append(f"{left:,} not checked yet")
    lines = (
        f"{counted(entries, 'entry', 'entries')}, {unread:,} not read" if unread else "",
        counted(total, "reference") + _after(", ".join(told[False])),
        f"quotations: {', '.join(told[True])}" if told[True] else "",
    )
    return "; ".join(filter(None, lines))


def ranges(numbers: Iterable[int]) -> str:
    """Numbers with those that follow each other put together: "1–12, 14, 16–60"."""
    runs: list[list[int]] = []
    for one in sorted({*numbers}):
        if runs and one == runs[-1][-1] + 1:
            runs[-1][1:] = [one]
        else:
            runs.append([one])
    return ", ".join("–".join(map(str, run)) for run in runs)


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
    yield f"- {_name(one)}{also}{record}{_after(shown)}{reason}"
    problems = sorted(one.problems, key=lambda each: each.field != "year")
    yield from (f"  - {told}" for each in problems if (told := problem_text(each, one.status)))
    for each in one.candidates:
        told = "" if each.reference in one.reason else each.reference
        yield f"  - It may be {inert(each.id)}{_after(told)}{_mark(each)}"
    if one.corrected:
        yield from ("  - Corrected, to paste:", *_to_paste(one.corrected))


def _to_paste(text: str) -> Sequence[str]:
    """The lines of a text, quoted; several are one block."""
    if "\n" not in text:
        return quoted_lines(text, "    ")
    fence = longer_code_marks(text, 3)
    return [f"    > {line}" for line in (fence, *text.split("\n"), fence)]


def _name(reference: CheckedReference) -> str:
    """As the draft cites it, and its place in the list if that is another number."""
    label, index = inert(reference.label), str(reference.index)
    return f"Reference {index}" if not label else f"[{label}]" + (f" (reference {index})" if label != index else "")


def problem_text(problem: ReferenceProblem, status: PublicationStatus = "unchecked") -> str:
    """What is wrong with a reference, on one line; of its record's `status`, if marked, what the mark does not say."""
    if problem.field == "status":
        return inert(problem.true.partition(". ")[2] if is_marked(status) else problem.true)
    if problem.field == "work":
        return f"a further work in this entry, not checked: “{inert(problem.written)}”"
    told = _changed(problem.written, problem.true) if problem.field == "title" else ""
    return f"{inert(problem.field)}: {told or _differing(problem.written, problem.true)}{' (minor)' * problem.minor}"


def _differing(written: str, true: str) -> str:
    said = f"written “{inert(written)}”" if written else "not written"
    return f"{said}, the record has {f'“{inert(true)}”' if true else 'none'}"


def _changed(written: str, true: str) -> str:
    """The words in which two titles differ, if they are few; "" if they are many."""
    one, other = written.split()[:MAX_WORDS], true.split()[:MAX_WORDS]
    folded = [[re.sub(r"\W", "", word).casefold() for word in words] for words in (one, other)]
    steps = SequenceMatcher(None, *folded, autojunk=False).get_opcodes()
    parts = [(" ".join(one[a:b]), " ".join(other[c:d])) for step, a, b, c, d in steps if step != "equal"]
    if not parts or sum(len(f"{gone} {come}".split()) for gone, come in parts) > FEW_WORDS:
        return ""
    one_sided = (f"“{inert(gone)}” added" if gone else f"“{inert(come)}” left out" for gone, come in parts)
    return "; ".join(_differing(*pair) if all(pair) else told for pair, told in zip(parts, one_sided, strict=True))


def _mark(record: CheckedRecord) -> str:
    return f" **{status_label(record.status)}**" if is_marked(record.status) else ""


def _quotation(one: CheckedQuotation) -> Iterator[str]:
    name = f"quotation {one.index}{f' of {_references(one.references)}' if one.references else ''}"
    is_verbatim = one.verdict == "verbatim"
    difference = f" ({inert(one.difference)})" if one.difference else ""
    yield f"- {name}: “{inert(clipped(one.quote, MAX_WRITTEN) if is_verbatim else one.quote)}”{difference}"
    if one.passage and not is_verbatim:
        stands = "it stands in" if one.verdict in ("altered", "misattributed") else "nearest passage"
        yield f"  - {stands} {inert(one.where)}: “{inert(clean_line(one.passage))}”"


def _claims(claims: Sequence[CheckedClaim]) -> Iterator[str]:
    """The passages of each sentence; then, in a line, of which references nothing could be read."""
    shown, sentence, told = set[str](), "", ""
    for one in claims:
        sentence = one.sentence or sentence
        if one.passage:
            yield from [f"- “{inert(sentence)}”"] if sentence != told else ()
            yield _claim(one, shown)
            told = sentence
    if unread := {one.references[0] for one in claims if not one.passage and one.references}:
        yield f"- {ranges(unread)}: no abstract, and nothing else that could be read"


def _claim(claim: CheckedClaim, shown: set[str]) -> str:
    """A line; a passage that was `shown` is only begun, unless numbers are to be seen in it."""
    cited = f"[{claim.references[0]}] " if claim.references else ""
    of = "" if " " in claim.where else ", abstract"
    missing = f", numbers missing in all that was read: {inert(', '.join(claim.numbers_missing))}"
    others = ", ".join(one.partition(":")[0] for one in claim.numbers_elsewhere)
    elsewhere = f", numbers that stand there with another group, outcome or time: {inert(others)}"
    name = f"  - {cited}{inert(claim.where)}{of}{missing if claim.numbers_missing else ''}"
    name += elsewhere if claim.numbers_elsewhere else ""
    is_short = claim.passage in shown and not claim.numbers_elsewhere
    passage = clipped(claim.passage, 40) if is_short else claim.passage
    shown.add(claim.passage)
    return f"{name}: “{inert(clean_line(passage))}”"


def _after(text: str) -> str:
    return f": {inert(text)}" if text else ""


def report_from(report: CitationReport, start: int, count: int) -> CitationReport:
    """`report` with only `count` of its findings, from the one at `start` on; says where the next part starts."""
    findings = findings_of(report)
    shown = findings[start : start + count]
    left = findings[start + len(shown) :]
    part = with_findings(report, shown).model_copy(update={"offset": report.offset + start})
    if not left:
        return part
    following = part.offset + len(shown)
    step = _following(report, left, following)
    return part.model_copy(update={"next_offset": following, "next_step": step})


def _following(report: CitationReport, left: Sequence[Finding], offset: int) -> str:
    """What to do next, when the findings `left`, the first of which is at `offset`, do not fit."""
    counts = Counter(map(type, left))
    named = [counted(counts[kind], name) for kind, name in _NAMES.items() if counts[kind]]
    step = report.next_step.replace(f"offset={report.next_offset}", f"offset={offset}")
    call = "" if f"offset={offset}" in step else f": {report.call} offset={offset}"
    return f"Not shown here: {', '.join(named)}{call}. {step}".strip()


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
    count = bisect_right(range(1, total + 1), limit, key=lambda count: length(report_from(short, 0, count)))
    if count or not total:
        return report_from(short, 0, count)
    first, room = report_from(short, 0, 1), limit // 4
    first = first.model_copy(update={"warnings": (SHORTENED, *first.warnings)})
    while length(short := cast(CitationReport, _shortened(first, room))) > limit and room > MIN_ROOM:
        room //= 2
    return short


def brief(report: CitationReport) -> CitationReport:
    """The report for an answer: of sound references only the record, of those that were not checked the beginning, of
    claims their own reference, each sentence once, and no counts of nothing. `report://` has all of it."""
    counts = {name: count for name, count in report.counts.items() if count or name in _ALWAYS_COUNTED}
    sentences = ["", *(one.sentence for one in report.claims)]
    claims = [
        one.model_copy(update={"references": one.references[:1], "sentence": one.sentence * (one.sentence != before)})
        for before, one in zip(sentences, report.claims, strict=False)
    ]
    changed = {"references": tuple(_brief(one, report.errors) for one in report.references), "claims": tuple(claims)}
    return report.model_copy(update={**changed, "counts": counts, "records": asked(report)})


def _brief(one: CheckedReference, errors: Sequence[str]) -> CheckedReference:
    if is_sound(one) and one.record:
        record = CheckedRecord(id=one.record.id)
        return CheckedReference(index=one.index, verdict=one.verdict, record=record)
    if one.verdict in ("unchecked", "outage"):
        reason = "" if errors and one.verdict == "outage" else one.reason
        return one.model_copy(update={"written": clipped(one.written, MAX_WRITTEN), "reason": reason})
    if one.record and one.corrected:
        return one.model_copy(update={"record": one.record.model_copy(update={"reference": ""})})
    return one


def _shortened(held: object, room: int) -> object:
    """`held` with texts of at most `room` characters and lists of at most a few items, in all that it holds."""
    if isinstance(held, str):
        return clipped(held, room)
    if isinstance(held, tuple):
        listed = cast("tuple[object, ...]", held)
        is_told = len(listed) > MAX_REMARKS and isinstance(listed[0], str)
        more = (f"And {len(listed) - MAX_REMARKS} more.",) if is_told else ()
        return (*(_shortened(one, room) for one in listed[:MAX_REMARKS]), *more)
    if isinstance(held, BaseModel):
        names = type(held).model_fields.keys() - _WHOLE
        return held.model_copy(update={name: _shortened(getattr(held, name), room) for name in names})
    return held
