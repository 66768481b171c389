"""The interface of every source of evidence: requests, answers, checks, and the source itself."""

from __future__ import annotations

import math
import pkgutil
import re
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Protocol, Self

import anyio
from pydantic import model_validator
from typing_extensions import TypeVar

from deepcritical_mcp.dates import iso_date
from deepcritical_mcp.errors import InvalidInputError, ProviderTimeoutError
from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.models import MAX_VARIANTS, CitationSource, ProviderReport, Publication, Value, query_problem
from deepcritical_mcp.sources import why_off
from deepcritical_mcp.text import clean_line, counted

if TYPE_CHECKING:
    from deepcritical_mcp.config import Settings
    from deepcritical_mcp.net.client import Net
    from deepcritical_mcp.sources import SourceRow

_DATE = re.compile(r"\d{4}(-\d\d){0,2}")
SourceKind = Literal["literature", "preprints", "trials", "web"]
State = Literal["ok", "off", "warning", "broken"]
Remaining = tuple[list[Publication], tuple[str, ...]]
"""Results that a request does not leave out, and remarks on the others."""
CHECK_THE_NETWORK = "Check the network and, if there is one, the proxy (HTTPS_PROXY)."


class SearchRequest(Value):
    """What to search for; each source adds its own filters. Validated on construction.

    `variants` are other phrasings of the same question, searched too and fused; `only_new` leaves out what the session
    already holds. Raises InvalidInputError for an invalid value; the message says what is valid.
    """

    MAX_RESULTS: ClassVar[int] = 100
    LAST_RESULT: ClassVar[int] = 10_000
    """The source returns no result beyond this one."""
    NARROWING: ClassVar[str] = "Narrow the search."
    """Advice when `LAST_RESULT` is exceeded."""

    query: str
    variants: tuple[str, ...] = ()
    max_results: int = 10
    offset: int = 0
    only_new: bool = False

    @property
    def order(self) -> str:
        """How the source ranks its results."""
        return "best match"

    @model_validator(mode="after")
    def _check(self) -> Self:
        for name, texts in (("query", [clean_line(self.query)]), ("variants", self.queries[1:])):
            for problem in filter(None, map(query_problem, texts)):
                raise InvalidInputError(f"{name}: {problem}.")
        if len(self.variants) > MAX_VARIANTS:
            raise InvalidInputError(f"variants: at most {MAX_VARIANTS}, got {len(self.variants)}.")
        if not 1 <= self.max_results <= self.MAX_RESULTS:
            raise InvalidInputError(f"max_results: 1 to {self.MAX_RESULTS}, got {self.max_results}.")
        if self.offset < 0:
            raise InvalidInputError(f"offset: 0 or more, got {self.offset}.")
        left = self.LAST_RESULT - self.offset
        if self.max_results > left:
            results = f"Results {self.offset + 1:,} to {self.offset + self.max_results:,}"
            hint = f" At this offset max_results may be at most {left}." if left > 0 else ""
            raise InvalidInputError(f"{results} cannot be retrieved. {self.NARROWING}{hint}")
        return self

    @property
    def queries(self) -> tuple[str, ...]:
        """The query, then its variants, each on one line, without duplicates."""
        lines: dict[str, str] = {}
        for text in (self.query, *self.variants):
            line = clean_line(text)
            lines.setdefault(line.casefold(), line)
        lines.pop("", None)
        return tuple(lines.values())

    def leave_out(self, found: Sequence[Publication], scores: Mapping[str, float]) -> Remaining:
        """`found` without results that this request excludes, and remarks on what was omitted."""
        return list(found), ()

    def filters(self) -> Iterable[str]:
        """Each filter in words, "" for one that is not used: "only with an abstract"."""
        return ()

    def limits(self) -> Iterator[str]:
        """Each filter and limit in words, for the log of searches: "at most 10 results"."""
        yield from filter(None, self.filters())
        if self.only_new:
            yield "only results new to the session"
        first = f", from result {self.offset + 1:,} on" if self.offset else ""
        yield f"at most {counted(self.max_results, 'result')}{first}"


class DatedRequest(SearchRequest):
    """A request with limits of dates, "YYYY[-MM[-DD]]", both inclusive, "" = open, and the first day ("YYYY-MM-DD") on
    which the source may have added a record, "" = any."""

    min_date: str = ""
    max_date: str = ""
    since: str = ""

    @model_validator(mode="after")
    def _check_dates(self) -> Self:
        for name, text in (("min_date", self.min_date.strip()), ("max_date", self.max_date.strip())):
            if text and not iso_date(text):
                what = "does not exist" if _DATE.fullmatch(text) else "is not a date"
                raise InvalidInputError(f'{name} "{clean_line(text)[:40]}" {what}: write YYYY, YYYY-MM or YYYY-MM-DD.')
        earliest, latest = self.dates
        is_within = earliest.startswith(latest)  # "2020-05" is within "2020", and every date if `latest` is open
        if earliest > latest and not is_within:
            raise InvalidInputError(f"min_date {earliest} is after max_date {latest}: swap them.")
        return self

    @property
    def dates(self) -> tuple[str, str]:
        """Both limits, "" if open."""
        return self.min_date.strip(), self.max_date.strip()

    def dates_in_words(self, what: str) -> str:
        """The limits for the log of searches: "published from 2020 to 2021-05"; "" if both are open."""
        limits = [f"{word} {date}" for word, date in zip(("from", "to"), self.dates, strict=True) if date]
        return " ".join((what, *limits)) if limits else ""


def any_of(terms: Iterable[str]) -> str:
    """A term for one of several: "(a OR b)"; "" for none."""
    known = list(terms)
    return f"({' OR '.join(known)})" if len(known) > 1 else "".join(known)


@dataclass(frozen=True)
class Answer:
    """What a source answers to one variant.

    Attributes:
        ids: in rank order; the source's own ids, or those of `records`.
        total: results in all, of which `ids` is one page.
        records: the records included in the answer, by id; the others must be fetched.
        scores: by id, those that the provider gave, 0..1.
        remarks: what the source ignored in the query, or could not do.
        reports: the outcome for each provider behind the source; () if the source is its own provider.
        detail: who answered, for the report on this variant.
        translation: the query as the source ran it, "" if it does not say.
        sent: the query with its filters as it went over the wire, without keys.
        answered_by: the provider behind the source that answered, by its name for people; with a date for an answer of
            that day.
        from_cache: whether these are results of an earlier search.
    """

    ids: tuple[str, ...]
    total: int
    records: Mapping[str, Publication] = field(default_factory=dict[str, Publication])
    scores: Mapping[str, float] = field(default_factory=dict[str, float])
    remarks: tuple[str, ...] = ()
    reports: tuple[ProviderReport, ...] = ()
    detail: str = ""
    translation: str = ""
    sent: str = ""
    answered_by: str = ""
    from_cache: bool = False

    @classmethod
    def whole(cls, found: Sequence[Publication], scores: Mapping[str, float] | None = None, total: int = 0) -> Answer:
        """An answer that needs no second step."""
        records = {one.id: one for one in found}
        return cls(tuple(records), max(total, len(records)), records, scores or {})


def as_sent(params: Mapping[str, object]) -> str:
    """The parameters of a request on one line: "q=zinc; freshness=pw"."""
    return "; ".join(f"{name}={value}" for name, value in params.items())


@dataclass(frozen=True)
class Fetched:
    """Records by the source's ids, and a sentence for each that is missing: `unnamed` are those whose id is unknown.

    `unread` are the ids of records that the source sent, but broken, "" if it is not known which: that one of them is
    missing is an outage, and does not mean that the source has no such record.
    """

    records: Mapping[str, Publication]
    losses: Mapping[str, str] = field(default_factory=dict[str, str])
    unnamed: tuple[str, ...] = ()
    unread: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Finding:
    """What a check found: "off" is optional and not configured, "warning" works but could be better."""

    text: str
    state: State = "ok"
    advice: str = ""


@dataclass(frozen=True)
class SourceCheck:
    """One line of `doctor`.

    Attributes:
        title: the component that is checked, e.g. "PubMed".
        examine: checks it with the cheapest possible request; raises DeepCriticalError if it is broken.
        advice: what to do then.
        key_variable: the environment variable to correct if the key is refused; "" if no key is sent.
        searches: whether searching works if this does.
    """

    title: str
    examine: Callable[[], Awaitable[Finding]]
    advice: str = CHECK_THE_NETWORK
    key_variable: str = ""
    searches: bool = True

    @classmethod
    def answering(
        cls, title: str, ask: Callable[[], Awaitable[object]], told: str = "answers", **more: Any
    ) -> SourceCheck:
        """The check whether a service answers, which `ask` finds out; `more` is known of it."""

        async def examine() -> Finding:
            await ask()
            return Finding(told)

        return cls(title, examine, **more)


class MeshDescriptor(Value):
    """A record of MeSH: a descriptor (a heading), or a supplementary concept (most drugs, rare diseases).

    `uid` is its record number in the MeSH database, `mesh_id` the id that NLM shows ("D000544"; "C508053" for a
    supplementary concept, which has no place in the tree). `parents` and `children` are the record numbers of the
    descriptors directly above and below it at all its positions in the tree.
    """

    uid: str
    mesh_id: str
    name: str
    entry_terms: tuple[str, ...] = ()
    tree_numbers: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()
    children: tuple[str, ...] = ()

    @property
    def is_supplementary(self) -> bool:
        """Whether it is a supplementary concept."""
        return self.mesh_id.startswith("C")

    def is_of(self, branches: tuple[str, ...]) -> bool:
        """Whether all its places in the tree are in these branches, e.g. "D" or "D27.505"; False without a place."""
        return bool(self.tree_numbers) and all(number.startswith(branches) for number in self.tree_numbers)


class Hits(Value):
    """How many records a query finds; the query as the source read it, its phrases that the source does not have, and
    its terms that no record has, if they were asked for."""

    count: int
    translation: str = ""
    unknown_phrases: tuple[str, ...] = ()
    unknown_terms: tuple[str, ...] = ()


class Vocabulary(Protocol):
    """Looks up words and counts papers, as `sources.pubmed.source.PubMedVocabulary` does. Every method raises
    ProviderErrors only."""

    async def corrected(self, text: str) -> str: ...
    async def descriptors(self, headings: Sequence[str]) -> dict[str, MeshDescriptor]: ...
    async def by_uid(self, uids: Sequence[str]) -> dict[str, MeshDescriptor]: ...
    async def members(self, action: str) -> tuple[tuple[str, ...], tuple[str, ...]]: ...
    async def among(self, query: str, pmids: Sequence[str]) -> frozenset[str]: ...
    async def publications(self, pmids: Sequence[str]) -> tuple[Publication, ...]: ...
    async def texts(self, query: str, count: int) -> tuple[str, ...]: ...
    async def hits(self, query: str, *, as_read: bool = False) -> Hits: ...


class Completer(Protocol):
    """Completes identifiers of documents, in order, as NCBI's ID converter does; raises only ProviderError."""

    async def convert(self, ids: Sequence[RecordIds]) -> Sequence[RecordIds]: ...
    def check(self) -> SourceCheck: ...


class Service(ABC):
    """A service that can be asked. Its methods raise only ProviderError or AllProvidersFailedError; an outage is never
    an empty answer.

    Attributes:
        name: wire name, e.g. "pubmed".
        title: name for people, e.g. "PubMed".
    """

    name: str
    title: str

    @classmethod
    @abstractmethod
    def create(cls, settings: Settings, net: Net) -> Self:
        """The service as the settings describe it. Opens no connection yet."""

    def checks(self) -> Sequence[SourceCheck]:
        """The checks for `doctor`."""
        return ()


Request = TypeVar("Request", bound=SearchRequest, default=Any)


class Source(Service, Generic[Request]):
    """A source of evidence; its name is the key of `Services.searches`.

    Attributes:
        kind: what it holds.
        cited_as: the `source` of its citations.
        tool: the tool that searches it, for the log of searches.
        request: the class of its requests.
        two_step: whether `ask` may return ids without records, which `fetch` gets.
        scored: whether relevance is the provider's own score (none for a record without one). If not, the session
            computes it. The answers of a scored source include the records.
        block: results of each variant that are fused at a time, so that pages of one search neither repeat nor miss a
            record; 0 if only a first page is available.
        id_name: what an id is called, e.g. "PMID".
        needs_status_check: whether a `Witness` is asked for the status of its records whenever a search finds them.
        vocabulary: what query expansion looks concepts up in; None if the source has none.
        completer: finds the source's ids of documents known by other identifiers; None if there is no such service.
    """

    kind: SourceKind
    cited_as: CitationSource
    tool: str = ""
    request: type[SearchRequest] = SearchRequest
    two_step: bool = False
    scored: bool = False
    block: int = 200
    id_name: str = "id"
    needs_status_check: bool = False
    vocabulary: Vocabulary | None = None
    completer: Completer | None = None

    @abstractmethod
    async def ask(self, variant: str, request: Request, *, offset: int, limit: int) -> Answer:
        """At most `limit` results of one variant from `offset` on, under the filters of `request`."""

    async def fetch(self, ids: Sequence[str], *, within: float = math.inf) -> Fetched:
        """The records of `ids`, for a source that answers in two steps; they may have been read earlier today, if that
        was `within` the last so many seconds."""
        raise NotImplementedError

    def sent(self, variant: str, request: Request) -> str:
        """What `ask` sends for a variant, as in `Answer.sent`; "" if that depends on who answers."""
        return ""

    def stub(self, id: str) -> Publication:
        """A placeholder for a record not fetched yet; enough to recognize it in a session."""
        raise NotImplementedError

    def named(self, ids: str) -> str:
        """An id, or several, with their name: "PMID 7"; "NCT00000007" needs none."""
        return ids if ids.startswith(self.id_name) else f"{self.id_name} {ids}"

    async def spelling(self, query: str) -> str:
        """Another spelling for a query that found nothing, "" if the source suggests none."""
        return ""


T = TypeVar("T")
S = TypeVar("S", bound=Service)


async def in_time(service: Service, seconds: float, ask: Callable[[], Awaitable[T]]) -> T:
    """What `ask` gives; ProviderTimeoutError if that takes more than so many seconds."""
    with anyio.move_on_after(seconds):
        return await ask()
    raise ProviderTimeoutError(service.name, f"{service.title} did not answer in time.")


def created(kind: type[S], rows: Sequence[SourceRow], settings: Settings, net: Net) -> list[S]:
    """The services of `rows`, which are all of one kind, as the settings describe them, without those switched off."""
    classes: list[type[S]] = [pkgutil.resolve_name(row.source) for row in rows if not why_off(row, settings.off)]
    return [one.create(settings, net) for one in classes]
