"""Reading answers of providers: fields of any type, which may be missing, texts with markup, and records by a table,
each row of which names a field of `Publication`, how it is read, and the paths where a record may have it."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar, cast

from deepcritical_mcp.data_files import data_lines
from deepcritical_mcp.dates import iso_date
from deepcritical_mcp.errors import ProviderResponseError
from deepcritical_mcp.identifiers import normalize_doi, normalize_pmcid, normalize_pmid
from deepcritical_mcp.models import UNKNOWN_DATE, AuthorName
from deepcritical_mcp.text import clean_line, clean_text, limited

if TYPE_CHECKING:
    import httpx

R = TypeVar("R")
Texts = Sequence[str]
Table = Sequence[tuple[str, str, Sequence[str]]]


def plain_line(text: str) -> str:
    """A text with HTML or JATS as plain text on one line."""
    return clean_line(plain_abstract(text))


_READERS: Mapping[str, Callable[[str], str]] = {
    "text": str,
    "plain": plain_line,
    "doi": normalize_doi,
    "pmid": normalize_pmid,
    "date": lambda text: iso_date(text[:10]),
    "pmcid": normalize_pmcid,
}


def field_table(module: str, name: str) -> Table:
    """The table in a data file next to a module (its `__file__`): "field | reader | path | path"."""
    rows = (line.split(" | ") for line in data_lines(module, name))
    return [(field, reader, paths) for field, reader, *paths in rows]


def fields_at(record: R, table: Table, texts_at: Callable[[R, str], Texts]) -> dict[str, object]:
    """The fields of a record, each the first text at its paths that its reader accepts; "each" takes all of them."""
    found: dict[str, object] = {}
    for field, reader, paths in table:
        texts = [text for path in paths for text in texts_at(record, path)]
        if reader == "each":
            found[field] = tuple(dict.fromkeys(texts))
        else:
            values = (_READERS[reader](text) for text in texts)
            found[field] = next(filter(None, values), UNKNOWN_DATE if reader == "date" else "")
    return found


def json_texts(record: Mapping[str, object], path: str) -> Texts:
    """The texts at a path such as "authorList.author.lastName", also those of the rows of lists on the way."""
    found: list[object] = [record]
    for name in path.split("."):
        found = [one.get(name) for several in found for one in rows_of(several)]
    return [text for one in found for text in (texts_of(one) if list_of(one) else (text_of(one),)) if text]


def authors_at(people: Iterable[R], table: Table, texts_at: Callable[[R, str], Texts]) -> tuple[AuthorName, ...]:
    """Authors by a table of `whole` (of a group), `family`, `given`, `suffix` and `initials`, which are told where they
    are not those of the given name."""
    found: list[AuthorName] = []
    for one in people:
        whole, family, given, suffix, initials = map(str, fields_at(one, table, texts_at).values())
        if whole or not family:
            found += [AuthorName(whole or given)] if whole or given else []
            continue
        ours = AuthorName(family, given or initials, suffix)
        theirs = ours._replace(initials=initials)
        found.append(theirs if initials and theirs.short != ours.short else ours)
    return tuple(found)


MAX_ROWS = 200
"""Of a list that is joined to one text."""
MAX_RECORDS, MAX_LISTED = 1_000, 20_000
"""Rows that are read of an answer's records, and of any other list: more than any source sends."""
MAX_VALUES = 500_000
"""Of one answer: reading JSON keeps all threads waiting, and a value of two bytes takes tens of bytes in memory."""
MAX_TEXT = 20_000
"""Characters of one field."""
_TAG = re.compile(
    r"</?(?:a|b|bold|br|code|del|div|em|font|h[1-6]|hr|i|ins|italic|li|mark|monospace|ol|p|pre|q|s|sc|small|span|"
    r"strike|strong|sub|sup|table|td|th|tr|tt|u|ul|underline|wbr)(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
_BREAK_TAG = re.compile(r"</?(?:br|div|h[1-6]|hr|li|ol|p|table|td|th|tr|ul)(?:\s[^<>]*)?/?>", re.IGNORECASE)
_HEADING = re.compile(r"<(title|h[1-6])(?:\s[^<>]*)?>([^<]*)</\1>(?:\s{0,20}<p(?:\s[^<>]*)?>)?", re.IGNORECASE)
_JATS_PART = re.compile(
    r"(</?)(?:jats|mml):((?:title|p|sec|list|list-item|label|break|disp-formula|tex-math)\b)?[^<>]*?(/?>)"
)
_TEX = re.compile(r"<tex-math(?:\s[^<>]*)?>[^<]*</tex-math>")
_PART = re.compile(r"</?(?:title|label|p|sec|list(?:-item)?|break|br|disp-formula|div|li|ul|ol)(?:\s[^<>]*)?/?>", re.I)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z]{2,8}\d?);", re.IGNORECASE)


def json_answer(provider: str, title: str, response: httpx.Response) -> Mapping[str, object]:
    """The JSON object in a response; ProviderResponseError if it is something else, too large, or cut off."""
    payload = _json(provider, title, response)
    if not isinstance(payload, dict):
        raise ProviderResponseError(provider, f"{title} sent JSON that is not an object.")
    return cast(Mapping[str, object], payload)


def json_rows(provider: str, title: str, response: httpx.Response) -> list[Mapping[str, object]]:
    """The objects of the JSON list in a response, up to `MAX_LISTED`; errors as of `json_answer`."""
    payload = _json(provider, title, response)
    rows = cast("list[object]", payload) if isinstance(payload, list) else [None]
    if not all(isinstance(row, Mapping) for row in rows):
        raise ProviderResponseError(provider, f"{title} sent JSON that is not a list of objects.")
    return rows_of(rows)


def _json(provider: str, title: str, response: httpx.Response) -> object:
    if sum(map(response.content.count, (b",", b"[", b"{"))) > MAX_VALUES:
        raise ProviderResponseError(provider, f"{title} sent a response that is too large.")
    try:
        return response.json()
    except (ValueError, RecursionError) as error:
        raise ProviderResponseError(provider, f"{title} sent something that is not JSON, or was cut off.") from error


def json_if_any(response: httpx.Response) -> Mapping[str, object]:
    """The JSON object in a response; {} if it is something else, too large, or cut off."""
    with suppress(ProviderResponseError):
        return json_answer("", "", response)
    return {}


def without_markup(text: str) -> str:
    """`text` without HTML tags, with entities decoded (doubly encoded ones too); "p<0.05" is unchanged."""
    text = _TAG.sub("", _BREAK_TAG.sub(" ", text))
    for _ in range(2):
        if _ENTITY.search(text):
            text = html.unescape(text)
    return text.replace("\xa0", " ")


def plain_abstract(text: str) -> str:
    """An abstract without the tags of HTML and JATS, a section on each line with its heading in front: "Aims: …"."""
    text = _TEX.sub("", _JATS_PART.sub(lambda tag: f"{tag[1]}{tag[2]}{tag[3]}" if tag[2] else "", text))
    text = _HEADING.sub(_heading, text)
    lines = (" ".join(without_markup(line).split()) for line in _PART.sub("\n", text).split("\n"))
    return clean_text("\n".join(filter(None, lines)))


def _heading(found: re.Match[str]) -> str:
    name = found[2].strip().rstrip(":.")
    return "\n" if name.lower() in ("abstract", "summary", "") else f"\n{name}: "


def text_of(value: object, limit: int = MAX_TEXT) -> str:
    """A text field of a payload, of any type: lists are joined, "" for what is not text."""
    if isinstance(value, str):
        return limited(value, limit)
    if isinstance(value, list):
        return limited(" ".join(filter(None, map(text_of, cast(list[object], value)[:MAX_ROWS]))), MAX_TEXT)
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def number_of(value: object) -> float | None:
    """A number field of a payload; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def mapping_of(value: object) -> Mapping[str, object]:
    """An object field of a payload; {} for anything else."""
    return cast(Mapping[str, object], value) if isinstance(value, Mapping) else {}


def list_of(value: object) -> list[object]:
    """A list field of a payload, at most `MAX_LISTED` of it; [] for anything else."""
    return cast(list[object], value)[:MAX_LISTED] if isinstance(value, list) else []


def texts_of(value: object) -> tuple[str, ...]:
    """The texts in a list field that are not empty."""
    return tuple(filter(None, map(text_of, list_of(value))))


def rows_of(value: object) -> list[Mapping[str, object]]:
    """The objects in a list field; a single object counts as a list of one."""
    return [row for row in map(mapping_of, list_of(value) or [value]) if row]


def first_records(value: object) -> list[Mapping[str, object]]:
    """The objects among the first `MAX_RECORDS` in a list of records."""
    return rows_of(list_of(value)[:MAX_RECORDS])


def field_at(value: object, *path: str) -> object:
    """The field at a path of names below an object; None if something on the way is missing."""
    for name in path:
        value = mapping_of(value).get(name)
    return value


def text_at(value: object, *paths: str) -> str:
    """The first text at one of `paths` ("journal.title") that is not empty; "" if there is none."""
    return next(filter(None, (text_of(field_at(value, *path.split("."))) for path in paths)), "")
