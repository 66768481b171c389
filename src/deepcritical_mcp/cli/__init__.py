"""The console command `deepcritical-mcp`."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, NoReturn

from deepcritical_mcp.cli.boundary import error_boundary

if TYPE_CHECKING:
    from deepcritical_mcp.config import Settings
    from deepcritical_mcp.tools import Profile

logger = logging.getLogger(__name__)


# Imports are in the functions: clients need not wait for typer, nor the other commands for the server.
def main() -> None:
    """Serve over stdio if called without arguments, as clients do; otherwise run the command line.

    `--debug`, anywhere on the command line, shows the traceback of a failure.
    """
    debug = "--debug" in sys.argv[1:]
    sys.argv[1:] = [word for word in sys.argv[1:] if word != "--debug"]
    with error_boundary(debug=debug):
        if len(sys.argv) == 1:
            serve_stdio()
        else:
            from deepcritical_mcp.cli.app import run_command

            run_command(debug=debug)


def serve_stdio(profile: Profile = "research") -> NoReturn:
    """Serve one client over stdin and stdout until it disconnects."""
    from deepcritical_mcp.server import create_server
    from deepcritical_mcp.transports.stdio import run_stdio

    server = create_server(server_settings(), profile=profile, warm_up=True)
    run_stdio(server, server.app)


def server_settings() -> Settings:
    """The environment's settings; sets up logging, and logs a warning for each mistyped setting.

    Raises:
        ConfigurationError: a setting is invalid.
    """
    from deepcritical_mcp.config import load_settings, unknown_variables
    from deepcritical_mcp.logs import configure_logging

    settings = load_settings()
    configure_logging(settings.log_level, settings.secrets)
    for name, nearest in unknown_variables().items():
        logger.warning("%s is not a setting; did you mean %s?", name, nearest)
    return settings
