"""The server process: build the application, serve it, stop without losing what was accepted."""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator
from importlib.util import find_spec
from typing import Any, TextIO, TypeVar

import grpc
import structlog
from google.protobuf.descriptor import ServiceDescriptor
from prometheus_client import CollectorRegistry
from pydantic import ValidationError

from hbus.v1 import (
    bus_service_pb2,
    memory_service_pb2,
    namespace_service_pb2,
    reflection_service_pb2,
)
from hindsight_bus import logs, settings
from hindsight_bus.adapters.valkey.probe import UnfitStore
from hindsight_bus.domain.errors import StoreUnavailable
from hindsight_bus.metrics import Metrics, MetricsPage
from hindsight_bus.settings import Settings
from hindsight_bus.transport import health, reflection
from hindsight_bus.transport.auth import OpenAccess, UnsafeListen, require_safe_listen
from hindsight_bus.transport.boundary import Boundary
from hindsight_bus.transport.bus_service import BusServicer
from hindsight_bus.transport.codec.outcomes import Outcomes
from hindsight_bus.transport.memory_service import MemoryServicer
from hindsight_bus.transport.namespace_service import NamespaceServicer
from hindsight_bus.transport.reflection_service import ReflectionServicer
from hindsight_bus.transport.streams import OpenStreams
from hindsight_bus.wiring import App, build

T = TypeVar("T")

_MAX_MESSAGE_BYTES = 16 * 1024 * 1024
_COLLECTOR = (50_000, 20, 10)
"""Thresholds of the garbage collector: views hold many objects and no cycles, and Python's own ones walk them often."""
_LAST_WORDS_S = 0.5
"""Seconds for the last statuses to reach their clients."""

# Idle streams outlive clients that ping every second, and dead peers are noticed within 40 s.
OPTIONS = (
    ("grpc.max_receive_message_length", _MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", _MAX_MESSAGE_BYTES),
    ("grpc.so_reuseport", 0),
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.http2.min_ping_interval_without_data_ms", 500),
)


class CannotListen(OSError):
    """The address is taken or not ours."""

    def __init__(self, address: str) -> None:
        super().__init__(f"cannot listen on {address}: it is in use, or not an address of this machine")


class Server:
    """The application behind gRPC on one port."""

    def __init__(self, app: App, config: Settings, log: structlog.typing.FilteringBoundLogger) -> None:
        self._app = app
        self._config = config
        self._log = log
        self._metrics = Metrics(CollectorRegistry())
        app.usage.listeners.append(self._metrics.used)
        app.retention.listeners.append(self._metrics.dead_letters)
        app.models.listeners.append(self._metrics.asked)
        self._page: MetricsPage | None = None
        self._streams = OpenStreams(config.max_agent_streams, config.max_streams)
        self._boundary = Boundary(OpenAccess(), self._streams, self._metrics, log, config.max_call_seconds)
        self._grpc = grpc.aio.server(options=OPTIONS)
        self._services = self._servicers()
        self._health = health.Health([each.full_name for each in self._services])
        self._watch: asyncio.Task[None] | None = None

    async def start(self) -> str:
        """Begin to serve; return ``HOST:PORT``. Raises ``CannotListen``."""
        for descriptor, servicer in self._services.items():
            self._grpc.add_generic_rpc_handlers([self._boundary.service(descriptor, servicer)])
        await self._health.register(self._grpc)
        reflection.register(self._grpc, [health.SERVICE_NAME, *(each.full_name for each in self._services)])
        address = self._bind()
        await self._grpc.start()
        self._watch = asyncio.create_task(self._health.follow(lambda: self._app.node.is_ready))
        if self._config.metrics_port:
            self._page = MetricsPage(self._metrics.registry, _host(address), self._config.metrics_port)
        return address

    async def stop(self, force: asyncio.Event | None = None) -> None:
        """Refuse new calls, end streams, let open calls finish within the grace period or until ``force``."""
        await self._health.stop()
        self._streams.drain()
        stopping = asyncio.create_task(self._grpc.stop(self._config.grace_seconds))
        ends = [asyncio.create_task(self._boundary.wait_idle()), stopping]
        if force is not None:
            ends.append(asyncio.create_task(_wait(force)))
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        await self._grpc.stop(_LAST_WORDS_S)
        for end in (*ends, self._watch):
            if end is not None:
                end.cancel()
        if self._page is not None:
            await asyncio.to_thread(self._page.close)

    def _bind(self) -> str:
        listen = self._config.listen
        try:
            port = self._grpc.add_insecure_port(listen)
        except RuntimeError:
            raise CannotListen(listen) from None
        return listen if listen.startswith("unix:") else f"{_host(listen)}:{port}"

    def _servicers(self) -> dict[ServiceDescriptor, object]:
        app, config = self._app, self._config
        outcomes = Outcomes(lambda: app.log.is_fsynced)
        servicers: dict[ServiceDescriptor, object] = {}
        if "memory" in config.roles:
            servicers[_service(memory_service_pb2)] = MemoryServicer(
                app.writer,
                app.changer,
                app.reader,
                app.searcher,
                app.contexts,
                app.usage,
                app.extractor,
                outcomes,
            )
            servicers[_service(namespace_service_pb2)] = NamespaceServicer(app.namespaces)
        if "bus" in config.roles:
            servicers[_service(bus_service_pb2)] = BusServicer(
                app.writer,
                app.watcher,
                app.consumers,
                app.groups,
                app.conflicts,
                outcomes,
                config.publish_in_flight,
            )
        if "reflection" in config.roles:
            servicers[_service(reflection_service_pb2)] = ReflectionServicer(
                app.tasks,
                app.reflections,
                app.skills,
                app.skill_search,
                app.promoter,
                app.reviews,
                app.models,
                outcomes,
            )
        return servicers


class Stop:
    """Signals: the first asks to stop, the second not to wait for anybody."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.forced = asyncio.Event()

    def listen(self) -> None:
        """Take SIGTERM and SIGINT."""
        loop = asyncio.get_running_loop()
        for each in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(each, self._note)

    async def cancels(self, work: Coroutine[Any, Any, T]) -> T:
        """Await ``work``, which the first signal cancels."""
        task = asyncio.create_task(work)
        watch = asyncio.create_task(self.asked.wait())
        watch.add_done_callback(lambda _: task.cancel())
        try:
            return await task
        finally:
            watch.cancel()

    def _note(self) -> None:
        (self.forced if self.asked.is_set() else self.asked).set()


async def serve(
    config: Settings, log: structlog.typing.FilteringBoundLogger, on_ready: Callable[[str], None]
) -> None:
    """Serve until a signal asks to stop; ``on_ready`` gets the address."""
    require_safe_listen(config.listen, insecure=config.insecure)
    stop = Stop()
    stop.listen()
    app = await stop.cancels(build(config))
    try:
        server = Server(app, config, log)
        address = await server.start()
        gc.freeze()
        log.info("serving", address=address, roles=config.roles)
        on_ready(address)
        await stop.asked.wait()
        log.info("stopping", grace_seconds=config.grace_seconds)
        await server.stop(stop.forced)
    finally:
        await app.close()


def run(*, welcome: bool = False, **given: Any) -> int:
    """Serve with the environment's settings and the ``given`` ones; return the exit code of the process.

    ``welcome`` shows on a terminal what to try next.
    """
    gc.set_threshold(*_COLLECTOR)
    try:
        config = settings.load(**given)
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            log = logs.configure(config.log_level)
            runner.run(serve(config, log, _greet if welcome else _say_nothing))
    except asyncio.CancelledError:  # a signal came before it was ready
        return 0
    except ValidationError as error:
        print(*_problems(error), sep="\n", file=sys.stderr)
        return 2
    except (settings.UnknownSetting, UnsafeListen, CannotListen, UnfitStore, StoreUnavailable) as error:
        print(f"hbus: {error}", file=sys.stderr)
        return 2
    return 0


def _problems(error: ValidationError) -> Iterator[str]:
    for each in error.errors():
        yield f"hbus: {settings.PREFIX}{'.'.join(map(str, each['loc'])).upper()}: {each['msg']}"


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    if find_spec("uvloop") is None:
        return None
    import uvloop

    return uvloop.new_event_loop


def _greet(address: str, out: TextIO = sys.stderr) -> None:
    if out.isatty():
        out.write(_WELCOME.format(address=address))


def _say_nothing(address: str) -> None:
    """Leave the log line alone."""


_WELCOME = """
Hindsight Bus listens on {address}. In another terminal, try:

  hbus demo --target {address}
  grpcurl -plaintext {address} list
  grpcurl -plaintext -H 'hbus-agent: support' -d '{{"namespace":"user:zhangsan:facts","memory":{{
    "type":"MEMORY_TYPE_SEMANTIC","text":"用户偏好用表格展示对比数据","subject":"preference.presentation"}}}}' \\
    {address} hbus.v1.MemoryService/WriteMemory
  grpcurl -plaintext -d '{{"namespaces":["user:zhangsan:facts"],"query":"对比数据该怎么展示?"}}' \\
    {address} hbus.v1.MemoryService/SearchMemories

Ctrl-C stops it.

"""


def _service(module: Any) -> ServiceDescriptor:
    [descriptor] = module.DESCRIPTOR.services_by_name.values()
    return descriptor  # type: ignore[no-any-return]


def _host(address: str) -> str:
    return address.rpartition(":")[0]


async def _wait(event: asyncio.Event) -> None:
    await event.wait()
