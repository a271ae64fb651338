"""Whose cancellation it was."""

from __future__ import annotations

import asyncio

import grpc

from hbus import errors
from hbus.errors import HbusError, OutcomeUnknown


def decode(error: grpc.RpcError | asyncio.CancelledError) -> HbusError:
    """Decode what grpc.aio raised; raise ``error`` again where it is this very task that was cancelled.

    grpc.aio raises ``CancelledError`` also when the server, or a lost connection, ended the call with CANCELLED.
    """
    if isinstance(error, grpc.RpcError):
        return errors.from_rpc(error)
    task = asyncio.current_task()
    if task is None or task.cancelling():
        raise error
    return OutcomeUnknown("the call was cancelled from outside", code=grpc.StatusCode.CANCELLED)
