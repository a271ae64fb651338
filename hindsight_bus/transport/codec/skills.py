"""Skills: in and out."""

from __future__ import annotations

from hbus.v1 import reflection_service_pb2 as service_pb
from hbus.v1 import skill_pb2 as pb
from hindsight_bus.app.caller import Caller
from hindsight_bus.app.skill_search import FoundSkill, SkillQuery
from hindsight_bus.app.skills import OutcomeReport
from hindsight_bus.domain import skill_words
from hindsight_bus.domain.errors import InvalidField
from hindsight_bus.domain.failures import class_of
from hindsight_bus.domain.names import ResourceName, memory_name, skill_name
from hindsight_bus.domain.skills import KnownFailure
from hindsight_bus.domain.tasks import TaskOutcome, procedures_of, tasks_of
from hindsight_bus.transport.codec import fields
from hindsight_bus.transport.codec.memories import timestamp
from hindsight_bus.transport.codec.queries import decode_freshness

_DEFAULT_TOP_K, _MAX_TOP_K = 5, 100
_MAX_QUERY_CHARS = 2048
_MAX_TOOL_CHARS = 128
_MAX_ERROR_BYTES = 64 * 1024
_MAX_VERSION = 2**31 - 1


# --- in ------------------------------------------------------------------------------------------------------------


def name_of(text: str, tenant: str, field: str) -> ResourceName:
    """Return the resource name of a skill."""
    return ResourceName.parse(text, "skills", tenant, field)


def decode_version(request: service_pb.GetSkillRequest) -> int:
    """Return the number of a version; 0 = the current one."""
    return fields.whole(request.version, "version", 0, _MAX_VERSION)


def decode_search(request: service_pb.SearchSkillsRequest, caller: Caller) -> SkillQuery:
    """Return what skills are looked for, and where; raise ``InvalidField`` naming the field at fault."""
    user = fields.optional_part(request.user, "user")
    agent = fields.optional_part(request.agent, "agent") or caller.agent
    if not (user or agent):
        raise InvalidField("user", "is required unless an agent is given")
    owners = [tasks_of(caller.tenant, user, "")] if user else []
    owners += [tasks_of(caller.tenant, "", agent)] if agent else []
    return SkillQuery(
        places=tuple(map(procedures_of, owners)),
        query=fields.remark(request.query, "query", _MAX_QUERY_CHARS).strip(),
        kind=fields.optional_part(request.kind, "kind"),
        top_k=fields.whole(request.top_k, "top_k", 0, _MAX_TOP_K) or _DEFAULT_TOP_K,
        min_confidence=fields.share(request.min_confidence, "min_confidence"),
        with_reviewed=request.include_in_review,
        freshness=decode_freshness(request.consistency, caller.tenant),
    )


def decode_outcome(request: service_pb.RecordSkillOutcomeRequest, tenant: str) -> OutcomeReport:
    """Return how a use of a skill went."""
    outcome = fields.member(request.outcome, TaskOutcome, "outcome")
    if outcome not in (TaskOutcome.SUCCESS, TaskOutcome.FAILURE):
        raise InvalidField("outcome", "must be SUCCESS or FAILURE")
    return OutcomeReport(
        is_success=outcome is TaskOutcome.SUCCESS,
        request_id=fields.request_id(request.request_id),
        payload=fields.payload_of(request) if request.request_id else "",
        task=ResourceName.parse(request.task, "tasks", tenant, "task") if request.task else None,
        failed=_failed(request, outcome),
    )


def _failed(request: service_pb.RecordSkillOutcomeRequest, outcome: TaskOutcome) -> KnownFailure | None:
    tool = fields.line(request.tool, "tool", _MAX_TOOL_CHARS)
    error = fields.prose(request.error, "error", _MAX_ERROR_BYTES) if request.error.strip() else ""
    if outcome is TaskOutcome.SUCCESS and (tool or error):
        raise InvalidField("tool" if tool else "error", "is for failures only")
    if error and not tool:
        raise InvalidField("tool", "is required where an error is given")
    return KnownFailure(tool, class_of(error)) if tool else None


# --- out -----------------------------------------------------------------------------------------------------------


def encode_skill(found: FoundSkill) -> pb.Skill:
    """Return a skill for the wire."""
    skill, version = found.skill.record, found.version
    return pb.Skill(
        name=skill_name(skill.namespace, skill.id),
        memory=memory_name(skill.namespace, skill.id),
        title=skill_words.title_of(skill, version),
        trigger=skill_words.trigger_of(version),
        kind=skill.kind,
        agent=skill.agent,
        steps=[
            pb.SkillStep(tool=step.tool, arguments=step.arguments, repeats=step.repeats)
            for step in version.steps
        ],
        parameters=[
            pb.SkillParameter(
                name=each.name, origin=fields.number(each.origin), example=each.example, step=each.step
            )
            for each in version.parameters
        ],
        preconditions=skill_words.preconditions_of(skill),
        known_failures=[
            pb.KnownFailure(tool=each.tool, failure=each.failure.value, times=each.times)
            for each in skill.known_failures
        ],
        successes=skill.successes,
        failures=skill.failures,
        confidence=skill.confidence,
        state=fields.number(skill.state),
        version=version.number,
        current_version=skill.version,
        task=version.task,
        source=skill.source,
        problem=skill.problem,
        last_used_time=timestamp(skill.last_used_ms),
        create_time=timestamp(found.skill.create_time_ms),
        update_time=timestamp(found.skill.update_time_ms),
        text=skill_words.text_of(skill, version),
    )
