"""Recording which memories answers used: what was given, what was used, counted with each memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence

from hindsight_bus.app.caller import Caller
from hindsight_bus.app.commit import Committer
from hindsight_bus.app.outcome import Receipts
from hindsight_bus.app.plan import CommitPlan
from hindsight_bus.app.records import RecordReader, StoredMemory
from hindsight_bus.domain.errors import RequestIdReused
from hindsight_bus.domain.memory import Decision, Head
from hindsight_bus.domain.names import Namespace, ResourceName
from hindsight_bus.domain.position import Position, Positions
from hindsight_bus.domain.records import Receipt, Usage
from hindsight_bus.domain.usage import Given, estimate_used
from hindsight_bus.domain.values import Value, replace
from hindsight_bus.ports import Record, Ref, Stored


class UsageReport(Value):
    """What an agent was given for one answer, and what the answer used of it: named, or told by its text."""

    retrieved: tuple[ResourceName, ...]
    used: frozenset[ResourceName]
    answer: str
    """Empty: ``used`` counts."""
    query: str
    request_id: str
    payload: str


class UsageOutcome(Value):
    """What was counted as used, in the order in which it was given, and how much was counted as given."""

    used: list[ResourceName]
    retrieved: int
    positions: Positions


class UsageRecorder:
    """Counts with each memory how often it was given and used. A commit a namespace; nothing else of it is kept."""

    def __init__(self, reader: RecordReader, committer: Committer) -> None:
        self.listeners: list[Callable[[int, int], None]] = []
        """Called with how many memories an answer was given and how many it used."""
        self._reader = reader
        self._committer = committer

    async def record(self, caller: Caller, report: UsageReport) -> UsageOutcome:
        """Count one answer; memories that are not there (any more) are left out.

        Sent again under its request_id within 24 hours it counts nothing: each namespace has a receipt of its own, so
        one that was cut off half-way is completed.

        Raises:
            RequestIdReused: the request_id came with another report.
        """
        agent = caller.require_agent()
        memories = await self._memories(report.retrieved)
        given = [name for name in report.retrieved if name in memories]
        used = _used(report, given, memories)
        groups: dict[Namespace, list[ResourceName]] = {}
        for name in given:
            groups.setdefault(name.namespace, []).append(name)
        counted = await asyncio.gather(
            *(self._count(agent, report, namespace, names, used) for namespace, names in groups.items())
        )
        if any(is_new for _, is_new in counted):
            for listener in self.listeners:
                listener(len(given), len(used))
        positions = Positions(position for position, _ in counted)
        return UsageOutcome([name for name in given if name in used], len(given), positions)

    async def _memories(self, names: Iterable[ResourceName]) -> dict[ResourceName, StoredMemory]:
        partitions: dict[int, list[ResourceName]] = {}
        for name in names:
            partitions.setdefault(self._reader.partition(name.namespace), []).append(name)
        found: dict[ResourceName, StoredMemory] = {}
        for partition, members in partitions.items():
            stored = await self._reader.memories(partition, [name.id for name in members], "")
            for name, memory in zip(members, stored, strict=True):
                if memory is not None and memory.head.record.namespace == name.namespace:
                    found[name] = memory
        return found

    async def _count(
        self,
        agent: str,
        report: UsageReport,
        namespace: Namespace,
        names: Sequence[ResourceName],
        used: Collection[ResourceName],
    ) -> tuple[Position, bool]:
        """Count in one namespace; return where, and whether it had not been counted before."""

        async def attempt() -> tuple[Position, bool]:
            return await self._attempt(agent, report, namespace, names, used)

        async with self._committer.locks.holding(namespace.id, "usage"):
            return await self._committer.attempt(attempt)

    async def _attempt(
        self,
        agent: str,
        report: UsageReport,
        namespace: Namespace,
        names: Sequence[ResourceName],
        used: Collection[ResourceName],
    ) -> tuple[Position, bool]:
        partition = self._reader.partition(namespace)
        receipt = Receipts.ref(namespace, agent, report.request_id)
        refs = [receipt, *(Ref(kind, (name.id,)) for kind in (Head, Usage) for name in names)]
        answered, *stored = await self._reader.store.read(partition, refs)
        if report.request_id and answered is not None:
            _require_same(answered, report)
            return (await self._reader.store.ends(partition)).newest, False
        plan = CommitPlan(partition, namespace, agent)
        for name, head, usage in zip(names, stored[: len(names)], stored[len(names) :], strict=True):
            if head is not None:
                before = usage.record if usage is not None else Usage(namespace, name.id)
                after = _grown(before, is_used=name in used)  # type: ignore[arg-type]
                plan.count_use(head, usage, after)  # type: ignore[arg-type]
        if report.request_id:
            Receipts.add(plan, _receipt(namespace, agent, report))
        return (await self._committer.commit(plan)).position, True


def _used(
    report: UsageReport, given: Sequence[ResourceName], memories: dict[ResourceName, StoredMemory]
) -> frozenset[ResourceName]:
    if not report.answer:
        return report.used.intersection(given)
    versions = [memories[name].version for name in given]
    texts = [Given(version.text, version.value) for version in versions]
    judged = estimate_used(report.answer, report.query, texts)
    return frozenset(name for name, is_used in zip(given, judged, strict=True) if is_used)


def _grown(usage: Usage, *, is_used: bool) -> Usage:
    return replace(usage, retrieved=usage.retrieved + 1, used=usage.used + is_used)


def _receipt(namespace: Namespace, agent: str, report: UsageReport) -> Receipt:
    return Receipt(namespace, agent, report.request_id, report.payload, Decision.UPDATED, memory_id="")


def _require_same(answered: Stored[Record], report: UsageReport) -> None:
    if not isinstance(answered.record, Receipt) or answered.record.payload != report.payload:
        raise RequestIdReused(report.request_id)
