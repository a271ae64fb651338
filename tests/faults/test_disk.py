"""Fault row 4: an fsync fails, or the disk is full. No OK is missing, reads go on, and it heals by itself."""

from __future__ import annotations

import asyncio
import random
import subprocess
from pathlib import Path

import pytest

import hbus.aio
from hbus.errors import TryAgain
from tests import needed
from tests.faults.conftest import Serve
from tests.faults.forms import forms
from tests.faults.history import History, Outcome
from tests.faults.load import Writers, check_writes, client, episode, supply_vectors, vector
from tests.faults.power import TracedValkey
from tests.faults.processes import ChildProcess, ServerProcess, ValkeyProcess, until

pytestmark = [pytest.mark.faults, pytest.mark.e2e]

NAMESPACES = [f"user:u{n}:events" for n in range(4)]
DISK_BYTES = 4 << 20
RECOVERY_S = 5.0
READS = 20


@forms("failures", 2, 20)
async def test_a_failed_fsync_is_no_ok(
    failures: int, serve: Serve, place: Path, history: History, chance: random.Random
) -> None:
    """At a random fsync the disk says EIO: the store ends before it replies, and once it is back everything that was
    acknowledged is there, even if nothing of what was not synced has survived."""
    store = TracedValkey(place)
    try:
        await store.start()
        server = await serve(valkey_url=store.url)
        await supply_vectors(server.target)
        await store.stop()
        async with Writers(server.target, history, NAMESPACES) as writers:
            for _ in range(failures):
                store.inject = f"fdatasync:error=EIO:when={chance.randrange(5, 100)}+"
                await store.restart()
                await writers.more(1, within_s=RECOVERY_S)
                await _ended(store)
                assert not (await store.cut_power()).early_replies, f"see {history.path}"
            store.inject = ""
            await store.restart()
            await writers.more(50)
        await check_writes(server.target, history, NAMESPACES)
    finally:
        await store.close()


async def _ended(process: ChildProcess) -> None:
    async def has_ended() -> bool:
        return not process.is_running

    await until(has_ended, 60.0, f"it has ended, see {process.log}")


class SmallDisk:
    """A directory of 4 MiB, within the mount namespace of the process that ``wrapper`` becomes (unshare(1))."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.mkdir()
        script = f'mount -t tmpfs -o size={DISK_BYTES} tmpfs "$0" && exec "$@"'
        self.wrapper = (needed.program("unshare"), "-Urm", "sh", "-c", script, str(path))
        if subprocess.run([*self.wrapper, "true"], capture_output=True, check=False).returncode:
            needed.missing("this machine lets nobody mount a tmpfs in a namespace")

    def fill(self, pid: int) -> None:
        """Leave no room; ``pid`` is the process."""
        with self._ballast(pid).open("wb", buffering=0) as ballast:
            try:
                while ballast.write(bytes(4096)):
                    pass
            except OSError:
                return

    def clear(self, pid: int) -> None:
        """Give the room back."""
        self._ballast(pid).unlink()

    def _ballast(self, pid: int) -> Path:
        return Path(f"/proc/{pid}/root{self._path}/ballast")


async def test_a_full_disk_refuses_writes_and_heals(serve: Serve, place: Path, history: History) -> None:
    """The embedded store has no room left: writes fail with a clear status, reads succeed, and the first write after
    there is room again within 5 s."""
    disk = SmallDisk(place / "server-data")
    server = await serve(wrapper=disk.wrapper)
    await _fill_and_clear(server, server, disk, history)


async def test_a_store_that_replies_before_its_fsync_survives_a_full_disk(
    serve: Serve, place: Path, history: History
) -> None:
    """A Valkey of the user's, with an fsync each second, refuses writes and stays; so does the server."""
    disk = SmallDisk(place / "valkey")
    store = ValkeyProcess(place, wrapper=disk.wrapper, appendfsync="everysec")
    try:
        await store.start()
        server = await serve(valkey_url=store.url)
        await _fill_and_clear(server, store, disk, history)
    finally:
        await store.close()


async def _fill_and_clear(
    server: ServerProcess, holder: ChildProcess, disk: SmallDisk, history: History
) -> None:
    await supply_vectors(server.target)
    async with Writers(server.target, history, NAMESPACES) as writers:
        await writers.more(100)
        disk.fill(holder.pid)
        problems = await _problems_of_writes(server.target, history)
        await _read(server.target)
        disk.clear(holder.pid)
        await writers.more(1, within_s=RECOVERY_S)
        await writers.more(100)
    await check_writes(server.target, history, NAMESPACES)
    assert problems <= {"StoreUnavailable", "OutcomeUnknown", "Unavailable"}, problems
    failed = [call for call in history if call.outcome is not Outcome.OK]
    assert not failed, "a writer gave up"


async def _problems_of_writes(target: str, history: History, count: int = 20) -> set[str]:
    """Try to write until so many writes have failed; return how."""
    problems: list[str] = []
    async with client(target, "probe") as bus, asyncio.timeout(30.0):
        while len(problems) < count:
            text = f"probe {len(problems)}"
            try:
                await bus.write("user:probe:events", text.ljust(4096), **episode(hbus.new_request_id()))
            except TryAgain as error:
                problems.append(type(error).__name__)
    return set(problems)


async def _read(target: str) -> None:
    """Find and list memories: a client that tries again within its deadline is always answered."""
    async with hbus.aio.connect(target, agent="reader", timeout=RECOVERY_S) as bus:
        for number in range(READS):
            namespace = NAMESPACES[number % len(NAMESPACES)]
            assert (await bus.search(namespace, "", vector=vector(number))).hits
            assert [memory async for memory in bus.list(namespace)]
