"""The real PubMed records at hand, for tests of exports."""

import os
from pathlib import Path

import pytest

from deepcritical_mcp.errors import ProviderError
from deepcritical_mcp.models import Publication
from deepcritical_mcp.sources.pubmed.records import read_records

FOLDER = os.environ.get("DEEPCRITICAL_RECORDED_DIR", "")
needs_records = pytest.mark.skipif(not FOLDER, reason="DEEPCRITICAL_RECORDED_DIR is not set")


def recorded_publications() -> list[Publication]:
    """Each record of the recorded answers once; answers that are errors are left out."""
    found: dict[str, Publication] = {}
    for path in sorted(Path(FOLDER).glob("efetch/*.xml")):
        try:
            records = read_records(path.read_bytes())
        except ProviderError:
            continue
        found.update((one.id, one) for one in records.publications)
    return list(found.values())
