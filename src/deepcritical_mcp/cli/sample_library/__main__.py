"""`python -m deepcritical_mcp.cli.sample_library`: the sample library's server over stdio."""

from __future__ import annotations

from deepcritical_mcp.cli.boundary import error_boundary
from deepcritical_mcp.cli.sample_library import sample_server
from deepcritical_mcp.logs import configure_logging
from deepcritical_mcp.transports.stdio import run_stdio


def main() -> None:
    """Serve one client over stdin and stdout until it disconnects."""
    server = sample_server(warm_up=True)
    configure_logging(server.app.settings.log_level)
    run_stdio(server, server.app)


if __name__ == "__main__":
    with error_boundary(debug=False):
        main()
