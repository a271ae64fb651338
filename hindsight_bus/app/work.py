"""The due-set's workers: whoever is alive takes what is due and does it.

Work is at least once: every handler may find its work done already. A handler that fails gives its item back, due
again later and later; one that dies lets its lease run out, and another process takes the item. What waits for others,
models above all, has a lane and a worker of its own, so that it delays nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

import structlog

from hindsight_bus.app.deadline import deadline
from hindsight_bus.domain.errors import EmbedderUnavailable, HbusError, OutcomeUnknown, StoreUnavailable
from hindsight_bus.ports import Clock, CommitRefused, Lane, MemoryLog, TakenItem

log = structlog.get_logger(__name__)

LEASE_MS = 30_000
MAX_ITEMS = 32
SLOTS = 4
"""Slow items at once."""
_POLL_SECONDS = 1.0
_GATHER_SECONDS = 0.05
"""How long a hint waits for others, so that what a run of writes leaves to do is done together."""
_MAX_DELAY_MS = 60_000

Handler = Callable[[Sequence[TakenItem]], Awaitable[None]]
"""Does items of one kind and finishes each, by commit or by ``finish_due``; raises when it could not."""


class DueWorker:
    """Takes due items of every partition and hands them to the handler of their kind, several at a time."""

    lane = Lane.QUICK
    patience_s = LEASE_MS / 1000
    """Deadline of what a handler waits for."""

    def __init__(self, store: MemoryLog, clock: Clock, handlers: Mapping[str, Handler]) -> None:
        self._store = store
        self._clock = clock
        self._handlers = handlers
        self._hinted: set[int] = set()
        self._hint = asyncio.Event()
        self._poll_at = 0.0
        """Event-loop time of the next look at every partition."""

    def hint(self, partition: int, lane: Lane) -> None:
        """Tell that a partition has something due in a lane."""
        if lane is self.lane:
            self._hinted.add(partition)
            self._hint.set()

    async def run(self) -> None:
        """Work until cancelled: soon after a hint, and once a second on whatever else is due."""
        while True:
            partitions = await self._next()
            try:
                for partition in {item.partition for item in await self._round(partitions)}:
                    self.hint(partition, self.lane)
            except HbusError as error:
                log.warning("work.store_unavailable", reason=error.reason)
                await self._clock.sleep(_POLL_SECONDS)

    async def _next(self) -> Sequence[int]:
        """Return the partitions to look at: those hinted at, but once a second all, however many hints there are."""
        now = asyncio.get_running_loop().time
        try:
            async with asyncio.timeout_at(self._poll_at):
                await self._hint.wait()
                await self._clock.sleep(_GATHER_SECONDS)
        except TimeoutError:
            pass
        self._hint.clear()
        hinted, self._hinted = self._hinted, set()
        if now() < self._poll_at:
            return sorted(hinted)
        self._poll_at = now() + _POLL_SECONDS
        return range(self._store.partitions + 1)

    async def work(self, partitions: Sequence[int]) -> int:
        """Do what is due in some partitions, until nothing is; return how many items were taken."""
        done = 0
        while taken := await self._round(partitions):
            done += len(taken)
        return done

    async def _round(self, partitions: Sequence[int]) -> list[TakenItem]:
        """Take some of what is due and do it."""
        taken = await self._take(partitions)
        by_kind: dict[str, list[TakenItem]] = {}
        for item in taken:
            by_kind.setdefault(item.item.kind, []).append(item)
        await asyncio.gather(*(self._handle(kind, items) for kind, items in by_kind.items()))
        return taken

    async def _take(self, partitions: Sequence[int]) -> list[TakenItem]:
        taken = await asyncio.gather(
            *(self._store.take_due(p, LEASE_MS, MAX_ITEMS, self.lane) for p in partitions)
        )
        return [item for items in taken for item in items]

    async def _handle(self, kind: str, items: Sequence[TakenItem]) -> None:
        """Do items of one kind; where several fail, one may be to blame, so each is tried by itself."""
        deadline.set(asyncio.get_running_loop().time() + self.patience_s)
        try:
            await self._handlers[kind](items)
        except (EmbedderUnavailable, StoreUnavailable, OutcomeUnknown) as error:
            log.warning("work.delayed", kind=kind, items=len(items), reason=error.reason)
            await self._give_back(items)
        except Exception as error:  # noqa: BLE001 - a defect in one kind of work must not stop the others
            if len(items) > 1:
                for item in items:
                    await self._handle(kind, [item])
                return
            _report(kind, error)
            await self._give_back(items)

    async def _give_back(self, items: Sequence[TakenItem]) -> None:
        await asyncio.gather(
            *(self._store.retry_due(item, min(500 * 2**item.attempt, _MAX_DELAY_MS)) for item in items)
        )


class SlowWorker(DueWorker):
    """Does what takes long: so many items at once, each by itself and under a lease that is renewed meanwhile."""

    lane = Lane.SLOW
    patience_s = 300.0

    def __init__(
        self, store: MemoryLog, clock: Clock, handlers: Mapping[str, Handler], slots: int = SLOTS
    ) -> None:
        super().__init__(store, clock, handlers)
        self._slots = slots
        self._running: set[asyncio.Task[None]] = set()
        self._first = 0
        """Partition to look at first, so that a busy one does not keep the slots to itself."""

    async def run(self) -> None:
        """Work until cancelled; what is under way then is cancelled too, and done by whoever takes it next."""
        try:
            await super().run()
        finally:
            for task in self._running:
                task.cancel()
            await asyncio.gather(*self._running, return_exceptions=True)

    async def work(self, partitions: Sequence[int]) -> int:
        """Do what is due in some partitions, until nothing is; return how many items were taken."""
        done = 0
        while taken := await self._round(partitions):
            done += len(taken)
            await asyncio.gather(*self._running)
        return done

    async def _round(self, partitions: Sequence[int]) -> list[TakenItem]:
        """Begin as much of what is due as there are slots for."""
        taken: list[TakenItem] = []
        for partition in sorted(partitions, key=lambda each: (each < self._first, each)):
            free = self._slots - len(self._running)
            if not free:
                break
            items = await self._store.take_due(partition, LEASE_MS, free, self.lane)
            for item in items:
                self._begin(item)
            taken += items
            self._first = partition + 1
        return taken

    def _begin(self, item: TakenItem) -> None:
        task = asyncio.create_task(self._do(item))
        self._running.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Look at every partition again: there is a slot for what waits in any of them."""
        self._running.discard(task)
        self._poll_at = 0.0
        self._hint.set()

    async def _do(self, item: TakenItem) -> None:
        keeping = asyncio.create_task(self._keep(item))
        try:
            await self._handle(item.item.kind, [item])
        finally:
            keeping.cancel()

    async def _keep(self, item: TakenItem) -> None:
        """Renew a lease until cancelled; while the store is away it may run out, which costs a repetition."""
        while True:
            await self._clock.sleep(LEASE_MS / 3000)
            try:
                await self._store.extend_due(item, LEASE_MS)
            except HbusError as error:
                log.warning("work.lease_not_renewed", kind=item.item.kind, reason=error.reason)


def _report(kind: str, error: Exception) -> None:
    """Tell of an item that failed; what nobody foresaw comes with its traceback."""
    if isinstance(error, (HbusError, CommitRefused)):
        log.warning("work.failed", kind=kind, problem=str(error))
    else:
        log.error("work.defect", kind=kind, exc_info=error)
