"""``hbus health`` and ``hbus doctor``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from hindsight_bus.cli import output
from hindsight_bus.cli.link import DEFAULT_TARGET, Agent, ApiKey, Json, Target, dial, usable

if TYPE_CHECKING:
    from hindsight_bus.cli.checks import Check


def health(target: Target = DEFAULT_TARGET, api_key: ApiKey = "", as_json: Json = False) -> None:
    """Ask whether the server is ready.

    Exits with 1 unless it is.
    """
    from hbus.endpoint import Endpoint
    from hindsight_bus.cli.checks import health_status

    endpoint = usable(lambda: Endpoint.of(target, api_key=api_key))
    statuses = {"live": health_status(endpoint, "live"), "ready": health_status(endpoint, "")}
    if as_json:
        output.emit(statuses)
    else:
        for name, status in statuses.items():
            typer.echo(f"{name:<6} {status}")
    if statuses["ready"] != "SERVING":
        raise typer.Exit(1)


def doctor(
    target: Target = DEFAULT_TARGET,
    agent: Agent = "cli",
    api_key: ApiKey = "",
    mcp: Annotated[bool, typer.Option("--mcp", help="Check the way of an MCP host instead.")] = False,
    as_json: Json = False,
) -> None:
    """Check that everything works.

    Says what to do where something does not, and exits with 1 on a failure.
    """
    checks = _of_host(target, api_key) if mcp else _of_server(target, agent, api_key)
    failed = False
    for check in checks:
        failed = failed or check.verdict == "fail"
        if as_json:
            output.emit(check.as_dict())
        else:
            typer.echo(str(check))
    if failed:
        raise typer.Exit(1)


def _of_server(target: str, agent: str, api_key: str) -> Iterator[Check]:
    from hindsight_bus.cli.checks import examine

    with dial(target, agent, api_key) as bus:
        yield from examine(bus)


def _of_host(target: str, api_key: str) -> list[Check]:
    import asyncio

    from hindsight_bus.cli.mcp import require_sdk

    require_sdk()
    from hindsight_bus.cli.mcp_checks import examine

    return asyncio.run(examine(target, api_key))
