"""A concept of a topic with its names, and the block that finds it in PubMed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from deepcritical_mcp.models import Concept
from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.abbreviations import Abbreviation
from deepcritical_mcp.search.expansion.phrases import natural_order, stems
from deepcritical_mcp.sources.base import MeshDescriptor
from deepcritical_mcp.spelling import other_spelling
from deepcritical_mcp.text import PUBMED_STOP_WORDS

MAX_NAMES = 20
MAX_NEIGHBORS_SHOWN = 12
_MAX_NAME_LENGTH = 60
# Words such as "aged" and "child" say less in a title or abstract than as a heading.
_AGE_GROUPS = ("M01.060",)
BLOCK_CHARS = 450
"""Maximum characters of one concept in a PubMed query."""
# Endings after which "*" finds other forms of the word only ("inhibitor*", "disease*").
_INFLECTED = tuple(
    """sion tion ment ance ence ease drome itor ator ptor nist gist cent ient biotic ssant lant cebo vaccine""".split()
)


@dataclass(frozen=True)
class TopicConcept:
    """Words of the topic, with what they are called elsewhere.

    Attributes:
        text: the words, as they are in the topic.
        forms: the same in other words, from the topic's own definitions, the evidence, or an abbreviation's meaning.
        record: the record of MeSH that has this name, or that PubMed maps the words to.
        broader: the headings directly above it in the tree.
        narrower: the headings directly below it.
        abbreviation: what is known of `text` as an abbreviation.
    """

    text: str
    forms: tuple[str, ...] = ()
    record: MeshDescriptor | None = None
    broader: tuple[MeshDescriptor, ...] = ()
    narrower: tuple[MeshDescriptor, ...] = ()
    abbreviation: Abbreviation | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Other names of the concept for people and for searches without operators."""
        own = {stems(self.text), *map(stems, self.forms)}
        entries = synonyms(self.record) if self.record else ()
        return (*self.forms, *(name for name in entries if stems(name) not in own))

    @property
    def block(self) -> str:
        """The concept for PubMed."""
        records = [self.record] if self.record else []
        can_inflect = not _is_substance(self.record)
        # PubMed drops an abbreviation that is one of its stop words ("AS").
        texts = self.forms if self.forms and self.text.lower() in PUBMED_STOP_WORDS else (self.text, *self.forms)
        own = [one for name in texts for one in written(name, can_inflect=can_inflect)]
        alternatives = [
            *own,
            *(pubmed_syntax.phrase(one.name, tag) for one in records for tag in _tags(one)),
            *(
                one
                for record in records
                if not record.is_of(_AGE_GROUPS)
                for name in synonyms(record)
                for one in written(name)
            ),
        ]
        return pubmed_syntax.any_of(_without_longer(_each_once(alternatives), own), limit=BLOCK_CHARS)


def written(name: str, *, can_inflect: bool = False) -> list[str]:
    """A name for PubMed's titles and abstracts, in British and in American spelling; truncated if that is safe."""
    return [
        pubmed_syntax.phrase(f"{one}*" if can_inflect and one.lower().endswith(_INFLECTED) else one, "tiab")
        for one in spellings(name)
    ]


def spellings(name: str) -> tuple[str, ...]:
    """A name in British and in American spelling."""
    plain = pubmed_syntax.words(name)
    other = other_spelling(plain.lower())
    return (plain,) if other == plain.lower() else (plain, other)


def to_wire(concepts: Sequence[TopicConcept]) -> tuple[Concept, ...]:
    """The topic's concepts for clients."""
    return tuple(
        Concept(
            term=one.text.strip('"'),
            kind="substance" if one.record and one.record.is_supplementary else "heading" if one.record else "words",
            mesh_id=one.record.mesh_id if one.record else "",
            mesh_term=one.record.name if one.record else "",
            entry_terms=one.names[:MAX_NAMES],
            narrower=tuple(record.name for record in one.narrower[:MAX_NEIGHBORS_SHOWN]),
            broader=tuple(record.name for record in one.broader[:MAX_NEIGHBORS_SHOWN]),
            supplementary=(one.record.name,) if one.record and one.record.is_supplementary else (),
            abbreviation_of=tuple(_meanings(one.abbreviation)) if one.abbreviation else (),
            pubmed_block=one.block,
        )
        for one in concepts
    )


def _meanings(abbreviation: Abbreviation) -> Iterator[str]:
    if abbreviation.in_context:
        best = abbreviation.in_context[0]
        yield f"{best.long_form}: {best.share:.0%} of papers with the rest of your topic"
    yield from (f"{one.long_form}: {one.share:.0%} in PubMed" for one in abbreviation.meanings)


def synonyms(record: MeshDescriptor) -> tuple[str, ...]:
    """The names of a record in natural order, short enough for a query, each once."""
    names = {name.lower(): name for name in map(natural_order, (record.name, *record.entry_terms))}
    return tuple(name for name in names.values() if len(name) <= _MAX_NAME_LENGTH and not {*"()[]"} & {*name})


def _each_once(alternatives: Iterable[str]) -> list[str]:
    """`alternatives` without those that differ from an earlier one in case only, which PubMed ignores."""
    found: dict[str, str] = {}
    for one in alternatives:
        found.setdefault(one.casefold(), one)
    return list(found.values())


def _without_longer(alternatives: Sequence[str], own: Sequence[str]) -> list[str]:
    """`alternatives` without the phrases in titles and abstracts that contain another one, which finds them too; the
    user's own words stay."""
    words = {one: f" {one.split(chr(34))[1].rstrip('*').lower()} " for one in alternatives if one.endswith("[tiab]")}
    longer = {one for one, text in words.items() if any(other in text and other != text for other in words.values())}
    return [one for one in alternatives if one in own or one not in longer]


def _tags(record: MeshDescriptor) -> list[str]:
    """The fields in which PubMed has a record's name; an action of drugs is in that of all drugs that have it."""
    is_action = any(one.startswith("D27.505") for one in record.tree_numbers)
    tags = ["Supplementary Concept"] if record.is_supplementary else ["MeSH Terms"]
    return [*tags, "Pharmacological Action"] if is_action else tags


def _is_substance(record: MeshDescriptor | None) -> bool:
    """Whether it is a chemical, a drug or a protein, whose name other words begin with ("albumin", "albuminuria")."""
    return record is not None and (record.is_supplementary or any(one.startswith("D") for one in record.tree_numbers))


def has_name(record: MeshDescriptor, text: str) -> bool:
    """Whether a record has that name, in any form of its words."""
    return any(stems(name) == stems(text) for name in (record.name, *record.entry_terms))
