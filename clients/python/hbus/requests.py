"""Requests of the contract from plain Python values. Pure: nothing here calls anything."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias, Unpack

from google.protobuf.field_mask_pb2 import FieldMask

from hbus.fields import EventFields, FilterFields, MemoryChanges, PolicyFields, ReadFields, WriteFields
from hbus.v1.bus_service_pb2 import (
    EventFilter,
    ListConflictsRequest,
    Meaning,
    ResolveConflictRequest,
    Start,
    StartBeginning,
    StartNow,
    StartSnapshot,
    StartTokens,
    SubscribeRequest,
)
from hbus.v1.common_pb2 import AtLeast, Consistency
from hbus.v1.conflict_pb2 import ConflictState, ResolutionAction
from hbus.v1.event_pb2 import EventKind
from hbus.v1.memory_pb2 import (
    Attachment,
    Cardinality,
    Channel,
    Memory,
    MemoryFilter,
    MemoryState,
    MemoryType,
)
from hbus.v1.memory_service_pb2 import (
    BatchWriteMemoriesRequest,
    BuildContextRequest,
    BuildContextResponse,
    ConversationTurn,
    ExtractMemoriesRequest,
    ForgetMemoryRequest,
    GetMemoryRequest,
    ListMemoriesRequest,
    ListMemoryVersionsRequest,
    RecordUsageRequest,
    RestoreMemoryRequest,
    SearchChannel,
    SearchMemoriesRequest,
    SearchMemoriesResponse,
    TurnRole,
    UpdateMemoryRequest,
    WriteMemoryRequest,
)
from hbus.v1.namespace_pb2 import AutoReflection, ConflictPolicy, Policy, RankingProfile, RankingWeights
from hbus.v1.namespace_service_pb2 import (
    GetNamespaceStatsRequest,
    ListNamespacesRequest,
    UpdatePolicyRequest,
)
from hbus.values import (
    ActionName,
    ChannelName,
    ConflictRef,
    ConflictStateName,
    LanguageName,
    MemoryRef,
    ProfileName,
    SearchChannelName,
    Token,
    TurnRoleName,
    moment,
    name_of,
    number,
    numbers,
    tokens,
)

MAX_BATCH = 500

Retrieved: TypeAlias = SearchMemoriesResponse | BuildContextResponse | Iterable[MemoryRef]
"""What a search or a context answered, or the memories that an agent was given."""


def new_request_id() -> str:
    """Return a fresh request_id: it makes a mutation safe to send again."""
    return str(uuid.uuid4())


def write(namespace: str, text: str, **fields: Unpack[WriteFields]) -> WriteMemoryRequest:
    """Build a write; the type is SEMANTIC and the request_id a fresh one unless given."""
    given: dict[str, Any] = dict(fields)
    envelope: dict[str, Any] = {
        key: given.pop(key) for key in ("channel", "source", "request_id") if key in given
    }
    replaced = [name_of(each) for each in given.pop("supersedes", ())]
    memory = Memory(text=text, supersedes=replaced, **_memory_values({"type": "semantic"} | given))
    return WriteMemoryRequest(namespace=namespace, memory=memory, **_envelope(envelope))


def _envelope(given: dict[str, Any]) -> dict[str, Any]:
    if "channel" in given:
        given["channel"] = number(Channel, given["channel"], "channel")
    return given | {"request_id": given.get("request_id") or new_request_id()}


def _memory_values(given: Mapping[str, Any]) -> dict[str, Any]:
    values = {key: value for key, value in given.items() if value is not None}
    if "type" in values:
        values["type"] = number(MemoryType, values["type"], "type")
    if "cardinality" in values:
        values["cardinality"] = number(Cardinality, values["cardinality"], "cardinality")
    if "attachments" in values:
        values["attachments"] = [_attachment(each) for each in values["attachments"]]
    return _with_moments(values)


def _attachment(given: Attachment | str) -> Attachment:
    return Attachment(uri=given) if isinstance(given, str) else given


def _with_moments(values: dict[str, Any]) -> dict[str, Any]:
    return {
        key: moment(value, key) if isinstance(value, datetime) else value for key, value in values.items()
    }


def batches(writes: Iterable[WriteMemoryRequest]) -> Iterator[BatchWriteMemoriesRequest]:
    """Cut writes into batches of at most 500; those without a request_id get one."""
    several: list[WriteMemoryRequest] = []
    for each in writes:
        several.append(identified(each))
        if len(several) == MAX_BATCH:
            yield BatchWriteMemoriesRequest(writes=several)
            several = []
    if several:
        yield BatchWriteMemoriesRequest(writes=several)


def identified(request: WriteMemoryRequest) -> WriteMemoryRequest:
    """Return the write with a request_id."""
    if request.request_id:
        return request
    copy = WriteMemoryRequest()
    copy.CopyFrom(request)
    copy.request_id = new_request_id()
    return copy


def search(
    namespaces: str | Iterable[str],
    query: str,
    *,
    top_k: int = 0,
    vector: Iterable[float] = (),
    as_agent: str = "",
    for_user: str = "",
    filter: FilterFields | None = None,
    weights: RankingWeights | None = None,
    profile: ProfileName | RankingProfile | None = None,
    without: Iterable[SearchChannelName | SearchChannel] = (),
    query_time: datetime | None = None,
    max_tokens: int = 0,
    read: ReadFields | None = None,
) -> SearchMemoriesRequest:
    """Build a search."""
    return SearchMemoriesRequest(
        namespaces=_several(namespaces),
        query=query,
        top_k=top_k,
        vector=vector,
        as_agent=as_agent,
        for_user=for_user,
        filter=memory_filter(filter or {}),
        weights=weights,
        profile=None if profile is None else number(RankingProfile, profile, "profile"),
        without=numbers(SearchChannel, without, "without"),
        query_time=None if query_time is None else moment(query_time, "query_time"),
        max_tokens=max_tokens,
        consistency=consistency(read or {}),
    )


Said: TypeAlias = ConversationTurn | tuple[TurnRoleName, str] | tuple[TurnRoleName, str, datetime]
"""One thing that was said: a role, the words, and when, if that is known."""


def extract(namespace: str, turns: Iterable[Said], **fields: Any) -> ExtractMemoriesRequest:
    """Build an extraction."""
    return ExtractMemoriesRequest(namespace=namespace, turns=map(_turn, turns), **fields)


def _turn(said: Said) -> ConversationTurn:
    if isinstance(said, ConversationTurn):
        return said
    role, text, *times = said
    when = moment(times[0], "time") if times else None
    return ConversationTurn(role=number(TurnRole, role, "role"), text=text, time=when)


def context(search: SearchMemoriesRequest, max_tokens: int, language: LanguageName) -> BuildContextRequest:
    """Build the rendering of what a search finds."""
    return BuildContextRequest(search=search, max_tokens=max_tokens, language=language)


def usage(
    retrieved: Retrieved, used: Iterable[MemoryRef], answer: str, query: str, request_id: str
) -> RecordUsageRequest:
    """Build a report of what an answer used of what it was given."""
    return RecordUsageRequest(
        retrieved=_retrieved(retrieved),
        used=map(name_of, used),
        answer=answer,
        query=query,
        request_id=request_id or new_request_id(),
    )


def _retrieved(given: Retrieved) -> Iterable[str]:
    if isinstance(given, BuildContextResponse):
        return given.memories
    if isinstance(given, SearchMemoriesResponse):
        return [hit.memory.name for hit in given.hits]
    return map(name_of, given)


def _several(names: str | Iterable[str]) -> Iterable[str]:
    return [names] if isinstance(names, str) else names


def memory_filter(fields: FilterFields) -> MemoryFilter:
    """Build conditions on memories."""
    values = _with_moments(dict(fields))
    values["types"] = numbers(MemoryType, values.get("types", ()), "types")
    values["states"] = numbers(MemoryState, values.get("states", ()), "states")
    return MemoryFilter(**values)


def consistency(read: ReadFields) -> Consistency | None:
    """Build the freshness asked for; None = whatever the server has now."""
    if not any(read.values()):
        return None
    asked = Consistency(require_vectors=read.get("require_vectors", False))
    if read.get("fully_consistent"):
        asked.fully_consistent = True
    elif seen := tokens(read.get("after", ())):
        asked.at_least.CopyFrom(AtLeast(tokens=seen))
    return asked


def get(memory: MemoryRef, version: int, read: ReadFields) -> GetMemoryRequest:
    """Build a read of one memory."""
    return GetMemoryRequest(name=name_of(memory), version=version, consistency=consistency(read))


def list_memories(
    namespace: str, filter: FilterFields, page_size: int, read: ReadFields
) -> ListMemoriesRequest:
    """Build the first page of a listing."""
    return ListMemoriesRequest(
        namespace=namespace,
        filter=memory_filter(filter),
        page_size=page_size,
        consistency=consistency(read),
    )


def update(
    memory: MemoryRef,
    changes: MemoryChanges,
    *,
    etag: str,
    channel: ChannelName | Channel | None,
    source: str,
    request_id: str,
) -> UpdateMemoryRequest:
    """Build an update of exactly the fields named in ``changes``; raise ``ValueError`` when there is none."""
    if not changes:
        raise ValueError("name at least one field to change")
    envelope = {"source": source, "request_id": request_id} | ({"channel": channel} if channel else {})
    return UpdateMemoryRequest(
        memory=Memory(name=name_of(memory), etag=etag, **_memory_values(changes)),
        update_mask=FieldMask(paths=list(changes)),
        **_envelope(envelope),
    )


def forget(memory: MemoryRef, etag: str, request_id: str) -> ForgetMemoryRequest:
    """Build a forget."""
    return ForgetMemoryRequest(name=name_of(memory), etag=etag, request_id=request_id or new_request_id())


def restore(memory: MemoryRef, version: int, etag: str, request_id: str) -> RestoreMemoryRequest:
    """Build a restore."""
    return RestoreMemoryRequest(
        name=name_of(memory), version=version, etag=etag, request_id=request_id or new_request_id()
    )


def versions(memory: MemoryRef, page_size: int) -> ListMemoryVersionsRequest:
    """Build the first page of a memory's versions."""
    return ListMemoryVersionsRequest(name=name_of(memory), page_size=page_size)


def subscribe(
    namespaces: str | Iterable[str], start: str | Token | Sequence[Token], filter: EventFields
) -> SubscribeRequest:
    """Build a subscription; ``start`` is ``now``, ``beginning``, ``snapshot``, or tokens to resume after."""
    values: dict[str, Any] = dict(filter)
    values["types"] = numbers(MemoryType, values.get("types", ()), "types")
    values["kinds"] = numbers(EventKind, values.get("kinds", ()), "kinds")
    values["meaning"] = _meaning(values.get("meaning"), values.pop("threshold", None))
    return SubscribeRequest(
        namespaces=_several(namespaces), filter=EventFilter(**values), start=_start(start)
    )


def _meaning(given: str | Iterable[float] | None, threshold: float | None) -> Meaning | None:
    if given is None:
        if threshold is not None:
            raise ValueError("threshold: give a meaning with it")
        return None
    if isinstance(given, str):
        return Meaning(text=given, threshold=threshold)
    return Meaning(vector=given, threshold=threshold)


def _start(start: str | Token | Sequence[Token]) -> Start:
    match start:
        case "now":
            return Start(now=StartNow())
        case "beginning":
            return Start(beginning=StartBeginning())
        case "snapshot":
            return Start(snapshot=StartSnapshot())
    seen = tokens(start)
    if not seen:
        raise ValueError("start: give now, beginning, snapshot or a token that is not empty")
    return Start(tokens=StartTokens(tokens=seen))


def conflicts(
    namespace: str, states: Iterable[ConflictStateName | ConflictState], page_size: int
) -> ListConflictsRequest:
    """Build the first page of a namespace's conflicts."""
    wanted = numbers(ConflictState, states, "states")
    return ListConflictsRequest(namespace=namespace, states=wanted, page_size=page_size)


def resolve(
    conflict: ConflictRef,
    action: ActionName | ResolutionAction,
    memory: MemoryRef,
    rationale: str,
    etag: str,
    request_id: str,
) -> ResolveConflictRequest:
    """Build the decision of a conflict."""
    return ResolveConflictRequest(
        name=name_of(conflict),
        action=number(ResolutionAction, action, "action"),
        memory=name_of(memory),
        rationale=rationale,
        etag=etag,
        request_id=request_id or new_request_id(),
    )


def namespaces(pattern: str, page_size: int) -> ListNamespacesRequest:
    """Build the first page of the namespaces that a pattern matches."""
    return ListNamespacesRequest(pattern=pattern, page_size=page_size)


def stats(namespace: str, read: ReadFields) -> GetNamespaceStatsRequest:
    """Build a count of a namespace."""
    return GetNamespaceStatsRequest(namespace=namespace, consistency=consistency(read))


def update_policy(pattern: str, fields: PolicyFields, etag: str, request_id: str) -> UpdatePolicyRequest:
    """Build an update of exactly the policy fields named; raise ``ValueError`` when there is none."""
    if not fields:
        raise ValueError("name at least one field of the policy to set")
    values: dict[str, Any] = {key: value for key, value in fields.items() if value is not None}
    if "conflict_policy" in values:
        values["conflict_policy"] = number(ConflictPolicy, values["conflict_policy"], "conflict_policy")
    if "auto_reflection" in values:
        values["auto_reflection"] = number(AutoReflection, values["auto_reflection"], "auto_reflection")
    if isinstance(values.get("ranking_weights"), Mapping):
        values["ranking_weights"] = RankingWeights(**values["ranking_weights"])
    return UpdatePolicyRequest(
        policy=Policy(pattern=pattern, etag=etag, **values),
        update_mask=FieldMask(paths=list(fields)),
        request_id=request_id or new_request_id(),
    )
