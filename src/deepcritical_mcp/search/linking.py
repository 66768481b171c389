"""The papers linked to many papers, according to all services that know: each once, and to how many it is linked."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio

from deepcritical_mcp.deadline import for_each
from deepcritical_mcp.errors import ProviderError, ProviderTimeoutError
from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.memory import SizedCache
from deepcritical_mcp.search.record_finder import RecordFinder
from deepcritical_mcp.sources.lookup import Direction, Linked, LinkLookup, NameLookup, PaperNames
from deepcritical_mcp.text import batches

AT_ONCE = 3
"""Requests to a service that are under way at the same time."""
MAX_FAILURES = 2
"""After so many, a service is not asked any more."""
NAMED_AT_ONCE, MAX_NAMES = 100, 1_000
"""Names that one request, and a call, look up: those that most of the papers are linked to."""
KEPT, MAX_KEPT = 3_600.0, 500_000
"""Seconds for which answers are used for the next page, or when what was not answered is asked for again; and how many
names all of them may have."""
LISTS: Mapping[Direction, str] = {"similar": "similar to", "cited_by": "that cite", "references": "that are cited by"}
"""What each kind of link leads to: articles …"""
_BEST = ("pmid", "doi", "pmcid", "ppr", "openalex", "place")
"""Kinds of names, the most certain first."""
_FIELDS = {"pmid": "pmid", "doi": "doi", "pmcid": "pmcid", "ppr": "preprint_number"}
"""Kinds of names that are identifiers: their fields in `RecordIds`."""
NOT_FINDABLE = ("openalex", "place")
"""Kinds of names by which no record can be fetched."""


@dataclass
class Answers:
    """What a service says about links in one direction: `links` by the place of each paper, of those that it was
    `wanted` for; why some were not answered, `error`."""

    service: LinkLookup
    direction: Direction
    wanted: Sequence[int]
    links: dict[int, Linked]
    error: ProviderError | None = None

    @property
    def found(self) -> set[PaperNames]:
        """What it lists, each once."""
        return {names for linked in self.links.values() for names in linked.papers}


@dataclass(frozen=True, eq=False)
class LinkIndexes:
    """The services that know links, those that know other names of papers, and what they have answered lately; and what
    finds the records."""

    services: Sequence[LinkLookup] = ()
    namers: Sequence[NameLookup] = ()
    records: RecordFinder = field(default_factory=lambda: RecordFinder(None, ()))
    _links: SizedCache[tuple[str, Direction, RecordIds], Linked] = field(
        default_factory=lambda: SizedCache(MAX_KEPT, KEPT)
    )
    _names: SizedCache[str, PaperNames] = field(default_factory=lambda: SizedCache(MAX_KEPT, KEPT))

    async def answers(
        self, seeds: Sequence[RecordIds], directions: Sequence[Direction], *, seconds: float, within: float = KEPT
    ) -> list[Answers]:
        """What each service says about each paper, as far as it does in so many seconds; all are asked side by side,
        about papers about which they have not been asked `within` the last so many seconds."""
        answers = list[Answers]()
        for service in self.services:
            able = [place for place, ids in enumerate(seeds) if service.knows(ids)]
            for direction in directions if able else ():
                if direction not in service.directions:
                    continue
                keys: dict[tuple[str, Direction, RecordIds], int] = {
                    (service.name, direction, seeds[place]): place for place in able
                }
                links = {keys[key]: linked for key, linked in self._links.get(keys, within).items()}
                answers.append(Answers(service, direction, able, links))

        async def ask(one: Answers, places: Sequence[int]) -> None:
            found = await one.service.links([seeds[place] for place in places], one.direction)
            for place, linked in zip(places, found, strict=True):
                one.links[place] = linked
                self._links.put((one.service.name, one.direction, seeds[place]), linked, 1 + len(linked.papers))

        turns = [
            (one.service.name, (one, places))
            for one in answers
            for places in batches([place for place in one.wanted if place not in one.links], one.service.links_at_once)
        ]
        turns.sort(key=lambda turn: turn[1][1][0])  # both directions of the first papers, then of the next ones
        failures = await in_turns(turns, ask, seconds)
        for one in (one for one in answers if len(one.links) < len(one.wanted)):
            late = ProviderTimeoutError(one.service.name, f"{one.service.title} did not answer in time.")
            one.error = failures.get(one.service.name, late)
        return answers

    async def explained(self, names: Sequence[str], *, seconds: float) -> tuple[list[PaperNames], list[str]]:
        """What else papers with these names are called, the most wanted first, and who could not say that, and why."""
        known = self._names.get(names)

        async def ask(namer: NameLookup, some: Sequence[str]) -> None:
            found = await namer.names(some)
            for one in some:
                known[one] = found.get(one, frozenset({one}))
                self._names.put(one, known[one], len(known[one]))

        new = [one for one in names if one not in known]
        own = [(namer, [one for one in new if one.startswith(f"{namer.names_kind}:")]) for namer in self.namers]
        turns = [
            (namer.title, (namer, some)) for namer, ones in own for some in batches(ones[:MAX_NAMES], NAMED_AT_ONCE)
        ]
        failures = await in_turns(turns, ask, seconds)
        told = "could not say what some papers are called elsewhere, so that they may be listed twice, or not be shown"
        problems = [f"{title} {told}: {error.message}" for title, error in failures.items()]
        if not failures and any(one not in known for _, ones in own for one in ones):
            problems.append("Not all names could be looked up in one call: some papers may be listed twice so far.")
        return [*known.values()], problems


async def in_turns(
    turns: Sequence[tuple[str, tuple[Any, ...]]], ask: Callable[..., Coroutine[Any, Any, None]], seconds: float
) -> dict[str, ProviderError]:
    """Ask services, each with its name and what it is asked, for so many seconds: a few requests to each at a time,
    until it has failed too often. Gives the last failure of each."""
    slots = {name: anyio.CapacityLimiter(AT_ONCE) for name, _ in turns}
    failures = dict[str, list[ProviderError]]()

    async def turn(name: str, asked: tuple[Any, ...]) -> None:
        async with slots[name]:
            if len(failures.get(name, ())) < MAX_FAILURES:
                try:
                    await ask(*asked)
                except ProviderError as error:
                    failures.setdefault(name, []).append(error)

    with anyio.move_on_after(seconds):
        await for_each(turn, [name for name, _ in turns], [asked for _, asked in turns])
    return {name: some[-1] for name, some in failures.items()}


class Identities:
    """Which names mean one paper, by what services `said`, each at once; the order does not matter."""

    def __init__(self, said: Iterable[PaperNames]) -> None:
        self._beside: dict[str, set[str]] = {}
        for names in {names for names in said if len(names) > 1}:
            for one in names:
                self._beside.setdefault(one, set()).update(names)

    def of(self, names: PaperNames) -> str:
        """The most certain name of a paper: a PMID that is the only one which stands beside these names, also beside
        the DOI of a number of OpenAlex; else a DOI, else another name."""
        if len(names) == 1 and min(names).startswith(_BEST[0]):
            return min(names)
        best = self._best(names)
        while (further := self._best(frozenset({best}))) != best:
            best = further
        return best

    def _best(self, names: PaperNames) -> str:
        beside = {other for one in names for other in self._beside.get(one, ())}
        for kind in _BEST:
            own, known = ([one for one in some if one.startswith(kind)] for some in (names, beside))
            if own or len(known) == 1:
                return min(own or known)
        return min(names)


@dataclass
class Candidate:
    """A paper that is linked to some of those asked about: their places by direction, the services that list it,
    and its best place in a list."""

    name: str
    names: set[str] = field(default_factory=set[str])
    seeds: dict[Direction, set[int]] = field(default_factory=dict[Direction, set[int]])
    services: set[str] = field(default_factory=set[str])
    rank: int = 1_000_000

    @property
    def count(self) -> int:
        """How many of the papers asked about it is linked to."""
        return len(set[int]().union(*self.seeds.values()))

    @property
    def ids(self) -> RecordIds:
        """Its identifiers; those of its certain name hold."""
        known = dict(one.split(":", 1) for one in (*sorted(self.names), self.name))
        return RecordIds(**{field: known.get(kind, "") for kind, field in _FIELDS.items()})


def merged(answers: Sequence[Answers], said: Iterable[PaperNames], seeds: Sequence[RecordIds]) -> list[Candidate]:
    """Every paper that is listed, once, without the seeds themselves: first what most of them are linked to, then, if
    there are several, what most services list, then the newest (the highest PMID), of similar papers the most similar.
    `said` are names that mean one paper."""
    identities = Identities(said)
    found, keys = dict[str, Candidate](), dict[PaperNames, str]()
    own = {identities.of(names_of_ids(one)) for one in seeds}
    for one in answers:
        for place, linked in one.links.items():
            for rank, names in enumerate(linked.papers):
                key = keys.get(names) or keys.setdefault(names, identities.of(names))
                if key not in own:
                    candidate = found.setdefault(key, Candidate(key))
                    candidate.names |= names
                    candidate.seeds.setdefault(one.direction, set()).add(place)
                    candidate.services.add(one.service.title)
                    candidate.rank = min(candidate.rank, rank)

    def order(one: Candidate) -> tuple[object, ...]:
        rank, (kind, _, number) = one.rank if "similar" in one.seeds else 0, one.name.partition(":")
        services = len(one.services) if len(seeds) > 1 else 0
        return -one.count, -services, rank, -int(number) if kind == "pmid" else 0, one.name

    return sorted(found.values(), key=order)


def names_of_ids(ids: RecordIds) -> PaperNames:
    """What services call a paper with these identifiers, at least a PMID or a DOI."""
    given = ids._asdict()
    return frozenset(f"{kind}:{given[field]}" for kind, field in _FIELDS.items() if given[field])
