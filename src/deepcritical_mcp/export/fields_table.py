"""A table of fields that the caller chose: columns of the study table, and fields of records as results name them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from deepcritical_mcp.export.cell_tables import cell, csv_table, markdown_table
from deepcritical_mcp.export.chosen_fields import LISTED_FIELDS, listed_value
from deepcritical_mcp.export.licence import without_full_texts
from deepcritical_mcp.export.reference import Reference, references
from deepcritical_mcp.export.study_table import TABLE_FIELDS, study_values
from deepcritical_mcp.models import Publication

TABLE_COLUMNS = tuple(dict.fromkeys((*TABLE_FIELDS, *LISTED_FIELDS)))
"""What a column may be; a name that both have means the study table's."""


def fields_table(publications: Iterable[Publication], fields: Sequence[str], output: str) -> str:
    """A CSV file or, for `output` "markdown", a table, with these columns. The caller has applied `with_notes`."""
    rows = [_row(one, fields) for one in references(map(without_full_texts, publications))]
    if output == "csv":
        return csv_table(fields, rows)
    return markdown_table([one.replace("_", " ") for one in fields], ([cell(text) for text in row] for row in rows))


def _row(reference: Reference, fields: Sequence[str]) -> list[str]:
    """The title with the mark of a retracted publication, whichever table it is from."""
    own = {name: listed_value(reference, name) for name in fields if name not in TABLE_FIELDS or name == "title"}
    columns = [name for name in fields if name not in own]
    values = own | dict(zip(columns, study_values(reference.publication, columns), strict=True))
    return [values[name] for name in fields]
