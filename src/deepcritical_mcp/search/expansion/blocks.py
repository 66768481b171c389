"""A concept of a topic with its names, and the block of terms that finds it in PubMed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from deepcritical_mcp.models import Concept
from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.abbreviations import Abbreviation
from deepcritical_mcp.search.expansion.phrases import is_drug, is_symbol, natural_order, singular, stems
from deepcritical_mcp.search.expansion.roles import is_common, is_never_noun
from deepcritical_mcp.search.expansion.word_lists import endings
from deepcritical_mcp.sources.base import MeshDescriptor
from deepcritical_mcp.text import PUBMED_STOP_WORDS, other_spelling

_ENDING = re.compile("(?<=[a-z]{5})(?:al|e|ed|ic|ive|ous)$")
# "homelessness" (homeless*), "sampling" (sampl*), "mobilisation" (mobilis*), "hesitancy" (hesitan*)
_FAMILY = re.compile("(?<=[a-z]{5})(?:ness|ing|c[ey])$|(?<=[a-z]{6})ations?$")
_MAX_PHRASE_WORDS = 3
# How many words apart those of a phrase may stand: one that MeSH does not have, and one that it does, but in branches
# other than these, whose names papers use as they are.
NEAR, _NEAR_OF_HEADING = 10, 5
_NAMES = ("A", "B", "C", "D", "F03", "M", "Z")
MAX_NAMES = 20
MAX_NEIGHBORS_SHOWN = 12
SHORT_CHARS = 450
"""From how many characters on a block has a short form beside it."""
_MAX_NAME_LENGTH = 60
_ACTIONS = "D27"
# Headings whose names say less in a title or abstract.
_UNSAID = ("Adult", "Aged", "Aged, 80 and over", "Middle Aged", "Young Adult")
# Endings after which "*" finds other forms of the word only ("inhibitor*", "vaccine*").
_INFLECTED = endings("inflected endings")
# Words without a plural that papers use, and words that only look like one.
_NO_PLURAL = endings("no plural")
_PREFIX = re.compile(r"\b(anti|non|post|pre|co|multi|sub|intra|inter|peri)-(?=[a-z]{4})")
_NON = re.compile(r"\bnon(?=[a-z]{5})")


@dataclass(frozen=True)
class TermBlock:
    """Alternatives for PubMed, the most telling first: headings, the user's own words, other names, then members."""

    terms: tuple[str, ...]
    own: int
    """How many of the first terms are headings or the user's own words."""

    @property
    def full(self) -> str:
        return pubmed_syntax.any_of(self.terms)

    @property
    def short(self) -> str:
        """The first terms that fit in `SHORT_CHARS`, the headings and the user's own words always."""
        kept = [*self.terms[: self.own]]
        for one in self.terms[self.own :]:
            if len(" OR ".join([*kept, one])) + 2 > SHORT_CHARS:
                break
            kept.append(one)
        return pubmed_syntax.any_of(kept)

    @property
    def is_long(self) -> bool:
        return len(self.full) > SHORT_CHARS


@dataclass(frozen=True)
class TopicConcept:
    """Words of the topic, with what they are called elsewhere.

    Attributes:
        text: the words, as they are in the topic.
        forms: the same in other words, from the topic's own definitions, the evidence, or an abbreviation's meaning.
        record: the record of MeSH that has this name, or that PubMed maps the words to.
        broader: the headings directly above it in the tree.
        narrower: the headings directly below it.
        members: the drugs of a class, by its place in the tree or by their pharmacological action.
        unlisted: how many more members the class has, which are found where they are indexed.
        abbreviation: what is known of `text` as an abbreviation.
        unindexed: phrases that PubMed does not have in its index, in small letters.
    """

    text: str
    forms: tuple[str, ...] = ()
    record: MeshDescriptor | None = None
    broader: tuple[MeshDescriptor, ...] = ()
    narrower: tuple[MeshDescriptor, ...] = ()
    members: tuple[str, ...] = ()
    unlisted: int = 0
    abbreviation: Abbreviation | None = None
    unindexed: frozenset[str] = frozenset()

    @property
    def names(self) -> tuple[str, ...]:
        """Other names of the concept for people and for searches without operators."""
        own = {stems(self.text), *map(stems, self.forms)}
        entries = synonyms(self.record) if self.record else ()
        return (*self.forms, *(name for name in entries if stems(name) not in own))

    @property
    def block(self) -> TermBlock:
        """The concept for PubMed."""
        is_substance = _has_no_plural(self.record)
        # PubMed drops an abbreviation that is one of its stop words ("AS").
        texts = self.forms if self.forms and self.text.lower() in PUBMED_STOP_WORDS else (self.text, *self.forms)
        headings = [pubmed_syntax.phrase(self.record.name, tag) for tag in _tags(self.record)] if self.record else []
        own = [one for name in texts for one in text_words(name, is_substance=is_substance, unindexed=self.unindexed)]
        if self.record and not self.record.is_of(_NAMES) and 2 <= len(self.text.split()) <= _MAX_PHRASE_WORDS:
            own += text_words(self.text, near=_NEAR_OF_HEADING)  # "quality of sleep"
        names = [
            one
            for name in (synonyms(self.record) if self.record and self.record.name not in _UNSAID else ())
            if len(name) > 3 or not name.isupper()  # "VSD" is the name of other things, too
            for one in text_words(name, is_substance=is_substance, unindexed=self.unindexed, is_own=False)
        ]
        members = [one for name in self.members for one in text_words(name, is_substance=True, is_own=False)]
        first = _each_once([*headings, *own])
        return TermBlock(tuple(_without_longer(_each_once([*first, *names, *members]), first)), len(first))


def text_words(
    name: str,
    *,
    is_substance: bool = False,
    unindexed: Iterable[str] = (),
    is_own: bool = True,
    near: int = 0,
) -> list[str]:
    """A name for PubMed's titles and abstracts: singular and plural, in British and in American spelling, with a
    prefix joined or not; truncated if that is safe.

    Of the phrases that PubMed does not have, those of the user (`is_own`) are searched as words near each other, as are
    all at most `near` words apart; the others are left out.
    """
    found: list[str] = []
    for spelled in spellings(name):
        forms = numbers(spelled, is_substance=is_substance or is_drug(name))
        indexed = [one for one in forms if one.rstrip("*").casefold() not in unindexed and not near]
        found += [pubmed_syntax.term(one, "tiab") for one in indexed]
        if is_own and not indexed:
            apart = dict.fromkeys(one.replace("*", end) for one in (*forms, spelled) for end in ("", "s"))
            found += [pubmed_syntax.phrase(one, f"tiab:~{near or 2}") for one in apart]
    return _each_once(found)


def spellings(name: str) -> tuple[str, ...]:
    """A name in British and in American spelling, its prefix with a hyphen and without."""
    plain = pubmed_syntax.words(name)
    lower = plain.lower()
    others = (other_spelling(lower), _PREFIX.sub(r"\1", lower), _NON.sub("non-", lower))
    return tuple(dict.fromkeys((plain, *(one for one in others if one != lower))))


def numbers(name: str, *, is_substance: bool = False) -> list[str]:
    """A name in the singular and in the plural; both at once by a "*" where other words do not begin so."""
    *before, last = name.split() or [""]
    lower = last.lower()
    if not lower.replace("-", "").isalpha() or len(lower) < 4 or not last.islower():
        return [name]
    one = singular(lower)
    many = lower if one != lower else plural(lower)
    if is_substance and one == lower:  # "metformin" has no plural, "statins" has a singular
        return [name]
    if (lower.endswith(_NO_PLURAL) or is_never_noun(lower) or lower in endings("only look plural")) and one == lower:
        return [name]
    if many == f"{one}s" and (before or one.endswith(_INFLECTED)) and not (is_substance and not before):
        return [" ".join([*before, f"{one}*"])]
    return [" ".join([*before, form]) for form in dict.fromkeys((last if last.lower() == one else one, many))]


def plural(word: str) -> str:
    """A word in small letters in the plural."""
    if word in ("child", "grandchild", "schoolchild"):
        return word + "ren"
    if word.endswith("man") and word != "human":
        return word[:-3] + "men"
    if word.endswith("is"):
        return word[:-2] + "es"
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "ch", "sh")) else "s")


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
            pubmed_block=one.block.full,
            short_block=one.block.short if one.block.is_long else "",
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
    return tuple(
        uncapitalized(name) for name in names.values() if len(name) <= _MAX_NAME_LENGTH and not {*"()[],"} & {*name}
    )


def uncapitalized(name: str) -> str:
    """A name in small letters, but for abbreviations and symbols."""
    return " ".join(word.lower() if word[1:].islower() else word for word in name.split())


def _each_once(alternatives: Iterable[str]) -> list[str]:
    """`alternatives` without those that differ from an earlier one in case only, which PubMed ignores."""
    found: dict[str, str] = {}
    for one in alternatives:
        found.setdefault(one.casefold(), one)
    return list(found.values())


def _without_longer(alternatives: Sequence[str], own: Sequence[str]) -> list[str]:
    """`alternatives` without the phrases in titles and abstracts that contain another one, which finds them too; the
    user's own words stay."""
    words = {
        one: f" {one.removesuffix('[tiab]').strip(chr(34)).lower()} " for one in alternatives if one.endswith("[tiab]")
    }
    stems_of = {one: text.rstrip(" *") if "*" in text else text for one, text in words.items()}
    longer = {
        one
        for one, text in words.items()
        if any(stem in text.replace("* ", " ") and one != other for other, stem in stems_of.items() if stem.strip())
    }
    return [one for one in alternatives if one in own or one not in longer]


def _tags(record: MeshDescriptor) -> list[str]:
    """The fields in which PubMed has a record's name; an action of drugs is in that of all drugs that have it."""
    tags = ["Supplementary Concept"] if record.is_supplementary else ["MeSH Terms"]
    return [*tags, "Pharmacological Action"] if is_action(record) else tags


def is_action(record: MeshDescriptor) -> bool:
    """Whether it is a pharmacological action, below which no drug stands in the tree."""
    return any(one.startswith(_ACTIONS) for one in record.tree_numbers)


def _has_no_plural(record: MeshDescriptor | None) -> bool:
    """Whether it is a chemical, a drug or a protein, whose name other words begin with ("albumin", "albuminuria"), or a
    place."""
    if record is None:
        return False
    is_chemical = any(one.startswith("D") for one in record.tree_numbers) and not is_action(record)
    return record.is_supplementary or record.is_of(("Z",)) or is_chemical


def has_name(record: MeshDescriptor, text: str) -> bool:
    """Whether a record has that name, in any form of its words."""
    return any(stems(name) == stems(text) for name in (record.name, *record.entry_terms))


def words_block(text: str, *, is_whole: bool = False) -> str:
    """Words that MeSH does not have: of several, if not the whole, those that are not frequent in English, since papers
    word the others otherwise ("nurse-led clinics"); all near each other if no word is rare; what belongs to the name of
    a gene wherever it stands."""
    words = [word for word in text.split() if word not in PUBMED_STOP_WORDS]
    if all(map(is_never_noun, words)):  # "agitated", "feline hypertrophic"
        return pubmed_syntax.all_of(
            pubmed_syntax.any_of(f"{_ENDING.sub('', one)}*[tiab]" for one in spellings(word)) for word in words
        )
    is_sentence = len(words) < len(text.split())  # "people who inject drugs"
    telling = words if is_whole or is_sentence else telling_words(text)
    if len(telling) == 1:
        if re.fullmatch("[A-Z]{3,}s?", telling[0]):  # "DOACs"
            return pubmed_syntax.any_of(f"{telling[0].rstrip('s')}{end}[tiab]" for end in ("", "s"))
        family = [f"{_FAMILY.sub('', one)}*[tiab]" for one in spellings(telling[0]) if _FAMILY.search(one)]
        return pubmed_syntax.any_of([*text_words(telling[0]), *family])
    if len(words) <= _MAX_PHRASE_WORDS and not is_symbol(words[0]):
        return pubmed_syntax.any_of(text_words(" ".join(telling), near=NEAR))
    kept = [word for word in telling if word.lower() not in PUBMED_STOP_WORDS and word[1:]]
    found = pubmed_syntax.all_of(pubmed_syntax.any_of(text_words(word)) for word in kept)
    return found or pubmed_syntax.phrase(text, "tiab")  # "AT(1)"


def telling_words(text: str) -> list[str]:
    """The words of a phrase that are not frequent in English; all if each is, or one is a letter ("vitamin A")."""
    words = text.split()
    rare = [word for word in words if not is_common([singular(word.lower())])]
    return words if not rare or any(len(word) < 2 or word.isdigit() for word in words) else rare
