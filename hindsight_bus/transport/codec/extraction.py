"""Conversations in, what was found in them out."""

from __future__ import annotations

from hbus.v1 import memory_service_pb2 as pb
from hindsight_bus.app.extract import ExtractAnswer, Extracted, ExtractRequest
from hindsight_bus.app.outcome import Outcome
from hindsight_bus.domain.errors import InvalidField, TooLarge
from hindsight_bus.domain.extraction import Role, Turn
from hindsight_bus.domain.names import Namespace
from hindsight_bus.domain.position import Positions
from hindsight_bus.transport.codec import fields
from hindsight_bus.transport.codec.memories import MAX_PLACE_CHARS, source_of, timestamp
from hindsight_bus.transport.codec.outcomes import Outcomes
from hindsight_bus.transport.codec.queries import encode_token

MAX_TURNS = 500
_MAX_TURN_BYTES = 32 * 1024
_MAX_CONVERSATION_BYTES = 256 * 1024
_MAX_REQUEST_ID_CHARS = 100


def decode_extract(request: pb.ExtractMemoriesRequest, tenant: str) -> ExtractRequest:
    """Return a conversation to extract from; raise ``InvalidField`` or ``TooLarge`` naming the field at fault."""
    if not request.turns:
        raise InvalidField("turns", "is required")
    fields.at_most(request.turns, "turns", MAX_TURNS)
    turns = tuple(_turn(turn, f"turns[{n}]") for n, turn in enumerate(request.turns))
    if (size := sum(len(turn.text.encode()) for turn in turns)) > _MAX_CONVERSATION_BYTES:
        raise TooLarge("turns", size, _MAX_CONVERSATION_BYTES)
    return ExtractRequest(
        namespace=Namespace.parse(request.namespace, tenant),
        turns=turns,
        conversation=fields.line(request.conversation, "conversation", MAX_PLACE_CHARS),
        source=source_of(request.source),
        request_id=fields.line(request.request_id, "request_id", _MAX_REQUEST_ID_CHARS),
        is_dry_run=request.dry_run,
        by_rules=request.rules_only,
    )


def _turn(turn: pb.ConversationTurn, field: str) -> Turn:
    return Turn(
        role=fields.member(turn.role, Role, f"{field}.role"),
        text=fields.prose(turn.text, f"{field}.text", _MAX_TURN_BYTES),
        time_ms=fields.time_ms(turn.time, f"{field}.time") if turn.HasField("time") else 0,
    )


def encode_extracted(answer: ExtractAnswer, outcomes: Outcomes, tenant: str) -> pb.ExtractMemoriesResponse:
    """Return what was found, and what became of it."""
    positions = Positions()
    for each in answer.found:
        if isinstance(each.outcome, Outcome):
            positions = positions.merged(each.outcome.positions)
    return pb.ExtractMemoriesResponse(
        memories=[
            pb.ExtractedMemory(
                candidate=_candidate(each),
                result=outcomes.result(each.outcome, tenant) if each.outcome is not None else None,
            )
            for each in answer.found
        ],
        extractor=answer.extractor,
        recalled=answer.recalled,
        unsupported=answer.unsupported,
        problems=answer.problems,
        token=encode_token(positions, tenant),
    )


def _candidate(found: Extracted) -> pb.MemoryCandidate:
    candidate = found.candidate
    return pb.MemoryCandidate(
        type=fields.number(candidate.type),
        text=candidate.text,
        subject=candidate.subject,
        value=candidate.value,
        cardinality=fields.number(candidate.cardinality),
        aliases=candidate.aliases,
        tags=candidate.tags,
        confidence=found.confidence,
        event_time=timestamp(candidate.event_time_ms),
        evidence=candidate.evidence,
        channel=fields.number(found.channel),
        explicit=candidate.explicit,
    )
