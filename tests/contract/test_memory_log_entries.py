"""What every MemoryLog does with the change log: entries, trimming, wake-ups, history and indexes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from hindsight_bus.domain.events import EventKind
from hindsight_bus.domain.memory import Channel, MemoryState, MemoryType
from hindsight_bus.domain.names import Namespace
from hindsight_bus.domain.position import Position
from hindsight_bus.domain.records import Conflict, ConflictState, NamespaceRecord
from hindsight_bus.domain.reviews import ReviewDecision, ReviewItem, ReviewState
from hindsight_bus.domain.tasks import (
    Item,
    ItemKind,
    LearntLesson,
    Lesson,
    Rating,
    Reflection,
    ReflectionState,
    Step,
    StepKind,
    Task,
    TaskOutcome,
    TaskSteps,
)
from hindsight_bus.domain.values import replace
from hindsight_bus.ports import HistoryStep, MemoryLog, Ref
from tests.contract.memory_log_rig import (
    NS,
    PARTITION,
    PARTITIONS,
    Rig,
    event,
    head,
    ids,
    memory_id,
    step,
)

FULL_EVENT = event(
    "full",
    EventKind.SUPERSEDED,
    version=3,
    before=MemoryState.CONTESTED,
    after=MemoryState.SUPERSEDED,
    confidence_before=0.123456,
    confidence_after=0.99,
    version_before=2,
    create_time_ms=1_700_000_000_123,
    create_revision=2**40,
    agent="a",
    reason="用户 🦊",
    conflict_id="c",
    superseded_by="s",
    subject_key="k",
    agents=("a", "b"),
)


async def test_an_entry_holds_what_was_committed(rig: Rig) -> None:
    """Revision, stamp, the store's time and the events in order, every field unchanged."""
    events = (event("m"), FULL_EVENT, event("m", EventKind.CONTESTED))
    done = await rig.commit(head("m"), stamp=2**32 - 1, events=events)
    [entry] = await rig.log.entries(PARTITION, 0)
    assert entry.events == events
    assert Position(entry.partition, entry.revision, entry.stamp) == done.position
    assert entry.time_ms == done.time_ms


async def test_entries_page_by_revision(rig: Rig) -> None:
    """Entries above ``after`` come oldest first, at most ``limit``, and none is left out between pages."""
    for _ in range(7):
        await rig.commit(head("m"))
    pages = [await rig.log.entries(PARTITION, after, limit=3) for after in (0, 3, 6, 7, 100)]
    assert [[entry.revision for entry in page] for page in pages] == [[1, 2, 3], [4, 5, 6], [7], [], []]


async def test_trimming_drops_below_and_remembers_the_newest_dropped(rig: Rig) -> None:
    """Entries below the floor go; the trimmed position names the last one dropped; the rest is as before."""
    done = [await rig.commit(head("m")) for _ in range(6)]
    await rig.log.trim(PARTITION, 4)
    ends = await rig.log.ends(PARTITION)
    assert ends.trimmed == done[2].position
    assert ends.newest == done[5].position
    assert [entry.revision for entry in await rig.log.entries(PARTITION, 0)] == [4, 5, 6]


async def test_trimming_again_or_lower_changes_nothing(rig: Rig) -> None:
    """The floor never moves back."""
    done = [await rig.commit(head("m")) for _ in range(4)]
    for below in (3, 3, 1, 0):
        await rig.log.trim(PARTITION, below)
    assert (await rig.log.ends(PARTITION)).trimmed == done[1].position
    assert len(await rig.log.entries(PARTITION, 0)) == 2


async def test_revisions_go_on_after_everything_was_trimmed(rig: Rig) -> None:
    """An emptied log remembers where it was, and the next commit takes the next revision."""
    done = [await rig.commit(head("m")) for _ in range(3)]
    await rig.log.trim(PARTITION, 1000)
    ends = await rig.log.ends(PARTITION)
    assert ends.trimmed == ends.newest == done[2].position
    assert await rig.log.entries(PARTITION, 0) == []
    assert (await rig.commit(head("m"))).position.revision == 4


async def test_trimming_an_empty_log_does_nothing(rig: Rig) -> None:
    """There is nothing to remember before the first commit."""
    await rig.log.trim(PARTITION, 10)
    assert (await rig.log.ends(PARTITION)).trimmed == Position(PARTITION, 0, 0)


@contextlib.asynccontextmanager
async def listening(log: MemoryLog) -> AsyncIterator[asyncio.Queue[Position]]:
    heard: asyncio.Queue[Position] = asyncio.Queue()

    async def listen() -> None:
        async for position in log.wakeups():
            heard.put_nowait(position)

    listener = asyncio.create_task(listen())
    try:
        yield heard
    finally:
        listener.cancel()
        await asyncio.wait([listener])


async def test_a_commit_wakes_every_listener(rig: Rig) -> None:
    """Each listener hears of the position soon after the commit, the control partition's included."""
    async with listening(rig.log) as one, listening(rig.log) as two:
        for partition in (PARTITION, PARTITIONS):
            made: list[Position] = []

            async def is_heard(partition: int = partition, made: list[Position] = made) -> bool:
                made.append((await rig.commit(head("m"), partition=partition)).position)
                heard = [queue.get_nowait() for queue in (one, two) if not queue.empty()]
                return len(heard) == 2 and set(heard) <= set(made)

            await rig.until(is_heard)
            await _drain(rig, one, two)


async def _drain(rig: Rig, *queues: asyncio.Queue[Position]) -> None:
    """Empty the queues up to the news of one last commit."""
    last = next(number for number in range(PARTITIONS) if number != PARTITION)
    await rig.commit(head("m"), partition=last)
    for queue in queues:
        while (await asyncio.wait_for(queue.get(), 5)).partition != last:
            pass


async def test_a_commit_without_events_wakes_nobody(rig: Rig) -> None:
    """Only what enters the log is news."""
    async with listening(rig.log) as heard:

        async def is_listening() -> bool:
            await rig.commit(head("m"))
            return not heard.empty()

        await rig.until(is_listening)
        await _drain(rig, heard)
        await rig.commit(head("n"), events=())
        other = (PARTITION + 1) % PARTITIONS
        await rig.commit(head("m"), partition=other)
        assert (await asyncio.wait_for(heard.get(), 5)).partition == other


async def test_a_refused_commit_wakes_nobody(rig: Rig) -> None:
    """Nothing happened, so there is nothing to hear."""
    async with listening(rig.log) as heard:

        async def is_listening() -> bool:
            await rig.commit(head("m"))
            return not heard.empty()

        await rig.until(is_listening)
        await _drain(rig, heard)
        with pytest.raises(Exception, match="2 s"):
            await rig.commit(head("n"), now_ms=1)
        other = (PARTITION + 1) % PARTITIONS
        await rig.commit(head("m"), partition=other)
        assert (await asyncio.wait_for(heard.get(), 5)).partition == other


# --- history


async def test_transitions_keep_time_and_revision(rig: Rig) -> None:
    """A memory's history lists its transitions oldest first, each with the commit that made it."""
    first = await rig.commit(transitions=(step("m"), step("n")))
    later = replace(step("m", 2), before=MemoryState.ACTIVE, after=MemoryState.OVERRIDDEN, reason="用户")
    second = await rig.commit(transitions=(later,))
    assert await rig.log.history(PARTITION, memory_id("m")) == [
        HistoryStep(step("m"), 1, first.time_ms),
        HistoryStep(later, 2, second.time_ms),
    ]
    assert await rig.log.history(PARTITION, memory_id("nobody")) == []


async def test_history_keeps_the_newest_256(rig: Rig) -> None:
    """The oldest steps go first."""
    await rig.commit(transitions=tuple(step("m", number) for number in range(1, 201)))
    await rig.commit(transitions=tuple(step("m", number) for number in range(201, 301)))
    found = await rig.log.history(PARTITION, memory_id("m"))
    assert [each.transition.version for each in found] == list(range(45, 301))


# --- indexes


async def test_memories_are_listed_by_creation(rig: Rig) -> None:
    """Ids come in order of creation revision; a later change moves nothing; namespaces are apart."""
    other = Namespace(NS.tenant, NS.scope, NS.owner, "other")
    for name in ("c", "a", "b"):
        await rig.commit(head(name))
    await rig.commit(head("c", version=2), head("x", other))
    assert await rig.log.memory_ids(NS) == [(memory_id("c"), 1), (memory_id("a"), 2), (memory_id("b"), 3)]
    assert await rig.log.memory_ids(other) == [(memory_id("x"), 4)]
    assert await rig.log.memory_ids(NS, after=1, limit=1) == [(memory_id("a"), 2)]
    assert await rig.log.memory_ids(NS, after=3) == []


async def test_a_revision_is_never_split_between_pages(rig: Rig) -> None:
    """A page goes on to the end of its last revision, so paging by ``after`` meets every memory once."""
    groups = [["a"], ["b", "c", "d"], ["e"]]
    for group in groups:
        await rig.commit(*map(head, group))
    page = await rig.log.memory_ids(NS, limit=2)
    assert sorted(ids(page)) == sorted(map(memory_id, "abcd"))
    assert [revision for _, revision in page] == [1, 2, 2, 2]
    assert await rig.log.memory_ids(NS, after=2, limit=2) == [(memory_id("e"), 3)]
    assert len(await rig.log.memory_ids(NS, limit=1)) == 1


async def test_conflicts_are_listed_newest_first(rig: Rig) -> None:
    """Conflict ids come by creation revision, newest first; ``before`` is exclusive; a change moves nothing."""
    conflicts = [
        Conflict(NS, memory_id(name), "s", "k", MemoryType.SEMANTIC, ConflictState.OPEN, ()) for name in "abc"
    ]
    for conflict in conflicts:
        await rig.commit(conflict)
    await rig.commit(replace(conflicts[0], state=ConflictState.MOOT))
    newest_first = [(memory_id("c"), 3), (memory_id("b"), 2), (memory_id("a"), 1)]
    assert await rig.log.conflict_ids(NS) == newest_first
    assert await rig.log.conflict_ids(NS, before=3) == newest_first[1:]
    assert await rig.log.conflict_ids(NS, limit=2) == newest_first[:2]
    assert await rig.log.conflict_ids(NS, before=1) == []


async def test_tasks_are_listed_newest_first(rig: Rig) -> None:
    """As conflicts are, and apart from them."""
    tasks = [Task(NS, memory_id(name), "Refund the order", "refund", "zhangsan", "support") for name in "ab"]
    for task in tasks:
        await rig.commit(task)
    await rig.commit(replace(tasks[0], outcome=TaskOutcome.FAILURE, score=0.25, recorded=((1, 3), (5, 5))))
    assert await rig.log.task_ids(NS) == [(memory_id("b"), 2), (memory_id("a"), 1)]
    assert await rig.log.task_ids(NS, before=2, limit=1) == [(memory_id("a"), 1)]
    assert await rig.log.conflict_ids(NS) == []


async def test_review_items_are_listed_newest_first_and_read_back(rig: Rig) -> None:
    """Apart from everything else."""
    items = [ReviewItem(NS, memory_id(name), memory_id("t"), "it failed", (1, 2)) for name in "ab"]
    for item in items:
        await rig.commit(item)
    decided = replace(
        items[0], state=ReviewState.AMENDED, memory_id="m", decision=ReviewDecision("ann", "because", 5)
    )
    await rig.commit(decided)
    assert await rig.log.review_ids(NS) == [(memory_id("b"), 2), (memory_id("a"), 1)]
    assert await rig.log.review_ids(NS, before=2, limit=1) == [(memory_id("a"), 1)]
    assert await rig.log.task_ids(NS) == []
    [stored] = await rig.read(Ref(ReviewItem, (memory_id("a"),)))
    assert stored.record == decided


async def test_a_task_reads_back_whole(rig: Rig) -> None:
    """The task, its steps and its reflection come back as they were written."""
    task = Task(NS, memory_id("a"), "退款", "refund", "zhangsan", "support", recorded=((1, 2),), score=None)
    call = Step(1, StepKind.TOOL_CALL, "", "pay", "{}", "", "402", 7, 9, Rating.NONE, Channel.TOOL, 0.5)
    steps = TaskSteps(
        NS, task.id, 1, "support", (call, Step(2, StepKind.FEEDBACK, "不对", rating=Rating.BAD))
    )
    lesson = Lesson("s", "a", "r", "l", (1, 2), "failed/pay/other", 0.5)
    reflection = Reflection(
        NS, task.id, ReflectionState.SUCCEEDED, 2, "rules", 1, 1,
        (Item(ItemKind.NEXT_TIME, "l", (1,)),), (LearntLesson(memory_id("b"), 1, lesson),), 9, 3,
    )  # fmt: skip
    await rig.commit(task, steps, reflection)
    refs = [Ref(Task, (task.id,)), Ref(TaskSteps, (task.id, 1)), Ref(Reflection, (task.id,))]
    assert [stored.record for stored in await rig.read(*refs)] == [task, steps, reflection]


async def test_namespaces_are_listed_by_partition_and_owner(rig: Rig) -> None:
    """Ids are sorted; an owner's list holds that owner's alone."""
    own = [Namespace("acme", "user", "zhangsan", kind) for kind in ("a", "b", "c")]
    foreign = Namespace("acme", "user", "lisi", "a")
    await rig.commit(*(NamespaceRecord(namespace, "e5", 4) for namespace in [*own, foreign]))
    await rig.commit(NamespaceRecord(own[0], "e5", 384))
    assert await rig.log.namespaces(PARTITION) == sorted(each.id for each in [*own, foreign])
    assert await rig.log.owner_namespaces(PARTITION, NS.owner_id) == sorted(each.id for each in own)
    assert await rig.log.owner_namespaces(PARTITION, foreign.owner_id) == [foreign.id]
    assert await rig.log.namespaces(PARTITIONS) == []
