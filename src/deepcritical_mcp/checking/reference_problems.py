"""What differs between a written reference and the record that it means, the gravest first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

from deepcritical_mcp.checking.draft.entry_looks import are_forms, stated_ids
from deepcritical_mcp.identifiers import RecordIds, normalize_doi
from deepcritical_mcp.models import NOTICE_LABELS, Publication, ReferenceProblem, is_marked, status_label
from deepcritical_mcp.search.record_finder import LABELS, agree, ids_of
from deepcritical_mcp.search.references import MAX_REFERENCE, Agreement, WrittenReference
from deepcritical_mcp.search.references.agreement import is_minor_title
from deepcritical_mcp.search.references.plain_text import PlainText, plain_latex
from deepcritical_mcp.text import clean_line, clipped

_KINDS = {
    "retracted": ("retraction",),
    "concern": ("concern",),
    "corrected": ("erratum", "partial_retraction", "earlier"),
    "superseded": ("update",),
    "notice": ("about",),
}
"""The kinds of notices that say why a record has a status."""
_NOTICES = ("Retraction of Publication", "Retraction Notice", "Published Erratum", "Expression of Concern", "Addendum")
_KNOWN = re.compile(r"\b(?:retract(?:ed|ion)|withdrawn|expression of concern)\b", re.IGNORECASE)


def status_problem(record: Publication, written: str) -> ReferenceProblem | None:
    """What a reader must know of the record's status; None if nothing.

    Corrected papers, comments, and retracted papers that the reference itself calls so, are minor.
    """
    published = [one for one in record.status_notices if one.kind == "published"]
    if not is_marked(record.status):
        if not published or record.form != "preprint":
            return None
        where = published[0]
        number = f"PMID {where.pmid}" if where.pmid else where.doi
        told = " ".join(filter(None, (where.reference, f"({number})" if where.reference and number else number)))
        return ReferenceProblem(field="status", true=f"preprint, published as {told}")
    notices = [one for one in record.status_notices if one.kind in _KINDS[record.status]]
    named = "; ".join(
        " ".join(
            filter(
                None, (f"{NOTICE_LABELS[one.kind]}:", one.reference, f"PMID {one.pmid}" if one.pmid else one.own_doi)
            )
        )
        for one in notices[:2]
    )
    label = status_label(record.status).lower()
    minor = record.status == "corrected" or bool(_KNOWN.search(written)) or _is_comment(record)
    return ReferenceProblem(field="status", true=f"{label}. {named}".strip(" ."), minor=minor)


def with_status_problem(
    problems: Sequence[ReferenceProblem], record: Publication, written: str
) -> tuple[ReferenceProblem, ...]:
    """The problems of a reference with that of its record's status, first if it is grave."""
    told = status_problem(record, written)
    if told is None:
        return tuple(problems)
    return (*problems, told) if told.minor else (told, *problems)


def _is_comment(record: Publication) -> bool:
    """Whether it is a comment or letter on a paper, which people cite as such."""
    return record.status == "notice" and not any(one in _NOTICES for one in record.publication_types)


class _Sign(NamedTuple):
    """Words that tell what a reference is to; certain ones stand in no reference to an article."""

    kind: str
    pattern: re.Pattern[str]
    is_certain: bool


@lru_cache(maxsize=1)
def _known() -> tuple[Mapping[str, str], tuple[_Sign, ...]]:
    """The kinds of works by the types of entries, and the signs in the order in which they count."""
    types, signs = dict[str, str](), list[_Sign]()
    for row in (files("deepcritical_mcp.checking") / "work_kinds.txt").read_text("utf-8").splitlines():
        if row.startswith("#"):
            continue
        kind, flags, value = row.split("\t")
        if flags == "types":
            types |= dict.fromkeys(value.split(), kind)
        else:
            signs.append(_Sign(kind, re.compile(value, 0 if "a" in flags else re.IGNORECASE), "!" in flags))
    return types, tuple(signs)


class UncheckedWork(NamedTuple):
    """What a reference is to, e.g. "a book"; `is_certain` if no journal article is written like that."""

    kind: str
    is_certain: bool


def unchecked_work(written: str, reference: WrittenReference) -> UncheckedWork | None:
    """What else than an article a reference is to; None if it is to an article, as far as one can tell."""
    says = reference.says
    if reference.entry:
        type_ = reference.entry.type
        kind = _known()[0].get(type_, "")
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
    for kind, pattern, is_certain in _known()[1]:
        if (is_certain or not is_article) and pattern.search(line):
            return UncheckedWork(kind, is_certain)
    return None


ORDER_OF_FIELDS = (
    "status",
    "work",
    "pmid",
    "doi",
    "pmcid",
    "title",
    "authors",
    "year",
    "journal",
    "volume",
    "issue",
    "pages",
)
IDS = ("pmid", "doi", "pmcid")
_SHOWN = 240
"""Characters of a further work that are shown."""


def problems_of(agreement: Agreement) -> list[ReferenceProblem]:
    """What the reference says otherwise than its record; () if nothing. Numbers are not compared."""
    return [
        ReferenceProblem(
            field=one.field,
            written=one.written,
            true=one.true,
            minor=one.verdict == "minor" or (one.field == "title" and is_minor_title(one.written, one.true)),
        )
        for one in agreement.fields
        if one.verdict in ("minor", "differs")
    ]


def in_order(problems: Iterable[ReferenceProblem]) -> list[ReferenceProblem]:
    """The gravest first: numbers, then the title and so on; minor ones last, a year before all other ones."""
    return sorted(
        problems, key=lambda one: (one.minor, one.minor and one.field != "year", ORDER_OF_FIELDS.index(one.field))
    )


def number_problems(written: RecordIds, record: Publication) -> list[ReferenceProblem]:
    """The numbers in a reference that are not those of its record, as far as the record has any."""
    own, found = ids_of(record), list[ReferenceProblem]()
    for name in IDS:
        one, true = getattr(written, name), getattr(own, name)
        if one and true and not agree(RecordIds(**{name: one}), RecordIds(**{name: true})):
            is_tail = name == "doi" and _is_tail(one, true)
            found.append(ReferenceProblem(field=name, written=one, true=true, minor=is_tail))
    return found


def _is_tail(written: str, true: str) -> bool:
    """Whether a DOI is followed by what belongs to an address ("10.1000/1.pdf", "10.1000/1/full"), or is broken."""
    one, other = normalize_doi(written), true.lower()
    return other.startswith(one) or (one.startswith(other) and not one[len(other)].isalnum())


def further_works(written: str, reference: WrittenReference, agreement: Agreement) -> Iterator[ReferenceProblem]:
    """What stands in a reference besides the work that was found, and was not checked: a work with names and a place,
    and numbers of other records."""
    if agreement.further:
        yield ReferenceProblem(field="work", written=clipped(agreement.further, _SHOWN))
    for kind in ("pmid",) if reference.is_labelled else ("pmid", "doi"):
        own = getattr(reference.ids, kind)
        known = [f"{kind}:{own.lower()}"] if own else []
        for one in stated_ids(plain_latex(PlainText.of(written[:MAX_REFERENCE])).text) if known else ():
            if one.key.startswith(f"{kind}:") and not any(are_forms(one.key, key) for key in known):
                value = f"{LABELS[kind]} {one.key.removeprefix(f'{kind}:')}"
                yield ReferenceProblem(
                    field="work", written=value, minor=reference.is_labelled or not reference.says_more
                )
                known.append(one.key)
