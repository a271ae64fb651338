"""Every malformed field is refused by name, over real sockets, and the application never hears of it."""

from __future__ import annotations

from typing import Any

import grpc
import pytest
from google.protobuf.json_format import ParseDict
from google.protobuf.message import Message

from hbus.v1 import bus_service_pb2 as bus
from hbus.v1 import memory_service_pb2 as memory
from hbus.v1 import namespace_service_pb2 as namespace
from hindsight_bus.domain.errors import NotFound
from hindsight_bus.domain.position import Position, Positions
from tests.unit.transport_rig import Services

NAMESPACE = "user:zhangsan:facts"
ID = "0123456789abcdef" * 2
NAME = f"namespaces/{NAMESPACE}/memories/{ID}"
CONFLICT = f"namespaces/{NAMESPACE}/conflicts/{ID}"
TOKEN = Positions([Position(3, 7, 9)]).encode("default")
FOREIGN_TOKEN = Positions([Position(3, 7, 9)]).encode("another tenant")

REQUESTS: dict[str, type[Message]] = {
    "WriteMemory": memory.WriteMemoryRequest,
    "BatchWriteMemories": memory.BatchWriteMemoriesRequest,
    "SearchMemories": memory.SearchMemoriesRequest,
    "GetMemory": memory.GetMemoryRequest,
    "ListMemories": memory.ListMemoriesRequest,
    "UpdateMemory": memory.UpdateMemoryRequest,
    "ForgetMemory": memory.ForgetMemoryRequest,
    "RestoreMemory": memory.RestoreMemoryRequest,
    "ListMemoryVersions": memory.ListMemoryVersionsRequest,
    "Subscribe": bus.SubscribeRequest,
    "PullEvents": bus.PullEventsRequest,
    "AckEvents": bus.AckEventsRequest,
    "ListConflicts": bus.ListConflictsRequest,
    "GetConflict": bus.GetConflictRequest,
    "ResolveConflict": bus.ResolveConflictRequest,
    "GetNamespace": namespace.GetNamespaceRequest,
    "ListNamespaces": namespace.ListNamespacesRequest,
    "GetPolicy": namespace.GetPolicyRequest,
    "UpdatePolicy": namespace.UpdatePolicyRequest,
    "GetNamespaceStats": namespace.GetNamespaceStatsRequest,
}

VALID: dict[str, dict[str, Any]] = {
    "WriteMemory": {"namespace": NAMESPACE, "memory": {"type": 2, "text": "likes tables"}},
    "BatchWriteMemories": {},
    "SearchMemories": {"namespaces": [NAMESPACE], "query": "tables?"},
    "GetMemory": {"name": NAME},
    "ListMemories": {"namespace": NAMESPACE},
    "UpdateMemory": {"memory": {"name": NAME, "text": "likes charts"}, "updateMask": "text"},
    "ForgetMemory": {"name": NAME},
    "RestoreMemory": {"name": NAME},
    "ListMemoryVersions": {"name": NAME},
    "Subscribe": {"namespaces": [NAMESPACE]},
    "PullEvents": {"group": {"name": "mail", "namespaces": [NAMESPACE]}, "member": "m"},
    "AckEvents": {"group": "mail", "member": "m", "settlements": [{"ackIds": ["1-2-0-3"], "ack": {}}]},
    "ListConflicts": {"namespace": NAMESPACE},
    "GetConflict": {"name": CONFLICT},
    "ResolveConflict": {"name": CONFLICT, "action": 3},
    "GetNamespace": {"namespace": NAMESPACE},
    "ListNamespaces": {},
    "GetPolicy": {"pattern": NAMESPACE},
    "UpdatePolicy": {"policy": {"pattern": NAMESPACE, "dailyQuota": 5}, "updateMask": "dailyQuota"},
    "GetNamespaceStats": {"namespace": NAMESPACE},
}


def merged(base: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """Return ``base`` with ``change`` put into it, key by key."""
    result = dict(base)
    for key, value in change.items():
        inner = result.get(key)
        both = isinstance(value, dict) and isinstance(inner, dict)
        result[key] = merged(inner, value) if both and isinstance(inner, dict) else value
    return result


def write(change: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return "WriteMemory", {"memory": change}


CASES: list[tuple[str, dict[str, Any], str]] = [
    # what the issue names
    ("WriteMemory", {"namespace": "user:张 三:*"}, "namespace"),
    (*write({"confidence": 1.7}), "memory.confidence"),
    (*write({"type": 99}), "memory.type"),
    (*write({"vector": [0.1, "NaN"]}), "memory.vector"),
    ("ListMemories", {"pageSize": -1}, "page_size"),
    # names
    ("WriteMemory", {"namespace": ""}, "namespace"),
    ("WriteMemory", {"namespace": "user:facts"}, "namespace"),
    ("WriteMemory", {"namespace": "user:*:facts"}, "namespace"),
    ("WriteMemory", {"namespace": "user:a\0b:facts"}, "namespace"),
    ("WriteMemory", {"namespace": f"user:{'x' * 65}:facts"}, "namespace"),
    ("GetMemory", {"name": "nonsense"}, "name"),
    ("GetMemory", {"name": CONFLICT}, "name"),
    ("GetMemory", {"name": NAME.replace("zhangsan", "*")}, "name"),
    ("UpdateMemory", {"memory": {"name": ""}}, "memory.name"),
    ("ForgetMemory", {"name": NAME[:-1]}, "name"),
    ("RestoreMemory", {"name": NAME + "/x"}, "name"),
    ("ListMemoryVersions", {"name": ""}, "name"),
    ("GetConflict", {"name": NAME}, "name"),
    ("ResolveConflict", {"name": NAME}, "name"),
    ("GetNamespace", {"namespace": "*:*:*"}, "namespace"),
    ("ListNamespaces", {"pattern": "user:*"}, "pattern"),
    ("GetPolicy", {"pattern": ""}, "pattern"),
    ("GetPolicy", {"pattern": "user:z*:facts"}, "pattern"),
    ("GetNamespaceStats", {"namespace": "::"}, "namespace"),
    # memories
    ("WriteMemory", {"memory": {"type": 0}}, "memory.type"),
    (*write({"text": ""}), "memory.text"),
    (*write({"text": " \n\u3000"}), "memory.text"),
    (*write({"text": "a\0b"}), "memory.text"),
    (*write({"subject": "x" * 129}), "memory.subject"),
    (*write({"subject": "a\nb"}), "memory.subject"),
    (*write({"value": "x" * 257}), "memory.value"),
    (*write({"cardinality": 7}), "memory.cardinality"),
    (*write({"aliases": ["x"] * 33}), "memory.aliases"),
    (*write({"aliases": ["x", "y" * 65]}), "memory.aliases[1]"),
    (*write({"aliases": [" "]}), "memory.aliases[0]"),
    (*write({"tags": [f"t{i}" for i in range(33)]}), "memory.tags"),
    (*write({"tags": ["a\x7f"]}), "memory.tags[0]"),
    (*write({"attributes": {"a": {"b": [1, "x"]}, "k" * 129: 1}}), "memory.attributes"),
    (*write({"about": "not a part"}), "memory.about"),
    (*write({"language": "chinese!"}), "memory.language"),
    (*write({"attachments": [{"uri": "u"}] * 17}), "memory.attachments"),
    (*write({"attachments": [{"uri": ""}]}), "memory.attachments[0].uri"),
    (*write({"attachments": [{"uri": "u" * 2049}]}), "memory.attachments[0].uri"),
    (*write({"attachments": [{"uri": "u", "mediaType": "m" * 256}]}), "memory.attachments[0].media_type"),
    (*write({"attachments": [{"uri": "u", "title": "t\n"}]}), "memory.attachments[0].title"),
    (*write({"vector": ["Infinity"]}), "memory.vector"),
    (*write({"vector": [0.0, 0.0]}), "memory.vector"),
    (*write({"vector": [0.5] * 16_385}), "memory.vector"),
    (*write({"confidence": -0.1}), "memory.confidence"),
    (*write({"confidence": "NaN"}), "memory.confidence"),
    (*write({"confidence": "Infinity"}), "memory.confidence"),
    (*write({"importance": 1.1}), "memory.importance"),
    (*write({"importance": "NaN"}), "memory.importance"),
    (*write({"supersedes": [NAME] * 65}), "memory.supersedes"),
    (*write({"supersedes": ["x"]}), "memory.supersedes[0]"),
    (*write({"supersedes": [NAME, NAME.replace("zhangsan", "lisi")]}), "memory.supersedes[1]"),
    ("WriteMemory", {"requestId": "r" * 129}, "request_id"),
    ("WriteMemory", {"requestId": "\x01"}, "request_id"),
    ("WriteMemory", {"channel": 6}, "channel"),
    ("WriteMemory", {"source": "s" * 513}, "source"),
    ("BatchWriteMemories", {"writes": [{}] * 501}, "writes"),
    # updates
    ("UpdateMemory", {"updateMask": ""}, "update_mask"),
    ("UpdateMemory", {"updateMask": "state"}, "update_mask"),
    ("UpdateMemory", {"updateMask": "text,name"}, "update_mask"),
    ("UpdateMemory", {"updateMask": "attributes.colour"}, "update_mask"),
    ("UpdateMemory", {"memory": {"text": ""}}, "memory.text"),
    ("UpdateMemory", {"memory": {"confidence": 2}, "updateMask": "confidence"}, "memory.confidence"),
    ("UpdateMemory", {"memory": {"etag": "e" * 65}}, "memory.etag"),
    ("UpdateMemory", {"channel": -1}, "channel"),
    ("ForgetMemory", {"etag": "\n"}, "etag"),
    ("RestoreMemory", {"version": -1}, "version"),
    ("GetMemory", {"version": -3}, "version"),
    # searches and lists
    ("SearchMemories", {"namespaces": []}, "namespaces"),
    ("SearchMemories", {"namespaces": [NAMESPACE, "user:*:facts"]}, "namespaces[1]"),
    ("SearchMemories", {"namespaces": [f"user:u{i}:facts" for i in range(33)]}, "namespaces"),
    ("SearchMemories", {"query": ""}, "query"),
    ("SearchMemories", {"query": "q" * 2049}, "query"),
    ("SearchMemories", {"query": "a\0"}, "query"),
    ("SearchMemories", {"topK": -1}, "top_k"),
    ("SearchMemories", {"topK": 101}, "top_k"),
    ("SearchMemories", {"topK": 1_000_000_000}, "top_k"),
    ("SearchMemories", {"vector": ["NaN"]}, "vector"),
    ("SearchMemories", {"asAgent": "a b"}, "as_agent"),
    ("SearchMemories", {"forUser": "*"}, "for_user"),
    ("SearchMemories", {"weights": {"relevance": 1.5}}, "weights.relevance"),
    ("SearchMemories", {"weights": {"recency": "NaN"}}, "weights.recency"),
    ("SearchMemories", {"weights": {"importance": -1}}, "weights.importance"),
    ("SearchMemories", {"weights": {}}, "weights"),
    ("SearchMemories", {"filter": {"types": [2, 0]}}, "filter.types[1]"),
    ("SearchMemories", {"filter": {"states": [0]}}, "filter.states[0]"),
    ("SearchMemories", {"filter": {"states": [42]}}, "filter.states[0]"),
    ("SearchMemories", {"filter": {"tags": [""]}}, "filter.tags[0]"),
    ("SearchMemories", {"filter": {"anyTags": ["x" * 65]}}, "filter.any_tags[0]"),
    ("SearchMemories", {"filter": {"agents": [f"a{i}" for i in range(65)]}}, "filter.agents"),
    ("SearchMemories", {"filter": {"about": "a:b"}}, "filter.about"),
    ("SearchMemories", {"filter": {"subject": "\t"}}, "filter.subject"),
    ("SearchMemories", {"filter": {"minConfidence": 1.01}}, "filter.min_confidence"),
    ("SearchMemories", {"filter": {"minImportance": "NaN"}}, "filter.min_importance"),
    ("SearchMemories", {"consistency": {"minimizeLatency": False}}, "consistency.minimize_latency"),
    ("SearchMemories", {"consistency": {"fullyConsistent": False}}, "consistency.fully_consistent"),
    ("SearchMemories", {"consistency": {"atLeast": {}}}, "consistency.at_least.tokens"),
    (
        "GetMemory",
        {"consistency": {"atLeast": {"tokens": [{"token": TOKEN}, {"token": ""}]}}},
        "consistency.at_least.tokens[1].token",
    ),
    (
        "ListMemories",
        {"consistency": {"atLeast": {"tokens": [{"token": FOREIGN_TOKEN}]}}},
        "consistency.at_least.tokens[0].token",
    ),
    (
        "GetNamespaceStats",
        {"consistency": {"atLeast": {"tokens": [{"token": TOKEN}] * 33}}},
        "consistency.at_least.tokens",
    ),
    ("ListMemories", {"pageSize": 1001}, "page_size"),
    ("ListMemories", {"pageToken": "forged"}, "page_token"),
    ("ListMemories", {"pageToken": "é"}, "page_token"),
    ("ListMemoryVersions", {"pageToken": TOKEN}, "page_token"),
    ("ListConflicts", {"pageSize": -5}, "page_size"),
    ("ListConflicts", {"states": [9]}, "states[0]"),
    ("ListNamespaces", {"pageToken": "x" * 1000}, "page_token"),
    # subscriptions
    ("Subscribe", {"namespaces": []}, "namespaces"),
    ("Subscribe", {"namespaces": ["user:*:facts", "x"]}, "namespaces[1]"),
    ("Subscribe", {"filter": {"kinds": [0]}}, "filter.kinds[0]"),
    ("Subscribe", {"filter": {"kinds": [1, 100]}}, "filter.kinds[1]"),
    ("Subscribe", {"filter": {"types": [5]}}, "filter.types[0]"),
    ("Subscribe", {"filter": {"minConfidence": -1}}, "filter.min_confidence"),
    ("Subscribe", {"filter": {"subjectPrefix": "x" * 129}}, "filter.subject_prefix"),
    ("Subscribe", {"filter": {"meaning": {}}}, "filter.meaning.text"),
    ("Subscribe", {"filter": {"meaning": {"text": " \n"}}}, "filter.meaning.text"),
    ("Subscribe", {"filter": {"meaning": {"text": "x" * 2049}}}, "filter.meaning.text"),
    ("Subscribe", {"filter": {"meaning": {"text": "x", "threshold": 0}}}, "filter.meaning.threshold"),
    ("Subscribe", {"filter": {"meaning": {"text": "x", "threshold": -0.5}}}, "filter.meaning.threshold"),
    ("Subscribe", {"filter": {"meaning": {"text": "x", "threshold": 1.01}}}, "filter.meaning.threshold"),
    ("Subscribe", {"filter": {"meaning": {"text": "x", "threshold": "NaN"}}}, "filter.meaning.threshold"),
    ("Subscribe", {"filter": {"meaning": {"vector": [0, 0]}}}, "filter.meaning.vector"),
    ("Subscribe", {"filter": {"meaning": {"vector": [1] * 16_385}}}, "filter.meaning.vector"),
    ("Subscribe", {"filter": {"meaning": {"text": "x"}, "kinds": [16, 1]}}, "filter.kinds"),
    ("Subscribe", {"start": {"tokens": {}}}, "start.tokens.tokens"),
    ("Subscribe", {"start": {"tokens": {"tokens": [{"token": "?"}]}}}, "start.tokens.tokens[0].token"),
    # groups
    *(
        ("PullEvents", {"group": change}, f"group.{field}")
        for change, field in [
            ({"name": ""}, "name"),
            ({"namespaces": ["x"]}, "namespaces[0]"),
            ({"filter": {"kinds": [0]}}, "filter.kinds[0]"),
            ({"filter": {"tags": [""]}}, "filter.tags[0]"),
            ({"filter": {"notMyOwn": True}}, "filter.not_my_own"),
            ({"filter": {"meaning": {}}}, "filter.meaning.text"),
            ({"lease": "0.9s"}, "lease"),
            ({"lifetime": "59s"}, "lifetime"),
            ({"maxAttempts": 101}, "max_attempts"),
            ({"start": {"snapshot": {}}}, "start.snapshot"),
            ({"start": {"tokens": {}}}, "start.tokens.tokens"),
        ]
    ),
    ("PullEvents", {"member": "a b"}, "member"),
    ("PullEvents", {"maxEvents": 201}, "max_events"),
    ("PullEvents", {"wait": "31s"}, "wait"),
    ("AckEvents", {"settlements": [{"ackIds": ["1-2-0"], "ack": {}}]}, "settlements[0].ack_ids[0]"),
    ("AckEvents", {"settlements": [{"ackIds": ["1-2-0-3"]}]}, "settlements[0].action"),
    (
        "AckEvents",
        {"settlements": [{"ackIds": ["1-2-0-3"], "extend": {"lease": "0.5s"}}]},
        "settlements[0].extend.lease",
    ),
    # conflicts and policies
    ("ResolveConflict", {"action": 0}, "action"),
    ("ResolveConflict", {"action": 4}, "action"),
    ("ResolveConflict", {"action": 1}, "memory"),
    ("ResolveConflict", {"memory": NAME.replace("zhangsan", "lisi")}, "memory"),
    ("ResolveConflict", {"rationale": "r" * 1025}, "rationale"),
    ("UpdatePolicy", {"updateMask": ""}, "update_mask"),
    ("UpdatePolicy", {"updateMask": "pattern"}, "update_mask"),
    ("UpdatePolicy", {"policy": {"pattern": "x"}}, "policy.pattern"),
    ("UpdatePolicy", {"policy": {"dailyQuota": -1}}, "policy.daily_quota"),
    ("UpdatePolicy", {"policy": {"dailyQuota": 1_000_001}}, "policy.daily_quota"),
    *(
        ("UpdatePolicy", {"policy": {name: value}, "updateMask": name}, f"policy.{field}")
        for name, field, value in [
            ("embeddingProfile", "embedding_profile", "bert"),
            ("embeddingProfile", "embedding_profile", "external(0)"),
            ("conflictPolicy", "conflict_policy", 8),
            ("conflictMargin", "conflict_margin", 1.5),
            ("conflictMargin", "conflict_margin", "NaN"),
            ("beliefHalfLifeDays", "belief_half_life_days", 0.0),
            ("beliefHalfLifeDays", "belief_half_life_days", "Infinity"),
            ("maxTextChars", "max_text_chars", 0),
            ("recencyHalfLifeDays", "recency_half_life_days", -1.0),
            ("purgeAfterDays", "purge_after_days", 3651.0),
            ("autoReflection", "auto_reflection", 4),
            ("taskRetentionDays", "task_retention_days", 3651.0),
            ("consolidateFrom", "consolidate_from", 2),
            ("consolidateFrom", "consolidate_from", 65),
            ("rankingWeights", "ranking_weights", {}),
        ]
    ),
]


@pytest.fixture
async def services() -> Any:
    async with Services() as running:
        yield running


def request_of(method: str, change: dict[str, Any]) -> Message:
    return ParseDict(merged(VALID[method], change), REQUESTS[method]())


@pytest.mark.parametrize(("method", "change", "field"), CASES, ids=lambda value: str(value)[:60])
async def test_malformed_field_is_refused_by_name(
    services: Services, method: str, change: dict[str, Any], field: str
) -> None:
    """A malformed field gives INVALID_ARGUMENT naming it, and nothing is called."""
    code, named = await services.failure(method, request_of(method, change))
    assert (code, named) == (grpc.StatusCode.INVALID_ARGUMENT, field)
    assert services.app.calls == []


OVERSIZED = [
    (*write({"text": "x" * 8193}), "memory.text"),
    (*write({"text": "层" * 2731}), "memory.text"),
    (*write({"text": "x" * 10_000_000}), "memory.text"),
    (*write({"attributes": {"a": "x" * 16_400}}), "memory.attributes"),
]


@pytest.mark.parametrize(
    ("method", "change", "field"), OVERSIZED, ids=["ascii", "chinese", "10 MB", "attributes"]
)
async def test_oversized_field_is_refused_by_name(
    services: Services, method: str, change: dict[str, Any], field: str
) -> None:
    """A text over its limit in bytes gives RESOURCE_EXHAUSTED naming it, and nothing is called."""
    code, named = await services.failure(method, request_of(method, change))
    assert (code, named) == (grpc.StatusCode.RESOURCE_EXHAUSTED, field)
    assert services.app.calls == []


@pytest.mark.parametrize("seconds", [-62_135_596_801, 253_402_300_800, 2**62])
@pytest.mark.parametrize("name", ["event_time", "expire_time"])
async def test_times_outside_the_calendar_are_refused(services: Services, name: str, seconds: int) -> None:
    """A time before the year 1 or after 9999, which JSON cannot even write, is refused."""
    request: Any = request_of("WriteMemory", {})
    getattr(request.memory, name).seconds = seconds
    code, named = await services.failure("WriteMemory", request)
    assert (code, named) == (grpc.StatusCode.INVALID_ARGUMENT, f"memory.{name}")
    assert services.app.calls == []


async def test_nanoseconds_outside_a_second_are_refused(services: Services) -> None:
    """A time with a second's worth of nanoseconds is refused."""
    request: Any = request_of("SearchMemories", {"filter": {}})
    request.filter.create_before.nanos = 1_000_000_000
    code, named = await services.failure("SearchMemories", request)
    assert (code, named) == (grpc.StatusCode.INVALID_ARGUMENT, "filter.create_before")


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
async def test_attributes_hold_finite_numbers_only(services: Services, number: float) -> None:
    """A number that JSON cannot write is refused wherever it hides in the attributes."""
    request: Any = request_of("WriteMemory", {"memory": {"attributes": {"a": {"b": [1, 2]}}}})
    request.memory.attributes["a"]["b"][1] = number
    code, named = await services.failure("WriteMemory", request)
    assert (code, named) == (grpc.StatusCode.INVALID_ARGUMENT, "memory.attributes.a.b[1]")
    assert services.app.calls == []


@pytest.mark.parametrize("method", sorted(VALID))
async def test_valid_requests_reach_the_application(services: Services, method: str) -> None:
    """The requests that the malformed ones are made from are accepted: each leads to one call."""
    services.app.answers = _Anything()
    request = request_of(method, {})
    await services.failure(method, request)
    assert len(services.app.calls) == 1


class _Anything(dict[str, Any]):
    """Answers every call with a refusal of the application."""

    def __missing__(self, name: str) -> Any:
        return NotFound(name)
