"""`python -m deepcritical_mcp`."""

from deepcritical_mcp.cli import main

main()
