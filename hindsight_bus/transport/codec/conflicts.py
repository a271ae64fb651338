"""Conflicts out, and what outcomes carry of them."""

from __future__ import annotations

from hbus.v1 import conflict_pb2 as pb
from hindsight_bus.app.conflicts import conflict_etag
from hindsight_bus.domain.names import conflict_name, memory_name
from hindsight_bus.domain.records import Conflict, ConflictSide, Judgement, Resolution
from hindsight_bus.ports import Stored
from hindsight_bus.transport.codec import fields
from hindsight_bus.transport.codec.memories import timestamp


def encode_conflict(stored: Stored[Conflict]) -> pb.Conflict:
    """Return a conflict for the wire."""
    conflict = stored.record
    namespace = str(conflict.namespace)
    return pb.Conflict(
        name=conflict_name(namespace, conflict.id),
        subject=conflict.subject,
        type=fields.number(conflict.type),
        state=fields.number(conflict.state),
        sides=[_encode_side(side, namespace) for side in conflict.sides],
        reason=conflict.reason,
        create_time=timestamp(stored.create_time_ms),
        update_time=timestamp(stored.update_time_ms),
        resolution=_encode_resolution(conflict.resolution, namespace) if conflict.resolution else None,
        etag=conflict_etag(stored),
        judgement=_encode_judgement(conflict.judgement) if conflict.judgement else None,
    )


def _encode_judgement(judgement: Judgement) -> pb.Judgement:
    return pb.Judgement(
        verdict=fields.number(judgement.verdict),
        reason=judgement.reason,
        model=judgement.model,
        time=timestamp(judgement.time_ms),
    )


def _encode_side(side: ConflictSide, namespace: str) -> pb.ConflictSide:
    return pb.ConflictSide(
        memory=memory_name(namespace, side.memory_id),
        text=side.text,
        score=side.score,
        speakers=side.speakers,
    )


def _encode_resolution(resolution: Resolution, namespace: str) -> pb.Resolution:
    return pb.Resolution(
        action=fields.number(resolution.action),
        memory=memory_name(namespace, resolution.memory_id) if resolution.memory_id else "",
        agent=resolution.agent,
        rationale=resolution.rationale,
        time=timestamp(resolution.time_ms),
    )
