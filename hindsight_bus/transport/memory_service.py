"""MemoryService: decode, one call of the application, encode."""

from __future__ import annotations

from hbus.v1 import memory_service_pb2 as pb
from hindsight_bus.app.caller import Caller
from hindsight_bus.app.change import Changer
from hindsight_bus.app.context import ContextBuilder
from hindsight_bus.app.extract import Extractor
from hindsight_bus.app.read import Reader
from hindsight_bus.app.revise import MemoryChange
from hindsight_bus.app.search import Searcher
from hindsight_bus.app.usage import UsageRecorder
from hindsight_bus.app.write import Writer
from hindsight_bus.domain.names import Namespace
from hindsight_bus.transport import paging
from hindsight_bus.transport.codec import context, extraction, fields, memories, queries
from hindsight_bus.transport.codec.outcomes import Outcomes
from hindsight_bus.transport.writes import write_each

MAX_BATCH = 500


class MemoryServicer:
    """Serves ``hbus.v1.MemoryService``."""

    def __init__(
        self,
        writer: Writer,
        changer: Changer,
        reader: Reader,
        searcher: Searcher,
        contexts: ContextBuilder,
        usage: UsageRecorder,
        extractor: Extractor,
        outcomes: Outcomes,
    ) -> None:
        self._writer = writer
        self._changer = changer
        self._reader = reader
        self._searcher = searcher
        self._contexts = contexts
        self._usage = usage
        self._extractor = extractor
        self._outcomes = outcomes

    async def WriteMemory(self, caller: Caller, request: pb.WriteMemoryRequest) -> pb.WriteMemoryResponse:
        """Write one memory."""
        draft = memories.decode_write(request, caller.tenant)
        return self._outcomes.written(await self._writer.write(caller, draft), caller.tenant)

    async def BatchWriteMemories(
        self, caller: Caller, request: pb.BatchWriteMemoriesRequest
    ) -> pb.BatchWriteMemoriesResponse:
        """Write many memories, each on its own."""
        fields.at_most(request.writes, "writes", MAX_BATCH)
        caller.require_agent()
        outcomes = await write_each(self._writer, caller, request.writes)
        return self._outcomes.batch(outcomes, caller.tenant)

    async def ExtractMemories(
        self, caller: Caller, request: pb.ExtractMemoriesRequest
    ) -> pb.ExtractMemoriesResponse:
        """Find memories in a conversation, and write them."""
        wanted = extraction.decode_extract(request, caller.tenant)
        answer = await self._extractor.extract(caller, wanted)
        return extraction.encode_extracted(answer, self._outcomes, caller.tenant)

    async def SearchMemories(
        self, caller: Caller, request: pb.SearchMemoriesRequest
    ) -> pb.SearchMemoriesResponse:
        """Find memories."""
        answer = await self._searcher.search(caller, queries.decode_search(request, caller.tenant))
        response = pb.SearchMemoriesResponse(
            token=queries.encode_token(answer.positions, caller.tenant), dense_skipped=answer.dense_skipped
        )
        queries.fill_hits(response.hits, answer.hits)
        queries.fill_hits(response.pinned, answer.pinned)
        return response

    async def GetMemory(self, caller: Caller, request: pb.GetMemoryRequest) -> pb.GetMemoryResponse:
        """Read one memory."""
        name = fields.memory_name(request.name, caller.tenant)
        version = fields.not_negative(request.version, "version")
        freshness = queries.decode_freshness(request.consistency, caller.tenant)
        memory, positions = await self._reader.get(caller, name, version, freshness)
        return pb.GetMemoryResponse(
            memory=memories.encode_memory(memory), token=queries.encode_token(positions, caller.tenant)
        )

    async def ListMemories(self, caller: Caller, request: pb.ListMemoriesRequest) -> pb.ListMemoriesResponse:
        """List memories in order of creation."""
        namespace = Namespace.parse(request.namespace, caller.tenant)
        condition = queries.decode_filter(request.filter)
        limit = fields.page_size(request.page_size)
        after = paging.decode_number(caller, request)
        freshness = queries.decode_freshness(request.consistency, caller.tenant)
        page = await self._reader.list(caller, namespace, condition, after, limit, freshness)
        rows, left_off = paging.cut(
            zip(page.memories, page.create_revisions, strict=True), memories.encode_memory
        )
        return pb.ListMemoriesResponse(
            memories=rows,
            next_page_token=paging.encode_number(caller, request, left_off or page.next_after),
            token=queries.encode_token(page.positions, caller.tenant),
        )

    async def UpdateMemory(self, caller: Caller, request: pb.UpdateMemoryRequest) -> pb.UpdateMemoryResponse:
        """Change one memory."""
        name = fields.memory_name(request.memory.name, caller.tenant, "memory.name")
        change = MemoryChange(
            fields=memories.decode_changes(request),
            etag=fields.etag(request.memory.etag, "memory.etag"),
            request_id=fields.request_id(request.request_id),
            payload=fields.payload_of(request),
            channel=memories.channel_of(request.channel),
            source=memories.source_of(request.source),
        )
        return self._outcomes.updated(await self._changer.update(caller, name, change), caller.tenant)

    async def ForgetMemory(self, caller: Caller, request: pb.ForgetMemoryRequest) -> pb.ForgetMemoryResponse:
        """Forget one memory."""
        outcome = await self._changer.forget(
            caller,
            fields.memory_name(request.name, caller.tenant),
            etag=fields.etag(request.etag),
            request_id=fields.request_id(request.request_id),
            payload=fields.payload_of(request),
        )
        return self._outcomes.forgotten(outcome, caller.tenant)

    async def RestoreMemory(
        self, caller: Caller, request: pb.RestoreMemoryRequest
    ) -> pb.RestoreMemoryResponse:
        """Bring one memory back."""
        outcome = await self._changer.restore(
            caller,
            fields.memory_name(request.name, caller.tenant),
            version=fields.not_negative(request.version, "version"),
            etag=fields.etag(request.etag),
            request_id=fields.request_id(request.request_id),
            payload=fields.payload_of(request),
        )
        return self._outcomes.restored(outcome, caller.tenant)

    async def ListMemoryVersions(
        self, caller: Caller, request: pb.ListMemoryVersionsRequest
    ) -> pb.ListMemoryVersionsResponse:
        """List the versions of one memory, newest first."""
        name = fields.memory_name(request.name, caller.tenant)
        limit = fields.page_size(request.page_size)
        before = paging.decode_number(caller, request)
        past, next_before = await self._reader.versions(caller, name, before, limit)
        rows, left_off = paging.cut(
            ((each, each.memory.version.number) for each in past), memories.encode_version
        )
        return pb.ListMemoryVersionsResponse(
            versions=rows, next_page_token=paging.encode_number(caller, request, left_off or next_before)
        )

    async def BuildContext(self, caller: Caller, request: pb.BuildContextRequest) -> pb.BuildContextResponse:
        """Render what a search finds for a prompt."""
        answer = await self._contexts.build(caller, context.decode_context(request, caller.tenant))
        return context.encode_context(answer, caller.tenant)

    async def RecordUsage(self, caller: Caller, request: pb.RecordUsageRequest) -> pb.RecordUsageResponse:
        """Count what an answer used."""
        report = context.decode_usage(request, caller.tenant)
        return self._outcomes.used(await self._usage.record(caller, report), caller.tenant)
