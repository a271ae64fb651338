"""The Python client of Hindsight Bus, the memory that several agents share.

``hbus.connect`` is for threads, ``hbus.aio.connect`` for asyncio; both speak the contract ``hbus.v1``::

    with hbus.connect("127.0.0.1:50051", agent="support") as bus:
        bus.write("user:zhangsan:facts", "用户偏好用表格展示对比数据", subject="preference.presentation")
        for hit in bus.search("user:zhangsan:facts", "对比数据该怎么展示?").hits:
            print(hit.score, hit.memory.text)
"""

from hbus import aio, errors, steps
from hbus.backoff import NO_RETRY, Backoff
from hbus.client import Client, connect
from hbus.consuming import RejectEvent
from hbus.consumption import Consumption
from hbus.errors import HbusError
from hbus.pipeline import Outcome, Published
from hbus.requests import new_request_id
from hbus.requests import write as write_request
from hbus.subscription import Subscription
from hbus.v1.bus_service_pb2 import Group
from hbus.v1.conflict_pb2 import Conflict, ConflictState, ResolutionAction, SuspicionVerdict
from hbus.v1.event_pb2 import Event, EventKind
from hbus.v1.group_pb2 import DeadLetter, Delivery, ExtendLease, Reject, RetryLater
from hbus.v1.memory_pb2 import Attachment, Cardinality, Channel, Memory, MemoryState, MemoryType
from hbus.v1.memory_service_pb2 import (
    ConversationTurn,
    Decision,
    SearchHit,
    TurnRole,
    WriteMemoryRequest,
    WriteMemoryResponse,
)
from hbus.v1.namespace_pb2 import ConflictPolicy, RankingWeights
from hbus.v1.review_pb2 import ReviewItem, ReviewState
from hbus.v1.skill_pb2 import ParameterOrigin, Skill, SkillState
from hbus.v1.task_pb2 import InsightKind, ModelUsage, Reflection, ReflectionState, Step, Task, TaskOutcome
from hbus.values import label

__all__ = [
    "NO_RETRY",
    "Attachment",
    "Backoff",
    "Cardinality",
    "Channel",
    "Client",
    "Conflict",
    "ConflictPolicy",
    "ConflictState",
    "Consumption",
    "ConversationTurn",
    "DeadLetter",
    "Decision",
    "Delivery",
    "Event",
    "EventKind",
    "ExtendLease",
    "Group",
    "HbusError",
    "InsightKind",
    "Memory",
    "MemoryState",
    "MemoryType",
    "ModelUsage",
    "Outcome",
    "ParameterOrigin",
    "Published",
    "RankingWeights",
    "Reflection",
    "ReflectionState",
    "Reject",
    "RejectEvent",
    "ResolutionAction",
    "RetryLater",
    "ReviewItem",
    "ReviewState",
    "SearchHit",
    "Skill",
    "SkillState",
    "Step",
    "Subscription",
    "SuspicionVerdict",
    "Task",
    "TaskOutcome",
    "TurnRole",
    "WriteMemoryRequest",
    "WriteMemoryResponse",
    "aio",
    "connect",
    "errors",
    "label",
    "new_request_id",
    "steps",
    "write_request",
]
