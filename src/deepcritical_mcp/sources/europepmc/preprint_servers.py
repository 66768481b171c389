"""Preprint servers under the names by which Europe PMC knows them, and how people write these."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.text import clean_line

MAX_NAME = 80
SERVERS: dict[str, tuple[str, ...]] = {
    "bioRxiv": ("biorxiv",),
    "medRxiv": ("medrxiv",),
    "Research Square": ("researchsquare", "rs", "ressq"),
    "Preprints.org": ("preprintsorg", "preprints", "mdpi", "mdpipreprints"),
    "SSRN": ("ssrn", "socialscienceresearchnetwork", "lancetpreprints", "preprintswiththelancet"),
    "arXiv": ("arxiv",),
    "ChemRxiv": ("chemrxiv",),
    "PsyArXiv": ("psyarxiv", "psyrxiv"),
    "Authorea": ("authorea", "authoreapreprints"),
    "SciELO Preprints": ("scielo", "scielopreprints"),
    "JMIR Preprints": ("jmir", "jmirpreprints"),
    "PeerJ Preprints": ("peerj", "peerjpreprints"),
    "F1000Research": ("f1000", "f1000research"),
    "Wellcome Open Research": ("wellcome", "wellcomeopenresearch", "wellcomeopenres"),
    "Gates Open Research": ("gates", "gatesopenresearch"),
    "NIHR Open Research": ("nihr", "nihropenresearch"),
    "HRB Open Research": ("hrb", "hrbopenresearch"),
    "MNI Open Research": ("mniopenresearch",),
    "AMRC Open Research": ("amrcopenresearch",),
    "AAS Open Research": ("aasopenresearch",),
    "Open Research Europe": ("openresearcheurope", "ore"),
    "Access Microbiology": ("accessmicrobiology",),
    "EcoEvoRxiv": ("ecoevorxiv",),
    "AfricArXiv": ("africarxiv",),
    "PaleorXiv": ("paleorxiv",),
    "Beilstein Archives": ("beilstein", "beilsteinarchives"),
    "ScienceOpen Preprints": ("scienceopen", "scienceopenpreprints"),
    "Qeios": ("qeios",),
}
"""Europe PMC's names of servers, each with others, in lower case without spaces and punctuation."""
_BY_NAME = {name: server for server, names in SERVERS.items() for name in names}
_AROUND = re.compile(r"^(?:https?(?:www)?)|(?:(?:preprint)?servers?|com|net|(?<!preprints)org)$")


def server_named(text: str) -> str:
    """Europe PMC's name of a server, from any spelling or its address; "" for one that is not in the table."""
    plain = re.sub(r"[^a-z0-9]", "", text[:MAX_NAME].casefold())
    bare = _AROUND.sub("", plain)
    return next((_BY_NAME[name] for name in (plain, bare, bare.removeprefix("www")) if name in _BY_NAME), "")


def servers_named(names: Sequence[str]) -> tuple[str, ...]:
    """Europe PMC's names of servers, each once; those that are not in the table as they are written.

    Raises:
        InvalidInputError: a name is probably a misspelling of one in the table, or too long.
    """
    found: dict[str, None] = {}
    for name in filter(None, map(clean_line, names)):
        known = server_named(name)
        near = [] if known else get_close_matches(name.casefold(), [one.casefold() for one in SERVERS], n=1, cutoff=0.8)
        if near:
            meant = next(one for one in SERVERS if one.casefold() == near[0])
            raise InvalidInputError(f'servers: Europe PMC has no "{name[:MAX_NAME]}". Did you mean {meant}?')
        if len(name) > MAX_NAME:
            raise InvalidInputError(f"servers: the name of a server has at most {MAX_NAME} characters.")
        found[known or name.replace('"', "").replace("\\", "")] = None
    return tuple(filter(None, found))
