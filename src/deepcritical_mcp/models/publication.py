"""A publication: its identifiers and bibliography, and how two descriptions of it become one.

Every field declares, next to its type, how it is merged. "" and () mean that nothing is known: several MCP clients
cannot handle `anyOf`, so there are no optional fields.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from deepcritical_mcp.text import clean_line

Source = Literal["pubmed", "preprint", "trial", "web", "user"]
PublicationStatus = Literal["ok", "retracted", "concern", "corrected", "superseded", "notice"]
NoticeKind = Literal[
    "retraction", "concern", "erratum", "update", "about", "published", "preprint", "earlier", "republished"
]

SOURCE_LABELS: Mapping[Source, str] = {
    "pubmed": "PubMed",
    "preprint": "Preprint",
    "trial": "Trial",
    "web": "Web",
    "user": "Own note",
}
"""How each source is shown, in this order."""

TITLE_LIMIT = 500
LINE_LIMIT = 1_000
"""Characters of a name, a journal and the like, so that no source can fill an answer with one of them."""
PARAGRAPH_LIMIT = 5_000
URL_LIMIT = 2_000
QUERY_LIMIT = 4_000
"""Characters of a query or topic, wherever one is given."""
MOST_VARIANTS = 7
NO_TITLE = "[No title]"
UNKNOWN_DATE = "Unknown"


@dataclass(frozen=True)
class StatusFacts:
    """How a publication status is shown, and how grave it is: of two, the graver one counts."""

    label: str
    gravity: int


STATUSES: Mapping[PublicationStatus, StatusFacts] = {
    "ok": StatusFacts("", 0),
    "notice": StatusFacts("NOTICE", 1),
    "superseded": StatusFacts("SUPERSEDED", 2),
    "corrected": StatusFacts("CORRECTED", 3),
    "concern": StatusFacts("EXPRESSION OF CONCERN", 4),
    "retracted": StatusFacts("RETRACTED", 5),
}


def status_label(status: PublicationStatus) -> str:
    """E.g. "RETRACTED"; "" for "ok"."""
    return STATUSES[status].label


NOTICE_LABELS: Mapping[NoticeKind, str] = {
    "retraction": "Retraction",
    "concern": "Expression of concern",
    "erratum": "Erratum",
    "update": "Newer version",
    "about": "About",
    "published": "Published as",
    "preprint": "Preprint",
    "earlier": "Earlier version",
    "republished": "Republished as",
}
"""How each kind of notice is introduced; the order is the one in which notices are listed."""


def _title(value: object) -> object:
    if not isinstance(value, str):
        return value
    title = clean_line(value) or NO_TITLE
    return title if len(title) <= TITLE_LIMIT else title[: TITLE_LIMIT - 1].rstrip() + "…"


def _line(value: str) -> str:
    line = clean_line(value)
    return line if len(line) <= LINE_LIMIT else line[: LINE_LIMIT - 1].rstrip() + "…"


def _paragraph(value: str) -> str:
    text = clean_line(value)
    return text if len(text) <= PARAGRAPH_LIMIT else text[: PARAGRAPH_LIMIT - 1].rstrip() + "…"


def _url(value: str) -> str:
    url = clean_line(value)
    return url if len(url) <= URL_LIMIT else ""  # half a URL leads nowhere


Line = Annotated[str, AfterValidator(_line)]
Title = Annotated[str, BeforeValidator(_title), Field(min_length=1, max_length=TITLE_LIMIT)]
Paragraph = Annotated[str, AfterValidator(_paragraph)]
Url = Annotated[str, AfterValidator(_url)]
PartialDate = Annotated[str, Field(pattern=r"^(\d{4}(-\d\d(-\d\d)?)?|Unknown)$")]


class AuthorName(NamedTuple):
    """An author's name in its parts; a collective author has only `family`, which holds its whole name."""

    family: Line
    given: Line = ""
    suffix: Line = ""

    def __str__(self) -> str:
        """E.g. "Berg Jan Jr"."""
        return " ".join(part for part in self if part)

    @property
    def initials(self) -> str:
        """As Vancouver style writes a name: "Berg JA Jr"; a collective author's name stays whole.

        Particles of the given name are left out ("Silva, Ana de" is "Silva A"), as NLM does.
        """
        words = [word for word in re.split(r"[\s.-]+", self.given) if word]
        named = [word for word in words if not word.islower()] or words
        letters = "".join(word if word.isupper() and len(word) <= 3 else word[:1].upper() for word in named)
        return " ".join(filter(None, (self.family, letters, self.suffix.rstrip("."))))


@dataclass(frozen=True)
class MergeRule:
    """How one field of two descriptions becomes one; `combine` takes the value of the more authoritative one first."""

    name: str
    combine: Callable[[Any, Any], Any]


def united(first: Iterable[Any], second: Iterable[Any]) -> tuple[Any, ...]:
    """The values of both in order, each once."""
    return tuple(dict.fromkeys((*first, *second)))


def _finer_date(first: str, second: str) -> str:
    return second if first == UNKNOWN_DATE or second.startswith(first) else first


def _graver(first: PublicationStatus, second: PublicationStatus) -> PublicationStatus:
    return max(first, second, key=lambda status: STATUSES[status].gravity)


FIRST_KNOWN = MergeRule("first known", lambda first, second: first or second)
FIRST = MergeRule("first", lambda first, second: first)
UNION = MergeRule("union", united)
FIRST_TITLE = MergeRule("first title", lambda first, second: second if first == NO_TITLE else first)
FINER_DATE = MergeRule("finer date", _finer_date)
GRAVER = MergeRule("graver", _graver)


def merge_rules(model: type[BaseModel]) -> dict[str, MergeRule]:
    """The merge rule of each field of `model` that declares one."""
    rules = {
        name: [part for part in field.metadata if isinstance(part, MergeRule)]
        for name, field in model.model_fields.items()
    }
    return {name: found[0] for name, found in rules.items() if found}


class Value(BaseModel):
    """Base of all values: frozen, and strict about names."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class StatusNotice(Value):
    """Another publication that corrects, replaces, or publishes this one, or that this one is about."""

    kind: NoticeKind
    pmid: Line = ""
    doi: Line = ""
    reference: Line = ""


class Bibliography(Value):
    """What identifies and describes a publication; these fields are sent to clients under the same names."""

    source: Annotated[Source, FIRST]
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
    publication_types: Annotated[tuple[Line, ...], UNION] = ()
    mesh_terms: Annotated[tuple[Line, ...], UNION] = ()
    keywords: Annotated[tuple[Line, ...], UNION] = ()
    registrations: Annotated[tuple[Line, ...], UNION] = ()
    status: Annotated[PublicationStatus, GRAVER] = "ok"
    status_notices: Annotated[tuple[StatusNotice, ...], UNION] = ()
