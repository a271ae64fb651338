"""What every MemoryLog does with commits, records and counters."""

from __future__ import annotations

import asyncio

import pytest

from hindsight_bus.domain.memory import (
    Attachment,
    Cardinality,
    Channel,
    MemoryState,
    MemoryType,
    Vector,
)
from hindsight_bus.domain.names import Pattern
from hindsight_bus.domain.policy import ConflictPolicy, PolicyRecord, RankingWeights
from hindsight_bus.domain.position import Position
from hindsight_bus.domain.records import (
    Conflict,
    ConflictSide,
    ConflictState,
    Fingerprint,
    NamespaceRecord,
    Receipt,
    Resolution,
    ResolutionAction,
    Standing,
    SubjectRecord,
    Usage,
)
from hindsight_bus.domain.values import replace
from hindsight_bus.ports import (
    ClockSkewed,
    Conflicted,
    Count,
    CounterFull,
    Delete,
    Expect,
    Put,
    Record,
    Ref,
    ref_of,
)
from tests.contract.memory_log_rig import (
    NS,
    PARTITION,
    PARTITIONS,
    Rig,
    claim,
    drop,
    due,
    event,
    head,
    head_ref,
    ids,
    memory_id,
    step,
    version,
)

HOSTILE = "\x00\r\n\t{p1}*?[a-z]\\'\"$* \u202e用户🦊" + "x" * 300

SIDE = ConflictSide(memory_id("m"), "likes 🦊", 0.7, ("agent:a", "user:u"))
RESOLUTION = Resolution(ResolutionAction.CHOOSE, memory_id("m"), "a", "because", 5)
RECORDS: list[Record] = [
    head("m"),
    head(
        "full",
        claims=(claim(), claim("n")),
        conflict_id="c",
        superseded_by="s",
        purge_time_ms=9,
        agents=("a",),
    ),
    version("m"),
    replace(
        version("full", "用户偏好用表格"),
        subject="preference.x",
        subject_derived=True,
        value="go",
        cardinality=Cardinality.MANY,
        aliases=("k8s",),
        tags=("a", "b"),
        attributes=b"\x00\xff",
        attachments=(Attachment("s3://x", "text/plain", "t"),),
        confidence=0.9,
        explicit=True,
        event_time_ms=1_700_000_000_123,
        supersedes=("a",),
        channel=Channel.TOOL,
    ),
    Vector(memory_id("m"), 1, "external(4)", b"\x00\x3c\xff\x00\x01\x02\x03\x04"),
    Vector(memory_id("n"), 1, "external(1)", b"\xff\x00", b"\r\n\x00\x00\xff\xff"),
    SubjectRecord(NS, "k", "preference.x", MemoryType.SEMANTIC),
    SubjectRecord(
        NS,
        "full",
        "preference.x",
        MemoryType.SEMANTIC,
        3,
        (claim(),),
        {memory_id("m"): Standing(MemoryState.CONTESTED, 0.123456)},
        chosen="c",
        keep_all=True,
        merged=(("v:a", "v:b"),),
        archived=("z",),
    ),
    Conflict(NS, "open", "s", "k", MemoryType.SEMANTIC, ConflictState.OPEN, (SIDE, SIDE)),
    Conflict(NS, "done", "s", "k", MemoryType.LESSON, ConflictState.RESOLVED, (SIDE,), "why", RESOLUTION),
    NamespaceRecord(NS, "e5", 384),
    Receipt(NS, "p", "r-1", "payload", 1, memory_id("m"), "c", "reason"),
    Fingerprint(NS, "f", memory_id("m")),
    Usage(NS, memory_id("m"), 7, 3),
    PolicyRecord(Pattern("acme", "user", "*", "facts")),
    PolicyRecord(
        Pattern("acme", "*", "*", "*"),
        "e5",
        ConflictPolicy.MANUAL,
        0.1,
        90.0,
        100,
        5,
        RankingWeights(1.0, 0.0, 0.0),
        7.0,
        3.0,
    ),
]


async def test_a_new_log_is_empty(rig: Rig) -> None:
    """Partitions are numbered from 0, the control partition comes after them, and each log starts at revision 0."""
    assert rig.log.partitions == PARTITIONS
    assert rig.log.is_fsynced
    for partition in range(PARTITIONS + 1):
        ends = await rig.log.ends(partition)
        assert ends.newest == ends.trimmed == Position(partition, 0, 0)
        assert await rig.log.entries(partition, 0) == []


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
async def test_a_record_comes_back_as_it_was_put(rig: Rig, record: Record) -> None:
    """Every class of record survives the store unchanged, with the commit's revision and time beside it."""
    done = await rig.commit(record)
    [stored] = await rig.read(ref_of(record))
    assert stored.record == record
    assert type(stored.record) is type(record)
    assert (stored.create_revision, stored.revision) == (1, 1)
    assert stored.create_time_ms == stored.update_time_ms == done.time_ms


async def test_records_come_in_the_order_asked_for(rig: Rig) -> None:
    """One read returns its records in the order of the refs, and None where there is none."""
    await rig.commit(head("a"), head("b"), version("a"))
    found = await rig.read(
        head_ref("b"), head_ref("nobody"), ref_of(version("a")), head_ref("a"), head_ref("b")
    )
    assert [stored and stored.record for stored in found] == [
        head("b"),
        None,
        version("a"),
        head("a"),
        head("b"),
    ]
    assert await rig.read() == []


async def test_many_concurrent_reads_and_commits_keep_their_answers_apart(rig: Rig) -> None:
    """Concurrent calls each get the answer to their own question."""
    names = [f"m{n}" for n in range(60)]
    await asyncio.gather(*(rig.commit(head(name)) for name in names))
    found = await asyncio.gather(*(rig.read(head_ref(name)) for name in names))
    assert [stored.record.memory_id for [stored] in found] == [memory_id(name) for name in names]
    assert sorted(stored.revision for [stored] in found) == list(range(1, 61))


async def test_a_cancelled_call_leaves_others_alone(rig: Rig) -> None:
    """Cancelling callers at any time never hands an answer to the wrong caller."""
    await rig.commit(head("a"), head("b"))

    async def read(name: str) -> str:
        [stored] = await rig.read(head_ref(name))
        return str(stored.record.memory_id)

    for turns in range(12):
        tasks = [asyncio.create_task(read("ab"[n % 2])) for n in range(20)]
        for _ in range(turns):
            await asyncio.sleep(0)
        for task in tasks[::3]:
            task.cancel()
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        for n, answer in enumerate(answers):
            assert isinstance(answer, asyncio.CancelledError) or answer == memory_id("ab"[n % 2])


async def test_a_change_keeps_creation_and_moves_the_revision(rig: Rig) -> None:
    """Putting a record again keeps its creation revision and time and sets those of the change."""
    first = await rig.commit(head("m"))
    second = await rig.commit(head("m", version=2))
    [stored] = await rig.read(head_ref("m"))
    assert stored.record.version == 2
    assert (stored.create_revision, stored.revision) == (1, 2)
    assert (stored.create_time_ms, stored.update_time_ms) == (first.time_ms, second.time_ms)


async def test_a_commit_answers_with_its_place(rig: Rig) -> None:
    """The answer holds partition, next revision and the commit's stamp, and the ends say the same."""
    done = [await rig.commit(head("m"), stamp=stamp) for stamp in (7, 2**32 - 1)]
    assert [each.position for each in done] == [Position(PARTITION, 1, 7), Position(PARTITION, 2, 2**32 - 1)]
    assert (await rig.log.ends(PARTITION)).newest == done[-1].position


async def test_stored_time_is_the_stores(rig: Rig) -> None:
    """The time of a commit lies between two looks at the store's clock, whatever the node estimated."""
    before = await rig.store_ms()
    done = await rig.commit(head("m"), now_ms=before + 1500)
    assert before <= done.time_ms <= await rig.store_ms()


async def test_partitions_are_apart(rig: Rig) -> None:
    """Each partition counts its own revisions and holds its own records."""
    other = (PARTITION + 1) % PARTITIONS
    await rig.commit(head("m"))
    await rig.commit(head("m", version=9), partition=other)
    assert (await rig.log.ends(other)).newest.revision == 1
    [stored] = await rig.log.read(other, [head_ref("m")])
    assert stored is not None
    assert stored.record == head("m", version=9)
    assert [each.record.version for each in await rig.read(head_ref("m"))] == [1]


# --- preconditions


async def test_absence_is_expected_as_revision_0(rig: Rig) -> None:
    """Expecting 0 holds while the record does not exist, and fails naming it once it does."""
    expects = (Expect(head_ref("m"), 0),)
    await rig.commit(head("m"), expects=expects)
    with pytest.raises(Conflicted) as refusal:
        await rig.commit(head("m"), expects=expects)
    assert refusal.value.ref == head_ref("m")


async def test_an_expected_revision_must_be_the_last_change(rig: Rig) -> None:
    """Expecting n holds only while n is the record's last change; a record that is gone fails it too."""
    await rig.commit(head("m"))
    await rig.commit(head("m", version=2), expects=(Expect(head_ref("m"), 1),))
    for revision in (1, 3):
        with pytest.raises(Conflicted):
            await rig.commit(head("m"), expects=(Expect(head_ref("m"), revision),))
    await rig.commit(deletes=(drop("m"),), expects=(Expect(head_ref("m"), 2),))
    with pytest.raises(Conflicted):
        await rig.commit(head("m"), expects=(Expect(head_ref("m"), 2),))


async def test_the_refusal_names_the_first_expectation_that_fails(rig: Rig) -> None:
    """Of several expectations the first that does not hold is named."""
    await rig.commit(head("a"), head("b"))
    expects = (Expect(head_ref("a"), 1), Expect(head_ref("b"), 5), Expect(head_ref("c"), 5))
    with pytest.raises(Conflicted) as refusal:
        await rig.commit(expects=expects)
    assert refusal.value.ref == head_ref("b")


@pytest.mark.parametrize(
    "fields",
    [
        {"expects": (Expect(head_ref("old"), 5),)},
        {"counts": (Count(("free",), 5, 60_000), Count(("none",), 0, 60_000))},
        {"now_ms": 1},
    ],
    ids=["expectation", "counter", "clock"],
)
async def test_a_refused_commit_changes_nothing(rig: Rig, fields: dict[str, object]) -> None:
    """Whatever the reason of the refusal: no record, index, history, due item, counter or entry is touched."""
    await rig.commit(head("old"))
    with pytest.raises((Conflicted, CounterFull, ClockSkewed)):
        await rig.commit(
            head("new"),
            NamespaceRecord(NS, "e5", 4),
            deletes=(drop("old"),),
            transitions=(step(),),
            due=(due(),),
            **fields,
        )
    assert [stored and stored.record for stored in await rig.read(head_ref("old"), head_ref("new"))] == [
        head("old"),
        None,
    ]
    assert ids(await rig.log.memory_ids(NS)) == [memory_id("old")]
    assert await rig.log.namespaces(PARTITION) == []
    assert await rig.log.history(PARTITION, memory_id("m")) == []
    assert await rig.take() == []
    assert (await rig.log.ends(PARTITION)).newest.revision == 1
    assert len(await rig.log.entries(PARTITION, 0)) == 1
    for _ in range(5):
        await rig.commit(counts=(Count(("free",), 5, 60_000),))


async def test_of_racing_writers_one_wins_each_revision(rig: Rig) -> None:
    """Compare-and-set under contention: every increment is counted, none is lost."""
    await rig.commit(head("m", version=0))

    async def increment() -> None:
        while True:
            [stored] = await rig.read(head_ref("m"))
            try:
                await rig.commit(
                    head("m", version=stored.record.version + 1),
                    expects=(Expect(head_ref("m"), stored.revision),),
                )
            except Conflicted:
                continue
            return

    await asyncio.gather(*(increment() for _ in range(12)))
    [stored] = await rig.read(head_ref("m"))
    assert (stored.record.version, stored.revision) == (12, 13)


async def test_a_skewed_estimate_is_refused_and_mended(rig: Rig) -> None:
    """More than 2 s off is refused either way; afterwards now_ms is right, and within 2 s is accepted."""
    for off_ms in (-2600, 2600):
        with pytest.raises(ClockSkewed):
            await rig.commit(head("m"), now_ms=await rig.store_ms() + off_ms)
    assert abs(rig.log.now_ms() - await rig.store_ms()) < 500
    await rig.commit(head("m"), now_ms=rig.log.now_ms())


# --- commits without events


async def test_without_events_no_revision_is_used(rig: Rig) -> None:
    """Records are written and answered with the current revision, but nothing enters the log."""
    await rig.commit(head("m"))
    receipt = Receipt(NS, "p", "r", "x", 2, memory_id("m"))
    done = await rig.commit(receipt, events=(), stamp=99)
    assert done.position.revision == 1
    assert (await rig.log.ends(PARTITION)).newest == Position(PARTITION, 1, 1)
    assert len(await rig.log.entries(PARTITION, 0)) == 1
    [stored] = await rig.read(ref_of(receipt))
    assert (stored.record, stored.revision) == (receipt, 1)


async def test_a_record_made_before_the_first_revision_exists(rig: Rig) -> None:
    """A receipt in an empty partition has revision 0 and still fails the expectation of absence."""
    receipt = Receipt(NS, "p", "r", "x", 2, "")
    await rig.commit(receipt, events=())
    [stored] = await rig.read(ref_of(receipt))
    assert stored.revision == 0
    with pytest.raises(Conflicted):
        await rig.commit(receipt, events=(), expects=(Expect(ref_of(receipt), 0),))


async def test_a_record_with_a_lifetime_goes(rig: Rig) -> None:
    """After ttl_ms the record is absent, for reads and for expectations; one without stays."""
    receipt = Receipt(NS, "p", "r", "x", 2, "")
    await rig.commit(Put(receipt, ttl_ms=50), head("stays"))

    async def is_gone() -> bool:
        return await rig.read(ref_of(receipt)) == [None]

    assert not await is_gone()
    await rig.until(is_gone)
    await rig.commit(receipt, expects=(Expect(ref_of(receipt), 0),))
    assert await rig.read(head_ref("stays")) != [None]


# --- counters and size


async def test_a_counter_admits_as_many_as_its_limit(rig: Rig) -> None:
    """Below the limit each commit counts one, also when they race; at the limit the counter is named."""
    count = Count(("quota", "user", HOSTILE), 3, 60_000)
    answers = await asyncio.gather(
        *(rig.commit(head(f"m{n}"), counts=(count,)) for n in range(5)), return_exceptions=True
    )
    full = [answer for answer in answers if isinstance(answer, CounterFull)]
    assert len(full) == 2
    assert full[0].key == count.key
    await rig.commit(counts=(Count(("quota", "user"), 3, 60_000),))


async def test_a_counter_lives_its_time_from_the_first_count(rig: Rig) -> None:
    """When its lifetime is over it counts from 0 again."""
    count = Count(("quota",), 1, 40)
    await rig.commit(counts=(count,))

    async def is_free() -> bool:
        try:
            await rig.commit(counts=(count,), events=())
        except CounterFull:
            return False
        return True

    assert not await is_free()
    await rig.until(is_free)


async def test_a_commit_has_at_most_256_mutations(rig: Rig) -> None:
    """256 puts, deletes and transitions are one commit; one more is a programming error and changes nothing."""
    puts = [head(f"m{n}") for n in range(254)]
    await rig.commit(*puts, deletes=(drop("x"),), transitions=(step(),))
    with pytest.raises(ValueError, match="256"):
        await rig.commit(*puts, head("y"), deletes=(drop("x"),), transitions=(step(),))
    assert len(await rig.log.memory_ids(NS)) == 254


async def test_a_deleted_record_is_gone_from_its_indexes(rig: Rig) -> None:
    """Deleting takes a record out of every list that putting it entered, and a new one is created afresh."""
    conflict = Conflict(NS, "c", "s", "k", MemoryType.SEMANTIC, ConflictState.OPEN, ())
    namespace, policy = NamespaceRecord(NS, "e5", 4), PolicyRecord(Pattern("acme", "*", "*", "*"))
    await rig.commit(head("m"), conflict, namespace)
    await rig.commit(policy, partition=PARTITIONS)
    await rig.commit(deletes=(drop("m"), Delete(ref_of(conflict), NS), Delete(ref_of(namespace), NS)))
    await rig.commit(partition=PARTITIONS, deletes=(Delete(ref_of(policy), NS),))
    assert await rig.read(head_ref("m"), ref_of(conflict), ref_of(namespace)) == [None] * 3
    assert await rig.log.memory_ids(NS) == await rig.log.conflict_ids(NS) == []
    assert await rig.log.namespaces(PARTITION) == []
    assert await rig.log.owner_namespaces(PARTITION, NS.owner_id) == []
    assert await rig.log.policies() == []
    await rig.commit(head("m"))
    assert await rig.log.memory_ids(NS) == [(memory_id("m"), 3)]


async def test_policies_are_listed_from_the_control_partition(rig: Rig) -> None:
    """Every policy is returned with its revision, its latest content only."""
    shared, own = Pattern("acme", "user", "*", "*"), Pattern("acme", "*", HOSTILE, "*")
    await rig.commit(PolicyRecord(shared, daily_quota=1), PolicyRecord(own), partition=PARTITIONS)
    await rig.commit(PolicyRecord(shared, daily_quota=2), partition=PARTITIONS)
    found = {stored.record.pattern: stored for stored in await rig.log.policies()}
    assert found.keys() == {shared, own}
    assert (found[shared].record.daily_quota, found[shared].revision) == (2, 2)


async def test_hostile_text_is_only_text(rig: Rig) -> None:
    """Control characters, braces, globs, emoji and NUL in any text come back unchanged and name only themselves."""
    receipt = Receipt(NS, HOSTILE, HOSTILE, HOSTILE, 1, HOSTILE)
    subject = SubjectRecord(NS, HOSTILE, HOSTILE, MemoryType.SEMANTIC)
    text = version("m", HOSTILE, subject=HOSTILE, tags=(HOSTILE,), source=HOSTILE)
    vector = Vector(memory_id("m"), 1, HOSTILE, b"\r\n\x00\x00")
    hostile_event = event(agent=HOSTILE, reason=HOSTILE)
    records: list[Record] = [receipt, subject, text, vector]
    await rig.commit(
        *records, events=(hostile_event,), transitions=(step(agent=HOSTILE),), due=(due(HOSTILE),)
    )
    found = await rig.read(*map(ref_of, records))
    assert [stored.record for stored in found] == records
    assert await rig.read(Ref(Receipt, (NS.id, HOSTILE, "*"))) == [None]
    [entry] = await rig.log.entries(PARTITION, 0)
    assert entry.events == (hostile_event,)
    [taken] = await rig.take()
    assert taken.item == due(HOSTILE)


async def test_what_is_committed_is_seen_by_the_next_read(rig: Rig) -> None:
    """Linearizable: a read that starts after a commit's answer sees it."""
    for number in range(1, 30):
        await rig.commit(head("m", version=number))
        [stored] = await rig.read(head_ref("m"))
        assert stored.record.version == number
