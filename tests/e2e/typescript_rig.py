"""Running things of the TypeScript client."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tools import node


def run(*command: str | Path) -> str:
    """Run a command in the client's folder; return what it prints."""
    done = subprocess.run(
        command, cwd=node.PROJECT, env=node.environment(), capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
