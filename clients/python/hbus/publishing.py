"""Pipelined writes for threads."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from queue import SimpleQueue
from typing import Protocol

import grpc

from hbus import errors
from hbus.backoff import Outage
from hbus.errors import HbusError, Unavailable
from hbus.pipeline import Pipeline, Published
from hbus.v1.bus_service_pb2 import PublishRequest, PublishResponse
from hbus.v1.memory_service_pb2 import WriteMemoryRequest


class Stream(Protocol):
    """The responses of one Publish call."""

    def __next__(self) -> PublishResponse: ...
    def cancel(self) -> object:
        """End the call."""
        ...


class Outbox(Iterator[PublishRequest]):
    """What one Publish call sends: grpc takes from it in a thread of its own."""

    def __init__(self, first: Iterable[PublishRequest]) -> None:
        self._queue: SimpleQueue[PublishRequest | None] = SimpleQueue()
        for request in first:
            self._queue.put(request)

    def put(self, request: PublishRequest) -> None:
        """Send one more."""
        self._queue.put(request)

    def close(self) -> None:
        """Send nothing more."""
        self._queue.put(None)

    def __next__(self) -> PublishRequest:
        request = self._queue.get()
        if request is None:
            raise StopIteration
        return request


def publish(
    open_stream: Callable[[Iterator[PublishRequest]], Stream],
    writes: Iterable[WriteMemoryRequest],
    pipeline: Pipeline,
    outage: Outage,
) -> Iterator[Published]:
    """Send writes and yield their outcomes; after a cut send the unanswered ones again on a new stream."""
    source = iter(writes)
    while True:
        outbox = Outbox(pipeline.restart())
        stream = open_stream(outbox)
        try:
            while _fill(outbox, source, pipeline):
                yield pipeline.answer(next(stream))
                outage.over()
            return
        except StopIteration:
            failure: HbusError = Unavailable("the server ended the stream")
        except grpc.RpcError as error:
            failure = errors.from_rpc(error)
        finally:
            outbox.close()
            stream.cancel()
        pause = outage.pause_after(failure)
        if pause is None:
            raise failure
        time.sleep(pause)


def _fill(outbox: Outbox, source: Iterator[WriteMemoryRequest], pipeline: Pipeline) -> bool:
    """Send until the window is full or the source at its end; tell whether any write is unanswered."""
    while not pipeline.is_full:
        write = next(source, None)
        if write is None:
            outbox.close()
            break
        outbox.put(pipeline.add(write))
    return not pipeline.is_empty
