"""Whether a copy is the document that was asked for: a wrong text under a right citation must never be kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from deepcritical_mcp.dates import current_date
from deepcritical_mcp.evidence.described import BEGINNING, Identity, identity_of
from deepcritical_mcp.evidence.identity import bears_out, is_by_author, names_author
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
from deepcritical_mcp.identifiers import RecordIds, normalize_doi
from deepcritical_mcp.models import NO_ABSTRACT, NO_TITLE, Part, Publication
from deepcritical_mcp.reading import Reading
from deepcritical_mcp.search.record_finder import compared
from deepcritical_mcp.text import clipped

NO_IDS = RecordIds()
TITLE_WORDS = 0.75
"""The share of the words of two titles of versions that must be the same."""
PREVIEW = 1_000
"""Characters: a page with fewer than these besides the abstract has not the whole paper."""


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
    own, claim = ids_in(reading), identity_of_page(page_as_claim(reading), reading) if is_page else None
    known = identity_of(record) if record else None
    match compared(wanted, own):
        case "same" if record is None or known is None or (claim is None and not _is_other(record, reading)):
            return ""
        case "same" if known and claim and bears_out(known, claim, is_named=is_named):
            return ""
        case "different":
            names = ((name.upper(), number) for name, number in own._asdict().items())
            numbers = ", ".join(f"{name} {number}" for name, number in names if number)
            return f"It sent another document ({numbers}), which was not used."
        case "" if record is None and wanted.doi:
            named = wanted.doi.lower() in reading.content[:BEGINNING].lower()
            return "" if named else "It sent a text that does not name this DOI; it was not used."
        case "" if record is None or (
            is_titled(record, reading)
            and (claim is None or known is None or is_by_author(claim, known, is_named=is_named))
        ):
            return ""
        case _:
            title = clipped(str(reading.fields.get("title") or ""), 80)
            named = f' ("{title}")' if title else ""
            what = "title" if record and not is_titled(record, reading) else "author"
            return f"It sent a text{named} that does not carry the {what} of this paper; it was not used."


def _is_other(record: Publication, reading: Reading) -> bool:
    """Whether a text with the record's number has another title and another author."""
    return (
        bool(doubt(record, reading)) and names_author(identity_of(page_as_claim(reading)), identity_of(record)) is False
    )


def page_as_claim(
    reading: Reading,
    *,
    ids: RecordIds = NO_IDS,
    provider: str = "",
    url: str = "",
) -> Publication:
    """A document as it describes itself, with the beginning of its text: under its own address, with its numbers as
    claims; without any, those that it was found by."""
    own = {} if any(ids_in(reading)) else ids._asdict()
    fields = {name: value for name, value in reading.fields.items() if name in Publication.model_fields}
    fields = {"title": NO_TITLE, "url": url, **own} | fields | {"source": "web", "accessed": current_date().isoformat()}
    page = Publication.of("page", reading.content[:BEGINNING], provider=provider, **fields)
    text = page.text.model_copy(update={"parts": reading.parts or (Part(anchor="s0"),)})
    return page.model_copy(update={"texts": (text,)}).as_claim()


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


def is_preview(record: Publication | None, reading: Reading) -> bool:
    """Whether a page about a paper has no more than its abstract, or its beginning."""
    abstracts = (text.content for text in record.texts if text.kind == "abstract") if record else ()
    abstract = max((len(one) for one in abstracts if one != NO_ABSTRACT), default=0)
    return len(reading.content) < abstract + PREVIEW
