"""Telling a host of the shim: its configuration file, changed in one entry and nowhere else."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

NAME = "hindsight-bus"
"""What hosts call the shim."""


class Host(StrEnum):
    """A program that speaks the Model Context Protocol."""

    CLAUDE = "claude"
    CURSOR = "cursor"
    CODEX = "codex"
    VSCODE = "vscode"
    DIFY = "dify"


class CannotEdit(Exception):
    """The file is better changed by hand."""


@dataclass(frozen=True, slots=True)
class Command:
    """How a host starts the shim."""

    program: str
    """Absolute path: hosts started from a desktop have another PATH."""
    arguments: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Change:
    """What became of a configuration file."""

    path: Path
    is_changed: bool
    backup: Path | None = None
    """The file as it was; None where there was none."""


def config_path(host: Host) -> Path | None:
    """Return where a host keeps its configuration on this system; None where it has no file."""
    home = Path.home()
    match host:
        case Host.CLAUDE:
            return _programs() / "Claude" / "claude_desktop_config.json"
        case Host.CURSOR:
            return home / ".cursor" / "mcp.json"
        case Host.VSCODE:
            return _programs() / "Code" / "User" / "mcp.json"
        case Host.CODEX:
            return Path(os.environ.get("CODEX_HOME") or home / ".codex") / "config.toml"
        case Host.DIFY:
            return None


def _programs() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    if sys.platform == "win32":
        return Path(os.environ["APPDATA"])
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")


def snippet(host: Host, command: Command) -> str:
    """Return the entry as it stands in the host's configuration."""
    if host is Host.CODEX:
        return _toml(command)
    return json.dumps({_table(host): {NAME: _entry(host, command)}}, ensure_ascii=False, indent=2) + "\n"


def install(host: Host, command: Command, path: Path) -> Change:
    """Put the entry into a configuration file, keeping every other one and the file as it was beside it.

    Raises ``CannotEdit`` where the file does not have the form that is expected.
    """
    path = path.resolve()
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    new = _with_toml(old, command) if host is Host.CODEX else _with_json(old, host, command)
    if new == old:
        return Change(path, is_changed=False)
    backup = _backup(path) if path.exists() else None
    _replace(path, new)
    return Change(path, is_changed=True, backup=backup)


def _table(host: Host) -> str:
    return "servers" if host is Host.VSCODE else "mcpServers"


def _entry(host: Host, command: Command) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": "stdio"} if host is Host.VSCODE else {}
    entry |= {"command": command.program, "args": list(command.arguments)}
    return entry | ({"env": dict(command.environment)} if command.environment else {})


def _with_json(old: str, host: Host, command: Command) -> str:
    try:
        config = json.loads(old) if old.strip() else {}
    except ValueError as error:
        raise CannotEdit(f"it is no plain JSON ({error})") from error
    table = config.setdefault(_table(host), {}) if isinstance(config, dict) else None
    if not isinstance(table, dict):
        raise CannotEdit(f"it has no object {_table(host)}")
    entry = _entry(host, command)
    if table.get(NAME) == entry:
        return old
    table[NAME] = entry
    return json.dumps(config, ensure_ascii=False, indent=2) + "\n"


def _with_toml(old: str, command: Command) -> str:
    """Append the table: nothing here can write TOML and keep what people wrote."""
    before = _parsed(old)
    entry = _parsed(_toml(command))["mcp_servers"][NAME]
    present = before.get("mcp_servers", {}).get(NAME)
    if present == entry:
        return old
    if present is not None:
        raise CannotEdit(f"it has another table [mcp_servers.{NAME}]: remove that first")
    new = f"{old.rstrip()}\n\n{_toml(command)}".lstrip()
    _parsed(new)
    return new


def _parsed(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CannotEdit(f"it cannot be extended ({error})") from error


def _toml(command: Command) -> str:
    arguments = ", ".join(map(_quoted, command.arguments))
    lines = [f"[mcp_servers.{NAME}]", f"command = {_quoted(command.program)}", f"args = [{arguments}]"]
    if command.environment:
        lines += ["", f"[mcp_servers.{NAME}.env]"]
        lines += [f"{name} = {_quoted(value)}" for name, value in command.environment.items()]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _backup(path: Path) -> Path:
    number = 1
    while (backup := path.with_name(f"{path.name}.{number}.bak")).exists():
        number += 1
    shutil.copy2(path, backup)
    return backup


def _replace(path: Path, text: str) -> None:
    """Write a whole file at once; a new one is for its owner alone, for it may hold a key."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    if path.exists():
        shutil.copymode(path, temporary)
    Path(temporary).replace(path)
