import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SkillState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SKILL_STATE_UNSPECIFIED: _ClassVar[SkillState]
    SKILL_STATE_ACTIVE: _ClassVar[SkillState]
    SKILL_STATE_IN_REVIEW: _ClassVar[SkillState]

class ParameterOrigin(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PARAMETER_ORIGIN_UNSPECIFIED: _ClassVar[ParameterOrigin]
    PARAMETER_ORIGIN_GOAL: _ClassVar[ParameterOrigin]
    PARAMETER_ORIGIN_VARIES: _ClassVar[ParameterOrigin]
    PARAMETER_ORIGIN_RESULT: _ClassVar[ParameterOrigin]
SKILL_STATE_UNSPECIFIED: SkillState
SKILL_STATE_ACTIVE: SkillState
SKILL_STATE_IN_REVIEW: SkillState
PARAMETER_ORIGIN_UNSPECIFIED: ParameterOrigin
PARAMETER_ORIGIN_GOAL: ParameterOrigin
PARAMETER_ORIGIN_VARIES: ParameterOrigin
PARAMETER_ORIGIN_RESULT: ParameterOrigin

class SkillParameter(_message.Message):
    __slots__ = ("name", "origin", "example", "step")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    EXAMPLE_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    name: str
    origin: ParameterOrigin
    example: str
    step: int
    def __init__(self, name: _Optional[str] = ..., origin: _Optional[_Union[ParameterOrigin, str]] = ..., example: _Optional[str] = ..., step: _Optional[int] = ...) -> None: ...

class SkillStep(_message.Message):
    __slots__ = ("tool", "arguments", "repeats")
    TOOL_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
    REPEATS_FIELD_NUMBER: _ClassVar[int]
    tool: str
    arguments: str
    repeats: bool
    def __init__(self, tool: _Optional[str] = ..., arguments: _Optional[str] = ..., repeats: _Optional[bool] = ...) -> None: ...

class KnownFailure(_message.Message):
    __slots__ = ("tool", "failure", "times")
    TOOL_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    TIMES_FIELD_NUMBER: _ClassVar[int]
    tool: str
    failure: str
    times: int
    def __init__(self, tool: _Optional[str] = ..., failure: _Optional[str] = ..., times: _Optional[int] = ...) -> None: ...

class Skill(_message.Message):
    __slots__ = ("name", "memory", "title", "trigger", "kind", "agent", "steps", "parameters", "preconditions", "known_failures", "successes", "failures", "confidence", "state", "version", "current_version", "task", "source", "problem", "last_used_time", "create_time", "update_time", "text")
    NAME_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    TRIGGER_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    PRECONDITIONS_FIELD_NUMBER: _ClassVar[int]
    KNOWN_FAILURES_FIELD_NUMBER: _ClassVar[int]
    SUCCESSES_FIELD_NUMBER: _ClassVar[int]
    FAILURES_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CURRENT_VERSION_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    LAST_USED_TIME_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    UPDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    name: str
    memory: str
    title: str
    trigger: str
    kind: str
    agent: str
    steps: _containers.RepeatedCompositeFieldContainer[SkillStep]
    parameters: _containers.RepeatedCompositeFieldContainer[SkillParameter]
    preconditions: _containers.RepeatedScalarFieldContainer[str]
    known_failures: _containers.RepeatedCompositeFieldContainer[KnownFailure]
    successes: int
    failures: int
    confidence: float
    state: SkillState
    version: int
    current_version: int
    task: str
    source: str
    problem: str
    last_used_time: _timestamp_pb2.Timestamp
    create_time: _timestamp_pb2.Timestamp
    update_time: _timestamp_pb2.Timestamp
    text: str
    def __init__(self, name: _Optional[str] = ..., memory: _Optional[str] = ..., title: _Optional[str] = ..., trigger: _Optional[str] = ..., kind: _Optional[str] = ..., agent: _Optional[str] = ..., steps: _Optional[_Iterable[_Union[SkillStep, _Mapping]]] = ..., parameters: _Optional[_Iterable[_Union[SkillParameter, _Mapping]]] = ..., preconditions: _Optional[_Iterable[str]] = ..., known_failures: _Optional[_Iterable[_Union[KnownFailure, _Mapping]]] = ..., successes: _Optional[int] = ..., failures: _Optional[int] = ..., confidence: _Optional[float] = ..., state: _Optional[_Union[SkillState, str]] = ..., version: _Optional[int] = ..., current_version: _Optional[int] = ..., task: _Optional[str] = ..., source: _Optional[str] = ..., problem: _Optional[str] = ..., last_used_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., update_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., text: _Optional[str] = ...) -> None: ...
