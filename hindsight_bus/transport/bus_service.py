"""BusService: decode, one call of the application, encode."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from functools import partial

from hbus.v1 import bus_service_pb2 as pb
from hindsight_bus.app.caller import Caller
from hindsight_bus.app.conflicts import Conflicts, Decide
from hindsight_bus.app.consume import Consumers
from hindsight_bus.app.groups import GroupBook
from hindsight_bus.app.watch import Watcher
from hindsight_bus.app.write import Writer
from hindsight_bus.domain.errors import InvalidField
from hindsight_bus.domain.names import Namespace, ResourceName, check_part
from hindsight_bus.domain.records import ConflictState, ResolutionAction
from hindsight_bus.transport import paging
from hindsight_bus.transport.codec import fields, groups
from hindsight_bus.transport.codec.conflicts import encode_conflict
from hindsight_bus.transport.codec.events import decode_watch, encode_watched
from hindsight_bus.transport.codec.outcomes import Outcomes
from hindsight_bus.transport.pipeline import Pipeline
from hindsight_bus.transport.requests import Requests
from hindsight_bus.transport.writes import write_each

_MAX_RATIONALE_CHARS = 1024


class BusServicer:
    """Serves ``hbus.v1.BusService``."""

    def __init__(
        self,
        writer: Writer,
        watcher: Watcher,
        consumers: Consumers,
        book: GroupBook,
        conflicts: Conflicts,
        outcomes: Outcomes,
        publish_in_flight: int = 64,
    ) -> None:
        self._writer = writer
        self._watcher = watcher
        self._consumers = consumers
        self._book = book
        self._conflicts = conflicts
        self._outcomes = outcomes
        self._publish_in_flight = publish_in_flight

    async def Publish(
        self, caller: Caller, requests: AsyncIterator[pb.PublishRequest]
    ) -> AsyncGenerator[pb.PublishResponse, None]:
        """Write what comes; writes on one subject in the order of the stream."""
        caller.require_agent()

        async def publish(sequence: int, request: pb.PublishRequest) -> pb.PublishResponse:
            [outcome] = await write_each(self._writer, caller, [request.write])
            return pb.PublishResponse(sequence=sequence, result=self._outcomes.result(outcome, caller.tenant))

        pipeline = Pipeline(publish, _subject, self._publish_in_flight)
        async with aclosing(pipeline.run(requests)) as responses:
            async for response in responses:
                yield response

    async def Subscribe(
        self, caller: Caller, request: pb.SubscribeRequest
    ) -> AsyncGenerator[pb.SubscribeResponse | bytes, None]:
        """Send what happens."""
        wanted = decode_watch(request, caller.tenant)
        async with aclosing(self._watcher.subscribe(caller, wanted)) as messages:
            async for message in messages:
                encoded = encode_watched(message, caller.tenant)
                del message  # a stream that is stuck in the next line must not hold decoded events
                yield encoded

    async def Consume(
        self, caller: Caller, requests: Requests
    ) -> AsyncGenerator[pb.ConsumeResponse | bytes, None]:
        """Give events to a member and settle them."""
        wanted = requests.steady(partial(groups.decode_consume, tenant=caller.tenant))
        async with aclosing(self._consumers.consume(caller, wanted)) as messages:
            async for message in messages:
                encoded = groups.encode_consumed(message, caller.tenant)
                del message  # a stream that is stuck in the next line must not hold decoded events
                yield encoded

    async def PullEvents(self, caller: Caller, request: pb.PullEventsRequest) -> pb.PullEventsResponse:
        """Give events to a member."""
        group, deliveries = await self._consumers.pull(caller, groups.decode_pull(request, caller.tenant))
        return pb.PullEventsResponse(
            deliveries=map(groups.encode_delivery, deliveries),
            group=groups.encode_terms(group, caller.tenant),
        )

    async def AckEvents(self, caller: Caller, request: pb.AckEventsRequest) -> pb.AckEventsResponse:
        """Settle deliveries of a member."""
        outcomes = await self._consumers.settle(
            caller,
            groups.group_name(request.group),
            check_part(request.member, "member"),
            groups.decode_settlements(request.settlements),
        )
        return pb.AckEventsResponse(outcomes=map(groups.encode_outcome, outcomes))

    async def ListGroups(self, caller: Caller, request: pb.ListGroupsRequest) -> pb.ListGroupsResponse:
        """List groups and where they stand."""
        limit = fields.page_size(request.page_size)
        after = paging.decode_page_token(caller, request)
        found, next_after = await self._book.page(caller, after, limit)
        return pb.ListGroupsResponse(
            groups=[groups.encode_group(status, caller.tenant) for status in found],
            next_page_token=paging.encode_page_token(caller, request, next_after),
        )

    async def SeekGroup(self, caller: Caller, request: pb.SeekGroupRequest) -> pb.SeekGroupResponse:
        """Let a group go on from elsewhere."""
        to = groups.decode_seek(request, caller.tenant)
        await self._book.seek(caller, groups.group_name(request.group), to)
        return pb.SeekGroupResponse()

    async def DeleteGroup(self, caller: Caller, request: pb.DeleteGroupRequest) -> pb.DeleteGroupResponse:
        """Remove a group."""
        await self._book.delete(caller, groups.group_name(request.group))
        return pb.DeleteGroupResponse()

    async def ListDeadLetters(
        self, caller: Caller, request: pb.ListDeadLettersRequest
    ) -> pb.ListDeadLettersResponse:
        """List what no member could settle."""
        limit = fields.page_size(request.page_size)
        after = groups.decode_letter_id(paging.decode_page_token(caller, request) or "0-0", "page_token")
        name = groups.group_name(request.group)
        found = await self._book.dead_letters(caller, name, after, limit + 1)
        letters = [groups.encode_dead_letter(letter) for letter in found[:limit]]
        following = letters[-1].id if len(found) > limit else ""
        return pb.ListDeadLettersResponse(
            dead_letters=letters, next_page_token=paging.encode_page_token(caller, request, following)
        )

    async def RedriveDeadLetters(
        self, caller: Caller, request: pb.RedriveDeadLettersRequest
    ) -> pb.RedriveDeadLettersResponse:
        """Give dead letters another run."""
        which = groups.decode_redrive(request)
        redriven = await self._book.redrive(caller, groups.group_name(request.group), which)
        return pb.RedriveDeadLettersResponse(redriven=redriven)

    async def ListConflicts(
        self, caller: Caller, request: pb.ListConflictsRequest
    ) -> pb.ListConflictsResponse:
        """List conflicts, newest first."""
        namespace = Namespace.parse(request.namespace, caller.tenant)
        states = fields.members(request.states, ConflictState, "states")
        limit = fields.page_size(request.page_size)
        before = paging.decode_number(caller, request)
        found, next_before = await self._conflicts.list(caller, namespace, states, before, limit)
        rows, left_off = paging.cut(((each, each.create_revision) for each in found), encode_conflict)
        return pb.ListConflictsResponse(
            conflicts=rows, next_page_token=paging.encode_number(caller, request, left_off or next_before)
        )

    async def GetConflict(self, caller: Caller, request: pb.GetConflictRequest) -> pb.GetConflictResponse:
        """Read one conflict."""
        name = fields.conflict_name(request.name, caller.tenant)
        return pb.GetConflictResponse(conflict=encode_conflict(await self._conflicts.get(caller, name)))

    async def ResolveConflict(
        self, caller: Caller, request: pb.ResolveConflictRequest
    ) -> pb.ResolveConflictResponse:
        """Decide one conflict."""
        name = fields.conflict_name(request.name, caller.tenant)
        action = fields.member(request.action, ResolutionAction, "action")
        decide = Decide(
            action=action,
            memory=_chosen(request.memory, action, name),
            rationale=fields.remark(request.rationale, "rationale", _MAX_RATIONALE_CHARS),
            etag=fields.etag(request.etag),
            request_id=fields.request_id(request.request_id),
            payload=fields.payload_of(request),
        )
        resolved = await self._conflicts.resolve(caller, name, decide)
        return self._outcomes.resolved(resolved, caller.tenant)


def _subject(request: pb.PublishRequest) -> tuple[str, str] | None:
    """Return what keeps writes in order; a write that names no subject waits for none."""
    write = request.write
    return (write.namespace, write.memory.subject) if write.memory.subject else None


def _chosen(text: str, action: ResolutionAction, conflict: ResourceName) -> ResourceName | None:
    if not text:
        if action is ResolutionAction.CHOOSE:
            raise InvalidField("memory", "is required to CHOOSE")
        return None
    name = fields.memory_name(text, conflict.namespace.tenant, "memory")
    return fields.same_namespace(name, conflict.namespace, "memory")
