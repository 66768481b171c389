"""The commands, one function each."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from deepcritical_mcp._version import __version__
from deepcritical_mcp.cli import open_server, serve_stdio

app = typer.Typer(
    name="deepcritical-mcp",
    help="An MCP server for biomedical evidence. Without a command it serves over stdio, as MCP clients expect.",
    no_args_is_help=False,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"deepcritical-mcp {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Options before a command."""


@app.command()
def serve(
    transport: Annotated[Literal["stdio", "sse", "http"], typer.Option(help="How clients connect.")] = "stdio",
    host: Annotated[str, typer.Option(help="Interface to listen on (sse, http).")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on (sse, http); 0 = any free one.")] = 8000,
) -> None:
    """Serve MCP clients. Paths: /mcp (streamable HTTP) and /sse (older clients)."""
    if transport == "stdio":
        serve_stdio()
    else:
        from deepcritical_mcp.transports.http import run_http

        server = open_server()
        server.app.warm_up()
        run_http(server, server.app, transport, host=host, port=port)
