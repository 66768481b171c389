"""The console command `deepcritical-mcp`.

`app` names the commands, `serving` starts the server (`quick_start`), `command_failures` ends each with a sentence.
`check`, `doctor_checks` and `clients` (`install`) are a command each, `session_commands` those over kept sessions;
`demo` runs over the sample library: `sample_library`, `sample_sources`. `options.txt` has what options are for.
"""

from __future__ import annotations

import gc
import sys

from deepcritical_mcp.cli.command_failures import error_boundary


# Imports are in the functions: clients need not wait for typer, nor the other commands for the server.
def main() -> None:
    """Serve over stdio if called without arguments, as clients do; otherwise run the command line.

    `--debug`, anywhere on the command line, shows the traceback of a failure.
    """
    gc.set_threshold(50_000)  # imports leave no garbage, and scanning them took a tenth of the start-up time
    debug = "--debug" in sys.argv[1:]
    sys.argv[1:] = [word for word in sys.argv[1:] if word != "--debug"]
    with error_boundary(debug=debug):
        if len(sys.argv) == 1:
            from deepcritical_mcp.cli.serving import serve_stdio

            serve_stdio()
        else:
            from deepcritical_mcp.cli.app import run_command

            run_command(debug=debug)
