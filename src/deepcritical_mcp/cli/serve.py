"""Starting the server from the environment's settings."""

from __future__ import annotations

import logging
from typing import NoReturn

from deepcritical_mcp.config import Settings, load_settings, unknown_variables
from deepcritical_mcp.logs import configure_logging
from deepcritical_mcp.server import create_server
from deepcritical_mcp.tools import Profile
from deepcritical_mcp.transports.stdio import run_stdio

logger = logging.getLogger(__name__)


def serve_stdio(profile: Profile = "research") -> NoReturn:
    """Serve one client over stdin and stdout until it disconnects."""
    server = create_server(server_settings(), profile=profile, warm_up=True)
    run_stdio(server, server.app)


def server_settings() -> Settings:
    """The environment's settings; sets up logging, and logs a warning for each mistyped setting.

    Raises:
        ConfigurationError: a setting is invalid.
    """
    settings = load_settings()
    configure_logging(settings.log_level, settings.secrets)
    for name, nearest in unknown_variables().items():
        logger.warning("%s is not a setting; did you mean %s?", name, nearest)
    return settings
