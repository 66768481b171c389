"""What a reference is to, if that is something that neither PubMed nor Crossref need have: a book, a law, a site.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from deepcritical_mcp.search.references import MAX_REFERENCE, WrittenReference
from deepcritical_mcp.text import clean_line

_LABELLED_TYPES = {
    "book": "a book",
    "inbook": "a chapter of a book",
    "incollection": "a chapter of a book",
    "booklet": "a booklet",
    "manual": "a manual",
    "phdthesis": "a thesis",
    "mastersthesis": "a thesis",
    "thesis": "a thesis",
    "techreport": "a report",
    "report": "a report",
    "online": "a web page",
    "electronic": "a web page",
    "www": "a web page",
    "software": "software",
    "dataset": "a dataset",
    "patent": "a patent",
    "legislation": "a law",
    "jurisdiction": "a court case",
    "standard": "a standard",
    "unpublished": "an unpublished manuscript",
    "chapter": "a chapter of a book",
    "webpage": "a web page",
    "post-weblog": "a web page",
    "post": "a web page",
    "legal_case": "a court case",
    "bill": "a law",
    "regulation": "a law",
    "treaty": "a treaty",
    "hearing": "a hearing",
    "article-newspaper": "a newspaper article",
    "article-magazine": "a magazine article",
    "broadcast": "a broadcast",
    "interview": "an interview",
    "personal_communication": "a personal communication",
    "speech": "a talk",
    "manuscript": "an unpublished manuscript",
    "edbook": "a book",
    "chap": "a chapter of a book",
    "ebook": "a book",
    "echap": "a chapter of a book",
    "thes": "a thesis",
    "rprt": "a report",
    "elec": "a web page",
    "web": "a web page",
    "blog": "a web page",
    "comp": "software",
    "data": "a dataset",
    "aggr": "a dataset",
    "pat": "a patent",
    "case": "a court case",
    "stat": "a law",
    "stand": "a standard",
    "unpb": "an unpublished manuscript",
    "news": "a newspaper article",
    "mgzn": "a magazine article",
    "pcomm": "a personal communication",
    "govdoc": "a government document",
    "hear": "a hearing",
    "legal": "a law",
    "gen": "",
}
_PUBLISHERS = (
    "Academic Press|CRC Press|University Press|Press|Publishers?|Publishing|Verlag|Wiley(?:-[A-Z][a-z]+| & Sons)?|"
    "Elsevier|Springer(?:-Verlag)?|Saunders|Mosby|Lippincott|McGraw-?Hill|Blackwell|Churchill Livingstone|Thieme|"
    "Karger|Routledge|Penguin|Sage|O'Reilly|Macmillan|Plenum|Humana|Pergamon|Marcel Dekker|Garland|Freeman|Norton"
)
_YEAR = "(?:1[5-9]|20)[0-9]{2}"


class _Sign(NamedTuple):
    """Words that tell what a reference is to; certain ones stand in no reference to an article."""

    kind: str
    pattern: re.Pattern[str]
    is_certain: bool


def _sign(kind: str, *patterns: str, is_certain: bool = False, flags: int = re.IGNORECASE) -> _Sign:
    return _Sign(kind, re.compile("|".join(patterns), flags), is_certain)


# The first that is found counts.
_SIGNS = (
    _sign(
        "a personal communication",
        r"\bpersonal (?:communication|correspondence)\b",
        r"\bpers\. comm\b",
        is_certain=True,
    ),
    _sign("unpublished data", r"\bunpublished (?:raw )?(?:data|results?|observations?|work)\b", is_certain=True),
    _sign(
        "an unpublished manuscript",
        r"\bunpublished (?:manuscript|paper)\b",
        r"\bmanuscript (?:submitted|in preparation|under review)\b",
        r"\bsubmitted (?:manuscript|for publication)\b",
        r"[.,(\[] ?(?:submitted|in preparation)\b ?[.,;)\]]?(?: \d{4}\.?)?\s{0,3}\Z",
        is_certain=True,
    ),
    _sign("a manuscript in press", r"[.,;(\[] ?(?:in press|forthcoming|accepted for publication)\b"),
    _sign(
        "a patent",
        r"\b(?:US|U\.S\.|EP|WO|European|United States|international) ?patent\b",
        r"\bpatent (?:no\b|number|application)",
        r"\b(?:US|EP|WO) ?[0-9][0-9,/]{5,14} ?[AB][0-9]?\b",
        is_certain=True,
    ),
    _sign(
        "a court case",
        r"\bv\.? [A-Z][^;]{1,80}, ?\d{1,4} (?:U\.? ?S\.?|F\.? ?(?:2d|3d|Supp)|S\.? ?Ct)\.? ?\d",
        r"\bv\.? [A-Z][^;]{1,80}[ ,(]\[?\d{4}[\])]? (?:UKSC|UKHL|EWCA|EWHC|SCR|AC|QB|HCA)\b",
        is_certain=True,
        flags=0,
    ),
    _sign(
        "a law",
        r"\bPub(?:lic)?\.? L(?:aw)?\.? ?(?:No\.? ?)?\d{2,3}[-–]\d{1,4}\b",
        r"\b\d{1,3} U\.?S\.?C\.?(?: ?§| \d)",
        r"\b\d{1,3} (?:C\.?F\.?R|Fed\.? ?Reg|Stat)\.?(?: ?§|,? \d)",
        r"\bFederal Register\b",
        r"\bBundesgesetzblatt\b|\bBGBl\b",
        r"\bOfficial Journal of the European (?:Union|Communities)\b|\bOJ [LC] \d",
        r"\b(?:Regulation|Directive|Decision|Verordnung|Richtlinie|Règlement|Reglamento|Regolamento)"
        r" \((?:EU|EC|EEC|UE|CE|EG)\)",
        r"\bBolet[ií]n Oficial\b|\bDi[áa]rio (?:Oficial|da Rep[úu]blica)\b"
        r"|\bGazzetta Ufficiale\b|\bJournal [Oo]fficiel\b"
        r"|\bBundesanzeiger\b|\bDziennik Ustaw\b|\bDz\. ?U\.|\bStaatsblad\b",
        r"\b(?:Ley(?: [Oo]rgánica)?|Real [Dd]ecreto|Loi|Legge|Lei|Décret|Decreto(?:[- ][Ll](?:ei|egge|ey))?|Portaria)"
        r"(?: n[.°ºo]{0,2})? ?\d{1,6}[/.-]\d{2,4}\b",
        r"\b(?:Gesetz|Verordnung|Bundesgesetz) (?:über|zur|zum|vom)\b",
        is_certain=True,
        flags=0,
    ),
    _sign(
        "a law",
        r"\b(?:regulation|directive|decision) \((?:EU|EC|EEC)\)",
        r"\b(?:directive|regulation) \d{2,4}/\d{1,4}/(?:EU|EC|EEC)\b",
        r"\bcouncil directive\b",
        r"§ ?\d",
        r"\b(?:act|statute),? (?:of )?(?:1[89]|20)\d\d\b",
    ),
    _sign(
        "a thesis",
        r"\b(?:doctoral|ph\.? ?d\.?|master'?s?|m\.? ?sc\.?|diploma|habilitation) ?(?:thesis|dissertation)\b",
        r"\b(?:dissertation|thesis)\b[\],.:;)]",
        r"\bproquest\b",
    ),
    _sign(
        "a standard",
        r"\b(?:ISO|ASTM|DIN|ANSI|IEC|BS|CLSI|NCCLS)(?:/[A-Z]{2,3})?(?: EN| ISO| document| standard)?"
        r" ?[A-Z]{0,2}\d{1,5}\b",
        r"\bInternational Organization for Standardization\b",
        flags=0,
    ),
    _sign("a press release", r"\b(?:press|news) release\b"),
    _sign(
        "software",
        r"\[(?:computer )?(?:software|program|code)\b",
        r"\bcomputer (?:software|program)\b",
        r"\bsoftware\b[^.]{0,40}\bversion\b",
        r"\bR package version\b|\bR Core Team\b|\bStataCorp\b|\bSAS Institute\b|\bGraphPad Software\b|\bMathWorks\b",
        r"\bR foundation for statistical computing\b",
        r"\bgithub\.com/|\bcran\.r-project\.org|\bpypi\.org",
        r"\bversion ?\d{1,3}\.\d{1,4}\b",
    ),
    _sign(
        "a dataset",
        r"\[data(?: ?set|base)?\b|\bdata ?set\]",
        r"\b(?:dryad|figshare|zenodo|mendeley data|gene expression omnibus)\b",
        r"\bGSE\d{2,7}\b",
    ),
    _sign(
        "a newspaper article",
        r"\b(?:new york times|washington post|the guardian|wall street journal|le monde|der spiegel)\b",
        r"\b(?:the economist|los angeles times|the times of [a-z]+|financial times|bbc news|reuters)\b",
    ),
    _sign("a chapter of a book", r"\bIn:? [^;]{1,160}?(?:\b[Ee]d(?:s|itors?)?\b|\bHrsg\b)", flags=0),
    _sign("a chapter of a book", r"\bstatpearls\b|\bgenereviews\b|\bNBK\d{3,8}\b"),
    _sign(
        "a conference paper",
        r"\b(?:presented|poster|paper|abstract|oral presentation) (?:presented )?at\b",
        r"\b(?:annual )?(?:conference|congress|symposium|workshop|annual meeting)\b[^.]{0,80}[;,]",
    ),
    _sign(
        "a report",
        r"\b(?:technical|working|discussion|annual|final|white) (?:report|paper)\b",
        r"\breport no\b|\bWHO/[A-Z]|\bfact sheet\b|\bGAO-\d",
    ),
    _sign(
        "a book",
        r"\bISBN\b|\b(?:[Ee]ditors?|[Ee]ds|Hrsg)\b",
        r"\b\d{1,2}(?:st|nd|rd|th) (?:ed|edn|edition|rev)\b",
        r"\b(?:[Ff]irst|[Ss]econd|[Tt]hird|[Ff]ourth|[Ff]ifth|[Ss]ixth|[Rr]evised) [Ee]d(?:ition|n|\.)",
        rf"\b(?:{_PUBLISHERS})\b[^.]{{0,20}}[;,.)] ?(?:\(?{_YEAR}|\Z)",
        rf"\b[A-Z][a-z]+(?: [A-Z][a-z]+)?(?:,? \(?[A-Z]{{2}}\)?|, [A-Z][a-z]+)?: [A-Z][^.:;]{{2,60}}[;,] ?{_YEAR}",
        flags=0,
    ),
    _sign(
        "a web page",
        r"\bavailable (?:from|at|online)\b",
        r"\b(?:accessed|retrieved|cited|visited|consulted)\b(?: on| \d| [a-z]{3}|:|,)",
        r"\[(?:internet|online|web ?site|web page)\]",
        r"\bhttps?://(?!(?:dx\.)?doi\.org|pubmed\.|www\.ncbi|pmc\.ncbi|europepmc)|\bwww\.",
    ),
)


class UncheckedWork(NamedTuple):
    """What a reference is to, e.g. "a book"; `is_certain` if no journal article is written like that."""

    kind: str
    is_certain: bool


def unchecked_work(written: str, reference: WrittenReference) -> UncheckedWork | None:
    """What else than an article a reference is to; None if it is to an article, as far as one can tell."""
    says = reference.says
    if reference.entry:
        type_ = reference.entry.type
        kind = _LABELLED_TYPES.get(type_, "")
        if kind or says.journal or any(reference.ids):
            return UncheckedWork(kind, True) if kind and not (says.journal and says.volume) else None
        return _by_sign(clean_line(written[:MAX_REFERENCE]), is_article=False) or (
            UncheckedWork("a work without a journal", False) if type_ in ("misc", "gen", "document") else None
        )
    line = clean_line(written[:MAX_REFERENCE])
    is_article = bool(says.journal and says.volume and (says.pages or says.issue)) or (
        bool(reference.ids.pmid or reference.ids.pmcid)
    )
    return _by_sign(line, is_article=is_article)


def _by_sign(line: str, *, is_article: bool) -> UncheckedWork | None:
    for kind, pattern, is_certain in _SIGNS:
        if (is_certain or not is_article) and pattern.search(line):
            return UncheckedWork(kind, is_certain)
    return None
