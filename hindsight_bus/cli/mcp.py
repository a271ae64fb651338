"""``hbus mcp`` and ``hbus mcp install``: the memory for hosts that speak the Model Context Protocol."""

from __future__ import annotations

import logging
import shlex
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hindsight_bus import __version__
from hindsight_bus.cli import output
from hindsight_bus.cli.link import DEFAULT_TARGET, ApiKey, Target, fail
from services.mcp import hosts
from services.mcp.hosts import Host

if TYPE_CHECKING:
    from services.mcp.launch import Launch
    from services.mcp.strict import ObjectServer

DEFAULT_LISTEN = "127.0.0.1:8765"

app = typer.Typer(invoke_without_command=True, rich_markup_mode=None)

User = Annotated[
    str,
    typer.Option("--user", envvar="HBUS_USER", metavar="ID", help="The user whose agents share the memory."),
]
Agent = Annotated[
    str, typer.Option("--agent", envvar="HBUS_AGENT", metavar="NAME", help="The agent that the host acts as.")
]
Tools = Annotated[
    str, typer.Option(metavar="LIST", help="all, default, typed, connector, or names of tools, with commas.")
]


@app.callback()
def mcp(
    context: typer.Context,
    user: User = "",
    agent: Agent = "",
    target: Target = DEFAULT_TARGET,
    api_key: ApiKey = "",
    tools: Tools = "default",
    http: Annotated[
        bool, typer.Option("--http", help="Serve Streamable HTTP at /mcp instead of stdio.")
    ] = False,
    sse: Annotated[bool, typer.Option("--sse", help="Serve /sse too, for old hosts; with --http.")] = False,
    listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Where to listen with --http.")
    ] = DEFAULT_LISTEN,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Take requests for this Host name too; may be repeated."),
    ] = None,
    insecure: Annotated[
        bool,
        typer.Option("--insecure", help="Listen to other machines although nothing tells callers apart."),
    ] = False,
    max_tokens: Annotated[int, typer.Option(metavar="N", help="Room for the memories of one answer.")] = 4000,
    log_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Log there instead of stderr.")
    ] = None,
) -> None:
    """Serve memory to an MCP host over stdin and stdout, or over HTTP.

    User, agent and key are fixed here: no tool takes them.
    """
    if context.invoked_subcommand:
        return
    require_sdk()
    log_to(log_file)
    launch = launch_for(target, user, agent, api_key, tools, max_tokens)
    if http:
        serve_http(launch, listen, tuple(allow_host or ()), sse=sse, insecure=insecure)
    else:
        serve_stdio(launch)


@app.command()
def install(
    host: Annotated[Host, typer.Option(help="Whose configuration to change.")],
    user: User,
    agent: Agent = "",
    target: Target = DEFAULT_TARGET,
    api_key: ApiKey = "",
    tools: Tools = "default",
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The configuration, where it is not in its usual place."),
    ] = None,
    only_print: Annotated[bool, typer.Option("--print", help="Print the entry and change nothing.")] = False,
) -> None:
    """Enter the shim in a host's configuration, or print what to enter.

    Other entries stay as they are, and the file as it was is kept beside it.
    """
    launch = launch_for(target, user, agent or host.value, api_key, tools)
    path = config or hosts.config_path(host)
    if path is None:
        _explain_http(launch, tools)
        return
    command = _command(launch, tools)
    if only_print:
        typer.echo(hosts.snippet(host, command), nl=False)
        return
    try:
        change = hosts.install(host, command, path)
    except (hosts.CannotEdit, OSError) as error:
        fail(f"{path}: {error}; enter this by hand:\n{hosts.snippet(host, command)}")
    _report(change, host)


def _command(launch: Launch, tools: str) -> hosts.Command:
    script = Path(sysconfig.get_path("scripts")) / "hbus"
    main = ("-c", "from hindsight_bus.cli import main; main()")
    program, first = (str(script), ()) if script.exists() else (sys.executable, main)
    return hosts.Command(
        program,
        (*first, *_arguments(launch, tools)),
        {"HBUS_API_KEY": launch.api_key} if launch.api_key else {},
    )


def _arguments(launch: Launch, tools: str) -> tuple[str, ...]:
    whom = ("--user", launch.identity.user, "--agent", launch.identity.agent)
    return ("mcp", "--target", launch.target, *whom, "--tools", tools)


def _explain_http(launch: Launch, tools: str) -> None:
    """Say what to do for a host that takes a URL."""
    typer.echo(f"hbus {shlex.join(_arguments(launch, tools))} --http --listen {DEFAULT_LISTEN}")
    output.note(
        f"Start that beside the host, then add an MCP server of type HTTP with the URL http://{DEFAULT_LISTEN}/mcp. "
        "For a host in a container listen to its network (--insecure) and name yourself with --allow-host."
    )


def _report(change: hosts.Change, host: Host) -> None:
    if not change.is_changed:
        typer.echo(f"{change.path} has it already")
        return
    kept = f"; as it was: {change.backup}" if change.backup else ""
    typer.echo(f"entered in {change.path}{kept}")
    output.note(f"Start {host.value} again to have it read.")


def require_sdk() -> None:
    """End the command where the extra is not installed."""
    if find_spec("mcp") is None:
        fail("this needs the MCP SDK: pip install 'hindsight-bus[mcp]'")


def log_to(file: Path | None) -> None:
    """Send the log to a file or to stderr: stdout belongs to the protocol."""
    handler = logging.FileHandler(file, encoding="utf-8") if file else logging.StreamHandler(sys.stderr)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s", handlers=[handler]
    )


def launch_for(
    target: str, user: str, agent: str, api_key: str, tools: str, max_tokens: int = 4000
) -> Launch:
    """Return what to serve; a bad value is a usage error."""
    from services.mcp.identity import Identity
    from services.mcp.launch import Launch

    names = tuple(name.strip() for name in tools.split(",") if name.strip())
    try:
        return Launch(target, Identity(user, agent), api_key, names, max_tokens)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def serve_stdio(launch: Launch) -> None:
    """Serve until the host closes stdin."""
    from services.mcp.server import run_stdio

    run_stdio(_built(launch))


def serve_http(
    launch: Launch, listen: str, allowed_hosts: tuple[str, ...], *, sse: bool, insecure: bool
) -> None:
    """Serve until interrupted."""
    from hindsight_bus.transport.auth import UnsafeListen, require_safe_listen
    from services.mcp.launch import Listen
    from services.mcp.server import run_http

    host, _, port = listen.rpartition(":")
    if not (host and port.isdecimal()):
        raise typer.BadParameter("must have the form HOST:PORT", param_hint="--listen")
    try:
        require_safe_listen(listen, insecure=insecure)
    except UnsafeListen as error:
        fail(str(error))
    run_http(_built(launch), Listen(host.strip("[]"), int(port), allowed_hosts, sse))


def _built(launch: Launch) -> ObjectServer:
    from services.mcp.server import build
    from services.mcp.tools import UnknownTool

    try:
        return build(launch, __version__)
    except UnknownTool as error:
        raise typer.BadParameter(str(error), param_hint="--tools") from error
