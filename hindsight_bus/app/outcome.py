"""Answers to mutations, and the receipts that make them repeatable."""

from __future__ import annotations

from hindsight_bus.app.plan import CommitPlan
from hindsight_bus.app.records import RecordReader
from hindsight_bus.domain.errors import RequestIdReused
from hindsight_bus.domain.memory import Decision, Memory
from hindsight_bus.domain.names import Namespace
from hindsight_bus.domain.position import Positions
from hindsight_bus.domain.records import Conflict, Receipt
from hindsight_bus.domain.values import Value
from hindsight_bus.ports import Ref, Stored

RECEIPT_TTL_MS = 24 * 3600 * 1000


class Outcome(Value):
    """What became of a mutation."""

    decision: Decision
    memory: Memory | None
    conflict: Stored[Conflict] | None
    reason: str
    positions: Positions


class Receipts:
    """The answers to request ids: for ever with a memory that the request made, else for 24 hours."""

    def __init__(self, reader: RecordReader) -> None:
        self._reader = reader

    @staticmethod
    def ref(namespace: Namespace, principal: str, request_id: str) -> Ref:
        """Return the reference of a receipt."""
        return Ref(Receipt, (namespace.id, principal, request_id))

    @classmethod
    def add(cls, plan: CommitPlan, receipt: Receipt, *, for_ever: bool = False) -> None:
        """Have the plan leave a receipt; it fails if there is one by then."""
        ref = cls.ref(receipt.namespace, receipt.principal, receipt.request_id)
        plan.expect(ref, 0)
        plan.put(ref, receipt, 0 if for_ever else RECEIPT_TTL_MS)

    async def find(self, namespace: Namespace, principal: str, request_id: str) -> Stored[Receipt] | None:
        """Return the receipt of a request id, if there is one."""
        if not request_id:
            return None
        partition = self._reader.partition(namespace)
        return await self._reader.one(partition, Receipt, namespace.id, principal, request_id)

    async def replay(self, receipt: Stored[Receipt], payload: str) -> Outcome:
        """Return the first answer again, with memory and conflict as they stand now.

        Raises:
            RequestIdReused: the request was another one.
        """
        record = receipt.record
        if record.payload != payload:
            raise RequestIdReused(record.request_id)
        namespace = record.namespace
        ends = await self._reader.store.ends(self._reader.partition(namespace))
        known = await self._reader.namespace(namespace)
        profile = known.record.profile if known is not None else ""
        memory = await self._reader.memory(namespace, record.memory_id, profile) if record.memory_id else None
        conflict = await self._reader.conflict(namespace, record.conflict_id) if record.conflict_id else None
        return Outcome(
            Decision(record.decision),
            memory.memory if memory is not None else None,
            conflict,
            record.reason,
            Positions([ends.newest]),
        )
