"""What the application gets of a request, and what clients get of its answers."""

from __future__ import annotations

from typing import Any

import grpc
import numpy as np
import pytest
from google.protobuf.json_format import MessageToDict, ParseDict

from hbus.v1 import bus_service_pb2 as bus
from hbus.v1 import memory_service_pb2 as service
from hbus.v1 import namespace_service_pb2 as namespace
from hbus.v1.common_pb2 import Durability
from hindsight_bus.app import watch
from hindsight_bus.app.conflicts import Decide, Resolved
from hindsight_bus.app.consume_session import Deliveries
from hindsight_bus.app.draft import WriteDraft
from hindsight_bus.app.freshness import Freshness
from hindsight_bus.app.group_feed import Delivery
from hindsight_bus.app.namespaces import Stats
from hindsight_bus.app.outcome import Outcome
from hindsight_bus.app.read import Page, PastVersion
from hindsight_bus.app.revise import MemoryChange
from hindsight_bus.app.search import Hit, SearchAnswer, SearchRequest
from hindsight_bus.app.selection import WatchEvent
from hindsight_bus.domain.errors import SubjectFull
from hindsight_bus.domain.events import Entry, Event, EventKind
from hindsight_bus.domain.expense import ModelUsage
from hindsight_bus.domain.memory import (
    Attachment,
    Cardinality,
    Channel,
    Claim,
    Decision,
    Head,
    Memory,
    MemoryState,
    MemoryType,
    Transition,
    Version,
)
from hindsight_bus.domain.names import Namespace, Pattern, ResourceName
from hindsight_bus.domain.policy import (
    AutoReflection,
    ConflictPolicy,
    Policy,
    PolicyRecord,
    RankingProfile,
    RankingWeights,
)
from hindsight_bus.domain.position import Position, Positions
from hindsight_bus.domain.query import EventFilter, Filter, SearchChannel
from hindsight_bus.domain.records import (
    Conflict,
    ConflictSide,
    ConflictState,
    NamespaceRecord,
    Resolution,
    ResolutionAction,
)
from hindsight_bus.ports import Candidate, HistoryStep, Stored
from hindsight_bus.transport.codec import groups
from tests.unit.transport_rig import AGENT, Services

FACTS = Namespace("default", "user", "zhangsan", "facts")
ID, OTHER_ID = "0123456789abcdef" * 2, "f" * 32
NAME = f"namespaces/{FACTS}/memories/{ID}"
OTHER = f"namespaces/{FACTS}/memories/{OTHER_ID}"
CONFLICT = f"namespaces/{FACTS}/conflicts/{ID}"
POSITIONS = Positions([Position(3, 7, 9)])
TOKEN = POSITIONS.encode("default")
TIME_MS = 1_700_000_000_123
TIME = "2023-11-14T22:13:20.123Z"


def version(number: int = 1, text: str = "likes tables") -> Version:
    return Version(FACTS, ID, number, MemoryType.SEMANTIC, text, confidence=0.7)


def claim(speaker: str, confidence: float, sequence: int) -> Claim:
    return Claim(speaker, "support", Channel.AGENT, ID, "t:x", confidence, TIME_MS, sequence, 1)


def memory(number: int = 1, text: str = "likes tables", **head: Any) -> Memory:
    made = Head(FACTS, ID, MemoryType.SEMANTIC, MemoryState.ACTIVE, number, number, 0.7, **head)
    return Memory(made, version(number, text), TIME_MS, TIME_MS + 1, 42)


STORED_CONFLICT = Stored(
    Conflict(
        FACTS,
        ID,
        "preference",
        "key",
        MemoryType.SEMANTIC,
        ConflictState.RESOLVED,
        (ConflictSide(ID, "tables", 0.7, ("agent:support",)),),
        "too close",
        Resolution(ResolutionAction.CHOOSE, ID, "boss", "asked the user", TIME_MS),
    ),
    5,
    TIME_MS,
    6,
    TIME_MS,
)
OUTCOME = Outcome(Decision.STORED, memory(), STORED_CONFLICT, "why", POSITIONS)


@pytest.fixture
async def services() -> Any:
    async with Services() as running:
        yield running


# --- in ------------------------------------------------------------------------------------------------------------


async def test_every_field_of_a_write_arrives(services: Services) -> None:
    """A write with every field set reaches the application with each value in its domain form."""
    services.app.answers["write"] = OUTCOME
    request = ParseDict(
        {
            "namespace": str(FACTS),
            "memory": {
                "type": "MEMORY_TYPE_PROCEDURAL",
                "text": "用户偏好用表格\n第二行",
                "subject": "preference.presentation",
                "value": "table",
                "cardinality": "CARDINALITY_MANY",
                "aliases": ["表格", "table", "表格"],
                "tags": ["presentation"],
                "attributes": {"a": [1, "x", None, {"b": True}]},
                "about": "lisi",
                "language": "zh-CN",
                "attachments": [{"uri": "file:///x", "mediaType": "image/png", "title": "图"}],
                "vector": [3.0, 4.0],
                "confidence": 0.0,
                "importance": 1.0,
                "explicit": True,
                "pinned": True,
                "eventTime": TIME,
                "expireTime": "9999-12-31T23:59:59.999999999Z",
                "supersedes": [OTHER],
                "state": "MEMORY_STATE_FORGOTTEN",
            },
            "requestId": "r-1",
            "channel": "CHANNEL_USER",
            "source": "message 7",
        },
        service.WriteMemoryRequest(),
    )
    await services.memory.WriteMemory(request, metadata=AGENT)
    [draft] = services.app.arguments
    assert isinstance(draft, WriteDraft)
    assert (draft.namespace, draft.type, draft.cardinality) == (
        FACTS,
        MemoryType.PROCEDURAL,
        Cardinality.MANY,
    )
    assert (draft.text, draft.subject, draft.value) == (
        "用户偏好用表格\n第二行",
        "preference.presentation",
        "table",
    )
    assert (draft.aliases, draft.tags) == (("表格", "table"), ("presentation",))
    assert (draft.about, draft.language) == ("lisi", "zh-CN")
    assert draft.attributes == request.memory.attributes.SerializeToString(deterministic=True)
    assert draft.attachments == (Attachment("file:///x", "image/png", "图"),)
    assert draft.vector is not None
    assert np.allclose(draft.vector, [0.6, 0.8], atol=1e-3)
    assert (draft.confidence, draft.importance, draft.explicit, draft.pinned) == (0.0, 1.0, True, True)
    assert (draft.event_time_ms, draft.expire_time_ms) == (TIME_MS, 253_402_300_799_999)
    assert draft.supersedes == (ResourceName(FACTS, "memories", OTHER_ID),)
    assert (draft.request_id, draft.channel, draft.source) == ("r-1", Channel.USER, "message 7")
    assert len(draft.payload) == 32


async def test_a_bare_write_gets_the_defaults(services: Services) -> None:
    """What a write leaves out is the default, and stays distinguishable from a given 0."""
    services.app.answers["write"] = OUTCOME
    await services.memory.WriteMemory(
        service.WriteMemoryRequest(namespace=str(FACTS), memory={"type": 2, "text": "x"}), metadata=AGENT
    )
    assert services.app.arguments == (WriteDraft(FACTS, MemoryType.SEMANTIC, "x"),)


async def test_the_payload_tells_requests_apart(services: Services) -> None:
    """Two requests under one request_id have one payload digest only if they say the same."""
    services.app.answers["write"] = OUTCOME
    for text in ("x", "x", "y"):
        request = service.WriteMemoryRequest(
            namespace=str(FACTS), memory={"type": 2, "text": text}, request_id="r"
        )
        await services.memory.WriteMemory(request, metadata=AGENT)
    first, second, third = (arguments[1].payload for _, arguments, _ in services.app.calls)
    assert first == second != third


async def test_an_update_takes_what_the_mask_names(services: Services) -> None:
    """Only masked fields are taken; a masked field that is unset is taken as unset."""
    services.app.answers["update"] = OUTCOME
    request = ParseDict(
        {
            "memory": {"name": NAME, "text": "y", "tags": ["ignored"], "eventTime": TIME, "etag": "abc"},
            "updateMask": "text,confidence,eventTime",
            "source": "s",
        },
        service.UpdateMemoryRequest(),
    )
    await services.memory.UpdateMemory(request, metadata=AGENT)
    name, change = services.app.arguments
    assert name == ResourceName(FACTS, "memories", ID)
    assert isinstance(change, MemoryChange)
    assert dict(change.fields) == {"text": "y", "confidence": None, "event_time_ms": TIME_MS}
    assert (change.etag, change.channel, change.source) == ("abc", Channel.AGENT, "s")


async def test_every_field_of_a_search_arrives(services: Services) -> None:
    """A search with every field set reaches the application with each value in its domain form."""
    services.app.answers["search"] = SearchAnswer([], POSITIONS)
    request = ParseDict(
        {
            "namespaces": [str(FACTS), str(FACTS)],
            "query": " 怎么展示? ",
            "topK": 7,
            "vector": [1.0],
            "asAgent": "support",
            "forUser": "zhangsan",
            "filter": {
                "types": ["MEMORY_TYPE_SEMANTIC"],
                "states": ["MEMORY_STATE_OVERRIDDEN"],
                "tags": ["a"],
                "anyTags": ["b", "c"],
                "subject": "s",
                "subjectPrefix": "p",
                "about": "lisi",
                "languages": ["zh"],
                "agents": ["orders"],
                "minConfidence": 0.5,
                "minImportance": 0.25,
                "eventAfter": TIME,
                "createBefore": TIME,
                "pinned": False,
            },
            "consistency": {"atLeast": {"tokens": [{"token": TOKEN}]}, "requireVectors": True},
            "weights": {"relevance": 1.0},
            "queryTime": TIME,
            "without": ["SEARCH_CHANNEL_DENSE"],
            "maxTokens": 300,
        },
        service.SearchMemoriesRequest(),
    )
    await services.memory.SearchMemories(request)
    [wanted] = services.app.arguments
    assert isinstance(wanted, SearchRequest)
    assert (wanted.namespaces, wanted.query, wanted.top_k) == ((FACTS,), "怎么展示?", 7)
    assert (wanted.as_agent, wanted.for_user) == ("support", "zhangsan")
    assert wanted.weights == RankingWeights(1.0, 0.0, 0.0)
    assert (wanted.query_time_ms, wanted.max_tokens) == (TIME_MS, 300)
    assert wanted.without == {SearchChannel.DENSE}
    assert dict(wanted.freshness.at_least) == dict(POSITIONS)
    assert (wanted.freshness.require_vectors, wanted.freshness.fully_consistent) == (True, False)
    assert wanted.filter == Filter(
        types=frozenset({MemoryType.SEMANTIC}),
        states=frozenset({MemoryState.OVERRIDDEN}),
        tags=frozenset({"a"}),
        any_tags=frozenset({"b", "c"}),
        subject="s",
        subject_prefix="p",
        about="lisi",
        languages=frozenset({"zh"}),
        agents=frozenset({"orders"}),
        min_confidence=0.5,
        min_importance=0.25,
        event_after_ms=TIME_MS,
        create_before_ms=TIME_MS,
        pinned=False,
    )


@pytest.mark.parametrize(
    ("more", "expected"),
    [({}, RankingProfile.SUPPORT.weights), ({"weights": {"recency": 1}}, RankingWeights(0, 1, 0))],
)
async def test_a_profile_stands_for_its_weights(
    services: Services, more: dict[str, Any], expected: RankingWeights
) -> None:
    """A search by profile gets the profile's weights, unless it gives weights of its own."""
    services.app.answers["search"] = SearchAnswer([], POSITIONS)
    asked = {"namespaces": [str(FACTS)], "query": "x", "profile": "RANKING_PROFILE_SUPPORT"} | more
    await services.memory.SearchMemories(ParseDict(asked, service.SearchMemoriesRequest()))
    [wanted] = services.app.arguments
    assert wanted.weights == expected


async def test_a_bare_search_gets_the_defaults(services: Services) -> None:
    """Without conditions a search asks for five live memories of what the node knows now."""
    services.app.answers["search"] = SearchAnswer([], POSITIONS)
    await services.memory.SearchMemories(service.SearchMemoriesRequest(for_user="zhangsan", query="x"))
    [wanted] = services.app.arguments
    assert wanted == SearchRequest((), "x", 5, None, "", "zhangsan", Filter(), Freshness(), None)


async def test_the_start_of_1970_is_a_time(services: Services) -> None:
    """The very start of the epoch is not mistaken for "not given"."""
    services.app.answers["write"] = OUTCOME
    request = service.WriteMemoryRequest(namespace=str(FACTS), memory={"type": 2, "text": "x"})
    request.memory.event_time.SetInParent()
    await services.memory.WriteMemory(request, metadata=AGENT)
    assert services.app.arguments[0].event_time_ms == 1


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ({}, watch.Now()),
        ({"now": {}}, watch.Now()),
        ({"beginning": {}}, watch.Beginning()),
        ({"snapshot": {}}, watch.Snapshot()),
        ({"tokens": {"tokens": [{"token": TOKEN}]}}, watch.AfterTokens(POSITIONS)),
    ],
)
async def test_subscription_starts(services: Services, start: dict[str, Any], expected: Any) -> None:
    """Each way to start a subscription arrives, and filters with it."""
    services.app.answers["subscribe"] = []
    request = ParseDict(
        {
            "namespaces": ["user:*:facts"],
            "filter": {"kinds": ["EVENT_KIND_INDEXED"], "notMyOwn": True, "minConfidence": 0.5},
            "start": start,
        },
        bus.SubscribeRequest(),
    )
    assert [message async for message in services.bus.Subscribe(request)] == []
    [wanted] = services.app.arguments
    assert wanted.patterns == (Pattern("default", "user", "*", "facts"),)
    assert wanted.filter == EventFilter(
        kinds=frozenset({EventKind.INDEXED}), not_my_own=True, min_confidence=0.5
    )
    if isinstance(expected, watch.AfterTokens):
        assert dict(wanted.start.positions) == dict(expected.positions)
    else:
        assert wanted.start == expected


async def test_a_decision_arrives(services: Services) -> None:
    """A resolution reaches the application as given."""
    services.app.answers["resolve"] = Resolved(STORED_CONFLICT, [memory()], POSITIONS)
    request = bus.ResolveConflictRequest(
        name=CONFLICT,
        action="RESOLUTION_ACTION_CHOOSE",
        memory=OTHER,
        rationale="asked\nthem",
        etag="e",
        request_id="r",
    )
    answer = await services.bus.ResolveConflict(request, metadata=AGENT)
    name, decide = services.app.arguments
    assert name == ResourceName(FACTS, "conflicts", ID)
    assert decide == Decide(
        ResolutionAction.CHOOSE,
        ResourceName(FACTS, "memories", OTHER_ID),
        "asked\nthem",
        "e",
        "r",
        decide.payload,
    )
    assert (answer.conflict.name, answer.memories[0].name) == (CONFLICT, NAME)


async def test_policy_changes_set_and_remove(services: Services) -> None:
    """A masked policy field that is unset is removed; one that is set is set, 0 included."""
    stored = Stored(PolicyRecord(Pattern("default", "*", "*", "*"), daily_quota=0), 1, 1, 2, 1)
    services.app.answers["update_policy"] = (stored, POSITIONS)
    request = ParseDict(
        {
            "policy": {
                "pattern": "*:*:*",
                "dailyQuota": 0,
                "conflictPolicy": "CONFLICT_POLICY_LATEST",
                "autoReflection": "AUTO_REFLECTION_NEVER",
                "taskRetentionDays": 0,
            },
            "updateMask": "dailyQuota,conflictPolicy,conflictMargin,rankingWeights,autoReflection,"
            "taskRetentionDays,consolidateFrom",
        },
        namespace.UpdatePolicyRequest(),
    )
    answer = await services.namespace.UpdatePolicy(request, metadata=AGENT)
    pattern, changes, *_ = services.app.arguments
    assert str(pattern) == "*:*:*"
    assert changes == {
        "daily_quota": 0,
        "conflict_policy": ConflictPolicy.LATEST,
        "conflict_margin": None,
        "ranking_weights": None,
        "auto_reflection": AutoReflection.NEVER,
        "task_retention_days": 0.0,
        "consolidate_from": None,
    }
    assert answer.policy.HasField("daily_quota")
    assert not answer.policy.HasField("conflict_margin")
    assert (answer.policy.revision, answer.token.token) == (2, TOKEN)


# --- out -----------------------------------------------------------------------------------------------------------


async def test_every_part_of_a_memory_is_told(services: Services) -> None:
    """A memory with everything set reads the same on the wire."""
    claims = (claim("agent:support", 0.9, 1), claim("user:zhangsan", 0.8, 2), claim("agent:support", 0.6, 3))
    full = Memory(
        Head(
            FACTS,
            ID,
            MemoryType.SEMANTIC,
            MemoryState.CONTESTED,
            3,
            4,
            0.92,
            "key",
            claims,
            conflict_id=ID,
            superseded_by=OTHER_ID,
        ),
        Version(
            FACTS,
            ID,
            3,
            MemoryType.SEMANTIC,
            "用户偏好用表格",
            "preference",
            True,
            "table",
            Cardinality.MANY,
            ("表",),
            ("t",),
            b"\n\x07\n\x01a\x12\x02 \x01",
            "lisi",
            "zh",
            (Attachment("u", "m", "t"),),
            0.6,
            0.4,
            True,
            True,
            TIME_MS,
            TIME_MS,
            (OTHER_ID,),
        ),
        TIME_MS,
        TIME_MS,
        42,
        vector_pending=True,
    )
    services.app.answers["get"] = (full, POSITIONS)
    answer = await services.memory.GetMemory(service.GetMemoryRequest(name=NAME))
    told = MessageToDict(answer.memory)
    assert [c["speaker"] for c in told.pop("claims")] == ["agent:support", "user:zhangsan", "agent:support"]
    assert told == {
        "name": NAME,
        "type": "MEMORY_TYPE_SEMANTIC",
        "text": "用户偏好用表格",
        "subject": "preference",
        "subjectDerived": True,
        "value": "table",
        "cardinality": "CARDINALITY_MANY",
        "aliases": ["表"],
        "tags": ["t"],
        "attributes": {"a": True},
        "about": "lisi",
        "language": "zh",
        "attachments": [{"uri": "u", "mediaType": "m", "title": "t"}],
        "confidence": 0.8,
        "effectiveConfidence": 0.92,
        "importance": 0.4,
        "explicit": True,
        "pinned": True,
        "eventTime": TIME,
        "createTime": TIME,
        "updateTime": TIME,
        "expireTime": TIME,
        "state": "MEMORY_STATE_CONTESTED",
        "version": "3",
        "supersedes": [OTHER],
        "supersededBy": OTHER,
        "conflict": CONFLICT,
        "etag": full.etag,
        "revision": "42",
        "vectorPending": True,
    }
    assert answer.token.token == TOKEN


@pytest.mark.parametrize(
    ("method", "use_case", "request_"),
    [
        ("WriteMemory", "write", {"namespace": str(FACTS), "memory": {"type": 2, "text": "x"}}),
        ("UpdateMemory", "update", {"memory": {"name": NAME, "text": "x"}, "updateMask": "text"}),
        ("ForgetMemory", "forget", {"name": NAME, "requestId": "r"}),
        ("RestoreMemory", "restore", {"name": NAME, "version": 2}),
    ],
)
async def test_mutations_answer_with_token_and_durability(
    services: Services, method: str, use_case: str, request_: dict[str, Any]
) -> None:
    """Every mutation says what stands now, where, and that it is on disk."""
    services.app.answers[use_case] = OUTCOME
    stub = getattr(services.memory, method)
    kind = getattr(service, f"{method}Request")
    answer = await stub(ParseDict(request_, kind()), metadata=AGENT)
    assert (answer.memory.name, answer.token.token) == (NAME, TOKEN)
    assert answer.durability == Durability.DURABILITY_FSYNCED
    if method != "ForgetMemory":
        assert answer.conflict.resolution.rationale == "asked the user"


async def test_a_batch_answers_each_item_in_order(services: Services) -> None:
    """Malformed items, refused items and handled ones are answered in their places; the token covers all."""
    later = Outcome(Decision.DUPLICATE, None, None, "", Positions([Position(3, 9, 1), Position(4, 1, 1)]))
    services.app.answers["write_many"] = lambda caller, drafts: [OUTCOME, SubjectFull("s", 64), later]
    good = {"namespace": str(FACTS), "memory": {"type": 2, "text": "x"}}
    bad = {"namespace": str(FACTS), "memory": {"type": 2, "text": "x", "confidence": 2}}
    request = ParseDict({"writes": [good, bad, good, good]}, service.BatchWriteMemoriesRequest())
    answer = await services.memory.BatchWriteMemories(request, metadata=AGENT)
    kinds = [result.WhichOneof("result") for result in answer.results]
    assert kinds == ["response", "error", "error", "response"]
    malformed, full = answer.results[1].error, answer.results[2].error
    assert (malformed.code, malformed.reason, malformed.field) == (3, "INVALID_FIELD", "memory.confidence")
    assert (full.code, full.reason) == (8, "SUBJECT_FULL")
    held = Positions.decode(answer.token.token, "default")
    assert {p: position.revision for p, position in held.items()} == {3: 9, 4: 1}
    assert len(services.app.arguments[0]) == 3


async def test_a_batch_needs_an_agent(services: Services) -> None:
    """A batch without an agent's name fails as a whole."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await services.memory.BatchWriteMemories(service.BatchWriteMemoriesRequest())
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert services.app.calls == []


async def test_hits_carry_their_score_parts(services: Services) -> None:
    """A hit tells how its score came about; channels that did not find it stay unset."""
    candidate = Candidate(ID, 1, 0.8, 0.7, 0.6, 0.5, None, 2.5, 0.0, "", True)
    services.app.answers["search"] = SearchAnswer([Hit(memory(), candidate, (memory(2),))], POSITIONS, True)
    request = service.SearchMemoriesRequest(namespaces=[str(FACTS)], query="x")
    answer = await services.memory.SearchMemories(request)
    [hit] = answer.hits
    assert (hit.score, hit.parts.relevance, hit.parts.recency, hit.parts.importance) == (0.8, 0.7, 0.6, 0.5)
    assert not hit.parts.HasField("dense")
    assert (hit.parts.lexical, hit.parts.HasField("subject")) == (2.5, True)
    assert ([rival.version for rival in hit.rivals], answer.dense_skipped) == ([2], True)


async def test_versions_tell_what_happened(services: Services) -> None:
    """A version carries the steps that happened while it was current."""
    step = HistoryStep(
        Transition(ID, EventKind.WRITTEN, MemoryState.NONE, MemoryState.ACTIVE, 1, "support", "new"),
        42,
        TIME_MS,
    )
    services.app.answers["versions"] = ([PastVersion(memory(), "support", TIME_MS, [step])], 0)
    answer = await services.memory.ListMemoryVersions(service.ListMemoryVersionsRequest(name=NAME))
    [told] = answer.versions
    assert MessageToDict(told.transitions[0]) == {
        "kind": "written",
        "stateAfter": "MEMORY_STATE_ACTIVE",
        "time": TIME,
        "revision": "42",
        "agent": "support",
        "reason": "new",
    }


def watched(index: int) -> WatchEvent:
    event = Event(
        EventKind.CONTESTED,
        FACTS,
        ID,
        1,
        MemoryType.SEMANTIC,
        MemoryState.ACTIVE,
        MemoryState.CONTESTED,
        0.7,
        0.7,
        agent="orders",
        reason="close",
        conflict_id=ID,
    )
    return WatchEvent(event, Entry(3, 42, 9, TIME_MS, (event,)), index, memory(text=f"text {index} " * 20))


async def test_events_arrive_whole_and_in_order(services: Services) -> None:
    """The kinds of messages of a subscription arrive in their order; a batch holds every event and its token."""
    batch = watch.Batch([watched(i) for i in range(100)], POSITIONS)
    services.app.answers["subscribe"] = [
        watch.Confirmed(POSITIONS, 4),
        watch.SnapshotPart([memory()]),
        watch.Progress(POSITIONS),
        batch,
        batch,
    ]
    request = bus.SubscribeRequest(namespaces=[str(FACTS)])
    messages = [message async for message in services.bus.Subscribe(request)]
    kinds = [message.WhichOneof("message") for message in messages]
    assert kinds == ["confirmed", "snapshot", "checkpoint", "events", "events"]
    assert (messages[0].confirmed.oldest_revision, messages[0].confirmed.token.token) == (4, TOKEN)
    assert messages[1].snapshot.memories[0].name == NAME
    assert messages[2].checkpoint.token.token == TOKEN
    assert messages[3] == messages[4]
    events = messages[3].events
    assert [event.index for event in events.events] == list(range(100))
    assert events.token.token == TOKEN
    assert events.events[7].memory.text == "text 7 " * 20
    assert (events.events[0].conflict.name, events.events[0].revision) == (CONFLICT, 42)
    assert (events.events[0].state_before, events.events[0].state_after) == (1, 2)


def test_deliveries_arrive_whole_and_in_order() -> None:
    """A batch written by hand reads as the messages that it stands for, however large its numbers are."""
    sizes = (1, 127, 128, 2**14, 2**31 - 1)
    deliveries = [Delivery(watched(n), 2**40 + size, size) for n, size in enumerate(sizes)]
    encoded = groups.encode_consumed(Deliveries(deliveries), "acme")
    assert isinstance(encoded, bytes)
    received = bus.ConsumeResponse.FromString(encoded).events.deliveries
    assert [(each.ack_id, each.attempt, each.fence) for each in received] == [
        (f"3-42-{n}-{2**40 + size}", size, 2**40 + size) for n, size in enumerate(sizes)
    ]
    assert [each.event.memory.text for each in received] == [f"text {n} " * 20 for n in range(len(sizes))]
    assert list(received) == list(map(groups.encode_delivery, deliveries))


async def test_policies_in_force_and_stored(services: Services) -> None:
    """For a namespace the answer is what is in force, for a pattern what is stored; nothing stored is NOT_FOUND."""
    record = PolicyRecord(Pattern("default", "user", "*", "*"), daily_quota=9)
    services.app.answers["policy_in_force"] = (Policy(daily_quota=9), [record])
    in_force = await services.namespace.GetPolicy(namespace.GetPolicyRequest(pattern=str(FACTS)))
    assert (in_force.policy.pattern, list(in_force.sources)) == (str(FACTS), ["user:*:*"])
    assert (in_force.policy.daily_quota, in_force.policy.ranking_weights.relevance) == (9, 0.6)

    services.app.answers["stored_policy"] = Stored(record, 1, 1, 5, 1)
    stored = await services.namespace.GetPolicy(namespace.GetPolicyRequest(pattern="user:*:*"))
    assert (stored.policy.revision, list(stored.sources)) == (5, ["user:*:*"])

    services.app.answers["stored_policy"] = None
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await services.namespace.GetPolicy(namespace.GetPolicyRequest(pattern="user:*:*"))
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND


async def test_namespaces_and_their_figures(services: Services) -> None:
    """A namespace tells its profile and place, its statistics what it holds."""
    record = Stored(NamespaceRecord(FACTS, "e5", 384), 1, TIME_MS, 1, TIME_MS)
    services.app.answers["get"] = record
    services.app.answers["list"] = ([record], "")
    services.app.answers["stats"] = Stats(
        {"ACTIVE": 2}, {"SEMANTIC": 2}, 1, 0, 6000, 42, ["look here"], ModelUsage(3, 200, 20, 0.5)
    )
    got = await services.namespace.GetNamespace(namespace.GetNamespaceRequest(namespace=str(FACTS)))
    listed = await services.namespace.ListNamespaces(namespace.ListNamespacesRequest())
    assert list(listed.namespaces) == [got.namespace]
    assert (got.namespace.embedding_profile, got.namespace.dimension, got.namespace.partition) == (
        "e5",
        384,
        3,
    )
    request = namespace.GetNamespaceStatsRequest(namespace=str(FACTS))
    stats = (await services.namespace.GetNamespaceStats(request)).stats
    assert (stats.model_usage.calls, stats.model_usage.cost) == (3, 0.5)
    assert (dict(stats.by_state), stats.pending_vectors, list(stats.warnings)) == (
        {"ACTIVE": 2},
        1,
        ["look here"],
    )


# --- pages ---------------------------------------------------------------------------------------------------------


def page(count: int, text: str = "x", next_after: int = 0) -> Page:
    memories = [memory(number=i + 1, text=text) for i in range(count)]
    return Page(memories, [i + 1 for i in range(count)], next_after, POSITIONS)


async def test_pages_lead_on(services: Services) -> None:
    """The token of a page leads the same list on, whatever the page size."""
    services.app.answers["list"] = page(2, next_after=17)
    first = await services.memory.ListMemories(service.ListMemoriesRequest(namespace=str(FACTS)))
    services.app.calls.clear()
    services.app.answers["list"] = page(1)
    request = service.ListMemoriesRequest(namespace=str(FACTS), page_token=first.next_page_token, page_size=3)
    second = await services.memory.ListMemories(request)
    _, _, after, limit, _ = services.app.arguments
    assert (after, limit, second.next_page_token) == (17, 3, "")


async def test_a_page_token_is_bound_to_its_list_and_caller(services: Services) -> None:
    """With another filter, in another list, or by another agent a page token is refused."""
    services.app.answers["list"] = page(1, next_after=17)
    first = await services.memory.ListMemories(
        service.ListMemoriesRequest(namespace=str(FACTS)), metadata=AGENT
    )
    token = first.next_page_token
    services.app.calls.clear()
    code, field = await services.failure(
        "ListMemories",
        service.ListMemoriesRequest(namespace=str(FACTS), page_token=token, filter={"tags": ["x"]}),
    )
    assert (code, field) == (grpc.StatusCode.INVALID_ARGUMENT, "page_token")
    code, field = await services.failure(
        "ListConflicts", bus.ListConflictsRequest(namespace=str(FACTS), page_token=token)
    )
    assert (code, field) == (grpc.StatusCode.INVALID_ARGUMENT, "page_token")
    with pytest.raises(grpc.aio.AioRpcError):
        await services.memory.ListMemories(
            service.ListMemoriesRequest(namespace=str(FACTS), page_token=token)
        )
    assert services.app.calls == []


async def test_pages_are_cut_by_bytes(services: Services) -> None:
    """A page of long memories ends at 3 MiB, and its token leads on right after what it holds."""
    services.app.answers["list"] = page(500, text="x" * 8000)
    request = service.ListMemoriesRequest(namespace=str(FACTS), page_size=500)
    first = await services.memory.ListMemories(request)
    assert 3 << 20 <= first.ByteSize() < 3 << 20 | 1 << 14
    services.app.calls.clear()
    request.page_token = first.next_page_token
    await services.memory.ListMemories(request)
    assert services.app.arguments[2] == len(first.memories)
