"""A topic's PubMed query taken apart: its concepts, and the phrases between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.blocks import TopicConcept
from deepcritical_mcp.search.expansion.phrases import general_stems, stems
from deepcritical_mcp.search.expansion.topic import Topic
from deepcritical_mcp.sources.base import MeshDescriptor
from deepcritical_mcp.text import NEGATIONS, PUBMED_STOP_WORDS

_OF_CONTEXT = frozenset("among at during in on within".split())
_SEPARATORS = NEGATIONS | frozenset(
    """after against among and are as at be before being between by can compared comparing do does during for from had
    has have in into is it its on or over per than that the their they this through to toward under until versus vs was
    we were when where which while who whose with within""".split()
)
_PEOPLE = frozenset("individuals participants patient patients people persons subjects".split())


@dataclass(frozen=True)
class Operand:
    """A part of the topic's PubMed query: a concept, or a phrase in the user's words, and the word that separates it
    from what stands `before` it. A negation is always required."""

    text: str
    concept: TopicConcept | None = None
    before: str = ""

    @property
    def is_context(self) -> bool:
        """Whether a preposition says that it is the place, time or people of a study."""
        return self.before in _OF_CONTEXT

    @property
    def is_negation(self) -> bool:
        return self.text.startswith('"')

    @property
    def is_general(self) -> bool:
        """Whether its words alone name no subject."""
        return self.concept is None and stems(self.text) <= general_stems()

    @property
    def is_idle(self) -> bool:
        """Whether it would only keep papers from being found: "patients", a bare number."""
        return self.concept is None and (self.text.lower() in _PEOPLE or self.text.isdecimal())

    def pubmed(self, *others: MeshDescriptor) -> str:
        """The operand for PubMed; the user's own words go through PubMed's mapping, unless PubMed would drop the first
        one ("use of force")."""
        if self.concept:
            return self.concept.block(*others)
        is_lost = self.text.split()[0] in PUBMED_STOP_WORDS
        return pubmed_syntax.phrase(self.text, "tiab") if is_lost else self.text


def operands_of(topic: Topic, concepts: Iterable[TopicConcept]) -> list[Operand]:
    """The topic's parts in their order; () for PubMed's syntax, which is never taken apart."""
    if topic.syntax:
        return []
    spans = {span.start: (span.stop, one) for one in concepts if (span := topic.find(one.text))}
    found: list[Operand] = []
    run: list[str] = []
    before = ""
    place = 0

    def end_run() -> None:
        nonlocal run, before
        found.extend(_phrase(run, before))
        run, before = [], "" if run else before

    while place < len(topic.parts):
        stop, concept = spans.get(place, (place + 1, None))
        part = topic.parts[place]
        if place in topic.starts:
            end_run()
        if concept or part.startswith('"'):
            end_run()
            found.append(Operand(concept.text if concept else part, concept, before))
            before = ""
        elif _separates(part):
            end_run()
            before = part.lower()
            run = [part] if part.lower() in NEGATIONS else []
        else:
            run.append(part)
        place = stop
    end_run()
    return found


def _separates(part: str) -> bool:
    """Whether a word is between two concepts; "of" is within one ("length of stay"), as is the A of "vitamin A"."""
    return part.lower() in _SEPARATORS and (part.islower() or (part.istitle() and len(part) > 1))


def _phrase(run: Sequence[str], before: str) -> list[Operand]:
    places = [place for place, word in enumerate(run) if word not in PUBMED_STOP_WORDS]
    if not places:
        return []
    start = 0 if run[1:2] == ["of"] else places[0]
    return [Operand(" ".join(run[start : places[-1] + 1]), before=before)]


def joined(operands: Iterable[str]) -> str:
    """Operands joined by AND, each in parentheses where it must be."""
    found = [one for one in operands if one]
    return found[0] if len(found) == 1 else " AND ".join(map(pubmed_syntax.grouped, found))
