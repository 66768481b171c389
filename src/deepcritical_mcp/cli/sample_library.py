"""The server over a small library of made-up records, for trying it without a network.

`python -m deepcritical_mcp.cli.sample_library` serves it over stdio.
"""

from __future__ import annotations

from functools import partial

from deepcritical_mcp.cli.command_failures import error_boundary
from deepcritical_mcp.config import Settings
from deepcritical_mcp.context import AppContext, build_services
from deepcritical_mcp.logs import configure_logging
from deepcritical_mcp.server import DeepCriticalServer
from deepcritical_mcp.sources import SourceRow
from deepcritical_mcp.transports.stdio import run_stdio

_KINDS = ("Articles", "Preprints", "Trials", "Pages", "Papers")
*SAMPLE_SOURCES, SAMPLE_PAPERS = (SourceRow(f"deepcritical_mcp.cli.sample_sources:Sample{kind}") for kind in _KINDS)


def sample_server(*, warm_up: bool = False) -> DeepCriticalServer:
    """The server over the sample library; close `server.app` when done. `warm_up`: see `create_server`.

    It makes no network requests, keeps nothing on disk and ignores the environment's settings.
    """
    settings = Settings(_env_prefix="DEEPCRITICAL_SAMPLE_LIBRARY_")
    build = partial(build_services, sources=SAMPLE_SOURCES, full_texts=(SAMPLE_PAPERS,), lookups=SAMPLE_SOURCES[:1])
    return DeepCriticalServer(AppContext(settings, build=build), warm_up=warm_up)


if __name__ == "__main__":
    with error_boundary(debug=False):
        server = sample_server(warm_up=True)
        configure_logging(server.app.settings.log_level)
        run_stdio(server, server.app)
