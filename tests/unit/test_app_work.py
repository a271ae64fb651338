"""Due work: at least once, late rather than never, and nobody waits for what cannot be done."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest

from hindsight_bus.adapters.memory.clock import FakeClock
from hindsight_bus.adapters.memory.embedder import FakeEmbedder
from hindsight_bus.adapters.memory.log import FakeLog
from hindsight_bus.app.deadline import deadline
from hindsight_bus.app.freshness import Freshness
from hindsight_bus.app.work import LEASE_MS, DueWorker, SlowWorker
from hindsight_bus.domain.errors import IndexBehind, WrongState
from hindsight_bus.domain.memory import Memory, MemoryState
from hindsight_bus.domain.names import Namespace
from hindsight_bus.ports import Commit, DueItem, Lane, TakenItem, Vectors
from tests.unit.app_rig import FACTS, Node, eventually


def stored(outcome: object) -> Memory:
    memory = getattr(outcome, "memory", None)
    assert isinstance(memory, Memory)
    return memory


@asynccontextmanager
async def at_work(clock: FakeClock, *workers: DueWorker) -> AsyncIterator[None]:
    """Have workers run while time passes."""

    async def pass_time() -> None:
        while True:
            await asyncio.sleep(0)
            clock.advance(0.05)

    tasks = [asyncio.create_task(work) for work in (*(worker.run() for worker in workers), pass_time())]
    try:
        async with asyncio.timeout(10):
            yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_an_embedder_that_is_down_delays_vectors_and_nothing_else() -> None:
    """The write is durable and found by its words at once; the vector comes when the embedder is back."""
    node = Node()
    node.embedder.is_down = True
    memory = stored(await node.write("tables"))
    await node.work()
    assert memory.head.state is MemoryState.ACTIVE
    assert [m.name for m in await node.search("tables")] == [memory.name]
    assert (await node.get(memory)).vector_pending
    node.embedder.is_down = False
    node.clock.advance(120)
    await node.work()
    assert not (await node.get(memory)).vector_pending
    assert node.embedder.embedded == ["tables"]


async def test_what_fails_is_tried_again_later_and_later() -> None:
    """The delay doubles with each attempt, up to a minute."""
    node = Node()
    node.embedder.is_down = True
    await node.write("tables")
    attempts = []
    for second in range(200):
        if await node.work():
            attempts.append(second)
        node.clock.advance(1)
    gaps = [later - earlier for earlier, later in pairwise(attempts)]
    assert gaps == sorted(gaps)
    assert gaps[0] <= 2
    assert gaps[-1] == 60


async def test_a_namespace_of_another_profile_holds_nobody_up() -> None:
    """Its vectors wait for a server with its embedder; those of all others arrive."""
    clock = FakeClock()
    store = FakeLog(clock.now_ms, partitions=1)
    foreign = Node(store=store, clock=clock, embedder=FakeEmbedder(profile="other"))
    elsewhere = Namespace.parse("user:lisi:facts", "default")
    stranger = stored(await foreign.write("bars", namespace=elsewhere))
    node = Node(store=store, clock=clock, ids=foreign.ids)
    own = [stored(await node.note(f"note {n}")) for n in range(3)]
    await node.work()
    assert [(await node.get(memory)).vector_pending for memory in own] == [False] * 3
    assert (await node.get(stranger)).vector_pending


async def test_one_item_that_always_fails_leaves_the_rest_of_its_batch_alone() -> None:
    """Only the poisoned item comes back."""
    node, done = Node(), []

    async def handle(items: Sequence[TakenItem]) -> None:
        for item in items:
            if item.item.id == "2":
                raise WrongState("it", "BROKEN", "mend it")
            done.append(item.item.id)
            await node.store.finish_due([item])

    worker = DueWorker(node.store, node.clock, {"test": handle})
    items = tuple(DueItem(str(n), "test", ()) for n in range(4))
    await node.store.commit(Commit(0, node.clock.now_ms(), 1, due=items))
    for _ in range(4):
        await worker.work([0])
        node.clock.advance(100)
    assert set(done) == {"0", "1", "3"}
    [left] = await node.store.take_due(0, 1000, 10)
    assert left.item.id == "2"


async def test_a_kind_of_work_without_a_handler_is_kept() -> None:
    """A newer server may know what to do with it."""
    node = Node()
    worker = DueWorker(node.store, node.clock, {})
    await node.store.commit(Commit(0, node.clock.now_ms(), 1, due=(DueItem("1", "from the future", ()),)))
    await worker.work([0])
    node.clock.advance(100)
    assert [taken.item.id for taken in await node.store.take_due(0, 1000, 10)] == ["1"]


async def test_a_steady_stream_of_hints_does_not_hide_the_other_partitions() -> None:
    """Every partition is looked at once a second, however busy one of them is."""
    clock = FakeClock()
    store, done = FakeLog(clock.now_ms, partitions=2), asyncio.Event()

    async def handle(items: Sequence[TakenItem]) -> None:
        await store.finish_due(items)
        if any(item.partition == 1 for item in items):
            done.set()
        else:
            await busy()

    async def busy() -> None:
        await store.commit(Commit(0, 0, 1, due=(DueItem("busy", "test", ()),)))
        worker.hint(0, Lane.QUICK)

    worker = DueWorker(store, clock, {"test": handle})
    await store.commit(Commit(1, 0, 1, due=(DueItem("quiet", "test", ()),)))
    await busy()

    async with at_work(clock, worker):
        await done.wait()


class Waiting:
    """A handler that waits until it is let go."""

    def __init__(self, store: FakeLog) -> None:
        self.store = store
        self.let_go = asyncio.Event()
        self.begun: list[TakenItem] = []
        self.most = self.now = 0

    async def handle(self, items: Sequence[TakenItem]) -> None:
        self.begun += items
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await self.let_go.wait()
        finally:
            self.now -= 1
        await self.store.finish_due(items)


def slow(number: int) -> DueItem:
    return DueItem(str(number), "slow", (), lane=Lane.SLOW)


async def test_what_is_slow_delays_nothing_that_is_quick() -> None:
    """All slots wait for a model; vectors and the rest go on."""
    clock = FakeClock()
    store, done = FakeLog(clock.now_ms, partitions=1), asyncio.Event()
    waiting = Waiting(store)

    async def handle(items: Sequence[TakenItem]) -> None:
        await store.finish_due(items)
        done.set()

    handlers = {"slow": waiting.handle, "quick": handle}
    await store.commit(Commit(0, 0, 1, due=tuple(slow(n) for n in range(20))))
    async with at_work(clock, DueWorker(store, clock, handlers), SlowWorker(store, clock, handlers)):
        await eventually(lambda: waiting.begun)
        await store.commit(Commit(0, 0, 1, due=(DueItem("1", "quick", ()),)))
        await done.wait()
        assert waiting.now


async def test_slow_work_has_its_slots_and_keeps_its_leases() -> None:
    """So many at once however much is due, none begun twice however long it takes, and all of it done in the end."""
    clock = FakeClock()
    store = FakeLog(clock.now_ms, partitions=3)
    waiting = Waiting(store)
    workers = [SlowWorker(store, clock, {"slow": waiting.handle}, slots=2) for _ in range(2)]
    for partition in range(3):
        await store.commit(Commit(partition, 0, 1, due=tuple(slow(n) for n in range(3))))
    async with at_work(clock, *workers):
        await eventually(lambda: waiting.now == 4)
        until = clock.monotonic() + 3 * LEASE_MS / 1000
        await eventually(lambda: clock.monotonic() > until)
        assert len(waiting.begun) == 4
        waiting.let_go.set()
        await eventually(lambda: len(waiting.begun) == 9 and not waiting.now)
    assert waiting.most == 4
    assert {item.attempt for item in waiting.begun} == {1}


async def test_slow_work_under_way_ends_with_its_node() -> None:
    """It is left to whoever takes it next."""
    clock = FakeClock()
    store = FakeLog(clock.now_ms, partitions=1)
    waiting = Waiting(store)
    await store.commit(Commit(0, 0, 1, due=(slow(1),)))
    async with at_work(clock, SlowWorker(store, clock, {"slow": waiting.handle})):
        await eventually(lambda: waiting.now)
    assert not waiting.now
    clock.advance(LEASE_MS / 1000 + 1)
    [left] = await store.take_due(0, 1000, 10, Lane.SLOW)
    assert left.attempt == 2


async def test_work_of_a_node_that_died_is_done_by_another() -> None:
    """A lease that has run out is no lease."""
    clock = FakeClock()
    store = FakeLog(clock.now_ms, partitions=1)
    dead, alive = Node(store=store, clock=clock), Node(store=store, clock=clock)
    memory = stored(await dead.write("tables"))
    assert await store.take_due(0, 30_000, 10)
    assert await alive.work() == 0
    clock.advance(31)
    await alive.work()
    assert not (await alive.get(memory)).vector_pending


async def test_a_lost_lease_leaves_the_rest_of_its_batch_alone() -> None:
    """Who was slow stores what is still its own, embeds nothing twice, and leaves the other item to its new holder."""
    node = Node(store=FakeLog((clock := FakeClock()).now_ms, partitions=1), clock=clock)
    embedded: list[str] = []
    embed_now = node.embedder.embed_pieces

    async def embed(texts: Sequence[str]) -> list[Vectors]:
        embedded.extend(texts)
        return await embed_now(texts)

    node.embedder.embed_pieces = embed  # type: ignore[method-assign]
    slow = stored(await node.note("one"))
    taken = await node.store.take_due(0, LEASE_MS, 10)
    clock.advance(2 * LEASE_MS / 1000)
    [again] = await node.store.take_due(0, LEASE_MS, 10)
    quick = stored(await node.note("two"))
    taken += await node.store.take_due(0, LEASE_MS, 10)
    await node.indexer.embed(taken)
    assert embedded == ["one", "two"]
    assert [(await node.get(each)).vector_pending for each in (slow, quick)] == [True, False]
    await node.indexer.embed([again])
    assert not (await node.get(slow)).vector_pending


async def test_work_done_twice_is_done_once() -> None:
    """Every handler may find that another has been there before; the log does not grow by it."""
    node = Node()
    partition = node.records.partition(FACTS)
    kept = stored(await node.write("tables", expire_time_ms=node.clock.now_ms() + 1000)).head.memory_id
    gone = stored(await node.note("the parcel left"))
    near = stored(await node.write("the office in the old town closes at six", subject="")).head.memory_id
    await node.write("the office in the old town closes at ten", subject="", agent="orders")
    await node.work()
    [suspicion] = await node.open_conflicts()
    await node.forget(gone)
    node.clock.advance(40 * 24 * 3600)
    await node.work()
    gone_id = gone.head.memory_id
    work: list[tuple[str, tuple[str | int, ...]]] = [
        ("embed", (near, 1)), ("embed", (gone_id, 1)), ("suspect", (near, 1)), ("suspect", (gone_id, 1)),
        ("expire", (kept,)), ("expire", (gone_id,)), ("purge", (kept,)), ("purge", (gone_id,)),
        ("moot", (suspicion.record.id,)),
    ]  # fmt: skip
    due = tuple(DueItem(f"again {n}", kind, payload) for n, (kind, payload) in enumerate(work))
    before = await node.store.ends(partition)
    await node.store.commit(Commit(partition, node.clock.now_ms(), 1, due=due))
    assert await node.work() == len(due)
    assert await node.store.ends(partition) == before
    node.clock.advance(120)
    assert await node.work() == 0


async def test_waiting_for_vectors_ends_with_the_deadline() -> None:
    """INDEX_BEHIND says what was waited for."""
    node = Node()
    await node.write("tables")
    deadline.set(asyncio.get_running_loop().time() + 0.1)
    with pytest.raises(IndexBehind, match="user:zhangsan:facts"):
        await node.search("tables", freshness=Freshness(require_vectors=True))
