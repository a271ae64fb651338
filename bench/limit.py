"""A gRPC server without a product: the same library, loop and options, and nothing behind it.

Its messages are those of the product, parsed and serialised by generated code as any servicer would.

    python -m bench.limit
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import uvloop

from bench.framed import read_frames
from hbus.v1.bus_service_pb2 import SubscribeResponse
from hbus.v1.memory_service_pb2 import SearchMemoriesRequest, WriteMemoryRequest
from hindsight_bus.server import OPTIONS

SERVICE = "bench.Limit"
Context = grpc.aio.ServicerContext[Any, Any]


class Limit:
    """Echoes, replays recorded messages, and passes messages on to all who listen."""

    def __init__(self) -> None:
        self._listeners: set[asyncio.Queue[SubscribeResponse]] = set()

    async def echo(self, request: Any, context: Context) -> Any:
        """Return the request."""
        return request

    async def replay(self, path: bytes, context: Context) -> AsyncIterator[bytes]:
        """Send the messages of a file as fast as they are taken, serialised already."""
        for frame in read_frames(Path(path.decode())):
            yield frame

    async def listen(self, request: bytes, context: Context) -> AsyncIterator[SubscribeResponse]:
        """Send an empty message, then whatever anybody sends."""
        inbox: asyncio.Queue[SubscribeResponse] = asyncio.Queue()
        self._listeners.add(inbox)
        try:
            yield SubscribeResponse()
            while True:
                yield await inbox.get()
        finally:
            self._listeners.discard(inbox)

    async def send(self, message: SubscribeResponse, context: Context) -> bytes:
        """Pass a message on."""
        for inbox in self._listeners:
            inbox.put_nowait(message)
        return b""

    def handlers(self) -> grpc.GenericRpcHandler:
        """Return the methods by name."""
        return grpc.method_handlers_generic_handler(
            SERVICE,
            {
                "EchoWrite": _echo(self.echo, WriteMemoryRequest),
                "EchoSearch": _echo(self.echo, SearchMemoriesRequest),
                "Replay": grpc.unary_stream_rpc_method_handler(self.replay),
                "Listen": grpc.unary_stream_rpc_method_handler(
                    self.listen, response_serializer=SubscribeResponse.SerializeToString
                ),
                "Send": grpc.unary_unary_rpc_method_handler(
                    self.send, request_deserializer=SubscribeResponse.FromString
                ),
            },
        )


def _echo(echo: Any, message: Any) -> grpc.RpcMethodHandler[Any, Any]:
    return grpc.unary_unary_rpc_method_handler(
        echo, request_deserializer=message.FromString, response_serializer=message.SerializeToString
    )


async def _serve() -> None:
    server = grpc.aio.server(options=OPTIONS)
    server.add_generic_rpc_handlers([Limit().handlers()])
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(json.dumps({"address": f"127.0.0.1:{port}"}), flush=True)
    await server.wait_for_termination()


if __name__ == "__main__":
    uvloop.run(_serve())
