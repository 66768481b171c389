"""deepcritical-mcp: PubMed, the web and an evidence store for any MCP client.

`server` offers `tools` and `prompts_and_resources` over `transports`; `cli` starts it; `context` builds the services
that it works with: `search`, `evidence`, `checking`. `config` has the settings, `errors` every error, `logs` the log;
`deadline` shares a call's time among its phases. `text` cleans what comes from outside, `excerpts` shortens it,
`identifiers`, `urls` and `dates` read what their names say; `memory` has caches of a bounded size, `data_files` reads
the tables and word lists that stand next to modules.
"""

from deepcritical_mcp._version import __version__

__all__ = ["__version__"]
