"""Requests to PubMed: publication types, published search filters, and the term that each filter adds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Annotated, Any, ClassVar, Literal, Self, cast

from pydantic import model_validator

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.models import SearchFilter, language_names
from deepcritical_mcp.sources.base import Hit, SearchRequest, checked_limits, dates_in_words
from deepcritical_mcp.text import clean_line, counted

_NAMES = """
Abstract; Academic Dissertation; Adaptive Clinical Trial; Address; Advertisement; Almanac; Anecdotes; Animation;
Annual Report; Aphorisms and Proverbs; Architectural Drawing; Atlas; Autobiography; Bibliography; Biobibliography;
Biography; Blog; Book Illustrations; Book Review; Bookplate; Broadside; Caricature; Cartoon; Case Reports; Catalog;
Catalog, Bookseller; Catalog, Commercial; Catalog, Drug; Catalog, Publisher; Catalog, Union; Chart; Chronology;
Classical Article; Clinical Conference; Clinical Study; Clinical Trial; Clinical Trial Protocol;
Clinical Trial, Phase I; Clinical Trial, Phase II; Clinical Trial, Phase III; Clinical Trial, Phase IV;
Clinical Trial, Veterinary; Collected Correspondence; Collected Work; Collection; Comment; Comparative Study; Congress;
Consensus Development Conference; Consensus Development Conference, NIH; Consensus Statement; Controlled Clinical Trial;
Cookbook; Corrected and Republished Article; Database; Dataset; Diary; Dictionary; Dictionary, Chemical;
Dictionary, Classical; Dictionary, Dental; Dictionary, Medical; Dictionary, Pharmaceutic; Dictionary, Polyglot;
Directory; Dispensatory; Documentaries and Factual Films; Drawing; Duplicate Publication; Editorial;
Electronic Supplementary Materials; Encyclopedia; English Abstract; Ephemera; Equivalence Trial; Essay; Eulogy;
Evaluation Study; Examination Questions; Exhibition; Expression of Concern; Festschrift; Fictional Work; Form;
Formulary; Formulary, Dental; Formulary, Homeopathic; Formulary, Hospital; Funeral Sermon; Government Publication;
Graphic Novel; Guidebook; Guideline; Handbook; Herbal; Historical Article; Incunabula; Index;
Instructional Film and Video; Interactive Tutorial; Interview; Introductory Journal Article; Journal Article;
Juvenile Literature; Laboratory Manual; Lecture; Lecture Note; Legal Case; Legislation; Letter; Manuscript; Map;
Meeting Abstract; Meta-Analysis; Monograph; Multicenter Study; Network Meta-Analysis; News; Newspaper Article;
Nurses Instruction; Observational Study; Observational Study, Veterinary; Outline; Overall; Patent;
Patient Education Handout; Periodical; Periodical Index; Personal Narrative; Pharmacopoeia; Pharmacopoeia, Homeopathic;
Photograph; Phrases; Pictorial Work; Poetry; Popular Work; Portrait; Postcard; Poster; Practice Guideline;
Pragmatic Clinical Trial; Preprint; Price List; Problems and Exercises; Program; Programmed Instruction; Prospectus;
Public Service Announcement; Publication Components; Publication Formats; Published Erratum;
Randomized Controlled Trial; Randomized Controlled Trial, Veterinary;
Research Support, American Recovery and Reinvestment Act; Research Support, N.I.H., Extramural;
Research Support, N.I.H., Intramural; Research Support, Non-U.S. Gov't; Research Support, U.S. Gov't, Non-P.H.S.;
Research Support, U.S. Gov't, P.H.S.; Research Support, U.S. Government; Resource Guide; Retracted Publication;
Retraction Notice; Retraction of Publication; Review; Scientific Integrity Review; Scoping Review; Sermon; Statistics;
Study Characteristics; Study Guide; Support of Research; Systematic Review; Tables; Technical Report; Terminology;
Textbook; Twin Study; Unedited Footage; Union List; Unpublished Work; Validation Study; Video-Audio Media; Web Archive;
Webcast; Wit and Humor
"""
PUBLICATION_TYPES = tuple(" ".join(_NAMES.split()).split("; "))


def _table(text: str) -> dict[str, str]:
    rows = (row.split(": ") for row in " ".join(text.split()).split("; "))
    return {name: meant for meant, names in rows for name in names.split(", ")}


# Common names that are too short or too different from PubMed's to be found by spelling.
_COMMON_NAMES = _table("""
Randomized Controlled Trial: rct, randomized, randomized trial, randomized clinical trial; Meta-Analysis: metaanalysis;
Network Meta-Analysis: nma; Systematic Review: systematic, systematic literature review;
Review: review article, literature review, narrative review; Journal Article: original article, article,
research article;
Published Erratum: erratum, correction; Academic Dissertation: thesis
""")
# Names that also mean something else: the type is suggested, never taken.
_VAGUE_NAMES = _table("""
Case Reports: case study, case series; Retracted Publication: retracted; Congress: conference; Clinical Trial: trial;
Observational Study: cohort study, cohort, case control study, cross sectional study; Meta-Analysis: ma;
Systematic Review: sr
""")
_NEAR = 0.65
_PHASE = re.compile(r"phase ([1-4])\b")
_ONLY_PHASE = re.compile(r"(phase i{1,3}v?)(?: clinical)?(?: trial)?")
_ROMAN = ("i", "ii", "iii", "iv")


def _plain(name: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", name.casefold()))


_BY_NAME = {_plain(name): name for name in PUBLICATION_TYPES}


def publication_type(name: str) -> str:
    """PubMed's spelling of a publication type, "" if there is no such type; case and punctuation do not matter."""
    return _BY_NAME.get(_plain(name), "")


def understood_publication_types(text: str) -> list[str]:
    """PubMed's names for types in plural, in British spelling, under a common name or several in one text; what is
    not known stays as it is."""
    parts = [
        part
        for part in re.split(r"[,;|/]| (?:and|or|AND|OR|&) ", " ".join(text[:400].replace("\n", ";").split()))
        if part.strip()
    ]
    whole, several = _understood(text), [*map(_understood, parts)]
    return [whole] if whole else several if len(several) > 1 and all(several) else [text]


def _understood(name: str) -> str:
    names = _numbers_of(name)
    phases = [f"clinical trial {phase[1]}" for one in names if (phase := _ONLY_PHASE.fullmatch(one))]
    return next(filter(None, ((_COMMON_NAMES | _BY_NAME).get(one) for one in (*names, *phases))), "")


def _numbers_of(name: str) -> list[str]:
    """A name as it is, in the singular and in the plural."""
    plain = _numbered(name[:200])
    ends = (("", ""), ("s", ""), ("ies", "y"), ("yses", "ysis"), ("", "s"))
    return [plain.removesuffix(end) + singular for end, singular in ends if plain.endswith(end)]


def _numbered(name: str) -> str:
    american = _plain(name).replace("randomis", "randomiz").replace("centre", "center")
    return _PHASE.sub(lambda match: f"phase {_ROMAN[int(match[1]) - 1]}", american)


def near_publication_types(name: str, *, limit: int = 3) -> list[str]:
    """The types that `name` most likely stands for, best first."""
    wanted = _numbered(name)
    if vague := next(filter(None, map(_VAGUE_NAMES.get, _numbers_of(name))), ""):
        return [vague]
    likeness = {key: _likeness(wanted, key) for key in _BY_NAME}
    near = [key for key in sorted(likeness, key=lambda key: likeness[key], reverse=True) if max(likeness[key]) >= _NEAR]
    return [one for one in dict.fromkeys([_understood(name), *(_BY_NAME[key] for key in near)]) if one][:limit]


def _likeness(wanted: str, name: str) -> tuple[float, float]:
    """1.0 if one has all words of the other, else 0.0; and the similarity of their spelling."""
    words, others = set(wanted.split()), set(name.split())
    within = bool(words) and (words <= others or others <= words)
    return float(within), SequenceMatcher(None, wanted, name).ratio()


StudyFilter = Literal[
    "none",
    "therapy",
    "therapy_broad",
    "diagnosis",
    "diagnosis_broad",
    "prognosis",
    "prognosis_broad",
    "etiology",
    "etiology_broad",
    "prediction",
    "prediction_broad",
    "rct",
    "systematic_review",
]
AgeGroup = Literal[
    "any",
    "newborn",
    "infant",
    "preschool",
    "child",
    "adolescent",
    "under_18",
    "adult",
    "middle_aged",
    "aged",
    "over_80",
]


# Key | name | condition. The first ten: NLM, PubMed User Guide, "Clinical Queries filters".
_STUDIES = """
therapy | Therapy, narrow | ("randomized controlled trial"[pt] OR (randomized[tiab] AND controlled[tiab] AND \
trial[tiab]))
therapy_broad | Therapy, broad | ((clinical[tiab] AND trial[tiab]) OR "clinical trials as topic"[mh] OR \
"clinical trial"[pt] OR random*[tiab] OR "random allocation"[mh] OR "therapeutic use"[sh])
diagnosis | Diagnosis, narrow | specificity[tiab]
diagnosis_broad | Diagnosis, broad | (sensitiv*[tiab] OR "sensitivity and specificity"[mh] OR diagnose[tiab] OR \
diagnosed[tiab] OR diagnoses[tiab] OR diagnosing[tiab] OR diagnosis[tiab] OR diagnostic[tiab] OR \
diagnosis[mh:noexp] OR "diagnostic equipment"[mh:noexp] OR "diagnostic errors"[mh:noexp] OR \
"diagnostic imaging"[mh:noexp] OR "diagnostic services"[mh:noexp] OR \
"diagnostic techniques and procedures"[mh:noexp] OR "diagnostic tests, routine"[mh:noexp] OR \
"diagnosis, differential"[mh:noexp] OR diagnosis[sh:noexp]) | NLM, Clinical \
Queries, with the headings that "diagnostic *" stands for
prognosis | Prognosis, narrow | (prognos*[tiab] OR (first[tiab] AND episode[tiab]) OR cohort[tiab])
prognosis_broad | Prognosis, broad | (incidence[mh:noexp] OR mortality[mh] OR "follow up studies"[mh:noexp] OR \
prognos*[tw] OR predict*[tw] OR course*[tw])
etiology | Etiology, narrow | ((relative[tiab] AND risk*[tiab]) OR "relative risk"[tw] OR risks[tw] OR \
"cohort studies"[mh:noexp] OR (cohort[tiab] AND study[tiab]) OR (cohort[tiab] AND studies[tiab]))
etiology_broad | Etiology, broad | (risk*[tiab] OR risk*[mh:noexp] OR "cohort studies"[mh] OR group[tw] OR \
groups[tw] OR grouped[tw])
prediction | Clinical prediction guides, narrow | (validation[tiab] OR validate[tiab])
prediction_broad | Clinical prediction guides, broad | (predict*[tiab] OR "predictive value of tests"[mh] OR \
score[tiab] OR scores[tiab] OR "scoring system"[tiab] OR "scoring systems"[tiab] OR observ*[tiab] OR \
"observer variation"[mh])
rct | Randomized trials, highly sensitive | (("randomized controlled trial"[pt] OR "controlled clinical trial"[pt] OR \
randomized[tiab] OR randomised[tiab] OR placebo[tiab] OR "drug therapy"[sh] OR randomly[tiab] OR trial[tiab] OR \
groups[tiab]) NOT (animals[mh] NOT humans[mh])) | Cochrane Handbook, sensitivity-maximizing search strategy (2008), \
with the British spelling
systematic_review | Systematic reviews | systematic[sb] | NLM, PubMed's filter for systematic reviews
"""
# Key | name | condition: PubMed's age filters.
_AGES = """
newborn | Newborns to 1 month | "infant, newborn"[mh]
infant | Infants to 23 months | infant[mh]
preschool | Children from 2 to 5 years | "child, preschool"[mh]
child | Children from 6 to 12 years | child[mh:noexp]
adolescent | Adolescents from 13 to 18 years | adolescent[mh]
under_18 | Children and adolescents | (infant[mh] OR child[mh] OR adolescent[mh])
adult | Adults from 19 years | adult[mh]
middle_aged | Adults from 45 to 64 years | "middle aged"[mh]
aged | Adults from 65 years | aged[mh]
over_80 | Adults from 80 years | "aged, 80 and over"[mh]
"""


def _filters(text: str, source: str) -> dict[str, SearchFilter]:
    rows = [line.split(" | ") for line in text.strip().splitlines()]
    return {
        key: SearchFilter(name=name, pubmed=pubmed, source=own[0] if own else source)
        for key, name, pubmed, *own in rows
    }


STUDY_FILTERS = cast(dict[StudyFilter, SearchFilter], _filters(_STUDIES, "NLM, Clinical Queries"))
AGE_GROUPS = cast(dict[AgeGroup, SearchFilter], _filters(_AGES, "MeSH age groups, as in PubMed's filters"))
HUMANS = SearchFilter(
    name="Without papers on animals alone",
    pubmed="(all[sb] NOT (animals[mh] NOT humans[mh]))",
    source="Cochrane Handbook, limit to humans; papers not yet indexed stay",
)


Sort = Literal["relevance", "date"]


MAX_TERM = 200
"""Characters of an author's, journal's or language's name."""


@dataclass(frozen=True)
class Term:
    """The term that a filter adds to every variant; `of` gets the field's value, and "" means no term."""

    of: Callable[[Any], str]


def _tagged(text: str, tag: str) -> str:
    """A term in one field; "" for a blank one."""
    words = clean_line(text.replace('"', " ")).rstrip(".")
    if len(words) > MAX_TERM:
        raise InvalidInputError(f"{tag.lower()}: at most {MAX_TERM} characters.")
    return f'"{words}"[{tag}]' if words else ""


def _languages_term(text: str) -> str:
    given = re.split(r"[,;|/]| (?:and|or|AND|OR) ", text if _tagged(text, "Language") else "")
    terms = [_tagged(name, "Language") for name in dict.fromkeys(language_names(",".join(given)))]
    return f"({' OR '.join(terms)})" if len(terms) > 1 else "".join(terms)


def _created_since(day: str) -> str:
    first = day.replace("-", "/")
    return f'("{first}"[crdt] : "3000"[crdt])' if day else ""


def _types_term(names: Sequence[str]) -> str:
    given = [clean_line(name) for name in names if clean_line(name)]
    unknown = [name for name in given if not publication_type(name)]
    if unknown:
        raise InvalidInputError(" ".join(map(_unknown_type, unknown)))
    terms = [f'"{name}"[Publication Type]' for name in dict.fromkeys(map(publication_type, given))]
    return f"({' OR '.join(terms)})" if len(terms) > 1 else "".join(terms)


def _unknown_type(name: str) -> str:
    near = near_publication_types(name)
    hint = f"Did you mean {' or '.join(near)}?" if near else 'E.g. "Review", "Randomized Controlled Trial".'
    return f'publication_types: PubMed has no type "{name[:60]}". {hint}'


def _filter_term(filters: Mapping[Any, SearchFilter], key: str) -> str:
    """The term of one of `filters`; "" for the word that means none of them."""
    return filters[key].pubmed if key in filters else ""


class PubMedRequest(SearchRequest):
    """The arguments of `pubmed_search`.

    `query` and `variants` are plain words or PubMed's own syntax and reach PubMed unchanged. `min_date` and `max_date`
    are "YYYY[-MM[-DD]]", both inclusive, "" = open. A record needs one of `publication_types` (PubMed's names).
    `author` is written as in "Smith J", `journal` as its title or abbreviation, `language` in English or as a code.
    `since` is the first day ("YYYY-MM-DD") on which PubMed may have created a record, "" = any.
    """

    LAST_RESULT: ClassVar[int] = 9_998
    NARROWING: ClassVar[str] = (
        "PubMed returns only the first 9,998 results of a search. Split it: repeat the search with min_date and "
        "max_date for one period after another, or narrow it by publication_types or further terms."
    )

    sort: Sort = "relevance"
    min_date: str = ""
    max_date: str = ""
    publication_types: Annotated[tuple[str, ...], Term(_types_term)] = ()
    has_abstract: Annotated[bool, Term(lambda wanted: "hasabstract" if wanted else "")] = False
    study_filter: Annotated[StudyFilter, Term(lambda key: _filter_term(STUDY_FILTERS, key))] = "none"
    age_group: Annotated[AgeGroup, Term(lambda key: _filter_term(AGE_GROUPS, key))] = "any"
    humans_only: Annotated[bool, Term(lambda wanted: HUMANS.pubmed if wanted else "")] = False
    author: Annotated[str, Term(lambda name: _tagged(name, "Author"))] = ""
    journal: Annotated[str, Term(lambda name: _tagged(name, "Journal"))] = ""
    language: Annotated[str, Term(_languages_term)] = ""
    since: Annotated[str, Term(_created_since)] = ""
    include_retracted: bool = True

    @property
    def order(self) -> str:
        return "newest first" if self.sort == "date" else "best match"

    @model_validator(mode="after")
    def _check_filters(self) -> Self:
        checked_limits(self.min_date, self.max_date)
        self.term("")
        return self

    def term(self, variant: str) -> str:
        """The search term for `variant` with all filters; the variant itself if there are none."""
        terms = [
            term.of(getattr(self, name))
            for name, field in type(self).model_fields.items()
            for term in field.metadata
            if isinstance(term, Term)
        ]
        filters = list(filter(None, terms))
        return " AND ".join((f"({variant})", *filters)) if filters else variant

    def limits(self) -> Iterator[str]:
        yield from dates_in_words(self.min_date, self.max_date)
        if self.publication_types:
            yield f"publication type {' or '.join(map(publication_type, self.publication_types))}"
        if self.study_filter != "none":
            yield f"study filter {STUDY_FILTERS[self.study_filter].name}"
        if self.age_group != "any":
            yield f"age group {AGE_GROUPS[self.age_group].name}"
        yield from (words for words, is_on in self._switches() if is_on)
        names = {"author": self.author, "journal": self.journal, "language": ", ".join(language_names(self.language))}
        yield from (f"{name} {clean_line(value)}" for name, value in names.items() if clean_line(value))
        if self.since:
            yield f"added to PubMed since {self.since}"
        yield from super().limits()

    def _switches(self) -> Iterator[tuple[str, bool]]:
        yield "only with an abstract", self.has_abstract
        yield "only humans", self.humans_only
        yield "without retracted papers", not self.include_retracted
        yield "newest first", self.sort == "date"

    def leave_out(self, found: Sequence[Hit]) -> tuple[list[Hit], tuple[str, ...]]:
        """`found` without retracted papers, unless requested."""
        retracted = [hit.publication.pmid for hit in found if hit.publication.status == "retracted"]
        if self.include_retracted or not retracted:
            return list(found), ()
        papers = counted(len(retracted), "retracted paper was", "retracted papers were")
        kept = [hit for hit in found if hit.publication.status != "retracted"]
        return kept, (f"{papers} omitted from this page: PMID {', '.join(retracted)}.",)
