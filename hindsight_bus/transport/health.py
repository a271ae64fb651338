"""grpc.health.v1: the empty name and each service say whether to send calls here; ``live`` is always SERVING."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_health.v1.health import aio

SERVICE_NAME = health_pb2.DESCRIPTOR.services_by_name["Health"].full_name
_SERVING = health_pb2.HealthCheckResponse.SERVING
_NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
_LIVE = "live"


class Health:
    """Tells load balancers and people whether this server wants calls."""

    def __init__(self, services: Sequence[str]) -> None:
        self._servicer = aio.HealthServicer()
        self._names = ("", *services)
        self._is_stopping = False

    async def register(self, server: grpc.aio.Server) -> None:
        """Serve ``grpc.health.v1``: alive, not ready yet."""
        await self._servicer.set(_LIVE, _SERVING)
        await self._set(wants_calls=False)
        health_pb2_grpc.add_HealthServicer_to_server(self._servicer, server)

    async def follow(self, is_ready: Callable[[], bool], interval_s: float = 0.5) -> None:
        """Report what ``is_ready`` says, for ever."""
        while not self._is_stopping:
            await self._set(wants_calls=is_ready())
            await asyncio.sleep(interval_s)

    async def stop(self) -> None:
        """Ask for no more calls, for good."""
        self._is_stopping = True
        await self._set(wants_calls=False)

    async def _set(self, *, wants_calls: bool) -> None:
        status = _SERVING if wants_calls else _NOT_SERVING
        for name in self._names:
            await self._servicer.set(name, status)
