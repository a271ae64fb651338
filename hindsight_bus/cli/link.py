"""How a command reaches the server, and what it says when that fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, NoReturn, TypeVar

import typer

if TYPE_CHECKING:
    import hbus

C = TypeVar("C")

DEFAULT_TARGET = "127.0.0.1:50051"

Target = Annotated[
    str,
    typer.Option(
        "--target", envvar="HBUS_TARGET", metavar="HOST:PORT", help="The server; https://... means TLS."
    ),
]
Agent = Annotated[
    str, typer.Option("--agent", envvar="HBUS_AGENT", metavar="NAME", help="The agent to act as.")
]
ApiKey = Annotated[
    str,
    typer.Option(
        "--api-key",
        envvar="HBUS_API_KEY",
        metavar="KEY",
        show_default=False,
        help="Where the server wants one.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")]


def fail(message: str) -> NoReturn:
    """Say on stderr what went wrong, and exit with 1."""
    typer.echo(f"hbus: {message}", err=True)
    raise typer.Exit(1)


@contextmanager
def dial(target: str, agent: str, api_key: str) -> Iterator[hbus.Client]:
    """Yield a client; whatever error it raises ends the command with one line on stderr."""
    import hbus

    client = usable(lambda: hbus.connect(target, agent=agent, api_key=api_key, backoff=patience()))
    with reporting(target), client as bus:
        yield bus


def usable(connect: Callable[[], C]) -> C:
    """Return the client made; a malformed target, agent or key is a usage error."""
    try:
        return connect()
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def patience() -> hbus.Backoff:
    """Return how often a person at the terminal wants a call retried: briefly."""
    import hbus

    return hbus.Backoff(attempts=4)


@contextmanager
def reporting(target: str) -> Iterator[None]:
    """End the command with one line on stderr when a call fails."""
    import hbus

    try:
        yield
    except hbus.HbusError as error:
        fail(explain(error, target))


def explain(error: hbus.HbusError, target: str) -> str:
    """Return one line that names what failed, the field at fault and the reason."""
    from hbus import errors

    if isinstance(error, errors.Unavailable) and not error.reason:
        return f"no server answers at {target}: start one with `hbus serve`, or name it with --target"
    message = " ".join(error.message.split())
    if error.field and error.field not in message:
        message = f"{error.field}: {message}"
    return f"{message} ({error.reason or error.code.name})"
