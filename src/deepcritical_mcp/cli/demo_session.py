"""The steps of the demo: each calls a tool and shows part of its result."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeVar

from mcp import Client
from mcp_types import TextContent
from pydantic import BaseModel

from deepcritical_mcp.cli.screen import Screen
from deepcritical_mcp.models import AddResult, Document, Evidence, Expansion, SearchResult
from deepcritical_mcp.text import clean_line, counted

_SAMPLES_ONLY = (
    "The sample library has nothing on this topic. It covers metformin, Parkinson's disease, gene editing for sickle "
    "cell disease, long COVID and statins. Run the demo without --offline to search the real sources."
)
ResultT = TypeVar("ResultT", bound=BaseModel)


class Story(NamedTuple):
    """The question, the note to add, and the query that finds the note again."""

    question: str
    note_title: str
    note: str
    recall: str


_EXAMPLE = Story(
    "Does metformin lower cardiovascular mortality in people with type 2 diabetes?",
    "My note: trials before registries",
    "People in registries who take metformin are often younger and healthier than those who take another drug. "
    "Before I believe that metformin lowers cardiovascular deaths, I want to see randomized trials.",
    "why should I doubt observational data about metformin?",
)


def story_for(question: str) -> Story:
    """The story for `question`; the example if it is blank."""
    question = clean_line(question)
    if not question:
        return _EXAMPLE
    return Story(
        question,
        "My note: what to check first",
        f"About my question “{question}”: first check which of these studies were randomized, how large they were and "
        "who funded them.",
        "what did I want to check about study design and funding?",
    )


class DemoSession:
    """One session; `failed` names the tools that failed, in the order of the calls."""

    def __init__(self, client: Client, screen: Screen, *, is_sample: bool) -> None:
        self.failed: list[str] = []
        self._client = client
        self._screen = screen
        self._is_sample = is_sample
        self._seen: set[str] = set()

    async def play(self, story: Story) -> None:
        """Play all steps; a failure is shown, and the next step follows."""
        self._screen.step(1, "A question")
        self._screen.say(story.question, style="bold", indent=2)
        query, *variants = await self._expand(story.question)
        self._screen.step(3, "The literature")
        found = await self._call(SearchResult, "pubmed_search", query=query, variants=variants, max_results=5)
        self._show_found(found, "Sample records" if self._is_sample else "Records in PubMed")
        papers = found.evidence if found else ()
        self._screen.step(4, "The web")
        found = await self._call(SearchResult, "web_search", query=query, max_results=3)
        self._show_found(found, "Sample pages" if self._is_sample else "Pages")
        await self._read(next((one for one in papers if one.citation.pmcid), papers[0] if papers else None), story)
        self._screen.step(6, "Everything found, searched by meaning")
        if found := await self._recall(query=story.question, max_results=3):
            self._screen.success(f"{counted(found.total_found, 'record is', 'records are')} kept in this session.")
        await self._own_note(story)

    async def _expand(self, question: str) -> list[str]:
        self._screen.step(2, "More queries for it")
        expansion = await self._call(Expansion, "expand_queries", topic=question, count=3)
        if expansion is None:
            return [question]
        self._screen.queries(expansion)
        self._show_remarks((), expansion.warnings)
        return [query.query for query in expansion.queries] or [question]

    async def _read(self, paper: Evidence | None, story: Story) -> None:
        self._screen.step(5, "A paper, beyond its abstract")
        if paper is None:
            self._screen.warning("There is no paper to read.")
            return
        document = await self._call(Document, "get_full_text", id=paper.id, question=story.question)
        if document is None:
            return
        if document.status == "full_text":
            parts, tables = counted(len(document.outline), "section"), counted(len(document.tables), "table")
            self._screen.success(f"{parts} and {tables}, from {document.provider}.")
        else:
            self._screen.warning(f"No full text: {document.status.replace('_', ' ')}.")
        self._screen.passages(document.passages[:2])
        self._show_remarks(document.errors, document.warnings)

    async def _own_note(self, story: Story) -> None:
        self._screen.step(7, "Your own note")
        items = [{"title": story.note_title, "content": story.note}]
        added = await self._call(AddResult, "add_evidence", items=items)
        for one in added.added if added else ():
            self._screen.success(f"Kept as {one.id}.")
        self._screen.step(8, "Found again by meaning")
        await self._recall(query=story.recall, source="user", max_results=1)
        self._screen.step(9, "Adding the same note again")
        again = await self._call(AddResult, "add_evidence", items=items)
        for twin in again.duplicates if again else ():
            self._screen.success(f"Recognized as a duplicate of {twin.duplicate_of} ({twin.reason}).")

    async def _recall(self, **arguments: object) -> SearchResult | None:
        found = await self._call(SearchResult, "semantic_search", **arguments)
        if found is not None:
            self._screen.evidence(found.evidence, with_content=True)
            self._show_remarks(found.errors, found.warnings)
        return found

    def _show_found(self, found: SearchResult | None, what: str) -> None:
        if found is None:
            return
        asked = [f"{one.name} {one.status}" for one in found.providers if one.status != "skipped"]
        if asked and not self._is_sample:
            self._screen.say(f"asked: {', '.join(asked)}", style="dim", indent=2)
        if found.evidence:
            shown = len(found.evidence)
            rest = f", the first {shown}:" if found.total_found > shown else ""
            self._screen.say(f"{what}: {found.total_found:,}{rest}", indent=2)
            self._screen.evidence(found.evidence, known=self._seen)
            self._seen.update(item.id for item in found.evidence)
        else:
            self._screen.warning(_SAMPLES_ONLY if self._is_sample else "Nothing found.")
        self._show_remarks(found.errors, found.warnings)

    def _show_remarks(self, errors: Iterable[str], warnings: Iterable[str]) -> None:
        for error in errors:
            self._screen.failure(error)
        for warning in warnings:
            self._screen.warning(warning)

    async def _call(self, kind: type[ResultT], tool: str, **arguments: object) -> ResultT | None:
        """Call a tool and show the call; None if it fails, which is shown too."""
        self._screen.call(tool, arguments)
        async with self._screen.working(tool) as report:
            result = await self._client.call_tool(tool, arguments, progress_callback=report)
        if result.is_error:
            self.failed.append(tool)
            texts = [part.text for part in result.content if isinstance(part, TextContent)]
            self._screen.failure(clean_line(" ".join(texts)))
            return None
        return kind.model_validate(result.structured_content)
