"""What a member says and when: nothing is forgotten over a cut, and no more comes than it can take."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import hbus
from hbus.backoff import Backoff
from hbus.consuming import Membership, duration
from hbus.group_requests import new_member, opening, redrive, seek, settle
from hbus.leases import Leases
from hbus.v1.bus_service_pb2 import (
    ConsumeRequest,
    ConsumeResponse,
    DeliveryBatch,
    DrainAnnounced,
    GroupOpened,
    GroupTerms,
    SettleResult,
)
from hbus.v1.group_pb2 import SETTLE_OUTCOME_DONE, SETTLE_OUTCOME_STALE, Delivery, Settlement

OPENED = ConsumeResponse(opened=GroupOpened(group=GroupTerms(lease=duration(10))))
DRAIN = ConsumeResponse(drain=DrainAnnounced())


def events(*ids: str, attempt: int = 1) -> ConsumeResponse:
    deliveries = [Delivery(ack_id=ack_id, attempt=attempt) for ack_id in ids]
    return ConsumeResponse(events=DeliveryBatch(deliveries=deliveries))


def answer(*outcomes: int) -> ConsumeResponse:
    return ConsumeResponse(settled=SettleResult(outcomes=outcomes))  # type: ignore[arg-type]


class Clock:
    """Seconds, moved by hand."""

    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def joined(window: int = 4, reject_after: int = 0, leases: Leases | None = None) -> Membership:
    """Return a member that has been opened and has granted its window."""
    membership = Membership(
        opening("mailer", "user:*:facts", "m1", {}),
        window,
        reject_after=reject_after,
        leases=leases,
        chance=lambda: 0.0,
    )
    membership.restart()
    membership.accept(OPENED)
    assert [request.credit.events for request in membership.outbox()] == [window]
    return membership


def said(membership: Membership) -> list[Settlement]:
    """Return the settlements that go out now."""
    return [s for request in membership.outbox() for s in request.settle.settlements]


def take(membership: Membership) -> Delivery:
    delivery = membership.pop()
    assert delivery is not None
    return delivery


def test_the_introduction_comes_first_and_credit_after_the_answer() -> None:
    """Nothing is granted before the server has opened."""
    membership = Membership(opening("mailer", "user:*:facts", "m1", {"lease": 2.5}), 4)
    [first] = membership.restart()
    assert (first.open.group.name, first.open.member) == ("mailer", "m1")
    assert first.open.group.lease.ToTimedelta().total_seconds() == 2.5
    assert list(membership.outbox()) == []


def test_acks_gather_in_one_request() -> None:
    """Each id once, in the order in which handlers finished."""
    membership = joined()
    membership.accept(events("a", "b"))
    first, second = take(membership), take(membership)
    membership.succeeded(second)
    membership.succeeded(first)
    [settlement] = said(membership)
    assert list(settlement.ack_ids) == ["b", "a"]
    assert settlement.HasField("ack")
    membership.accept(answer(SETTLE_OUTCOME_DONE, SETTLE_OUTCOME_STALE))
    assert membership.is_settled
    assert membership.stale == 1


def test_credit_keeps_the_window_full() -> None:
    """Half a window at a time; events in hand count."""
    membership = joined(window=4)
    membership.accept(events("a", "b", "c", "d"))
    for _ in range(2):
        membership.succeeded(take(membership))
    requests = list(membership.outbox())
    assert [request.WhichOneof("message") for request in requests] == ["settle", "credit"]
    assert requests[1].credit.events == 2
    assert list(membership.outbox()) == []


def test_a_request_holds_at_most_a_thousand_ids() -> None:
    """More go into the next one."""
    membership = joined(window=4000)
    membership.accept(events(*(str(n) for n in range(1500))))
    for _ in range(1500):
        membership.succeeded(take(membership))
    requests = [request for request in membership.outbox() if request.HasField("settle")]
    sizes = [sum(len(s.ack_ids) for s in request.settle.settlements) for request in requests]
    assert sizes == [1000, 500]


def test_what_was_not_answered_is_said_again() -> None:
    """On the next stream, once; what was answered is not."""
    membership = joined()
    membership.accept(events("a", "b"))
    membership.succeeded(take(membership))
    assert said(membership)
    membership.accept(answer(SETTLE_OUTCOME_DONE))
    membership.succeeded(take(membership))
    assert said(membership)
    membership.restart()
    assert [list(s.ack_ids) for s in said(membership)] == [["b"]]
    assert said(membership) == []


@pytest.mark.parametrize(("attempt", "delay_s"), [(1, 0.5), (2, 1.0), (3, 2.0)])
def test_a_failed_event_comes_again_later_and_later(attempt: int, delay_s: float) -> None:
    """With what was raised as the reason."""
    membership = joined()
    membership.accept(events("a", attempt=attempt))
    membership.failed(take(membership), ValueError("no\0pe"))
    [settlement] = said(membership)
    assert settlement.retry_later.delay.ToTimedelta().total_seconds() == delay_s
    assert settlement.retry_later.reason == "ValueError: nope"


@pytest.mark.parametrize(
    ("error", "reason"),
    [(hbus.RejectEvent("not for us"), "not for us"), (ValueError("x" * 2000), "ValueError: " + "x" * 1012)],
)
def test_an_event_is_rejected(error: Exception, reason: str) -> None:
    """By the handler's word, or after the attempts that the member allows."""
    membership = joined(reject_after=3)
    membership.accept(events("a", attempt=3))
    membership.failed(take(membership), error)
    [settlement] = said(membership)
    assert settlement.reject.reason == reason


def test_a_leaving_member_finishes_what_it_has_begun() -> None:
    """Told to drain, it begins nothing more, grants nothing, and is settled when all is answered."""
    membership = joined()
    membership.accept(events("a", "b"))
    running = take(membership)
    membership.accept(DRAIN)
    assert membership.is_leaving
    assert membership.pop() is None
    membership.succeeded(running)
    assert [request.WhichOneof("message") for request in membership.outbox()] == ["settle"]
    membership.accept(answer(SETTLE_OUTCOME_DONE))
    assert membership.is_settled
    membership.come_back()
    membership.restart()
    assert [request.credit.events for request in membership.outbox()] == [4]


def extended(membership: Membership) -> list[str]:
    """Return the ids whose leases are extended now; everything said must be about leases."""
    settlements = said(membership)
    assert all(settlement.HasField("extend") for settlement in settlements)
    return [ack_id for settlement in settlements for ack_id in settlement.ack_ids]


def test_leases_of_what_is_in_hand_are_extended() -> None:
    """Halfway, again and again, whether a handler runs or the event still waits; what is settled is let go."""
    clock = Clock()
    membership = joined(leases=Leases(clock=clock))
    membership.accept(events("a", "b"))
    assert membership.due_s == 5
    running = take(membership)
    clock.now_s += 4.9
    assert extended(membership) == []
    clock.now_s += 0.2
    assert extended(membership) == ["a", "b"]
    assert extended(membership) == []
    membership.accept(answer(SETTLE_OUTCOME_DONE, SETTLE_OUTCOME_DONE))
    membership.succeeded(running)
    said(membership)
    clock.now_s += 5
    assert extended(membership) == ["b"]
    membership.leave()
    assert membership.due_s is None


def test_what_another_member_has_is_not_begun() -> None:
    """A lease that was lost is not extended again, and the event is settled as stale by a handler that has begun."""
    clock = Clock()
    membership = joined(leases=Leases(clock=clock))
    membership.accept(events("a", "b", "c"))
    running = take(membership)
    clock.now_s += 6
    assert extended(membership) == ["a", "b", "c"]
    membership.accept(answer(SETTLE_OUTCOME_STALE, SETTLE_OUTCOME_STALE, SETTLE_OUTCOME_DONE))
    assert take(membership).ack_id == "c"
    assert membership.pop() is None
    assert membership.stale == 0
    clock.now_s += 6
    assert extended(membership) == ["c"]
    membership.succeeded(running)
    said(membership)
    membership.accept(answer(SETTLE_OUTCOME_DONE))
    membership.accept(answer(SETTLE_OUTCOME_STALE))
    assert membership.stale == 1


def test_a_lease_is_not_extended_for_ever() -> None:
    """A handler that hangs loses its event."""
    clock = Clock()
    membership = joined(leases=Leases(longest_s=12, clock=clock))
    membership.accept(events("a"))
    take(membership)
    times = []
    for _ in range(10):
        clock.now_s += 5
        times.append(len(extended(membership)))
    assert times == [1, 1] + [0] * 8
    assert membership.due_s is None


def test_settling_by_single_calls() -> None:
    """Acknowledged unless told otherwise; by the delivery or its id."""
    plain = settle("g", "m", [Delivery(ack_id="a"), "b"], None).settlements[0]
    assert (list(plain.ack_ids), plain.WhichOneof("action")) == (["a", "b"], "ack")
    for action, name in (
        (hbus.RetryLater(reason="busy"), "retry_later"),
        (hbus.ExtendLease(lease=duration(5)), "extend"),
        (hbus.Reject(reason="no"), "reject"),
    ):
        settlement = settle("g", "m", ["a"], action).settlements[0]
        assert settlement.WhichOneof("action") == name
        assert getattr(settlement, name) == action


def test_a_member_without_a_name_gets_one_of_its_own() -> None:
    """A legal name part, never the same twice."""
    first, second = new_member(), new_member()
    assert first != second
    assert len(first) <= 64
    assert opening("g", (), "", {}).member not in ("", first)


def test_seeks_and_redrives() -> None:
    """Places by name, token or time; letters by themselves, by id, or all."""
    assert seek("g", "now").HasField("now")
    assert seek("g", "beginning").HasField("beginning")
    assert seek("g", "abc").tokens.tokens[0].token == "abc"
    assert seek("g", datetime(2026, 1, 1, tzinfo=UTC)).time.seconds == 1_767_225_600
    with pytest.raises(ValueError, match="to:"):
        seek("g", "snapshot")
    assert redrive("g", None).all
    assert list(redrive("g", [hbus.DeadLetter(id="0-1"), "0-2"]).ids) == ["0-1", "0-2"]


def test_backoff_is_the_callers() -> None:
    """The pause between attempts follows the policy given."""
    membership = Membership(opening("g", (), "m", {}), 2, Backoff(first_s=8.0, cap_s=8.0), chance=lambda: 0.0)
    membership.restart()
    membership.accept(events("a"))
    membership.failed(take(membership), OSError())
    requests: list[ConsumeRequest] = list(membership.outbox())
    assert requests[0].settle.settlements[0].retry_later.delay.seconds == 4
