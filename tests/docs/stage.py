"""Where a page is played: a checkout with its ``.venv/bin``, a home of its own, and a server on a port of its own."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import signal
import socket
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.docs.blocks import ROOT, Block, pattern
from tests.waiting import until

WITHIN_S = 90.0
_MAIN = "from hindsight_bus.cli import main; main()"
_INTERRUPTED = (0, 130, -signal.SIGINT)

# `make run` is the server that is there already, and of every other target it is shown that there is one.
_MAKE = f"""#!/bin/bash
for each in "$@"; do if [ "$each" = run ]; then exec hbus health; fi; done
exec {shlex.quote(shutil.which("make") or "make")} --directory {shlex.quote(str(ROOT))} --dry-run "$@" > /dev/null
"""
# What is installed is there already; a path has to be one.
_PIP = """#!/bin/bash
for each in "$@"; do case "$each" in ./*) test -f "$each/pyproject.toml" || exit 1;; esac; done
"""
# Each block goes on with the variables and the folder that the one before has left.
_BLOCK = """
set -aeuo pipefail
if [ -f {state} ]; then source {state}; cd "$(cat {state}.place)"; fi
trap 'export -p > {state}; pwd > {state}.place' EXIT
{text}
"""


class Failed(AssertionError):
    """A block did not do what the page says."""

    def __init__(self, block: Block, problem: str, printed: str) -> None:
        super().__init__(f"line {block.line}: {problem}\n{block.text}\n--- printed:\n{printed[-4000:]}")


@dataclass(frozen=True, slots=True)
class _Running:
    block: Block
    process: asyncio.subprocess.Process
    printed: Path


class Stage:
    """Plays the blocks of one page."""

    def __init__(self, place: Path, target: str, data_dir: Path) -> None:
        self._place = place
        self._target = target
        self._data_dir = data_dir
        self._ports = {"50051": target.rpartition(":")[2], "50052": _free_port(), "8765": _free_port()}
        """The ports that pages name, and those that stand for them here."""
        self._running: list[_Running] = []
        self._checkout = place / "checkout"
        self._build()

    async def play(self, block: Block) -> None:
        """Run one block to its end, or until it has begun where it goes on."""
        printed = self._place / f"line-{block.line}.txt"
        with printed.open("wb") as out:
            process = await asyncio.create_subprocess_exec(
                *self._command(block), stdin=asyncio.subprocess.DEVNULL, stdout=out, stderr=out,
                cwd=self._checkout, env=self._environment(), start_new_session=True,
            )  # fmt: skip
        if block.goes_on:
            running = _Running(block, process, printed)
            self._running.append(running)
            await self._begun(running)
            return
        try:
            async with asyncio.timeout(WITHIN_S):
                await process.wait()
        except TimeoutError:
            os.killpg(process.pid, signal.SIGKILL)
            raise Failed(block, f"not done within {WITHIN_S} s", printed.read_text()) from None
        if process.returncode != 0:
            raise Failed(block, f"exit code {process.returncode}", printed.read_text())
        if not pattern(self._moved(block.output)).search(printed.read_text()):
            raise Failed(block, f"it should print\n{block.output}", printed.read_text())

    async def finish(self) -> None:
        """Press Ctrl-C where something goes on, once it has printed what it should."""
        while self._running:
            running = self._running[-1]
            await self._said(running)
            os.killpg(running.process.pid, signal.SIGINT)
            await running.process.wait()
            self._running.pop()
            if running.process.returncode not in _INTERRUPTED:
                problem = f"exit code {running.process.returncode}"
                raise Failed(running.block, problem, running.printed.read_text())

    async def close(self) -> None:
        """End what still goes on."""
        for running in self._running:
            if running.process.returncode is None:
                os.killpg(running.process.pid, signal.SIGKILL)
                await running.process.wait()

    async def _said(self, running: _Running) -> None:
        wanted = pattern(self._moved(running.block.output))

        async def is_printed() -> bool:
            if running.process.returncode is not None:
                raise Failed(running.block, "it ended by itself", running.printed.read_text())
            return wanted.search(running.printed.read_text()) is not None

        try:
            await until(is_printed, WITHIN_S)
        except TimeoutError:
            problem = f"it should print\n{running.block.output}"
            raise Failed(running.block, problem, running.printed.read_text()) from None

    async def _begun(self, running: _Running) -> None:
        async def has_begun() -> bool:
            return running.printed.stat().st_size > 0 or running.process.returncode is not None

        await until(has_begun, WITHIN_S)
        if running.process.returncode is not None:
            raise Failed(running.block, "it ended", running.printed.read_text())

    def _command(self, block: Block) -> tuple[str, ...]:
        text = self._moved(block.text)
        if block.language == "python":
            return ("python", "-c", text)
        if block.goes_on:
            return ("bash", "-c", f"exec {text.strip()}")
        return ("bash", "-c", _BLOCK.format(state=self._place / "state", text=text))

    def _moved(self, text: str) -> str:
        for named, port in self._ports.items():
            text = text.replace(f":{named}", f":{port}")
        return text

    def _environment(self) -> dict[str, str]:
        paths = (self._place / "bin", self._checkout / ".venv" / "bin")
        return {
            "HOME": str(self._place / "home"),
            "HBUS_EMBEDDER": "use",  # for servers that a page starts: that of the one that is there
            "HBUS_TARGET": self._target,
            "LANG": "C.UTF-8",
            "PATH": os.pathsep.join([*map(str, paths), os.environ["PATH"]]),
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "PYTHONUNBUFFERED": "1",
        }

    def _build(self) -> None:
        usual = self._place / "home" / ".local" / "share" / "hindsight-bus"
        usual.parent.mkdir(parents=True)
        usual.symlink_to(self._data_dir)
        commands = self._checkout / ".venv" / "bin"
        commands.mkdir(parents=True)
        for each in ROOT.iterdir():
            if each.name not in (".git", ".venv"):
                (self._checkout / each.name).symlink_to(each)
        _script(commands / "python", f'#!/bin/bash\nexec {sys.executable} "$@"\n')
        _script(commands / "hbus", f'#!/bin/bash\nexec {sys.executable} -c "{_MAIN}" "$@"\n')
        (self._place / "bin").mkdir()
        _script(self._place / "bin" / "make", _MAKE)
        _script(self._place / "bin" / "pip", _PIP)
        grpcurl = Path(sys.executable).with_name("grpcurl")
        if grpcurl.exists():
            (commands / "grpcurl").symlink_to(grpcurl)


def _free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return str(probe.getsockname()[1])


def _script(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)
