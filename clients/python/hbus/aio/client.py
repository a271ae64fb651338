"""The client for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Iterable, Sequence
from datetime import datetime
from types import TracebackType
from typing import TypeVar, Unpack

import grpc

from hbus import requests
from hbus.aio.cancellation import decode
from hbus.aio.groups import GroupCalls
from hbus.aio.publishing import publish
from hbus.aio.subscription import Subscription
from hbus.aio.tasks import TaskCalls
from hbus.backoff import Attempts, Backoff, Outage
from hbus.client import DEFAULT_TIMEOUT_S, PUBLISH_OUTAGE_S, STREAM_BACKOFF
from hbus.cursor import Cursor
from hbus.endpoint import DEFAULT_TARGET, Endpoint
from hbus.fields import EventFields, FilterFields, MemoryChanges, PolicyFields, ReadFields, WriteFields
from hbus.paging import G, P
from hbus.pipeline import Outcome, Pipeline, Published, outcome
from hbus.routing import owner_headers
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
    """The memory of agents, for asyncio. Use it within one event loop; close it, or use it as a context manager.

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
        self._calls = endpoint.aio_channel()
        self._streams = endpoint.aio_channel()
        self._memories = MemoryServiceStub(self._calls)
        self._namespaces = NamespaceServiceStub(self._calls)
        self._bus = BusServiceStub(self._calls)
        self._reflections = ReflectionServiceStub(self._calls)
        self._long_bus = BusServiceStub(self._streams)

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close both connections; calls and streams still open end."""
        await self._calls.close()
        await self._streams.close()

    # --- memories ---

    async def write(
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
        return await self._call(
            self._memories.WriteMemory, requests.write(namespace, text, **fields), timeout
        )

    async def write_many(
        self, writes: Iterable[WriteMemoryRequest], *, timeout: float | None = None
    ) -> Sequence[Outcome]:
        """Write many (see ``hbus.write_request``), 500 a call; return an answer or an error for each, in order.

        Never atomic: each succeeds or fails on its own. The deadline holds for each call.
        """
        answers = [
            await self._call(self._memories.BatchWriteMemories, batch, timeout)
            for batch in requests.batches(writes)
        ]
        return [outcome(result) for answer in answers for result in answer.results]

    async def search(
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
        return await self._call(self._memories.SearchMemories, request, timeout)

    async def context(
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
        return await self._call(self._memories.BuildContext, request, timeout)

    async def record_usage(
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
        return await self._call(self._memories.RecordUsage, request, timeout)

    async def extract(
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
        return await self._call(self._memories.ExtractMemories, request, timeout)

    async def get(
        self,
        memory: MemoryRef,
        *,
        version: int = 0,
        timeout: float | None = None,
        **read: Unpack[ReadFields],
    ) -> Memory:
        """Read one memory, at its current version (0) or an earlier one."""
        return (
            await self._call(self._memories.GetMemory, requests.get(memory, version, read), timeout)
        ).memory

    async def list(
        self,
        namespace: str,
        *,
        filter: FilterFields | None = None,
        page_size: int = 0,
        timeout: float | None = None,
        **read: Unpack[ReadFields],
    ) -> AsyncIterator[Memory]:
        """Yield the memories of a namespace in order of creation, fetching pages as needed."""
        request = requests.list_memories(namespace, filter or {}, page_size, read)
        async for page in self._pages(self._memories.ListMemories, request, timeout):
            for each in page.memories:
                yield each

    async def update(
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
        return await self._call(self._memories.UpdateMemory, request, timeout)

    async def forget(
        self, memory: MemoryRef, *, etag: str = "", request_id: str = "", timeout: float | None = None
    ) -> ForgetMemoryResponse:
        """Forget a memory; what it had overridden returns. ``restore`` brings it back until it is purged."""
        request = requests.forget(memory, etag, request_id)
        return await self._call(self._memories.ForgetMemory, request, timeout)

    async def restore(
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
        return await self._call(self._memories.RestoreMemory, request, timeout)

    async def versions(
        self, memory: MemoryRef, *, page_size: int = 0, timeout: float | None = None
    ) -> AsyncIterator[MemoryVersion]:
        """Yield the versions of a memory, newest first, each with what happened to the memory under it."""
        request = requests.versions(memory, page_size)
        async for page in self._pages(self._memories.ListMemoryVersions, request, timeout):
            for each in page.versions:
                yield each

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

    def publish(
        self, writes: Iterable[WriteMemoryRequest] | AsyncIterable[WriteMemoryRequest], *, window: int = 256
    ) -> AsyncGenerator[Published, None]:
        """Write over one stream (see ``hbus.write_request``), yielding each outcome as it comes.

        At most ``window`` writes are unanswered at a time. Nothing is sent before the first outcome is asked for. After
        a cut the unanswered ones are sent again, for at most 30 s. Leaving early? Wrap it in
        ``contextlib.aclosing``.
        """
        return publish(
            lambda: self._long_bus.Publish(metadata=self._metadata),
            writes,
            Pipeline(window),
            Outage(STREAM_BACKOFF, PUBLISH_OUTAGE_S),
        )

    async def conflicts(
        self,
        namespace: str,
        *,
        states: Iterable[ConflictStateName | ConflictState] = (),
        page_size: int = 0,
        timeout: float | None = None,
    ) -> AsyncIterator[Conflict]:
        """Yield the conflicts of a namespace, newest first; open and suspected ones unless asked for others."""
        request = requests.conflicts(namespace, states, page_size)
        async for page in self._pages(self._bus.ListConflicts, request, timeout):
            for each in page.conflicts:
                yield each

    async def conflict(self, conflict: ConflictRef, *, timeout: float | None = None) -> Conflict:
        """Read one conflict."""
        request = GetConflictRequest(name=name_of(conflict))
        return (await self._call(self._bus.GetConflict, request, timeout)).conflict

    async def resolve(
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
        return await self._call(self._bus.ResolveConflict, request, timeout)

    # --- namespaces ---

    async def namespaces(
        self, pattern: str = "", *, page_size: int = 0, timeout: float | None = None
    ) -> AsyncIterator[Namespace]:
        """Yield the namespaces that a pattern matches (default all), in no particular order."""
        request = requests.namespaces(pattern, page_size)
        async for page in self._pages(self._namespaces.ListNamespaces, request, timeout):
            for each in page.namespaces:
                yield each

    async def namespace(self, namespace: str, *, timeout: float | None = None) -> Namespace:
        """Read one namespace."""
        request = GetNamespaceRequest(namespace=namespace)
        return (await self._call(self._namespaces.GetNamespace, request, timeout)).namespace

    async def policy(self, pattern: str, *, timeout: float | None = None) -> GetPolicyResponse:
        """Read the policy in force for a namespace, or the one stored for a pattern with ``*``."""
        return await self._call(self._namespaces.GetPolicy, GetPolicyRequest(pattern=pattern), timeout)

    async def update_policy(
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
        return await self._call(self._namespaces.UpdatePolicy, request, timeout)

    async def stats(
        self, namespace: str, *, timeout: float | None = None, **read: Unpack[ReadFields]
    ) -> NamespaceStats:
        """Count what a namespace holds."""
        request = requests.stats(namespace, read)
        return (await self._call(self._namespaces.GetNamespaceStats, request, timeout)).stats

    async def _pages(
        self, method: grpc.aio.UnaryUnaryMultiCallable[P, G], request: P, timeout: float | None
    ) -> AsyncIterator[G]:
        while True:
            page = await self._call(method, request, timeout)
            yield page
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def _call(
        self,
        method: grpc.aio.UnaryUnaryMultiCallable[_Request, _Response],
        request: _Request,
        timeout: float | None,
    ) -> _Response:
        attempts = Attempts(self._backoff, self._timeout if timeout is None else timeout)
        metadata = (*self._metadata, *owner_headers(request))
        while True:
            call = method(request, timeout=attempts.remaining_s, metadata=metadata)
            try:
                return await call
            except (grpc.RpcError, asyncio.CancelledError) as error:
                failure = decode(error)
                pause = attempts.pause_after(failure)
                if pause is None:
                    raise failure from error
            finally:
                call.cancel()
            await asyncio.sleep(pause)
