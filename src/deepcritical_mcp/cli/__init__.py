"""The console command `deepcritical-mcp`."""

from __future__ import annotations

import sys

from deepcritical_mcp.errors import ConfigurationError


def main() -> None:
    """Serve over stdio when called without arguments, as clients do; else read the command line."""
    try:
        if len(sys.argv) == 1:
            serve_stdio()  # spares clients the import of the command line's library
        else:
            from deepcritical_mcp.cli.app import app

            app(prog_name="deepcritical-mcp")
    except ConfigurationError as error:
        sys.exit(f"deepcritical-mcp: {error.message}")


def serve_stdio() -> None:
    """Serve one client over stdin and stdout until it leaves."""
    from deepcritical_mcp.server import create_server
    from deepcritical_mcp.transports.stdio import run_stdio

    server = create_server()
    server.warm_up_after_greeting()
    run_stdio(server, server.app)
