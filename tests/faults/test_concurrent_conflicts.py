"""Fault row 14: two servers on one Valkey, sixteen writers on fifty subjects, pauses and kills; one legal outcome."""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from hbus.v1.memory_pb2 import Memory, MemoryState
from hbus.v1.memory_service_pb2 import Decision, WriteMemoryResponse
from hindsight_bus.adapters.valkey.log import ValkeyLog
from hindsight_bus.app.caller import OPEN_TENANT
from hindsight_bus.domain import memory as domain
from hindsight_bus.domain.memory import MemoryType
from hindsight_bus.domain.names import Namespace, partition_of
from hindsight_bus.domain.policy import Policy
from hindsight_bus.domain.records import SubjectRecord
from hindsight_bus.domain.statements import subject_key
from hindsight_bus.ports import Ref
from tests.faults import checkers
from tests.faults.conftest import Serve
from tests.faults.forms import forms
from tests.faults.history import History
from tests.faults.linearizability import Listed, Said, Statement, Subject, explain
from tests.faults.load import client, listed, supply_vectors, vector
from tests.faults.processes import ServerProcess, ValkeyProcess

pytestmark = [pytest.mark.faults, pytest.mark.e2e]

WRITERS = 16
NAMESPACES = [f"user:u{n}:facts" for n in range(5)]
SUBJECTS = [(namespace, f"choice.{n}") for namespace in NAMESPACES for n in range(10)]
TEXTS = ("by train", "by bus", "on foot")
CONFIDENCES = (0.5, 0.7, 0.9)


class Times:
    """Event times in the last hour, each later than the one before."""

    def __init__(self) -> None:
        self._base = datetime.now(UTC) - timedelta(hours=1)
        self._count = itertools.count()

    def next(self) -> datetime:
        """Return the next one."""
        return self._base + timedelta(milliseconds=next(self._count))


@dataclass(slots=True)
class Workload:
    """What writers do, and to which servers."""

    targets: Sequence[str]
    history: History
    chance: random.Random
    times: Times
    writes: int
    """Of one writer."""

    async def run(self, number: int) -> None:
        """Say one thing after the other, each until it is acknowledged."""
        name = f"w{number}"
        async with client(self.targets[number % len(self.targets)], name) as bus:
            for count in range(self.writes):
                namespace, subject = self.chance.choice(SUBJECTS)
                text, confidence = self.chance.choice(TEXTS), self.chance.choice(CONFIDENCES)
                call = self.history.begin(
                    name,
                    "write",
                    f"{name}-{count}",
                    on=(namespace, subject),
                    text=text,
                    confidence=confidence,
                )
                answer = await self.history.insist(
                    call,
                    bus.write,
                    namespace,
                    text,
                    subject=subject,
                    confidence=confidence,
                    event_time=self.times.next(),
                    channel="tool",
                    vector=vector(count),
                    request_id=call.key,
                )
                call.result = _noted(answer)


def _noted(answer: WriteMemoryResponse) -> dict[str, str]:
    return {
        "decision": Decision.Name(answer.decision).removeprefix("DECISION_"),
        "state": MemoryState.Name(answer.memory.state).removeprefix("MEMORY_STATE_"),
    }


async def break_things(
    servers: Sequence[ServerProcess], history: History, chance: random.Random, until: int
) -> None:
    """Stall either server again and again; kill the first one halfway and start it again."""
    killed = False
    while (done := len(history.acknowledged())) < until - until // 10:
        await history.reaches(min(until, done + chance.randrange(1, until // 8)))
        if not killed and len(history.acknowledged()) > until // 2:
            killed = True
            await servers[0].kill()
            await servers[0].restart()
        else:
            stalled = chance.choice(servers)
            stalled.pause()
            await asyncio.sleep(chance.random() * 0.3)  # the stall itself
            stalled.resume()
    assert killed, "the run was over before the kill"


@forms("writes", 25, 500)
async def test_concurrent_contradictions_have_one_legal_outcome(
    writes: int, serve: Serve, valkey: ValkeyProcess, history: History, chance: random.Random
) -> None:
    """Both servers and a third, fresh one show the states that the rules give for the stored claims, and one order
    of the writes explains every answer."""
    servers = await asyncio.gather(*(serve(name, valkey_url=valkey.url) for name in ("one", "two")))
    await supply_vectors(*(server.target for server in servers))
    workload = Workload([server.target for server in servers], history, chance, Times(), writes)
    async with asyncio.TaskGroup() as group:
        for number in range(WRITERS):
            group.create_task(workload.run(number))
        group.create_task(break_things(servers, history, chance, WRITERS * writes))
    third = await serve("three", valkey_url=valkey.url)
    shown = [await _shown(server) for server in (*servers, third)]
    assert shown[0] == shown[1] == shown[2]
    records = await _records(valkey.url)
    problems = list(_illegal(records, shown[2])) + list(_inexplicable(history, records, shown[2]))
    assert not problems, f"{problems[:10]}, see {history.path}"


Shown = dict[tuple[str, str], dict[str, Memory]]
"""Subject -> memory id -> memory."""


async def _shown(server: ServerProcess) -> Shown:
    shown: Shown = {}
    for namespace in NAMESPACES:
        for memory in await listed(server.target, namespace):
            subject = shown.setdefault((namespace, memory.subject), {})
            subject[memory.name.rsplit("/", 1)[1]] = memory
    return shown


async def _records(url: str) -> dict[tuple[str, str], SubjectRecord]:
    """Return the subject records as they are stored."""
    store = await ValkeyLog.open(url)
    records = {}
    try:
        for name, subject in SUBJECTS:
            namespace = Namespace.parse(name, OPEN_TENANT)
            ref = Ref(SubjectRecord, (namespace.id, subject_key(MemoryType.SEMANTIC, subject, "")))
            [stored] = await store.read(partition_of(namespace.owner_id, store.partitions), [ref])
            if stored is not None:
                assert isinstance(stored.record, SubjectRecord)
                records[name, subject] = stored.record
    finally:
        await store.close()
    return records


def _illegal(records: dict[tuple[str, str], SubjectRecord], shown: Shown) -> Iterator[str]:
    assert records.keys() == shown.keys()
    for subject, memories in shown.items():
        states = {memory_id: domain.MemoryState(memory.state) for memory_id, memory in memories.items()}
        yield from checkers.illegal(records[subject], states, Policy())


def _inexplicable(
    history: History, records: dict[tuple[str, str], SubjectRecord], shown: Shown
) -> Iterator[str]:
    """Name the subjects whose answers and end no order of the writes explains."""
    for subject, memories in shown.items():
        calls = [call for call in history if call.arguments["on"] == subject]
        said = [
            Said(
                call.start_s,
                call.end_s,
                f"agent:{call.client}",
                call.arguments["text"],
                call.arguments["confidence"],
                is_new=call.result["decision"] == "STORED",
                # The answer to a repeated request tells the state now, not the state then.
                state=call.result["state"] if call.attempts == 1 else "",
            )
            for call in calls
        ]
        now = time.monotonic()
        live = [
            m
            for m in memories.values()
            if m.state in (MemoryState.MEMORY_STATE_ACTIVE, MemoryState.MEMORY_STATE_CONTESTED)
        ]
        names = frozenset((m.text, MemoryState.Name(m.state).removeprefix("MEMORY_STATE_")) for m in live)
        if explain([*said, Listed(now, now, names)], last=_held(records[subject], memories)) is None:
            yield f"{subject}: no order explains {len(said)} writes"


def _held(record: SubjectRecord, memories: dict[str, Memory]) -> Subject:
    """Return the claims of a record as a state of the model."""
    return frozenset(
        (claim.speaker, Statement(memories[claim.memory_id].text, claim.confidence))
        for claim in record.claims
    )
