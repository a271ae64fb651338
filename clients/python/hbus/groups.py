"""What the client for threads does with consumer groups."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Unpack

from hbus import aio, group_requests
from hbus.backoff import Backoff
from hbus.consuming import HANDLER_BACKOFF
from hbus.consumption import Consumption, Handler
from hbus.endpoint import Endpoint
from hbus.group_requests import Action, ConsumeFields
from hbus.leases import LONGEST_S
from hbus.v1.bus_service_pb2 import DeleteGroupRequest, Group, ListDeadLettersRequest, ListGroupsRequest
from hbus.v1.bus_service_pb2_grpc import BusServiceStub
from hbus.v1.group_pb2 import SETTLE_OUTCOME_DONE, DeadLetter, Delivery
from hbus.values import Token


class GroupCalls(ABC):
    """Calls of ``hbus.v1.BusService`` about groups, as a part of ``Client``."""

    _bus: BusServiceStub
    endpoint: Endpoint
    _timeout: float

    def consume(
        self,
        handler: Handler,
        *,
        group: str,
        namespaces: str | Iterable[str] = (),
        member: str = "",
        concurrency: int = 8,
        retry: Backoff = HANDLER_BACKOFF,
        reject_after: int = 0,
        max_lease: float = LONGEST_S,
        max_outage: float | None = None,
        **fields: Unpack[ConsumeFields],
    ) -> Consumption:
        """Work off the events of a group, shared with its other members; each comes at least once.

        Without ``namespaces`` the group must exist. ``member`` is a name of this process's own unless given: one that
        comes back under its name within the lease goes on where it was. At most ``concurrency`` handlers run at a time.
        Failed events come again after ``retry``, and are dead letters after the group's ``max_attempts``, or after
        ``reject_after`` where that is less. The lease of an event is extended while it is in hand, for ``max_lease``
        seconds at most, so a handler that hangs does not keep it. Cuts are mended for ever, or for ``max_outage``
        seconds.
        """

        def begin(bus: aio.Client, handle: Callable[[Delivery], Awaitable[object]]) -> aio.Consumption:
            return bus.consume(
                handle,
                group=group,
                namespaces=namespaces,
                member=member,
                concurrency=concurrency,
                retry=retry,
                reject_after=reject_after,
                max_lease=max_lease,
                max_outage=max_outage,
                **fields,
            )

        return Consumption(self.endpoint, begin, handler, concurrency)

    def pull(
        self,
        *,
        group: str,
        member: str,
        namespaces: str | Iterable[str] = (),
        max_events: int = 0,
        wait: float = 0.0,
        timeout: float | None = None,
        **fields: Unpack[ConsumeFields],
    ) -> list[Delivery]:
        """Take events for a member by a single call, and settle them with ``ack`` within the lease.

        Waits up to ``wait`` seconds, at most 30, for the first one; brings about ``max_events``, 1 to 200, 0 = 100. The
        deadline is the client's beside ``wait``. Where an answer was lost, its events come again after their lease.
        """
        request = group_requests.pull(group, namespaces, member, max_events, wait, fields)
        deadline_s = self._timeout + wait if timeout is None else timeout
        return list((self._call(self._bus.PullEvents, request, deadline_s)).deliveries)

    def ack(
        self,
        deliveries: Iterable[Delivery | str],
        action: Action | None = None,
        *,
        group: str,
        member: str,
        timeout: float | None = None,
    ) -> list[bool]:
        """Acknowledge at most 1,000 deliveries (or ack ids), or do with them what ``action`` says.

        Returns, for each in order, whether the member still had it. Actions are ``hbus.RetryLater``,
        ``hbus.ExtendLease`` and ``hbus.Reject``.
        """
        request = group_requests.settle(group, member, deliveries, action)
        answer = self._call(self._bus.AckEvents, request, timeout)
        return [outcome == SETTLE_OUTCOME_DONE for outcome in answer.outcomes]

    def groups(self, *, page_size: int = 0, timeout: float | None = None) -> Iterator[Group]:
        """Yield the groups by name, with where they stand."""
        request = ListGroupsRequest(page_size=page_size)
        for page in self._pages(self._bus.ListGroups, request, timeout):
            yield from page.groups

    def seek_group(
        self, group: str, to: str | Token | Sequence[Token] | datetime, *, timeout: float | None = None
    ) -> None:
        """Let a group go on from ``"now"``, ``"beginning"``, tokens or a time; members notice within 2 s.

        What is pending is dropped; dead letters stay.
        """
        self._call(self._bus.SeekGroup, group_requests.seek(group, to), timeout)

    def delete_group(self, group: str, *, timeout: float | None = None) -> None:
        """Remove a group with its pending events and dead letters."""
        self._call(self._bus.DeleteGroup, DeleteGroupRequest(group=group), timeout)

    def dead_letters(
        self, group: str, *, page_size: int = 0, timeout: float | None = None
    ) -> Iterator[DeadLetter]:
        """Yield the events of a group that no member could settle."""
        request = ListDeadLettersRequest(group=group, page_size=page_size)
        for page in self._pages(self._bus.ListDeadLetters, request, timeout):
            yield from page.dead_letters

    def redrive(
        self,
        group: str,
        letters: Iterable[DeadLetter | str] | None = None,
        *,
        timeout: float | None = None,
    ) -> int:
        """Give dead letters, or all of them (None), another run of attempts; return how many there were."""
        request = group_requests.redrive(group, letters)
        answer = self._call(self._bus.RedriveDeadLetters, request, timeout)
        return int(answer.redriven)

    @abstractmethod
    def _call(self, method: Any, request: Any, timeout: float | None) -> Any: ...

    @abstractmethod
    def _pages(self, method: Any, request: Any, timeout: float | None) -> Iterator[Any]: ...
