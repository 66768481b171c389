"""The report on a draft as Markdown, for results, the resource, the export and the command line.

Text from outside appears only in block quotes or in one-line fields, and does nothing. The report never says that a
record bears a claim out or not: passages are shown for the reader to judge.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from typing import Any

from deepcritical_mcp.models import (
    NOTICE_LABELS,
    CheckedClaim,
    CheckedQuotation,
    CheckedRecord,
    CheckedReference,
    CitationReport,
    Finding,
    PublicationStatus,
    QuotationVerdict,
    ReferenceProblem,
    ReferenceVerdict,
    StatusNotice,
    asked_on,
    findings_of,
    is_marked,
    status_label,
)
from deepcritical_mcp.text import clipped, counted, inert, quoted_lines

MAX_WRITTEN = 120
"""Characters of a reference or quotation that is shown on one line with others."""
MAX_WORDS, FEW_WORDS = 60, 8
"""Words of titles that are compared, and of them those that are shown to differ."""
_IN_SUMMARY: Mapping[ReferenceVerdict, str] = {
    "verified": "verified",
    "wrong_id": "with a wrong identifier",
    "differs": "differing from the record",
    "not_found": "not found",
    "ambiguous": "ambiguous",
    "minor": "with minor differences",
    "outage": "not checked because a service was unavailable",
    "unchecked": "of a kind that is not checked",
}
_MARKS: Mapping[str, str] = {
    "retracted": "retracted",
    "concern": "with an expression of concern",
    "superseded": "superseded",
    "published": "preprints published meanwhile",
}
"""Counts of statuses, which a reference has beside its verdict."""
_QUOTATIONS_IN_SUMMARY: Mapping[QuotationVerdict, str] = {
    "misattributed": "in another source",
    "altered": "altered",
    "not_found": "not found",
    "verbatim": "verbatim",
}
_HEADINGS: Mapping[ReferenceVerdict, str] = {
    "wrong_id": "Wrong identifier: it belongs to another record, or to none",
    "differs": "Differs from the record",
    "not_found": "Not found",
    "ambiguous": "Ambiguous: more than one record fits, or none surely",
    "outage": "Not checked, because a service was unavailable",
    "minor": "Minor differences",
    "unchecked": "Not checked: of a kind that no service here has",
    "verified": "Verified: agrees with the record",
}
_STATUS_HEADINGS: Mapping[PublicationStatus, str] = {
    "retracted": "Retracted",
    "concern": "Expression of concern",
    "superseded": "Superseded by a newer version",
}
_QUOTATION_HEADINGS: Mapping[QuotationVerdict, str] = {
    "misattributed": "Quotations that stand in another source",
    "altered": "Altered quotations",
    "not_found": "Quotations not found in what could be read",
    "verbatim": "Verbatim quotations",
}
_TO_LOOK_AT: Mapping[str, str] = {
    _STATUS_HEADINGS["retracted"]: "Retracted",
    _STATUS_HEADINGS["concern"]: "Expression of concern",
    _STATUS_HEADINGS["superseded"]: "Superseded",
    _HEADINGS["wrong_id"]: "Wrong identifier",
    _HEADINGS["differs"]: "Differs from the record",
    _HEADINGS["not_found"]: "Not found",
    _HEADINGS["ambiguous"]: "Ambiguous",
    _QUOTATION_HEADINGS["misattributed"]: "Quotations from another source",
    _QUOTATION_HEADINGS["altered"]: "Quotations altered",
}
"""What the report begins with, by the section that says more."""
MAX_NAMED, MAX_LABEL = 50, 40
_PUBLISHED = "Preprints published meanwhile"
_CLAIMS = "Sentences that cite, and the nearest passage of what they cite"
_BRIEF: tuple[ReferenceVerdict, ...] = ("verified", "unchecked", "outage")
"""Verdicts of references that take a line each."""
ABOUT_CLAIMS = (
    "Nearest in meaning does not tell whether the record says what the sentence says: read the passage and judge."
)
ABOUT_NUMBERS = "A missing number occurs nowhere in what was read of the records that the sentence cites."
ABOUT_NOT_FOUND = (
    "None of the services that were asked has such a work. It may exist all the same: ask whoever cites it for a copy."
)


def report_text(report: CitationReport) -> str:
    """The report as a document of its own, in Markdown."""
    heading, lines = report_form(report)
    following = ["", f"Next: {inert(report.next_step)}"] if report.next_step else []
    return "\n".join([f"# {heading}", *lines, *following]).rstrip() + "\n"


def report_form(report: CitationReport) -> tuple[str, list[str]]:
    """The heading and the lines of a report."""
    quotations = _counted(report, _QUOTATIONS_IN_SUMMARY, "quotations_")
    missing = report.counts.get("claims_with_numbers_missing", 0)
    claims = counted(report.counts.get("claims", 0), "passage") + " shown for sentences that cite"
    lines = [
        *_agenda(report),
        *(f"ERROR: {inert(error)}" for error in report.errors),
        f"Quotations: {', '.join(quotations)}." if quotations else "",
        f"{claims}{f', {missing:,} without a number of the sentence' if missing else ''}." if report.claims else "",
        *(f"Note: {inert(warning)}" for warning in report.warnings),
        _asked(report.references),
        f"Not checked, by name: {inert('; '.join(report.unchecked))}" if report.unchecked else "",
        f"Whole report: {report.report_uri}" if report.report_uri else "",
    ]
    lines = list(filter(None, lines))
    for heading, findings in groupby(findings_of(report), _heading):
        lines += ["", f"## {heading}", *_group(list(findings))]
    return summary(report), [*_spaced(lines)]


def _asked(references: Sequence[CheckedReference]) -> str:
    """When the status of the records was last asked, the latest day first; "" without records."""
    days: dict[str, list[str]] = {}
    for one in references:
        if one.record:
            days.setdefault(one.record.status_checked, []).append(_short_name(one))
    latest, *earlier = sorted(days, reverse=True) or [""]
    told = [f"{asked_on(day)} of {', '.join(days[day][:MAX_NAMED])}" for day in earlier]
    return f"Records: {'; '.join((asked_on(latest), *told))}." if days else ""


def _agenda(report: CitationReport) -> Iterator[str]:
    """Which references and quotations to look at first, a line for each kind of fault."""
    findings = [one for one in findings_of(report) if not isinstance(one, CheckedClaim)]
    for heading, names in _TO_LOOK_AT.items():
        found = [one for one in findings if _heading(one) == heading]
        named = [_short_name(one) for one in found[:MAX_NAMED]]
        more = f" and {len(found) - MAX_NAMED:,} more" if len(found) > MAX_NAMED else ""
        if found:
            yield f"- **{names}**: {', '.join(named)}{more}"


def _short_name(one: CheckedReference | CheckedQuotation) -> str:
    if isinstance(one, CheckedQuotation) or not one.label:
        return str(one.index)
    return f"[{inert(clipped(one.label, MAX_LABEL))}]"


def _spaced(lines: Iterable[str]) -> Iterator[str]:
    """`lines`, with an empty one between a quotation or a list and a sentence of ours, which would go on with it."""
    before = ""
    for line in lines:
        is_block = line.lstrip().startswith((">", "- ", "#"))
        if line and not is_block and before.lstrip().startswith((">", "- ")):
            yield ""
        yield line
        before = line


def summary(report: CitationReport) -> str:
    """E.g. "42 references: 36 verified, 3 differing from the record, 3 not found; 2 retracted"."""
    total, checked = report.counts.get("references", 0), report.counts.get("checked", 0)
    verdicts = _counted(report, _IN_SUMMARY) + ([f"{total - checked:,} not checked yet"] if total > checked else [])
    told = ": ".join(filter(None, (counted(total, "reference"), ", ".join(verdicts))))
    return "; ".join(filter(None, (told, ", ".join(_counted(report, _MARKS)))))


def _counted(report: CitationReport, words: Mapping[Any, str], prefix: str = "") -> list[str]:
    counts = ((report.counts.get(f"{prefix}{name}", 0), what) for name, what in words.items())
    return [f"{count:,} {what}" for count, what in counts if count]


def _heading(finding: Finding) -> str:
    """Of the section that a finding belongs in."""
    if isinstance(finding, CheckedClaim):
        return _CLAIMS
    if isinstance(finding, CheckedQuotation):
        return _QUOTATION_HEADINGS[finding.verdict]
    if finding.status in _STATUS_HEADINGS:
        return _STATUS_HEADINGS[finding.status]
    is_published = finding.verdict in ("verified", "minor") and any(_published(finding.record))
    return _PUBLISHED if is_published else _HEADINGS[finding.verdict]


def _published(record: CheckedRecord | None) -> Iterator[StatusNotice]:
    return (one for one in (record.status_notices if record else ()) if one.kind == "published")


def _group(findings: Sequence[Finding]) -> Iterator[str]:
    """The lines of findings of one section, with an empty line around those that need several."""
    claims = [one for one in findings if isinstance(one, CheckedClaim)]
    if _heading(findings[0]) == _HEADINGS["not_found"]:
        yield ABOUT_NOT_FOUND
    if claims:
        yield ABOUT_CLAIMS
    if any(one.numbers_missing for one in claims):
        yield ABOUT_NUMBERS
    for sentence, of_sentence in groupby(claims, lambda one: one.sentence):
        yield from ["", *quoted_lines(sentence), *(line for one in of_sentence for line in _claim(one))]
    for one in findings:
        lines = _reference(one) if isinstance(one, CheckedReference) else []
        lines = _quotation(one) if isinstance(one, CheckedQuotation) else lines
        yield from ["", *lines] if lines and lines[0].startswith("#") else lines


def _reference(one: CheckedReference) -> list[str]:
    is_marked = _heading(one) != _HEADINGS[one.verdict]
    if is_marked or one.verdict not in (*_BRIEF, "minor"):
        return _in_full(one, also=f", {_IN_SUMMARY[one.verdict]}" if is_marked and one.verdict != "verified" else "")
    known = _after(one.record.reference if one.record and one.record.reference else clipped(one.written, MAX_WRITTEN))
    reason = f" ({inert(one.reason)})" if one.reason else ""
    corrected = (
        ["  - Corrected, to paste:", *(f"    {line}" for line in quoted_lines(one.corrected))] if one.corrected else []
    )
    problems = [f"  - {problem_text(each)}" for each in one.problems]
    return [f"- {_name(one)}{f' {inert(one.record.id)}' if one.record else ''}{known}{reason}", *problems, *corrected]


def _in_full(one: CheckedReference, *, also: str) -> list[str]:
    corrected = ["Corrected, to paste:", *quoted_lines(one.corrected)] if one.corrected else []
    candidates = [f"- {inert(each.id)}{_after(each.reference)}{_mark(each)}" for each in one.candidates]
    lines = [
        f"### {_name(one)}{also}",
        *quoted_lines(one.written),
        inert(one.reason),
        *(f"- {problem_text(each)}" for each in one.problems if one.record and each.field != "status"),
        *(_record(one.record) if one.record else ()),
        *corrected,
        *([_candidates_are(one), *candidates] if candidates else ()),
    ]
    return list(filter(None, lines))


def _candidates_are(one: CheckedReference) -> str:
    return "What its number leads to, or what it may mean:" if one.verdict == "wrong_id" else "It may mean:"


def _name(reference: CheckedReference) -> str:
    """As the draft cites it, and its place in the list if that is another number."""
    label = reference.label
    if not label:
        return f"Reference {reference.index}"
    return f"[{inert(label)}]" if label == str(reference.index) else f"[{inert(label)}] (reference {reference.index})"


def problem_text(problem: ReferenceProblem) -> str:
    """What is wrong with a reference, on one line."""
    written = f"written “{inert(problem.written)}”" if problem.written else "not written"
    if problem.field == "status":
        return f"status: {inert(problem.true)}"
    if problem.is_further_work:
        return f"a further work in this entry, not checked: “{inert(problem.written)}”"
    true = f"the record has “{inert(problem.true)}”" if problem.true else "the record has none"
    changed = _changed(problem.written, problem.true) if problem.field == "title" else ""
    return f"{inert(problem.field)}: {written}, {true}{changed}{' (minor)' if problem.minor else ''}"


def _changed(written: str, true: str) -> str:
    """The words in which two titles differ, if they are few; "" if they are many."""
    one, other = written.split()[:MAX_WORDS], true.split()[:MAX_WORDS]
    steps = SequenceMatcher(None, _folded(one), _folded(other), autojunk=False).get_opcodes()
    parts = [(" ".join(one[a:b]), " ".join(other[c:d])) for step, a, b, c, d in steps if step != "equal"]
    if not parts or sum(len(f"{gone} {come}".split()) for gone, come in parts) > FEW_WORDS:
        return ""
    told = (f"“{inert(gone)}” for “{inert(come)}”" if gone and come else _one_sided(gone, come) for gone, come in parts)
    return f"; it differs in: {', '.join(told)}"


def _one_sided(gone: str, come: str) -> str:
    return f"“{inert(gone)}” added" if gone else f"“{inert(come)}” left out"


def _folded(words: Sequence[str]) -> list[str]:
    return [re.sub(r"\W", "", word).casefold() for word in words]


def _record(record: CheckedRecord) -> list[str]:
    notices = [f"- {_notice(one)}" for one in record.status_notices]
    return [f"Record: {inert(record.id)}{_after(record.reference)}{_mark(record)}", *notices]


def _mark(record: CheckedRecord) -> str:
    return f" **{status_label(record.status)}**" if is_marked(record.status) else ""


def _notice(notice: StatusNotice) -> str:
    numbers = (f"PMID {notice.pmid}" if notice.pmid else "", notice.own_doi)
    where = "; ".join(filter(None, (notice.reference.rstrip(" :;,"), *numbers)))
    return f"{NOTICE_LABELS[notice.kind]}: {inert(where)}"


def _quotation(one: CheckedQuotation) -> list[str]:
    name = f"Quotation {one.index}{f' of {_places(one.references)}' if one.references else ''}"
    where = f" in {inert(one.where)}" if one.where else ""
    if one.verdict == "verbatim":
        return [f"- {name}{where}: “{inert(clipped(one.quote, MAX_WRITTEN))}”{_after(one.difference)}"]
    lines = [f"### {name}", *quoted_lines(one.quote), inert(one.difference)]
    if one.passage:
        stands = "Nearest passage" if one.verdict == "not_found" else "It stands"
        lines += [f"{stands}{where}:", *quoted_lines(one.passage)]
    return list(filter(None, lines))


def _claim(claim: CheckedClaim) -> list[str]:
    cited = f"Reference {claim.references[0]}" if claim.references else "Cited"
    of = ", abstract" if claim.passage and " " not in claim.where else ""
    of += f", {inert(claim.section)}" if claim.section else ""
    where = f" ({inert(claim.where)}{of})" if claim.where else ""
    missing = f"; numbers missing: {inert(', '.join(claim.numbers_missing))}" if claim.numbers_missing else ""
    missing += (
        f"; with other words there: {inert('; '.join(claim.numbers_elsewhere))}" if claim.numbers_elsewhere else ""
    )
    if not claim.passage:
        return [f"{cited}{where}: its record has no abstract, and nothing else of it could be read{missing}."]
    return [f"{cited}{where}, relevance {claim.relevance:.3f}{missing}:", *quoted_lines(claim.passage)]


def _places(indexes: Sequence[int]) -> str:
    return f"reference{'s' if len(indexes) > 1 else ''} {', '.join(map(str, indexes))}"


def _after(text: str) -> str:
    return f": {inert(text)}" if text else ""
