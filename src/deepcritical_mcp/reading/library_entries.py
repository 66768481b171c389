"""Entries of reference managers and databases as a file has them: the line where each begins, and its fields.

Programs write what they call one form in many ways (tags with one blank, entries that nothing closes, several values
on lines of their own), so the readers here take what can mean one thing only, and name the line of everything else.
"""

from __future__ import annotations

import ast
import csv
import json
import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate, islice, pairwise
from typing import Literal, NamedTuple, cast
from xml.etree.ElementTree import Element

from deepcritical_mcp.errors import UnreadableDocumentError
from deepcritical_mcp.net.fields import list_of, mapping_of, text_of
from deepcritical_mcp.reading.xml_tree import read_xml
from deepcritical_mcp.text import decoded

logging.getLogger("bibtexparser").setLevel(logging.CRITICAL)  # what is wrong with an entry is told to its author
LibraryForm = Literal["ris", "nbib", "wos", "enw", "bibtex", "json", "xml", "csv"]
"""RIS; PubMed's own form; Web of Science's plain text; EndNote's export (refer); BibTeX; CSL-JSON or Zotero's JSON;
EndNote's XML; a table with headings."""


class WrittenEntry(NamedTuple):
    """An entry as written: its first line in the file, from 1; its fields in order, several of one name if it has
    several values; or the reason why it cannot be read; and of JSON, which has no lines, where it begins and ends."""

    line: int
    fields: Sequence[tuple[str, str]] = ()
    reason: str = ""
    span: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class TaggedForm:
    """A form of lines with a tag each.

    Attributes:
        tag: before a value; a line without one goes on with the value of the line before.
        first: the tag that an entry begins with; "" for that of the first one.
        last: the tag that it ends with; "" if a blank line ends it.
        skipped: tags of the file, which belong to no entry.
    """

    tag: re.Pattern[str]
    first: str
    last: str = ""
    skipped: frozenset[str] = frozenset()


def _tag(pattern: str) -> re.Pattern[str]:
    return re.compile(f"^{pattern}", re.MULTILINE)


TAGGED: Mapping[LibraryForm, TaggedForm] = {
    "ris": TaggedForm(_tag(r"[ \t]{0,4}([A-Z][A-Z0-9](?=[ \t])|PMID)[ \t]{0,3}-[ \t]?"), "TY", "ER"),
    "nbib": TaggedForm(_tag(r"([A-Z]{2,4}) {0,2}-(?: |$|(?=[0-9]))"), "PMID"),
    "wos": TaggedForm(_tag(r"([A-Z][A-Z0-9])(?: |$)"), "PT", "ER", frozenset(("FN", "VR", "EF"))),
    "enw": TaggedForm(_tag(r"%([^\s\w]|[0-9A-Za-z])(?:[ \t]|$)"), ""),
}


def tagged_entries(text: str, form: TaggedForm) -> Iterator[WrittenEntry]:
    """The entries of lines with tags. What stands between two of them is skipped; a tag there that the entry before
    does not have belongs to it, as Ovid writes some, and any other begins an entry."""
    start, fields, ended, is_apart, first = 0, list[tuple[str, list[str]]](), True, False, form.first
    for number, line in enumerate(text.split("\n"), 1):
        tag = form.tag.match(line)
        name = tag[1] if tag else ""
        first = first or name
        if name in form.skipped:
            continue
        is_new = ended and (not form.last or not fields or is_apart or name in {one for one, _ in fields})
        if tag and (name == first or is_new):
            yield from _closed(start, fields)
            start, fields, ended, is_apart = number, list[tuple[str, list[str]]](), False, False
        if name and name == form.last:
            ended = True
        elif tag:
            fields.append((name, [line[tag.end() :].strip()]))
        elif line.strip() and not ended:
            fields[-1][1].append(line.strip())
        elif not line.strip():
            is_apart, ended = ended, ended or not form.last
    yield from _closed(start, fields)


def _closed(line: int, fields: Sequence[tuple[str, list[str]]]) -> Iterator[WrittenEntry]:
    """The entry that these fields are; none if they are empty, as the mark at the end of a file."""
    found = tuple((name, "\n".join(lines).strip()) for name, lines in fields)
    if any(value for _, value in found):
        yield WrittenEntry(line, found)


MAX_VALUE, MAX_FIELDS = 200_000, 20_000
"""Characters of a value, and values of an entry."""


def json_entries(text: str) -> Iterator[WrittenEntry]:
    """The items of CSL-JSON, or of Zotero's own JSON: of an array, of an object with "items", or one alone."""
    start = len(text) - len(text.lstrip(" [\n\t"))
    place = text.find("{", max(start, text.find('"items"'))) if text.startswith("{", start) else -1
    line, seen, decoder = 1, 0, json.JSONDecoder()
    while place >= 0:
        line, seen = line + text.count("\n", seen, place), place
        try:
            item, end = cast("tuple[object, int]", decoder.raw_decode(text, place))
        except (ValueError, RecursionError):
            why = "JSON that cannot be read, so that nothing behind it is read either"
            yield WrittenEntry(line, reason=why, span=(place, len(text)))
            return
        yield WrittenEntry(line, tuple(json_fields(mapping_of(item))), span=(place, end))
        place = text.find("{", end)


def json_fields(item: Mapping[str, object], path: str = "") -> Iterator[tuple[str, str]]:
    """The texts of an object with the path to each, "data.title"; a name of a person is one text."""
    for name, value in item.items():
        for one in list_of(value) or [value]:
            inner = mapping_of(one)
            if any(key in inner for key in ("family", "given", "literal", "lastName", "creatorType")):
                is_editor = name == "creators" and "ditor" in text_of(inner.get("creatorType"))
                yield f"{path}{name}{'.editor' if is_editor else ''}", _person(inner)
            elif parts := list_of(inner.get("date-parts")):
                yield f"{path}{name}", "-".join(map(text_of, list_of(parts[0])))
            elif inner:
                yield from json_fields(inner, f"{path}{name}.")
            elif told := text_of(one, MAX_VALUE):
                yield f"{path}{name}", told


def _person(name: Mapping[str, object]) -> str:
    literal = text_of(name.get("literal")) or text_of(name.get("name"))
    family = " ".join(filter(None, (text_of(name.get("non-dropping-particle")), _first(name, "family", "lastName"))))
    given = " ".join(filter(None, (_first(name, "given", "firstName"), text_of(name.get("dropping-particle")))))
    return literal or ", ".join(filter(None, (family, text_of(name.get("suffix")), given)))


def _first(value: Mapping[str, object], *names: str) -> str:
    return next(filter(None, (text_of(value.get(name)) for name in names)), "")


def xml_entries(text: str) -> Iterator[WrittenEntry]:
    """The records of EndNote's XML: the text at each path below a record, "titles/title"."""
    root, _, is_cut = read_xml(text.encode(), is_huge=True)
    line = 0
    for record in root.iter("{*}record"):
        line = cast("int", getattr(record, "sourceline", line))
        yield WrittenEntry(line, tuple(_leaves(record)))
    if is_cut:
        yield WrittenEntry(line, reason="XML that is broken or cut off, so that records behind it may be missing")


def _leaves(element: Element, path: str = "") -> Iterator[tuple[str, str]]:
    """`<style>` only says how a text looks."""
    for child in element:
        tag = child.tag.rpartition("}")[2]
        if name := child.get("name"):  # <ref-type name="Journal Article">17</ref-type>
            yield f"{path}{tag}@name", name
        if any(one.tag.rpartition("}")[2] != "style" for one in child):
            yield from _leaves(child, f"{path}{tag}/")
        elif text := "".join(child.itertext()).replace("\r", "\n").strip():
            yield f"{path}{tag}", text


DELIMITERS = (",", ";", "\t")
_TITLES = frozenset({"title", "article title", "document title", "primary title", "ti"})
_OF_RECORDS = frozenset(
    "author authors author(s) year journal doi pmid abstract source publication volume au py included decision".split()
)
"""Words of which the headings of a table of records have one, besides that of the titles."""
MAX_CELL, MAX_HEAD = 2**31 - 1, 20_000
"""Characters of a cell, and of the line of headings."""
_BEFORE_TABLE = 10
"""Lines in which Embase tells the query, before the headings."""
_QUOTED_CELL = re.compile(r'(?:^|\t)"[^\t]*"(?=\t|$)')
_GUARDED = re.compile('="(.*)"')
"""A cell that Excel must not take for a number."""


def _headings(text: str) -> tuple[list[str], str, int]:
    """The headings of a table in small letters, what separates its cells, and in which line they stand; no headings if
    it is none."""
    for number, line in enumerate(text.split("\n", _BEFORE_TABLE)[:_BEFORE_TABLE], 1):
        delimiter = max(DELIMITERS, key=line.count)
        row = next(csv.reader([line[:MAX_HEAD]], delimiter=delimiter), list[str]())
        names = [" ".join(name.lower().split()) for name in row]
        if not _TITLES.isdisjoint(names) and not _OF_RECORDS.isdisjoint(" ".join(names).split()):
            return names, delimiter, number
    return [], "", 0


def table_entries(text: str) -> Iterator[WrittenEntry]:
    """The rows of a table with headings, which become names in small letters: "Published Year" is "published year"."""
    names, delimiter, start = _headings(text)
    for line, row in _rows(text.split("\n")[start:], delimiter, len(names)):
        if row is None:
            yield WrittenEntry(line + start, reason="a quotation mark in it is never closed")
        elif any(cell.strip() for cell in row[len(names) :]):
            told = f"it has {len(row)} cells, and the table {len(names)} columns"
            yield WrittenEntry(line + start, reason=told)
        elif any(map(str.strip, row)) and [" ".join(cell.lower().split()) for cell in row] != names:
            named = ((name, _cell(cell)) for name, cell in zip(names, row, strict=False) if name and cell.strip())
            yield WrittenEntry(line + start, tuple(named))


def _rows(lines: Sequence[str], delimiter: str, width: int) -> Iterator[tuple[int, list[str] | None]]:
    """The rows of a table with the line of each, from 1; None for one that cannot be read.

    A quotation mark that nothing closes would take in the rows behind it: its line is a row, if it has as many cells as
    the table, and the mark a letter.
    """
    csv.field_size_limit(MAX_CELL)
    quotes_cells = delimiter != "\t" or any(map(_QUOTED_CELL.search, lines))  # Web of Science quotes nothing
    at = 0
    while at < len(lines):
        reader = csv.reader(
            _row_lines(lines, at), delimiter=delimiter, quoting=csv.QUOTE_MINIMAL if quotes_cells else csv.QUOTE_NONE
        )
        row: list[str] | None = next(reader, list[str]())
        used = max(reader.line_num, 1)
        is_open = quotes_cells and sum(line.count('"') for line in lines[at : at + used]) % 2 == 1
        if is_open or (used > 1 and len(row) != width):
            alone = next(csv.reader([lines[at]], delimiter=delimiter, quoting=csv.QUOTE_NONE), list[str]())
            if is_open or len(alone) == width:
                row, used = alone if len(alone) == width else None, 1
        yield at + 1, row
        at += used


def _row_lines(lines: Sequence[str], at: int) -> Iterator[str]:
    """The lines of which the next row may consist."""
    length = 0
    for line in islice(lines, at, None):
        length += len(line)
        if MAX_VALUE < length > len(line):
            return
        yield f"{line}\n"


def _cell(text: str) -> str:
    """A cell as text; a list as Python or JSON writes it becomes lines."""
    found = _GUARDED.fullmatch(text.strip())
    if text.startswith(('["', "['")):
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            values: object = ast.literal_eval(text)
            return "\n".join(text_of(one) for one in list_of(values))
    return found[1] if found else text.strip()


BIBTEX = re.compile(
    r"^[ \t]{0,20}(?=@(?:[A-Za-z]\w{0,30}[ \t]{0,8}\{|(?i:string|article|book|misc|phdthesis|techreport|online|"
    r"in(?:book|collection|proceedings))[ \t]{0,8}\())",
    re.MULTILINE,
)
"""What an entry of BibTeX begins with."""


def bibtex_entries(text: str) -> Iterator[WrittenEntry]:
    """The entries of BibTeX, with "type" and "key" before their fields, and the values of macros."""
    starts, macros, line, seen = [one.end() for one in BIBTEX.finditer(text)], dict[str, str](), 1, 0
    for start, end in pairwise((*starts, len(text))):
        line, seen = line + text.count("\n", seen, start), start
        block = bibtex_block(text[start:end], macros)
        macros |= [block.macro] if block.macro else []
        if block.reason or any(value for _, value in block.fields):
            yield WrittenEntry(line, block.fields, block.reason and f"BibTeX that cannot be read: {block.reason}")


class BibtexBlock(NamedTuple):
    """A block of BibTeX as written: the fields of an entry behind its "type" and "key"; or the name and value of a
    macro; or why it cannot be read ("" for a comment)."""

    raw: str
    fields: Sequence[tuple[str, str]] = ()
    macro: tuple[str, str] | None = None
    reason: str = ""


def bibtex_block(text: str, macros: Mapping[str, str]) -> BibtexBlock:
    """The block that a text begins with, with the values of macros."""
    from bibtexparser.entrypoint import parse_string
    from bibtexparser.model import Entry, ParsingFailedBlock, String

    found = next(iter(parse_string(text, parse_stack=[]).blocks), None)
    if isinstance(found, ParsingFailedBlock):
        if not isinstance(found.ignore_error_block, Entry):
            return BibtexBlock(text, reason=str(getattr(found.error, "abort_reason", found.error)))
        found = found.ignore_error_block  # a field stands in it twice
    raw = cast("str", found.raw) if found else text
    if isinstance(found, String):
        return BibtexBlock(raw, macro=(found.key.lower(), _within(found.value)))
    if not isinstance(found, Entry):
        return BibtexBlock(raw)
    named = ((next(iter(one.key.split()[-1:]), ""), one.value) for one in found.fields)  # behind a comment
    fields = ((name.lower(), _value(value, macros, is_people=name.lower() in _PEOPLE)) for name, value in named)
    return BibtexBlock(raw, (("type", found.entry_type.lower()), ("key", found.key), *fields))


_PEOPLE = ("author", "editor")


def _value(value: str, macros: Mapping[str, str], *, is_people: bool) -> str:
    """A value as text: also `"Journal of " # name`."""
    pieces = [one.strip() for one in value.split("#")]
    if not all(_is_enclosed(one) or one.isidentifier() or one.isdecimal() for one in pieces):
        pieces = [value]
    return "".join(macros.get(one.lower(), "") or _within(one, 1 if is_people else 2) for one in pieces)


def _within(value: str, levels: int = 2) -> str:
    """A value without the quotation marks or so many levels of braces around it; doubled ones around people make them
    one group."""
    for _ in range(levels):
        value = value[1:-1] if _is_enclosed(value) else value
    return value


def _is_enclosed(value: str) -> bool:
    """Whether one pair of marks is around it all: not "{Zinc} for {wounds}"."""
    depths = accumulate((letter == "{") - (letter == "}") for letter in value[:-1])
    return len(value) > 1 and (value[0] + value[-1] == '""' or (value[0] + value[-1] == "{}" and all(depths)))


class LibraryReading(NamedTuple):
    """A file of a library: its form, "" if it is none, and its entries in order."""

    form: LibraryForm | Literal[""]
    entries: Sequence[WrittenEntry] = ()


_STARTS: Sequence[tuple[LibraryForm, re.Pattern[str]]] = (
    ("xml", re.compile(r"(?:<\?xml[^<>]{0,99}>\s{0,99})?<(?:xml\b|records\b|record>\s{0,40}<)")),
    ("json", re.compile(r'(?:\[\s{0,99})?\{\s{0,99}"')),
    ("ris", re.compile(r"^[ \t]{0,4}TY[ \t]{1,3}-", re.MULTILINE)),
    ("nbib", re.compile(r"^PMID ?- ?[0-9]|^<[0-9]{1,6}\. >\n[A-Z]{2} {2}- ", re.MULTILINE)),
    ("wos", re.compile(r"^PT [A-Z]$", re.MULTILINE)),
    ("enw", re.compile(r"^%[0T] ", re.MULTILINE)),
    ("bibtex", BIBTEX),
)
"""What the first entry of each form begins with."""
MAX_PREAMBLE = 5_000
"""Characters that may stand before the first entry, such as a query; a text with entries further down is no library."""
MAX_ENTRIES = 50_000
"""Of one file; what stands behind them is told."""


def begins_with_entry(text: str) -> bool:
    """Whether a text begins with an entry, in a form in which nobody writes anything else."""
    beginning = text.lstrip()[:MAX_PREAMBLE]
    return any(start.match(beginning) for form, start in _STARTS if form != "json")


def read_library(content: bytes) -> LibraryReading:
    """The entries of a file, and the lines of those that cannot be read; no form if it is not a library.

    Raises:
        UnreadableDocumentError: it has no text.
    """
    text = decoded(content).replace("\r\n", "\n").replace("\r", "\n").replace("\0", "").lstrip("\ufeff")
    if not text.strip():
        raise UnreadableDocumentError("This file has no text.")
    form = _form_of(text)
    if not form:
        return LibraryReading("")
    if form == "wos" and _headings(text)[0]:  # a table with the tags as headings
        named = (
            one._replace(fields=[(name.upper(), told) for name, told in one.fields]) for one in table_entries(text)
        )
        found: Iterator[WrittenEntry] = iter(named)
    else:
        found = _entries(text, form)
    entries = [*map(_limited, islice(found, MAX_ENTRIES + 1))]
    if len(entries) > MAX_ENTRIES:
        told = f"it and what follows: one file may have {MAX_ENTRIES:,} entries"
        entries[MAX_ENTRIES] = WrittenEntry(entries[MAX_ENTRIES].line, reason=told)
    return LibraryReading(form, entries)


def _limited(entry: WrittenEntry) -> WrittenEntry:
    """The entry, unless it has more than any program writes."""
    longest = max((len(value) for _, value in entry.fields), default=0)
    if longest <= MAX_VALUE and len(entry.fields) <= MAX_FIELDS:
        return entry
    told = f"it has a field of {longest:,} characters; the limit is {MAX_VALUE:,}"
    many = f"it has {len(entry.fields):,} fields; the limit is {MAX_FIELDS:,}"
    return WrittenEntry(entry.line, reason=told if longest > MAX_VALUE else many)


_READERS: Mapping[LibraryForm, Callable[[str], Iterator[WrittenEntry]]] = {
    "json": json_entries,
    "xml": xml_entries,
    "bibtex": bibtex_entries,
    "csv": table_entries,
}


def _entries(text: str, form: LibraryForm) -> Iterator[WrittenEntry]:
    return tagged_entries(text, TAGGED[form]) if form in TAGGED else _READERS[form](text)


def form_at_start(text: str) -> LibraryForm | Literal[""]:
    """The form of the entry that a text begins with; "" if it begins with none."""
    beginning = text[:MAX_PREAMBLE].lstrip()
    for form, start in _STARTS:
        if start.match(beginning):
            return form
    return ""


def first_entry(text: str) -> tuple[WrittenEntry, LibraryForm] | None:
    """The entry that a text begins with, also with empty lines in it, and its form; None if it begins with none that
    can be read."""
    text = text.strip()
    form = form_at_start(text)
    if not form:
        return None
    text = "\n".join(filter(str.strip, text.split("\n"))) if form in TAGGED else text
    entry = next(_entries(text, form), None)
    return (entry, form) if entry and not entry.reason else None


def _form_of(text: str) -> LibraryForm | Literal[""]:
    """The form of a text: a table if it begins with headings, else that of its first entry."""
    names, delimiter, _ = _headings(text)
    if names:
        return "wos" if delimiter == "\t" and {"pt", "ut"} <= {*names} else "csv"
    first, at = "", MAX_PREAMBLE
    for form, start in _STARTS:
        found = start.search(text, 0, MAX_PREAMBLE)
        may_follow = form not in ("xml", "json")
        if found and found.start() < at and (may_follow or not text[: found.start()].strip()):
            first, at = form, found.start()
    return first
