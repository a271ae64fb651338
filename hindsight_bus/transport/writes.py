"""Writes that succeed or fail each on its own."""

from __future__ import annotations

from collections.abc import Iterable

from hbus.v1.memory_service_pb2 import WriteMemoryRequest
from hindsight_bus.app.caller import Caller
from hindsight_bus.app.draft import WriteDraft
from hindsight_bus.app.outcome import Outcome
from hindsight_bus.app.write import Writer
from hindsight_bus.domain.errors import HbusError
from hindsight_bus.transport.codec.memories import decode_write


async def write_each(
    writer: Writer, caller: Caller, requests: Iterable[WriteMemoryRequest]
) -> list[Outcome | HbusError]:
    """Return what became of each write, in their order; malformed ones are not passed on."""
    decoded = [_decoded(request, caller.tenant) for request in requests]
    outcomes = iter(
        await writer.write_many(caller, [each for each in decoded if isinstance(each, WriteDraft)])
    )
    return [next(outcomes) if isinstance(each, WriteDraft) else each for each in decoded]


def _decoded(request: WriteMemoryRequest, tenant: str) -> WriteDraft | HbusError:
    try:
        return decode_write(request, tenant)
    except HbusError as error:
        return error
