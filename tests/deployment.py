"""What ``deploy/`` says, as Docker Compose reads it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

DEPLOY = Path(__file__).parents[1] / "deploy"
COMPOSE = DEPLOY / "docker-compose.yml"
NODES = ("hbus", "memory", "bus", "reflection")
"""Services that serve ``hbus.v1``."""

_VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")


def variables() -> dict[str, str | None]:
    """Return the variables that the compose file takes, with their defaults; ``None`` = it has none."""
    return {match[1]: match[2] for match in _VARIABLE.finditer(COMPOSE.read_text())}


def compose(**given: str) -> dict[str, Any]:
    """Return the compose file with its variables filled in: those ``given``, the defaults else."""

    def filled(node: Any) -> Any:
        if isinstance(node, str):
            return _VARIABLE.sub(lambda match: given.get(match[1], match[2] or ""), node)
        if isinstance(node, list):
            return [filled(each) for each in node]
        return {key: filled(each) for key, each in node.items()} if isinstance(node, dict) else node

    return dict(filled(yaml.safe_load(COMPOSE.read_text())))


def service(name: str, **given: str) -> dict[str, Any]:
    """Return one service of the compose file."""
    return dict(compose(**given)["services"][name])


def read(path: str) -> Any:
    """Return a YAML file of ``deploy/``."""
    return yaml.safe_load((DEPLOY / path).read_text())


def example() -> Mapping[str, str]:
    """Return what ``.env.example`` sets."""
    lines = (DEPLOY / ".env.example").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
