"""Review items and language models: in and out."""

from __future__ import annotations

from hbus.v1 import reflection_service_pb2 as service_pb
from hbus.v1 import review_pb2 as pb
from hindsight_bus.app.reviews import Verdict
from hindsight_bus.domain.errors import InvalidField
from hindsight_bus.domain.names import (
    Namespace,
    ResourceName,
    memory_name,
    review_name,
    skill_name,
    task_name,
)
from hindsight_bus.domain.reviews import ReviewItem, ReviewState
from hindsight_bus.domain.tasks import lessons_of, procedures_of, tasks_beside
from hindsight_bus.ports import ModelStatus, Stored
from hindsight_bus.transport.codec import fields
from hindsight_bus.transport.codec.memories import MAX_TEXT_BYTES, duration, timestamp
from hindsight_bus.transport.codec.tasks import decode_owner

_MAX_LEASE_MS = 24 * 3600 * 1000
_MAX_RATIONALE_CHARS = 2_048


def name_of(text: str, tenant: str) -> ResourceName:
    """Parse the name of a review item."""
    return ResourceName.parse(text, "reviews", tenant, "name")


def decode_place(request: service_pb.ListReviewItemsRequest, tenant: str) -> Namespace:
    """Return whose review items are asked for."""
    return lessons_of(decode_owner(request, tenant))


def decode_lease_ms(request: service_pb.ListReviewItemsRequest) -> int:
    """Return for how long to lease them; 0 = not at all."""
    if not request.HasField("lease"):
        return 0
    return fields.duration_ms(request.lease, "lease", 1, _MAX_LEASE_MS)


def decode_verdict(request: service_pb.DecideReviewItemRequest) -> Verdict:
    """Return what a reviewer decides; raise ``InvalidField`` or ``TooLarge`` naming the field at fault."""
    state = fields.member(request.decision, ReviewState, "decision")
    if state is ReviewState.PENDING:
        raise InvalidField("decision", "must be APPROVED, AMENDED or REJECTED")
    if state is not ReviewState.AMENDED and request.text:
        raise InvalidField("text", "goes with AMENDED alone")
    text = fields.prose(request.text, "text", MAX_TEXT_BYTES) if state is ReviewState.AMENDED else ""
    return Verdict(state, fields.remark(request.rationale, "rationale", _MAX_RATIONALE_CHARS), text)


def encode_item(stored: Stored[ReviewItem]) -> pb.ReviewItem:
    """Return a review item for the wire."""
    item, decision = stored.record, stored.record.decision
    return pb.ReviewItem(
        name=review_name(item.namespace, item.id),
        task=task_name(tasks_beside(item.namespace), item.task_id) if item.task_id else "",
        text=item.text,
        steps=item.steps,
        memory=memory_name(item.namespace, item.memory_id) if item.memory_id else "",
        state=fields.number(item.state),
        reviewer=item.reviewer,
        lease_expire_time=timestamp(item.leased_until_ms),
        decided_by=decision.agent if decision is not None else "",
        rationale=decision.rationale if decision is not None else "",
        decide_time=timestamp(decision.time_ms if decision is not None else 0),
        create_time=timestamp(stored.create_time_ms),
        skill=skill_name(procedures_of(item.namespace), item.skill_id) if item.skill_id else "",
    )


def encode_model(status: ModelStatus) -> service_pb.LanguageModel:
    """Return how a language model is for the wire."""
    return service_pb.LanguageModel(
        name=status.name,
        base_url=status.base_url,
        mode=status.mode,
        problem=status.problem,
        pause=duration(round(status.pause_s * 1000)),
    )
