"""Starts the server, as clients do without arguments, and the commands that need its settings."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NoReturn

from deepcritical_mcp.cli.quick_start import import_sdk
from deepcritical_mcp.config import Settings, load_settings, unknown_variables, variable_name
from deepcritical_mcp.logs import configure_logging
from deepcritical_mcp.transports.opening import answer_opening

if TYPE_CHECKING:
    from deepcritical_mcp.tools import Profile

logger = logging.getLogger(__name__)


def serve_stdio(profile: Profile | None = None) -> NoReturn:
    """Serve one client over stdin and stdout until it disconnects; its sessions are kept."""
    settings = server_settings().kept_for_user()
    log_profile(settings, profile)
    offers_all = not (settings.tools or settings.off) and profile in (None, "research")
    given = answer_opening() if offers_all else {}
    import_sdk()
    from deepcritical_mcp.server import create_server
    from deepcritical_mcp.transports.stdio import run_stdio

    server = create_server(settings, profile=profile, warm_up=True)
    server.answers_given = given
    run_stdio(server, server.app)


def log_profile(settings: Settings, profile: Profile | None) -> None:
    """Log which of two choices of tools counts."""
    if profile and settings.tools:
        logger.warning(
            "--profile %s decides which tools are offered; %s is not heeded", profile, variable_name("tools")
        )


def server_settings() -> Settings:
    """The environment's settings; sets up logging, and logs a warning for each mistyped setting."""
    settings = load_settings()
    configure_logging(settings.log_level, settings.secrets)
    for name, nearest in unknown_variables().items():
        logger.warning("%s is not a setting; did you mean %s?", name, nearest)
    return settings
