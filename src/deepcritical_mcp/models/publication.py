"""A publication: its identifiers and bibliography, and how two descriptions of it are merged.

Every field declares, next to its type, how it is merged. "" and () mean that nothing is known: several MCP clients
cannot handle `anyOf`, so there are no optional fields.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, Self, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic.json_schema import SkipJsonSchema

from deepcritical_mcp.text import clean_line, clipped, data_lines

CitationSource = Literal["pubmed", "preprint", "trial", "web", "library", "user"]
PublicationStatus = Literal["ok", "retracted", "concern", "corrected", "superseded", "notice", "unchecked"]
GRAVE_STATUSES: tuple[PublicationStatus, ...] = ("retracted", "concern")
"""A paper with one of these must not be cited without saying so."""
Screening = Literal["", "included", "excluded", "cited"]
"""What the user decided about a publication; "" for nothing yet."""
_ChangeKind = Literal["retraction", "partial_retraction", "concern", "erratum", "update"]
"""What changes a publication; the other notices name what it belongs to."""
NoticeKind = Literal[_ChangeKind, "about", "published", "preprint", "earlier", "republished", "result", "derived"]
PREPRINT = "Preprint"
"""PubMed's publication type of a preprint."""
_WORDS = [[cell.strip() for cell in row.split("|")] for row in data_lines(__file__, "status_words.txt")]
_LABELS: dict[str, dict[Any, str]] = {kind: {row[1]: row[2] for row in _WORDS if row[0] == kind} for kind, *_ in _WORDS}
SOURCE_LABELS: Mapping[CitationSource, str] = _LABELS["source"]
"""How each source is shown, in this order."""
STATUSES: Mapping[PublicationStatus, str] = _LABELS["status"]
"""Each status and its label, the mildest first. "ok" means that a source that knows was asked, on the day that
`status_checked` names; "unchecked" that none was asked."""
NOTICE_LABELS: Mapping[NoticeKind, str] = _LABELS["notice"]
"""How each kind of notice is introduced; notices are listed in this order."""
_STATUS_OF: Mapping[Any, Any] = {row[1]: row[3] for row in _WORDS if row[3:]}
"""The status that a notice gives its record."""
MAX_TRIAL_PAPERS = 20
"""How many papers of a trial are among its notices."""

TITLE_LIMIT = 500
LINE_LIMIT = 1_000
"""Characters of a name, a journal and the like, so that no source can fill an answer with one of them."""
PARAGRAPH_LIMIT = 5_000
URL_LIMIT = 2_000
QUERY_LIMIT = 4_000
"""Characters of a query or topic, wherever one is given."""
MAX_VARIANTS = 7
NO_TITLE = "[No title]"
UNKNOWN_DATE = "Unknown"


def is_marked(status: PublicationStatus) -> bool:
    """Whether something is known to have happened."""
    return status not in ("ok", "unchecked")


def status_label(status: PublicationStatus) -> str:
    """The mark of a status, e.g. "RETRACTED"; "" where nothing is known to have happened."""
    return STATUSES[status] if is_marked(status) else ""


def gravest(statuses: Iterable[PublicationStatus]) -> PublicationStatus:
    """The most severe of `statuses`; "unchecked" if there are none."""
    known: list[PublicationStatus] = ["unchecked", *statuses]
    return max(known, key=[*STATUSES].index)


def as_of(status: PublicationStatus, day: str) -> PublicationStatus:
    """`status`, which is "ok" only with the `day` on which somebody was asked, and "unchecked" only without one."""
    return status if is_marked(status) else "ok" if day else "unchecked"


def asked_on(*days: str) -> str:
    """When the status of publications was last asked, in words: "status last asked 2026-11-18 to 2026-11-20"; "status
    unchecked" where nobody was asked."""
    if not (known := sorted({*filter(None, days)})):
        return f"status {STATUSES['unchecked'].lower()}"
    return f"status last asked {' to '.join(dict.fromkeys((known[0], known[-1])))}"


_RETRACTION_MARK = re.compile(
    r"\W*(?:retracted|withdrawn)(?: (?:article|chapter|paper|publication))?\s*(?:[:\])]|[-–—]\s)(?:(?![\[(\"“])\W)*",
    re.IGNORECASE,
)


def without_retraction_mark(title: str) -> str:
    """`title` without a mark in front that publishers and PubMed write: "RETRACTED ARTICLE:", "[Retracted]"."""
    mark = _RETRACTION_MARK.match(title)
    return title[mark.end() :] if mark else title


def retraction_label(status: PublicationStatus, title: str) -> str:
    """The label of a retracted publication; "" for all others, and where the title says so itself."""
    return STATUSES[status] if status == "retracted" and without_retraction_mark(title) == title else ""


def query_problem(line: str) -> str:
    """What is wrong with a query or topic, one line long; "" if nothing."""
    if len(line) > QUERY_LIMIT:
        return f"at most {QUERY_LIMIT:,} characters, got {len(line):,}; keep the essential terms"
    return "" if line else "must not be blank; say what to search for"


def _line(limit: int, empty: str = "") -> AfterValidator:
    """Cleans a value to one line of at most `limit` characters."""
    return AfterValidator(lambda value: clipped(clean_line(value) or empty, limit))


Line = Annotated[str, _line(LINE_LIMIT)]
Title = Annotated[str, _line(TITLE_LIMIT, NO_TITLE)]
Paragraph = Annotated[str, _line(PARAGRAPH_LIMIT)]
Url = Annotated[str, AfterValidator(clean_line), AfterValidator(lambda url: url if len(url) <= URL_LIMIT else "")]
"""Empty if it is too long: a truncated URL is useless."""
PartialDate = Annotated[str, Field(pattern=r"^(\d{4}(-\d\d(-\d\d)?)?|Unknown)$")]
StatusDay = Annotated[str, Field(pattern=r"^(\d{4}-\d\d-\d\d)?$")]
"""The day (UTC) on which a source that knows was last asked for a status; "" if none was."""


class AuthorName(NamedTuple):
    """An author's name in its parts; a collective author has only `family`, which holds its whole name.

    `initials` are NLM's where they are not those of `given` by the rule of `short`.
    """

    family: Line
    given: Line = ""
    suffix: Line = ""
    initials: Line = ""

    def __str__(self) -> str:
        """E.g. "Berg Jan Jr"."""
        return " ".join(filter(None, self[:3]))

    @property
    def short(self) -> str:
        """As Vancouver style writes a name: "Berg JA Jr", at most two initials; a collective author's name stays whole.

        Particles of the given name are left out ("Silva, Ana de" is "Silva A"), as NLM does.
        """
        words = [word for word in re.split(r"[\s.-]+", self.given) if word]
        names = [word for word in words if not word.islower()] or words
        letters = "".join(word if word.isupper() and len(word) <= 3 else word[:1].upper() for word in names)
        return " ".join(filter(None, (self.family, self.initials or letters[:2], self.suffix.rstrip("."))))


INITIALS = re.compile(r"(?:[A-Z]\.?-?){1,4}")
"""Of given names, in one word: "JA", "J.-P."."""
_INITIAL = re.compile(r"[A-Z]\.?")
_SUFFIX = re.compile(r"(?:Jr|Sr)\.?|I{2,3}|IV|[2-4](?:nd|rd|th)")
_ET_AL = re.compile(r"[\s,;]{1,3}et al\.?$", re.IGNORECASE)
_DEGREE = re.compile(r"(?:M\.?D|Ph\.?D|M\.?Sc|B\.?Sc|M\.?P\.?H|R\.?N|Dr\.?P\.?H)\.?", re.IGNORECASE)
_FAMILY_AND_INITIALS = re.compile(rf"[^\W\d_].+ {INITIALS.pattern}(?: (?:{_SUFFIX.pattern}))?")
_CAPITALIZED = re.compile(r"[^\W\d_][\w’'-]*[^\W\d_A-Z]|[A-Z]\.?")
_SOME = [line.partition(": ") for line in data_lines(__file__, "name_words.txt")]
_ORGANIZATION, _GIVEN = (" ".join(one for kind, _, one in _SOME if kind == some) for some in ("organization", "given"))
_COLLECTIVE = re.compile(rf"\b(?:{'|'.join(_ORGANIZATION.split())})\b", re.IGNORECASE)
_GIVEN_NAMES = frozenset(_GIVEN.split())
"""A name of two or three words that has none of these, and no initials, may be a company's."""


def is_collective(name: AuthorName) -> bool:
    """Whether a name that is only known as a whole has a word that marks an organization."""
    return not name.given and _COLLECTIVE.search(name.family) is not None


def split_name(name: str) -> AuthorName:
    """The parts of a name that is only known as a whole.

    "Berg, Jan", "Berg JA", "Berg J A", "Jan Berg" and "Berg Jan" are split. An organization's name stays whole as the
    family name, and so does anything that could be one ("Novo Nordisk").
    """
    whole, words = AuthorName(name), name.split()
    is_person = INITIALS.fullmatch(name.rpartition(",")[2].strip()) is not None  # "Press, I."
    if _COLLECTIVE.search(name) and not is_person:
        return whole
    if "," in name:
        return _split_at_commas([part.strip() for part in name.split(",")]) or whole
    suffix = words.pop() if len(words) > 2 and _SUFFIX.fullmatch(words[-1]) else ""
    if len(words) > 1 and INITIALS.fullmatch(words[-1]) and (not name.isupper() or len(words[-1]) == 1):
        at = next(at for at in range(len(words) - 1, 0, -1) if at == 1 or not _INITIAL.fullmatch(words[at - 1]))
        return AuthorName(" ".join(words[:at]), " ".join(words[at:]), suffix)
    if not (2 <= len(words) <= 3 and words[-1][:1].isupper() and all(map(_CAPITALIZED.fullmatch, words))):
        return whole
    first, last = (words[at].lower() in _GIVEN_NAMES for at in (0, -1))
    if first > last or suffix or any(map(INITIALS.fullmatch, words)):
        return AuthorName(words[-1], " ".join(words[:-1]), suffix)
    return AuthorName(words[0], " ".join(words[1:])) if last > first else whole


def _split_at_commas(parts: list[str]) -> AuthorName | None:
    family, *rest = parts
    suffixes = [part for part in rest if _SUFFIX.fullmatch(part)]
    given = [part for part in rest if part not in suffixes]
    if not family or len(given) != 1 or not given[0] or len(suffixes) > 1 or _DEGREE.fullmatch(given[0]):
        return None
    *words, last = given[0].split()
    if words and not suffixes and _SUFFIX.fullmatch(last):
        return AuthorName(family, " ".join(words), last)
    return AuthorName(family, given[0], *suffixes)


def split_names(text: str) -> list[AuthorName]:
    """The names in a text that may list several: "Berg, Jan; Ruiz K", "Berg J, Ruiz K"."""
    text = _ET_AL.sub("", text)
    names = [name.strip() for name in text.split(";") if name.strip()]
    listed = [name.strip() for name in text.split(",")]
    if text.find(".") == len(text) - 1:  # PubMed ends a list so
        listed[-1] = listed[-1].removesuffix(".")
    people = sum(_FAMILY_AND_INITIALS.fullmatch(name) is not None for name in listed)
    if len(names) == 1 and len(listed) > 1 and 2 * people > len(listed):  # the others are groups
        names = [*filter(None, listed)]
    return [split_name(name) for name in names]


class Accession(NamedTuple):
    """The database that a record was taken from, and its number there; "" if that is not known."""

    database: Line
    number: Line = ""


@dataclass(frozen=True)
class MergeRule:
    """How to merge one field; `combine` gets the value of the more reliable description first."""

    combine: Callable[[Any, Any], Any]


def united(first: Iterable[Any], second: Iterable[Any]) -> tuple[Any, ...]:
    """The values of both in order, without duplicates."""
    return tuple(dict.fromkeys((*first, *second)))


UNKNOWN_NUMBER = "of which nobody has a record"


def is_open_claim(claim: str) -> bool:
    """Whether nothing is known about a claimed number; why one does not hold stands behind it, in brackets."""
    return " (" not in claim


def may_hold(claim: str) -> bool:
    """Whether a claimed number may be right: it is not known to be another paper's."""
    return is_open_claim(claim) or UNKNOWN_NUMBER in claim


def _united_claims(first: Iterable[str], second: Iterable[str]) -> tuple[str, ...]:
    """Those of both; what is known about one holds."""
    both = united(first, second)
    known = {one.partition(" (")[0] for one in both if not is_open_claim(one)}
    return tuple(one for one in both if one not in known)


FIRST_KNOWN = MergeRule(lambda first, second: first or second)
FIRST = MergeRule(lambda first, second: first)
UNION = MergeRule(united)
CLAIMS = MergeRule(_united_claims)
FIRST_TITLE = MergeRule(lambda first, second: second if first == NO_TITLE else first)
FINER_DATE = MergeRule(lambda first, second: second if first == UNKNOWN_DATE or second.startswith(first) else first)
LATEST_DATE = MergeRule(lambda first, second: max(first, second, key=lambda date: "" if date == UNKNOWN_DATE else date))
GRAVER = MergeRule(lambda first, second: gravest((first, second)))
LATEST_DECISION = MergeRule(lambda latest, earlier: latest)
"""`combine` gets the value of the description that the user decided about last,
whatever is more reliable."""


def with_day(values: Any) -> Any:
    """The values of a model with a status that agrees with its day, see `as_of`; also those that version 0.2 kept,
    which called the day of a registration, about which nobody is asked, that of its status."""
    if not isinstance(values, dict):
        return values
    given: dict[str, Any] = cast("dict[str, Any]", values)
    day = str(given.get("status_checked", "")).removeprefix(UNKNOWN_DATE)
    if day and given.get("source") == "trial":
        read = given.get("accessed", UNKNOWN_DATE)
        given, day = {**given, "accessed": day if read == UNKNOWN_DATE else read}, ""
    return {**given, "status": as_of(given.get("status", "unchecked"), day), "status_checked": day}


class Value(BaseModel):
    """Base of all values: frozen, and strict about names."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def but(self, **fields: Any) -> Self:
        """The same with other values of these fields, which are not validated."""
        return self.model_copy(update=fields)


class StatusNotice(Value):
    """Another publication that corrects, replaces, publishes or reports this one, or that this one is about."""

    kind: NoticeKind
    pmid: Line = ""
    doi: Line = ""
    reference: Line = ""

    @property
    def own_doi(self) -> str:
        """Its DOI as "doi:10.1000/1", unless the reference has it."""
        return f"doi:{self.doi}" if self.doi and self.doi.lower() not in self.reference.lower() else ""


class Bibliography(Value):
    """Identifies and describes a publication. `results.Citation.SENT` says which of the fields clients get."""

    source: Annotated[CitationSource, FIRST]
    title: Annotated[Title, FIRST_TITLE]
    url: Annotated[Url, FIRST_KNOWN] = ""
    date: Annotated[PartialDate, FINER_DATE] = UNKNOWN_DATE
    pmid: Annotated[Line, FIRST_KNOWN] = ""
    doi: Annotated[Line, FIRST_KNOWN] = ""
    pmcid: Annotated[Line, FIRST_KNOWN] = ""
    nct: Annotated[Line, FIRST_KNOWN] = ""
    journal: Annotated[Line, FIRST_KNOWN] = ""
    journal_abbreviation: Annotated[Line, FIRST_KNOWN] = ""
    volume: Annotated[Line, FIRST_KNOWN] = ""
    issue: Annotated[Line, FIRST_KNOWN] = ""
    pages: Annotated[Line, FIRST_KNOWN] = ""
    language: Annotated[Line, FIRST_KNOWN] = ""
    publisher: Annotated[Line, FIRST_KNOWN] = ""
    version: Annotated[Line, FIRST_KNOWN] = ""
    publication_types: Annotated[tuple[Line, ...], UNION] = ()
    mesh_terms: Annotated[tuple[Line, ...], UNION] = ()
    keywords: Annotated[tuple[Line, ...], UNION] = ()
    registrations: Annotated[tuple[Line, ...], UNION] = ()
    claims: Annotated[SkipJsonSchema[tuple[Line, ...]], CLAIMS] = ()
    """Numbers that it gives itself, "PMID 1", which no record confirms."""
    status: Annotated[PublicationStatus, GRAVER] = "unchecked"
    status_notices: Annotated[tuple[StatusNotice, ...], UNION] = ()
    status_checked: Annotated[StatusDay, LATEST_DATE] = ""

    _with_day = model_validator(mode="before")(with_day)

    @property
    def asked(self) -> str:
        """When its status was last asked, in words; "" if nobody was asked although it is marked, or if it has no
        number of a paper, so that nobody can be asked."""
        is_paper = self.source != "user" and (self.pmid or self.doi or self.pmcid)
        is_open = is_paper and not is_marked(self.status)
        return asked_on(self.status_checked) if self.status_checked or is_open else ""


_ROWS: list[list[Any]] = [row.split(" | ") for row in data_lines(__file__, "record_links.txt")]
_LINKS: dict[str, tuple[NoticeKind, PublicationStatus]] = {row[0]: (row[1], row[2]) for row in _ROWS if row[1]}
_TYPES: dict[str, PublicationStatus] = {row[0]: row[2] for row in _ROWS if not row[1]}
_DOI = re.compile(r"\bdoi: ?(10\.[0-9]{4,9}/\S+)", re.IGNORECASE)


class RecordLink(NamedTuple):
    """A link to another record.

    Attributes:
        kind: PubMed's name of it, "RetractionIn", Europe PMC's, "Retraction in", or JATS', "retraction-forward".
        reference: how the other record is cited.
    """

    kind: str
    reference: str = ""
    pmid: str = ""


def status_from_links(
    links: Iterable[RecordLink], publication_types: Sequence[str], journal: str
) -> tuple[PublicationStatus, tuple[StatusNotice, ...]]:
    """A record's most severe status, and its notices in the order of `NOTICE_LABELS`.

    `journal` is the abbreviation of its journal.
    """
    types = {name.lower() for name in publication_types}
    statuses: list[PublicationStatus] = ["ok", *(status for name, status in _TYPES.items() if name in types)]
    notices: list[StatusNotice] = []
    for link in links:
        found = _meaning(re.sub("[ -]", "", link.kind).lower(), link.reference, types, journal)
        if found is None:
            continue
        kind, status = found
        doi = match[1].rstrip(".,;") if (match := _DOI.search(link.reference)) else ""
        statuses.append(status)
        notices.append(StatusNotice(kind=kind, pmid=link.pmid, doi=doi, reference=link.reference))
    notices.sort(key=lambda notice: [*NOTICE_LABELS].index(notice.kind))
    return gravest(statuses), tuple(notices)


def status_told_by(notices: Iterable[StatusNotice]) -> PublicationStatus:
    """The status of a record if `notices` is all that a witness says about it."""
    return gravest(("ok", *(_STATUS_OF.get(notice.kind, "ok") for notice in notices)))


def _meaning(kind: str, reference: str, types: set[str], journal: str) -> tuple[NoticeKind, PublicationStatus] | None:
    if kind == "updateof":
        return ("preprint" if _is_preprint(reference) else "earlier"), "ok"
    if kind != "updatein":
        return _LINKS.get(kind)
    if PREPRINT.lower() in types and not _is_preprint(reference):
        return "published", "ok"
    if _is_preprint(reference):
        return "update", "superseded" if PREPRINT.lower() in types else "ok"
    replaced = types & _LABELS["whole"].keys() or (journal and _journal(reference) == _journal(journal))
    return "update", "superseded" if replaced else "ok"


def _is_preprint(reference: str) -> bool:
    return _journal(reference) in _LABELS["server"]


def _journal(reference: str) -> str:
    """The journal of a citation such as "Cochrane Database Syst Rev. 2004;(1):CD002020"."""
    name = re.split(r"\. ?(?=[0-9]{4})|(?= [0-9]{4})", reference, maxsplit=1)[0]
    return name.replace(".", "").strip().lower()
