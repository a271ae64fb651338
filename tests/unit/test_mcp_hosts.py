"""The shim is entered in a host's configuration, and nothing else there changes."""

from __future__ import annotations

import json
import stat
import tomllib
from pathlib import Path

import pytest

from services.mcp.hosts import NAME, CannotEdit, Command, Host, config_path, install, snippet

COMMAND = Command("/opt/hbus/bin/hbus", ("mcp", "--user", '张三 "z"'), {"HBUS_API_KEY": "k"})
OTHER = {"mcpServers": {"files": {"command": "/bin/files"}}, "theme": "dark"}


@pytest.mark.parametrize("host", [Host.CLAUDE, Host.CURSOR, Host.VSCODE])
def test_a_new_file_holds_the_entry_and_is_private(host: Host, tmp_path: Path) -> None:
    """Folders are made; nobody else may read it, for it may hold a key."""
    path = tmp_path / "deep" / "mcp.json"
    change = install(host, COMMAND, path)
    assert change.is_changed
    assert change.backup is None
    [table] = json.loads(path.read_text()).values()
    assert table[NAME]["command"] == "/opt/hbus/bin/hbus"
    assert table[NAME]["args"] == list(COMMAND.arguments)
    assert table[NAME]["env"] == {"HBUS_API_KEY": "k"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_other_entries_stay_and_the_old_file_is_kept(tmp_path: Path) -> None:
    """A second change keeps a second copy."""
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps(OTHER))
    first = install(Host.CURSOR, COMMAND, path)
    second = install(Host.CURSOR, Command("/elsewhere", ()), path)
    config = json.loads(path.read_text())
    assert config["theme"] == "dark"
    assert config["mcpServers"]["files"] == {"command": "/bin/files"}
    assert config["mcpServers"][NAME] == {"command": "/elsewhere", "args": []}
    assert first.backup
    assert json.loads(first.backup.read_text()) == OTHER
    assert second.backup not in (None, first.backup)


@pytest.mark.parametrize("host", [Host.CLAUDE, Host.CODEX])
def test_the_same_entry_again_changes_nothing(host: Host, tmp_path: Path) -> None:
    """There is no second copy of an unchanged file."""
    path = tmp_path / "config"
    install(host, COMMAND, path)
    before = path.read_bytes()
    assert not install(host, COMMAND, path).is_changed
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_toml_is_extended_as_it_stands(tmp_path: Path) -> None:
    """Comments and other tables of Codex's configuration stay."""
    path = tmp_path / "config.toml"
    old = '# mine\nmodel = "o"\n\n[mcp_servers.files]\ncommand = "/bin/files"\n'
    path.write_text(old)
    install(Host.CODEX, COMMAND, path)
    text = path.read_text()
    config = tomllib.loads(text)
    assert text.startswith(old)
    assert config["mcp_servers"]["files"] == {"command": "/bin/files"}
    assert config["mcp_servers"][NAME]["args"] == list(COMMAND.arguments)
    assert config["mcp_servers"][NAME]["env"] == {"HBUS_API_KEY": "k"}


@pytest.mark.parametrize(
    ("host", "old"),
    [
        (Host.VSCODE, '{"servers": {} // a comment\n}'),
        (Host.CLAUDE, "[]"),
        (Host.CLAUDE, '{"mcpServers": []}'),
        (Host.CODEX, "mcp_servers = {}\n"),
        (Host.CODEX, "not toml"),
        (Host.CODEX, f'[mcp_servers.{NAME}]\ncommand = "/old"\n'),
    ],
)
def test_a_file_that_cannot_be_changed_safely_is_left_alone(host: Host, old: str, tmp_path: Path) -> None:
    """No copy, no change, an error that says why."""
    path = tmp_path / "config"
    path.write_text(old)
    with pytest.raises(CannotEdit):
        install(host, COMMAND, path)
    assert path.read_text() == old
    assert list(tmp_path.iterdir()) == [path]


def test_every_host_but_dify_has_a_file_and_a_snippet(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Paths are absolute and below the home directory; Dify takes a URL instead."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("CODEX_HOME", raising=False)
    for host in Host:
        path = config_path(host)
        assert (path is None) == (host is Host.DIFY)
        assert path is None or path.is_relative_to(tmp_path)
        assert COMMAND.program in snippet(host, COMMAND)
