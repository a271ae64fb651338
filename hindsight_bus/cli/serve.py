"""``hbus serve``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer


def default_data_dir() -> Path:
    """Return where a server keeps its data unless told otherwise (XDG Base Directory)."""
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "hindsight-bus"


def serve(
    data_dir: Annotated[
        Path,
        typer.Option(
            envvar="HBUS_DATA_DIR",
            metavar="DIR",
            default_factory=default_data_dir,
            show_default="~/.local/share/hindsight-bus",
            help="Where the embedded store keeps its data.",
        ),
    ],
    listen: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Where to listen; port 0 takes a free one. [127.0.0.1:50051]"),
    ] = None,
    metrics_port: Annotated[
        int | None, typer.Option(metavar="PORT", help="Serve Prometheus metrics here; none unless given.")
    ] = None,
    insecure: Annotated[
        bool,
        typer.Option("--insecure", help="Listen to other machines although nothing tells callers apart."),
    ] = False,
) -> None:
    """Serve until interrupted.

    Further settings come from the environment (HBUS_...).
    """
    from hindsight_bus.server import run

    asked = {"listen": listen, "metrics_port": metrics_port, "insecure": insecure or None}
    given = {name: value for name, value in asked.items() if value is not None}
    raise typer.Exit(run(welcome=True, data_dir=data_dir, **given))
