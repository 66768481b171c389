"""The evidence board: one self-contained page, shown by MCP hosts (MCP Apps) or written as a report.

The page loads no resources, builds itself from text nodes only, and its Content-Security-Policy allows no other script.
Its parts are in this folder: board.html, board.css and js/, the latter concatenated in the order of `SCRIPTS`.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import secrets
from collections.abc import Mapping, Sequence
from functools import cache, partial
from importlib.resources import files
from math import dist, sqrt
from typing import TYPE_CHECKING, Any

from anyio.to_thread import run_sync

from deepcritical_mcp._version import __version__
from deepcritical_mcp.errors import EvidenceStoreError, SessionError
from deepcritical_mcp.export import export_entries, quotable, without_full_texts
from deepcritical_mcp.export.flow_numbers import FlowNumbers
from deepcritical_mcp.models import (
    NO_ABSTRACT,
    NOTICE_LABELS,
    SOURCE_LABELS,
    STATUSES,
    Evidence,
    LoggedSearch,
    Publication,
)
from deepcritical_mcp.search.expansion.evidence_terms import distinctive_terms
from deepcritical_mcp.text import clean_line

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.store import EvidenceStore
    from deepcritical_mcp.screening.queue import ScreeningQueues

META_KEY = "deepcritical/board"
BOARD_KEY = secrets.token_urlsafe(16)
"""What the board sends back in the `_meta` of its calls under `META_KEY`, so that a person's decision is known as one:
results give it to the board in their `_meta`, which models do not see."""
MAX_POINTS = 300
SCRIPTS = (
    "dom",
    "evidence",
    "host",
    "board",
    "decisions",
    "cards",
    "queue",
    "table",
    "map",
    "timeline",
    "log",
    "files",
    "main",
)

_ON_MAP = {"title", "source", "date", "status", "status_checked"}
_RECORD = {"date", "authors", "journal", "publisher", "pmid", "pmcid", "doi", "nct", "url", "status_notices"}

NO_LOG = (
    "This report was made from an exported file, which has the decisions but no log of the searches. For the searches "
    "and the flow diagram, make the report from the session itself: deepcritical-mcp report rs_…"
)

_Spot = tuple[float, float]
Places = Mapping[str, _Spot]
"""By evidence id, on a map: 0..1 from left to right and from bottom to top."""


def board_page() -> str:
    """The page for the resource `ui://deepcritical/board.html`; it shows the tool result that its host sends it."""
    return _assemble("Evidence board", None)


async def session_meta(store: EvidenceStore, shown: Sequence[Evidence]) -> Mapping[str, object]:
    """The `_meta` of a tool result that shows `shown`: the map of these and of the session's latest other evidence.

    The map is optional: {} if the session cannot be read.
    """
    try:
        total = await store.count()
        items = [*shown, *reversed(await store.page(max(0, total - MAX_POINTS), MAX_POINTS))]
        places = await store.places([item.id for item in items], limit=MAX_POINTS)
    except (EvidenceStoreError, SessionError):
        return {}
    meta = partial(board_meta, store.session_id, items, places, total=total, shown=shown)
    own = (await run_sync(meta, abandon_on_cancel=True))[META_KEY]
    return {META_KEY: {**own, "key": BOARD_KEY}}


async def queue_meta(store: EvidenceStore, queues: ScreeningQueues, ids: Sequence[str]) -> Mapping[str, object]:
    """The `_meta` of a page of the screening queue: its records with their abstracts and the words that speak for and
    against each, and after how many decisions each relevant record was found; {} if the session cannot be read."""
    try:
        queue = await queues.of(store)
        kept = await store.publications(ids)
    except (EvidenceStoreError, SessionError):
        return {}
    records = list[dict[str, object]]()
    for id, publication in kept.items():
        for_it, against = queue.words(id)
        shown = Evidence.of(without_full_texts(publication)).model_dump(mode="json")
        records.append({**shown, "for": for_it, "against": against})
    return {META_KEY: {"queue": {"records": records, "found_at": queue.state.found_at}, "key": BOARD_KEY}}


def board_meta(
    session_id: str, evidence: Sequence[Evidence], places: Places, *, total: int = 0, shown: Sequence[Evidence] = ()
) -> Mapping[str, Mapping[str, object]]:
    """The `_meta` of a tool result for the board: the map of a session of `total` items, and the records of what is
    `shown` in fields, since its structured form has them in a reference.

    The first `MAX_POINTS` with a place of `evidence` are used: the result's own first, then more from the session.
    """
    placed = list({item.id: item for item in evidence if item.id in places}.values())[:MAX_POINTS]
    at = [(one, *places[one.id]) for one in placed]
    spots = [{"id": one.id, **one.citation.model_dump(include=_ON_MAP), "x": x, "y": y} for one, x, y in at]
    records = [
        {"id": one.id, **one.citation.model_dump(mode="json", include=_RECORD, exclude_defaults=True)} for one in shown
    ]
    groups = named_groups(placed, places)
    return {META_KEY: {"session_id": session_id, "total": total, "map": spots, "groups": groups, "records": records}}


def board_report(
    publications: Sequence[Publication],
    evidence: Sequence[Evidence] = (),
    places: Places | None = None,
    *,
    title: str = "Evidence report",
    session_id: str = "",
    created: str = "",
    log: Sequence[LoggedSearch] | None = None,
    remarks: Sequence[str] = (),
) -> str:
    """The same page as a standalone document that contains `publications`; opens in any browser, offline.

    `evidence` is the same as their session shows them, with links and notes; without it, each stands alone. Without
    `places` there is no map. `created`, for the footer, says when and how it was created. `log` is the session's, for
    the list of searches and the flow diagram; None if it is not known, which the page says. `remarks` are on the status
    of what is shown.
    """
    searches: dict[str, object] = {"no_log": NO_LOG}
    if log is not None:
        logged = [(one, one.model_dump(mode="json", exclude={"ids", "request"})) for one in log]
        rows = [{**row, "failed": one.failed, "known": len(one.ids) - one.new} for one, row in logged]
        searches = {"log": rows, "flow": flow_chart(FlowNumbers(log, publications))}
    # In parts: the one line of `Evidence.decision` is for reading.
    texts = [(one, text, one.id_of(text)) for one in publications for text in one.texts]
    marks = {id: {"decision": one.screening, "reason": one.screening_reason, "tags": one.tags} for one, _, id in texts}
    quotes = {id: quotable(text).content for _, text, id in texts if text.parts}
    publications = [without_full_texts(one) for one in publications]
    quoted = {id: {"content": text, "content_truncated": True} for id, text in quotes.items()}
    evidence = [one.model_copy(update=quoted.get(one.id)) for one in evidence or map(Evidence.of, publications)]
    records = [{**item.model_dump(mode="json"), "screening": marks.get(item.id)} for item in evidence]
    shown = {"session_id": session_id, "evidence": records, "warnings": [*remarks]}
    result = {"structuredContent": shown, "_meta": board_meta(session_id, evidence, places or {})}
    exports = {"ris": export_entries(publications, "ris"), "bibtex": export_entries(publications, "bibtex")}
    named = {"title": clean_line(title), "created": clean_line(created)}
    return _assemble(named["title"], {**named, "result": result, "exports": exports, **searches})


def _assemble(title: str, data: object) -> str:
    style, script = _source("board.css"), _script()
    digests = (base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in (script, style))
    policy = "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'"
    embedded = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":  # so that it cannot close the HTML element around it
        embedded = embedded.replace(letter, f"\\u{ord(letter):04x}")
    parts = {"CSP": policy.format(*digests), "TITLE": html.escape(title), "STYLE": style, "SCRIPT": script}
    parts["DATA"] = embedded
    # In one pass, so that a placeholder inside a title or the data is not filled.
    return re.sub("@([A-Z]+)@", lambda place: parts[place[1]], _source("board.html"))


@cache
def _script() -> str:
    script = '(() => {\n"use strict";\n' + "\n".join(_source(f"js/{name}.js") for name in SCRIPTS) + "})();\n"
    gravest_first = {status: label or "No notice" for status, label in [*STATUSES.items()][::-1]}
    for name, labels in {"STATUSES": gravest_first, "NOTICES": NOTICE_LABELS, "SOURCES": SOURCE_LABELS}.items():
        # A string literal with the labels as JSON, so that their order and every character stay.
        script = script.replace(f'"@{name}@"', json.dumps(json.dumps(dict(labels))))
    return script.replace("@VERSION@", __version__)


@cache
def _source(name: str) -> str:
    return files(__name__).joinpath(name).read_text("utf-8")


_MOST_REASONS = 8
_REGISTERED = ("database", "register")


def flow_chart(numbers: FlowNumbers) -> dict[str, Any]:
    """The boxes of a PRISMA 2020 flow diagram from top to bottom, and remarks below them, as far as the session knows
    its numbers: without decisions it ends where screening begins."""
    counts = {"Duplicates": numbers.duplicates, "Left out by filters": numbers.left_out}
    counts |= {"Removed from the session": numbers.removed}
    removed = [f"– {name}: {count}" for name, count in counts.items() if count]
    removed = [f"Removed before screening (n = {sum(counts.values())})", *removed] if removed else []
    undecided = [f"Not decided on (n = {numbers.undecided})"] if numbers.undecided else []
    records = [f"Records in the session (n = {numbers.records})"]
    steps: list[tuple[str, list[str], list[str]]] = [("Identification", _identified(numbers), removed)]
    steps.append(("Screening", records, undecided))
    if numbers.screened:
        left = numbers.screened - sum(numbers.excluded.values())
        excluded = _excluded("Excluded without a full text", numbers.excluded)
        steps.append(("Screening", [f"Records decided on (n = {numbers.screened})"], excluded))
        if numbers.excluded_with_text:
            excluded = _excluded("Excluded, full text in the session", numbers.excluded_with_text)
            steps.append(("Eligibility", [f"Records left (n = {left})"], excluded))
        steps.append(("Included", _included(numbers), []))
    boxes = [{"phase": phase, "lines": lines, "aside": aside} for phase, lines, aside in steps]
    texts = f"The session has the full text, page or registration of {numbers.retrieved} of {numbers.records} records"
    texts += f"; of {numbers.not_retrieved} it was asked for and not obtained." if numbers.not_retrieved else "."
    notes = ["Nothing has been included or excluded yet, so the diagram ends here."] if not numbers.screened else []
    if numbers.undecided and numbers.screened:
        notes.append("Whether the records without a decision were screened is not known.")
    return {"steps": boxes, "notes": [*notes, texts]}


def _identified(numbers: FlowNumbers) -> list[str]:
    lines = [f"Records identified (n = {numbers.total_identified})"]
    for title, is_registered in (("From databases and registers:", True), ("By other methods:", False)):
        some = [one for one in numbers.identified if (one.source.method in _REGISTERED) == is_registered]
        lines += [title, *(f"– {one.source.name}: {one.records}" for one in some)] if some else []
    return lines


def _excluded(title: str, excluded: Mapping[str, int]) -> list[str]:
    if not excluded:
        return []
    reasons = [*excluded.items()]
    shown = reasons if len(reasons) <= _MOST_REASONS else reasons[: _MOST_REASONS - 1]
    lines, rest = [f"– {reason}: {count}" for reason, count in shown], reasons[len(shown) :]
    lines += [f"– {len(rest)} other reasons: {sum(count for _, count in rest)}"] if rest else []
    return [f"{title} (n = {sum(excluded.values())})", *lines]


def _included(numbers: FlowNumbers) -> list[str]:
    lines = list[str]()
    for mark, lead, count in (("included", "", numbers.included), ("cited", "marked as ", numbers.cited)):
        retracted = sum(decision == mark for decision in numbers.retracted.values())
        lines += [f"Records {lead}{mark} (n = {count})"] if count or mark == "included" else []
        lines += [f"– retracted of these: {retracted}"] if retracted else []
    return lines


# Our own choices: fewer items show no groups, and more names than that do not fit on the map.
_FEWEST_ITEMS, _FEWEST_IN_GROUP, _MOST_GROUPS = 8, 3, 6
# A name fits a group if so many of its items have the term.
_LEAST_SHARE = 1 / 3
# A second term is added where there is room.
_MAX_TERM, _MAX_NAME = 40, 28
_MAX_ROUNDS, _MOST_TERMS = 25, 12


def named_groups(evidence: Sequence[Evidence], places: Places) -> list[dict[str, object]]:
    """The groups of the items with a place, each with its middle and its name, the largest first. A group without
    a telling term is left out. The same for the same items in the same order."""
    # The title and the first index terms are enough for a name, and quick to read.
    placed: list[Evidence] = []
    for one in (item for item in evidence if item.id in places):
        terms = {name: getattr(one.citation, name)[:_MOST_TERMS] for name in ("mesh_terms", "keywords")}
        placed.append(one.but(content=NO_ABSTRACT, citation=one.citation.but(**terms)))
    if len(placed) < _FEWEST_ITEMS:
        return []
    groups = [group for group in _grouped([places[one.id] for one in placed]) if len(group[1]) >= _FEWEST_IN_GROUP]
    taken = set[str]()
    named = [(middle, _name([placed[at] for at in members], placed, taken)) for middle, members in groups]
    return [{"x": round(x, 4), "y": round(y, 4), "name": name} for (x, y), name in named if name]


def _name(group: Sequence[Evidence], everything: Sequence[Evidence], taken: set[str]) -> str:
    """One or two terms that much of the group and little else has; "" if there are none."""
    least = max(2, len(group) * _LEAST_SHARE)
    terms = distinctive_terms("", group, everything, {}) if len(group) < len(everything) else ()
    name = ""
    for term in (clean_line(one.term) for one in terms if len(one.evidence_ids) >= least):
        longer = f"{name}, {term}" if name else term[:1].upper() + term[1:]
        if len(longer) > (_MAX_NAME if name else _MAX_TERM) or term.casefold() in taken:
            continue
        taken.add(term.casefold())
        if name:
            return longer
        name = longer
    return name


def _grouped(spots: Sequence[_Spot]) -> list[tuple[_Spot, list[int]]]:
    """k-means (Lloyd) from starts that are far from each other, beginning with the spot nearest to the middle of all:
    the middle and the members of each group, the largest first."""
    count = max(2, min(_MOST_GROUPS, round(sqrt(len(spots) / 2))))
    middles = [min(spots, key=lambda spot: (dist(spot, _middle(spots)), spot))]
    while len(middles) < count:
        middles.append(max(spots, key=lambda spot: (min(dist(spot, one) for one in middles), spot)))
    members: list[list[int]] = []
    for _ in range(_MAX_ROUNDS):
        members = [[] for _ in middles]
        for at, spot in enumerate(spots):
            members[min(range(len(middles)), key=lambda one: (dist(spot, middles[one]), one))].append(at)
        moved = [_middle([spots[at] for at in group]) if group else middles[one] for one, group in enumerate(members)]
        if moved == middles:
            break
        middles = moved
    return sorted(zip(middles, members, strict=True), key=lambda group: (-len(group[1]), group[0]))


def _middle(spots: Sequence[_Spot]) -> _Spot:
    return sum(x for x, _ in spots) / len(spots), sum(y for _, y in spots) / len(spots)
