"""Both clients against a scripted server over real sockets; every scenario runs for threads and for asyncio."""

from __future__ import annotations

import asyncio
import inspect
import os
import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest

import hbus
import hbus.aio
from hbus import errors
from hbus.v1.bus_service_pb2 import (
    Checkpoint,
    ConsumeResponse,
    DeliveryBatch,
    GroupOpened,
    PublishResponse,
    SnapshotBatch,
    SubscribeResponse,
    SubscriptionConfirmed,
)
from hbus.v1.common_pb2 import ConsistencyToken, ItemError
from hbus.v1.event_pb2 import Event
from hbus.v1.group_pb2 import Delivery
from hbus.v1.memory_pb2 import Memory
from hbus.v1.memory_service_pb2 import (
    BatchWriteMemoriesResponse,
    ListMemoriesResponse,
    SearchMemoriesResponse,
    WriteMemoryRequest,
    WriteMemoryResponse,
    WriteResult,
)
from tests.e2e.scripted_bus import Refuse, ScriptedBus, ScriptedLog, Threaded

FACTS = "user:zhangsan:facts"
QUICK = hbus.Backoff(first_s=0.001, cap_s=0.01)
Connect = Callable[..., Any]


@pytest.fixture
def bus() -> Iterator[ScriptedBus]:
    scripted = ScriptedBus()
    yield scripted
    scripted.stop()


@pytest.fixture(params=["threads", "asyncio"])
def connect(request: pytest.FixtureRequest, bus: ScriptedBus, monkeypatch: pytest.MonkeyPatch) -> Connect:
    """Return a function that makes one of the two clients, with quick retries."""
    for module in ("hbus.client", "hbus.aio.client"):
        monkeypatch.setattr(f"{module}.STREAM_BACKOFF", QUICK)

    def make(**options: Any) -> Any:
        options.setdefault("agent", "support")
        options.setdefault("backoff", QUICK)
        if request.param == "asyncio":
            return hbus.aio.connect(bus.target, **options)
        return Threaded(hbus.connect(bus.target, **options))

    return make


def failing_first(times: int, failure: Exception, answer: Any) -> Callable[[Any, Any], Any]:
    """Return a handler that fails so often and then answers."""
    left = iter([failure] * times)

    def handle(request: Any, context: grpc.ServicerContext) -> Any:
        for each in left:
            raise each
        return answer

    return handle


def stored(text: str = "") -> WriteMemoryResponse:
    return WriteMemoryResponse(decision=hbus.Decision.DECISION_STORED, memory=Memory(text=text))


def event(number: int) -> Event:
    return Event(kind=hbus.EventKind.EVENT_KIND_WRITTEN, revision=number, memory=Memory(text=str(number)))


def test_both_clients_offer_the_same_calls() -> None:
    """Whatever one client can be asked, the other can, with the same arguments."""

    def calls(client: type) -> dict[str, list[str]]:
        return {
            name: list(inspect.signature(member).parameters)
            for name, member in vars(client).items()
            if callable(member) and not name.startswith("_")
        }

    assert calls(hbus.Client) == calls(hbus.aio.Client)


async def test_a_call_names_its_agent_its_key_and_whom_it_concerns(
    bus: ScriptedBus, connect: Connect
) -> None:
    """The agent goes as `hbus-agent`, the key as a bearer token, the owner as `hbus-owner`."""
    bus.handlers["SearchMemories"] = lambda request, context: SearchMemoriesResponse()
    async with connect(agent="orders", api_key="s3cret") as client:
        await client.search(FACTS, "对比数据")
    expected = {"hbus-agent": "orders", "authorization": "Bearer s3cret", "hbus-owner": "user:zhangsan"}
    assert bus.headers[0].items() >= expected.items()
    assert "s3cret" not in repr(hbus.connect(bus.target, api_key="s3cret").endpoint)


@pytest.mark.parametrize(
    "failure",
    [
        Refuse(grpc.StatusCode.UNAVAILABLE, "STORE_UNAVAILABLE"),
        Refuse(grpc.StatusCode.UNKNOWN, "OUTCOME_UNKNOWN"),
        Refuse(grpc.StatusCode.ABORTED, "CONTENDED"),
        Refuse(grpc.StatusCode.INTERNAL),
        Refuse(grpc.StatusCode.CANCELLED),
    ],
    ids=str,
)
async def test_a_mutation_is_sent_again_with_its_request_id(
    bus: ScriptedBus, connect: Connect, failure: Refuse
) -> None:
    """What may or may not have happened is retried under the same id, so that it happens once."""
    bus.handlers["WriteMemory"] = failing_first(2, failure, stored("tables"))
    async with connect() as client:
        answer = await client.write(FACTS, "tables")
    assert answer.memory.text == "tables"
    assert len(bus.requests) == 3
    assert len({request.request_id for request in bus.requests}) == 1
    assert bus.requests[0].request_id


async def test_two_mutations_have_two_request_ids(bus: ScriptedBus, connect: Connect) -> None:
    """Saying the same twice on purpose is two calls, not a retry."""
    bus.handlers["WriteMemory"] = lambda request, context: stored()
    async with connect() as client:
        await client.write(FACTS, "tables")
        await client.write(FACTS, "tables")
    assert bus.requests[0].request_id != bus.requests[1].request_id


async def test_retries_are_bounded(bus: ScriptedBus, connect: Connect) -> None:
    """A server that stays away is given up after the attempts allowed, with its own error."""
    bus.handlers["WriteMemory"] = failing_first(99, Refuse(grpc.StatusCode.UNAVAILABLE, "DRAINING"), stored())
    async with connect(backoff=hbus.Backoff(first_s=0.001, attempts=3)) as client:
        with pytest.raises(errors.Unavailable) as caught:
            await client.write(FACTS, "tables")
    assert caught.value.reason == "DRAINING"
    assert len(bus.requests) == 3


async def test_a_pause_that_outlasts_the_deadline_is_not_begun(bus: ScriptedBus, connect: Connect) -> None:
    """When the server asks for more time than is left, the error comes at once."""
    away = Refuse(grpc.StatusCode.UNAVAILABLE, "STORE_UNAVAILABLE", retry_after_s=60)
    bus.handlers["WriteMemory"] = failing_first(99, away, stored())
    async with connect() as client:
        with pytest.raises(errors.Unavailable) as caught:
            await client.write(FACTS, "tables")
    assert caught.value.retry_after_s == 60
    assert len(bus.requests) == 1


async def test_a_call_has_a_deadline(bus: ScriptedBus, connect: Connect) -> None:
    """A server that does not answer costs the time-out and no more."""
    released = asyncio.Event()
    loop = asyncio.get_running_loop()

    def hang(request: Any, context: grpc.ServicerContext) -> SearchMemoriesResponse:
        asyncio.run_coroutine_threadsafe(released.wait(), loop).result()
        return SearchMemoriesResponse()

    bus.handlers["SearchMemories"] = hang
    async with connect() as client:
        with pytest.raises(errors.DeadlineExpired):
            await client.search(FACTS, "x", timeout=0.2)
    released.set()


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", errors.InvalidRequest),
        (grpc.StatusCode.INVALID_ARGUMENT, "AGENT_REQUIRED", errors.AgentRequired),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_LARGE", errors.TooLarge),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, "QUOTA_EXCEEDED", errors.QuotaExceeded),
        (grpc.StatusCode.NOT_FOUND, "NOT_FOUND", errors.NotFound),
        (grpc.StatusCode.ABORTED, "ETAG_MISMATCH", errors.EtagMismatch),
        (grpc.StatusCode.ALREADY_EXISTS, "REQUEST_ID_REUSED", errors.RequestIdReused),
        (grpc.StatusCode.FAILED_PRECONDITION, "PROFILE_MISMATCH", errors.ProfileMismatch),
        (grpc.StatusCode.UNAVAILABLE, "INDEX_BEHIND", errors.IndexBehind),
        (grpc.StatusCode.INTERNAL, "INTERNAL", errors.ServerError),
        (grpc.StatusCode.FAILED_PRECONDITION, "OF_A_NEWER_SERVER", errors.Refused),
        (grpc.StatusCode.UNAUTHENTICATED, "", errors.Denied),
    ],
)
async def test_a_refusal_is_a_typed_error_and_is_not_retried(
    bus: ScriptedBus, connect: Connect, code: grpc.StatusCode, reason: str, kind: type[errors.HbusError]
) -> None:
    """The class says what to do; reason, field and metadata are those of the server."""
    refusal = Refuse(code, reason, field="memory.confidence", metadata={"incident": "42"})
    bus.handlers["WriteMemory"] = failing_first(99, refusal, stored())
    async with connect() as client:
        with pytest.raises(errors.HbusError) as caught:
            await client.write(FACTS, "tables")
    assert type(caught.value) is kind
    assert (caught.value.code, caught.value.reason) == (code, reason)
    assert caught.value.fields == {"memory.confidence": "is wrong"}
    assert caught.value.metadata == ({"incident": "42"} if reason else {})
    assert len(bus.requests) == 1


async def test_a_listing_fetches_its_pages(bus: ScriptedBus, connect: Connect) -> None:
    """Pages are one sequence; each is asked for with the token of the one before."""
    pages = {
        "": ListMemoriesResponse(memories=[Memory(text="1"), Memory(text="2")], next_page_token="p2"),
        "p2": ListMemoriesResponse(memories=[Memory(text="3")]),
    }
    bus.handlers["ListMemories"] = lambda request, context: pages[request.page_token]
    async with connect() as client:
        texts = [memory.text async for memory in client.list(FACTS, filter={"states": ["overridden"]})]
    assert texts == ["1", "2", "3"]


async def test_each_item_of_a_batch_has_its_own_outcome(bus: ScriptedBus, connect: Connect) -> None:
    """A refused item is an error in its place; more than 500 writes are several calls."""

    def answer(request: Any, context: grpc.ServicerContext) -> BatchWriteMemoriesResponse:
        return BatchWriteMemoriesResponse(results=[written(write) for write in request.writes])

    bus.handlers["BatchWriteMemories"] = answer
    writes = [hbus.write_request(FACTS, "bad" if number == 501 else "good") for number in range(502)]
    async with connect() as client:
        outcomes = await client.write_many(writes)
    assert [len(request.writes) for request in bus.requests] == [500, 2]
    assert [type(each) for each in outcomes[:501]] == [WriteMemoryResponse] * 501
    assert isinstance(outcomes[501], errors.InvalidRequest)
    assert outcomes[501].field == "memory.text"


def written(write: WriteMemoryRequest) -> WriteResult:
    if write.memory.text == "bad":
        error = ItemError(code=3, reason="INVALID_FIELD", message="is bad", field="memory.text")
        return WriteResult(error=error)
    return WriteResult(response=stored(write.memory.text))


# --- subscriptions ---


async def test_what_is_written_after_entering_is_heard(bus: ScriptedBus, connect: Connect) -> None:
    """Entering waits for the confirmation; the events then come in order."""
    log = ScriptedLog()
    bus.handlers["Subscribe"] = log.subscribe
    async with connect() as client, client.subscribe(FACTS, kinds=["written"]) as live:
        log.commit(event(1), event(2))
        log.commit(event(3))
        heard = [(await anext(live)).revision for _ in range(3)]
    assert heard == [1, 2, 3]
    assert bus.requests[0].filter.kinds == [hbus.EventKind.EVENT_KIND_WRITTEN]


CUTS = [
    Refuse(grpc.StatusCode.UNAVAILABLE),
    Refuse(grpc.StatusCode.UNAVAILABLE, "DRAINING"),
    Refuse(grpc.StatusCode.INTERNAL),
    Refuse(grpc.StatusCode.CANCELLED),
    Refuse(grpc.StatusCode.UNKNOWN),
    Refuse(grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_STREAMS"),
    Refuse(grpc.StatusCode.OK),
]


async def test_random_cuts_lose_and_repeat_nothing(bus: ScriptedBus, connect: Connect) -> None:
    """However the stream is cut, what is received is what was published: each event once, in order."""
    seed = int(os.environ.get("TEST_SEED") or random.randrange(2**32))
    print("seed:", seed)
    chance = random.Random(seed)

    def cut() -> None:
        if chance.random() < 0.25:
            raise chance.choice(CUTS)

    log = ScriptedLog(cut)
    bus.handlers["Subscribe"] = cutting(log)
    published = 0
    for _ in range(200):
        size = chance.randint(1, 4)
        log.commit(*(event(published + offset) for offset in range(size)))
        published += size
    heard = []
    async with connect() as client, client.subscribe(FACTS, start="beginning") as live:
        async for each in live:
            heard.append(each.revision)
            if len(heard) == published:
                break
    assert heard == list(range(published))
    assert log.subscribes > 5


def cutting(log: ScriptedLog) -> Callable[[Any, Any], Iterator[SubscribeResponse]]:
    """Serve a log, ending the stream without an error where the cut is an OK."""

    def subscribe(request: Any, context: grpc.ServicerContext) -> Iterator[SubscribeResponse]:
        try:
            yield from log.subscribe(request, context)
        except Refuse as refusal:
            if refusal.code is not grpc.StatusCode.OK:
                raise

    return subscribe


async def test_a_subscription_that_is_never_confirmed_is_given_up(bus: ScriptedBus, connect: Connect) -> None:
    """A server that takes the call and says nothing costs the time-out and no more."""
    ended = threading.Event()

    def hang(request: Any, context: grpc.ServicerContext) -> Iterator[SubscribeResponse]:
        context.add_callback(ended.set)
        ended.wait(20)
        yield from ()

    bus.handlers["Subscribe"] = hang
    async with connect(timeout=0.2) as client:
        with pytest.raises(errors.DeadlineExpired):
            async with client.subscribe(FACTS):
                pass
    assert await asyncio.to_thread(ended.wait, 10), "the call was not cancelled"


async def test_a_server_that_dies_and_returns_is_resumed(bus: ScriptedBus, connect: Connect) -> None:
    """A lost connection is mended by itself, from the token of the last batch."""
    log = ScriptedLog()
    bus.handlers["Subscribe"] = log.subscribe
    async with connect() as client, client.subscribe(FACTS) as live:
        heard = []
        for number in range(3):
            log.commit(event(number))
            heard.append((await anext(live)).revision)
            await asyncio.to_thread(bus.stop)
            await asyncio.to_thread(bus.start)
        log.commit(event(3))
        heard.append((await anext(live)).revision)
    assert heard == [0, 1, 2, 3]


async def test_the_token_covers_what_was_yielded(bus: ScriptedBus, connect: Connect) -> None:
    """A process that stops in the midst of a batch and resumes from its token misses no event of it."""
    log = ScriptedLog()
    bus.handlers["Subscribe"] = log.subscribe
    log.commit(event(1), event(2))
    log.commit(event(3))
    async with connect() as client:
        async with client.subscribe(FACTS, start="beginning") as live:
            await anext(live)
            token = live.token
        async with client.subscribe(FACTS, start=token) as live:
            again = [(await anext(live)).revision for _ in range(3)]
            token = live.token
        log.commit(event(4))
        async with client.subscribe(FACTS, start=token) as live:
            assert (await anext(live)).revision == 4
    assert again == [1, 2, 3]


@pytest.mark.parametrize(
    ("reason", "kind"),
    [("REVISION_COMPACTED", errors.RevisionCompacted), ("LOG_DIVERGED", errors.LogDiverged)],
)
async def test_a_lost_position_is_an_error_never_a_fresh_start(
    bus: ScriptedBus, connect: Connect, reason: str, kind: type[errors.PositionLost]
) -> None:
    """When the place to resume from is gone the caller is told, and no other start is tried."""
    metadata = {"partition": "3", "oldest": "50", "current": "90"}
    gone = Refuse(grpc.StatusCode.OUT_OF_RANGE, reason, metadata=metadata)
    bus.handlers["Subscribe"] = failing_first(99, gone, None)
    async with connect() as client:
        with pytest.raises(kind) as caught:
            async with client.subscribe(FACTS, start="7"):
                pass
    assert (caught.value.partition, caught.value.current) == (3, 90)
    assert len(bus.requests) == 1


async def test_a_snapshot_that_is_cut_short_starts_over_unseen(bus: ScriptedBus, connect: Connect) -> None:
    """The snapshot is complete or not there; after it the stream resumes by token."""
    streams = iter(
        [
            [confirmed("1"), snapshot("a", "stale")],
            [confirmed("2"), snapshot("a"), snapshot("b"), checkpoint("2")],
            [confirmed("2")],
        ]
    )
    started = []

    def subscribe(request: Any, context: grpc.ServicerContext) -> Iterator[SubscribeResponse]:
        started.append(request.start.WhichOneof("from"))
        yield from next(streams)

    bus.handlers["Subscribe"] = subscribe
    async with connect() as client, client.subscribe(FACTS, start="snapshot", max_outage=0.05) as live:
        assert [memory.text for memory in await live.snapshot()] == ["a", "b"]
        assert live.token == "2"
        with pytest.raises(errors.HbusError):
            await anext(live)
    assert started[:3] == ["snapshot", "snapshot", "tokens"]


def confirmed(token: str) -> SubscribeResponse:
    return SubscribeResponse(confirmed=SubscriptionConfirmed(token=ConsistencyToken(token=token)))


def checkpoint(token: str) -> SubscribeResponse:
    return SubscribeResponse(checkpoint=Checkpoint(token=ConsistencyToken(token=token)))


def snapshot(*texts: str) -> SubscribeResponse:
    return SubscribeResponse(snapshot=SnapshotBatch(memories=[Memory(text=text) for text in texts]))


async def test_closing_ends_the_iteration(bus: ScriptedBus, connect: Connect) -> None:
    """A reader that waits for the next event stops when somebody closes its subscription."""
    bus.handlers["Subscribe"] = ScriptedLog().subscribe
    async with connect() as client, client.subscribe(FACTS) as live:
        reading = asyncio.create_task(everything(live))
        await asyncio.sleep(0)
        await live.close()
        assert await reading == []


async def everything(live: Any) -> list[Event]:
    return [each async for each in live]


async def test_a_wait_that_is_given_up_loses_no_event(bus: ScriptedBus) -> None:
    """Cancelling the wait for an event leaves an asyncio subscription usable, with nothing lost."""
    log = ScriptedLog()
    bus.handlers["Subscribe"] = log.subscribe
    async with hbus.aio.connect(bus.target) as client, client.subscribe(FACTS) as live:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(live), 0.05)
        log.commit(event(1))
        assert (await anext(live)).revision == 1


# --- publishing ---


async def test_publishing_survives_cuts_with_one_effect_a_write(bus: ScriptedBus, connect: Connect) -> None:
    """After a cut the unanswered writes are sent again under their ids, and each write is answered once."""
    seed = int(os.environ.get("TEST_SEED") or random.randrange(2**32))
    print("seed:", seed)
    chance = random.Random(seed)
    effects: dict[str, str] = {}

    def serve(requests: Iterator[Any], context: grpc.ServicerContext) -> Iterator[PublishResponse]:
        for sequence, request in enumerate(requests):
            effects[request.write.request_id] = request.write.memory.text
            if chance.random() < 0.1:
                raise Refuse(grpc.StatusCode.UNAVAILABLE, "DRAINING")
            yield PublishResponse(sequence=sequence, result=written(request.write))

    bus.handlers["Publish"] = serve
    writes = [hbus.write_request(FACTS, "bad" if number == 7 else f"{number}") for number in range(100)]
    async with connect() as client:
        answered = [published async for published in client.publish(iter(writes), window=8)]
    assert sorted(published.index for published in answered) == list(range(100))
    assert effects == {write.request_id: write.memory.text for write in writes}
    refused = [published.index for published in answered if isinstance(published.outcome, errors.HbusError)]
    assert refused == [7]


# --- consumers ---


async def test_a_member_that_stops_while_the_server_is_away_does_not_hammer_at_it(
    bus: ScriptedBus,
) -> None:
    """What it has settled is said again after pauses, for as long as its grace lasts."""
    comings = 0

    def consume(requests: Any, context: grpc.ServicerContext) -> Iterator[ConsumeResponse]:
        nonlocal comings
        comings += 1
        if comings > 1:
            raise Refuse(grpc.StatusCode.UNAVAILABLE, "DRAINING")
        for request in requests:
            match request.WhichOneof("message"):
                case "open":
                    yield ConsumeResponse(opened=GroupOpened())
                case "credit":
                    yield ConsumeResponse(events=DeliveryBatch(deliveries=[Delivery(ack_id="a", attempt=1)]))
                case "settle":
                    raise Refuse(grpc.StatusCode.UNAVAILABLE, "DRAINING")

    bus.handlers["Consume"] = consume
    async with hbus.aio.connect(bus.target, agent="worker") as client:
        consumption = client.consume(lambda delivery: asyncio.sleep(0), group="mail")
        await consumption.__aenter__()
        while comings < 2:  # noqa: ASYNC110 - the server's threads could set no event
            await asyncio.sleep(0.001)
        await consumption.stop(grace=1.0)
    assert comings < 20
