"""A member's side of a group. Pure: it is told what arrived and what handlers made of it, and tells what to send."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta

from google.protobuf.duration_pb2 import Duration

from hbus.backoff import Backoff
from hbus.leases import Leases
from hbus.v1.bus_service_pb2 import AddCredit, ConsumeRequest, ConsumeResponse, GroupTerms, OpenGroup, Settle
from hbus.v1.group_pb2 import (
    SETTLE_OUTCOME_STALE,
    Ack,
    Delivery,
    ExtendLease,
    Reject,
    RetryLater,
    Settlement,
    SettleOutcome,
)

HANDLER_BACKOFF = Backoff(first_s=1.0, cap_s=60.0)
_MAX_IDS = 1000
_MAX_REASON_CHARS = 1024


class RejectEvent(Exception):
    """Raise it in a handler to make the event a dead letter at once; its text is the reason."""


class Membership:
    """Events in hand, what is to be said about them, and how many more may come.

    What was said and not answered when a stream broke is said again on the next one: repeating it is harmless. Leases
    of events in hand are extended; where one was lost all the same, its event is not begun.
    """

    def __init__(
        self,
        opening: OpenGroup,
        window: int,
        retry: Backoff = HANDLER_BACKOFF,
        reject_after: int = 0,
        leases: Leases | None = None,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._opening = opening
        self._window = window
        self._retry = retry
        self._reject_after = reject_after
        self._leases = leases or Leases()
        self._chance = chance
        self._waiting: deque[Delivery] = deque()
        self._running = 0
        self._granted = 0
        self._unsaid: list[Settlement] = []
        self._unanswered: deque[list[Settlement]] = deque()
        self.terms: GroupTerms | None = None
        """Terms of the group in force; None until the server has told."""
        self.is_leaving = False
        """No more events are wanted; those in hand are finished."""
        self.stale = 0
        """Settlements that came too late: another member has the event."""

    @property
    def is_settled(self) -> bool:
        """No handler runs, and all that was said is answered."""
        return not (self._running or self._unsaid or self._unanswered)

    @property
    def due_s(self) -> float | None:
        """Seconds until there is a lease to extend; None while nothing is in hand."""
        return self._leases.next_s

    def restart(self) -> list[ConsumeRequest]:
        """Begin a new stream: return what to send first."""
        self._granted = 0
        unanswered = [settlement for said in self._unanswered for settlement in said]
        self._unsaid = unanswered + self._unsaid
        self._unanswered.clear()
        return [ConsumeRequest(open=self._opening)]

    def accept(self, message: ConsumeResponse) -> None:
        """Take in one message of the stream."""
        match message.WhichOneof("message"):
            case "opened":
                self.terms = message.opened.group
                self._leases.lease_s = self.terms.lease.ToTimedelta().total_seconds()
            case "events":
                self._waiting.extend(message.events.deliveries)
                self._leases.begin(delivery.ack_id for delivery in message.events.deliveries)
                self._granted = max(0, self._granted - len(message.events.deliveries))
            case "settled":
                self._note_outcomes(self._unanswered.popleft(), message.settled.outcomes)
            case "drain":
                self.leave()
            case _:
                pass  # a sign of life, or what a newer server says

    def _note_outcomes(self, said: Iterable[Settlement], outcomes: Iterable[SettleOutcome]) -> None:
        named = [(ack_id, settlement) for settlement in said for ack_id in settlement.ack_ids]
        for (ack_id, settlement), outcome in zip(named, outcomes, strict=False):
            if outcome == SETTLE_OUTCOME_STALE and settlement.HasField("extend"):
                self._lose(ack_id)
            elif outcome == SETTLE_OUTCOME_STALE:
                self.stale += 1

    def _lose(self, ack_id: str) -> None:
        """Note that another member has an event; a handler that has begun it will hear so when it is settled."""
        self._leases.end(ack_id)
        self._waiting = deque(delivery for delivery in self._waiting if delivery.ack_id != ack_id)

    def pop(self) -> Delivery | None:
        """Return the next event to handle; the caller tells what became of it."""
        if not self._waiting:
            return None
        self._running += 1
        return self._waiting.popleft()

    def succeeded(self, delivery: Delivery) -> None:
        """Note that a handler is done."""
        self._finish(delivery)
        last = self._unsaid[-1] if self._unsaid else None
        if last is not None and last.HasField("ack") and len(last.ack_ids) < _MAX_IDS:
            last.ack_ids.append(delivery.ack_id)
        else:
            self._unsaid.append(Settlement(ack_ids=[delivery.ack_id], ack=Ack()))

    def failed(self, delivery: Delivery, error: Exception) -> None:
        """Note that a handler has raised: the event comes again later and later, or is rejected."""
        self._finish(delivery)
        name = "" if isinstance(error, RejectEvent) else f"{type(error).__name__}: "
        reason = f"{name}{error}".replace("\0", "")[:_MAX_REASON_CHARS]
        settlement = Settlement(ack_ids=[delivery.ack_id])
        if isinstance(error, RejectEvent) or 0 < self._reject_after <= delivery.attempt:
            settlement.reject.CopyFrom(Reject(reason=reason))
        else:
            pause_s = self._retry.pause(delivery.attempt, self._chance())
            settlement.retry_later.CopyFrom(RetryLater(delay=duration(pause_s), reason=reason))
        self._unsaid.append(settlement)

    def _finish(self, delivery: Delivery) -> None:
        self._running -= 1
        self._leases.end(delivery.ack_id)

    def leave(self) -> None:
        """Want no more; what was not begun is left to others."""
        self.is_leaving = True
        for delivery in self._waiting:
            self._leases.end(delivery.ack_id)
        self._waiting.clear()

    def come_back(self) -> None:
        """Want events again, on a new stream."""
        self.is_leaving = False

    def outbox(self) -> Iterator[ConsumeRequest]:
        """Yield what there is to say: settlements, then credit, half a window or more at a time."""
        if due := self._leases.due():
            self._unsaid += [Settlement(ack_ids=ids, extend=ExtendLease()) for ids in _parted(due, _MAX_IDS)]
        while self._unsaid:
            said = self._next_settle()
            self._unanswered.append(said)
            yield ConsumeRequest(settle=Settle(settlements=said))
        missing = self._window - self._granted - self._running - len(self._waiting)
        if self.terms is not None and not self.is_leaving and 2 * missing >= self._window:
            self._granted += missing
            yield ConsumeRequest(credit=AddCredit(events=missing))

    def _next_settle(self) -> list[Settlement]:
        """Take from what is unsaid as much as one request may hold."""
        ids = 0
        for n, settlement in enumerate(self._unsaid):
            ids += len(settlement.ack_ids)
            if ids > _MAX_IDS:
                said, self._unsaid = self._unsaid[:n], self._unsaid[n:]
                return said
        said, self._unsaid = self._unsaid, []
        return said


def _parted(ids: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(ids), size):
        yield ids[start : start + size]


def duration(seconds: float) -> Duration:
    """Return a duration as a message."""
    made = Duration()
    made.FromTimedelta(timedelta(seconds=seconds))
    return made
