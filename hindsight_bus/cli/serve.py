"""``hbus serve``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def serve(
    data_dir: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Where the embedded store keeps its data. [~/.local/share/hindsight-bus]"
        ),
    ] = None,
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

    asked = {
        "data_dir": data_dir,
        "listen": listen,
        "metrics_port": metrics_port,
        "insecure": insecure or None,
    }
    given = {name: value for name, value in asked.items() if value is not None}
    raise typer.Exit(run(welcome=True, **given))
