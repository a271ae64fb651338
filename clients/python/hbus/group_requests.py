"""Requests about groups from plain Python values. Pure."""

from __future__ import annotations

import os
import re
import socket
import uuid
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TypedDict

from hbus import requests
from hbus.consuming import duration
from hbus.fields import EventFields
from hbus.v1.bus_service_pb2 import (
    AckEventsRequest,
    GroupTerms,
    OpenGroup,
    PullEventsRequest,
    RedriveDeadLettersRequest,
    SeekGroupRequest,
    Start,
)
from hbus.v1.group_pb2 import Ack, DeadLetter, Delivery, ExtendLease, Reject, RetryLater, Settlement
from hbus.values import Token, moment

WINDOW_PER_HANDLER = 2
Action = RetryLater | ExtendLease | Reject


class GroupFields(TypedDict, total=False):
    """Terms of a group beside its namespaces; all its members give the same, ``start`` apart."""

    start: str | Token | Sequence[Token]
    """Where a new group starts: ``"now"``, ``"beginning"``, or tokens to start after."""
    ordered: bool
    """One event of an owner at a time, in order."""
    lease: float
    """Seconds without a word from its member after which an event goes to another one; 1 to 3,600, default 30."""
    max_attempts: int
    """Deliveries after which an event becomes a dead letter; 1 to 100, default 5."""
    lifetime: float
    """Seconds without a member after which the group is removed; default 7 days."""


class ConsumeFields(EventFields, GroupFields, total=False):
    """Terms of a group and conditions on its events."""


def opening(group: str, namespaces: str | Iterable[str], member: str, fields: ConsumeFields) -> OpenGroup:
    """Build the introduction of a member."""
    return OpenGroup(group=_terms(group, namespaces, fields), member=member or new_member())


def pull(
    group: str,
    namespaces: str | Iterable[str],
    member: str,
    max_events: int,
    wait_s: float,
    fields: ConsumeFields,
) -> PullEventsRequest:
    """Build a call for events."""
    return PullEventsRequest(
        group=_terms(group, namespaces, fields), member=member, max_events=max_events, wait=duration(wait_s)
    )


def settle(
    group: str, member: str, deliveries: Iterable[Delivery | str], action: Action | None
) -> AckEventsRequest:
    """Build a call that does one thing with deliveries, or their ack ids; acknowledges unless told otherwise."""
    ids = [each.ack_id if isinstance(each, Delivery) else each for each in deliveries]
    match action:
        case RetryLater():
            settlement = Settlement(ack_ids=ids, retry_later=action)
        case ExtendLease():
            settlement = Settlement(ack_ids=ids, extend=action)
        case Reject():
            settlement = Settlement(ack_ids=ids, reject=action)
        case _:
            settlement = Settlement(ack_ids=ids, ack=Ack())
    return AckEventsRequest(group=group, member=member, settlements=[settlement])


def _terms(group: str, namespaces: str | Iterable[str], fields: ConsumeFields) -> GroupTerms:
    names = GroupFields.__annotations__
    filter: EventFields = {k: v for k, v in fields.items() if k not in names}  # type: ignore[assignment]
    wanted = requests.subscribe(namespaces, fields.get("start", "now"), filter)
    terms = GroupTerms(
        name=group,
        namespaces=wanted.namespaces,
        filter=wanted.filter,
        ordered=fields.get("ordered", False),
        max_attempts=fields.get("max_attempts", 0),
        start=wanted.start,
    )
    if "lease" in fields:
        terms.lease.CopyFrom(duration(fields["lease"]))
    if "lifetime" in fields:
        terms.lifetime.CopyFrom(duration(fields["lifetime"]))
    return terms


def new_member() -> str:
    """Return a name for this process: machine, process id and a random part."""
    machine = re.sub(r"[^0-9A-Za-z._-]", "-", socket.gethostname())[:32]
    return f"{machine}-{os.getpid()}-{uuid.uuid4().hex[:8]}"


def seek(group: str, to: str | Token | Sequence[Token] | datetime) -> SeekGroupRequest:
    """Build a seek to ``"now"``, ``"beginning"``, tokens, or a time."""
    if isinstance(to, datetime):
        return SeekGroupRequest(group=group, time=moment(to, "to"))
    start: Start = requests.subscribe((), to, {}).start
    match start.WhichOneof("from"):
        case "now":
            return SeekGroupRequest(group=group, now=start.now)
        case "beginning":
            return SeekGroupRequest(group=group, beginning=start.beginning)
        case "tokens":
            return SeekGroupRequest(group=group, tokens=start.tokens)
    raise ValueError("to: give now, beginning, a token or a time")


def redrive(group: str, letters: Iterable[DeadLetter | str] | None) -> RedriveDeadLettersRequest:
    """Build a redrive of some dead letters, or of all of them (None)."""
    if letters is None:
        return RedriveDeadLettersRequest(group=group, all=True)
    ids = [each.id if isinstance(each, DeadLetter) else each for each in letters]
    return RedriveDeadLettersRequest(group=group, ids=ids)
