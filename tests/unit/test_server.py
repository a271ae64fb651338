"""The server around the services: health, server reflection, metrics, and how it stops."""

from __future__ import annotations

import asyncio
import shutil
import socket
import urllib.request
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

import grpc
import pytest
import structlog
from google.protobuf import descriptor_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2

from hbus.v1 import bus_service_pb2, bus_service_pb2_grpc, memory_service_pb2, memory_service_pb2_grpc
from hindsight_bus.app import watch
from hindsight_bus.app.search import SearchAnswer
from hindsight_bus.domain.position import Positions
from hindsight_bus.server import CannotListen, Server, Stop, serve
from hindsight_bus.settings import Settings
from hindsight_bus.transport.auth import UnsafeListen
from tests.unit.transport_rig import NotingApp

MEMORY = ["hbus.v1.MemoryService", "hbus.v1.NamespaceService"]
BUS = ["hbus.v1.BusService"]
TASKS = ["hbus.v1.ReflectionService"]
SERVICES = [*MEMORY, *BUS, *TASKS]
REFLECTION = ["grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"]
SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


class Running:
    """A server on a free port over an application that takes notes, and a channel to it."""

    def __init__(self, **settings: Any) -> None:
        self.use_cases = NotingApp()
        self.node = SimpleNamespace(is_ready=True)
        names = (
            "writer",
            "changer",
            "reader",
            "searcher",
            "contexts",
            "usage",
            "watcher",
            "consumers",
            "groups",
            "retention",
            "conflicts",
            "namespaces",
            "tasks",
            "reflections",
            "extractor",
            "skills",
            "skill_search",
            "promoter",
            "models",
            "reviews",
        )
        app = SimpleNamespace(
            **dict.fromkeys(names, self.use_cases), node=self.node, log=SimpleNamespace(is_fsynced=True)
        )
        given: dict[str, Any] = {"listen": "127.0.0.1:0", "grace_seconds": 5.0} | settings
        self.server = Server(cast(Any, app), Settings(**given), _quiet())
        self.address = ""

    async def __aenter__(self) -> Running:
        self.address = await self.server.start()
        self.channel = grpc.aio.insecure_channel(self.address)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.channel.close()
        await self.server.stop()

    async def health(self, name: str) -> int:
        """Return what the health service says of a name."""
        stub: Any = health_pb2_grpc.HealthStub(self.channel)
        return (await stub.Check(health_pb2.HealthCheckRequest(service=name))).status  # type: ignore[no-any-return]

    async def until_health(self, name: str, status: int) -> None:
        """Wait until the health service says so."""
        stub: Any = health_pb2_grpc.HealthStub(self.channel)
        async for answer in stub.Watch(health_pb2.HealthCheckRequest(service=name)):
            if answer.status == status:
                return


def _quiet() -> Any:
    return structlog.wrap_logger(None, processors=[_drop])


def _drop(*_: object) -> Any:
    raise structlog.DropEvent


@pytest.fixture
async def running() -> AsyncIterator[Running]:
    async with Running() as server:
        yield server


async def test_health_follows_the_node(running: Running) -> None:
    """Ready and each service follow the node; live is always SERVING; unknown names are NOT_FOUND."""
    for name in ("", *SERVICES):
        await running.until_health(name, SERVING)
    running.node.is_ready = False
    for name in ("", *SERVICES):
        await running.until_health(name, NOT_SERVING)
    assert await running.health("live") == SERVING
    with pytest.raises(grpc.aio.AioRpcError):
        await running.health("kitchen")


@pytest.mark.parametrize("service", REFLECTION)
async def test_server_reflection_lists_and_describes(running: Running, service: str) -> None:
    """Under either name clients find every service and can describe each one."""
    ask = running.channel.stream_stream(
        f"/{service}/ServerReflectionInfo",
        reflection_pb2.ServerReflectionRequest.SerializeToString,
        reflection_pb2.ServerReflectionResponse.FromString,
    )
    expected = sorted([*SERVICES, *REFLECTION, "grpc.health.v1.Health"])
    requests = [reflection_pb2.ServerReflectionRequest(list_services="")]
    requests += [reflection_pb2.ServerReflectionRequest(file_containing_symbol=name) for name in expected]
    answers = [answer async for answer in ask(iter(requests))]
    assert [each.name for each in answers[0].list_services_response.service] == expected
    for name, answer in zip(expected, answers[1:], strict=True):
        files = map(
            descriptor_pb2.FileDescriptorProto.FromString,
            answer.file_descriptor_response.file_descriptor_proto,
        )
        assert name in [f"{file.package}.{service.name}" for file in files for service in file.service]


@pytest.mark.skipif(shutil.which("grpcurl") is None, reason="grpcurl is not on PATH")
async def test_grpcurl_lists_and_describes(running: Running) -> None:
    """The command line of many users knows the services without any proto file."""
    listed = await _grpcurl(running.address, "list")
    assert listed.split() == sorted([*SERVICES, *REFLECTION, "grpc.health.v1.Health"])
    described = await _grpcurl(running.address, "describe")
    assert (
        "rpc WriteMemory ( .hbus.v1.WriteMemoryRequest ) returns ( .hbus.v1.WriteMemoryResponse );"
        in described
    )


async def _grpcurl(*arguments: str) -> str:
    process = await asyncio.create_subprocess_exec(
        "grpcurl", "-plaintext", *arguments, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    assert process.returncode == 0
    return out.decode()


@pytest.mark.parametrize(
    ("role", "served", "left_out"),
    [("memory", MEMORY, BUS + TASKS), ("bus", BUS, MEMORY + TASKS), ("reflection", TASKS, MEMORY + BUS)],
)
async def test_a_role_serves_its_services_alone(role: str, served: list[str], left_out: list[str]) -> None:
    """A server with one role has that role's services and no others."""
    async with Running(roles=(role,)) as running:
        for name in served:
            await running.until_health(name, SERVING)
        for name in left_out:
            with pytest.raises(grpc.aio.AioRpcError):
                await running.health(name)


async def test_metrics_are_on_their_own_page() -> None:
    """The page of metrics counts calls by method, code and reason."""
    port = _free_port()
    async with Running(metrics_port=port) as running:
        stub: Any = memory_service_pb2_grpc.MemoryServiceStub(running.channel)
        with pytest.raises(grpc.aio.AioRpcError):
            await stub.GetMemory(memory_service_pb2.GetMemoryRequest(name="x"))
        url = f"http://127.0.0.1:{port}/metrics"
        page = await asyncio.to_thread(_fetch, url)
        line = 'hbus_calls_total{code="INVALID_ARGUMENT",method="MemoryService/GetMemory",reason="INVALID_FIELD"} 1.0'
        assert line in page.splitlines()


def _fetch(url: str) -> str:
    with urllib.request.urlopen(url, timeout=10) as response:
        return str(response.read().decode())


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def test_stopping_ends_streams_and_finishes_calls() -> None:
    """On a stop, streams end as DRAINING, open calls are answered, and neither waits for the grace period."""
    async with Running(grace_seconds=60.0) as running:
        release, begun = asyncio.Event(), asyncio.Event()

        async def slowly(*_: object) -> Any:
            begun.set()
            await release.wait()
            return SearchAnswer([], Positions())

        running.use_cases.answers["search"] = slowly
        running.use_cases.answers["subscribe"] = _silence()
        watching: Any = health_pb2_grpc.HealthStub(running.channel)
        watcher = watching.Watch(health_pb2.HealthCheckRequest())
        await watcher.read()
        memory: Any = memory_service_pb2_grpc.MemoryServiceStub(running.channel)
        bus: Any = bus_service_pb2_grpc.BusServiceStub(running.channel)
        stream = bus.Subscribe(bus_service_pb2.SubscribeRequest(namespaces=["user:*:facts"]))
        assert (await stream.read()).HasField("confirmed")
        search = asyncio.ensure_future(
            memory.SearchMemories(memory_service_pb2.SearchMemoriesRequest(for_user="a", query="x"))
        )
        await begun.wait()
        stopping = asyncio.create_task(running.server.stop())
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stream.read()
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        assert not stopping.done()
        release.set()
        assert (await search).hits == []
        async with asyncio.timeout(10):
            await stopping


async def test_force_does_not_wait() -> None:
    """Told to hurry, the server leaves a hanging call behind."""
    async with Running(grace_seconds=60.0) as running:
        begun, force = asyncio.Event(), asyncio.Event()

        async def hang(*_: object) -> Any:
            begun.set()
            await asyncio.Event().wait()

        running.use_cases.answers["search"] = hang
        memory: Any = memory_service_pb2_grpc.MemoryServiceStub(running.channel)
        search = asyncio.ensure_future(
            memory.SearchMemories(memory_service_pb2.SearchMemoriesRequest(for_user="a", query="x"))
        )
        await begun.wait()
        force.set()
        async with asyncio.timeout(10):
            await running.server.stop(force)
        with pytest.raises(grpc.aio.AioRpcError):
            await search


def _silence() -> Any:
    async def messages() -> AsyncIterator[Any]:
        yield watch.Confirmed(Positions(), 1)
        await asyncio.Event().wait()

    return messages()


async def test_a_taken_address_says_so(running: Running) -> None:
    """A second server on the same address fails to start with a plain message."""
    second = Running(listen=running.address)
    with pytest.raises(CannotListen, match=running.address):
        await second.server.start()


async def test_the_network_is_refused_before_anything_starts() -> None:
    """Without credentials a server does not listen to other machines, and says so before it opens its store."""
    with pytest.raises(UnsafeListen):
        await serve(Settings(listen="0.0.0.0:0"), _quiet(), lambda address: None)


async def test_a_signal_ends_a_start_that_hangs() -> None:
    """Asked to stop while it still waits for its store, a server gives up waiting and undoes what it has begun."""
    stop, begun, undone = Stop(), asyncio.Event(), asyncio.Event()

    async def start() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            undone.set()

    starting = asyncio.create_task(stop.cancels(start()))
    await begun.wait()
    stop.asked.set()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert undone.is_set()


async def test_a_start_that_succeeds_is_left_alone() -> None:
    """A signal after the start does not undo it."""
    stop = Stop()

    async def start() -> str:
        return "started"

    assert await stop.cancels(start()) == "started"


@pytest.mark.long
async def test_an_idle_stream_outlives_pings(running: Running) -> None:
    """A client that pings every second does not lose an idle stream (gRPC's default cuts it after three)."""
    running.use_cases.answers["subscribe"] = _silence()
    options = [
        ("grpc.keepalive_time_ms", 1000),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.max_pings_without_data", 0),
        ("grpc.use_local_subchannel_pool", 1),
    ]
    async with grpc.aio.insecure_channel(running.address, options=options) as channel:
        bus: Any = bus_service_pb2_grpc.BusServiceStub(channel)
        stream = bus.Subscribe(bus_service_pb2.SubscribeRequest(namespaces=["user:*:facts"]))
        await stream.read()
        ended, _ = await asyncio.wait({asyncio.ensure_future(stream.read())}, timeout=12)
        assert not ended
        stream.cancel()
