"""A small library of made-up records for trying the server without a network.

Nothing in it is evidence: every title ends in "[sample data]", every record names `JOURNAL` as its journal, PMIDs lie
far above those that PubMed assigns, DOIs have a prefix that is reserved for examples, and web addresses end in
".example", which no network resolves.
"""

from __future__ import annotations

from functools import partial

from deepcritical_mcp.config import Settings
from deepcritical_mcp.context import AppContext, build_services
from deepcritical_mcp.server import DeepCriticalServer
from deepcritical_mcp.sources import SourceRow

SAMPLE_SOURCES = (
    SourceRow("deepcritical_mcp.cli.sample_library.sample_sources:SampleArticles"),
    SourceRow("deepcritical_mcp.cli.sample_library.sample_sources:SamplePages"),
)


def sample_server(*, warm_up: bool = False) -> DeepCriticalServer:
    """The server over the sample library; close `server.app` when done. `warm_up`: see `create_server`.

    It asks no network, keeps nothing on disk and ignores the environment's settings.
    """
    settings = Settings(_env_prefix="DEEPCRITICAL_SAMPLE_LIBRARY_")
    app = AppContext(settings, build=partial(build_services, sources=SAMPLE_SOURCES))
    return DeepCriticalServer(app, warm_up=warm_up)
