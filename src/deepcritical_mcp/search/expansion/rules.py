"""Proposals that need nothing but the topic: other forms of its words, fewer words, kinds of study, angles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from deepcritical_mcp.models import ExpandedQuery
from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.selection import QuerySource, Reformulation, Strategy
from deepcritical_mcp.search.expansion.stems import stems
from deepcritical_mcp.search.expansion.topic import (
    CORE_WORDS,
    PUBMED_WORDS,
    Topic,
    core,
    fit_web,
    is_disease,
    is_drug,
    key_phrases,
    weight,
    weights_in,
    without_repetition,
)
from deepcritical_mcp.search.expansion.vocabulary import DISEASE_GROUPS, DRUG_STEMS, STOP_WORDS
from deepcritical_mcp.search.expansion.wording import other_number, rewordings
from deepcritical_mcp.text import clean_line


@dataclass(frozen=True)
class Template:
    """What is added to a topic to look at it from one side."""

    words: str
    pubmed_filter: str
    rationale: str
    is_broader: bool = False


# The subject stays as it is; only a kind of publication is asked for.
STUDY_KINDS = (
    Template(
        "systematic review", "systematic[sb] OR review[pt]", "Reviews, which sum up what is known.", is_broader=True
    ),
    Template(
        "clinical trial", '"clinical trial"[pt] OR randomized[tiab]', "Clinical trials: effects tested in people."
    ),
    Template("meta-analysis", "meta-analysis[pt] OR meta-analysis[tiab]", "Results pooled over several studies."),
    Template("cohort study", '"cohort studies"[mh] OR cohort[tiab]', "Cohorts: effects seen outside trials."),
    Template("case report", '"case reports"[pt] OR "case series"[tiab]', "Single cases, for what is rare or new."),
    Template("practice guideline", "guideline[pt] OR guideline[ti]", "What guidelines advise."),
)
MECHANISM = Template(
    "mechanism of action",
    "mechanism*[tiab] OR pathway*[tiab] OR signaling[tiab]",
    "How it works: the mechanism behind the topic.",
)
_HARM = Template("adverse effects safety", '"adverse effects"[sh] OR safety[tiab]', "Harms and tolerability.")
_TREATMENT = Template("treatment outcome", "therapy[sh] OR treatment[tiab]", "What has been tried as a treatment.")
_RISK = Template("risk factors", '"risk factors"[mh] OR risk[tiab]', "What raises or lowers the risk.")
_MARKERS = Template("biomarkers diagnosis", "biomarkers[mh] OR diagnosis[sh]", "How it is recognised and measured.")
_NUMBERS = Template("epidemiology prevalence", "epidemiology[sh] OR prevalence[tiab]", "How common it is, and in whom.")
_CELLS = Template(
    "in vitro animal model", '"models, animal"[mh] OR "in vitro"[tiab]', "Experiments in cells and animals."
)


def direct_query(topic: Topic) -> ExpandedQuery:
    """The topic as the user put it; shortened to its key words where a provider could not take it whole."""
    whole = topic.syntax or topic.text
    query, rationale = whole, "Your topic as you put it."
    if fit_web(whole) != whole:
        query, rationale = fit_web(topic.keywords), "The key words of your topic, which is too long for a search."
    elif topic.syntax:
        rationale = "Your query, in PubMed's syntax as you wrote it."
    return _proposal(query, "direct", "syntactic", rationale, pubmed_query=pubmed_direct(topic))


def pubmed_direct(topic: Topic) -> str:
    """The topic for PubMed: as written in its syntax, else its key words, which PubMed joins by AND."""
    return topic.syntax or pubmed_words(topic.phrases, most_words=PUBMED_WORDS)


def pubmed_words(phrases: Sequence[str], *, most_words: int) -> str:
    """The weightiest words of `phrases` as an untagged query."""
    chosen = pubmed_syntax.words(core(phrases, most_words=most_words))
    return _cut(chosen, pubmed_syntax.LONGEST_QUERY // 3) or _cut(" ".join(phrases), 100)


def rule_queries(topic: Topic) -> list[ExpandedQuery]:
    """Proposals from the topic alone, the most useful first within each kind of reformulation."""
    return [
        *mechanism(topic),
        *other_forms(topic),
        *_fewer_words(topic),
        *_study_kinds(topic)[:2],
        *_other_number(topic),
        *_study_kinds(topic)[2:],
        *_groups(topic),
        *_angles(topic),
        *_without_a_word(topic),
    ]


def mechanism(topic: Topic) -> Iterator[ExpandedQuery]:
    """The mechanism behind the topic: of the angles, the one that is of use to most topics."""
    yield from _from_template(topic, MECHANISM, "semantic")


def other_names(topic: Topic, abbreviations: Mapping[str, str], source: QuerySource) -> Iterator[ExpandedQuery]:
    """The topic with its abbreviations (short form -> long form) written out, and with its names abbreviated."""
    written_out = replace_terms(topic.keywords, abbreviations)
    if written_out != topic.keywords:
        yield _renamed(topic, written_out, "abbreviations written out", source)
    shortened = replace_terms(topic.keywords, {long: short for short, long in abbreviations.items()})
    if shortened != topic.keywords:
        yield _renamed(topic, shortened, "names abbreviated", source)


def other_forms(topic: Topic) -> Iterator[ExpandedQuery]:
    """The topic with its words written otherwise: names, spelling, Greek letters, hyphens."""
    for rewording in rewordings(topic.keywords):
        yield _renamed(topic, rewording.text, rewording.change, "rules")


def described(topic: Topic, description: str) -> Iterator[ExpandedQuery]:
    """The topic narrowed by the weightiest words of its description that it does not have itself."""
    own = stems(topic.keywords)
    words = [word for phrase in key_phrases(clean_line(description)[:2_000]) for word in phrase.split()]
    fresh = [word for word in words if weight(word) > 1 and not stems(word) <= own]
    added = core(fresh, most_words=3)
    if added:
        yield _proposal(
            fit_web(topic.keywords, beside=added),
            "specific",
            "syntactic",
            "Narrowed by your description.",
            pubmed_query=pubmed_syntax.all_of([pubmed_syntax.grouped(pubmed_direct(topic)), _alternatives(added)]),
        )


def _alternatives(words: str) -> str:
    return pubmed_syntax.any_of(pubmed_syntax.words(word) for word in words.split())


def _renamed(topic: Topic, text: str, change: str, source: QuerySource) -> ExpandedQuery:
    alternatives = [pubmed_words([phrase], most_words=PUBMED_WORDS) for phrase in (topic.keywords, text)]
    return _proposal(
        without_repetition(text),
        "broader",
        "syntactic",
        f"The same with {change}: finds what is written that way.",
        pubmed_query=pubmed_syntax.any_of(map(pubmed_syntax.grouped, alternatives)),
        source=source,
    )


def replace_terms(text: str, replacements: Mapping[str, str]) -> str:
    """`text` with whole terms replaced, the longest first; capitals count for short forms only."""
    for term in sorted(replacements, key=len, reverse=True):
        text = _replace_term(text, term, replacements[term])
    return text


def _replace_term(text: str, term: str, replacement: str) -> str:
    words, wanted = text.split(), [_bare(word) for word in term.split()]
    size = len(wanted)
    if not size:
        return text
    for start in range(len(words) - size + 1):
        window = words[start : start + size]
        if [_bare(word) for word in window] == wanted and (size > 1 or not term.isupper() or window[0].isupper()):
            return " ".join([*words[:start], replacement, *words[start + size :]])
    return text


def _bare(word: str) -> str:
    return word.casefold().removesuffix("'s").removesuffix("’s").strip(".,;:")


def _fewer_words(topic: Topic) -> Iterator[ExpandedQuery]:
    """Only the words that carry meaning; PubMed, which wants every word in the record, gets the weightiest of them."""
    weights = weights_in(topic.phrases)
    specific = " ".join(word for word in topic.words if weights.get(word)) or topic.keywords
    for text in (topic.keywords, specific):
        yield _proposal(
            text,
            "broader",
            "syntactic",
            "Only the words that carry meaning: fewer conditions, so more is found.",
            pubmed_query=pubmed_words([text], most_words=CORE_WORDS),
        )


def _study_kinds(topic: Topic) -> list[ExpandedQuery]:
    return [query for template in STUDY_KINDS for query in _from_template(topic, template, "syntactic")]


def _other_number(topic: Topic) -> Iterator[ExpandedQuery]:
    text = other_number(topic.keywords)
    if text != topic.keywords:
        yield _renamed(topic, text, "singular and plural exchanged", "rules")


def _angles(topic: Topic) -> list[ExpandedQuery]:
    has_drug, has_disease = any(map(is_drug, topic.words)), any(map(is_disease, topic.words))
    angles = [_HARM] if has_drug else []
    angles += [_TREATMENT] if has_disease and not has_drug else []
    angles += [_RISK, _NUMBERS, _CELLS, _HARM, _TREATMENT, _MARKERS]
    return [query for template in dict.fromkeys(angles) for query in _from_template(topic, template, "semantic")]


def _from_template(topic: Topic, template: Template, reformulation: Reformulation) -> Iterator[ExpandedQuery]:
    present = {word.casefold() for word in topic.words}
    if present & {word for word in template.words.split() if word not in STOP_WORDS}:
        return
    yield ExpandedQuery(
        query=fit_web(topic.keywords, beside=template.words),
        strategy="broader" if template.is_broader else "specific",
        reformulation=reformulation,
        rationale=template.rationale,
        pubmed_query=with_filter(topic, template.pubmed_filter),
        source="rules",
    )


def with_filter(topic: Topic, pubmed_filter: str) -> str:
    """The topic for PubMed, limited by `pubmed_filter`."""
    subject = topic.syntax or pubmed_words(topic.phrases, most_words=CORE_WORDS)
    return f"{pubmed_syntax.grouped(subject)} AND ({pubmed_filter})"


def _groups(topic: Topic) -> Iterator[ExpandedQuery]:
    """A drug's class or a disease's group beside its name; in PubMed, whose words must all occur, instead of it."""
    for word in topic.words:
        group = group_of(word)
        if group and not set(group.lower().split()) <= {other.lower() for other in topic.words}:
            wider = " ".join(group if other == word else other for other in topic.words)
            yield _proposal(
                fit_web(topic.keywords, beside=group),
                "broader",
                "semantic",
                f'"{word}" widened to its group, {group}: finds what holds for its relatives.',
                pubmed_query=pubmed_words([wider], most_words=CORE_WORDS + 2),
            )


def group_of(word: str) -> str:
    """The class of a drug or the group of a disease, "" where the rules know none."""
    lower = word.lower().removesuffix("'s").removesuffix("’s")
    by_stem = next((group for stem, group in DRUG_STEMS if lower.endswith(stem) and len(lower) > len(stem) + 2), "")
    return by_stem or DISEASE_GROUPS.get(lower, "")


def _without_a_word(topic: Topic) -> Iterator[ExpandedQuery]:
    """The last resort for topics that already name every kind of study and every angle."""
    kinds: tuple[Reformulation, Reformulation] = ("semantic", "syntactic")
    for left_out in range(len(topic.words) - 1, -1, -1):
        text = " ".join(word for index, word in enumerate(topic.words) if index != left_out)
        if text:
            yield _proposal(
                text,
                "broader",
                kinds[left_out % 2],
                f'Without "{topic.words[left_out]}": fewer conditions.',
                pubmed_query=pubmed_words([text], most_words=CORE_WORDS),
            )


def _proposal(
    query: str,
    strategy: Strategy,
    reformulation: Reformulation,
    rationale: str,
    *,
    pubmed_query: str,
    source: QuerySource = "rules",
) -> ExpandedQuery:
    return ExpandedQuery(
        query=fit_web(query),
        strategy=strategy,
        reformulation=reformulation,
        rationale=rationale,
        pubmed_query=pubmed_query,
        source=source,
    )


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[:limit].rsplit(" ", 1)[0][:limit]
