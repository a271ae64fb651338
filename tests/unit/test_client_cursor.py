"""Where a subscription resumes: the rule that keeps events from being lost or repeated."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hbus.backoff import Backoff
from hbus.cursor import Cursor
from hbus.requests import subscribe
from hbus.v1.bus_service_pb2 import (
    Checkpoint,
    EventBatch,
    SubscribeRequest,
    SubscribeResponse,
    SubscriptionConfirmed,
)
from hbus.v1.common_pb2 import ConsistencyToken
from hbus.v1.event_pb2 import Event


def serve(request: SubscribeRequest, published: int, sizes: list[int]) -> list[SubscribeResponse]:
    """Answer a subscription over ``published`` events in batches of the sizes given, then a checkpoint."""
    tokens = request.start.tokens.tokens
    at = int(tokens[0].token) if tokens else 0
    stream = [SubscribeResponse(confirmed=SubscriptionConfirmed(token=token(at)))]
    for size in sizes:
        events = [Event(revision=revision) for revision in range(at, min(at + size, published))]
        at += len(events)
        if events:
            stream.append(SubscribeResponse(events=EventBatch(events=events, token=token(at))))
    return [*stream, SubscribeResponse(checkpoint=Checkpoint(token=token(at)))]


def token(at: int) -> ConsistencyToken:
    return ConsistencyToken(token=str(at))


connections = st.lists(
    st.tuples(st.lists(st.integers(0, 5), max_size=5), st.integers(0, 7)), min_size=1, max_size=20
)


@given(connections, st.integers(0, 30))
def test_every_event_is_handed_on_once(connections: list[tuple[list[int], int]], published: int) -> None:
    """Wherever each connection is cut, the events handed on are a prefix of those published, without repeats, and the
    token is exactly behind the last of them."""
    cursor = Cursor(subscribe("a:b:c", "beginning", {}), Backoff())
    heard = []
    for sizes, cut_after in connections:
        for message in serve(cursor.request(), published, sizes)[:cut_after]:
            cursor.accept(message)
            while (event := cursor.pop()) is not None:
                heard.append(event.revision)
    assert heard == list(range(len(heard)))
    assert cursor.token in ("", str(len(heard)))
    assert bool(cursor.token) == cursor.is_confirmed


def test_the_token_lags_within_a_batch() -> None:
    """A token that covered an event not handed on yet would lose it in a crash."""
    cursor = Cursor(subscribe("a:b:c", "beginning", {}), Backoff())
    confirmed, batch, _ = serve(cursor.request(), 2, [2])
    cursor.accept(confirmed)
    cursor.accept(batch)
    assert (cursor.token, cursor.buffered) == ("0", 2)
    cursor.pop()
    assert (cursor.token, cursor.buffered) == ("0", 1)
    cursor.pop()
    assert (cursor.token, cursor.buffered) == ("2", 0)


def test_the_filter_is_kept_when_resuming() -> None:
    """The same question from another place."""
    cursor = Cursor(
        subscribe(["a:b:c", "a:*:d"], "snapshot", {"kinds": ["written"], "not_my_own": True}), Backoff()
    )
    first = SubscribeRequest()
    first.CopyFrom(cursor.request())
    cursor.accept(SubscribeResponse(checkpoint=Checkpoint(token=token(7))))
    resumed = SubscribeRequest()
    resumed.CopyFrom(cursor.request())
    assert resumed.start.tokens.tokens[0].token == "7"
    resumed.ClearField("start")
    first.ClearField("start")
    assert resumed == first
