"""The console command `deepcritical-mcp`."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

from deepcritical_mcp.cli.boundary import error_boundary

if TYPE_CHECKING:
    from deepcritical_mcp.server import DeepCriticalServer
    from deepcritical_mcp.tools import Profile


def main() -> None:
    """Serve over stdio when called without arguments, as clients do; else read the command line.

    `--debug`, anywhere in it, shows the traceback of a failure.
    """
    debug = "--debug" in sys.argv[1:]
    sys.argv[1:] = [word for word in sys.argv[1:] if word != "--debug"]
    with error_boundary(debug=debug):
        if len(sys.argv) == 1:
            serve_stdio()  # spares clients the import of the command line's library
        else:
            from deepcritical_mcp.cli.app import run_command

            run_command(debug=debug)


def serve_stdio(profile: Profile = "research") -> None:
    """Serve one client over stdin and stdout until it leaves."""
    from deepcritical_mcp.transports.stdio import run_stdio

    server = open_server(profile)
    server.warm_up_after_greeting()
    run_stdio(server, server.app)


def open_server(profile: Profile = "research") -> DeepCriticalServer:
    """The server over the environment's settings, with logging set up and mistyped settings named in the log.

    Raises:
        ConfigurationError: a setting cannot be used.
    """
    from deepcritical_mcp.config import load_settings, unknown_variables
    from deepcritical_mcp.logs import configure_logging
    from deepcritical_mcp.server import create_server

    settings = load_settings()
    configure_logging(settings.log_level, settings.secrets)
    for name, nearest in unknown_variables().items():
        logging.getLogger(__name__).warning("%s is not a setting; did you mean %s?", name, nearest)
    return create_server(settings, profile=profile)
