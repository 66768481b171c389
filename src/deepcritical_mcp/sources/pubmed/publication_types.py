"""PubMed's publication types: the names in MeSH category V under which PubMed indexes records."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

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
