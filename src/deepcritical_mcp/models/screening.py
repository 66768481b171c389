"""What the user decided about publications: included, excluded or cited, why, and with which tags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from deepcritical_mcp.models.evidence import Publication, decision_of
from deepcritical_mcp.models.publication import Screening, Value
from deepcritical_mcp.text import clean_line

Verdict = Literal["", "included", "excluded", "cited", "undecided"]
"""A decision as it is given: "" leaves the earlier one, "undecided" takes it back."""
MARKS = ("included", "excluded", "cited", "undecided", "decided")
"""What `marked` selects, apart from tags."""
MAX_TAGS, MAX_TAG_LENGTH, MAX_REASON_LENGTH = 20, 60, 500
MAX_DECISIONS = 100
"""How many decisions of a publication's history are kept: the latest."""
RELEVANT: tuple[Screening, ...] = ("included", "cited")
"""The decisions by which a record counts as relevant."""
CRITERIA_TAG = "criteria"
"""The tag of the user's notes that say what is included."""


class StopEstimate(Value):
    """What the decisions tell about the relevant records that remain; never that screening is done.

    Attributes:
        rule_met: whether the stop rule in use holds now.
        missing: how many relevant ones are probably still undecided; -1 if that cannot be estimated yet.
        recall: the share of the relevant ones that is found by that estimate.
        p: of the hypergeometric criterion: the probability at most to find so few last, if recall were below 95 %.
        says: all that in a few sentences, with what is assumed.
        met, not_met: what the heuristics of the SAFE procedure ask for, how it stands, and what it means.
    """

    rule_met: bool
    says: str
    p: float
    missing: int = -1
    recall: float = 0.0
    met: tuple[str, ...] = ()
    not_met: tuple[str, ...] = ()


class ScreeningState(Value):
    """How far screening has come.

    Attributes:
        question: the session's title.
        criteria: the user's notes with the tag "criteria".
        basis: what the order is made of: decisions; the words of question and criteria, before anything is included;
            or the order of arrival, without these.
        since_relevant: how many records were excluded since the last relevant one.
        found_at: after how many decisions each relevant one was found: the curve. Not sent.
        stop: says nothing until there is something to learn from.
    """

    question: str = ""
    criteria: tuple[str, ...] = ()
    basis: Literal["decisions", "criteria", "arrival"]
    decided: int
    relevant: int
    undecided: int
    since_relevant: int
    found_at: Annotated[tuple[int, ...], Field(exclude=True)] = ()
    stop: StopEstimate = StopEstimate(rule_met=False, says="", p=1.0)


NOT_RANKED = ScreeningState(basis="arrival", decided=0, relevant=0, undecided=-1, since_relevant=0)
"""Of a page that is not sorted for screening."""


@dataclass(frozen=True)
class ScreeningMark:
    """A decision to write.

    Attributes:
        id: of the publication, or of a text of it.
        verdict: see `Verdict`.
        reason: the user's; "" keeps the reason of an unchanged verdict, and drops that of another one.
        tags: in place of the earlier ones; None leaves these.
        by: who decides; "" if the server does not know.
    """

    id: str
    verdict: Verdict = ""
    reason: str = ""
    tags: tuple[str, ...] | None = None
    by: str = ""

    def changes(self, publication: Publication, now: datetime) -> dict[str, Any]:
        """The fields of `publication` that it changes `now`, with their new values; none if nothing is new."""
        new: dict[str, Any] = {}
        if self.verdict:
            screening: Screening = "" if self.verdict == "undecided" else self.verdict
            is_kept = screening == publication.screening and not self.reason
            new = {"screening": screening, "screening_reason": publication.screening_reason if is_kept else self.reason}
        elif self.reason:
            new = {"screening_reason": self.reason}
        if self.tags is not None:
            new["tags"] = self.tags
        new = {name: value for name, value in new.items() if value != getattr(publication, name)}
        if not new:
            return {}
        new["screened"] = now.strftime("%Y-%m-%dT%H:%M:%SZ")
        if "screening" in new and not {new["screening"], publication.screening} <= {*RELEVANT}:
            new["decided"] = now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        elif publication.screening and not publication.decided:  # by an earlier version
            new["decided"] = publication.screened
        if not {"screening", "screening_reason"}.isdisjoint(new):
            made = ", ".join(filter(None, (new["screened"], self.by)))
            entry = f"{made}: {decision_of(publication.model_copy(update=new)) or 'undecided'}"
            new["decisions"] = (*publication.history, entry)[-MAX_DECISIONS:]
        return new


WITHOUT_DECISION: Mapping[str, object] = MappingProxyType(
    {"screening": "", "screening_reason": "", "screened": "", "decided": "", "decisions": (), "tags": ()}
)
"""The fields of a publication that the user has not decided about."""


def decision_replaced(before: Publication, after: Publication) -> str:
    """The part of an earlier decision and tags that no longer holds, and since when it did; "" if there is none."""
    lost = decision_of(before) if decision_of(before) != decision_of(after) else ""
    tags = [tag for tag in before.tags if tag not in after.tags]
    told = "; ".join(filter(None, (lost, f"tags: {', '.join(tags)}" if tags else "")))
    return f"{told} ({before.screened})" if told and before.screened else told


def decision_sentence(line: str) -> str:
    """What `decision_line` gives, labelled for people: "Decision: excluded: no control group", "Tags: rct"."""
    return line[:1].upper() + line[1:] if line.startswith("tags: ") else f"Decision: {line}" if line else ""


def matches_mark(publication: Publication, marked: str) -> bool:
    """Whether `marked` selects it: "" selects all, "included", "excluded" and "cited" what was decided so, "decided"
    each of these, "undecided" the others but notes, which are not screened, and any other text what has that tag; case
    does not matter."""
    word = clean_line(marked).casefold()
    if word == "undecided":
        return not (publication.screening or publication.is_note)
    if word in ("", "decided"):
        return not word or bool(publication.screening)
    if word in get_args(Screening):
        return publication.screening == word
    return any(tag.casefold() == word for tag in publication.tags)
