"""Views of namespaces on this node: loaded on first touch, kept fresh by the tails, dropped under a memory budget.

Every call into a view runs on one thread of its own, so views need no locks and the event loop never waits for one.
Each visit to a view first applies what the tail has brought since the last one and then answers every search that
waits: a reader sees all that its node knows, and work is batched exactly when there is much of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import Executor
from typing import Any, TypeVar

from hindsight_bus.app.deadline import waiting_limit
from hindsight_bus.app.freshness import Freshness
from hindsight_bus.app.pulse import Pulse
from hindsight_bus.app.records import RecordReader, StoredMemory
from hindsight_bus.app.tail import LogCommit, Tails, read_commits
from hindsight_bus.domain.errors import IndexBehind, LogDiverged, PositionLost
from hindsight_bus.domain.events import KINDS_BESIDE, Event, EventKind
from hindsight_bus.domain.memory import MemoryState
from hindsight_bus.domain.names import Namespace
from hindsight_bus.domain.position import Position
from hindsight_bus.domain.records import NamespaceRecord, Usage
from hindsight_bus.domain.values import replace
from hindsight_bus.ports import Candidate, NamespaceView, Row, ViewQuery

T = TypeVar("T")

_LOAD_PAGE = 500
"""Memories read at once: few enough that they are still in the caches of the processor when they enter the view."""
_WEIGH_SECONDS = 0.25
"""How long a view that has grown may be over the budget unnoticed."""
_IDLE_FLUSH_SECONDS = 0.1
"""How long changes wait for a reader before they are applied anyway: long enough to be applied many at a time."""


def row_of(stored: StoredMemory, usage: Usage | None = None) -> Row:
    """Return the view row of a memory as the store holds it; ``usage`` None: nobody reported on it."""
    head = stored.head
    return Row(
        memory_id=head.record.memory_id,
        create_revision=head.create_revision,
        create_time_ms=head.create_time_ms,
        revision=head.revision,
        state=head.record.state,
        effective_confidence=head.record.effective_confidence,
        version=stored.version,
        agents=head.record.agents,
        vector=None if stored.vector is None else stored.vector.values,
        pieces=b"" if stored.vector is None else stored.vector.pieces,
        retrieved=usage.retrieved if usage is not None else 0,
        used=usage.used if usage is not None else 0,
        superseded_by=head.record.superseded_by,
    )


def changed_row(row: Row | None, event: Event, commit: LogCommit) -> Row | None:
    """Return a memory's row after an event; None where the memory is gone or its text was erased.

    Applying an event that the row reflects already changes nothing.
    """
    key = (event.memory_id, event.version)
    if event.kind is EventKind.USED:
        return None if row is None else _used_row(row, event)
    if event.kind is EventKind.INDEXED:
        vector = commit.vectors.get(key)
        if row is None or vector is None or row.version.number != event.version:
            return row
        return replace(row, vector=vector.values, pieces=vector.pieces)
    if row is not None and row.revision > commit.revision:
        return row
    version = commit.versions.get(key)
    if event.kind in KINDS_BESIDE:
        return row
    if event.after is MemoryState.NONE or version is None:
        return None
    same = row if row is not None and row.version.number == event.version else None
    return Row(
        memory_id=event.memory_id,
        create_revision=event.create_revision or commit.revision,
        create_time_ms=event.create_time_ms or commit.entry.time_ms,
        revision=commit.revision,
        state=event.after,
        effective_confidence=event.confidence_after,
        version=version,
        agents=event.agents,
        vector=same.vector if same is not None else None,
        pieces=same.pieces if same is not None else b"",
        retrieved=row.retrieved if row is not None else 0,
        used=row.used if row is not None else 0,
        superseded_by=event.superseded_by,
    )


def _used_row(row: Row, event: Event) -> Row:
    retrieved, used = max(row.retrieved, event.retrieved), max(row.used, event.used)
    return replace(row, retrieved=retrieved, used=used)


def apply_events(view: NamespaceView, events: Sequence[tuple[LogCommit, Event]]) -> None:
    """Bring a view up to date; events of one memory are folded into one change."""
    rows: dict[str, Row | None] = {}
    for commit, event in events:
        memory_id = event.memory_id
        before = rows[memory_id] if memory_id in rows else view.get(memory_id)
        rows[memory_id] = changed_row(before, event, commit)
    view.upsert(row for row in rows.values() if row is not None)
    view.remove(memory_id for memory_id, row in rows.items() if row is None)


class LoadedView:
    """One namespace's view together with what waits to be done with it."""

    def __init__(self, record: NamespaceRecord, partition: int, view: NamespaceView) -> None:
        self.record = record
        self.partition = partition
        self.view = view
        self.last_used = 0.0
        self.size_bytes = 0
        self.weigh_at = 0.0
        """When it is to be weighed again, for it has changed since; 0 = it has not."""
        self.inbox: list[tuple[LogCommit, Event]] = []
        self.queries: list[tuple[ViewQuery, asyncio.Future[list[Candidate]]]] = []
        self.jobs: list[tuple[Callable[[NamespaceView], Any], asyncio.Future[Any]]] = []
        self.is_visited = False

    @property
    def dimension(self) -> int:
        """Dimension of the namespace's vectors; 0 while unknown."""
        return self.record.dimension or self.view.dimension

    def take(self) -> Visit | None:
        """Return a visit with everything that waits; None where nothing does."""
        if not (self.inbox or self.queries or self.jobs):
            return None
        visit = Visit(self, self.inbox, self.queries, self.jobs)
        self.inbox, self.queries, self.jobs = [], [], []
        return visit


class Visit:
    """Events to be applied to a view, then queries and jobs to be answered."""

    def __init__(
        self,
        view: LoadedView,
        events: Sequence[tuple[LogCommit, Event]],
        queries: Sequence[tuple[ViewQuery, asyncio.Future[list[Candidate]]]],
        jobs: Sequence[tuple[Callable[[NamespaceView], Any], asyncio.Future[Any]]],
    ) -> None:
        self.view = view
        self.events = events
        self.error: Exception | None = None
        self._queries = queries
        self._jobs = jobs
        self._results: list[Any] = []

    def make(self) -> None:
        """Do everything; nobody else may touch the view meanwhile."""
        view = self.view.view
        if self.events:
            apply_events(view, self.events)
        if self._queries:
            self._results += view.search([query for query, _ in self._queries])
        self._results += [job(view) for job, _ in self._jobs]

    def answer(self) -> None:
        """Tell whoever asked, if they still wait."""
        for number, (_, future) in enumerate((*self._queries, *self._jobs)):
            if future.done():
                continue
            if self.error is not None:
                future.set_exception(self.error)
            else:
                future.set_result(self._results[number])


class Views:
    """Every loaded view of this node."""

    def __init__(
        self,
        reader: RecordReader,
        tails: Tails,
        new_view: Callable[[str], NamespaceView],
        index_thread: Executor,
        budget_bytes: int,
    ) -> None:
        self._reader = reader
        self._tails = tails
        self._new_view = new_view
        self._index_thread = index_thread
        self._budget_bytes = budget_bytes
        self._loaded: dict[str, LoadedView] = {}
        self._profiles: dict[str, tuple[str]] = {}
        """Namespaces whose views are loaded or about to be -> the profile of their vectors."""
        tails.want_vectors(lambda namespace: self._profiles.get(namespace.id, ()))
        self._loading: dict[str, asyncio.Task[LoadedView | None]] = {}
        self._listening: set[int] = set()
        self._used_bytes = 0
        self._changed = Pulse()

    # -- for the other use cases

    async def open(self, namespace: Namespace) -> LoadedView | None:
        """Return the view of a namespace, loading it first if need be; None where there is no such namespace.

        Cost of loading: O(memories), about the cost of fetching them.
        """
        view = self._loaded.get(namespace.id)
        if view is None:
            task = self._loading.get(namespace.id)
            if task is None:
                task = asyncio.create_task(self._load(namespace))
                self._loading[namespace.id] = task
                task.add_done_callback(lambda _: self._loading.pop(namespace.id, None))
            view = await asyncio.shield(task)
        if view is not None:
            view.last_used = asyncio.get_running_loop().time()
        return view

    def peek(self, namespace_id: str) -> LoadedView | None:
        """Return a view only if it is loaded."""
        return self._loaded.get(namespace_id)

    async def search(self, view: LoadedView, query: ViewQuery) -> list[Candidate]:
        """Answer a query from everything that this node knows by now."""
        view = await self._current(view)
        future: asyncio.Future[list[Candidate]] = asyncio.get_running_loop().create_future()
        view.queries.append((query, future))
        self._visit(view)
        return await future

    async def ask(self, view: LoadedView, job: Callable[[NamespaceView], T]) -> T:
        """Run a job on the view, after everything that this node knows by now has been applied."""
        view = await self._current(view)
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        view.jobs.append((job, future))
        self._visit(view)
        return await future

    async def _current(self, view: LoadedView) -> LoadedView:
        """Return the view, or the one in its place where it was dropped while its reader waited for something."""
        namespace, current = view.record.namespace, view
        while self._loaded.get(namespace.id) is not current:
            current = await self.open(namespace) or current
        return current

    def position(self, view: LoadedView) -> Position:
        """Return how far a visit that starts now sees."""
        return self._tails[view.partition].position

    async def wait_until(self, view: LoadedView, freshness: Freshness) -> None:
        """Return once a visit fulfils the requirement; raise ``IndexBehind`` when the deadline comes first."""
        tail = self._tails[view.partition]
        wanted = freshness.at_least.get(view.partition)
        if freshness.fully_consistent:
            wanted = (await self._reader.store.ends(view.partition)).newest
        target = wanted.revision if wanted is not None else tail.position.revision
        try:
            async with waiting_limit():
                if wanted is not None:
                    await self._reach(view, wanted)
                if freshness.require_vectors:
                    await self._vectors_up_to(view, target)
        except TimeoutError:
            raise IndexBehind(str(view.record.namespace)) from None

    async def close(self) -> None:
        """Stop visiting and drop every view."""
        for task in self._loading.values():
            task.cancel()
        await asyncio.gather(*self._loading.values(), return_exceptions=True)
        self._loaded.clear()

    # -- freshness

    async def _reach(self, view: LoadedView, wanted: Position) -> None:
        tail = self._tails[view.partition]
        while tail.position.revision < wanted.revision:
            newest, epoch = (await self._reader.store.ends(view.partition)).newest, tail.epoch
            if newest.revision < wanted.revision:
                raise LogDiverged(view.partition, newest.revision)
            tail.wake()
            while tail.position.revision < wanted.revision and tail.epoch == epoch:
                await self._changed.after(self._changed.count)
        await tail.confirm(wanted)

    async def _vectors_up_to(self, view: LoadedView, revision: int) -> None:
        seen = self._changed.count
        while await self.ask(view, lambda v: v.has_pending_vectors(revision)):
            await self._changed.after(seen)
            seen = self._changed.count

    # -- loading

    async def _load(self, namespace: Namespace) -> LoadedView | None:
        stored = await self._reader.namespace(namespace)
        if stored is None:
            return None
        partition = self._reader.partition(namespace)
        tail = self._tails[partition]
        if partition not in self._listening:
            self._listening.add(partition)
            tail.listen(lambda commits: self._on_commits(partition, commits))
        while True:
            self._profiles[namespace.id] = (stored.record.profile,)
            start, epoch = await tail.follow(), tail.epoch
            loaded = LoadedView(stored.record, partition, self._new_view(stored.record.profile))
            await self._fill(loaded.view, self._rows(namespace, stored.record.profile, start.revision))
            try:
                await self._join_tail(loaded, start)
            except PositionLost:
                continue
            if tail.epoch == epoch:
                self._weigh(loaded)
                return loaded

    async def _fill(self, view: NamespaceView, pages: AsyncIterator[list[Row]]) -> None:
        """Enter pages of rows, each while the next one is fetched."""
        entered: Awaitable[None] = asyncio.sleep(0)
        async for rows in pages:
            await entered
            entered = asyncio.create_task(self._on_thread(view.upsert, rows))
        await entered

    async def _rows(self, namespace: Namespace, profile: str, upto: int) -> AsyncIterator[list[Row]]:
        """Yield the rows of every memory made up to a revision. Newer ones come by the tail: writers never end."""
        partition, after = self._reader.partition(namespace), 0
        while after < upto and (page := await self._reader.store.memory_ids(namespace, after, _LOAD_PAGE)):
            after = page[-1][1]
            ids = [memory_id for memory_id, _ in page]
            memories, usages = await asyncio.gather(
                self._reader.memories(partition, ids, profile), self._reader.usages(partition, ids)
            )
            found = zip(ids, memories, strict=True)
            yield [row_of(memory, usages.get(each)) for each, memory in found if memory is not None]

    async def _join_tail(self, view: LoadedView, start: Position) -> None:
        tail = self._tails[view.partition]
        while (commits := tail.since(start.revision)) is None:
            commits = await read_commits(self._reader.store, start, _LOAD_PAGE, self._tails.vector_profiles)
            view.inbox.extend(events_of(commits, view.record.namespace.id))
            start = commits[-1].position
        view.inbox.extend(events_of(commits, view.record.namespace.id))
        self._loaded[view.record.namespace.id] = view

    def _weigh(self, view: LoadedView) -> None:
        """Account for a view's growth, and drop the least recently used ones while all are over the budget."""
        self._used_bytes += view.view.size_bytes - view.size_bytes
        view.size_bytes = view.view.size_bytes
        view.weigh_at = 0.0
        if self._used_bytes <= self._budget_bytes:
            return
        for other in sorted(self._loaded.values(), key=lambda v: v.last_used):
            if other is not view and not other.is_visited and self._used_bytes > self._budget_bytes:
                self._drop(other)

    def _drop(self, view: LoadedView) -> None:
        if self._loaded.get(view.record.namespace.id) is view:
            del self._loaded[view.record.namespace.id]
            self._used_bytes -= view.size_bytes
            self._profiles.pop(view.record.namespace.id, None)

    # -- visiting

    def _on_commits(self, partition: int, commits: Sequence[LogCommit]) -> None:
        if not commits:
            for stale in [view for view in self._loaded.values() if view.partition == partition]:
                self._drop(stale)
        for commit in commits:
            for event in commit.entry.events:
                view = self._loaded.get(event.namespace.id)
                if view is not None:
                    view.inbox.append((commit, event))
                    if not view.is_visited and len(view.inbox) == 1:
                        asyncio.get_running_loop().call_later(_IDLE_FLUSH_SECONDS, self._visit, view)
        self._changed.fire()

    def _visit(self, view: LoadedView) -> None:
        """Have a view visited at the end of this turn, with everything that waits by then."""
        if not view.is_visited and (view.inbox or view.queries or view.jobs):
            view.is_visited = True
            asyncio.get_running_loop().call_soon(self._begin_visit, view)

    def _begin_visit(self, view: LoadedView) -> None:
        visit = view.take()
        view.is_visited = visit is not None
        if visit is not None:
            self._index_thread.submit(self._make_visit, visit, asyncio.get_running_loop())

    def _make_visit(self, visit: Visit, loop: asyncio.AbstractEventLoop) -> None:
        """Runs on the index thread, which tells the event loop without the turns that a future of its own takes."""
        try:
            visit.make()
        except Exception as error:  # noqa: BLE001 - whoever asked gets it; requests must not stay unanswered
            visit.error = error
        loop.call_soon_threadsafe(self._end_visit, visit)

    def _end_visit(self, visit: Visit) -> None:
        view = visit.view
        if visit.error is not None:
            self._drop(view)
        visit.answer()
        if self._loaded.get(view.record.namespace.id) is view:
            self._weigh_in_time(view, has_changed=bool(visit.events))
            if visit.events:
                self._changed.fire()
        self._begin_visit(view)

    def _weigh_in_time(self, view: LoadedView, *, has_changed: bool) -> None:
        """Weigh a view that has just been visited, or later: not each of many small changes is worth it."""
        loop = asyncio.get_running_loop()
        if view.weigh_at and loop.time() >= view.weigh_at:
            self._weigh(view)
        elif has_changed and not view.weigh_at:
            view.weigh_at = loop.time() + _WEIGH_SECONDS
            loop.call_at(view.weigh_at, self._weigh_unvisited, view)

    def _weigh_unvisited(self, view: LoadedView) -> None:
        """Weigh a view that has changed, unless the index thread is at it; then the end of the visit will do it."""
        if view.weigh_at and not view.is_visited and self._loaded.get(view.record.namespace.id) is view:
            self._weigh(view)

    async def _on_thread(self, function: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._index_thread, function, *arguments)


def events_of(commits: Sequence[LogCommit], namespace_id: str) -> list[tuple[LogCommit, Event]]:
    """Return the events of one namespace, each with its commit."""
    return [
        (commit, event)
        for commit in commits
        for event in commit.entry.events
        if event.namespace.id == namespace_id
    ]
