"""The fields of a record, read by its source's table, `fields.txt` or the like.

Each row of a table names a field of `Publication`, how it is read, and the paths where a record may have it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from deepcritical_mcp.data_files import data_lines
from deepcritical_mcp.dates import iso_date
from deepcritical_mcp.identifiers import normalize_doi, normalize_pmcid, normalize_pmid
from deepcritical_mcp.models import UNKNOWN_DATE, AuthorName
from deepcritical_mcp.net.json_fields import list_of, plain_abstract, rows_of, text_of, texts_of
from deepcritical_mcp.text import clean_line

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
