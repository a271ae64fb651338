"""A bare gRPC server to measure against: its Subscribe sends as many bytes as it is asked for, then waits.

Run it as a module; it prints its address. The request is the number of bytes of each message and the number of
messages, as text; the client cancels.
"""

from __future__ import annotations

import asyncio
from typing import Any

import grpc


async def _subscribe(request: bytes, context: grpc.aio.ServicerContext[Any, Any]) -> None:
    size, count = map(int, request.split())
    message = bytes(size)
    for _ in range(count):
        await context.write(message)
    await asyncio.Event().wait()


async def main() -> None:
    """Serve until killed."""
    server = grpc.aio.server()
    subscribe: grpc.RpcMethodHandler[bytes, bytes] = grpc.unary_stream_rpc_method_handler(_subscribe)
    handler = grpc.method_handlers_generic_handler("Control", {"Subscribe": subscribe})
    server.add_generic_rpc_handlers([handler])
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(f"127.0.0.1:{port}", flush=True)
    await server.wait_for_termination()


if __name__ == "__main__":
    asyncio.run(main())
