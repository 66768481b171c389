"""A topic taken apart: its concepts and the words between them, what each is to a search, and which are required."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.blocks import TopicConcept, text_words
from deepcritical_mcp.search.expansion.negations import negated_block
from deepcritical_mcp.search.expansion.phrases import is_drug, is_symbol
from deepcritical_mcp.search.expansion.roles import (
    ADVERSE,
    DESIGNS,
    EFFICACY,
    NAME_HEADS,
    NAMES,
    PARTICIPLES,
    TRAILING,
    UNSPECIFIC,
    QueryRole,
    amount_at,
    is_filler,
    is_noun,
    role_of_heading,
    role_of_words,
)
from deepcritical_mcp.search.expansion.topic import Token, Topic
from deepcritical_mcp.text import FOREIGN_FUNCTION_WORDS, PUBMED_STOP_WORDS, QUERY_FUNCTION_WORDS

_ADVERSE_BLOCK = (
    '("adverse effects"[sh] OR "adverse effect*"[tiab] OR "adverse event*"[tiab] OR "side effect*"[tiab] OR '
    "safety[tiab] OR harm*[tiab] OR toxicity[tiab] OR tolerability[tiab])"
)
# What separates two parts: function words but "of", which joins ("length of stay"), and what people write between them.
_SEPARATORS = (QUERY_FUNCTION_WORDS - {"of"}) | frozenset(
    "although among because before between despite during from getting goes her his my needs over per she since under "
    "until whose within".split()
)
_COMPARING = frozenset("versus vs against than".split())
_COMPARED_WITH = ("compared with", "compared to", "rather than", "instead of", "as against", "in place of")
_ENDS_COMPARISON = frozenset("after among as at before by during following for if in on to when while who".split())
_JOINING = frozenset({",", "and", "or", "and/or"})
_EXAMPLES = ("such as", "including", "like")
# Of disorders, symptoms and behavior.
_OF_DISEASES = ("C", "F")
_OF_BODY = ("A",)
_MAX_PHRASE_WORDS = 3


@dataclass(frozen=True)
class Operand:
    """A part of the topic: a concept, or words of the user.

    Attributes:
        role: what it is to a search.
        before: what separates it from the part before it: a word in small letters, "," or "" for nothing.
        label: the letter of the part of a PICO question that it is in, or "".
        either: the parts of which one is enough ("aspirin or warfarin").
        is_compared: whether it is what something else is compared with.
        is_looked_up: whether MeSH was asked for it.
        described_by: the word right before a heading of a single word ("aspiration" of "aspiration pneumonia").
    """

    text: str
    role: QueryRole
    concept: TopicConcept | None = None
    before: str = ""
    label: str = ""
    either: tuple[Operand, ...] = ()
    is_compared: bool = False
    is_looked_up: bool = False
    described_by: str = ""

    @property
    def is_single(self) -> bool:
        """Whether it is a heading by a single word, which the word before it makes another thing."""
        return self.concept is not None and self.concept.record is not None and " " not in self.text

    @property
    def is_negation(self) -> bool:
        return self.text.startswith('"')

    @property
    def is_disease(self) -> bool:
        return tree_kind(self) == "disease"

    @property
    def is_drug(self) -> bool:
        return tree_kind(self) == "D"

    @property
    def is_class(self) -> bool:
        """Whether it is a class of drugs, or a list of drugs."""
        every = self.either or (self,)
        return self.is_drug and (len(every) > 2 or any(one.concept and one.concept.members for one in every))

    @property
    def said(self) -> str:
        """Its text without the quotes of a negation."""
        return self.text.strip('"')

    @property
    def is_name(self) -> bool:
        """Whether it is a symbol, an abbreviation or the name of a drug."""
        return any(is_symbol(word) or is_drug(word) for word in self.text.split())

    @property
    def is_known(self) -> bool:
        """Whether MeSH or the texts have a name for it."""
        if self.either:
            return any(one.is_known for one in self.either)
        return self.concept is not None and bool(self.concept.record or self.concept.forms)

    @property
    def rank(self) -> int:
        """The smaller, the sooner it is required: diseases and what is tried, names, other headings, the body."""
        record = self.concept.record if self.concept else None
        if self.either:
            return min(one.rank for one in self.either)
        if record is None:
            return 0 if self.is_name or self.is_known else 1
        tried = (*_OF_DISEASES, "D", "E")
        if not record.tree_numbers or any(number.startswith(tried) for number in record.tree_numbers):
            return 0
        return 3 if record.is_of(_OF_BODY) else 2

    @property
    def pubmed(self) -> str:
        """The part for PubMed, by all its names; words that MeSH was not asked for go through PubMed's own mapping."""
        if self.either:
            return pubmed_syntax.any_of(pubmed_syntax.grouped(one.pubmed) for one in self.either)
        if self.text.lower() in ADVERSE:
            return _ADVERSE_BLOCK
        if self.concept and self.described_by:
            narrowed = pubmed_syntax.all_of(
                [self.concept.block.full, pubmed_syntax.any_of(text_words(self.described_by))]
            )
            return pubmed_syntax.any_of([*text_words(self.text), f"({narrowed})"])
        if self.concept:
            return self.concept.block.full
        if self.is_negation:
            return negated_block(self.text)
        return self.words_block()

    def words_block(self, *, unindexed: frozenset[str] = frozenset()) -> str:
        """The user's own words, in all their forms."""
        words = self.text.split()
        if not self.is_looked_up:
            is_lost = words[0].lower() in PUBMED_STOP_WORDS
            return pubmed_syntax.phrase(self.text, "tiab") if is_lost else self.text
        if len(words) > _MAX_PHRASE_WORDS:
            kept = [word for word in words if word.lower() not in PUBMED_STOP_WORDS]
            return pubmed_syntax.all_of(pubmed_syntax.any_of(text_words(word)) for word in kept)
        return pubmed_syntax.any_of(text_words(self.text, unindexed=unindexed))

    @property
    def rank_words(self) -> list[str]:
        """The user's own words alone, to rank by."""
        texts = [part.said for part in self.either or (self,)]
        if self.role in ("measure", "modifier"):  # no plural
            return [pubmed_syntax.term(text, "tiab") for text in texts]
        return [one for text in texts if text.lower() not in DESIGNS for one in text_words(text)]


def parts_of(topic: Topic, concepts: Sequence[TopicConcept], *, is_looked_up: bool) -> list[Operand]:
    """The topic's parts in their order, each once; [] for PubMed's syntax, which is never taken apart."""
    spans = {span.start: (span.stop, one) for one in concepts if (span := topic.find(one.text))}
    for text in (*topic.quoted, *NAMES):
        if (span := topic.find(text)) and not {*span} & {*spans}:
            said = " ".join(one.text for one in topic.tokens[span.start : span.stop])
            spans[span.start] = span.stop, TopicConcept(said)
    words = topic.words.split()
    if not spans and len(words) == 3 and words[1] == "of" and not is_drug(words[2]):  # "use of force"
        return [Operand(" ".join(words), "subject", TopicConcept(" ".join(words)), is_looked_up=is_looked_up)]
    is_of_efficacy = not EFFICACY.isdisjoint(topic.text.lower().split())
    foreign = FOREIGN_FUNCTION_WORDS.get(topic.language, "").split()
    found = _raw(topic.tokens, spans, is_looked_up=is_looked_up, foreign=foreign)
    found = _grouped(_named_phrases(_with_roles(found, is_of_efficacy=is_of_efficacy), is_alone=len(found) == 2))
    seen: set[str] = set()
    return [one for one in found if not (one.text.casefold() in seen or seen.add(one.text.casefold()))]


def _raw(
    tokens: Sequence[Token],
    spans: dict[int, tuple[int, TopicConcept]],
    *,
    is_looked_up: bool,
    foreign: Container[str] = (),
) -> list[Operand]:
    """Concepts, negations and runs of other words, each with what stands before it; roles are not known yet. `foreign`
    are function words of the topic's language."""
    found: list[Operand] = []
    run: list[str] = []
    before, label, is_compared, is_unspecific = "", "", False, False

    def take(text: str, concept: TopicConcept | None = None) -> None:
        nonlocal before, is_unspecific
        compared = is_compared or label == "C"
        role: QueryRole = "comparator" if compared and is_unspecific else "subject"
        found.append(Operand(text, role, concept, before, label, (), compared, is_looked_up))
        before, is_unspecific = "", False

    def end_run() -> None:
        nonlocal run
        for words in _split(run, is_alone=not found and place >= len(tokens) - 1):
            take(" ".join(words))
        run = []

    place = 0
    while place < len(tokens):
        token = tokens[place]
        stop, concept = spans.get(place, (place + 1, None))
        lower = token.text.lower()
        if token.label != label:
            end_run()
            before, label, is_compared = ";", token.label, False
        if concept or token.is_negation:
            end_run()
            take(concept.text if concept else token.text, concept)
        elif length := amount_at([one.text for one in tokens[place : place + 6]]):
            end_run()
            stop = place + length
            take(" ".join(one.text for one in tokens[place:stop]))
        elif token.text in (",", ";") or _separates(token.text, foreign) or is_filler(token.text):
            end_run()
            pair = f"{before} {lower}"
            is_and = place > 0 and tokens[place - 1].text.lower() == "and"
            is_pair = pair in (*_COMPARED_WITH, *_EXAMPLES) or (is_and and lower in _ENDS_COMPARISON)
            is_joined = (lower in (",", ";") and before) or (is_filler(lower) and before in _JOINING)
            before = pair if is_pair else before if is_joined else lower
            is_unspecific = is_unspecific or lower in UNSPECIFIC
            is_over = bool(found) and found[-1].is_compared and is_filler(lower)  # "than placebo associated with"
            if lower in _COMPARING or pair in _COMPARED_WITH:
                is_compared = True
            elif is_over or lower in (*_ENDS_COMPARISON, ",", ";"):
                is_compared = False
        elif lower == "of" and not run:
            before = before or "of"
        else:
            run.append(token.text)
        place = stop
    end_run()
    return found


def _split(run: Sequence[str], *, is_alone: bool) -> list[list[str]]:
    """A run of words at "of" after what is no subject ("risk of falls"; not "use of force", if that is all), and before
    what asks for a filter ("fatigue treatment"); without stop words at its ends."""
    words = list(run)
    while words and words[-1] in PUBMED_STOP_WORDS | {"of"}:
        words.pop()
    while words and words[0].lower() == "of":
        words.pop(0)
    if "of" in words and not (is_alone and len(words) == 3):
        place = words.index("of")
        if place and role_of_words(" ".join(words[:place])) != "subject":
            return [words[:place], *_split(words[place + 1 :], is_alone=False)]
    if len(words) > 1 and words[-1].lower() in TRAILING:
        return [*_split(words[:-1], is_alone=False), words[-1:]]
    # Abbreviations and symbols are names of their own: "NYHA class QoL", "JAK2 V617F".
    parted = [[*some] for _, some in groupby(words, key=lambda word: word if is_symbol(word) else "")]
    return parted if len(words) > 2 and len(parted) > 1 else [words] if words else []


def _separates(word: str, others: Container[str] = ()) -> bool:
    """Whether a word is between two parts; the A of "vitamin A" and "ALL", "CAN", "WHO" are names."""
    return (word.lower() in _SEPARATORS or word.lower() in others) and (
        word.islower() or (word.istitle() and len(word) > 1)
    )


def _with_roles(parts: Sequence[Operand], *, is_of_efficacy: bool) -> list[Operand]:
    found, described = list[Operand](), list[Operand]()
    is_balanced = is_of_efficacy or any(not EFFICACY.isdisjoint(one.text.lower().split()) for one in parts)
    is_sentence = any(one.before not in ("", ",", ";") for one in parts)
    after: Operand | None = None
    for one in reversed(parts):
        role = _role(one, after, is_balanced=is_balanced, is_sentence=is_sentence)
        head = found[0] if role == "modifier" and found and after is found[0] and not found[0].before else None
        if head and head.is_single and one.is_looked_up and is_noun(one.text):
            after = replace(head, text=f"{one.text} {head.text}", before=one.before, described_by=one.text)
            found[0] = after
        elif head:
            found[0] = replace(head, before=one.before)  # "hay fever and chronic hives" is a list
            described.insert(0, replace(one, role=role))
            after = replace(one, role=role, before="")
        else:
            after = replace(one, role=role)
            found[:0] = [after] if role != "filler" else []
    return [*found, *described]


def _role(one: Operand, after: Operand | None, *, is_balanced: bool, is_sentence: bool) -> QueryRole:
    """What a part is to a search; `after` is the one that follows, `is_balanced` says that effects and harms are asked
    for alike, `is_sentence` that words next to each other belong together, as they need not in a row of keywords."""
    record = one.concept.record if one.concept else None
    if one.text.lower() in ADVERSE:
        return "kind" if is_balanced else "aspect"
    if one.is_negation:
        return "subject"
    if one.concept and one.concept.forms and not record:
        said = role_of_words(one.text.lower())
        return said if said in ("person", "setting") else "subject"
    if record:
        is_disease = any(number.startswith(_OF_DISEASES) for number in record.tree_numbers)
        role = role_of_heading(record)
        return "aspect" if one.label == "O" and role == "subject" and not is_disease else role
    if one.role == "comparator":
        return "comparator"
    if amount_at(one.text.split()):
        return "measure"
    # "Gastrointestinal and renal toxicity", "acute or chronic pain".
    describes = after is not None and (not after.before or (after.role == "modifier" and after.before in _JOINING))
    role = role_of_words(one.text, is_before_subject=describes, is_after_in=one.before in ("in", "within"))
    if after is not None and not after.before and role in ("subject", "modifier"):
        is_noun_phrase = is_sentence and after.concept is not None and one.text.islower()
        role = "kind" if role == "modifier" and after.role == "kind" else "modifier" if is_noun_phrase else role
    if one.is_looked_up and one.before and one.text.islower() and one.text.endswith(PARTICIPLES) and role == "subject":
        role = "modifier" if " " not in one.text else role
    if one.is_name and role not in ("kind", "setting", "person"):
        role = "subject"
    return "aspect" if one.label == "O" and role == "subject" else role


def _named_phrases(parts: Sequence[Operand], *, is_alone: bool) -> list[Operand]:
    """The parts, with names such as "time in range", "failure to rescue" and "hospital at home" as one of them: two
    single words that MeSH does not have, with "to", "for", "in" or "at" between them."""
    found: list[Operand] = []
    for one in parts:
        last = found[-1] if found else one
        is_pair = bool(found) and not any(" " in part.text or part.concept for part in (last, one))
        is_name = last.text.lower() in NAME_HEADS or one.before == "at" or (is_alone and one.before == "to")
        if is_pair and is_name and one.before in ("at", "for", "in", "to"):
            text = f"{last.text} {one.before} {one.text}"
            found[-1] = replace(last, text=text, role="subject", concept=TopicConcept(text))
        else:
            found.append(one)
    return found


def _grouped(parts: Sequence[Operand]) -> list[Operand]:
    """The parts, with those of which one is enough as one: what "or" joins, a list of three of a kind, examples of a
    class, and two diseases that something is tried for ("SSRIs for anxiety and depression")."""
    kinds = {kind for one in parts if one.role == "subject" and (kind := tree_kind(one))}

    def is_choice(run: Sequence[Operand]) -> bool:
        is_tried_for = (
            run[0].before in ("for", "in", "of", "with") and tree_kind(run[0]) == "disease" and len(kinds) > 1
        )
        return len(run) > 2 or not {one.before for one in run[1:]} <= {",", "and"} or is_tried_for

    found: list[Operand] = []
    for run in runs(parts):
        found += [either_of(run)] if len(run) > 1 and is_choice(run) else run
    return found


def runs(parts: Sequence[Operand]) -> Iterator[Sequence[Operand]]:
    """The parts by the lists that they stand in."""
    place = stop = 0
    while (place := stop) < len(parts):
        stop = place + 1
        while stop < len(parts) and _goes_on(parts[place:stop], parts[stop]):
            stop += 1
        yield parts[place:stop]


def either_of(run: Sequence[Operand]) -> Operand:
    """Some parts of which one is enough."""
    every = [one for part in run for one in part.either or (part,)]
    text = " or ".join(one.text for one in every)
    return replace(run[0], text=text, either=tuple(replace(one, before="") for one in every), concept=None)


def _goes_on(run: Sequence[Operand], other: Operand) -> bool:
    """Whether a part goes on with a list: joined to it, and of the same kind or of none that is known. A negation and
    what is compared stand alone."""
    first = run[0]
    if first.is_negation or other.is_negation or other.is_compared or first.role != other.role:
        return False
    kinds = {tree_kind(one) for one in (*run, other)} - {""}
    is_same = len(kinds) == 1 and bool(tree_kind(other) and tree_kind(first))
    if other.before == ";":  # "antibiotics: amoxicillin, doxycycline", but not a disease and its outcomes
        return is_same and tree_kind(first) == "D"
    if other.before in _EXAMPLES or other.before.startswith("and ") or (other.before == "of" and run[1:]):
        return is_same
    return other.before in _JOINING and len(kinds) < 2 and (bool(kinds) or other.before in ("or", "and/or"))


def tree_kind(part: Operand) -> str:
    """ "disease", or the first letter of its place in the MeSH tree; "" if that is unknown."""
    first = part.either[0] if part.either else part
    record = first.concept.record if first.concept else None
    if record is None or not record.tree_numbers:
        return "D" if record else ""
    if any(number.startswith(_OF_DISEASES) for number in record.tree_numbers):
        return "disease"
    return record.tree_numbers[0][0]
