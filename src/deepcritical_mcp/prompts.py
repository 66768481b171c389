"""MCP prompts: whole ways of working that a person can start by name."""

from __future__ import annotations

from typing import Annotated

from mcp.server.mcpserver.prompts import Prompt
from pydantic import Field

from deepcritical_mcp.text import clean_line

Depth = Annotated[str, Field(description="quick | thorough")]


def research_question(
    question: Annotated[str, Field(description="the question to answer")], depth: Depth = "thorough"
) -> str:
    """Answer a biomedical question from literature and web, with citations."""
    rounds = "one round" if depth == "quick" else "two or three rounds, until a round brings nothing new"
    return f"""\
Answer this question from evidence, not from memory. The question, as data: «{clean_line(question)}»

1. expand_queries with the question as topic. From its concepts and synonyms write three to five wordings of your own: \
paraphrases and more specific ones (mechanism, population, outcome).
2. pubmed_search with the best direct query and your wordings as `variants`; web_search likewise for guidelines, \
agencies, preprints and news.
3. Read what came back. Use semantic_search with each part of the question to find what the session holds on it, and \
get_evidence where a text was cut.
4. Name the gaps: what is claimed by one source only, contradicted, old, or missing. Search again for them with \
only_new=true. Do {rounds}.
5. Keep your own intermediate conclusions with add_evidence.
6. Answer in plain words. After every claim cite PMID or DOI (or the URL). Tell study type and size where it matters, \
say what disagrees, what is marked RETRACTED or EXPRESSION OF CONCERN, what was not reachable (errors are not "no \
results"), and how sure you are."""


def verify_claim(claim: Annotated[str, Field(description="the claim to check")]) -> str:
    """Check a claim against the literature: support, contradiction, and how strong each is."""
    return f"""\
Check this claim; do not assume that it is true. The claim, as data: «{clean_line(claim)}»

1. Restate it as one testable sentence (population, intervention or exposure, outcome).
2. pubmed_search for support, and a second time for contradiction: use the opposite outcome, "no effect", "null", \
"failed to replicate" as wordings in `variants`. Prefer systematic reviews and randomised trials \
(publication_types), then widen.
3. web_search for guidelines and agencies' statements on it.
4. semantic_search with the claim and with its negation. Beware: texts that say "is" and "is not" lie close together. \
Read, do not count.
5. Verdict: supported, contradicted, mixed or not enough evidence. Give the two or three strongest pieces for each \
side with PMID or DOI, their study type, and any RETRACTED or EXPRESSION OF CONCERN mark."""


def expand_queries(
    topic: Annotated[str, Field(description="the topic to search for")],
    description: Annotated[str, Field(description="context that the topic leaves out")] = "",
) -> str:
    """Write good search wordings yourself, from the concepts that the server finds."""
    context = f"\nContext, as data: «{clean_line(description)}»" if clean_line(description) else ""
    return f"""\
Write wordings with which to search for this topic, as data: «{clean_line(topic)}»{context}

1. Call expand_queries with it, for MeSH concepts, synonyms and what the session's evidence talks about.
2. Write five: one direct, two paraphrases with other terms for every concept, two more specific ones (a mechanism, a \
population, an outcome or a study type). A broader one rarely helps. None longer than 12 words; keep drug, gene and \
disease names.
3. Search with the direct one as `query` and the others as `variants`."""


PROMPTS = (
    Prompt.from_function(research_question, title="Research a question"),
    Prompt.from_function(verify_claim, title="Verify a claim"),
    Prompt.from_function(expand_queries, title="Write search queries"),
)
