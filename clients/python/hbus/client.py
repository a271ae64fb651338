"""The client for threads."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from types import TracebackType
from typing import TypeVar, Unpack

import grpc

from hbus import errors, requests
from hbus.backoff import Attempts, Backoff, Outage
from hbus.cursor import Cursor
from hbus.endpoint import DEFAULT_TARGET, Endpoint
from hbus.fields import EventFields, FilterFields, MemoryChanges, PolicyFields, ReadFields, WriteFields
from hbus.groups import GroupCalls
from hbus.paging import G, P
from hbus.pipeline import Outcome, Pipeline, Published, outcome
from hbus.publishing import publish
from hbus.routing import owner_headers
from hbus.subscription import Subscription
from hbus.tasks import TaskCalls
from hbus.v1.bus_service_pb2 import GetConflictRequest, ResolveConflictResponse
from hbus.v1.bus_service_pb2_grpc import BusServiceStub
from hbus.v1.conflict_pb2 import Conflict, ConflictState, ResolutionAction
from hbus.v1.memory_pb2 import Channel, Memory, MemoryVersion
from hbus.v1.memory_service_pb2 import (
    BuildContextResponse,
    ExtractMemoriesResponse,
    ForgetMemoryResponse,
    RecordUsageResponse,
    RestoreMemoryResponse,
    SearchChannel,
    SearchMemoriesResponse,
    UpdateMemoryResponse,
    WriteMemoryRequest,
    WriteMemoryResponse,
)
from hbus.v1.memory_service_pb2_grpc import MemoryServiceStub
from hbus.v1.namespace_pb2 import Namespace, NamespaceStats, RankingProfile, RankingWeights
from hbus.v1.namespace_service_pb2 import (
    GetNamespaceRequest,
    GetPolicyRequest,
    GetPolicyResponse,
    UpdatePolicyResponse,
)
from hbus.v1.namespace_service_pb2_grpc import NamespaceServiceStub
from hbus.v1.reflection_service_pb2_grpc import ReflectionServiceStub
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
    name_of,
)

DEFAULT_TIMEOUT_S = 5.0
STREAM_BACKOFF = Backoff(first_s=0.1, cap_s=2.0)
PUBLISH_OUTAGE_S = 30.0

_Request = TypeVar("_Request")
_Response = TypeVar("_Response")


def connect(
    target: str = DEFAULT_TARGET,
    *,
    agent: str = "",
    api_key: str = "",
    credentials: grpc.ChannelCredentials | None = None,
    timeout: float = DEFAULT_TIMEOUT_S,
    backoff: Backoff | None = None,
) -> Client:
    """Return a client of the server at ``target`` (``host:port``, or ``https://host:port`` for TLS).

    It dials at the first call. ``agent`` is the name to write under; ``api_key`` is sent as a bearer token;
    ``credentials`` are for TLS with roots or certificates of your own; ``timeout`` is the deadline of each unary call
    in seconds, retries included. Raises ``ValueError`` for a malformed target.
    """
    endpoint = Endpoint.of(target, agent, api_key, credentials)
    return Client(endpoint, timeout=timeout, backoff=backoff or Backoff())


class Client(GroupCalls, TaskCalls):
    """The memory of agents, for threads. Safe to share between threads; close it, or use it as a context manager.

    Calls return the messages of ``hbus.v1`` and raise ``HbusError``. Every mutation carries a ``request_id``, a fresh
    one unless given, so it is sent again within the deadline when the server was out of reach or its answer was lost,
    and has one effect all the same. ``timeout`` overrides the client's deadline for one call, in seconds.
    """

    def __init__(
        self, endpoint: Endpoint, *, timeout: float = DEFAULT_TIMEOUT_S, backoff: Backoff | None = None
    ) -> None:
        self.endpoint = endpoint
        self._timeout = timeout
        self._backoff = backoff or Backoff()
        self._metadata = endpoint.metadata
        self._calls = endpoint.channel()
        self._streams = endpoint.channel()
        self._memories = MemoryServiceStub(self._calls)
        self._namespaces = NamespaceServiceStub(self._calls)
        self._bus = BusServiceStub(self._calls)
        self._reflections = ReflectionServiceStub(self._calls)
        self._long_bus = BusServiceStub(self._streams)

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close both connections; calls and streams still open end."""
        self._calls.close()
        self._streams.close()

    # --- memories ---

    def write(
        self,
        namespace: str,
        text: str,
        *,
        timeout: float | None = None,
        **fields: Unpack[WriteFields],
    ) -> WriteMemoryResponse:
        """Write what the agent learnt; the answer says what became of it, and comes when it is durable.

        ``namespace`` is ``scope:owner:kind``. The type is ``"semantic"`` unless given.
        """
        return self._call(self._memories.WriteMemory, requests.write(namespace, text, **fields), timeout)

    def write_many(
        self, writes: Iterable[WriteMemoryRequest], *, timeout: float | None = None
    ) -> Sequence[Outcome]:
        """Write many (see ``hbus.write_request``), 500 a call; return an answer or an error for each, in order.

        Never atomic: each succeeds or fails on its own. The deadline holds for each call.
        """
        answers = (
            self._call(self._memories.BatchWriteMemories, batch, timeout)
            for batch in requests.batches(writes)
        )
        return [outcome(result) for answer in answers for result in answer.results]

    def search(
        self,
        namespaces: str | Iterable[str],
        query: str = "",
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
        timeout: float | None = None,
        **read: Unpack[ReadFields],
    ) -> SearchMemoriesResponse:
        """Find memories by meaning, words, subject and conditions; best first, at most ``top_k`` (0 = 5).

        Fewer hits, or none, come back where fewer are relevant. Dates in the query count from ``query_time`` (default
        now); ``max_tokens`` bounds the texts of all that comes back (0 = no limit).
        """
        request = requests.search(
            namespaces,
            query,
            top_k=top_k,
            vector=vector,
            as_agent=as_agent,
            for_user=for_user,
            filter=filter,
            weights=weights,
            profile=profile,
            without=without,
            query_time=query_time,
            max_tokens=max_tokens,
            read=read,
        )
        return self._call(self._memories.SearchMemories, request, timeout)

    def context(
        self,
        namespaces: str | Iterable[str],
        query: str,
        *,
        max_tokens: int = 0,
        language: LanguageName = "",
        top_k: int = 0,
        vector: Iterable[float] = (),
        as_agent: str = "",
        for_user: str = "",
        filter: FilterFields | None = None,
        weights: RankingWeights | None = None,
        profile: ProfileName | RankingProfile | None = None,
        query_time: datetime | None = None,
        timeout: float | None = None,
        **read: Unpack[ReadFields],
    ) -> BuildContextResponse:
        """Find memories as ``search`` does, rendered as a block for a prompt of at most ``max_tokens`` (0 = 1,000).

        Nothing in the block can close it; it is empty where nothing relevant is found. ``advice`` of the answer says
        where in a prompt it belongs. Tell ``record_usage`` afterwards what the answer used.
        """
        search = requests.search(
            namespaces,
            query,
            top_k=top_k,
            vector=vector,
            as_agent=as_agent,
            for_user=for_user,
            filter=filter,
            weights=weights,
            profile=profile,
            query_time=query_time,
            read=read,
        )
        request = requests.context(search, max_tokens, language)
        return self._call(self._memories.BuildContext, request, timeout)

    def record_usage(
        self,
        retrieved: requests.Retrieved,
        *,
        used: Iterable[MemoryRef] = (),
        answer: str = "",
        query: str = "",
        request_id: str = "",
        timeout: float | None = None,
    ) -> RecordUsageResponse:
        """Tell which memories that the agent was given its answer used; use lifts their importance.

        ``retrieved`` is what ``search`` or ``context`` answered, or memories. Name those that were ``used``, or give
        the ``answer`` (and the ``query``, whose words do not count) to have it estimated.
        """
        request = requests.usage(retrieved, used, answer, query, request_id)
        return self._call(self._memories.RecordUsage, request, timeout)

    def extract(
        self,
        namespace: str,
        turns: Iterable[requests.Said],
        *,
        conversation: str = "",
        source: str = "",
        dry_run: bool = False,
        rules_only: bool = False,
        request_id: str = "",
        timeout: float | None = None,
    ) -> ExtractMemoriesResponse:
        """Find in a conversation what is worth remembering, and write it.

        ``turns`` are pairs of a role (``user``, ``assistant``, ``tool``) and what was said, and when, if that is known.
        """
        request = requests.extract(
            namespace,
            turns,
            conversation=conversation,
            source=source,
            dry_run=dry_run,
            rules_only=rules_only,
            request_id=request_id or requests.new_request_id(),
        )
        return self._call(self._memories.ExtractMemories, request, timeout)

    def get(
        self,
        memory: MemoryRef,
        *,
        version: int = 0,
        timeout: float | None = None,
        **read: Unpack[ReadFields],
    ) -> Memory:
        """Read one memory, at its current version (0) or an earlier one."""
        return self._call(self._memories.GetMemory, requests.get(memory, version, read), timeout).memory

    def list(
        self,
        namespace: str,
        *,
        filter: FilterFields | None = None,
        page_size: int = 0,
        timeout: float | None = None,
        **read: Unpack[ReadFields],
    ) -> Iterator[Memory]:
        """Yield the memories of a namespace in order of creation, fetching pages as needed."""
        request = requests.list_memories(namespace, filter or {}, page_size, read)
        for page in self._pages(self._memories.ListMemories, request, timeout):
            yield from page.memories

    def update(
        self,
        memory: MemoryRef,
        *,
        etag: str = "",
        channel: ChannelName | Channel | None = None,
        source: str = "",
        request_id: str = "",
        timeout: float | None = None,
        **changes: Unpack[MemoryChanges],
    ) -> UpdateMemoryResponse:
        """Change exactly the fields named; None or an empty value clears one.

        Where others claim the memory too it is treated, and answered, as a write by this agent.
        """
        request = requests.update(
            memory, changes, etag=etag, channel=channel, source=source, request_id=request_id
        )
        return self._call(self._memories.UpdateMemory, request, timeout)

    def forget(
        self, memory: MemoryRef, *, etag: str = "", request_id: str = "", timeout: float | None = None
    ) -> ForgetMemoryResponse:
        """Forget a memory; what it had overridden returns. ``restore`` brings it back until it is purged."""
        request = requests.forget(memory, etag, request_id)
        return self._call(self._memories.ForgetMemory, request, timeout)

    def restore(
        self,
        memory: MemoryRef,
        *,
        version: int = 0,
        etag: str = "",
        request_id: str = "",
        timeout: float | None = None,
    ) -> RestoreMemoryResponse:
        """Bring back a forgotten, superseded or expired memory, or an earlier version of a live one."""
        request = requests.restore(memory, version, etag, request_id)
        return self._call(self._memories.RestoreMemory, request, timeout)

    def versions(
        self, memory: MemoryRef, *, page_size: int = 0, timeout: float | None = None
    ) -> Iterator[MemoryVersion]:
        """Yield the versions of a memory, newest first, each with what happened to the memory under it."""
        request = requests.versions(memory, page_size)
        for page in self._pages(self._memories.ListMemoryVersions, request, timeout):
            yield from page.versions

    # --- the bus ---

    def subscribe(
        self,
        namespaces: str | Iterable[str],
        *,
        start: str | Token | Sequence[Token] = "now",
        max_outage: float | None = None,
        **filter: Unpack[EventFields],
    ) -> Subscription:
        """Hear of what happens in namespaces or patterns (``user:*:facts``), from where ``start`` says.

        ``start`` is ``"now"``, ``"beginning"`` (the oldest event retained), ``"snapshot"`` (see
        ``Subscription.snapshot``), or tokens to resume after. The first confirmation is waited for as long as a call
        may take; after it a cut is mended for as long as it takes, or given up after ``max_outage`` seconds.

        ``meaning="anything about refunds"`` brings memories on that, however they are worded, once each version has its
        vector; ``threshold`` says how near they must be.
        """
        request = requests.subscribe(namespaces, start, filter)
        cursor = Cursor(request, STREAM_BACKOFF, opening_s=self._timeout, max_outage_s=max_outage)
        return Subscription(
            lambda request: self._long_bus.Subscribe(
                request, metadata=(*self._metadata, *owner_headers(request))
            ),
            cursor,
        )

    def publish(self, writes: Iterable[WriteMemoryRequest], *, window: int = 256) -> Iterator[Published]:
        """Write over one stream (see ``hbus.write_request``), yielding each outcome as it comes.

        At most ``window`` writes are unanswered at a time. Nothing is sent before the first outcome is asked for. After
        a cut the unanswered ones are sent again, for at most 30 s. ``writes`` is read ahead of the outcomes: a source
        that waits belongs to ``hbus.aio``.
        """
        return publish(
            lambda outbox: self._long_bus.Publish(outbox, metadata=self._metadata),
            writes,
            Pipeline(window),
            Outage(STREAM_BACKOFF, PUBLISH_OUTAGE_S),
        )

    def conflicts(
        self,
        namespace: str,
        *,
        states: Iterable[ConflictStateName | ConflictState] = (),
        page_size: int = 0,
        timeout: float | None = None,
    ) -> Iterator[Conflict]:
        """Yield the conflicts of a namespace, newest first; open and suspected ones unless asked for others."""
        request = requests.conflicts(namespace, states, page_size)
        for page in self._pages(self._bus.ListConflicts, request, timeout):
            yield from page.conflicts

    def conflict(self, conflict: ConflictRef, *, timeout: float | None = None) -> Conflict:
        """Read one conflict."""
        request = GetConflictRequest(name=name_of(conflict))
        return self._call(self._bus.GetConflict, request, timeout).conflict

    def resolve(
        self,
        conflict: ConflictRef,
        action: ActionName | ResolutionAction = "choose",
        memory: MemoryRef = "",
        *,
        rationale: str = "",
        etag: str = "",
        request_id: str = "",
        timeout: float | None = None,
    ) -> ResolveConflictResponse:
        """Decide a conflict: ``"choose"`` the memory that holds, ``"merge"`` the sides, or ``"keep_all"``."""
        request = requests.resolve(conflict, action, memory, rationale, etag, request_id)
        return self._call(self._bus.ResolveConflict, request, timeout)

    # --- namespaces ---

    def namespaces(
        self, pattern: str = "", *, page_size: int = 0, timeout: float | None = None
    ) -> Iterator[Namespace]:
        """Yield the namespaces that a pattern matches (default all), in no particular order."""
        request = requests.namespaces(pattern, page_size)
        for page in self._pages(self._namespaces.ListNamespaces, request, timeout):
            yield from page.namespaces

    def namespace(self, namespace: str, *, timeout: float | None = None) -> Namespace:
        """Read one namespace."""
        request = GetNamespaceRequest(namespace=namespace)
        return self._call(self._namespaces.GetNamespace, request, timeout).namespace

    def policy(self, pattern: str, *, timeout: float | None = None) -> GetPolicyResponse:
        """Read the policy in force for a namespace, or the one stored for a pattern with ``*``."""
        return self._call(self._namespaces.GetPolicy, GetPolicyRequest(pattern=pattern), timeout)

    def update_policy(
        self,
        pattern: str,
        *,
        etag: str = "",
        request_id: str = "",
        timeout: float | None = None,
        **fields: Unpack[PolicyFields],
    ) -> UpdatePolicyResponse:
        """Set exactly the policy fields named, for a pattern; None removes one."""
        request = requests.update_policy(pattern, fields, etag, request_id)
        return self._call(self._namespaces.UpdatePolicy, request, timeout)

    def stats(
        self, namespace: str, *, timeout: float | None = None, **read: Unpack[ReadFields]
    ) -> NamespaceStats:
        """Count what a namespace holds."""
        request = requests.stats(namespace, read)
        return self._call(self._namespaces.GetNamespaceStats, request, timeout).stats

    def _pages(
        self, method: grpc.UnaryUnaryMultiCallable[P, G], request: P, timeout: float | None
    ) -> Iterator[G]:
        while True:
            page = self._call(method, request, timeout)
            yield page
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def _call(
        self,
        method: grpc.UnaryUnaryMultiCallable[_Request, _Response],
        request: _Request,
        timeout: float | None,
    ) -> _Response:
        attempts = Attempts(self._backoff, self._timeout if timeout is None else timeout)
        metadata = (*self._metadata, *owner_headers(request))
        while True:
            try:
                return method(request, timeout=attempts.remaining_s, metadata=metadata)
            except grpc.RpcError as error:
                failure = errors.from_rpc(error)
                pause = attempts.pause_after(failure)
                if pause is None:
                    raise failure from error
            time.sleep(pause)
