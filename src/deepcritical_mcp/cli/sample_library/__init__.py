"""A small library of made-up records, served on loopback in the wire formats of E-utilities and DuckDuckGo.

It lets the demo play without a network. Nothing in it is evidence: every title ends in "[sample data]", every record
names `JOURNAL` as its journal, PMIDs lie far above those that PubMed gives out, DOIs bear a prefix that is reserved for
examples, and web addresses end in ".example", which no network resolves.
"""

from deepcritical_mcp.cli.sample_library.server import SampleLibrary

__all__ = ["SampleLibrary"]
