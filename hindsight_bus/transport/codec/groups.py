"""Members and groups in, deliveries and dead letters out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from google.protobuf.duration_pb2 import Duration

from hbus.v1 import bus_service_pb2 as pb
from hbus.v1 import group_pb2
from hindsight_bus.app import consume_session as session
from hindsight_bus.app import watch
from hindsight_bus.app.consume import Pull
from hindsight_bus.app.group_feed import MAX_EVENTS, Delivery
from hindsight_bus.app.groups import DAY_MS, AtTime, BuriedEvent, GroupStatus, GroupTerms
from hindsight_bus.domain.errors import InvalidField, within
from hindsight_bus.domain.groups import Action, EventId, GroupRecord, Settlement
from hindsight_bus.domain.names import check_part
from hindsight_bus.domain.position import Positions, varint
from hindsight_bus.domain.query import EventFilter
from hindsight_bus.transport.codec import fields
from hindsight_bus.transport.codec.events import (
    decode_event_filter,
    decode_start,
    encode_meaning,
    event_alone,
    fill_event,
)
from hindsight_bus.transport.codec.memories import timestamp
from hindsight_bus.transport.codec.queries import decode_tokens, encode_token

_EVENTS_TAG = bytes([pb.ConsumeResponse.EVENTS_FIELD_NUMBER << 3 | 2])
_DELIVERIES_TAG = bytes([pb.DeliveryBatch.DELIVERIES_FIELD_NUMBER << 3 | 2])
_ACK_ID_TAG = bytes([group_pb2.Delivery.ACK_ID_FIELD_NUMBER << 3 | 2])
_ATTEMPT_TAG = bytes([group_pb2.Delivery.ATTEMPT_FIELD_NUMBER << 3])
_FENCE_TAG = bytes([group_pb2.Delivery.FENCE_FIELD_NUMBER << 3])
_ACK_ID = re.compile(r"(\d{1,5})-(\d{1,16})-(\d{1,5})-(\d{1,16})", re.ASCII)
_LETTER_ID = re.compile(r"(\d{1,5})-(\d{1,16})", re.ASCII)
_MAX_SETTLED = 1000
_MAX_REASON_CHARS = 1024
_MAX_LEASE_MS = 3_600_000
_MAX_WAIT_MS = 30_000


def group_name(text: str, field: str = "group") -> str:
    """Return the name of a group."""
    return check_part(text, field)


def decode_consume(request: pb.ConsumeRequest, tenant: str) -> session.ConsumeRequest:
    """Return what a member says over its stream; raise ``InvalidField``."""
    match request.WhichOneof("message"):
        case "open":
            with within("open.group"):
                terms = _decode_terms(request.open.group, tenant)
            return session.Open(terms, check_part(request.open.member, "open.member"))
        case "credit":
            return session.Credit(fields.whole(request.credit.events, "credit.events", 1, session.MAX_CREDIT))
        case "settle":
            return session.Settle(decode_settlements(request.settle.settlements, "settle.settlements"))
        case _:
            raise InvalidField("message", "is required")


def decode_pull(request: pb.PullEventsRequest, tenant: str) -> Pull:
    """Return a call for events."""
    with within("group"):
        terms = _decode_terms(request.group, tenant)
    return Pull(
        terms=terms,
        member=check_part(request.member, "member"),
        limit=fields.whole(request.max_events, "max_events", 0, MAX_EVENTS) or MAX_EVENTS // 2,
        wait_s=fields.duration_ms(request.wait, "wait", 0, _MAX_WAIT_MS) / 1000,
    )


def _decode_terms(message: pb.GroupTerms, tenant: str) -> GroupTerms:
    defaults = GroupTerms(check_part(message.name, "name"))
    if not message.namespaces:
        return defaults
    return GroupTerms(
        name=defaults.name,
        patterns=fields.patterns(message.namespaces, tenant),
        filter=_decode_filter(message.filter),
        ordered=message.ordered,
        lease_ms=_duration(message, "lease", "lease", 1000, _MAX_LEASE_MS) or defaults.lease_ms,
        max_attempts=fields.whole(message.max_attempts, "max_attempts", 0, 100) or defaults.max_attempts,
        lifetime_ms=_duration(message, "lifetime", "lifetime", 60_000, 90 * DAY_MS) or defaults.lifetime_ms,
        start=_decode_start(message.start, tenant),
    )


def _decode_filter(message: pb.EventFilter) -> EventFilter:
    if message.not_my_own:
        raise InvalidField("filter.not_my_own", "means nothing to a group")
    return decode_event_filter(message)


def _duration(message: Any, name: str, field: str, low_ms: int, high_ms: int) -> int:
    """Return milliseconds of an optional duration; 0 where it is not given."""
    if not message.HasField(name):
        return 0
    return fields.duration_ms(getattr(message, name), field, low_ms, high_ms)


def _decode_start(message: pb.Start, tenant: str) -> watch.Now | watch.Beginning | watch.AfterTokens:
    start = decode_start(message, tenant)
    if isinstance(start, watch.Snapshot):
        raise InvalidField("start.snapshot", "is for subscriptions only")
    return start


def decode_seek(
    request: pb.SeekGroupRequest, tenant: str
) -> watch.Now | watch.Beginning | watch.AfterTokens | AtTime:
    """Return where a group goes on."""
    match request.WhichOneof("to"):
        case "now":
            return watch.Now()
        case "beginning":
            return watch.Beginning()
        case "tokens":
            return watch.AfterTokens(decode_tokens(request.tokens.tokens, tenant, "tokens.tokens"))
        case "time":
            return AtTime(fields.time_ms(request.time, "time"))
        case _:
            raise InvalidField("to", "is required")


def decode_settlements(
    messages: Sequence[group_pb2.Settlement], field: str = "settlements"
) -> tuple[tuple[int, Settlement], ...]:
    """Return what to do with each delivery, with its partition, in order."""
    settled: list[tuple[int, Settlement]] = []
    for i, message in enumerate(messages):
        settled += _decode_settlement(message, f"{field}[{i}]")
    fields.at_most(settled, field, _MAX_SETTLED)
    return tuple(settled)


def _decode_settlement(message: group_pb2.Settlement, field: str) -> Iterator[tuple[int, Settlement]]:
    if not message.ack_ids:
        raise InvalidField(f"{field}.ack_ids", "is required")
    action, delay_ms, reason = _decode_action(message, field)
    for i, text in enumerate(message.ack_ids):
        found = _ACK_ID.fullmatch(text)
        if found is None:
            raise _not_an_id(f"{field}.ack_ids[{i}]")
        partition, revision, index, number = map(int, found.groups())
        yield partition, Settlement(EventId(revision, index), number, action, delay_ms, reason)


def _decode_action(message: group_pb2.Settlement, field: str) -> tuple[Action, int, str]:
    """Return the action with its delay and reason."""
    match message.WhichOneof("action"):
        case "ack":
            return Action.ACK, 0, ""
        case "retry_later":
            retry = message.retry_later
            delay_ms = fields.duration_ms(retry.delay, f"{field}.retry_later.delay", 0, DAY_MS)
            return Action.RETRY, delay_ms, _reason(retry.reason, f"{field}.retry_later.reason")
        case "extend":
            return (
                Action.EXTEND,
                _duration(message.extend, "lease", f"{field}.extend.lease", 1000, DAY_MS),
                "",
            )
        case "reject":
            return Action.REJECT, 0, _reason(message.reject.reason, f"{field}.reject.reason")
        case _:
            raise InvalidField(f"{field}.action", "is required")


def _reason(text: str, field: str) -> str:
    return fields.remark(text, field, _MAX_REASON_CHARS)


def decode_redrive(request: pb.RedriveDeadLettersRequest) -> list[tuple[int, int]]:
    """Return which dead letters to redrive; empty for all of them."""
    if request.all == bool(request.ids):
        raise InvalidField("ids", "is required unless all is set, and refused with it")
    fields.at_most(request.ids, "ids", _MAX_SETTLED)
    return [decode_letter_id(text, f"ids[{i}]") for i, text in enumerate(request.ids)]


def decode_letter_id(text: str, field: str) -> tuple[int, int]:
    """Return partition and number of a dead letter."""
    found = _LETTER_ID.fullmatch(text)
    if found is None:
        raise _not_an_id(field)
    return int(found[1]), int(found[2])


def _not_an_id(field: str) -> InvalidField:
    return InvalidField(field, "is not an id of this service")


def encode_consumed(message: session.Message, tenant: str) -> pb.ConsumeResponse | bytes:
    """Return one message to a member, deliveries already serialised."""
    match message:
        case session.Deliveries(deliveries):
            return _encode_batch(deliveries)
        case session.Settled(sequence, outcomes):
            result = pb.SettleResult(sequence=sequence, outcomes=map(encode_outcome, outcomes))
            return pb.ConsumeResponse(settled=result)
        case session.Opened(group):
            opened = pb.GroupOpened(group=encode_terms(group, tenant), max_credit=session.MAX_CREDIT)
            return pb.ConsumeResponse(opened=opened)
        case session.DrainAnnounced():
            return pb.ConsumeResponse(drain=pb.DrainAnnounced())
        case session.Idle():
            return pb.ConsumeResponse(idle=pb.ConsumeIdle())


def _encode_batch(deliveries: Sequence[Delivery]) -> bytes:
    """Return a serialised ``ConsumeResponse``; each event is encoded once for all groups and subscribers."""
    parts: list[bytes] = []
    for delivery in deliveries:
        watched = delivery.watched
        event, about = watched.wire or event_alone(watched), _encode_about(delivery)
        parts += _DELIVERIES_TAG, varint(len(event) + len(about)), event, about
    body = b"".join(parts)
    return _EVENTS_TAG + varint(len(body)) + body


def _encode_about(delivery: Delivery) -> bytes:
    """Return what a serialised ``Delivery`` holds behind its event; a message made for it would take twice as long."""
    watched, number = delivery.watched, delivery.number
    entry = watched.entry
    ack_id = b"%d-%d-%d-%d" % (entry.partition, entry.revision, watched.index, number)
    return b"%b%c%b%b%b%b%b" % (
        _ACK_ID_TAG, len(ack_id), ack_id,
        _ATTEMPT_TAG, varint(delivery.attempt),
        _FENCE_TAG, varint(number),
    )  # fmt: skip


def encode_delivery(delivery: Delivery) -> group_pb2.Delivery:
    """Return one delivery for the wire."""
    encoded = group_pb2.Delivery.FromString(_encode_about(delivery))
    fill_event(encoded.event, delivery.watched)
    return encoded


def encode_outcome(is_done: bool) -> group_pb2.SettleOutcome:
    """Return what became of settling one delivery."""
    return group_pb2.SETTLE_OUTCOME_DONE if is_done else group_pb2.SETTLE_OUTCOME_STALE


def encode_terms(group: GroupRecord, tenant: str) -> pb.GroupTerms:
    """Return the terms of a group, with where it started."""
    token = encode_token(Positions(group.start), tenant)
    return pb.GroupTerms(
        name=group.name,
        namespaces=map(str, group.patterns),
        filter=_encode_filter(group.filter),
        ordered=group.ordered,
        lease=_encode_ms(group.lease_ms),
        max_attempts=group.max_attempts,
        lifetime=_encode_ms(group.lifetime_ms),
        start=pb.Start(tokens=pb.StartTokens(tokens=[token])),
    )


def _encode_filter(filter: EventFilter) -> pb.EventFilter:
    return pb.EventFilter(
        types=map(fields.number, sorted(filter.types)),
        tags=sorted(filter.tags),
        min_confidence=filter.min_confidence or None,
        kinds=map(fields.number, sorted(filter.kinds)),
        subject_prefix=filter.subject_prefix,
        meaning=encode_meaning(filter.meaning),
    )


def encode_group(status: GroupStatus, tenant: str) -> pb.Group:
    """Return a group and where it stands."""
    return pb.Group(
        terms=encode_terms(status.group, tenant),
        members=status.members,
        pending=status.pending,
        lag=status.lag,
        oldest_age=_encode_ms(status.oldest_age_ms),
        dead_letters=status.dead,
        lost=status.lost,
        dropped_dead_letters=status.dropped,
        agent=status.group.agent,
        create_time=timestamp(status.group.create_time_ms),
    )


def encode_dead_letter(buried: BuriedEvent) -> group_pb2.DeadLetter:
    """Return a dead letter for the wire."""
    letter = buried.letter
    encoded = group_pb2.DeadLetter(
        id=f"{buried.partition}-{letter.sequence}",
        attempts=letter.attempts,
        reason=letter.reason,
        time=timestamp(letter.time_ms),
    )
    fill_event(encoded.event, buried.watched)
    return encoded


def _encode_ms(milliseconds: int) -> Duration:
    seconds, rest_ms = divmod(milliseconds, 1000)
    return Duration(seconds=seconds, nanos=rest_ms * 1_000_000)
