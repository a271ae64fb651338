import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from hbus.v1 import memory_pb2 as _memory_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TaskOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TASK_OUTCOME_UNSPECIFIED: _ClassVar[TaskOutcome]
    TASK_OUTCOME_SUCCESS: _ClassVar[TaskOutcome]
    TASK_OUTCOME_FAILURE: _ClassVar[TaskOutcome]
    TASK_OUTCOME_ABANDONED: _ClassVar[TaskOutcome]
    TASK_OUTCOME_UNKNOWN: _ClassVar[TaskOutcome]

class Rating(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RATING_UNSPECIFIED: _ClassVar[Rating]
    RATING_GOOD: _ClassVar[Rating]
    RATING_BAD: _ClassVar[Rating]

class ReflectionState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REFLECTION_STATE_UNSPECIFIED: _ClassVar[ReflectionState]
    REFLECTION_STATE_PENDING: _ClassVar[ReflectionState]
    REFLECTION_STATE_RUNNING: _ClassVar[ReflectionState]
    REFLECTION_STATE_SUCCEEDED: _ClassVar[ReflectionState]
    REFLECTION_STATE_FAILED: _ClassVar[ReflectionState]

class InsightKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    INSIGHT_KIND_UNSPECIFIED: _ClassVar[InsightKind]
    INSIGHT_KIND_EFFECTIVE: _ClassVar[InsightKind]
    INSIGHT_KIND_INEFFECTIVE: _ClassVar[InsightKind]
    INSIGHT_KIND_NEXT_TIME: _ClassVar[InsightKind]
    INSIGHT_KIND_DIFFERENCE: _ClassVar[InsightKind]
TASK_OUTCOME_UNSPECIFIED: TaskOutcome
TASK_OUTCOME_SUCCESS: TaskOutcome
TASK_OUTCOME_FAILURE: TaskOutcome
TASK_OUTCOME_ABANDONED: TaskOutcome
TASK_OUTCOME_UNKNOWN: TaskOutcome
RATING_UNSPECIFIED: Rating
RATING_GOOD: Rating
RATING_BAD: Rating
REFLECTION_STATE_UNSPECIFIED: ReflectionState
REFLECTION_STATE_PENDING: ReflectionState
REFLECTION_STATE_RUNNING: ReflectionState
REFLECTION_STATE_SUCCEEDED: ReflectionState
REFLECTION_STATE_FAILED: ReflectionState
INSIGHT_KIND_UNSPECIFIED: InsightKind
INSIGHT_KIND_EFFECTIVE: InsightKind
INSIGHT_KIND_INEFFECTIVE: InsightKind
INSIGHT_KIND_NEXT_TIME: InsightKind
INSIGHT_KIND_DIFFERENCE: InsightKind

class ToolCall(_message.Message):
    __slots__ = ("tool", "arguments", "result", "error", "duration")
    TOOL_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    DURATION_FIELD_NUMBER: _ClassVar[int]
    tool: str
    arguments: str
    result: str
    error: str
    duration: _duration_pb2.Duration
    def __init__(self, tool: _Optional[str] = ..., arguments: _Optional[str] = ..., result: _Optional[str] = ..., error: _Optional[str] = ..., duration: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class Feedback(_message.Message):
    __slots__ = ("text", "rating", "channel")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    RATING_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    text: str
    rating: Rating
    channel: _memory_pb2.Channel
    def __init__(self, text: _Optional[str] = ..., rating: _Optional[_Union[Rating, str]] = ..., channel: _Optional[_Union[_memory_pb2.Channel, str]] = ...) -> None: ...

class Step(_message.Message):
    __slots__ = ("sequence", "time", "thought", "action", "tool_call", "observation", "feedback")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    THOUGHT_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    TOOL_CALL_FIELD_NUMBER: _ClassVar[int]
    OBSERVATION_FIELD_NUMBER: _ClassVar[int]
    FEEDBACK_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    time: _timestamp_pb2.Timestamp
    thought: str
    action: str
    tool_call: ToolCall
    observation: str
    feedback: Feedback
    def __init__(self, sequence: _Optional[int] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., thought: _Optional[str] = ..., action: _Optional[str] = ..., tool_call: _Optional[_Union[ToolCall, _Mapping]] = ..., observation: _Optional[str] = ..., feedback: _Optional[_Union[Feedback, _Mapping]] = ...) -> None: ...

class SequenceRange(_message.Message):
    __slots__ = ("first", "last")
    FIRST_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    first: int
    last: int
    def __init__(self, first: _Optional[int] = ..., last: _Optional[int] = ...) -> None: ...

class Task(_message.Message):
    __slots__ = ("name", "goal", "kind", "user", "agent", "outcome", "score", "judge", "steps", "last_sequence", "missing", "working_namespace", "start_time", "finish_time")
    NAME_FIELD_NUMBER: _ClassVar[int]
    GOAL_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    JUDGE_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    LAST_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    MISSING_FIELD_NUMBER: _ClassVar[int]
    WORKING_NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    FINISH_TIME_FIELD_NUMBER: _ClassVar[int]
    name: str
    goal: str
    kind: str
    user: str
    agent: str
    outcome: TaskOutcome
    score: float
    judge: str
    steps: int
    last_sequence: int
    missing: _containers.RepeatedCompositeFieldContainer[SequenceRange]
    working_namespace: str
    start_time: _timestamp_pb2.Timestamp
    finish_time: _timestamp_pb2.Timestamp
    def __init__(self, name: _Optional[str] = ..., goal: _Optional[str] = ..., kind: _Optional[str] = ..., user: _Optional[str] = ..., agent: _Optional[str] = ..., outcome: _Optional[_Union[TaskOutcome, str]] = ..., score: _Optional[float] = ..., judge: _Optional[str] = ..., steps: _Optional[int] = ..., last_sequence: _Optional[int] = ..., missing: _Optional[_Iterable[_Union[SequenceRange, _Mapping]]] = ..., working_namespace: _Optional[str] = ..., start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., finish_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Insight(_message.Message):
    __slots__ = ("kind", "text", "steps", "contrast_steps")
    KIND_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    CONTRAST_STEPS_FIELD_NUMBER: _ClassVar[int]
    kind: InsightKind
    text: str
    steps: _containers.RepeatedScalarFieldContainer[int]
    contrast_steps: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, kind: _Optional[_Union[InsightKind, str]] = ..., text: _Optional[str] = ..., steps: _Optional[_Iterable[int]] = ..., contrast_steps: _Optional[_Iterable[int]] = ...) -> None: ...

class Lesson(_message.Message):
    __slots__ = ("memory", "joined", "situation", "action", "result", "lesson", "steps", "confidence")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    JOINED_FIELD_NUMBER: _ClassVar[int]
    SITUATION_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    LESSON_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    memory: str
    joined: bool
    situation: str
    action: str
    result: str
    lesson: str
    steps: _containers.RepeatedScalarFieldContainer[int]
    confidence: float
    def __init__(self, memory: _Optional[str] = ..., joined: _Optional[bool] = ..., situation: _Optional[str] = ..., action: _Optional[str] = ..., result: _Optional[str] = ..., lesson: _Optional[str] = ..., steps: _Optional[_Iterable[int]] = ..., confidence: _Optional[float] = ...) -> None: ...

class ModelUsage(_message.Message):
    __slots__ = ("calls", "input_tokens", "output_tokens", "cost")
    CALLS_FIELD_NUMBER: _ClassVar[int]
    INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    COST_FIELD_NUMBER: _ClassVar[int]
    calls: int
    input_tokens: int
    output_tokens: int
    cost: float
    def __init__(self, calls: _Optional[int] = ..., input_tokens: _Optional[int] = ..., output_tokens: _Optional[int] = ..., cost: _Optional[float] = ...) -> None: ...

class Reflection(_message.Message):
    __slots__ = ("task", "state", "reflector", "reflector_version", "last_sequence", "attempts", "insights", "lessons", "tokens_before", "tokens_after", "problem", "create_time", "update_time", "skills", "model", "model_usage", "dropped", "contrast", "remarks")
    TASK_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    REFLECTOR_FIELD_NUMBER: _ClassVar[int]
    REFLECTOR_VERSION_FIELD_NUMBER: _ClassVar[int]
    LAST_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    INSIGHTS_FIELD_NUMBER: _ClassVar[int]
    LESSONS_FIELD_NUMBER: _ClassVar[int]
    TOKENS_BEFORE_FIELD_NUMBER: _ClassVar[int]
    TOKENS_AFTER_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    UPDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    SKILLS_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    MODEL_USAGE_FIELD_NUMBER: _ClassVar[int]
    DROPPED_FIELD_NUMBER: _ClassVar[int]
    CONTRAST_FIELD_NUMBER: _ClassVar[int]
    REMARKS_FIELD_NUMBER: _ClassVar[int]
    task: str
    state: ReflectionState
    reflector: str
    reflector_version: int
    last_sequence: int
    attempts: int
    insights: _containers.RepeatedCompositeFieldContainer[Insight]
    lessons: _containers.RepeatedCompositeFieldContainer[Lesson]
    tokens_before: int
    tokens_after: int
    problem: str
    create_time: _timestamp_pb2.Timestamp
    update_time: _timestamp_pb2.Timestamp
    skills: _containers.RepeatedScalarFieldContainer[str]
    model: str
    model_usage: ModelUsage
    dropped: int
    contrast: str
    remarks: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, task: _Optional[str] = ..., state: _Optional[_Union[ReflectionState, str]] = ..., reflector: _Optional[str] = ..., reflector_version: _Optional[int] = ..., last_sequence: _Optional[int] = ..., attempts: _Optional[int] = ..., insights: _Optional[_Iterable[_Union[Insight, _Mapping]]] = ..., lessons: _Optional[_Iterable[_Union[Lesson, _Mapping]]] = ..., tokens_before: _Optional[int] = ..., tokens_after: _Optional[int] = ..., problem: _Optional[str] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., update_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., skills: _Optional[_Iterable[str]] = ..., model: _Optional[str] = ..., model_usage: _Optional[_Union[ModelUsage, _Mapping]] = ..., dropped: _Optional[int] = ..., contrast: _Optional[str] = ..., remarks: _Optional[_Iterable[str]] = ...) -> None: ...
