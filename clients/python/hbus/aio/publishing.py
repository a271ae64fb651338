"""Pipelined writes for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable
from contextlib import aclosing
from typing import TypeAlias

import grpc

from hbus.aio.cancellation import decode
from hbus.backoff import Outage
from hbus.errors import HbusError, Unavailable
from hbus.pipeline import Pipeline, Published
from hbus.requests import identified
from hbus.v1.bus_service_pb2 import PublishRequest, PublishResponse
from hbus.v1.memory_service_pb2 import WriteMemoryRequest

Stream: TypeAlias = "grpc.aio.StreamStreamCall[PublishRequest, PublishResponse]"
Writes: TypeAlias = Iterable[WriteMemoryRequest] | AsyncIterable[WriteMemoryRequest]
Inbox: TypeAlias = "asyncio.Queue[WriteMemoryRequest | None]"
"""The next write; None = there are no more."""


async def publish(
    open_stream: Callable[[], Stream], writes: Writes, pipeline: Pipeline, outage: Outage
) -> AsyncGenerator[Published, None]:
    """Send writes and yield their outcomes; after a cut send the unanswered ones again on a new stream."""
    inbox: Inbox = asyncio.Queue(maxsize=1)
    # A task of its own pulls, so that a cut never cancels what the source waits for.
    pulling = asyncio.create_task(_pull(writes, inbox))
    try:
        while True:
            try:
                async with aclosing(_answers(open_stream(), inbox, pipeline)) as answers:
                    async for published in answers:
                        outage.over()
                        yield published
                await pulling
                return
            except Unavailable as error:
                failure: HbusError = error
            except (grpc.RpcError, asyncio.CancelledError) as error:
                failure = decode(error)
            pause = outage.pause_after(failure)
            if pause is None:
                raise failure
            await asyncio.sleep(pause)
    finally:
        pulling.cancel()


async def _pull(writes: Writes, inbox: Inbox) -> None:
    try:
        if isinstance(writes, AsyncIterable):
            async for write in writes:
                await inbox.put(identified(write))
        else:
            for write in writes:
                await inbox.put(identified(write))
    finally:
        await inbox.put(None)


async def _answers(stream: Stream, inbox: Inbox, pipeline: Pipeline) -> AsyncGenerator[Published, None]:
    """Yield the outcomes that one stream brings; raise ``Unavailable`` where it ends before the last."""
    room = asyncio.Event()
    sending = asyncio.create_task(_send(stream, inbox, pipeline, room))
    try:
        while isinstance(response := await stream.read(), PublishResponse):
            yield pipeline.answer(response)
            room.set()
        if not (sending.done() and pipeline.is_empty):
            raise Unavailable("the server ended the stream")
    finally:
        sending.cancel()
        stream.cancel()
        await asyncio.gather(sending, return_exceptions=True)


async def _send(stream: Stream, inbox: Inbox, pipeline: Pipeline, room: asyncio.Event) -> None:
    for request in pipeline.restart():
        await stream.write(request)
    while True:
        while pipeline.is_full:
            room.clear()
            await room.wait()
        write = await inbox.get()
        if write is None:
            inbox.put_nowait(None)  # for the next stream, should this one be cut
            break
        await stream.write(pipeline.add(write))
    await stream.done_writing()
