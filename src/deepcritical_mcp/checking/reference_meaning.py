"""Which record a reference means, by its numbers or by what else it says; what differs between the two; and the
reference as it should be: the stretches that the alignment found, with the record's values; entries of reference
managers, and lists of other authors, with the whole reference.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from deepcritical_mcp.data_files import data_lines
from deepcritical_mcp.evidence.titles import content_words, identifies, is_generic, is_notice, tokens
from deepcritical_mcp.export.reference import Reference
from deepcritical_mcp.export.reference_managers import bibtex_entry, csl_entry, ris_entry
from deepcritical_mcp.identifiers import normalize_doi
from deepcritical_mcp.models import NOTICE_LABELS, AuthorName, Publication, ReferenceProblem, is_marked, status_label
from deepcritical_mcp.models.vancouver import vancouver
from deepcritical_mcp.search.references import Agreement, WrittenReference, are_similar, read_reference
from deepcritical_mcp.search.references.agreement import own_number
from deepcritical_mcp.search.references.number_places import MONTHS
from deepcritical_mcp.search.references.plain_text import WORD, WORD_LISTS, Span, blanked, stated_ids
from deepcritical_mcp.search.references.title_places import are_parts, is_minor_title
from deepcritical_mcp.search.references.written import MAX_REFERENCE
from deepcritical_mcp.text import clean_line, words_of

_LONGEST = 8
"""Words of a note; a reference with a title is longer."""
_OF_PAPERS = frozenset(words_of("al article clinical cohort et letter meta analysis paper review rct study trial"))
"""Words for any paper."""
_NAME = r"[^\W\d_a-z][\w'’-]{2,40}"
_CITED_ALONE = re.compile(
    rf"\A[\W\d]{{0,8}}({_NAME})(?:,? et al\b\.?|,? (?:and|&) (?:colleagues|co-?workers|others|{_NAME}))?"
    r",? \(?(?:1[5-9]|20)\d\d[a-z]?[\W_]{0,8}\Z"
)
"""Names and a year, with nothing else beside a number."""
_UNIQUE_TITLE = 6
"""Content words of a title that no second paper has, so that it alone tells which paper is meant."""


def is_note(reference: WrittenReference, record: Publication) -> bool:
    """Whether what stands beside a number is a note on `record` and no reference: a few words, each of them one of the
    record's or one for any paper."""
    words = {word for word in words_of(reference.text) if len(word) > 1} - _OF_PAPERS
    said = (record.title, record.vernacular_title, record.date[:4], *map(str, record.authors), *record.mesh_terms)
    return 0 < len(words) <= _LONGEST and reference.entry is None and words <= words_of(" ".join(said)).keys()


def is_cited_alone(text: str) -> bool:
    """Whether it says nothing but one or two names and a year: "Berg 2019"."""
    found = _CITED_ALONE.search(text)
    return found is not None and found[1].lower() not in WORD_LISTS["connectives"] | MONTHS


def is_other_work(text: str, candidates: Sequence[CandidateRecord]) -> bool:
    """Whether the authors and the year are those of another work than all the records; `text` is what is written
    without numbers. Authors count without the year if they stand alone, unless the record's are groups only: the name
    may be of one of their members."""
    is_alone = is_cited_alone(text)
    return all(
        one.agreement.verdict("authors") == "differs"
        and (one.agreement.verdict("year") == "differs" or (is_alone and any(who.given for who in one.record.authors)))
        for one in candidates
    )


@dataclass(frozen=True)
class CandidateRecord:
    """A record that a reference may mean; `by_number` is whether a number in the reference leads to it."""

    record: Publication
    agreement: Agreement
    by_number: bool = False

    @property
    def is_title_other(self) -> bool:
        """Whether the title that is written may be another paper's."""
        title = self.agreement.field("title")
        return title.verdict == "differs" and not are_similar(title.written, title.true)

    @property
    def is_across_notice(self) -> bool:
        """Whether a notice is written, such as an erratum or a comment, and the record is the article that it is about;
        or the article is written, and the record is a notice about it."""
        title = self.agreement.field("title")
        written, true = tokens(title.written), tokens(title.true)
        is_alike = title.verdict == "differs" and ({*true} <= {*written} or are_similar(title.written, title.true))
        is_known = self.record.status == "notice" if is_notice(written) else self.agreement.has_place
        return is_alike and is_notice(written) != is_notice(true) and not is_known

    @property
    def is_about_it(self) -> bool:
        """Whether the record has the title of a book or the like, but may be something else, such as a review of it."""
        is_elsewhere = self.agreement.verdict("journal") in ("differs", "absent")
        return self.agreement.conflicts > 0 and is_elsewhere and not self.by_number

    @property
    def is_meant(self) -> bool:
        """Whether what is written, apart from numbers, means this record, although something in it may be wrong."""
        found, title = self.agreement, self.agreement.verdict("title")
        if title == "differs":
            return not self.is_across_notice and self._is_meant_despite_title()
        if title == "absent":
            return self._is_meant_by_place()
        words = tokens(found.field("title").written)
        is_telling = not is_generic(words) and (self.by_number or identifies(words))
        if not is_telling and not self.by_number:
            return found.support >= 2
        is_unique = is_telling and (self.by_number or len(content_words(words)) >= _UNIQUE_TITLE)
        return is_unique or found.support > 0 or found.conflicts == 0

    def _is_meant_by_place(self) -> bool:
        found, says = self.agreement, self.agreement.says
        if self.by_number:
            is_theirs = says("authors") and found.conflicts == 1
            return found.conflicts == 0 or is_theirs or (found.support >= 2 and found.verdict("authors") != "differs")
        is_near = found.conflicts == 1 and found.support >= 2 and says("authors")
        return found.is_accepted or (is_near and (says("volume") or says("pages")))

    def _is_meant_despite_title(self) -> bool:
        """Although another title is written: with a few words changed, or by all else."""
        found, is_theirs, title = self.agreement, self.agreement.says("authors"), self.agreement.field("title")
        if are_similar(title.written, title.true):
            is_elsewhere = "differs" in (found.verdict("volume"), found.verdict("pages"))
            if is_elsewhere and are_parts(tokens(title.written), tokens(title.true)):
                return False
            return (self.by_number and found.support > 0) or (is_theirs and found.conflicts <= 2 <= found.support)
        is_there = found.says("journal") and (found.has_place or found.says("year"))
        return is_theirs and is_there and (self.by_number or found.support == 4)


def meant(candidates: Sequence[CandidateRecord]) -> list[CandidateRecord]:
    """Those that a reference means, one unless it cannot be told which."""
    found = [one for one in candidates if one.is_meant]
    ranks = [(one.agreement.says("title"), one.by_number, *one.agreement.rank) for one in found]
    return [one for one, rank in zip(found, ranks, strict=True) if rank == max(ranks)]


_NOTICES = ("Retraction of Publication", "Retraction Notice", "Published Erratum", "Expression of Concern", "Addendum")
_KNOWN = re.compile(r"\b(?:retract(?:ed|ion)|withdrawn|expression of concern)\b", re.IGNORECASE)


def with_status(known: Sequence[ReferenceProblem], record: Publication, written: str) -> tuple[ReferenceProblem, ...]:
    """The problems of a reference with what a reader must know of its record's status, first if it is grave.

    Corrected papers, comments, and retracted papers that the reference itself calls so, are minor.
    """
    told, minor = "", False
    where = next((one for one in record.status_notices if one.kind == "published"), None)
    if is_marked(record.status):
        named = [
            (f"{NOTICE_LABELS[one.kind]}:", one.reference, f"PMID {one.pmid}" if one.pmid else one.own_doi)
            for one in record.status_notices
            if one.kind != "published"
        ]
        whole = "; ".join(" ".join(filter(None, one)) for one in named[:3])
        told = f"{status_label(record.status).lower()}. {whole}".strip(" .")
        is_comment = record.status == "notice" and not any(one in _NOTICES for one in record.publication_types)
        minor = record.status == "corrected" or bool(_KNOWN.search(written)) or is_comment
    elif where and record.form == "preprint":
        number = f"PMID {where.pmid}" if where.pmid else where.doi
        told = " ".join(filter(None, ("preprint, published as", where.reference, number)))
    problem = ReferenceProblem(field="status", true=told, minor=minor)
    return tuple(in_order([*known, problem] if told else known))


class UncheckedWork(NamedTuple):
    """What a reference is to, e.g. "a book"; `is_certain` if no journal article is written like that."""

    kind: str
    is_certain: bool


_KINDS = [row.split("\t") for row in data_lines(__file__, "work_kinds.txt")]
_TYPES = {name: kind for kind, flags, names in _KINDS if flags == "types" for name in names.split()}
_WORKS = ((UncheckedWork(kind, "!" in flags), sign, "a" in flags) for kind, flags, sign in _KINDS if flags != "types")
_SIGNS = [(work, re.compile(sign, 0 if is_exact else re.IGNORECASE)) for work, sign, is_exact in _WORKS]
"""The kinds of works by the types of entries, and the signs of works in the order in which they count."""


def unchecked_work(written: str, reference: WrittenReference) -> UncheckedWork | None:
    """What else than an article a reference is to; None if it is to an article, as far as one can tell."""
    says, ids, entry = reference.says, reference.ids, reference.entry
    is_article = bool(ids.pmid or ids.pmcid or (says.journal and says.volume and (says.pages or says.issue)))
    if entry:
        kind = _TYPES.get(entry.type, "")
        if kind or says.journal or any(ids):
            return UncheckedWork(kind, True) if kind and not (says.journal and says.volume) else None
    line = clean_line(written[:MAX_REFERENCE])
    found = next((work for work, sign in _SIGNS if (work.is_certain or not is_article) and sign.search(line)), None)
    is_bare = entry is not None and entry.type in ("misc", "gen", "generic", "document")
    return found or (UncheckedWork("a work without a journal", False) if is_bare else None)


ORDER_OF_FIELDS: Sequence[str] = "status work pmid doi pmcid year title authors journal volume issue pages".split()
IDS = ("pmid", "doi", "pmcid")
SHOWN = 240
"""Characters that are shown of a further work, and of a record in a reason."""


def problems_of(agreement: Agreement) -> Iterator[ReferenceProblem]:
    """What the reference says otherwise than its record. Numbers are not compared."""
    for one in agreement.fields:
        if one.verdict in ("minor", "differs"):
            minor = one.verdict == "minor" or (one.field == "title" and is_minor_title(one.written, one.true))
            yield ReferenceProblem(field=one.field, written=one.written, true=one.true, minor=minor)


def in_order(problems: Iterable[ReferenceProblem]) -> list[ReferenceProblem]:
    """The gravest first: numbers, then the year and so on; minor ones last."""
    return sorted(problems, key=lambda one: (one.minor, [*ORDER_OF_FIELDS].index(one.field)))


def is_tail(written: str, true: str) -> bool:
    """Whether one DOI is the other with something behind it: "10.1000/1.pdf" and "10.1000/1/full", or a broken one."""
    doi = normalize_doi(written)
    return true.lower().startswith(doi) or (doi.startswith(true.lower()) and not doi[len(true) :][:1].isalnum())


_TEXTS = ("title", "authors", "journal")
_TAG = re.compile(r"</?[A-Za-z!][^<>]{0,200}>")
_NEAR = 11
"""Characters from a year to its month."""
_WRITTEN = ("title", "journal", "journal_abbreviation", "medline_abbreviation", "publisher", "doi")
"""Fields of a record that get into a corrected line; its numbers are the source's own."""


def corrected(written: str, publication: Publication, problems: Sequence[ReferenceProblem]) -> str:
    """The reference `written` with the statements of `problems` as `publication` says them, and nothing else changed;
    "" if nothing must change.

    Numbers are replaced where they stand. A retracted paper, another title, journal or author, and what cannot be
    replaced for certain give the whole reference in Vancouver style, or nothing if the problems are minor; an entry of
    BibTeX or JSON is written anew under its key, and that of any other reference manager as RIS. A missing statement is
    not added. What is too long for one reference is left alone. So is an entry with a further work.
    """
    wrong = {one.field: one for one in problems if _is_changed(one, publication)}
    if not wrong or any(one.field == "work" and not one.minor for one in problems):  # nobody knows where the one ends
        return ""
    texts = {name: _without_markup(value) for name in _WRITTEN if isinstance(value := getattr(publication, name), str)}
    authors = tuple(AuthorName(*map(_without_markup, name)) for name in publication.authors)
    publication = publication.model_copy(update={**texts, "authors": authors})
    if entry := read_reference(written).entry:
        reference = Reference(publication, 1, entry.key or "reference", publication.form, has_texts=False)
        return {"bibtex": bibtex_entry, "json": csl_entry}.get(entry.form, ris_entry)(reference).strip()
    if written.lstrip(" [\n").startswith("{") or len(written) > MAX_REFERENCE:
        return ""
    line = clean_line(written)
    if new := _patched(line, publication, wrong) if wrong.keys().isdisjoint((*_TEXTS, "status")) else "":
        return new if new != line else ""
    return "" if all(one.minor for one in wrong.values()) else vancouver(publication)


def _is_changed(one: ReferenceProblem, publication: Publication) -> bool:
    """Whether a line gets the record's value: not of a name or word a letter off; of the status, only that a paper was
    retracted."""
    if one.field == "status":
        return publication.status == "retracted" and not one.minor
    return bool(one.written and (one.true or one.field in IDS)) and not (one.minor and one.field in _TEXTS)


def _patched(line: str, publication: Publication, wrong: Mapping[str, ReferenceProblem]) -> str:
    """A line with the wrong stretches replaced; "" if that cannot be done for certain."""
    places, new = _places(line, publication), line
    is_place = not wrong.keys().isdisjoint(("volume", "pages"))  # with the issue they are one place
    if is_place and Agreement(read_reference(line), publication).unread:
        return ""
    fields = [*wrong.keys() - IDS, *(one for one in ("volume", "issue") if is_place and one in places)]
    if any(one not in places and not wrong[one].minor for one in fields):
        return ""
    for field in sorted(places.keys() & fields, key=places.__getitem__, reverse=True):
        start, end = places[field]
        dash = next((one for one in ("--", "–") if one in line[start:end]), "-")
        value = own_number(field, publication)
        near = WORD.findall(line[max(0, start - _NEAR) : end + _NEAR].lower()) if field == "year" else ()
        if any(f"{value} {word[:3].title()}" not in vancouver(publication) for word in near if word in MONTHS):
            return ""  # another month than the record's
        if value:
            new = f"{new[:start]}{value.replace('-', dash)}{new[end:]}"
        elif line[start - 1 : start] == "(" and line[end : end + 1] == ")":  # the record has no issue
            new = f"{new[: start - 1]}{new[end + 1 :]}"
        else:  # "no." would be left
            return ""
    for one in (wrong[field] for field in IDS if field in wrong):
        if not one.true or one.true.lower().startswith(one.written.lower()):  # where the rest of it stands is not known
            return ""
        new = re.sub(rf"(?<!\w){re.escape(one.written)}(?!\w)", lambda _, true=one.true: true, new, flags=re.IGNORECASE)
    return new if _is_right(new, line, publication, wrong) else ""


def _places(line: str, publication: Publication) -> dict[str, Span]:
    """Where the statements of a reference stand in its line, as far as a record that is laid along it tells: not what
    stands there with markup, or as often in an identifier."""
    reference = read_reference(line)
    bare = blanked(line, ((one.start, one.end) for one in stated_ids(line)))
    found = dict[str, Span]()
    for one in Agreement(reference, publication).fields:
        start, end = one.span or (0, 0)
        old = reference.text[start:end]
        if old and reference.text.count(old) == bare.count(old):
            at = -1
            for _ in range(reference.text.count(old, 0, start) + 1):
                at = bare.find(old, at + 1)
            found[one.field] = at, at + len(old)
    return found


def _is_right(patched: str, line: str, publication: Publication, wrong: Mapping[str, ReferenceProblem]) -> bool:
    """Whether a reference, read again, has the record's statements, and none fewer than `line`."""
    reference = read_reference(patched)
    before, after = Agreement(read_reference(line), publication), Agreement(reference, publication)
    said = {one.field for one in before.fields if one.verdict != "absent"}
    ids = ((getattr(reference.ids, field).lower(), wrong[field].true.lower()) for field in IDS if field in wrong)
    is_lost = any(one.verdict == "absent" and one.field in said for one in after.fields)
    return not (after.differences or is_lost) and all(one in ("", true) for one, true in ids)


def _without_markup(value: str) -> str:
    """What is written of a record without markup, which would be active in a draft."""
    return _TAG.sub("", value).replace("](", "] (").replace("![", "! [")
