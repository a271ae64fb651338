"""A snapshot of a store of one's own, restored elsewhere, is the same memory. The files of the embedded one are tried
by the commands of docs/how-to/backup.md."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest

import hbus
import hbus.aio
from tests.faults.processes import ServerProcess, ValkeyProcess, until

pytestmark = pytest.mark.integration

FACTS = "user:zhangsan:facts"


async def test_a_snapshot_restored_elsewhere_is_the_same_memory() -> None:
    """It is found with its history, goes on being written, and a token that had seen more is told so."""
    with tempfile.TemporaryDirectory(prefix="hbus-") as name:
        place = Path(name)
        source, restored = ValkeyProcess(place, "source"), ValkeyProcess(place, "restored", appendonly="no")
        first = ServerProcess(place, "first", valkey_url=source.url, embedder="use")
        second = ServerProcess(place, "second", valkey_url=restored.url, embedder="use")
        try:
            await source.start()
            await first.start()
            async with hbus.aio.connect(first.target, agent="support", timeout=60.0) as bus:
                earlier = await bus.write(FACTS, "Prefers charts", subject="preference")
                kept = await bus.write(FACTS, "用户偏好用表格展示对比数据", subject="preference")
                await _snapshot(source, restored)
                lost = await bus.write(FACTS, "Written after the backup", subject="late")
            await _restore(restored)
            await second.start()
            async with hbus.aio.connect(second.target, agent="support", timeout=60.0) as bus:
                found = await bus.search(FACTS, "对比数据该怎么展示?", after=kept.token)
                assert [hit.memory.name for hit in found.hits] == [kept.memory.name]
                replaced = await bus.get(earlier.memory)
                assert hbus.label(hbus.MemoryState, replaced.state) == "superseded"
                with pytest.raises(hbus.errors.LogDiverged):
                    await bus.search(FACTS, "charts", after=lost.token)
                await bus.write(FACTS, "Goes on", subject="new")
        finally:
            for process in (first, second, source, restored):
                await process.close()


async def _snapshot(source: ValkeyProcess, restored: ValkeyProcess) -> None:
    async with source.client() as store:
        await store.bgsave()

        async def saved() -> bool:
            return not (await store.info("persistence"))["rdb_bgsave_in_progress"]

        await until(saved, 20, "the snapshot is written")
    restored.data_dir.mkdir()
    shutil.copy(source.data_dir / "dump.rdb", restored.data_dir)


async def _restore(valkey: ValkeyProcess) -> None:
    """Load the snapshot, then append: Valkey does not load one while it appends."""
    await valkey.start()
    async with valkey.client() as store:
        await store.config_set("appendonly", "yes")
