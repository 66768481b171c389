"""Parameters that several tools share."""

from __future__ import annotations

import pytest

from deepcritical_mcp.tools.arguments.params import evidence_id


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("pubmed:31978945", "pubmed:31978945"),
        ("31978945", "pubmed:31978945"),
        ("PMID: 31978945", "pubmed:31978945"),
        ("https://doi.org/10.1000/ABC", "doi:10.1000/abc"),
        ("doi:10.1000/abc", "doi:10.1000/abc"),
        ("doi:10.1000/abc#0123456789ab", "doi:10.1000/abc#0123456789ab"),
        (" url:0123456789abcdef0123 ", "url:0123456789abcdef0123"),
        ("text:0123456789abcdef0123", "text:0123456789abcdef0123"),
        ("NCT00000009", "nct:NCT00000009"),
        ("nct:nct00000009", "nct:NCT00000009"),
        ("ISRCTN12345678", "nct:ISRCTN12345678"),
        ("something else", "something else"),
    ],
)
def test_a_number_stands_for_the_id_of_its_evidence(written: str, meant: str) -> None:
    assert evidence_id(written) == meant
