"""A node put together on the in-process store: nothing runs by itself, so a test decides when what happens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor, Future
from contextlib import aclosing, asynccontextmanager
from typing import Any, ParamSpec, TypeVar

from hindsight_bus.adapters.index.analysis import Analyzer
from hindsight_bus.adapters.index.view import View
from hindsight_bus.adapters.memory.clock import FakeClock
from hindsight_bus.adapters.memory.embedder import FakeEmbedder
from hindsight_bus.adapters.memory.groups import FakeGroups
from hindsight_bus.adapters.memory.ids import FakeIds
from hindsight_bus.adapters.memory.log import FakeLog
from hindsight_bus.adapters.memory.model import ScriptedModel
from hindsight_bus.app.attempt import WriteTools
from hindsight_bus.app.caller import Caller
from hindsight_bus.app.change import Changer
from hindsight_bus.app.commit import Committer
from hindsight_bus.app.conflicts import Conflicts, Decide
from hindsight_bus.app.consume import Consumers
from hindsight_bus.app.draft import WriteDraft
from hindsight_bus.app.freshness import Freshness
from hindsight_bus.app.groups import GroupBook
from hindsight_bus.app.indexing import Caretaker, Indexer, Suspector, due_handlers
from hindsight_bus.app.matching import Matcher
from hindsight_bus.app.meanings import Meanings
from hindsight_bus.app.namespaces import Namespaces
from hindsight_bus.app.outcome import Outcome
from hindsight_bus.app.policies import PolicyBook
from hindsight_bus.app.read import Reader
from hindsight_bus.app.records import RecordReader
from hindsight_bus.app.revise import MemoryChange
from hindsight_bus.app.search import Hit, Searcher, SearchRequest
from hindsight_bus.app.selection import WatchEvent
from hindsight_bus.app.served import ServedNotes
from hindsight_bus.app.tail import Tails
from hindsight_bus.app.views import Views
from hindsight_bus.app.watch import Batch, Beginning, Progress, Watcher, WatchRequest
from hindsight_bus.app.work import DueWorker, SlowWorker
from hindsight_bus.app.write import Writer
from hindsight_bus.domain.calibration import Calibration, Calibrations, calibration_of
from hindsight_bus.domain.memory import Memory, MemoryState, MemoryType
from hindsight_bus.domain.names import Namespace, Pattern, ResourceName
from hindsight_bus.domain.query import EventFilter, Filter
from hindsight_bus.domain.records import Conflict, ConflictState, ResolutionAction
from hindsight_bus.domain.suspicion import Closeness
from hindsight_bus.ports import Groups, Ids, MemoryLog, Stored

P = ParamSpec("P")
T = TypeVar("T")

FACTS = Namespace.parse("user:zhangsan:facts", "default")
ALL_STATES = frozenset(MemoryState) - {MemoryState.NONE}
SUBJECT = "preference.presentation"


def suspecting_from(cosine: float) -> Calibrations:
    """Return weights for any profile, under which statements of at least this cosine are close."""
    return lambda _: Calibration(closeness=Closeness(default=cosine, across=cosine))


class SameThread(Executor):
    """Runs everything at once, where it is called."""

    def submit(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        done: Future[T] = Future()
        try:
            done.set_result(function(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - whoever waits for the result gets it
            done.set_exception(error)
        return done


class EventLoopClock:
    """Time as it passes: for the pauses of a tail, which decide nothing."""

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class Node:
    """One node's use cases; nodes that share ``store`` and ``clock`` are nodes of one installation."""

    def __init__(
        self,
        *,
        store: MemoryLog | None = None,
        clock: FakeClock | None = None,
        embedder: FakeEmbedder | None = None,
        ids: Ids | None = None,
        groups: Groups | None = None,
        analyzer: Analyzer | None = None,
        ring_bytes: int = 1 << 20,
        view_budget_bytes: int = 1 << 30,
        checkpoint_seconds: float = 0.01,
        match_thread: Executor | None = None,
        calibrations: Calibrations = calibration_of,
    ) -> None:
        self.calibrations = calibrations
        self.clock = clock or FakeClock()
        self.store = store or FakeLog(self.clock.now_ms, partitions=4)
        self.embedder = embedder or FakeEmbedder()
        self.ids = ids or FakeIds()
        self.analyzer = analyzer or Analyzer()
        self.records = RecordReader(self.store)
        self.tails = Tails(self.store, EventLoopClock(), ring_bytes)
        self.policies = PolicyBook(self.store, self.tails, self.clock)
        self.views = Views(self.records, self.tails, self._new_view, SameThread(), view_budget_bytes)
        self.served = ServedNotes(self.store, self.clock)
        self.committer = Committer(self.store, self.tails, self.ids)
        tools = WriteTools(self.records, self.committer, self.served, self.embedder, self.ids)
        self.writer = Writer(tools, self.policies, self.views)
        self.changer = Changer(self.records, self.committer, self.policies, self.writer)
        self.conflicts = Conflicts(self.records, self.committer, self.policies)
        self.indexer = Indexer(self.records, self.committer, self.embedder)
        self.suspector = Suspector(self.records, self.views, self.conflicts, calibrations)
        self.caretaker = Caretaker(self.records, self.committer, self.policies, self.changer, self.conflicts)
        self.handlers = due_handlers(self.indexer, self.suspector, self.caretaker)
        self.workers = self._make_workers()
        self.reader = Reader(self.records, self.tails, self.served)
        self.searcher = Searcher(self.records, self.views, self.policies, self.embedder, self.served)
        self.matcher = Matcher(self.tails, match_thread or SameThread())
        self.meanings = Meanings(self.records, self.policies, self.embedder)
        self.watcher = Watcher(
            self.records, self.tails, self.matcher, self.meanings, self.served, checkpoint_seconds
        )
        self.groups = groups or FakeGroups(self.store, self.clock.now_ms)
        self.book = GroupBook(self.store, self.groups, self.meanings, self.ids)
        self.consumers = Consumers(
            self.store, self.groups, self.tails, self.matcher, self.meanings, self.book, self.served
        )
        self.namespaces = Namespaces(
            self.records, self.committer, self.policies, self.views, self.embedder.profile, ScriptedModel()
        )

    def _new_view(self, profile: str) -> View:
        return View(self.analyzer, self.calibrations(profile))

    async def work(self) -> int:
        """Do all that is due by now, and what follows from it; return how many items were taken."""
        every, done = range(self.store.partitions + 1), 0
        while taken := sum([await worker.work(every) for worker in self.workers]):
            done += taken
        return done

    def _make_workers(self) -> list[DueWorker]:
        kinds = (DueWorker, SlowWorker)
        return [kind(self.store, self.clock, self.handlers) for kind in kinds]

    async def catch_up(self) -> None:
        """Read every log that is followed to its end."""
        for partition in range(self.store.partitions + 1):
            if self.tails[partition].is_following:
                await self.tails[partition].catch_up()

    # -- short forms

    async def write(self, text: str, agent: str = "support", **fields: Any) -> Outcome:
        """Write a SEMANTIC memory about ``SUBJECT``, unless told otherwise."""
        given: dict[str, Any] = {"namespace": FACTS, "type": MemoryType.SEMANTIC, "subject": SUBJECT} | fields
        return await self.writer.write(Caller(agent=agent), WriteDraft(text=text, **given))

    async def note(self, text: str, agent: str = "support", **fields: Any) -> Outcome:
        """Write an EPISODIC memory."""
        return await self.write(text, agent, **({"type": MemoryType.EPISODIC, "subject": ""} | fields))

    async def get(self, memory: Memory | ResourceName) -> Memory:
        """Return a memory as it stands now."""
        found, _ = await self.reader.get(Caller(), name_of(memory), 0, Freshness())
        return found

    async def listed(
        self, namespace: Namespace = FACTS, states: frozenset[MemoryState] = ALL_STATES
    ) -> list[Memory]:
        """Return every memory of a namespace that is in one of the states."""
        page = await self.reader.list(Caller(), namespace, Filter(states=states), 0, 100_000, Freshness())
        return page.memories

    async def forget(self, memory: Memory, agent: str = "support", **options: Any) -> Outcome:
        return await self.changer.forget(Caller(agent=agent), name_of(memory), **options)

    async def restore(self, memory: Memory, agent: str = "support", **options: Any) -> Outcome:
        return await self.changer.restore(Caller(agent=agent), name_of(memory), **options)

    async def update(self, memory: Memory, agent: str = "support", **fields: Any) -> Outcome:
        return await self.changer.update(Caller(agent=agent), name_of(memory), MemoryChange(fields))

    async def open_conflicts(self, namespace: Namespace = FACTS) -> list[Stored[Conflict]]:
        found, _ = await self.conflicts.list(Caller(), namespace, (), 0, 1000)
        return found

    async def every_conflict(self, namespace: Namespace = FACTS) -> list[Stored[Conflict]]:
        found, _ = await self.conflicts.list(Caller(), namespace, list(ConflictState), 0, 1000)
        return found

    async def resolve(
        self,
        conflict: Stored[Conflict],
        action: ResolutionAction,
        memory: Memory | None = None,
        agent: str = "support",
        **options: Any,
    ) -> Any:
        name = ResourceName(conflict.record.namespace, "conflicts", conflict.record.id)
        holder = name_of(memory) if memory is not None else None
        return await self.conflicts.resolve(Caller(agent=agent), name, Decide(action, holder, **options))

    async def search(self, query: str = "", agent: str = "", **fields: Any) -> list[Memory]:
        """Return the memories that a search finds."""
        return [hit.memory for hit in await self.hits(query, agent, **fields)]

    async def hits(self, query: str = "", agent: str = "", **fields: Any) -> list[Hit]:
        """Return what a search finds."""
        asked: dict[str, Any] = {
            "namespaces": (FACTS,), "query": query, "top_k": 10, "vector": None, "as_agent": "",
            "for_user": "", "filter": Filter(), "freshness": Freshness(), "weights": None,
        }  # fmt: skip
        return (await self.searcher.search(Caller(agent=agent), SearchRequest(**(asked | fields)))).hits

    async def hear(self) -> list[WatchEvent]:
        """Return every event from the beginning."""
        events: list[WatchEvent] = []
        async with aclosing(self.watch()) as stream:
            async for message in stream:
                if isinstance(message, Batch):
                    events += message.events
                if isinstance(message, Progress):
                    break
        return events

    async def digest(self, namespace: Namespace = FACTS) -> str:
        """Return the digest of a namespace's view; empty where there is no such namespace."""
        view = await self.views.open(namespace)
        return "" if view is None else await self.views.ask(view, lambda v: v.digest())

    def watch(
        self,
        *patterns: str,
        start: Any = None,
        agent: str = "",
        **conditions: Any,
    ) -> Any:
        """Subscribe, by default to everything from the beginning."""
        parsed = tuple(Pattern.parse(pattern, "default") for pattern in patterns or ("*:*:*",))
        request = WatchRequest(parsed, EventFilter(**conditions), start or Beginning())
        return self.watcher.subscribe(Caller(agent=agent), request)


def name_of(memory: Memory | ResourceName) -> ResourceName:
    """Return the resource name of a memory."""
    if isinstance(memory, ResourceName):
        return memory
    return ResourceName(memory.namespace, "memories", memory.head.memory_id)


@asynccontextmanager
async def running(node: Node) -> AsyncIterator[Node]:
    """Have a node's tails follow the log by themselves."""
    await node.policies.load()
    node.tails.start()
    following = asyncio.create_task(node.policies.run())
    try:
        yield node
    finally:
        following.cancel()
        await node.tails.stop()
        await node.views.close()


async def eventually(condition: Callable[[], Any]) -> None:
    """Let other tasks run until a condition holds."""
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - the condition lies in whatever the other tasks do
            await asyncio.sleep(0)
