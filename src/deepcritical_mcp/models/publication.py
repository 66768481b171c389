"""The values that cross the wire. All are frozen: derive a new one with `model_copy(update=...)`.

Field names are the wire names. `Optional` is avoided on purpose (several MCP clients choke on `anyOf`): "" and [] mean
"none".
"""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from deepcritical_mcp.text import clean_line

Source = Literal["pubmed", "web", "user"]
PublicationStatus = Literal["ok", "retracted", "concern", "corrected"]
NoticeKind = Literal["retraction", "concern", "erratum"]

TITLE_LIMIT = 500
LINE_LIMIT = 1_000
"""Characters of a name, a journal and the like, so that no source can fill an answer with one of them."""
URL_LIMIT = 2_000
NO_TITLE = "[No title]"


def _title(value: object) -> object:
    if not isinstance(value, str):
        return value
    title = clean_line(value) or NO_TITLE
    return title if len(title) <= TITLE_LIMIT else title[: TITLE_LIMIT - 1].rstrip() + "…"


def _line(value: str) -> str:
    line = clean_line(value)
    return line if len(line) <= LINE_LIMIT else line[: LINE_LIMIT - 1].rstrip() + "…"


def _url(value: str) -> str:
    url = clean_line(value)
    return url if len(url) <= URL_LIMIT else ""  # half an address is none


Line = Annotated[str, AfterValidator(_line)]
Url = Annotated[str, AfterValidator(_url)]


class Value(BaseModel):
    """Base of all values: frozen, and strict about names."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class StatusNotice(Value):
    """A notice about a publication: a retraction, an expression of concern or an erratum."""

    kind: NoticeKind
    pmid: Line = ""
    reference: Line = ""


class AuthorName(NamedTuple):
    """An author's name in its parts; of a collective only `family` is given, and holds its whole name."""

    family: Line
    given: Line = ""
    suffix: Line = ""


class Citation(Value):
    """Where a piece of evidence comes from."""

    source: Source
    title: Annotated[str, BeforeValidator(_title), Field(min_length=1, max_length=TITLE_LIMIT)]
    url: Url = ""
    date: Annotated[str, Field(pattern=r"^(\d{4}(-\d\d(-\d\d)?)?|Unknown)$")] = "Unknown"
    authors: tuple[Line, ...] = ()
    pmid: Line = ""
    doi: Line = ""
    pmcid: Line = ""
    journal: Line = ""
    publication_types: tuple[Line, ...] = ()
    mesh_terms: tuple[Line, ...] = ()
    status: PublicationStatus = "ok"
    status_notices: tuple[StatusNotice, ...] = ()

    @property
    def formatted(self) -> str:
        """E.g. "Lee M, Okafor C, García J et al. (2021-03-04). Title. PUBMED"."""
        shown = ", ".join(self.authors[:3]) + (" et al." if len(self.authors) > 3 else "")
        title = self.title if self.title.endswith((".", "?", "!", "…")) else f"{self.title}."
        return f"{shown or 'No author'} ({self.date}). {title} {self.source.upper()}"
