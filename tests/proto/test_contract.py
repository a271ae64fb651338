"""The contract keeps its style, and the committed generated code is what the contract says."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
GENERATED = Path("clients/python/hbus/v1")


def buf(*arguments: str) -> str:
    """Run buf as `make proto` does: the programs of this environment first on PATH, nothing fetched."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["buf", *arguments], cwd=ROOT, env=os.environ | {"PATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def modules(folder: Path) -> dict[str, str]:
    """Return the text of each generated file by its name."""
    return {path.name: path.read_text("utf-8") for path in folder.glob("*_pb2*") if path.is_file()}


def test_the_contract_passes_buf_lint() -> None:
    """STANDARD and COMMENTS hold without exceptions."""
    assert buf("lint") == ""


def test_the_contract_is_formatted() -> None:
    """`buf format` would change nothing."""
    assert buf("format", "--diff") == ""


def test_generated_code_is_current(tmp_path: Path) -> None:
    """What `make proto` writes is what is committed: no file differs, lacks or is left over."""
    buf("generate", "--output", str(tmp_path))
    expected, committed = modules(tmp_path / GENERATED), modules(ROOT / GENERATED)
    assert expected, "nothing was generated"
    stale = sorted(
        name for name in expected.keys() | committed.keys() if expected.get(name) != committed.get(name)
    )
    assert stale == [], "run `make proto` and commit what it changes"
