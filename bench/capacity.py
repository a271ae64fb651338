"""How much memory and disk so many memories take, beside what their text and vector are by themselves.

JSON lines on standard output, one a size. In bytes a memory: its text and vector alone, what Valkey holds, what is on
disk once the append-only file was rewritten, and by how much a node grows that loads the namespace.

    python -m bench.capacity --sizes 1000 10000 30000
"""

from __future__ import annotations

import argparse
import asyncio
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import redis
import uvloop

from bench.data import DIMENSION, Namespace
from bench.processes import server
from bench.rig import AGENT, TIMEOUT_S, Rig, connect, set_up
from bench.store import settle
from hbus.v1.memory_service_pb2_grpc import MemoryServiceStub

_VECTOR_BYTES = 2 * DIMENSION
_POLL_S = 0.2


async def _measure(rig: Rig, size: int) -> dict[str, float]:
    store: Any = redis.Redis(unix_socket_path=str(rig.socket))
    used, on_disk = _used(store), await _on_disk(store)
    space, _ = await rig.fill(f"user:capacity{size}:bench", size)
    await settle(rig)
    plain = sum(len(text.encode()) for text in space.texts) / size + _VECTOR_BYTES
    figures = {
        "valkey": (_used(store) - used) / size,
        "disk": (await _on_disk(store) - on_disk) / size,
        "node": await _resident(rig, space) / size,
    }
    return {
        "memories": size,
        "plain": round(plain),
        **{name: round(value) for name, value in figures.items()},
    }


def _used(store: Any) -> int:
    return int(store.info("memory")["used_memory"])


async def _on_disk(store: Any) -> int:
    """Return the size of the append-only file, rewritten."""
    store.bgrewriteaof()
    while store.info("persistence")["aof_rewrite_in_progress"]:  # noqa: ASYNC110 - it ends in another process
        await asyncio.sleep(_POLL_S)
    return int(store.info("persistence")["aof_current_size"])


async def _resident(rig: Rig, space: Namespace) -> int:
    """Return by how many bytes a new node grows when it loads a namespace."""
    async with server(rig.socket, f"node{space.size}") as node, connect(node.address) as channel:
        memory: Any = MemoryServiceStub(channel)

        async def search(name: str) -> int:
            asked = Namespace(name, space.size, space.texts, space.vectors)
            request = next(rig.source.searches(asked))
            await memory.SearchMemories(request, metadata=AGENT, timeout=10 * TIMEOUT_S)
            return node.rss_bytes()

        empty = await search("user:nobody:bench")  # so that everything but the memories is loaded
        return await search(space.name) - empty


async def _run(sizes: list[int], directory: Path) -> None:
    async with set_up(directory) as rig:
        for size in sizes:
            print(json.dumps(await _measure(rig, size)), flush=True)


def main() -> None:
    """Measure each size."""
    parser = argparse.ArgumentParser(prog="python -m bench.capacity")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 30_000])
    with TemporaryDirectory(prefix="hbus-bench-") as directory:
        uvloop.run(_run(parser.parse_args().sizes, Path(directory)))


if __name__ == "__main__":
    main()
