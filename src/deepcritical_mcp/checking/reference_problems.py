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
from deepcritical_mcp.search.references.latex import plain_latex
from deepcritical_mcp.search.references.plain_text import PlainText
from deepcritical_mcp.search.references.variations import is_minor_title
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
    if not is_marked(record.status):
        where = next((one for one in record.status_notices if one.kind == "published"), None)
        if where is None or record.form != "preprint":
            return None
        number = f"PMID {where.pmid}" if where.pmid else where.doi
        told = " ".join(filter(None, (where.reference, f"({number})" if where.reference and number else number)))
        return ReferenceProblem(field="status", true=f"preprint, published as {told}")
    named = [
        (f"{NOTICE_LABELS[one.kind]}:", one.reference, f"PMID {one.pmid}" if one.pmid else one.own_doi)
        for one in record.status_notices
        if one.kind in _KINDS[record.status]
    ]
    told = f"{status_label(record.status).lower()}. {'; '.join(' '.join(filter(None, one)) for one in named[:2])}"
    is_comment = record.status == "notice" and not any(one in _NOTICES for one in record.publication_types)
    minor = record.status == "corrected" or bool(_KNOWN.search(written)) or is_comment
    return ReferenceProblem(field="status", true=told.strip(" ."), minor=minor)


def with_status_problem(
    problems: Sequence[ReferenceProblem], record: Publication, written: str
) -> tuple[ReferenceProblem, ...]:
    """The problems of a reference with that of its record's status, first if it is grave."""
    told = status_problem(record, written)
    if told is None:
        return tuple(problems)
    return (*problems, told) if told.minor else (told, *problems)


class UncheckedWork(NamedTuple):
    """What a reference is to, e.g. "a book"; `is_certain` if no journal article is written like that."""

    kind: str
    is_certain: bool


@lru_cache(maxsize=1)
def _known() -> tuple[Mapping[str, str], Sequence[tuple[UncheckedWork, re.Pattern[str]]]]:
    """The kinds of works by the types of entries, and the signs of works in the order in which they count."""
    types, signs = dict[str, str](), list[tuple[UncheckedWork, re.Pattern[str]]]()
    for row in (files("deepcritical_mcp.checking") / "work_kinds.txt").read_text("utf-8").splitlines():
        kind, flags, value = row.split("\t") if not row.startswith("#") else ("", "types", "")
        if flags == "types":
            types |= dict.fromkeys(value.split(), kind)
        else:
            signs.append((UncheckedWork(kind, "!" in flags), re.compile(value, 0 if "a" in flags else re.IGNORECASE)))
    return types, signs


def unchecked_work(written: str, reference: WrittenReference) -> UncheckedWork | None:
    """What else than an article a reference is to; None if it is to an article, as far as one can tell."""
    (types, signs), says, ids, entry = _known(), reference.says, reference.ids, reference.entry
    is_article = bool(ids.pmid or ids.pmcid or (says.journal and says.volume and (says.pages or says.issue)))
    if entry:
        kind = types.get(entry.type, "")
        if kind or says.journal or any(ids):
            return UncheckedWork(kind, True) if kind and not (says.journal and says.volume) else None
    line = clean_line(written[:MAX_REFERENCE])
    found = next((work for work, sign in signs if (work.is_certain or not is_article) and sign.search(line)), None)
    is_bare = entry is not None and entry.type in ("misc", "gen", "document")
    return found or (UncheckedWork("a work without a journal", False) if is_bare else None)


ORDER_OF_FIELDS: Sequence[str] = "status work pmid doi pmcid title authors year journal volume issue pages".split()
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
        problems, key=lambda one: (one.minor, one.minor and one.field != "year", [*ORDER_OF_FIELDS].index(one.field))
    )


def number_problems(written: RecordIds, record: Publication) -> list[ReferenceProblem]:
    """The numbers in a reference that are not those of its record, as far as the record has any."""
    own, found = ids_of(record), list[ReferenceProblem]()
    for name in IDS:
        one, true = getattr(written, name), getattr(own, name)
        if one and true and not agree(RecordIds(**{name: one}), RecordIds(**{name: true})):
            written_doi, doi = normalize_doi(one), true.lower()  # "10.1000/1.pdf" and "10.1000/1/full", or broken
            is_longer = written_doi.startswith(doi) and not written_doi[len(doi) :][:1].isalnum()
            is_tail = name == "doi" and (is_longer or doi.startswith(written_doi))
            found.append(ReferenceProblem(field=name, written=one, true=true, minor=is_tail))
    return found


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
