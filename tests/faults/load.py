"""Clients under which things are broken: writers that never give up, and readers of what they left behind."""

from __future__ import annotations

import asyncio
import itertools
import math
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from types import TracebackType
from typing import get_args

import hbus.aio
from hbus import NO_RETRY
from hbus.fields import WriteFields
from hbus.v1.event_pb2 import Event
from hbus.v1.memory_pb2 import Memory
from hbus.values import StateName
from tests.faults import checkers
from tests.faults.history import History
from tests.faults.processes import until

DIMENSION = 8
PROFILE = f"external({DIMENSION})"
"""Profile of namespaces whose vectors the tests supply."""
LAST = "the last one"


def vector(number: int) -> list[float]:
    """Return a unit vector of its own for each number."""
    values = [math.sin((number + 1) * (place + 1.0)) for place in range(DIMENSION)]
    length = math.hypot(*values)
    return [value / length for value in values]


@asynccontextmanager
async def client(target: str, agent: str = "loader", timeout: float = 5.0) -> AsyncIterator[hbus.aio.Client]:
    """Yield a client that reports each failure instead of retrying."""
    async with hbus.aio.connect(target, agent=agent, timeout=timeout, backoff=NO_RETRY) as bus:
        yield bus


async def supply_vectors(*targets: str) -> None:
    """Set the policy by which callers supply vectors and may write much; return once every node goes by it."""
    async with hbus.aio.connect(targets[0], agent="operator") as bus:
        await bus.update_policy("*:*:*", embedding_profile=PROFILE, daily_quota=1_000_000)
    for target in targets:
        async with client(target) as bus:
            await until(partial(_supplies, bus), 10.0, f"{target} goes by the policy")


async def _supplies(bus: hbus.aio.Client) -> bool:
    return (await bus.policy("user:anybody:facts")).policy.embedding_profile == PROFILE


def episode(request_id: str, number: int = 0) -> WriteFields:
    """Return the fields of an episode with the vector of ``number``: no quota, no conflicts, no embedder."""
    return {
        "type": "episodic",
        "channel": "ingest",
        "vector": vector(number),
        "request_id": request_id,
    }


class Writers:
    """Writers that write one episode after the other, each until it is acknowledged, until the block ends.

    Writer ``w<n>`` writes to ``namespaces[n mod len]`` the texts ``w<n>-0``, ``w<n>-1``, ...; the text is the
    request_id and the key in the history. ``targets`` are one server or several, which they share.
    """

    def __init__(
        self, targets: str | Sequence[str], history: History, namespaces: Sequence[str], count: int = 8
    ) -> None:
        self._targets = [targets] if isinstance(targets, str) else targets
        self._history = history
        self._namespaces = namespaces
        self._count = count
        self._stopping = False
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Writers:
        self._tasks = [asyncio.create_task(self._write_on(n)) for n in range(self._count)]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping = True
        if error is not None:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
        else:
            await asyncio.gather(*self._tasks)

    async def more(self, acknowledged: int, within_s: float = 60.0) -> None:
        """Wait until so many more writes were acknowledged; raise what a writer raised, should one have ended."""
        seen = len(self._history.acknowledged())
        news = asyncio.create_task(self._history.reaches(seen + acknowledged, within_s))
        await asyncio.wait([news, *self._tasks], return_when=asyncio.FIRST_COMPLETED)
        for task in self._tasks:
            if task.done():
                news.cancel()
                task.result()
        await news

    async def _write_on(self, number: int) -> None:
        name, namespace = f"w{number}", self._namespaces[number % len(self._namespaces)]
        async with client(self._targets[number // 2 % len(self._targets)], name) as bus:
            for count in itertools.takewhile(lambda _: not self._stopping, itertools.count()):
                text = f"{name}-{count}"
                call = self._history.begin(name, "write", text, namespace=namespace)
                await self._history.insist(call, bus.write, namespace, text, **episode(text, count))


def place_of(text: str) -> tuple[str, int]:
    """Return writer and count of a text of ``Writers``."""
    writer, count = text.split("-")
    return writer, int(count)


async def listed(target: str, namespace: str) -> list[Memory]:
    """Return every memory of a namespace, whatever its state, as of now."""
    async with hbus.aio.connect(target, agent="reader", timeout=30.0) as bus:
        pages = bus.list(
            namespace, filter={"states": get_args(StateName)}, page_size=1000, fully_consistent=True
        )
        return [memory async for memory in pages]


async def replayed(target: str, namespace: str, within_s: float = 60.0) -> list[Event]:
    """Return every event of a namespace from the beginning to now: a mark is written, and read up to."""
    events = []
    async with hbus.aio.connect(target, agent="reader", timeout=30.0) as bus, asyncio.timeout(within_s):
        await bus.write(namespace, LAST, **episode(hbus.new_request_id()))
        async with bus.subscribe(namespace, start="beginning") as subscription:
            async for event in subscription:
                if event.memory.text == LAST:
                    break
                events.append(event)
    return events


async def check_writes(target: str, history: History, namespaces: Sequence[str]) -> None:
    """Assert that each acknowledged write of ``Writers`` is listed and in the log, once, in the order of its writer."""
    for namespace in namespaces:
        wanted = [call.key for call in history.acknowledged() if call.arguments["namespace"] == namespace]
        asked = [call.key for call in history if call.arguments["namespace"] == namespace]
        log = [event.memory.text for event in await replayed(target, namespace)]
        rows = [memory.text for memory in await listed(target, namespace)]
        problems = checkers.lost(wanted, log) + checkers.repeated(log) + checkers.invented(asked, log)
        problems += checkers.misdelivered(log, rows[:-1]) + checkers.reordered(map(place_of, log))
        assert not problems, f"{namespace}: {problems[:10]}, see {history.path}"
