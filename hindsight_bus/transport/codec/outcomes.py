"""Answers to mutations."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hbus.v1 import bus_service_pb2
from hbus.v1 import memory_service_pb2 as pb
from hbus.v1.common_pb2 import DURABILITY_DELAYED, DURABILITY_FSYNCED, Durability
from hindsight_bus.app.conflicts import Resolved
from hindsight_bus.app.outcome import Outcome
from hindsight_bus.app.usage import UsageOutcome
from hindsight_bus.domain.errors import HbusError
from hindsight_bus.domain.position import Positions
from hindsight_bus.transport.codec import fields
from hindsight_bus.transport.codec.conflicts import encode_conflict
from hindsight_bus.transport.codec.memories import encode_memory, fill_memory
from hindsight_bus.transport.codec.queries import encode_token
from hindsight_bus.transport.errors import failure_of


class Outcomes:
    """Encodes outcomes; every one says how durable it is."""

    def __init__(self, is_fsynced: Callable[[], bool]) -> None:
        self._is_fsynced = is_fsynced

    @property
    def durability(self) -> Durability:
        """How durable what is acknowledged is at present."""
        return DURABILITY_FSYNCED if self._is_fsynced() else DURABILITY_DELAYED

    def written(self, outcome: Outcome, tenant: str) -> pb.WriteMemoryResponse:
        """Return the answer to a write."""
        response = pb.WriteMemoryResponse(
            decision=fields.number(outcome.decision),
            conflict=encode_conflict(outcome.conflict) if outcome.conflict else None,
            reason=outcome.reason,
            durability=self.durability,
        )
        response.token.token = outcome.positions.encode(tenant)
        if outcome.memory:
            fill_memory(response.memory, outcome.memory)
        return response

    def updated(self, outcome: Outcome, tenant: str) -> pb.UpdateMemoryResponse:
        """Return the answer to an update."""
        return pb.UpdateMemoryResponse(
            decision=fields.number(outcome.decision),
            memory=encode_memory(outcome.memory) if outcome.memory else None,
            conflict=encode_conflict(outcome.conflict) if outcome.conflict else None,
            reason=outcome.reason,
            token=encode_token(outcome.positions, tenant),
            durability=self.durability,
        )

    def forgotten(self, outcome: Outcome, tenant: str) -> pb.ForgetMemoryResponse:
        """Return the answer to a forgetting."""
        return pb.ForgetMemoryResponse(
            memory=encode_memory(outcome.memory) if outcome.memory else None,
            token=encode_token(outcome.positions, tenant),
            durability=self.durability,
        )

    def restored(self, outcome: Outcome, tenant: str) -> pb.RestoreMemoryResponse:
        """Return the answer to a restoration."""
        return pb.RestoreMemoryResponse(
            memory=encode_memory(outcome.memory) if outcome.memory else None,
            conflict=encode_conflict(outcome.conflict) if outcome.conflict else None,
            token=encode_token(outcome.positions, tenant),
            durability=self.durability,
        )

    def used(self, outcome: UsageOutcome, tenant: str) -> pb.RecordUsageResponse:
        """Return the answer to a report of use."""
        return pb.RecordUsageResponse(
            used=map(str, outcome.used),
            utilisation=len(outcome.used) / outcome.retrieved if outcome.retrieved else 0.0,
            token=encode_token(outcome.positions, tenant),
            durability=self.durability,
        )

    def resolved(self, resolved: Resolved, tenant: str) -> bus_service_pb2.ResolveConflictResponse:
        """Return the answer to a decision."""
        return bus_service_pb2.ResolveConflictResponse(
            conflict=encode_conflict(resolved.conflict),
            memories=map(encode_memory, resolved.memories),
            token=encode_token(resolved.positions, tenant),
            durability=self.durability,
        )

    def result(self, outcome: Outcome | HbusError, tenant: str) -> pb.WriteResult:
        """Return the answer to one item of a batch or of a pipelined stream."""
        if isinstance(outcome, HbusError):
            return pb.WriteResult(error=failure_of(outcome).item_error())
        return pb.WriteResult(response=self.written(outcome, tenant))

    def batch(self, outcomes: Sequence[Outcome | HbusError], tenant: str) -> pb.BatchWriteMemoriesResponse:
        """Return the answer to a batch."""
        positions = Positions()
        for outcome in outcomes:
            if isinstance(outcome, Outcome):
                positions = positions.merged(outcome.positions)
        return pb.BatchWriteMemoriesResponse(
            results=[self.result(outcome, tenant) for outcome in outcomes],
            token=encode_token(positions, tenant),
        )
