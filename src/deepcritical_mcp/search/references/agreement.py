"""How a record agrees with a written reference, field by field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from deepcritical_mcp.evidence.titles import identifies, is_generic, tokens
from deepcritical_mcp.search.references.plain_text import Span

StatedField = Literal["title", "authors", "year", "journal", "volume", "issue", "pages"]
FieldVerdict = Literal["agrees", "minor", "differs", "absent"]


class FieldAgreement(NamedTuple):
    """How one field agrees: "minor" for what careful people write differently (a year off by one, other last page);
    "absent" if the reference or the record does not say it. `written` and `true` are what the two say, and `span` is
    where it stands in the text of the reference."""

    field: StatedField
    verdict: FieldVerdict
    written: str = ""
    true: str = ""
    span: Span | None = None


@dataclass(frozen=True)
class Agreement:
    """How a record agrees with a reference.

    Attributes:
        by_others: whether the first author that is written, or most of them, are none of the record's.
        is_preprint: whether the preprint of the record's article is written.
        names_left_out: how many names are listed, where authors are left out and the list does not say so; 0 if not.
        unread: fields of the record whose place in the reference has numbers that tell nothing.
        left_over: words among the fields that none of them explains.
        further: what no field explains and looks like a work of its own; "" if there is nothing.
    """

    fields: tuple[FieldAgreement, ...]
    by_others: bool = False
    is_preprint: bool = False
    names_left_out: int = 0
    unread: tuple[str, ...] = ()
    further: str = ""
    left_over: tuple[str, ...] = ()

    def field(self, name: StatedField) -> FieldAgreement:
        """One field."""
        return next(one for one in self.fields if one.field == name)

    def verdict(self, name: StatedField) -> FieldVerdict:
        """How one field agrees, as far as that tells whether the record is meant: one wrong name of several does
        not speak against it."""
        found = self.field(name).verdict
        return "minor" if name == "authors" and found == "differs" and not self.by_others else found

    @property
    def differences(self) -> tuple[FieldAgreement, ...]:
        """The fields that differ."""
        return tuple(one for one in self.fields if one.verdict == "differs")

    @property
    def conflicts(self) -> int:
        """How many statements differ; volume and pages are one, because they name one place."""
        differing = {one.field for one in self.fields if self.verdict(one.field) == "differs"} - {"issue"}
        return len({"volume" if field == "pages" else field for field in differing})

    @property
    def rank(self) -> tuple[int, int]:
        """Larger for a record that agrees better."""
        verdicts = [self.verdict(one.field) for one in self.fields if one.field != "issue"]
        return -self.conflicts, sum((one == "agrees") * 2 + (one == "minor") for one in verdicts)

    def says(self, name: StatedField) -> bool:
        """Whether the reference says what the record says."""
        return self.verdict(name) in ("agrees", "minor")

    @property
    def has_place(self) -> bool:
        """Whether volume and pages are the record's."""
        return self.says("volume") and self.says("pages")

    @property
    def support(self) -> int:
        """How many of authors, journal, year and place are the record's."""
        return self.says("authors") + self.says("journal") + self.says("year") + self.has_place

    @property
    def is_accepted(self) -> bool:
        """Whether the record is the one that the reference means.

        Title and authors agree, as far as they are written, and at most one other statement differs; a title that many
        documents have needs names and a place besides. Without a title, journal, year, volume and first page agree.
        """
        if "differs" in (self.verdict("title"), self.verdict("authors")):
            return False
        if self.verdict("title") == "absent":
            return self.conflicts == 0 and self.has_place and self.says("journal") and self.says("year")
        words = tokens(self.field("title").written)
        if not (identifies(words) and not is_generic(words)) or self.verdict("title") == "minor":
            return self.conflicts == 0 and self.support >= 2
        return self.conflicts == 0 or (self.conflicts == 1 and self.support >= 2)
