"""What differs between a written reference and the record that it means, the gravest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from deepcritical_mcp.checking.draft.entry_looks import are_forms, stated_ids
from deepcritical_mcp.identifiers import RecordIds, normalize_doi
from deepcritical_mcp.models import Publication, ReferenceProblem
from deepcritical_mcp.search.record_finder import LABELS, agree, ids_of
from deepcritical_mcp.search.references import MAX_REFERENCE, Agreement, WrittenReference
from deepcritical_mcp.search.references.latex import plain_latex
from deepcritical_mcp.search.references.plain_text import PlainText
from deepcritical_mcp.search.references.variations import is_minor_title
from deepcritical_mcp.text import clipped

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
    others = [one.verdict for one in agreement.fields if one.field not in ("title", "issue")]
    all_else_agrees = all(verdict in ("agrees", "minor") for verdict in others)
    return [
        ReferenceProblem(
            field=one.field,
            written=one.written,
            true=one.true,
            minor=one.verdict == "minor"
            or (one.field == "title" and is_minor_title(one.written, one.true, all_else_agrees=all_else_agrees)),
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
    """Whether a DOI is followed by what belongs to an address: "10.1000/1.pdf", "10.1000/1/full"."""
    rest = normalize_doi(written).removeprefix(true.lower())
    return bool(rest) and rest != normalize_doi(written) and not rest[0].isalnum()


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
