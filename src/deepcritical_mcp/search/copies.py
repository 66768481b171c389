"""What the providers of full texts said about a document, and whether a copy is the document that was asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from deepcritical_mcp.dates import current_date
from deepcritical_mcp.errors import ProviderError
from deepcritical_mcp.evidence.identity import BEGINNING, Identity, bears_out, identity_of, is_by_author, names_author
from deepcritical_mcp.evidence.titles import (
    adds_a_site,
    bare_title,
    begins_with,
    content_words,
    is_junk,
    is_notice,
    likeness,
    tokens,
)
from deepcritical_mcp.identifiers import RecordIds, is_preprint_doi, normalize_doi
from deepcritical_mcp.models import (
    NO_ABSTRACT,
    NO_TITLE,
    Attempt,
    DocumentStatus,
    Part,
    Publication,
    StatusNotice,
    Text,
    TextKind,
    is_marked,
    merged,
    vancouver,
)
from deepcritical_mcp.reading import Reading
from deepcritical_mcp.search.record_finder import PUBMED, Lookup, compared, is_paper
from deepcritical_mcp.sources.lookup import Copy
from deepcritical_mcp.text import clipped
from deepcritical_mcp.urls import host_of

NO_IDS = RecordIds()
TITLE_WORDS = 0.75
"""The share of the words of two titles of versions that must be the same."""
PREVIEW = 1_000
"""A page with fewer characters than these beyond its abstract is a preview, not the whole paper."""


def ids_in(reading: Reading) -> RecordIds:
    """The identifiers that a document gives itself."""
    values = {name: str(reading.fields.get(name) or "") for name in ("pmid", "pmcid", "doi", "nct")}
    return RecordIds(**(values | {"doi": normalize_doi(values["doi"])}))


def contradiction(
    record: Publication | None, wanted: RecordIds, reading: Reading, *, is_page: bool = False, is_named: bool = False
) -> str:
    """Why a copy is not the document with the identifiers `wanted` and the `record`; "" if it is. What a page says of
    itself is a claim: also with the right number it must have the title and the first author; `is_named` as for
    `bears_out`."""
    own = ids_in(reading)
    claim = identity_of_page(page_as_claim(reading), reading) if is_page else None
    known = identity_of(record) if record else None
    verdict = compared(wanted, own)
    if verdict == "different":
        numbers = ", ".join(f"{name.upper()} {number}" for name, number in own._asdict().items() if number)
        return f"It sent another document ({numbers}), which was not used."
    if record is None or known is None:
        is_named = verdict == "same" or wanted.doi.lower() in reading.content[:BEGINNING].lower()
        return "" if is_named else "It sent a text that does not name this DOI; it was not used."
    has_title = is_titled(record, reading)
    if verdict == "same" and claim is None:
        # A text with the right number is another one only if its title and its author are.
        is_it = not (doubt(record, reading) and names_author(identity_of(page_as_claim(reading)), known) is False)
    elif verdict == "same" and claim:
        is_it = bears_out(known, claim, is_named=is_named)
    else:
        is_it = has_title and (claim is None or is_by_author(claim, known, is_named=is_named))
    title = clipped(str(reading.fields.get("title") or ""), 80)
    named = f' ("{title}")' if title else ""
    what = "author" if has_title else "title"
    return "" if is_it else f"It sent a text{named} that does not carry the {what} of this paper; it was not used."


def page_as_claim(reading: Reading, *, ids: RecordIds = NO_IDS, provider: str = "", url: str = "") -> Publication:
    """A document as it describes itself, with the beginning of its text: under its own address, with its numbers as
    claims; without any, those that it was found by."""
    own = {} if any(ids_in(reading)) else ids._asdict()
    fields = {name: value for name, value in reading.fields.items() if name in Publication.model_fields}
    fields = {"title": NO_TITLE, "url": url, **own} | fields | {"source": "web", "accessed": current_date().isoformat()}
    parts = reading.parts or (Part(anchor="s0"),)
    return Publication.of("page", reading.content[:BEGINNING], provider=provider, parts=parts, **fields).as_claim()


def identity_of_page(claim: Publication, reading: Reading) -> Identity:
    """What identifies a page as it describes itself, with the line that names its authors where its text begins."""
    page = identity_of(claim)
    return replace(page, beginning=f"{page.beginning}\n{reading.fields.get('byline', '')}")


def doubt(record: Publication | None, reading: Reading) -> str:
    """A warning about a document with the right identifiers, but a title that has nothing to do with the record's."""
    own = str(reading.fields.get("title") or "")
    if record is None or not own or record.title == NO_TITLE:
        return ""
    words = {*content_words(tokens(own))}
    titles = [{*content_words(tokens(one))} for one in (record.title, record.vernacular_title) if one]
    if record.title.startswith("[") or any(words & one for one in titles):
        return ""
    return f'Its own title is another one ("{clipped(own, 120)}"): make sure that it is this paper.'


def is_titled(record: Publication, reading: Reading) -> bool:
    """Whether a document has the title of the record: as its own, or, if it gives itself none, at its beginning.

    That a title stands somewhere in a document is not enough: other papers cite it, and lists name it. Of a translated
    title, its author must stand at the beginning.
    """
    own = bare_title(str(reading.fields.get("title") or ""))
    beginning = f"{' '.join(title for part in reading.parts[:2] for title in part.path)} {reading.content}"
    titles = [one for one in (record.title, record.vernacular_title) if one and one != NO_TITLE]
    if own and not is_junk(own):
        journals = [tokens(one) for one in (record.journal, record.journal_abbreviation) if one]
        found = any(_is_same(own, title, journals) for title in titles)
    else:
        found = any(begins_with(beginning, title) for title in titles)
    is_translated = record.title.startswith("[") and not record.vernacular_title
    present = set(tokens(f"{own} {reading.content[:BEGINNING]}"))
    return found or (is_translated and any(set(tokens(author.family)) <= present for author in record.authors[:3]))


def _is_same(own: str, title: str, journals: Sequence[tuple[str, ...]]) -> bool:
    """Whether two titles are one: as written, with the name of a journal or site, or changed a little, as those of
    preprints are."""
    one, other = tokens(own), tokens(title)
    if likeness(one, other) != "other" or adds_a_site(own, other, journals, is_known=True):
        return True
    words, others = set(content_words(one)), set(content_words(other))
    shared = len(words & others)
    is_near = shared >= TITLE_WORDS * max(len(words), len(others), 1)
    has_numbers = [{word for word in some if any(map(str.isdigit, word))} for some in (words, others)]
    return is_near and has_numbers[0] == has_numbers[1] and is_notice(one) == is_notice(other)


@dataclass
class CopySearch:
    """A search for a copy of a document, which asks one provider after another: what they have said so far.

    Attributes:
        lookup: what is known about the document.
        attempts: who was asked, and what each said. `failures` are the outages among these.
        addresses: pages that may have a copy.
        copy: the text that was found, delivered by `provider`.
        is_page: whether the copy is a page or file, so that the numbers it names are only claims.
        refused: a copy at the address that the caller gave, which is not the document that was asked for.
        remarks: what to know about the claims of the copy.
        namesakes: retracted papers with the title and first author of the copy.
    """

    lookup: Lookup
    attempts: list[Attempt]
    failures: list[ProviderError]
    addresses: list[str]
    copy: Copy | None = None
    provider: str = ""
    is_page: bool = False
    refused: Copy | None = None
    remarks: list[str] = field(default_factory=list[str])
    namesakes: tuple[StatusNotice, ...] = ()

    def note(self, provider: str, status: str, detail: str = "") -> None:
        self.attempts.append(Attempt.model_validate({"provider": provider, "status": status, "detail": detail}))


def judged(answer: Copy, lookup: Lookup, *, is_page: bool) -> tuple[DocumentStatus, str]:
    """What an answer means: its own status, unless the text is another document's, or only the abstract."""
    reading = answer.reading
    if answer.status != "full_text" or reading is None:
        return answer.status, answer.detail
    if not reading.content:
        return "no_text", answer.detail or "There is no text inside."
    is_named = host_of(answer.url) not in map(host_of, lookup.wanted.urls)
    if problem := contradiction(lookup.record, lookup.wanted.ids, reading, is_page=is_page, is_named=is_named):
        return "not_found", problem
    # A page about a paper may have no more than its abstract, or its beginning.
    known = (text.content for text in lookup.record.texts if text.kind == "abstract") if lookup.record else ()
    abstract = max((len(one) for one in known if one != NO_ABSTRACT), default=0)
    if is_page and is_paper(lookup.wanted.ids) and len(reading.content) < abstract + PREVIEW:
        return "abstract_only", "The page has the abstract or a preview, not the whole text."
    told = "" if is_page else doubt(lookup.record, reading)
    return "full_text", " ".join(filter(None, (answer.detail, told)))


def final_status(search: CopySearch) -> DocumentStatus:
    """What to say if nobody gave the text: whether somebody has it comes before whether nobody has it."""
    said = {attempt.status for attempt in search.attempts}
    has_abstract = search.lookup.record is not None or "abstract_only" in said
    if search.copy:
        return "full_text"
    if "not_allowed" in said:
        return "not_allowed"
    return "no_text" if "no_text" in said else "abstract_only" if has_abstract else "not_found"


def outages_of(search: CopySearch) -> Iterator[str]:
    """What failed, if that may be why there is no text or no record."""
    if search.copy is None and search.failures:
        yield (
            "Not everybody answered, so there may be a full text all the same; asking again may help: "
            + " ".join(dict.fromkeys(error.message for error in search.failures))
        )
        return
    # Why PubMed did not describe a paper that it may have.
    lookup, record = search.lookup, search.lookup.record
    asked = [one for one in lookup.attempts if one.provider == PUBMED and one.status in ("failed", "not_found")]
    reason = lookup.unasked or next((one.detail for one in asked), "")
    if record is None and lookup.failures:
        reason = f"the record could not be looked up: {lookup.failures[0].message}"
    if search.copy and not search.remarks and reason:
        told = "The citation is what the text says about itself, and whether it was retracted is unknown"
        if record and record.text.provider != search.provider:
            told = f"The citation is from {record.text.provider}, not PubMed, which may know of a retraction"
        yield f"{told}: {reason}"


def unconfirmed(claim: Publication, records: Sequence[Publication], lookup: Lookup) -> str:
    """What a page or text claims to be, and why it is kept as itself."""
    named, outage = " and ".join(claim.claims), next((error.message for error in lookup.failures), "")
    if records:
        why = f"that is another paper, which differs in title or first author ({vancouver(records[0])})"
    elif outage:
        why = f"its record could not be looked up: {outage}"
    else:
        why = "nobody has a record of it"
    return (
        f"It claims to be {named}, which is not confirmed: {why.rstrip('.')}. It is kept as itself, not as that paper."
    )


def publication_of(search: CopySearch) -> Publication | None:
    """The record with the text; without a record, what the text says about itself; None without either."""
    record, copy, ids = search.lookup.record, search.copy, search.lookup.wanted.ids
    reading = copy.reading if copy else None
    if copy is None or reading is None:
        return record
    is_known = is_paper(ids) and (record is not None or any(ids_in(reading)))
    is_claim = record is None and search.is_page
    kind: TextKind = "page" if is_claim else "registration" if ids.nct else "full_text" if is_known else "page"
    text = Text(
        kind=kind,
        content=reading.content,
        provider=search.provider,
        parts=reading.parts or (Part(anchor="s0"),),
        licence=reading.licence,
        url=copy.url,
        is_ocr=reading.is_ocr,
        remarks=reading.remarks,
    )
    if is_claim:
        page = page_as_claim(reading, ids=search.lookup.given, provider=search.provider, url=copy.url)
        return page.model_copy(update={"texts": (text,), "status_notices": search.namesakes})
    has_abstract = record and any(one.kind == "abstract" and one.content != NO_ABSTRACT for one in record.texts)
    texts = (text,)
    if reading.abstract and not has_abstract:
        texts = (Text(kind="abstract", content=reading.abstract, provider=search.provider), text)
    if record:
        pmcid = record.pmcid or ids.pmcid or ("" if search.is_page else ids_in(reading).pmcid)
        read = {"accessed": current_date().isoformat()} if kind == "page" else {}
        fields: dict[str, object] = {"texts": texts, "pmcid": pmcid, **read}
        if not is_marked(record.status) and not record.status_notices:  # then the text may know more
            fields |= {one: reading.fields[one] for one in ("status", "status_notices") if one in reading.fields}
        return merged(record, record.model_copy(update=fields))
    return _described(reading, copy, ids, texts)


def _described(reading: Reading, copy: Copy, ids: RecordIds, texts: tuple[Text, ...]) -> Publication:
    """A publication as its text describes it; with the identifiers that were asked for only if it has them too."""
    own = ids_in(reading)
    known = {name: number for name, number in own._asdict().items() if number}
    if any(own) or ids.nct:
        known = {name: number for name, number in ids._asdict().items() if number} | known
    fields = {"title": NO_TITLE, **reading.fields, **known}
    paper = "preprint" if is_preprint_doi(own.doi) else "pubmed"
    source = "trial" if known.get("nct") else paper if known else "web"
    own_fields = {name: value for name, value in fields.items() if name in Publication.model_fields}
    own_fields = {"url": copy.url} | own_fields | {"source": source}
    page = Publication.of(texts[0].kind, texts[0].content, provider=texts[0].provider, **own_fields)
    read = {"accessed": current_date().isoformat()} if source == "web" else {}
    return page.model_copy(update={"texts": texts, **read})
