"""Publications for the tests of quotations and claims."""

from deepcritical_mcp.models import PARAGRAPH_BREAK, Part, Publication, Text
from tests.publications import published

ABSTRACT = """\
BACKGROUND: Zinc deficiency is common in older adults (aged ≥65 years). It was not associated with falls in the trial; \
however, TNF-α levels were higher in treated patients than in controls (12.5 vs 10.1 pg/ml, P<.05).
METHODS: We randomly assigned 1,234 patients to receive 2.5 mg of zinc or placebo, which was not approved by the FDA, \
for 12–15 weeks.
RESULTS: Mortality was 34% in the zinc group and 41% in the placebo group (hazard ratio, 0.78; 95% CI, 0.65 to 0.93). \
The non-significant difference in Ca²⁺ of -0.5 mmol/L persisted. Creatinine did not, in any of the groups studied, \
increase significantly after treatment. The tumor response was modest in both of the groups."""


def abstract(
    content: str = ABSTRACT, *, pmid: str = "101", title: str = "Zinc and falls in older adults"
) -> Publication:
    """A record of PubMed."""
    return published(content, source="pubmed", title=title, pmid=pmid)


def full_text(*paragraphs: str, references: str = "1. Roe J. On iron.", pmid: str = "202") -> Publication:
    """A paper of one section, whose list of references follows."""
    body = PARAGRAPH_BREAK.join(paragraphs) + PARAGRAPH_BREAK
    parts = (
        Part(anchor="s1", path=("Results",), start=0),
        Part(anchor="r1", kind="references", path=("References",), start=len(body)),
    )
    text = Text(kind="full_text", content=body + references, provider="pmc", parts=parts)
    paper = published(body, source="pubmed", title="Iron in mice", pmid=pmid)
    return paper.model_copy(update={"texts": (text,)})
