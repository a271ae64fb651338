"""Whose memory a request of the client concerns: what a router goes by."""

from __future__ import annotations

import pytest
from google.protobuf.message import Message

from hbus.endpoint import Endpoint
from hbus.routing import owner_headers, owner_of
from hbus.v1 import bus_service_pb2 as bus
from hbus.v1 import memory_service_pb2 as memory
from hbus.v1 import reflection_service_pb2 as reflection
from hbus.v1.memory_pb2 import Memory

NAME = "namespaces/user:zhangsan:facts/memories/0a1b"


@pytest.mark.parametrize(
    "request_",
    [
        memory.WriteMemoryRequest(request_id="r", namespace="user:zhangsan:facts"),
        memory.BatchWriteMemoriesRequest(
            writes=[memory.WriteMemoryRequest(namespace="user:zhangsan:facts")],
        ),
        memory.SearchMemoriesRequest(namespaces=["user:zhangsan:facts", "agent:support:notes"], query="q"),
        memory.SearchMemoriesRequest(as_agent="support", for_user="zhangsan"),
        memory.BuildContextRequest(search=memory.SearchMemoriesRequest(for_user="zhangsan")),
        memory.GetMemoryRequest(name=NAME),
        memory.UpdateMemoryRequest(memory=Memory(name=NAME, text="t")),
        memory.RecordUsageRequest(retrieved=[NAME]),
        bus.SubscribeRequest(namespaces=["user:zhangsan:*"]),
        bus.ResolveConflictRequest(name="namespaces/user:zhangsan:facts/conflicts/c", memory=NAME),
        reflection.StartTaskRequest(goal="g", kind="k", user="zhangsan"),
        reflection.FinishTaskRequest(task="namespaces/user:zhangsan:tasks/tasks/t"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_what_a_request_names_tells_its_owner(request_: Message) -> None:
    """By namespace, by the name of anything in one, or by the user."""
    assert owner_of(request_) == "user:zhangsan"


@pytest.mark.parametrize(
    "request_",
    [
        memory.SearchMemoriesRequest(query="user:zhangsan:facts"),
        memory.WriteMemoryRequest(namespace="zhangsan"),
        bus.SubscribeRequest(namespaces=["user:*:facts"]),
        bus.AckEventsRequest(group="workers", member="one"),
        reflection.ListModelsRequest(),
    ],
    ids=lambda each: type(each).__name__,
)
def test_what_concerns_nobody_or_everybody_goes_anywhere(request_: Message) -> None:
    """Texts are not looked into, and a pattern over all owners is nobody's."""
    assert owner_of(request_) == ""


def test_owners_travel_as_ascii_beside_the_identity() -> None:
    """Headers are ASCII, and an owner may be named in any script."""
    request = memory.GetMemoryRequest(name="namespaces/user:\u5f20\u4e09:facts/memories/0a1b")
    sent = (*Endpoint.of("127.0.0.1:1", agent="support").metadata, *owner_headers(request))
    assert sent == (("hbus-agent", "support"), ("hbus-owner", "user:%E5%BC%A0%E4%B8%89"))
