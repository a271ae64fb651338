import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from hbus.v1 import common_pb2 as _common_pb2
from hbus.v1 import memory_pb2 as _memory_pb2
from hbus.v1 import memory_service_pb2 as _memory_service_pb2
from hbus.v1 import review_pb2 as _review_pb2
from hbus.v1 import skill_pb2 as _skill_pb2
from hbus.v1 import task_pb2 as _task_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class StartTaskRequest(_message.Message):
    __slots__ = ("goal", "kind", "user", "request_id", "consistency")
    GOAL_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_FIELD_NUMBER: _ClassVar[int]
    goal: str
    kind: str
    user: str
    request_id: str
    consistency: _common_pb2.Consistency
    def __init__(self, goal: _Optional[str] = ..., kind: _Optional[str] = ..., user: _Optional[str] = ..., request_id: _Optional[str] = ..., consistency: _Optional[_Union[_common_pb2.Consistency, _Mapping]] = ...) -> None: ...

class StartTaskResponse(_message.Message):
    __slots__ = ("task", "lessons", "token", "durability", "skills")
    TASK_FIELD_NUMBER: _ClassVar[int]
    LESSONS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    DURABILITY_FIELD_NUMBER: _ClassVar[int]
    SKILLS_FIELD_NUMBER: _ClassVar[int]
    task: _task_pb2.Task
    lessons: _containers.RepeatedCompositeFieldContainer[_memory_service_pb2.SearchHit]
    token: _common_pb2.ConsistencyToken
    durability: _common_pb2.Durability
    skills: _containers.RepeatedCompositeFieldContainer[_skill_pb2.Skill]
    def __init__(self, task: _Optional[_Union[_task_pb2.Task, _Mapping]] = ..., lessons: _Optional[_Iterable[_Union[_memory_service_pb2.SearchHit, _Mapping]]] = ..., token: _Optional[_Union[_common_pb2.ConsistencyToken, _Mapping]] = ..., durability: _Optional[_Union[_common_pb2.Durability, str]] = ..., skills: _Optional[_Iterable[_Union[_skill_pb2.Skill, _Mapping]]] = ...) -> None: ...

class RecordStepsRequest(_message.Message):
    __slots__ = ("task", "steps")
    TASK_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    task: str
    steps: _containers.RepeatedCompositeFieldContainer[_task_pb2.Step]
    def __init__(self, task: _Optional[str] = ..., steps: _Optional[_Iterable[_Union[_task_pb2.Step, _Mapping]]] = ...) -> None: ...

class RecordStepsResponse(_message.Message):
    __slots__ = ("recorded", "duplicates", "missing", "token", "durability")
    RECORDED_FIELD_NUMBER: _ClassVar[int]
    DUPLICATES_FIELD_NUMBER: _ClassVar[int]
    MISSING_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    DURABILITY_FIELD_NUMBER: _ClassVar[int]
    recorded: int
    duplicates: int
    missing: _containers.RepeatedCompositeFieldContainer[_task_pb2.SequenceRange]
    token: _common_pb2.ConsistencyToken
    durability: _common_pb2.Durability
    def __init__(self, recorded: _Optional[int] = ..., duplicates: _Optional[int] = ..., missing: _Optional[_Iterable[_Union[_task_pb2.SequenceRange, _Mapping]]] = ..., token: _Optional[_Union[_common_pb2.ConsistencyToken, _Mapping]] = ..., durability: _Optional[_Union[_common_pb2.Durability, str]] = ...) -> None: ...

class FinishTaskRequest(_message.Message):
    __slots__ = ("task", "outcome", "score", "judge", "skip_reflection")
    TASK_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    JUDGE_FIELD_NUMBER: _ClassVar[int]
    SKIP_REFLECTION_FIELD_NUMBER: _ClassVar[int]
    task: str
    outcome: _task_pb2.TaskOutcome
    score: float
    judge: str
    skip_reflection: bool
    def __init__(self, task: _Optional[str] = ..., outcome: _Optional[_Union[_task_pb2.TaskOutcome, str]] = ..., score: _Optional[float] = ..., judge: _Optional[str] = ..., skip_reflection: _Optional[bool] = ...) -> None: ...

class FinishTaskResponse(_message.Message):
    __slots__ = ("task", "token", "durability")
    TASK_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    DURABILITY_FIELD_NUMBER: _ClassVar[int]
    task: _task_pb2.Task
    token: _common_pb2.ConsistencyToken
    durability: _common_pb2.Durability
    def __init__(self, task: _Optional[_Union[_task_pb2.Task, _Mapping]] = ..., token: _Optional[_Union[_common_pb2.ConsistencyToken, _Mapping]] = ..., durability: _Optional[_Union[_common_pb2.Durability, str]] = ...) -> None: ...

class GetTaskRequest(_message.Message):
    __slots__ = ("name", "with_steps", "after_sequence")
    NAME_FIELD_NUMBER: _ClassVar[int]
    WITH_STEPS_FIELD_NUMBER: _ClassVar[int]
    AFTER_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    name: str
    with_steps: bool
    after_sequence: int
    def __init__(self, name: _Optional[str] = ..., with_steps: _Optional[bool] = ..., after_sequence: _Optional[int] = ...) -> None: ...

class GetTaskResponse(_message.Message):
    __slots__ = ("task", "steps", "next_after_sequence")
    TASK_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    NEXT_AFTER_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    task: _task_pb2.Task
    steps: _containers.RepeatedCompositeFieldContainer[_task_pb2.Step]
    next_after_sequence: int
    def __init__(self, task: _Optional[_Union[_task_pb2.Task, _Mapping]] = ..., steps: _Optional[_Iterable[_Union[_task_pb2.Step, _Mapping]]] = ..., next_after_sequence: _Optional[int] = ...) -> None: ...

class ListTasksRequest(_message.Message):
    __slots__ = ("user", "agent", "page_size", "page_token")
    USER_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    user: str
    agent: str
    page_size: int
    page_token: str
    def __init__(self, user: _Optional[str] = ..., agent: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListTasksResponse(_message.Message):
    __slots__ = ("tasks", "next_page_token")
    TASKS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    tasks: _containers.RepeatedCompositeFieldContainer[_task_pb2.Task]
    next_page_token: str
    def __init__(self, tasks: _Optional[_Iterable[_Union[_task_pb2.Task, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ReflectOnTaskRequest(_message.Message):
    __slots__ = ("task",)
    TASK_FIELD_NUMBER: _ClassVar[int]
    task: str
    def __init__(self, task: _Optional[str] = ...) -> None: ...

class ReflectOnTaskResponse(_message.Message):
    __slots__ = ("reflection", "token")
    REFLECTION_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    reflection: _task_pb2.Reflection
    token: _common_pb2.ConsistencyToken
    def __init__(self, reflection: _Optional[_Union[_task_pb2.Reflection, _Mapping]] = ..., token: _Optional[_Union[_common_pb2.ConsistencyToken, _Mapping]] = ...) -> None: ...

class GetReflectionRequest(_message.Message):
    __slots__ = ("task",)
    TASK_FIELD_NUMBER: _ClassVar[int]
    task: str
    def __init__(self, task: _Optional[str] = ...) -> None: ...

class GetReflectionResponse(_message.Message):
    __slots__ = ("reflection", "token")
    REFLECTION_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    reflection: _task_pb2.Reflection
    token: _common_pb2.ConsistencyToken
    def __init__(self, reflection: _Optional[_Union[_task_pb2.Reflection, _Mapping]] = ..., token: _Optional[_Union[_common_pb2.ConsistencyToken, _Mapping]] = ...) -> None: ...

class SearchSkillsRequest(_message.Message):
    __slots__ = ("query", "kind", "user", "agent", "top_k", "min_confidence", "include_in_review", "consistency")
    QUERY_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    TOP_K_FIELD_NUMBER: _ClassVar[int]
    MIN_CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_IN_REVIEW_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_FIELD_NUMBER: _ClassVar[int]
    query: str
    kind: str
    user: str
    agent: str
    top_k: int
    min_confidence: float
    include_in_review: bool
    consistency: _common_pb2.Consistency
    def __init__(self, query: _Optional[str] = ..., kind: _Optional[str] = ..., user: _Optional[str] = ..., agent: _Optional[str] = ..., top_k: _Optional[int] = ..., min_confidence: _Optional[float] = ..., include_in_review: _Optional[bool] = ..., consistency: _Optional[_Union[_common_pb2.Consistency, _Mapping]] = ...) -> None: ...

class SkillHit(_message.Message):
    __slots__ = ("skill", "score")
    SKILL_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    skill: _skill_pb2.Skill
    score: float
    def __init__(self, skill: _Optional[_Union[_skill_pb2.Skill, _Mapping]] = ..., score: _Optional[float] = ...) -> None: ...

class SearchSkillsResponse(_message.Message):
    __slots__ = ("hits", "token")
    HITS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    hits: _containers.RepeatedCompositeFieldContainer[SkillHit]
    token: _common_pb2.ConsistencyToken
    def __init__(self, hits: _Optional[_Iterable[_Union[SkillHit, _Mapping]]] = ..., token: _Optional[_Union[_common_pb2.ConsistencyToken, _Mapping]] = ...) -> None: ...

class GetSkillRequest(_message.Message):
    __slots__ = ("name", "version")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: int
    def __init__(self, name: _Optional[str] = ..., version: _Optional[int] = ...) -> None: ...

class GetSkillResponse(_message.Message):
    __slots__ = ("skill",)
    SKILL_FIELD_NUMBER: _ClassVar[int]
    skill: _skill_pb2.Skill
    def __init__(self, skill: _Optional[_Union[_skill_pb2.Skill, _Mapping]] = ...) -> None: ...

class RecordSkillOutcomeRequest(_message.Message):
    __slots__ = ("skill", "outcome", "task", "tool", "error", "request_id")
    SKILL_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    skill: str
    outcome: _task_pb2.TaskOutcome
    task: str
    tool: str
    error: str
    request_id: str
    def __init__(self, skill: _Optional[str] = ..., outcome: _Optional[_Union[_task_pb2.TaskOutcome, str]] = ..., task: _Optional[str] = ..., tool: _Optional[str] = ..., error: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class RecordSkillOutcomeResponse(_message.Message):
    __slots__ = ("skill", "token", "durability")
    SKILL_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    DURABILITY_FIELD_NUMBER: _ClassVar[int]
    skill: _skill_pb2.Skill
    token: _common_pb2.ConsistencyToken
    durability: _common_pb2.Durability
    def __init__(self, skill: _Optional[_Union[_skill_pb2.Skill, _Mapping]] = ..., token: _Optional[_Union[_common_pb2.ConsistencyToken, _Mapping]] = ..., durability: _Optional[_Union[_common_pb2.Durability, str]] = ...) -> None: ...

class PromoteLessonRequest(_message.Message):
    __slots__ = ("memory", "user")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    memory: str
    user: str
    def __init__(self, memory: _Optional[str] = ..., user: _Optional[str] = ...) -> None: ...

class PromoteLessonResponse(_message.Message):
    __slots__ = ("memory", "skill", "token", "durability")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    SKILL_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    DURABILITY_FIELD_NUMBER: _ClassVar[int]
    memory: _memory_pb2.Memory
    skill: _skill_pb2.Skill
    token: _common_pb2.ConsistencyToken
    durability: _common_pb2.Durability
    def __init__(self, memory: _Optional[_Union[_memory_pb2.Memory, _Mapping]] = ..., skill: _Optional[_Union[_skill_pb2.Skill, _Mapping]] = ..., token: _Optional[_Union[_common_pb2.ConsistencyToken, _Mapping]] = ..., durability: _Optional[_Union[_common_pb2.Durability, str]] = ...) -> None: ...

class ListReviewItemsRequest(_message.Message):
    __slots__ = ("user", "agent", "states", "lease", "page_size", "page_token")
    USER_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    user: str
    agent: str
    states: _containers.RepeatedScalarFieldContainer[_review_pb2.ReviewState]
    lease: _duration_pb2.Duration
    page_size: int
    page_token: str
    def __init__(self, user: _Optional[str] = ..., agent: _Optional[str] = ..., states: _Optional[_Iterable[_Union[_review_pb2.ReviewState, str]]] = ..., lease: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListReviewItemsResponse(_message.Message):
    __slots__ = ("items", "next_page_token")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[_review_pb2.ReviewItem]
    next_page_token: str
    def __init__(self, items: _Optional[_Iterable[_Union[_review_pb2.ReviewItem, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class DecideReviewItemRequest(_message.Message):
    __slots__ = ("name", "decision", "text", "rationale")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    RATIONALE_FIELD_NUMBER: _ClassVar[int]
    name: str
    decision: _review_pb2.ReviewState
    text: str
    rationale: str
    def __init__(self, name: _Optional[str] = ..., decision: _Optional[_Union[_review_pb2.ReviewState, str]] = ..., text: _Optional[str] = ..., rationale: _Optional[str] = ...) -> None: ...

class DecideReviewItemResponse(_message.Message):
    __slots__ = ("item", "durability")
    ITEM_FIELD_NUMBER: _ClassVar[int]
    DURABILITY_FIELD_NUMBER: _ClassVar[int]
    item: _review_pb2.ReviewItem
    durability: _common_pb2.Durability
    def __init__(self, item: _Optional[_Union[_review_pb2.ReviewItem, _Mapping]] = ..., durability: _Optional[_Union[_common_pb2.Durability, str]] = ...) -> None: ...

class ListModelsRequest(_message.Message):
    __slots__ = ("probe",)
    PROBE_FIELD_NUMBER: _ClassVar[int]
    probe: bool
    def __init__(self, probe: _Optional[bool] = ...) -> None: ...

class ListModelsResponse(_message.Message):
    __slots__ = ("models",)
    MODELS_FIELD_NUMBER: _ClassVar[int]
    models: _containers.RepeatedCompositeFieldContainer[LanguageModel]
    def __init__(self, models: _Optional[_Iterable[_Union[LanguageModel, _Mapping]]] = ...) -> None: ...

class LanguageModel(_message.Message):
    __slots__ = ("name", "base_url", "mode", "problem", "pause")
    NAME_FIELD_NUMBER: _ClassVar[int]
    BASE_URL_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    PAUSE_FIELD_NUMBER: _ClassVar[int]
    name: str
    base_url: str
    mode: str
    problem: str
    pause: _duration_pb2.Duration
    def __init__(self, name: _Optional[str] = ..., base_url: _Optional[str] = ..., mode: _Optional[str] = ..., problem: _Optional[str] = ..., pause: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...
