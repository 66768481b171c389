"""The commands, one function each.

Each imports what it needs in its body, so that no command waits for the libraries of another.
"""

from __future__ import annotations

import io
import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer import Argument, Option
from typer.core import TyperGroup

from deepcritical_mcp._version import __version__
from deepcritical_mcp.cli.clients import ClientName
from deepcritical_mcp.cli.command_failures import USAGE_ERROR, error_boundary
from deepcritical_mcp.cli.quick_start import import_sdk
from deepcritical_mcp.cli.serving import log_profile, serve_stdio, server_settings
from deepcritical_mcp.config import load_settings, plain_problem, unknown_variables
from deepcritical_mcp.data_files import data_table
from deepcritical_mcp.errors import DeepCriticalError
from deepcritical_mcp.text import counted

_HELP = data_table(__file__, "options.txt")


class _Commands(TyperGroup):
    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = plain_problem(error.message)
            raise


app = typer.Typer(
    cls=_Commands,
    name="deepcritical-mcp",
    help="An MCP server for biomedical evidence. Without a command, serves over stdio as MCP clients expect.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"deepcritical-mcp {__version__}")
        raise typer.Exit


def run_command(*, debug: bool) -> None:
    """Run the command in `sys.argv`; it finds `debug` as `ctx.obj`."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # for characters that the terminal cannot show
    app(prog_name="deepcritical-mcp", obj=debug)


@app.callback()
def options(
    ctx: typer.Context,
    version: Annotated[bool, Option("--version", callback=_version, is_eager=True, help=_HELP["all version"])] = False,
    debug: Annotated[bool, Option("--debug", help=_HELP["all debug"])] = False,
) -> None:
    """Options before a command; also warns about mistyped settings."""
    if ctx.invoked_subcommand != "serve":  # the server logs them
        for name, nearest in unknown_variables().items():
            typer.echo(f"deepcritical-mcp: {name} is not a setting; did you mean {nearest}?", err=True)


@app.command()
def serve(
    transport: Annotated[Literal["stdio", "sse", "http"], Option(help=_HELP["serve transport"])] = "stdio",
    host: Annotated[str, Option(help=_HELP["serve host"])] = "127.0.0.1",
    port: Annotated[int, Option(help=_HELP["serve port"], min=0, max=65535)] = 8000,
    profile: Annotated[
        Literal["research", "core", "search-fetch"] | None, Option(help=_HELP["serve profile"], show_default=False)
    ] = None,
    insecure: Annotated[bool, Option("--insecure", help=_HELP["serve insecure"])] = False,
) -> None:
    """Serve MCP clients: over stdio, or over HTTP on /mcp (streamable HTTP) and /sse (older clients)."""
    if transport == "stdio":
        serve_stdio(profile)
    else:
        import_sdk()
        from deepcritical_mcp.server import create_server
        from deepcritical_mcp.transports.http.calls import CallControl
        from deepcritical_mcp.transports.http.security import serves_one_user
        from deepcritical_mcp.transports.http.uvicorn_server import run_http

        settings = server_settings()
        log_profile(settings, profile)
        calls = CallControl(settings)
        finds = settings.is_authenticated or serves_one_user(settings, host, insecure=insecure)
        server = create_server(
            settings, profile=profile, admission=calls.admit, middleware=[calls.observe], finds_titles=finds
        )
        server.app.warm_up()
        run_http(server, server.app, calls, transport, host=host, port=port, insecure=insecure)


@app.command()
def demo(
    ctx: typer.Context,
    question: Annotated[str, Argument(help=_HELP["demo question"])] = "",
    offline: Annotated[bool, Option("--offline", help=_HELP["demo offline"])] = False,
) -> None:
    """Run an example research session: expand a question, search, keep evidence, find it again by meaning."""
    import anyio

    from deepcritical_mcp.cli.demo import play

    anyio.run(partial(play, question, offline=offline, debug=bool(ctx.obj)))


@app.command()
def doctor(as_json: Annotated[bool, Option("--json", help=_HELP["doctor json"])] = False) -> None:
    """Check every component and say how to fix problems; exit code 1 if the server cannot do its main job."""
    from deepcritical_mcp.cli.doctor_checks import examine

    if not examine(as_json=as_json):
        raise typer.Exit(1)


@app.command()
def install(
    client: Annotated[ClientName, Option(help=_HELP["install client"])],
    undo: Annotated[bool, Option("--undo", help=_HELP["install undo"])] = False,
    yes: Annotated[bool, Option("--yes", "-y", help=_HELP["install yes"])] = False,
    env: Annotated[list[str] | None, Option(help=_HELP["install env"])] = None,
) -> None:
    """Add this server to a client's configuration: shows the change, asks first, keeps a backup."""
    from deepcritical_mcp.cli.clients import install_server

    install_server(client, undo=undo, yes=yes, variables=env or [])


@app.command()
def check(
    ctx: typer.Context,
    files: Annotated[list[str], Argument(help=_HELP["check files"], show_default=False)],
    read: Annotated[bool, Option("--read", help=_HELP["check read"])] = False,
    accept: Annotated[list[str] | None, Option(help=_HELP["check accept"])] = None,
    as_json: Annotated[bool, Option("--json", help=_HELP["check json"])] = False,
) -> None:
    """Check a draft's references, quotations and claims against PubMed and Crossref. Keeps nothing of it.

    Exit code 0: nothing is wrong.

    Exit code 1: a reference is retracted or under concern, has a wrong identifier, differs from its record, is not
    found, or is ambiguous; a quotation is altered or misattributed; or an entry of a file cannot be read.

    Exit code 2: the draft cannot be read, or the command failed.

    Exit code 3: nothing is wrong so far, but a service was down. Run the check again.
    """
    with error_boundary(debug=bool(ctx.obj), failed=USAGE_ERROR):
        from deepcritical_mcp.cli.check import check_draft

        code = check_draft(files, accepted=accept or [], read=read, as_json=as_json)
    raise typer.Exit(code)


@app.command("import")
def import_files(
    files: Annotated[list[str], Argument(help=_HELP["import files"], show_default=False)],
    session: Annotated[str, Option("--session", "-s", help=_HELP["import session"], show_default=False)],
    tag: Annotated[list[str] | None, Option(help=_HELP["import tag"])] = None,
    as_json: Annotated[bool, Option("--json", help=_HELP["import json"])] = False,
) -> None:
    """Bring files of your own library into a session: exports of databases and reference managers, and documents.

    Exit code 0: everything was read.

    Exit code 1: something was not read, and is named.
    """
    import anyio

    from deepcritical_mcp.cli.session_commands import import_into

    if not anyio.run(partial(import_into, session, files, tag or [], as_json=as_json)):
        raise typer.Exit(1)


@app.command()
def refresh(
    ctx: typer.Context,
    session: Annotated[list[str] | None, Argument(help=_HELP["refresh session"])] = None,
    web: Annotated[bool, Option("--web", help=_HELP["refresh web"])] = False,
    as_json: Annotated[bool, Option("--json", help=_HELP["refresh json"])] = False,
) -> None:
    """Run a session's searches again, ask for the status of its records, and print what is new.

    Exit code 0: nothing is new.

    Exit code 1: something is new: a record, a retraction, a correction, a published preprint, a trial's status.

    Exit code 2: a session is unknown or cannot be read, or the command failed.

    Exit code 3: nothing is new so far, but a service was down, there was no time for everything, or another program
    has locked a session. Run it again.
    """
    with error_boundary(debug=bool(ctx.obj), failed=USAGE_ERROR):
        import anyio

        from deepcritical_mcp.cli.session_commands import refresh_sessions

        code = anyio.run(partial(refresh_sessions, session or [], web=web, as_json=as_json))
    raise typer.Exit(code)


@app.command()
def report(
    source: Annotated[str, Argument(help=_HELP["report source"], show_default=False)],
    output: Annotated[Path, Option("--output", "-o", help=_HELP["report output"])] = Path("report.html"),
    title: Annotated[str, Option(help=_HELP["report title"], show_default=False)] = "",
) -> None:
    """Write a session's evidence as a single HTML page that opens in any browser, offline."""
    import anyio

    from deepcritical_mcp.cli.session_commands import write_report

    count, remarks = anyio.run(partial(write_report, source, output, title=title))
    for remark in remarks:
        typer.echo(f"Note: {remark}", err=True)
    typer.echo(f"{counted(count, 'item')} of evidence written to {output}")


cache = typer.Typer(help="Cached web results, used when all providers fail.", no_args_is_help=True)
app.add_typer(cache, name="cache")


@cache.command()
def clear() -> None:
    """Delete all cached web results."""
    from deepcritical_mcp.sources.web.earlier_results import clear_web_cache

    removed = clear_web_cache(load_settings().cache_dir)
    if removed is None:
        raise DeepCriticalError("Nothing was deleted: the file of the cached web results cannot be written now.")
    typer.echo(f"Deleted {counted(removed, 'cached search', 'cached searches')}.")


sessions = typer.Typer(
    help="The sessions that the server on stdio keeps: list (default), export, delete, undo.",
    invoke_without_command=True,
)
app.add_typer(sessions, name="sessions")
_AsJson = Annotated[bool, Option("--json", help=_HELP["sessions json"])]


@sessions.callback()
def list_by_default(ctx: typer.Context, as_json: _AsJson = False) -> None:
    """Without a subcommand, list them."""
    if ctx.invoked_subcommand is None:
        list_kept(as_json=as_json)


@sessions.command("list")
def list_kept(as_json: _AsJson = False) -> None:
    """List the sessions, the last used first."""
    import anyio

    from deepcritical_mcp.cli.session_commands import show_sessions

    anyio.run(partial(show_sessions, as_json=as_json))


@sessions.command("export")
def export_kept(
    session: Annotated[str, Argument(help=_HELP["export session"], show_default=False)],
    format: Annotated[str, Option(help=_HELP["export format"])] = "jsonl",
    output: Annotated[Path | None, Option("--output", "-o", help=_HELP["export output"], show_default=False)] = None,
    force: Annotated[bool, Option("--force", help=_HELP["export force"])] = False,
    style: Annotated[str, Option(help=_HELP["export style"])] = "",
    form: Annotated[str, Option("--as", help=_HELP["export as"])] = "",
    marked: Annotated[str, Option(help=_HELP["export marked"])] = "",
    abstracts: Annotated[bool, Option("--abstracts", help=_HELP["export abstracts"])] = False,
) -> None:
    """Write a session to a file: its records, bibliography, search log or study table, or a backup of all of it."""
    import anyio

    from deepcritical_mcp.cli.session_commands import export_session

    asked = {"style": style, "output": form, "marked": marked, "abstracts": abstracts}
    anyio.run(partial(export_session, session, format, output, asked, force=force))


@sessions.command("delete")
def delete_kept(
    session: Annotated[list[str], Argument(help=_HELP["delete sessions"], show_default=False)],
    yes: Annotated[bool, Option("--yes", "-y", help=_HELP["delete yes"])] = False,
    now: Annotated[bool, Option("--now", help=_HELP["delete now"])] = False,
) -> None:
    """Delete sessions with all their evidence."""
    import anyio

    from deepcritical_mcp.cli.session_commands import delete_sessions

    anyio.run(partial(delete_sessions, session, yes=yes, now=now))


@sessions.command("undo")
def undo_deletion(session_id: Annotated[str, Argument(help=_HELP["undo session"], show_default=False)]) -> None:
    """Take back the deletion of a session, within a day."""
    import anyio

    from deepcritical_mcp.cli.session_commands import restore_session

    anyio.run(restore_session, session_id)
