"""What a record says outright about the design of its study. Nothing is concluded from results or methods."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from deepcritical_mcp.models import Publication

SECONDARY = frozenset({"systematic review", "meta-analysis", "network meta-analysis", "scoping review", "review"})
"""Designs that are about other studies."""
NOT_STUDIES = frozenset({"editorial", "letter", "comment", "news", "guideline", "erratum", "retraction notice"})
_BY_TYPE: Mapping[str, str] = {
    "Randomized Controlled Trial": "randomized controlled trial",
    "Randomized Controlled Trial, Veterinary": "randomized controlled trial",
    "Controlled Clinical Trial": "controlled clinical trial",
    "Pragmatic Clinical Trial": "pragmatic trial",
    "Adaptive Clinical Trial": "adaptive trial",
    "Equivalence Trial": "equivalence trial",
    "Clinical Trial, Phase I": "phase 1",
    "Clinical Trial, Phase II": "phase 2",
    "Clinical Trial, Phase III": "phase 3",
    "Clinical Trial, Phase IV": "phase 4",
    "Clinical Trial Protocol": "protocol",
    "Clinical Trial": "clinical trial",
    "Network Meta-Analysis": "network meta-analysis",
    "Meta-Analysis": "meta-analysis",
    "Systematic Review": "systematic review",
    "Scoping Review": "scoping review",
    "Observational Study": "observational study",
    "Observational Study, Veterinary": "observational study",
    "Twin Study": "twin study",
    "Multicenter Study": "multicenter",
    "Case Reports": "case report",
    "Practice Guideline": "guideline",
    "Guideline": "guideline",
    "Review": "review",
    "Editorial": "editorial",
    "Letter": "letter",
    "Comment": "comment",
    "News": "news",
    "Published Erratum": "erratum",
    "Retraction of Publication": "retraction notice",
}
"""PubMed's publication types that name a design."""
_BY_HEADING: Mapping[str, str] = {
    "Cohort Studies": "cohort study",
    "Case-Control Studies": "case-control study",
    "Cross-Sectional Studies": "cross-sectional study",
    "Longitudinal Studies": "longitudinal study",
    "Prospective Studies": "prospective",
    "Retrospective Studies": "retrospective",
    "Cross-Over Studies": "crossover",
    "Double-Blind Method": "double-blind",
    "Single-Blind Method": "single-blind",
    "Pilot Projects": "pilot study",
    "Qualitative Research": "qualitative study",
}
"""MeSH headings that indexers give to studies of a design; also given to papers on methods, so only used for others."""
_RANDOMIZED = r"(?<!non)(?<!non[- ])(?<!quasi)(?<!quasi[- ])\brandomi[sz]ed"
_SAID: Mapping[str, str] = {
    "randomized controlled trial": _RANDOMIZED + r"[ -](?:[\w-]{1,20},? ){0,4}controlled[ ,-]{1,2}(?:\w{1,20} )?trial",
    "randomized trial": _RANDOMIZED + r",? (?:[\w-]{1,20},? ){0,5}(?:trial|study|evaluation)\b",
    "cohort study": r"cohort (?:study|analysis)",
    "case-control study": r"case[- –]control (?:study|analysis)",
    "cross-sectional study": r"cross-sectional,? (?:\w{1,20} )?(?:study|survey|analysis|approach)",
    "systematic review": r"systematic (?:literature )?(?:review|overview)",
    "meta-analysis": r"meta-?analysis",
    "scoping review": r"scoping review",
    "umbrella review": r"umbrella review",
    "case report": r"case report",
    "case series": r"case series",
    "qualitative study": r"qualitative (?:\w{1,20} )?study",
    "observational study": r"observational (?:\w{1,20} ){0,2}study",
    "longitudinal study": r"longitudinal (?:\w{1,20} )?study",
    "pilot study": r"pilot (?:\w{1,20} ){0,2}(?:study|trial)",
    "protocol": r"(?:study|trial|review) protocol|protocol (?:for|of) an? ",
}
"""How titles and abstracts name designs, in lower case."""
_ADJECTIVES: Mapping[str, str] = {
    "retrospective": r"retrospective",
    "prospective": r"(?<!non-)prospective",
    "multicenter": r"multi-?cent(?:er|re)",
    "double-blind": r"double[- ]blind",
    "single-blind": r"single[- ]blind",
    "open-label": r"open[- ]label",
    "crossover": r"cross-?over",
    "phase 1": r"phase (?:1|i)\b",
    "phase 2": r"phase (?:2|ii)\b",
    "phase 3": r"phase (?:3|iii)\b",
    "phase 4": r"phase (?:4|iv)\b",
}
_EXCLUSIVE = (frozenset({"prospective", "retrospective"}), frozenset({"double-blind", "single-blind", "open-label"}))
"""Of each of these a study has one; a record that says several leaves it open which."""
_DESIGN = "|".join(_SAID.values())
# Words between an article and the design that can only be adjectives.
_BETWEEN = r"(?:(?!(?:for|of|on|from|in|with|to|by|and|how|after|about|versus|vs|guide)\b)[\w/'’-]{1,25},? ){0,6}?"
_AND_MORE = r"(?:,? (?:and|with) (?:an? )?(?:\w{1,20} )?meta-?analysis)?"
_IN_TITLE = re.compile(
    rf"(?:^|(?:[:.?!]|[-–—]) |\b(?:from|in) an? )(?:(?:an?|the|results of an?|protocol for an?) )?{_BETWEEN}"
    rf"(?:{_DESIGN}|phase (?:i{{1,3}}|iv|[1-4]) (?:clinical )?trial){_AND_MORE}"
)
_IN_TEXT = re.compile(
    r"(?:\bwe (?:have )?(?:conducted|performed|did|undertook|carried out|designed|present|report) (?:an?|this|the)"
    r"|\b(?:this|the present|the current|our) (?:study |work |trial |research )?(?:is|was) an?"
    rf"|\bin this|^this) {_BETWEEN}(?:{_DESIGN}){_AND_MORE}",
    re.MULTILINE,
)
_ON_ANOTHER = re.compile(
    r"\W{0,3}(?:comment|re\b|reply|response|letter|correction|corrigendum|erratum|retract|editorial|author)"
)


def study_designs(record: Publication) -> tuple[str, ...]:
    """What its types, its title, its headings and its abstract call its design: ("randomized controlled trial",).

    () if none of them says anything. The words of a title about another paper are not used.
    """
    by_type = [_BY_TYPE[one] for one in record.publication_types if one in _BY_TYPE]
    title = record.title.casefold()
    if NOT_STUDIES & {*by_type} or _ON_ANOTHER.match(title):
        return tuple(dict.fromkeys(one for one in by_type if one in NOT_STUDIES or one == "case report"))
    said = [*by_type, *_named(_IN_TITLE.finditer(title.removesuffix(".")))]
    abstract = record.text.content if record.text.kind == "abstract" else ""
    said += _named(_IN_TEXT.finditer(abstract.casefold()))
    if not SECONDARY & {*said}:
        headings = (_BY_HEADING[one] for one in record.mesh_terms if one in _BY_HEADING)
        said += [one for one in headings if not _is_denied(one, said)]
    return tuple(_without_wider(one for one in said if not _is_denied(one, said)))


def _is_denied(design: str, said: Collection[str]) -> bool:
    """Whether one of `said` cannot be true of the same study."""
    return any(design in some and (some - {design}) & {*said} for some in _EXCLUSIVE)


def _named(phrases: Iterable[re.Match[str]]) -> Iterator[str]:
    for phrase in phrases:
        yield from (name for name, pattern in {**_SAID, **_ADJECTIVES}.items() if re.search(pattern, phrase[0]))


def _without_wider(said: Iterable[str]) -> Iterator[str]:
    """Each once, and none that another one says more exactly."""
    wider = {
        "randomized trial": {"randomized controlled trial"},
        "clinical trial": {
            "randomized controlled trial",
            "randomized trial",
            "phase 1",
            "phase 2",
            "phase 3",
            "phase 4",
        },
        "review": SECONDARY - {"review"},
        "observational study": {"cohort study", "case-control study", "cross-sectional study"},
        "meta-analysis": {"network meta-analysis"},
    }
    names = dict.fromkeys(said)
    return (one for one in names if not wider.get(one, frozenset()) & names.keys())
