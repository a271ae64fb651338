"""What the clients' documents show runs as it stands."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.typescript_rig import run
from tests.faults.processes import ServerProcess
from tools import node

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
TARGET = "127.0.0.1:50051"
PRELUDE = """\
import { connect, errors, EventKind, label, NamespaceService, steps } from "@hindsight-bus/client";
const bus = connect();
const namespace = "user:zhangsan:facts";
declare function mail(text: string, options: { signal: AbortSignal }): Promise<void>;
export { bus, errors, EventKind, label, mail, namespace, NamespaceService, steps };
"""


def blocks(document: str, language: str) -> list[str]:
    """Return the code blocks of a document."""
    return re.findall(
        rf"^```{language}\n(.*?)^```$", (ROOT / document).read_text("utf-8"), re.DOTALL | re.MULTILINE
    )


def test_bare_stubs_are_generated_and_used(shared_server: ServerProcess, tmp_path: Path) -> None:
    """The command writes stubs, and the example writes, searches and hears with nothing but them."""
    [command] = blocks("clients/README.md", "sh")
    [example] = blocks("clients/README.md", "python")
    program = shlex.split(command.replace("-I proto", f"-I {ROOT / 'proto'}"))
    protos = sorted(str(path) for path in ROOT.glob(program.pop()))
    assert program[0] == "python"
    subprocess.run([sys.executable, *program[1:], *protos], cwd=tmp_path, check=True)
    told = subprocess.run(
        [sys.executable, "-c", example.replace(TARGET, shared_server.target)],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert told.returncode == 0, told.stderr
    hits, events = (
        [line for line in told.stdout.splitlines() if line[0].isdigit()],
        told.stdout.splitlines()[-1],
    )
    assert hits[0].endswith("用户偏好用表格展示对比数据")
    assert events.startswith("EVENT_KIND_")


@pytest.mark.usefixtures("typescript")
async def test_the_first_block_of_typescript_runs(shared_server: ServerProcess) -> None:
    """It finds what it wrote, and goes on to tell what happened from the beginning."""
    example = blocks("clients/typescript/README.md", "ts")[0].replace(TARGET, shared_server.target)
    process = await asyncio.create_subprocess_exec(
        node.NODE,
        "--input-type=module-typescript",
        "--eval",
        example,
        cwd=node.PROJECT,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        told = [(await anext(process.stdout)).decode() for _ in range(2)]
    finally:
        process.kill()
        await process.wait()
    assert re.fullmatch(r"0\.\d\d 用户偏好用表格展示对比数据\n", told[0])
    assert re.fullmatch(r"[a-z]+ .+\n", told[-1])


@pytest.mark.usefixtures("typescript")
def test_every_block_of_typescript_has_the_right_types() -> None:
    """Strictly, each by itself."""
    place = node.PROJECT / "test" / "readme"
    place.mkdir(exist_ok=True)
    try:
        (place / "prelude.ts").write_text(PRELUDE, "utf-8")
        pages = ("README.md", "README.zh-CN.md", "clients/typescript/README.md")
        shown = [block for page in pages for block in blocks(page, "ts")]
        for number, block in enumerate(shown):
            imported = sorted(
                set(
                    re.findall(
                        r"\b(bus|errors|label|mail|namespace|steps|EventKind|NamespaceService)\b", block
                    )
                )
            )
            used = "" if "import" in block else f'import {{ {", ".join(imported)} }} from "./prelude.ts";\n'
            (place / f"block_{number}.ts").write_text(used + block + "export {};\n", "utf-8")
        run(node.MODULES / ".bin" / "tsc", "--noUnusedLocals", "false")
    finally:
        for path in place.iterdir():
            path.unlink()
        place.rmdir()
