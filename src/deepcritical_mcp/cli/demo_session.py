"""The steps of the demo: what the client asks, and what it shows of the answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from mcp import Client
from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel

from deepcritical_mcp.cli.screen import Screen
from deepcritical_mcp.models import AddResult, Expansion, SearchResult
from deepcritical_mcp.text import clean_line

QUESTION = "Does metformin lower cardiovascular mortality in people with type 2 diabetes?"
_ONLY_SAMPLES = (
    "The sample library has nothing on this: it covers metformin, Parkinson's disease, gene editing for sickle cell "
    "disease, long COVID and statins. Online, the real sources are searched."
)
ResultT = TypeVar("ResultT", bound=BaseModel)


@dataclass(frozen=True)
class Story:
    """The question, the note that is added, and the words in which the note is searched for."""

    question: str
    note_title: str
    note: str
    recall: str


def story(question: str) -> Story:
    """The story about `question` or, if that is blank, about the example."""
    question = clean_line(question)
    if not question:
        return Story(
            QUESTION,
            "My note: trials before registers",
            "People in registers who take metformin are often younger and less ill than those who take something else. "
            "Before I believe that metformin lowers cardiovascular deaths, I want to see randomised trials.",
            "why should I doubt observational data about metformin?",
        )
    return Story(
        question,
        "My note: what to check first",
        f"About my question “{question}”: check first which of these studies were randomised, how large they were and "
        "who paid for them.",
        "what did I want to check about study design and funding?",
    )


class DemoSession:
    """One session; `failed` names the tools that did not answer, in the order of the calls."""

    def __init__(self, client: Client, screen: Screen, *, is_sample: bool) -> None:
        self.failed: list[str] = []
        self._client = client
        self._screen = screen
        self._is_sample = is_sample
        self._seen: set[str] = set()

    async def play(self, tale: Story) -> None:
        """All steps; a failure is shown, and the next step continues without it."""
        self._screen.step(1, "A question")
        self._screen.say(tale.question, style="bold", indent=2)
        queries = await self._expand(tale.question)
        await self._pubmed(queries)
        await self._web(queries[0])
        await self._by_meaning(tale.question)
        await self._own_note(tale)

    async def _expand(self, question: str) -> list[str]:
        self._screen.step(2, "Other queries for it")
        expansion = await self._call(Expansion, "expand_queries", topic=question, count=3)
        if expansion is None:
            return [question]
        self._screen.queries(expansion)
        self._remarks((), expansion.warnings)
        return [query.query for query in expansion.queries] or [question]

    async def _pubmed(self, queries: list[str]) -> None:
        self._screen.step(3, "The literature")
        found = await self._call(SearchResult, "pubmed_search", query=queries[0], variants=queries[1:], max_results=5)
        self._found(found, "Sample records" if self._is_sample else "Records in PubMed")

    async def _web(self, query: str) -> None:
        self._screen.step(4, "The web")
        found = await self._call(SearchResult, "web_search", query=query, max_results=3)
        self._found(found, "Sample pages" if self._is_sample else "Pages")

    async def _by_meaning(self, question: str) -> None:
        self._screen.step(5, "All that was found, by meaning")
        found = await self._call(SearchResult, "semantic_search", query=question, max_results=3)
        if found is not None:
            self._screen.evidence(found.evidence, with_content=True)
            self._remarks(found.errors, found.warnings)
            self._screen.good(f"{found.total_found} records are kept in this session.")

    async def _own_note(self, tale: Story) -> None:
        self._screen.step(6, "Your own note")
        item: dict[str, object] = {"title": tale.note_title, "content": tale.note}
        added = await self._call(AddResult, "add_evidence", items=[item])
        for one in added.added if added else ():
            self._screen.good(f"Kept as {one.id}.")
        self._screen.step(7, "Found again, in other words")
        found = await self._call(SearchResult, "semantic_search", query=tale.recall, source="user", max_results=1)
        self._screen.evidence(found.evidence if found else (), with_content=True)
        self._screen.step(8, "The same note once more")
        again = await self._call(AddResult, "add_evidence", items=[item])
        for twin in again.duplicates if again else ():
            self._screen.good(f"Refused as a duplicate of {twin.duplicate_of} ({twin.reason}).")

    def _found(self, found: SearchResult | None, what: str) -> None:
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
            self._seen.update(piece.id for piece in found.evidence)
        else:
            self._screen.note(_ONLY_SAMPLES if self._is_sample else "Nothing found.")
        self._remarks(found.errors, found.warnings)

    def _remarks(self, errors: tuple[str, ...], warnings: tuple[str, ...]) -> None:
        for error in errors:
            self._screen.trouble(error)
        for warning in warnings:
            self._screen.note(warning)

    async def _call(self, kind: type[ResultT], tool: str, **arguments: object) -> ResultT | None:
        """Call a tool and show it; None when it failed, which is shown too."""
        self._screen.call(tool, arguments)
        async with self._screen.working(tool) as report:
            result = await self._client.call_tool(tool, arguments, progress_callback=report)
        if result.is_error:
            self.failed.append(tool)
            self._screen.trouble(_text(result))
            return None
        return kind.model_validate(result.structured_content)


def _text(result: CallToolResult) -> str:
    return clean_line(" ".join(part.text for part in result.content if isinstance(part, TextContent)))
