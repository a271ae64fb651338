"""Tasks, steps and reflections: in and out."""

from __future__ import annotations

from collections.abc import Sequence

from google.protobuf.duration_pb2 import Duration

from hbus.v1 import reflection_service_pb2 as service_pb
from hbus.v1 import task_pb2 as pb
from hindsight_bus.app.tasks import Ending, TaskDraft
from hindsight_bus.domain.errors import InvalidField
from hindsight_bus.domain.expense import ModelUsage
from hindsight_bus.domain.memory import Decision
from hindsight_bus.domain.names import Namespace, memory_name, task_name
from hindsight_bus.domain.sequences import count, gaps
from hindsight_bus.domain.tasks import (
    Item,
    LearntLesson,
    Ranges,
    Rating,
    Reflection,
    Step,
    StepKind,
    Task,
    TaskOutcome,
    lessons_of,
    tasks_of,
)
from hindsight_bus.ports import Stored
from hindsight_bus.transport.codec import fields
from hindsight_bus.transport.codec.memories import channel_of, duration, timestamp
from hindsight_bus.transport.codec.queries import decode_freshness

MAX_STEPS = 500
_MAX_GOAL_BYTES = 8 * 1024
_MAX_STEP_TEXT_BYTES = 64 * 1024
_MAX_TOOL_CHARS = 128
_MAX_JUDGE_CHARS = 128
_MAX_SEQUENCE = 2**31 - 1
_WORDS = {"thought": StepKind.THOUGHT, "action": StepKind.ACTION, "observation": StepKind.OBSERVATION}
_FIELD_OF_KIND = {kind: field for field, kind in _WORDS.items()}


# --- in ------------------------------------------------------------------------------------------------------------


def decode_start(request: service_pb.StartTaskRequest, tenant: str) -> TaskDraft:
    """Return a task to start; raise ``InvalidField`` or ``TooLarge`` naming the field at fault."""
    return TaskDraft(
        goal=fields.prose(request.goal, "goal", _MAX_GOAL_BYTES),
        kind=fields.optional_part(request.kind, "kind"),
        user=fields.optional_part(request.user, "user"),
        request_id=fields.request_id(request.request_id),
        payload=fields.payload_of(request) if request.request_id else "",
        freshness=decode_freshness(request.consistency, tenant),
    )


def decode_steps(messages: Sequence[pb.Step]) -> list[Step]:
    """Return steps to record, at least one."""
    if not messages:
        raise InvalidField("steps", "is required")
    fields.at_most(messages, "steps", MAX_STEPS)
    return [_step(message, f"steps[{n}]") for n, message in enumerate(messages)]


def _step(message: pb.Step, field: str) -> Step:
    sequence = fields.whole(message.sequence, f"{field}.sequence", 1, _MAX_SEQUENCE)
    time_ms = fields.time_ms(message.time, f"{field}.time") if message.HasField("time") else 0
    match message.WhichOneof("content"):
        case None:
            raise InvalidField(field, "must hold a thought, action, tool_call, observation or feedback")
        case "tool_call":
            return _tool_call(message.tool_call, f"{field}.tool_call", sequence, time_ms)
        case "feedback":
            return _feedback(message.feedback, f"{field}.feedback", sequence, time_ms)
        case name:
            text = _text(getattr(message, name), f"{field}.{name}")
            return Step(sequence, _WORDS[name], text, time_ms=time_ms)


def _tool_call(call: pb.ToolCall, field: str, sequence: int, time_ms: int) -> Step:
    return Step(
        sequence,
        StepKind.TOOL_CALL,
        tool=fields.required_line(call.tool, f"{field}.tool", _MAX_TOOL_CHARS),
        arguments=_text(call.arguments, f"{field}.arguments"),
        result=_text(call.result, f"{field}.result"),
        error=_text(call.error, f"{field}.error"),
        duration_ms=fields.not_negative(_duration_ms(call.duration), f"{field}.duration"),
        time_ms=time_ms,
    )


def _feedback(feedback: pb.Feedback, field: str, sequence: int, time_ms: int) -> Step:
    rating = fields.member(feedback.rating, Rating, f"{field}.rating") if feedback.rating else Rating.NONE
    return Step(
        sequence,
        StepKind.FEEDBACK,
        fields.prose(feedback.text, f"{field}.text", _MAX_STEP_TEXT_BYTES),
        time_ms=time_ms,
        rating=rating,
        channel=channel_of(feedback.channel),
    )


def _text(text: str, field: str) -> str:
    return fields.prose(text, field, _MAX_STEP_TEXT_BYTES) if text.strip() else ""


def _duration_ms(duration: Duration) -> int:
    return duration.seconds * 1000 + duration.nanos // 1_000_000


def decode_ending(request: service_pb.FinishTaskRequest) -> Ending:
    """Return how a task ended."""
    return Ending(
        outcome=fields.member(request.outcome, TaskOutcome, "outcome"),
        score=fields.share(request.score, "score") if request.HasField("score") else None,
        judge=fields.line(request.judge, "judge", _MAX_JUDGE_CHARS),
        is_reflected=not request.skip_reflection,
    )


def decode_owner(
    request: service_pb.ListTasksRequest | service_pb.ListReviewItemsRequest, tenant: str
) -> Namespace:
    """Return whose tasks are asked for."""
    if bool(request.user) == bool(request.agent):
        raise InvalidField("user", "either user or agent is required")
    user, agent = fields.optional_part(request.user, "user"), fields.optional_part(request.agent, "agent")
    return tasks_of(tenant, user, agent)


# --- out -----------------------------------------------------------------------------------------------------------


def encode_task(stored: Stored[Task]) -> pb.Task:
    """Return a task for the wire."""
    task = stored.record
    return pb.Task(
        name=task_name(task.namespace, task.id),
        goal=task.goal,
        kind=task.kind,
        user=task.user,
        agent=task.agent,
        outcome=fields.number(task.outcome),
        score=task.score,
        judge=task.judge,
        steps=count(task.recorded),
        last_sequence=task.last_sequence,
        missing=encode_ranges(gaps(task.recorded)),
        working_namespace=str(task.working),
        start_time=timestamp(stored.create_time_ms),
        finish_time=timestamp(task.finish_time_ms),
    )


def encode_ranges(ranges: Ranges) -> list[pb.SequenceRange]:
    """Return ranges of sequence numbers for the wire."""
    return [pb.SequenceRange(first=first, last=last) for first, last in ranges]


def encode_step(step: Step) -> pb.Step:
    """Return a step for the wire."""
    message = pb.Step(sequence=step.sequence, time=timestamp(step.time_ms))
    match step.kind:
        case StepKind.TOOL_CALL:
            message.tool_call.CopyFrom(_encode_call(step))
        case StepKind.FEEDBACK:
            rating, channel = fields.number(step.rating), fields.number(step.channel)
            message.feedback.CopyFrom(pb.Feedback(text=step.text, rating=rating, channel=channel))
        case _:
            setattr(message, _FIELD_OF_KIND[step.kind], step.text)
    return message


def _encode_call(step: Step) -> pb.ToolCall:
    return pb.ToolCall(
        tool=step.tool,
        arguments=step.arguments,
        result=step.result,
        error=step.error,
        duration=duration(step.duration_ms),
    )


def encode_reflection(stored: Stored[Reflection]) -> pb.Reflection:
    """Return a reflection for the wire."""
    reflection = stored.record
    lessons = lessons_of(reflection.namespace)
    return pb.Reflection(
        task=task_name(reflection.namespace, reflection.task_id),
        state=fields.number(reflection.state),
        reflector=reflection.reflector,
        reflector_version=reflection.version,
        last_sequence=reflection.last_sequence,
        attempts=reflection.attempts,
        insights=map(_encode_item, reflection.items),
        lessons=[_encode_lesson(each, lessons) for each in reflection.lessons],
        tokens_before=reflection.tokens_before,
        tokens_after=reflection.tokens_after,
        problem=reflection.problem,
        create_time=timestamp(stored.create_time_ms),
        update_time=timestamp(stored.update_time_ms),
        skills=reflection.skills,
        model=reflection.model,
        model_usage=encode_usage(reflection.usage),
        dropped=reflection.dropped,
        contrast=task_name(reflection.namespace, reflection.contrast) if reflection.contrast else "",
        remarks=reflection.remarks,
    )


def encode_usage(usage: ModelUsage) -> pb.ModelUsage:
    """Return what asking models took for the wire."""
    return pb.ModelUsage(
        calls=usage.calls,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost=usage.cost,
    )


def _encode_item(item: Item) -> pb.Insight:
    return pb.Insight(
        kind=fields.number(item.kind), text=item.text, steps=item.steps, contrast_steps=item.contrast_steps
    )


def _encode_lesson(learnt: LearntLesson, namespace: Namespace) -> pb.Lesson:
    lesson = learnt.lesson
    return pb.Lesson(
        memory=memory_name(namespace, learnt.memory_id) if learnt.memory_id else "",
        joined=learnt.decision != Decision.STORED,
        situation=lesson.situation,
        action=lesson.action,
        result=lesson.result,
        lesson=lesson.lesson,
        steps=lesson.steps,
        confidence=lesson.confidence,
    )
