"""The contract keeps its style, and the committed generated code is what the contract says."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools import node

ROOT = Path(__file__).parents[2]
PYTHON = Path("clients/python/hbus/v1")
TYPESCRIPT = Path("src/gen")
MEND = "run `make proto` and commit what it changes"


def buf(*arguments: str) -> str:
    """Run buf as `make proto` does: the programs of this environment first on PATH, nothing fetched."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["buf", *arguments], cwd=ROOT, env=os.environ | {"PATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def modules(folder: Path, pattern: str) -> dict[str, str]:
    """Return the text of each generated file by its path."""
    return {
        str(path.relative_to(folder)): path.read_text("utf-8")
        for path in folder.glob(pattern)
        if path.is_file()
    }


def stale(generated: Path, committed: Path, pattern: str) -> list[str]:
    """Return the paths of files that differ, lack or are left over."""
    expected, found = modules(generated, pattern), modules(committed, pattern)
    assert expected, "nothing was generated"
    return sorted(path for path in expected.keys() | found.keys() if expected.get(path) != found.get(path))


def test_the_contract_passes_buf_lint() -> None:
    """STANDARD and COMMENTS hold without exceptions."""
    assert buf("lint") == ""


def test_the_contract_is_formatted() -> None:
    """`buf format` would change nothing."""
    assert buf("format", "--diff") == ""


def test_generated_code_is_current(tmp_path: Path) -> None:
    """What `make proto` writes is what is committed: no file differs, lacks or is left over."""
    buf("generate", "--output", str(tmp_path))
    assert stale(tmp_path / PYTHON, ROOT / PYTHON, "*_pb2*") == [], MEND


@pytest.mark.usefixtures("node_modules")
def test_generated_typescript_is_current(tmp_path: Path) -> None:
    """The same holds for the TypeScript client."""
    node.generate(tmp_path)
    assert stale(tmp_path / TYPESCRIPT, node.PROJECT / TYPESCRIPT, "**/*_pb.ts") == [], MEND
