"""Changing memories that are there: update, forget, restore, expire."""

from __future__ import annotations

from typing import Any

from hindsight_bus.app.caller import Caller
from hindsight_bus.app.commit import Committer
from hindsight_bus.app.draft import WriteDraft
from hindsight_bus.app.lifecycle import Lifecycle
from hindsight_bus.app.outcome import Outcome
from hindsight_bus.app.policies import PolicyBook
from hindsight_bus.app.records import RecordReader
from hindsight_bus.app.revise import MemoryChange, Reviser
from hindsight_bus.app.target import ChangeRequest, Targets
from hindsight_bus.app.write import Writer
from hindsight_bus.domain.errors import NotFound, WrongState
from hindsight_bus.domain.memory import (
    MemoryState,
    Version,
)
from hindsight_bus.domain.names import Namespace, ResourceName
from hindsight_bus.domain.values import replace


class Changer:
    """Changes memories."""

    def __init__(
        self, reader: RecordReader, committer: Committer, policies: PolicyBook, writer: Writer
    ) -> None:
        self._targets = Targets(reader, committer)
        self._reviser = Reviser(self._targets, policies)
        self._lifecycle = Lifecycle(self._targets, policies, self._reviser)
        self._writer = writer

    async def update(self, caller: Caller, name: ResourceName, change: MemoryChange) -> Outcome:
        """Make a new version, or, where others claim the memory too, write what the caller says instead."""
        request = ChangeRequest(caller.require_agent(), name, change.etag, change.request_id, change.payload)
        if "confidence" in change.fields and change.fields["confidence"] is not None:
            stated = min(change.fields["confidence"], caller.ceiling)
            change = replace(change, fields={**change.fields, "confidence": stated})
        caller.require_channel(change.channel)
        outcome = await self._targets.run(
            request, lambda target, plan: self._reviser.update(request, change, target, plan)
        )
        if outcome is not None:
            return outcome
        target = await self._targets.find(request)
        return await self._writer.write(caller, _draft_of(target.memory.version, change))

    async def forget(
        self, caller: Caller, name: ResourceName, *, etag: str = "", request_id: str = "", payload: str = ""
    ) -> Outcome:
        """Forget a memory with all its claims; what it had overridden returns by the rules."""
        request = ChangeRequest(caller.require_agent(), name, etag, request_id, payload)
        outcome = await self._targets.run(
            request, lambda target, plan: self._lifecycle.leave(request, target, plan, MemoryState.FORGOTTEN)
        )
        assert outcome is not None
        return outcome

    async def restore(
        self,
        caller: Caller,
        name: ResourceName,
        *,
        version: int = 0,
        etag: str = "",
        request_id: str = "",
        payload: str = "",
    ) -> Outcome:
        """Bring a memory back, or an earlier version of it.

        Raises:
            WrongState: it is there already, or every speaker has said otherwise since.
        """
        request = ChangeRequest(caller.require_agent(), name, etag, request_id, payload)
        outcome = await self._targets.run(
            request, lambda target, plan: self._lifecycle.restore(request, target, plan, version)
        )
        assert outcome is not None
        return outcome

    async def expire(self, namespace: Namespace, memory_id: str, now_ms: int) -> None:
        """End a memory whose time is over; one that has been given more time, or is gone, is left alone."""
        request = ChangeRequest("", ResourceName(namespace, "memories", memory_id), "", "", "")
        try:
            await self._targets.run(
                request, lambda target, plan: self._lifecycle.expire(request, target, plan, now_ms)
            )
        except (NotFound, WrongState):
            return


def _draft_of(version: Version, change: MemoryChange) -> WriteDraft:
    """Return what the caller would have written instead of updating somebody else's memory."""
    subject = "" if version.subject_derived else version.subject
    kept: dict[str, Any] = {
        name: getattr(version, name)
        for name in (
            "text", "value", "cardinality", "aliases", "tags", "attributes",
            "about", "language", "attachments", "importance", "explicit", "pinned",
            "conversation", "task",
        )
    }  # fmt: skip
    if "text" in change.fields and "value" not in change.fields:
        kept["value"] = ""
    return WriteDraft(
        namespace=version.namespace,
        type=version.type,
        **{**kept, "subject": subject, "confidence": None, **change.fields},
        request_id=change.request_id,
        channel=change.channel,
        source=change.source,
        payload=change.payload,
    )
