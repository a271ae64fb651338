"""Writing: one effect a request, nothing by halves, nobody blocked, no gain from echoes and quotas kept."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from hindsight_bus.adapters.memory.clock import FakeClock
from hindsight_bus.adapters.memory.log import FakeLog
from hindsight_bus.app.caller import Caller
from hindsight_bus.app.draft import WriteDraft
from hindsight_bus.app.outcome import Outcome
from hindsight_bus.app.revise import MemoryChange
from hindsight_bus.domain.errors import (
    Contended,
    EtagMismatch,
    InvalidField,
    OutcomeUnknown,
    QuotaExceeded,
    RequestIdReused,
    StoreUnavailable,
    SubjectFull,
    SupersedesIncomplete,
)
from hindsight_bus.domain.memory import Cardinality, Channel, Decision, Head, Memory, MemoryState, MemoryType
from hindsight_bus.domain.names import Pattern
from hindsight_bus.domain.policy import Policy
from hindsight_bus.domain.records import SubjectRecord
from hindsight_bus.domain.settling import settle
from hindsight_bus.ports import Commit, Committed, Conflicted, Ref, Stored
from tests.unit.app_rig import FACTS, Node, eventually, name_of, running


def stored(outcome: Outcome) -> Memory:
    assert outcome.memory is not None
    return outcome.memory


class Meddler:
    """Comes between a store and its commits."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.commits = 0
        self._commit = node.store.commit

    def meddle(self, with_commit: Callable[[Commit], Awaitable[Committed]]) -> None:
        async def commit(commit: Commit) -> Committed:
            self.commits += 1
            return await with_commit(commit)

        self.node.store.commit = commit  # type: ignore[method-assign]

    async def pass_on(self, commit: Commit) -> Committed:
        return await self._commit(commit)

    def leave(self) -> None:
        self.node.store.commit = self._commit  # type: ignore[method-assign]


async def ends(node: Node) -> Any:
    return await node.store.ends(node.records.partition(FACTS))


async def subject_record(node: Node) -> Stored[SubjectRecord]:
    [memory, *_] = await node.listed()
    found = await node.records.one(
        node.records.partition(FACTS), SubjectRecord, FACTS.id, memory.head.subject_key
    )
    assert found is not None
    return found


# -- one effect a request


async def test_a_request_has_one_effect_however_often_it_is_sent() -> None:
    """The same answer again, also when it is sent many times at once."""
    node = Node()
    sent = [node.write("tables", request_id="r", payload="p") for _ in range(8)]
    outcomes = [*await asyncio.gather(*sent), await node.write("tables", request_id="r", payload="p")]
    assert {outcome.decision for outcome in outcomes} == {Decision.STORED}
    assert len({stored(outcome).name for outcome in outcomes}) == 1
    assert len(await node.listed()) == 1


async def test_a_request_id_is_refused_for_another_request() -> None:
    """Whatever the other one does; and it changes nothing."""
    node = Node()
    first = await node.write("tables", request_id="r", payload="p")
    before = await ends(node)
    with pytest.raises(RequestIdReused):
        await node.write("bars", request_id="r", payload="q")
    with pytest.raises(RequestIdReused):
        await node.forget(stored(first), request_id="r", payload="q")
    assert await ends(node) == before
    other = await node.write("bars", "orders", request_id="r", payload="q")
    assert other.decision is Decision.STORED


@pytest.mark.parametrize("decision", [Decision.CORROBORATED, Decision.DUPLICATE])
async def test_a_write_that_made_nothing_leaves_a_receipt_for_a_day(decision: Decision) -> None:
    """Sent again it counts no second time."""
    node = Node()
    await node.write("tables", confidence=0.5)
    agent = "orders" if decision is Decision.CORROBORATED else "support"
    for _ in range(2):
        outcome = await node.write("tables", agent, confidence=0.5, request_id="r", payload="p")
        assert outcome.decision is decision
    before = await node.listed()
    node.clock.advance(25 * 3600)
    await node.write("tables", agent, confidence=0.5, request_id="r", payload="p")
    assert [m.head.agents for m in await node.listed()] == [m.head.agents for m in before]


async def test_a_request_answers_again_when_its_memory_has_ended_since() -> None:
    """What was asked for then is no error now."""
    node = Node()
    until = node.clock.now_ms() + 1000
    first = await node.write("tables", request_id="r", payload="p", expire_time_ms=until)
    node.clock.advance(5)
    again = await node.write("tables", request_id="r", payload="p", expire_time_ms=until)
    assert (again.decision, stored(again).name) == (Decision.STORED, stored(first).name)
    with pytest.raises(InvalidField, match="expire_time"):
        await node.write("bars", expire_time_ms=until)


async def test_a_lost_reply_leads_to_no_second_effect() -> None:
    """OUTCOME_UNKNOWN, then the same request: it was done, and is not done again."""
    node = Node()
    meddler = Meddler(node)

    async def lose_the_reply(commit: Commit) -> Committed:
        await meddler.pass_on(commit)
        raise OutcomeUnknown

    for agent in ("support", "orders"):
        meddler.meddle(lose_the_reply)
        with pytest.raises(OutcomeUnknown):
            await node.write("tables", agent, request_id="r", payload="p")
        meddler.leave()
        before = await ends(node)
        again = await node.write("tables", agent, request_id="r", payload="p")
        assert stored(again).version.text == "tables"
        assert await ends(node) == before
    [memory] = await node.listed()
    assert memory.head.agents == ("orders", "support")


async def test_forgetting_restoring_and_updating_are_repeatable() -> None:
    """Each leaves its receipt."""
    node = Node()
    memory = stored(await node.write("tables"))
    change = MemoryChange({"text": "bars"}, request_id="u", payload="p")
    for _ in range(2):
        updated = await node.changer.update(Caller(agent="support"), name_of(memory), change)
        assert stored(updated).version.number == 2
    for _ in range(2):
        forgotten = await node.forget(memory, request_id="f", payload="p")
        assert stored(forgotten).head.state is MemoryState.FORGOTTEN
    for _ in range(2):
        restored = await node.restore(memory, request_id="b", payload="p")
        assert stored(restored).head.state is MemoryState.ACTIVE


async def test_an_etag_is_good_for_one_version() -> None:
    """Who changes what somebody else has changed since is told; a change of state alone does not count."""
    node = Node()
    memory = stored(await node.write("tables", confidence=0.5))
    await node.write("bars", "orders", confidence=0.9)
    await node.changer.update(
        Caller(agent="support"), name_of(memory), MemoryChange({"tags": ("t",)}, etag=memory.etag)
    )
    before = await ends(node)
    with pytest.raises(EtagMismatch):
        await node.changer.update(
            Caller(agent="x"), name_of(memory), MemoryChange({"tags": ()}, etag=memory.etag)
        )
    with pytest.raises(EtagMismatch):
        await node.forget(memory, etag=memory.etag)
    assert await ends(node) == before


async def test_an_update_starts_from_what_is_claimed_by_now() -> None:
    """A speaker that has become surer stays as sure when it puts it in other words."""
    node = Node()
    memory = stored(await node.write("tables", confidence=0.6))
    await node.write("tables", confidence=0.9)
    updated = stored(await node.update(memory, text="big tables"))
    assert (updated.head.effective_confidence, updated.version.confidence) == (0.9, 0.9)
    lowered = stored(await node.update(memory, confidence=0.6))
    assert lowered.head.effective_confidence == 0.6


# -- all or nothing


async def test_many_writers_on_one_subject_end_as_the_rule_says() -> None:
    """On two nodes at once: the stored states are those of ``settle`` over the stored claims."""
    clock = FakeClock()
    store = FakeLog(clock.now_ms, partitions=1)
    one = Node(store=store, clock=clock)
    other = Node(store=store, clock=clock, ids=one.ids, analyzer=one.analyzer)
    writes = [
        node.write(text, f"agent {n % 5}", confidence=0.3 + (n * 7 % 13) / 20, channel=Channel.TOOL)
        for n, (node, text) in enumerate((node, text) for text in "abcdefgh" for node in (one, other))
    ]
    outcomes = await asyncio.gather(*writes, return_exceptions=True)
    assert all(isinstance(outcome, (Outcome, Contended)) for outcome in outcomes)
    record = (await subject_record(one)).record
    expected = settle(record.claims, Policy(), chosen=record.chosen, keep_all=record.keep_all)
    assert {m: s.state for m, s in record.standings.items()} == {m: s.state for m, s in expected.items()}
    listed = {m.head.memory_id: m.head.state for m in await one.listed()}
    assert {m: s for m, s in listed.items() if m in expected} == {m: s.state for m, s in expected.items()}
    assert {s for m, s in listed.items() if m not in expected} <= {MemoryState.SUPERSEDED}


async def test_who_always_loses_is_told_after_five_tries() -> None:
    """CONTENDED, and nothing was changed."""
    node = Node()
    await node.write("tables")
    before = await ends(node)
    meddler = Meddler(node)

    async def refuse(commit: Commit) -> Committed:
        raise Conflicted(Ref(Head, ("contested",)))

    meddler.meddle(refuse)
    with pytest.raises(Contended):
        await node.write("bars")
    assert meddler.commits == 5
    assert await ends(node) == before


async def test_a_store_that_is_away_changes_nothing() -> None:
    """The next write finds everything as it was, and no lock held."""
    node = Node()
    meddler = Meddler(node)

    async def be_away(commit: Commit) -> Committed:
        raise StoreUnavailable

    meddler.meddle(be_away)
    with pytest.raises(StoreUnavailable):
        await node.write("tables")
    meddler.leave()
    assert (await node.write("tables")).decision is Decision.STORED


async def test_a_caller_that_leaves_in_the_middle_of_a_commit_harms_nobody() -> None:
    """The commit stands or it does not; the node hears of it from the log, and the subject is free for the next."""
    node = Node()
    async with running(node):
        await node.write("nothing yet", subject="other")
        await node.search("warm up")
        meddler, reached = Meddler(node), asyncio.Event()

        async def commit_slowly(commit: Commit) -> Committed:
            committed = await meddler.pass_on(commit)
            reached.set()
            await asyncio.sleep(3600)
            return committed

        meddler.meddle(commit_slowly)
        writing = asyncio.create_task(node.write("tables", request_id="r", payload="p"))
        await reached.wait()
        writing.cancel()
        await asyncio.wait([writing])
        meddler.leave()
        second = await node.write("bars", "orders", confidence=0.9)
        assert stored(second).head.state is MemoryState.ACTIVE
        tail = node.tails[node.records.partition(FACTS)]
        await eventually(lambda: tail.position == second.positions[tail.partition])
        found = await node.search("tables bars")
        assert [memory.version.text for memory in found][:1] == ["bars"]
        again = await node.write("tables", request_id="r", payload="p")
        assert again.decision is Decision.STORED
        assert len([m for m in await node.listed() if m.version.text == "tables"]) == 1


async def test_an_estimate_of_time_that_is_off_is_put_right() -> None:
    """The store refuses it once, and the write goes through."""
    node = Node()
    node.store.skew_ms = 60_000  # type: ignore[attr-defined]
    memory = stored(await node.write("tables"))
    assert memory.version.event_time_ms == node.clock.now_ms()


async def test_a_time_to_come_is_no_gain() -> None:
    """It counts as now, so that it outlives nothing that is said later."""
    node = Node()
    early = stored(await node.write("tables", event_time_ms=node.clock.now_ms() + 10**10))
    node.clock.advance(1)
    await node.write("bars")
    assert (await node.get(early)).head.state is MemoryState.SUPERSEDED


async def test_episodes_do_not_wait_for_each_other() -> None:
    """They compete with nothing, so no lock is between them."""
    node = Node()
    meddler, both = Meddler(node), asyncio.Barrier(2)

    async def wait_for_the_other(commit: Commit) -> Committed:
        await both.wait()
        return await meddler.pass_on(commit)

    await node.note("first of the namespace")
    meddler.meddle(wait_for_the_other)
    async with asyncio.timeout(5):
        await asyncio.gather(node.note("one"), node.note("two"))


async def test_a_batch_answers_for_each_of_its_writes() -> None:
    """One that is refused takes no other with it."""
    node = Node()
    good = (await node.write("tables")).memory
    assert good is not None
    drafts = [WriteDraft(FACTS, MemoryType.SEMANTIC, text) for text in ("bars", "x" * 300, "ok")]
    answers = await node.writer.write_many(Caller(agent="orders"), drafts)
    assert [getattr(answer, "decision", answer) for answer in answers] == [
        Decision.STORED,
        Decision.REJECTED_TOO_LONG,
        Decision.REJECTED_TRIVIAL,
    ]


# -- echoes, quotas, limits


async def test_an_agent_that_was_served_a_statement_adds_nothing_by_repeating_it() -> None:
    """Unless it has a source of its own, or said it before, or a day has passed."""
    node = Node()
    memory = stored(await node.write("tables", confidence=0.5))
    await node.search("tables", agent="orders")
    echo = await node.write("Tables!", "orders")
    assert (echo.decision, stored(echo).name) == (Decision.ECHO, memory.name)
    assert (await node.get(memory)).head.agents == ("support",)
    await node.served.flush()
    assert (await node.write("tables", "orders")).decision is Decision.ECHO
    await node.search("tables", agent="support")
    assert (await node.write("tables", confidence=0.6)).decision is Decision.CORROBORATED
    assert (await node.write("tables", "orders", channel=Channel.USER)).decision is Decision.CORROBORATED
    node.clock.advance(25 * 3600)
    assert (await node.write("tables", "orders")).decision is Decision.CORROBORATED


async def test_the_quota_of_a_day_is_kept_and_renewed() -> None:
    """What was refused changed nothing, and says when to come again; other channels go on."""
    node = Node()
    pattern = Pattern.parse("user:*:*", "default")
    await node.namespaces.update_policy(Caller(agent="operator"), pattern, {"daily_quota": 2})
    await node.write("tables")
    await node.write("tables")
    await node.write("bars")
    before = await ends(node)
    with pytest.raises(QuotaExceeded) as refused:
        await node.write("pies")
    assert 0 < refused.value.retry_after_ms <= 24 * 3600 * 1000
    assert await ends(node) == before
    await node.write("pies", channel=Channel.INGEST)
    await node.write("lines", "orders")
    node.clock.advance(refused.value.retry_after_ms / 1000)
    assert (await node.write("dots")).decision is Decision.STORED


async def test_a_subject_takes_64_claims() -> None:
    """The next one is refused by name; one that replaces is not."""
    node = Node()
    for n in range(64):
        await node.write(f"statement {n}", f"agent {n}", channel=Channel.TOOL)
    before = await ends(node)
    with pytest.raises(SubjectFull, match="64"):
        await node.write("one more", "agent 64", channel=Channel.TOOL)
    assert await ends(node) == before
    await node.write("instead", "agent 3", channel=Channel.TOOL)


async def test_an_update_that_leaves_out_a_live_memory_names_it() -> None:
    """So that nobody replaces what they have not seen."""
    node = Node()
    one = stored(await node.write("tables", confidence=0.8))
    other = stored(await node.write("bars", "orders", confidence=0.8))
    before = await ends(node)
    with pytest.raises(SupersedesIncomplete, match=other.head.memory_id):
        await node.write("pies", "sales", supersedes=(name_of(one),))
    assert await ends(node) == before
    names = (name_of(one), name_of(other))
    winner = stored(await node.write("pies", "sales", confidence=0.1, supersedes=names))
    states = [(await node.get(m)).head for m in (one, other, winner)]
    assert [head.state.name for head in states] == ["SUPERSEDED", "SUPERSEDED", "ACTIVE"]
    assert {head.superseded_by for head in states[:2]} == {winner.head.memory_id}
    await node.forget(winner)
    assert await node.search("tables") == []


async def test_statements_of_a_subject_with_many_values_stand_side_by_side() -> None:
    """Nothing is contested, and nobody's second statement replaces the first."""
    node = Node()
    many = {"cardinality": Cardinality.MANY, "subject": "allergies"}
    for text, agent in (("peanuts", "support"), ("pollen", "support"), ("peanuts", "orders")):
        await node.write(text, agent, **many)
    found = {m.version.text: m.head for m in await node.listed()}
    assert {text: head.state for text, head in found.items()} == {
        "peanuts": MemoryState.ACTIVE,
        "pollen": MemoryState.ACTIVE,
    }
    assert found["peanuts"].agents == ("orders", "support")


async def test_a_policy_changed_on_another_node_is_soon_in_force() -> None:
    """Also where the store was away when the news came."""
    clock = FakeClock()
    store = FakeLog(clock.now_ms, partitions=1)
    operator, node = Node(store=store, clock=clock), Node(store=store, clock=clock)
    policies, failures = store.policies, iter([StoreUnavailable(), StoreUnavailable()])

    async def fail_at_first() -> Any:
        for error in failures:
            raise error
        return await policies()

    async with running(node):
        pattern = Pattern.parse("user:*:*", "default")
        await operator.namespaces.update_policy(Caller(agent="operator"), pattern, {"daily_quota": 7})
        store.policies = fail_at_first  # type: ignore[method-assign]
        await node.tails.control.catch_up()

        def is_in_force() -> bool:
            clock.advance(0.1)
            return node.policies.in_force(FACTS).daily_quota == 7

        await eventually(is_in_force)
