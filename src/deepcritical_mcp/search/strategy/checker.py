"""Test a search strategy: what it finds in PubMed, which known papers it loses and why, what is wrong in it, and how
other databases take it. One request for each line and block, one for all seeds and for each part that may lose them."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import anyio
import anyio.to_thread

from deepcritical_mcp.deadline import TO_REPORT_FAILURE, Progress, for_each, no_progress, seconds_before
from deepcritical_mcp.errors import InvalidInputError, ProviderError
from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.models import Publication, StrategyPart, StrategyProblem, StrategyReport, StrategySeed, Target
from deepcritical_mcp.search.expansion.pubmed_syntax import NUMBERED, other_database
from deepcritical_mcp.search.record_finder import Lookup, RecordFinder
from deepcritical_mcp.search.strategy.lines import Strategy, concept_terms, read_strategy
from deepcritical_mcp.search.strategy.missed import PERHAPS, record_headings, words_that_find
from deepcritical_mcp.search.strategy.problems import KINDS, form_problems, named, press_problems, problem
from deepcritical_mcp.search.strategy.syntax import Group, Term, Tree, is_list, references, terms
from deepcritical_mcp.search.strategy.translation import translated
from deepcritical_mcp.sources.base import Hits, MeshDescriptor, Vocabulary
from deepcritical_mcp.sources.lookup import Wanted
from deepcritical_mcp.text import batches, clipped

MAX_SHOWN = 200
"""Characters of a line or a block that the report repeats."""
_AT_ONCE, _HEADINGS_AT_ONCE, _NAMED = 3, 25, 100
_REQUESTS_FOR_HEADINGS = _REQUESTS_FOR_SEEDS = 2
_OTHER = (
    "This looks like a strategy in the syntax of {}: only strategies in PubMed's syntax are tested, and written for "
    'other databases. Rewrite it first: headings as "Gout"[mh], without narrower ones [mh:noexp], words as '
    'gout*[tiab], words near each other as "gout flare"[tiab:~2], lines as #1 AND #2 or or/1-3.'
)
Seeds = Sequence[tuple[str, RecordIds]]
T = TypeVar("T")


class StrategyChecker:
    """Tests strategies; `seconds` is how long it asks at most where no deadline is set around it."""

    def __init__(self, vocabulary: Vocabulary | None, records: RecordFinder, *, seconds: float = 45.0) -> None:
        self._vocabulary, self._records, self._seconds = vocabulary, records, seconds

    async def check(
        self,
        text: str,
        *,
        seeds: Seeds = (),
        targets: Sequence[Target] = (),
        session_id: str = "",
        progress: Progress = no_progress,
    ) -> StrategyReport:
        """What is known about the strategy in `text`; `seeds` are records that it should find, each with the id that
        the caller gave. An outage is named for each part that it concerns, never raised.

        Raises:
            InvalidInputError: it is no strategy in PubMed's syntax, or too long, or nested too deeply.
        """
        if (database := other_database(text)) not in ("", NUMBERED):
            raise InvalidInputError(_OTHER.format(database))
        try:
            run = await anyio.to_thread.run_sync(_Run.of, text)
            translations = tuple(translated(run.strategy, target) for target in dict.fromkeys(targets))
        except RecursionError:
            raise InvalidInputError("strategy: brackets or lines are nested too deeply. Test it in parts.") from None
        if self._vocabulary is None:
            run.failed["PubMed is not used on this server: nothing was counted."] = []
        elif run.whole:
            with anyio.move_on_after(seconds_before(TO_REPORT_FAILURE, cap=self._seconds)):
                await run.ask(self._vocabulary, self._records, seeds, progress)
        problems = dict.fromkeys([*run.offline, *run.problems()])
        return StrategyReport(
            session_id=session_id,
            hits=run.hits[run.whole].count if run.whole in run.hits else -1,
            lines=(
                *(run.part(f"line {line.number}", line.text) for line in run.strategy.lines),
                *(
                    run.part(name, str(tree))
                    for name, tree in run.parts.items()
                    if name[0] != "#" and len(run.parts) > 1
                ),
            ),
            seeds=tuple(run.seeds(seeds)),
            problems=tuple(sorted(problems, key=lambda one: KINDS.index(one.kind))),
            translations=translations,
            requests=run.requests,
            errors=tuple(run.errors()),
        )


@dataclass
class _Run:
    """What was asked about one strategy, and answered so far.

    Attributes:
        queries: the query of each line ("line 2") and part ("#2", "B"), "" where it lacks a line.
        failed: by what failed, the names of what is therefore unknown.
        found: the PMIDs that the whole finds; None if that is unknown.
        lost: by part, the PMIDs that it loses.
    """

    strategy: Strategy
    joined: dict[str, Tree]
    excluded: dict[str, Tree]
    queries: dict[str, str]
    offline: list[StrategyProblem]
    requests: int = 0
    hits: dict[str, Hits] = field(default_factory=dict[str, Hits])
    failed: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    lookups: list[Lookup] = field(default_factory=list[Lookup])
    found: frozenset[str] | None = None
    lost: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    headings: dict[str, MeshDescriptor | None] = field(default_factory=dict[str, "MeshDescriptor | None"])

    @classmethod
    def of(cls, text: str) -> _Run:
        """Of the strategy in a text, of which nothing was asked yet."""
        strategy = read_strategy(text)
        joined, excluded = strategy.blocks()
        trees = {**{f"line {line.number}": line.tree for line in strategy.lines}, **joined, **excluded}
        queries = {name: strategy.query(tree) for name, tree in trees.items()}
        return cls(strategy, joined, excluded, queries, [*form_problems(strategy), *press_problems(strategy)])

    @property
    def parts(self) -> dict[str, Tree]:
        return {**self.joined, **self.excluded}

    @property
    def whole(self) -> str:
        return self.queries[f"line {self.strategy.whole.number}"]

    async def ask(self, vocabulary: Vocabulary, records: RecordFinder, seeds: Seeds, progress: Progress) -> None:
        """All questions, the most important first."""
        if seeds:
            await progress(0.1, "looking for the seeds")
            self.lookups = await records.find([Wanted(ids) for _, ids in seeds], seconds_before(TO_REPORT_FAILURE))
            self.requests += _REQUESTS_FOR_SEEDS
            await self._ask_for_seeds(vocabulary)
        await progress(0.4, "counting")
        names = {query: name for name, query in reversed(self.queries.items()) if query}
        first = dict.fromkeys((self.whole, *(self.queries[name] for name in self.parts), *names))
        limiter = anyio.CapacityLimiter(_AT_ONCE)

        async def count(query: str) -> None:
            async with limiter:
                if answer := await self._asked(names[query], vocabulary.hits(query, as_read=True)):
                    self.hits[query] = answer

        await for_each(count, (query for query in first if query))
        await progress(0.8, "looking up headings")
        used = [term.heading for line in self.strategy.lines for term in terms(line.tree) if _is_looked_up(term)]
        lost = frozenset[str]().union(*self.lost.values())
        missed = [one.record for one in self.lookups if one.record and one.record.pmid in lost]
        wanted = dict.fromkeys(
            name.lower() for name in (*used, *(name for one in missed for name in record_headings(one)))
        )
        for some in batches(list(wanted), _HEADINGS_AT_ONCE):
            answer = await self._asked("the headings", vocabulary.descriptors(some), _REQUESTS_FOR_HEADINGS)
            self.headings |= dict.fromkeys(some) | answer if answer is not None else {}

    async def _ask_for_seeds(self, vocabulary: Vocabulary) -> None:
        pmids = list(dict.fromkeys(one.record.pmid for one in self.lookups if one.record and one.record.pmid))
        among = partial(vocabulary.among, pmids=pmids)
        self.found = await self._asked("the seeds", among(self.whole)) if pmids else frozenset()
        missed = frozenset(pmids) - self.found if self.found is not None else frozenset[str]()
        for name in self.parts if missed else ():
            inside = await self._asked(f"the seeds in {name}", vocabulary.among(self.queries[name], sorted(missed)))
            if inside is not None:
                self.lost[name] = inside if name in self.excluded else missed - inside

    async def _asked(self, name: str, question: Awaitable[T], requests: int = 1) -> T | None:
        """The answer; None in an outage, which is noted with the part that it concerns."""
        self.requests += requests
        try:
            return await question
        except ProviderError as error:
            self.failed.setdefault(error.message, []).append(name)
            return None

    def part(self, name: str, text: str) -> StrategyPart:
        """A line or block with what it finds."""
        hits = self.hits.get(self.queries[name])
        number = name.removeprefix("line ")
        return StrategyPart(number=number, text=clipped(text, MAX_SHOWN), hits=hits.count if hits else -1)

    def seeds(self, given: Seeds) -> Iterator[StrategySeed]:
        """What became of each seed, in order."""
        for (id, _), one in zip(given, self.lookups or [None] * len(given), strict=True):
            record, why = one.record if one else None, "see the errors" if one is None or self.found is None else ""
            if one and not (record and record.pmid):
                why = (
                    one.failures[0].message if one.failures else "PubMed has no such record, so nothing finds it there"
                )
            found = bool(record and self.found and record.pmid in self.found)
            title = clipped(record.title, MAX_SHOWN) if record and not found else ""
            losing = [name for name, lost in self.lost.items() if record and record.pmid in lost]
            yield StrategySeed(
                id=id,
                title=title,
                found=found,
                lost_by=tuple(f"NOT {name}" if name in self.excluded else name for name in losing),
                words=tuple(
                    f"{name}: {word}" for name in losing if record for word in self._words(name, record, losing)
                ),
                detail=f"not tested: {why}" if why else "",
            )

    def _words(self, name: str, record: Publication, losing: Iterable[str]) -> Iterable[str]:
        """What would have let a part that AND joins find a record, which the `losing` parts lose."""
        if name not in self.joined:
            return ()
        own = {each: [*concept_terms(self.strategy.resolved(tree))] for each, tree in self.joined.items()}
        known = {each: one for each, one in self.headings.items() if one}
        others = [term for each, found in own.items() if each != name for term in found]
        words = words_that_find(record, own[name], known, others)
        is_sure = is_list(self.strategy.resolved(self.joined[name])) and self.excluded.keys().isdisjoint(losing)
        return words if is_sure else (f"{PERHAPS}{one.removeprefix(PERHAPS)}" for one in words)

    def problems(self) -> Iterator[StrategyProblem]:
        """What the answers show to be wrong."""
        for name, tree in self.excluded.items():
            if lost := self.lost.get(name):
                told = clipped(f"({tree})" if isinstance(tree, Group) else str(tree), _NAMED)
                yield problem("not_removes_seeds", name.lstrip("#"), told, f"PMID {named(sorted(lost))}")
        counts = {line.number: self.hits.get(self.queries[f"line {line.number}"]) for line in self.strategy.lines}
        empty = {number for number, hits in counts.items() if hits and not hits.count}
        for line in self.strategy.lines:
            hits, said = counts[line.number], line.text.lower()
            unknown = {"not_in_pubmed": hits.unknown_terms, "phrase_not_indexed": hits.unknown_phrases} if hits else {}
            for kind, found in unknown.items():
                if own := [one.strip('"') for one in found if one.lower().strip('"') in said]:
                    yield problem(kind, line.number, named(own))
            if hits and not hits.count and empty.isdisjoint(references(line.tree)):
                yield problem("empty_line", line.number)
            for term in filter(_is_looked_up, terms(line.tree)):
                yield from self._heading(line.number, term)

    def _heading(self, line: str, term: Term) -> Iterator[StrategyProblem]:
        name = term.heading.lower()
        record = self.headings.get(name)
        if record is None:
            if name in self.headings:
                yield problem("no_such_heading", line, str(term), hint="expand_queries looks headings up.")
        elif term.field == "nm" and not record.is_supplementary:
            yield problem("now_a_heading", line, str(term), record.name)
        elif record.name.lower() != name and term.field != "nm":
            yield problem("renamed_heading", line, str(term), record.name)

    def errors(self) -> Iterator[str]:
        """What could not be asked, and what there was no time for."""
        for message, names in self.failed.items():
            yield f"{message} Not known: {named(names)}." if names else message
        known = {*self.hits, "", *(self.queries.get(name) for names in self.failed.values() for name in names)}
        late = [name for name, query in self.queries.items() if query not in known]
        if late and all(self.failed.values()):
            yield f"There was no time to count {named(late)}: call again, today's counts are kept."


def _is_looked_up(term: Term) -> bool:
    return term.is_heading and "*" not in term.text
