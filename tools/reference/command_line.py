"""The command line, as its own help tells it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer
from typer.testing import CliRunner

from hindsight_bus.cli.app import app

_WIDTH = "100"

_HEAD = """# Command line

`hbus` exits with 0 when it is done, 1 when it failed, 2 when it was used wrongly. `--json` makes a command talk to
programs; what is said to people beside the answer goes to stderr.

"""


def page() -> str:
    """Return the page."""
    runner = CliRunner()
    lines: list[str] = []
    for path in _paths(typer.main.get_command(app), ()):
        shown = runner.invoke(app, [*path, "--help"], env={"COLUMNS": _WIDTH}, prog_name="hbus")
        assert shown.exit_code == 0, shown.output
        text = "\n".join(line.rstrip() for line in shown.stdout.strip().splitlines())
        lines += [f"## {' '.join(('hbus', *path))}", "", "```text", text, "```", ""]
    return _HEAD + "\n".join(lines)


def _paths(command: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield a command and those below it."""
    yield path
    for name, child in getattr(command, "commands", {}).items():
        yield from _paths(child, (*path, name))
