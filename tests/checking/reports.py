"""Reports on made-up drafts."""

from collections.abc import Sequence

from deepcritical_mcp.models import (
    CheckedClaim,
    CheckedQuotation,
    CheckedRecord,
    CheckedReference,
    CitationReport,
    Finding,
    ReferenceProblem,
    StatusNotice,
    with_findings,
)

WRITTEN = "Doe J, Roe R. Zinc in wound repair: a trial. J Zinc. 2018;7(2):11-9. https://doi.org/10.1000/zinc"
CORRECTED = WRITTEN.replace("2018", "2020")


def record(number: int = 7) -> CheckedRecord:
    reference = f"Doe J, Roe R. Zinc in wound repair: trial {number}. J Zinc. 2020;7(2):11-9. PMID: {number}."
    return CheckedRecord(id=f"pubmed:{number}", reference=reference, pmid=str(number), doi=f"10.1000/{number}")


def retracted(number: int = 1) -> CheckedReference:
    notice = StatusNotice(kind="retraction", pmid="99", reference="J Zinc. 2021 Jan;8(1):3")
    gone = record(number).model_copy(update={"status": "retracted", "status_notices": (notice,)})
    status = ReferenceProblem(field="status", true="retracted. Retraction: J Zinc. 2021 Jan;8(1):3 PMID 99")
    return CheckedReference(
        index=number, label=str(number), written=WRITTEN, verdict="verified", record=gone, problems=(status,)
    )


def differing(number: int = 2, *, corrected: str = CORRECTED) -> CheckedReference:
    year = ReferenceProblem(field="year", written="2018", true="2020")
    pages = ReferenceProblem(field="pages", true="11-9", minor=True)
    return CheckedReference(
        index=number,
        label="doe2018",
        written=WRITTEN,
        verdict="differs",
        record=record(number),
        problems=(year, pages),
        corrected=corrected,
    )


def verified(number: int) -> CheckedReference:
    return CheckedReference(
        index=number, label=str(number), written=f"{number}. {WRITTEN}", verdict="verified", record=record(number)
    )


def claim(sentence: str, number: int = 2, *, anchor: str = "") -> CheckedClaim:
    return CheckedClaim(
        sentence=sentence,
        references=(number,),
        where=f"pubmed:{number} {anchor}".strip(),
        passage="Zinc closed wounds in 12 days.",
        relevance=0.612,
        numbers_missing=("45%",),
    )


ALTERED = CheckedQuotation(
    index=1,
    quote="zinc closed wounds in 10 days",
    references=(2,),
    verdict="altered",
    where="pubmed:2 s3p4",
    passage="Zinc closed wounds in 12 days.",
    difference="number: 12 became 10",
)


def report(findings: Sequence[Finding], **counts: int) -> CitationReport:
    empty = CitationReport(session_id=f"rs_{'a' * 32}", counts=counts, call="check_citations with the same text,")
    return with_findings(empty, findings)
