"""Consuming: members share a group's events, over streams and by single calls alike."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial

import pytest

from hindsight_bus.app.caller import Caller
from hindsight_bus.app.consume_session import Credit, Deliveries, DrainAnnounced, Idle, Open, Session, Settled
from hindsight_bus.app.consume_session import Settle as SettleRequest
from hindsight_bus.app.watch import Now
from hindsight_bus.domain.errors import Draining, InvalidField, NotFound
from hindsight_bus.domain.groups import Action
from hindsight_bus.domain.names import Namespace, Pattern
from hindsight_bus.domain.query import EventFilter
from hindsight_bus.domain.values import replace
from tests.unit.app_rig import Node, running
from tests.unit.consumer import TERMS, Requests, ack, consuming, pull, settlement, texts

ORDERED = replace(TERMS, ordered=True)
LISI = Namespace.parse("user:lisi:facts", "default")


@pytest.fixture
async def node() -> AsyncIterator[Node]:
    async with running(Node()) as node:
        yield node


async def test_members_share_the_events(node: Node) -> None:
    """Two members get every event between them, none of them twice."""
    for n in range(6):
        await node.note(f"event {n}")
    async with consuming(node, "m1") as one, consuming(node, "m2") as two:
        shares = [await one.deliveries(2), await two.deliveries(3), await one.deliveries(9)]
    assert [texts(share) for share in shares] == [
        ["event 0", "event 1"], ["event 2", "event 3", "event 4"], ["event 5"],
    ]  # fmt: skip


async def test_groups_do_not_share(node: Node) -> None:
    """Each group gets everything."""
    await node.note("hello")
    async with consuming(node) as one, consuming(node, terms=replace(TERMS, name="other")) as two:
        assert texts(await one.deliveries()) == texts(await two.deliveries()) == ["hello"]


async def test_events_come_as_they_happen(node: Node) -> None:
    """A member with credit hears at once of what is written."""
    async with consuming(node, terms=replace(TERMS, start=Now())) as member:
        waiting = asyncio.create_task(member.deliveries())
        await asyncio.sleep(0)
        await node.note("news")
        assert texts(await waiting) == ["news"]


async def test_no_more_than_the_credit_is_sent(node: Node) -> None:
    """Credit is used up by what is sent and grows by what is granted."""
    for n in range(3):
        await node.note(f"event {n}")
    async with consuming(node) as member:
        assert texts(await member.deliveries(1)) == ["event 0"]
        assert await member.settle() == []
        assert texts(await member.deliveries(1)) == ["event 1"]


async def test_only_what_the_filter_wants_is_delivered(node: Node) -> None:
    """The rest counts as settled: the cursor moves past it."""
    patterns = (Pattern("default", "user", "lisi", "*"),)
    terms = replace(TERMS, patterns=patterns, filter=EventFilter(tags=frozenset({"vip"})))
    for tags in ((), ("vip",), ()):
        await node.note(f"tags {tags}", namespace=LISI, tags=tags)
    async with consuming(node, terms=terms) as member:
        [only] = await member.deliveries()
        assert texts([only]) == ["tags ('vip',)"]
        await member.settle(only)
        await member.end()
    async with consuming(node, terms=terms):
        [status], _ = await node.book.page(Caller(), "", 10)
        assert (status.lag, status.pending, status.oldest_age_ms) == (0, 0, 0)
    assert len(status.group.partitions) == 1


async def test_an_ack_is_answered_for_each_id(node: Node) -> None:
    """STALE for what was settled before, over the stream or by a call."""
    await node.note("a")
    await node.note("b")
    async with consuming(node) as member:
        first, second = await member.deliveries()
        assert await member.settle(first, second) == [True, True]
        assert await member.settle(first) == [False]
    assert await ack(node, first, second) == [False, False]


async def test_answers_come_in_the_order_of_the_requests(node: Node) -> None:
    """Each names the request that it answers, however many gather."""
    for n in range(3):
        await node.note(f"event {n}")
    async with consuming(node) as member:
        deliveries = await member.deliveries()
        for each in deliveries:
            member.requests.send(SettleRequest((settlement(each), settlement(each))))
        answers = [await member.next(Settled) for _ in deliveries]
    assert [(a.sequence, a.outcomes) for a in answers] == [(n, [True, False]) for n in range(3)]


async def test_a_retried_event_comes_again(node: Node) -> None:
    """After its delay, as a later attempt, to whoever has credit."""
    await node.note("a")
    async with consuming(node, "m1") as one, consuming(node, "m2") as two:
        [delivery] = await one.deliveries(1)
        await one.settle(delivery, action=Action.RETRY, delay_ms=5_000)
        waiting = asyncio.create_task(two.deliveries())
        await asyncio.sleep(0)
        node.clock.advance(5)
        [again] = await waiting
    assert (again.event_id, again.attempt) == (delivery.event_id, 2)
    assert again.number > delivery.number


async def test_what_a_dead_member_had_goes_to_another(node: Node) -> None:
    """Once its lease has run out, and not before."""
    await node.note("a")
    async with consuming(node, "m1") as member:
        [lost] = await member.deliveries()
    async with consuming(node, "m2") as other:
        waiting = asyncio.create_task(other.deliveries())
        node.clock.advance(9.9)
        await asyncio.wait([waiting], timeout=0.05)
        assert not waiting.done()
        node.clock.advance(0.2)
        [found] = await waiting
    assert found.event_id == lost.event_id


async def test_a_member_that_comes_back_settles_what_it_had(node: Node) -> None:
    """A cut takes nothing from it before the lease does."""
    await node.note("a")
    async with consuming(node) as member:
        [delivery] = await member.deliveries()
    async with consuming(node) as member:
        assert await member.settle(delivery) == [True]


async def test_a_member_of_another_agent_is_another_member(node: Node) -> None:
    """A name alone settles nothing: the deliveries are the caller's own."""
    await node.note("a")
    async with consuming(node, agent="ann") as member:
        [delivery] = await member.deliveries()
    async with consuming(node, agent="bob") as member:
        assert await member.settle(delivery) == [False]


async def test_an_end_gives_back_what_is_left(node: Node) -> None:
    """What came in is answered first; what was not settled goes to another at once and costs no attempt."""
    for n in range(2):
        await node.note(f"event {n}")
    async with consuming(node, "m1") as one, consuming(node, "m2") as two:
        first, second = await one.deliveries()
        assert await one.settle(first) == [True]
        await one.end()
        [again] = await two.deliveries()
    assert (again.event_id, again.attempt) == (second.event_id, 1)


async def test_a_stopping_server_still_takes_acks(node: Node) -> None:
    """The stop is announced, no more events come, settlements are answered until the client ends."""
    await node.note("a")
    async with consuming(node) as member:
        [delivery] = await member.deliveries(1)
        member.requests.send(Draining())
        await member.next(DrainAnnounced)
        await node.note("b")
        assert await member.settle(delivery) == [True]
        await member.end()


async def test_an_idle_member_hears_that_nothing_came(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it looks for what is due more often than it is told so."""
    monkeypatch.setattr("hindsight_bus.app.consume.Session", partial(Session, idle_seconds=0.2))
    async with consuming(node, terms=replace(TERMS, lease_ms=50)) as member:
        member.requests.send(Credit(10))
        await member.next(Idle)


async def test_poison_becomes_a_dead_letter(node: Node) -> None:
    """After the last attempt, with its reason; the rest flows on."""
    await node.note("poison")
    await node.note("fine")
    async with consuming(node) as member:
        poison, fine = await member.deliveries()
        assert await member.settle(fine) == [True]
        for _ in range(2):
            await member.settle(poison, action=Action.RETRY, reason="cannot parse")
            [poison] = await member.deliveries()
        await member.settle(poison, action=Action.RETRY, reason="cannot parse")
    [letter] = await node.book.dead_letters(Caller(), TERMS.name, (0, 0), 10)
    assert (letter.letter.attempts, letter.letter.reason) == (3, "cannot parse")
    assert letter.watched.memory.version.text == "poison"


async def test_a_redriven_event_is_delivered_again(node: Node) -> None:
    """All dead letters, or those named."""
    for n in range(3):
        await node.note(f"event {n}")
    async with consuming(node) as member:
        await member.settle(*await member.deliveries(), action=Action.REJECT, reason="no")
        letters = await node.book.dead_letters(Caller(), TERMS.name, (0, 0), 10)
        chosen = [(letter.partition, letter.letter.sequence) for letter in letters[:1]]
        assert await node.book.redrive(Caller(agent="op"), TERMS.name, chosen) == 1
        assert await node.book.redrive(Caller(agent="op"), TERMS.name, ()) == 2
        node.clock.advance(3)
        assert sorted(texts(await member.deliveries())) == ["event 0", "event 1", "event 2"]


async def test_a_member_pulls_and_acknowledges_by_calls(node: Node) -> None:
    """With the same guarantees: one delivery an event, STALE, redelivery."""
    await node.note("a")
    [delivery] = await pull(node)
    assert await pull(node, "m2") == []
    assert await ack(node, delivery, member="m2") == [False]
    assert await ack(node, delivery) == [True]
    node.clock.advance(11)
    assert await pull(node, "m2") == []


async def test_a_pull_waits_for_the_first_event(node: Node) -> None:
    """And returns as soon as it is there."""
    waiting = asyncio.create_task(pull(node, wait_s=10.0))
    await asyncio.sleep(0)
    await node.note("a")
    assert texts(await waiting) == ["a"]


async def test_a_stream_begins_with_its_introduction(node: Node) -> None:
    """Anything else first, or a second one, is refused."""
    silent = Requests()
    silent.send(Credit(1))
    with pytest.raises(InvalidField):
        await anext(node.consumers.consume(Caller(), silent))
    async with consuming(node) as member:
        member.requests.send(Open(TERMS, "m1"))
        with pytest.raises(InvalidField):
            await member.next(Deliveries)


async def test_a_removed_group_is_not_found(node: Node) -> None:
    """Its members are told, and joining it without terms fails."""
    async with consuming(node) as member:
        await node.book.delete(Caller(agent="op"), TERMS.name)
        with pytest.raises(NotFound):
            await member.deliveries()
    with pytest.raises(NotFound):
        await pull(node, terms=replace(TERMS, patterns=()))


async def test_an_owner_s_events_come_one_after_the_other(node: Node) -> None:
    """In an ordered group the next one comes once the one before is settled; other owners do not wait."""
    for n in range(3):
        await node.note(f"zhangsan {n}")
    await node.note("lisi 0", namespace=LISI)
    async with consuming(node, terms=ORDERED) as member:
        heads = await member.deliveries()
        seen = texts(heads)
        assert sorted(seen) == ["lisi 0", "zhangsan 0"]
        head = next(each for each in heads if each.watched.memory.version.text == "zhangsan 0")
        for n in (1, 2):
            assert await member.settle(head) == [True]
            [head] = (await member.next(Deliveries)).deliveries
            assert texts([head]) == [f"zhangsan {n}"]


async def test_members_of_an_ordered_group_share_the_partitions(node: Node) -> None:
    """The second one gets its share when the first has heard of it."""
    async with consuming(node, "m1", ORDERED) as one:
        assert await one.settle() == []
        await pull(node, "m2", ORDERED)
        holders = await _holders(node)
        assert set(holders) == {"ann/m1"}
        group = await node.groups.find("default", TERMS.name)
        assert group is not None
        await one.end()
        await pull(node, "m2", ORDERED)
        assert set(await _holders(node)) == {"ann/m2"}


async def _holders(node: Node) -> list[str]:
    group = await node.groups.find("default", TERMS.name)
    assert group is not None
    return [(await node.groups.progress(group.id, p)).holder for p in group.partitions]


async def test_two_nodes_share_a_group() -> None:
    """A node whose idea of the cursor is old learns of the new one from the store."""
    first = Node()
    second = Node(store=first.store, clock=first.clock, groups=first.groups, ids=first.ids)
    async with running(first), running(second):
        for n in range(4):
            await first.note(f"event {n}")
        await second.catch_up()
        async with consuming(first, "m1") as one, consuming(second, "m2") as two:
            seen = [*await one.deliveries(1), *await two.deliveries(1), *await one.deliveries(1)]
            seen += await two.deliveries(1)
    assert texts(seen) == [f"event {n}" for n in range(4)]
