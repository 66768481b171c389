"""The commands, one function each."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from deepcritical_mcp._version import __version__
from deepcritical_mcp.cli import open_server, serve_stdio
from deepcritical_mcp.config import load_settings, unknown_variables

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


def run_command(*, debug: bool) -> None:
    """Run the command that the command line names; `debug` reaches it as its context's object."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a title must not fail on a terminal that lacks a letter
    app(prog_name="deepcritical-mcp", obj=debug)


@app.callback()
def options(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show where a failure came from (after a command too).")
    ] = False,
) -> None:
    """Options before a command."""
    if ctx.invoked_subcommand != "serve":  # the server names them in its log
        for name, nearest in unknown_variables().items():
            typer.echo(f"deepcritical-mcp: {name} is not a setting; did you mean {nearest}?", err=True)


@app.command()
def serve(
    transport: Annotated[Literal["stdio", "sse", "http"], typer.Option(help="How clients connect.")] = "stdio",
    host: Annotated[str, typer.Option(help="Interface to listen on (sse, http).")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="Port to listen on (sse, http); 0 = any free one.", min=0, max=65535)
    ] = 8000,
    profile: Annotated[
        Literal["research", "search-fetch"],
        typer.Option(help="All tools, or just search and fetch, for hosts that require these two."),
    ] = "research",
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Let other machines in without authentication (sse, http).")
    ] = False,
) -> None:
    """Serve MCP clients. Paths: /mcp (streamable HTTP) and /sse (older clients)."""
    if transport == "stdio":
        serve_stdio(profile)
    else:
        from deepcritical_mcp.transports.http.app import run_http

        server = open_server(profile)
        server.app.warm_up()
        run_http(server, server.app, transport, host=host, port=port, insecure=insecure)


@app.command()
def demo(
    ctx: typer.Context,
    question: Annotated[str, typer.Argument(help="What you want to know; an example without it.")] = "",
    offline: Annotated[bool, typer.Option("--offline", help="Use made-up sample data, ask nobody.")] = False,
) -> None:
    """Play a whole research session: question, literature, web, evidence by meaning, a note of your own."""
    from deepcritical_mcp.cli.demo import play

    play(question, offline=offline, debug=bool(ctx.obj))


@app.command()
def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="For programs: the same as JSON.")] = False,
) -> None:
    """Look at every part, say how to mend it; exit code 1 when the main job does not work."""
    from deepcritical_mcp.cli.doctor import examine

    if not examine(as_json=as_json):
        raise typer.Exit(1)


@app.command()
def install(
    client: Annotated[
        Literal["claude-desktop", "claude-code", "cursor", "vscode"], typer.Option(help="The client to connect.")
    ],
    undo: Annotated[bool, typer.Option("--undo", help="Take the server out again.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    env: Annotated[
        list[str] | None, typer.Option(help="A setting to write there too: NAME=VALUE, or NAME for its value here.")
    ] = None,
) -> None:
    """Write this server into a client's configuration: shows the change, asks, keeps a backup."""
    from deepcritical_mcp.cli.connect import connect

    connect(client, undo=undo, yes=yes, variables=env or [])


@app.command()
def report(
    source: Annotated[
        str,
        typer.Argument(help="A kept session (rs_…) or a JSON Lines export of one; - reads stdin.", show_default=False),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write.")] = Path("report.html"),
    title: Annotated[str, typer.Option(help="The page's title.")] = "Evidence report",
) -> None:
    """Write a session's evidence as one page that any browser opens, offline."""
    from deepcritical_mcp.cli.report import write_report

    count = write_report(source, output, title=title)
    typer.echo(f"{count:,} pieces of evidence written to {output}")


cache = typer.Typer(help="Web results kept on disk as a last resort.", no_args_is_help=True)
app.add_typer(cache, name="cache")


@cache.command()
def clear() -> None:
    """Forget all cached web results."""
    from deepcritical_mcp.sources.web.earlier_results import clear_web_cache

    removed = clear_web_cache(load_settings().cache_dir)
    typer.echo(f"{removed:,} cached answers removed")
