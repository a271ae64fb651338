"""The boundary over real sockets, with a service that has all four shapes of call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from urllib.parse import quote

import grpc
import pytest
import structlog
from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.wrappers_pb2 import StringValue
from google.rpc import error_details_pb2
from google.rpc.status_pb2 import Status
from grpc_status import rpc_status
from structlog.testing import LogCapture

from hindsight_bus.app.caller import Caller
from hindsight_bus.app.deadline import deadline
from hindsight_bus.domain.errors import InvalidField, QuotaExceeded, StoreUnavailable
from hindsight_bus.transport.auth import OpenAccess
from hindsight_bus.transport.boundary import Boundary
from hindsight_bus.transport.streams import OpenStreams

SHAPES = ["Once", "Pour", "Gather", "Talk"]
SECRET = "the user's secret"


def probe_service() -> ServiceDescriptor:
    """A service with one method a shape, all of texts."""
    file = descriptor_pb2.FileDescriptorProto(
        name="probe.proto", package="probe", syntax="proto3", dependency=["google/protobuf/wrappers.proto"]
    )
    service = file.service.add(name="Probe")
    for name, client, server in [
        ("Once", False, False),
        ("Pour", False, True),
        ("Gather", True, False),
        ("Talk", True, True),
    ]:
        service.method.add(
            name=name,
            input_type=".google.protobuf.StringValue",
            output_type=".google.protobuf.StringValue",
            client_streaming=client,
            server_streaming=server,
        )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(descriptor_pb2.FileDescriptorProto.FromString(StringValue.DESCRIPTOR.file.serialized_pb))
    pool.Add(file)
    return pool.FindServiceByName("probe.Probe")


class Probe:
    """A servicer that does what each test tells it to."""

    def __init__(self) -> None:
        self.act: Callable[[Caller], Awaitable[None]] = self._nothing
        self.started = asyncio.Event()
        self.closed = asyncio.Event()
        self.callers: list[Caller] = []

    async def _nothing(self, caller: Caller) -> None:
        pass

    async def _run(self, caller: Caller) -> None:
        self.callers.append(caller)
        self.started.set()
        try:
            await self.act(caller)
        finally:
            self.closed.set()

    async def Once(self, caller: Caller, request: StringValue) -> StringValue:
        await self._run(caller)
        return request

    async def Pour(self, caller: Caller, request: StringValue) -> AsyncIterator[StringValue]:
        yield request
        await self._run(caller)
        yield request

    async def Gather(self, caller: Caller, requests: AsyncIterator[StringValue]) -> StringValue:
        texts = [request.value async for request in requests]
        await self._run(caller)
        return StringValue(value="+".join(texts))

    async def Talk(self, caller: Caller, requests: AsyncIterator[StringValue]) -> AsyncIterator[StringValue]:
        async for request in requests:
            yield request
        await self._run(caller)


class RecordedCalls:
    """Metrics that a test can read."""

    def __init__(self) -> None:
        self.open = 0
        self.ended: list[tuple[str, str, str]] = []

    def opened(self, method: str) -> None:
        self.open += 1

    def finished(self, method: str, code: str, reason: str, seconds: float) -> None:
        self.open -= 1
        self.ended.append((method, code, reason))


class Rig:
    """A server with the probe on it, and a client."""

    def __init__(self, max_call_s: float = 60.0, per_agent: int = 10, total: int = 20) -> None:
        self.probe = Probe()
        self.metrics = RecordedCalls()
        self.logged = LogCapture()
        self.streams = OpenStreams(per_agent, total)
        log = structlog.wrap_logger(None, processors=[self.logged], cache_logger_on_first_use=False)
        self.boundary = Boundary(OpenAccess(), self.streams, self.metrics, log, max_call_s)
        self._server = grpc.aio.server()
        self._server.add_generic_rpc_handlers([self.boundary.service(probe_service(), self.probe)])
        port = self._server.add_insecure_port("127.0.0.1:0")
        self.channel = grpc.aio.insecure_channel(f"127.0.0.1:{port}")

    async def __aenter__(self) -> Rig:
        await self._server.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.channel.close()
        await self._server.stop(None)

    def call(self, shape: str, *texts: str, raw: bytes | None = None, **kwargs: Any) -> Any:
        """Start a call of a shape."""
        messages = [StringValue(value=text).SerializeToString() for text in texts or ("hello",)]
        if raw is not None:
            messages = [raw]
        make = {
            "Once": self.channel.unary_unary,
            "Pour": self.channel.unary_stream,
            "Gather": self.channel.stream_unary,
            "Talk": self.channel.stream_stream,
        }[shape]
        stub: Any = make(f"/probe.Probe/{shape}", None, StringValue.FromString)
        return stub(messages[0] if shape in ("Once", "Pour") else iter(messages), **kwargs)

    async def answers(self, shape: str, *texts: str, **kwargs: Any) -> list[str]:
        """Make a call of a shape and return the texts that came back."""
        call = self.call(shape, *texts, **kwargs)
        if shape in ("Once", "Gather"):
            return [(await call).value]
        return [message.value async for message in call]

    async def failure(self, shape: str, **kwargs: Any) -> tuple[grpc.StatusCode, Status]:
        """Make a call that fails and return code and details."""
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await self.answers(shape, **kwargs)
        status = rpc_status.from_call(caught.value)  # type: ignore[arg-type]
        assert status is not None
        return caught.value.code(), status

    def lines(self, event: str) -> list[Any]:
        """Return the log lines of one kind."""
        return [entry for entry in self.logged.entries if entry["event"] == event]


def details(status: Status, kind: type[Any]) -> list[Any]:
    """Return the details of one type."""
    found = []
    for each in status.details:
        message = kind()
        if each.Unpack(message):
            found.append(message)
    return found


async def fail_with(error: Exception, _: Caller) -> None:
    raise error


@pytest.mark.parametrize(
    ("shape", "answers"),
    [("Once", ["a"]), ("Pour", ["a", "a"]), ("Gather", ["a+b"]), ("Talk", ["a", "b"])],
)
async def test_each_shape_answers_and_writes_one_line(shape: str, answers: list[str]) -> None:
    """A call of any shape is answered, counted, and logged with its sizes but without its content."""
    async with Rig() as rig:
        texts = ["a", "b"] if shape in ("Gather", "Talk") else ["a"]
        assert await rig.answers(shape, *texts, metadata=[("hbus-agent", "support")]) == answers
        await rig.boundary.wait_idle()
        [line] = rig.lines("call")
        assert line["method"] == f"Probe/{shape}"
        assert (line["code"], line["agent"]) == ("OK", "support")
        assert (line["received"], line["sent"]) == (len(texts), len(answers))
        assert line["received_bytes"] == 3 * len(texts)
        assert rig.metrics.ended == [(f"Probe/{shape}", "OK", "")]
        assert rig.metrics.open == 0
        assert len(rig.lines("stream opened")) == (shape != "Once")


@pytest.mark.parametrize("shape", SHAPES)
async def test_domain_error_becomes_a_rich_status(shape: str) -> None:
    """A domain error, in a generator too, arrives as its status with reason, metadata and field."""
    async with Rig() as rig:
        rig.probe.act = lambda caller: fail_with(InvalidField("memory.confidence", "must be 0 to 1"), caller)
        code, status = await rig.failure(shape)
        assert code is grpc.StatusCode.INVALID_ARGUMENT
        [info] = details(status, error_details_pb2.ErrorInfo)
        assert (info.domain, info.reason) == ("hbus", "INVALID_FIELD")
        [bad] = details(status, error_details_pb2.BadRequest)
        assert [(v.field, v.description) for v in bad.field_violations] == [
            ("memory.confidence", "must be 0 to 1")
        ]
        assert rig.metrics.ended == [(f"Probe/{shape}", "INVALID_ARGUMENT", "INVALID_FIELD")]


@pytest.mark.parametrize("shape", SHAPES)
async def test_unknown_error_tells_the_client_an_incident_only(shape: str) -> None:
    """Of an unexpected exception the client gets an incident id; the log has type and place, and nobody its text."""
    async with Rig() as rig:
        rig.probe.act = lambda caller: fail_with(KeyError(SECRET), caller)
        code, status = await rig.failure(shape)
        assert code is grpc.StatusCode.INTERNAL
        [info] = details(status, error_details_pb2.ErrorInfo)
        [incident] = rig.lines("incident")
        assert info.reason == "INTERNAL"
        assert incident["incident"] == info.metadata["incident"]
        assert incident["error"] == "KeyError"
        assert "fail_with" in incident["stack"]
        assert SECRET not in str(status) + str(rig.logged.entries)


async def test_memory_error_fails_the_call_only() -> None:
    """A call that runs out of memory fails as a defect; the next one is served."""
    async with Rig() as rig:
        rig.probe.act = lambda caller: fail_with(MemoryError(), caller)
        code, _ = await rig.failure("Once")
        assert code is grpc.StatusCode.INTERNAL
        rig.probe.act = rig.probe._nothing
        assert await rig.answers("Once", "still here") == ["still here"]


async def test_quota_says_when_to_come_back() -> None:
    """A used-up quota carries RetryInfo."""
    async with Rig() as rig:
        rig.probe.act = lambda caller: fail_with(QuotaExceeded(50, 90_500), caller)
        code, status = await rig.failure("Once")
        assert code is grpc.StatusCode.RESOURCE_EXHAUSTED
        [retry] = details(status, error_details_pb2.RetryInfo)
        assert retry.retry_delay.ToMilliseconds() == 90_500


async def test_long_texts_fit_into_trailers() -> None:
    """However long an error's texts are, the status arrives."""
    async with Rig() as rig:
        rig.probe.act = lambda caller: fail_with(StoreUnavailable("层" * 100_000), caller)
        code, status = await rig.failure("Once")
        assert code is grpc.StatusCode.UNAVAILABLE
        assert len(status.message) <= 300


@pytest.mark.parametrize("shape", SHAPES)
async def test_broken_message_names_the_request(shape: str) -> None:
    """Bytes that are no message are the client's fault."""
    async with Rig() as rig:
        code, status = await rig.failure(shape, raw=b"\x0a\xff")
        assert code is grpc.StatusCode.INVALID_ARGUMENT
        [bad] = details(status, error_details_pb2.BadRequest)
        assert bad.field_violations[0].field == "request"
        assert not rig.probe.callers


@pytest.mark.parametrize("shape", SHAPES)
async def test_agent_comes_from_the_metadata(shape: str) -> None:
    """The agent's name is metadata; a name that is no legal name part is refused before anything happens."""
    async with Rig() as rig:
        await rig.answers(shape, metadata=[("hbus-agent", "support")])
        assert [caller.agent for caller in rig.probe.callers] == ["support"]
        code, status = await rig.failure(shape, metadata=[("hbus-agent", "a:b")])
        assert code is grpc.StatusCode.INVALID_ARGUMENT
        [bad] = details(status, error_details_pb2.BadRequest)
        assert bad.field_violations[0].field == "hbus-agent"
        assert len(rig.probe.callers) == 1


@pytest.mark.parametrize("name", ["客服", "a@b.c", "数据-分析_2"])
async def test_agents_may_have_names_in_any_script(name: str) -> None:
    """A name that metadata cannot hold as it is comes percent-encoded."""
    async with Rig() as rig:
        await rig.answers("Once", metadata=[("hbus-agent", quote(name))])
        assert [caller.agent for caller in rig.probe.callers] == [name]


@pytest.mark.parametrize("shape", SHAPES)
async def test_client_cancel_reaches_the_handler(shape: str) -> None:
    """When the client goes away the handler is cancelled, its generator closed, and the call logged as CANCELLED."""
    async with Rig() as rig:
        never = asyncio.Event()

        async def wait(_: Caller) -> None:
            await never.wait()

        rig.probe.act = wait
        call = rig.call(shape)
        reading = asyncio.ensure_future(_drain(call, shape))
        await rig.probe.started.wait()
        call.cancel()
        await rig.probe.closed.wait()
        await rig.boundary.wait_idle()
        assert rig.metrics.ended == [(f"Probe/{shape}", "CANCELLED", "")]
        assert len(rig.streams) == 0
        with pytest.raises(asyncio.CancelledError):
            await reading


async def _drain(call: Any, shape: str) -> None:
    if shape in ("Once", "Gather"):
        await call
    else:
        async for _ in call:
            pass


async def test_server_maximum_ends_a_call_without_deadline() -> None:
    """A unary call whose client waits for ever is ended by the server's maximum, with a reason."""
    async with Rig(max_call_s=0.05) as rig:
        rig.probe.act = lambda _: asyncio.Event().wait()  # type: ignore[return-value,assignment]
        code, status = await rig.failure("Once")
        assert code is grpc.StatusCode.DEADLINE_EXCEEDED
        [info] = details(status, error_details_pb2.ErrorInfo)
        assert info.reason == "DEADLINE"
        assert rig.probe.closed.is_set()


async def test_client_deadline_is_passed_on() -> None:
    """Below the boundary the caller's own deadline is known, and never lies beyond the server's maximum."""
    seen: list[float] = []

    async def look(_: Caller) -> None:
        until = deadline.get()
        assert until is not None
        seen.append(until - asyncio.get_running_loop().time())

    async with Rig(max_call_s=30.0) as rig:
        rig.probe.act = look
        await rig.answers("Once", timeout=5)
        await rig.answers("Once", timeout=1000)
        await rig.answers("Once")
        assert 4 < seen[0] <= 5.1
        assert 29 < seen[1] <= 30.1
        assert 29 < seen[2] <= 30.1


async def test_a_timeout_of_something_below_is_no_deadline() -> None:
    """A TimeoutError that is not the call's own is a defect."""
    async with Rig() as rig:
        rig.probe.act = lambda caller: fail_with(TimeoutError(), caller)
        code, _ = await rig.failure("Once")
        assert code is grpc.StatusCode.INTERNAL


@pytest.mark.parametrize(("per_agent", "total"), [(1, 10), (10, 1)])
async def test_streams_are_limited(per_agent: int, total: int) -> None:
    """One stream too many, of the agent or of all, is refused; its place is free when another ends."""
    async with Rig(per_agent=per_agent, total=total) as rig:
        never = asyncio.Event()
        rig.probe.act = lambda _: never.wait()  # type: ignore[return-value,assignment]
        first = rig.call("Pour")
        await first.read()
        await rig.probe.started.wait()
        code, status = await rig.failure("Pour")
        assert code is grpc.StatusCode.RESOURCE_EXHAUSTED
        [info] = details(status, error_details_pb2.ErrorInfo)
        assert (info.reason, dict(info.metadata)) == ("TOO_MANY_STREAMS", {"limit": "1"})
        never.set()
        assert (await first.read()).value == "hello"
        assert await first.read() is grpc.aio.EOF
        assert await rig.answers("Pour", "again") == ["again", "again"]


async def test_drain_ends_streams_with_a_reason() -> None:
    """Draining cuts off a waiting server stream and refuses new streams."""
    async with Rig() as rig:
        rig.probe.act = lambda _: asyncio.Event().wait()  # type: ignore[return-value,assignment]
        call = rig.call("Pour")
        await call.read()
        await rig.probe.started.wait()
        rig.streams.drain()
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call.read()
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        assert rig.probe.closed.is_set()
        code, status = await rig.failure("Talk")
        assert code is grpc.StatusCode.UNAVAILABLE
        [info] = details(status, error_details_pb2.ErrorInfo)
        assert info.reason == "DRAINING"


async def test_drain_cuts_off_a_stream_whose_client_reads_nothing() -> None:
    """A subscriber that stopped reading cannot keep the server from stopping."""
    async with Rig() as rig:
        big = StringValue(value="x" * 1_000_000)

        async def pour(caller: Caller, request: StringValue) -> AsyncIterator[StringValue]:
            rig.probe.started.set()
            while True:
                yield big

        rig.probe.Pour = pour  # type: ignore[method-assign]
        server = grpc.aio.server()
        server.add_generic_rpc_handlers([rig.boundary.service(probe_service(), rig.probe)])
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            stub: Any = channel.unary_stream("/probe.Probe/Pour")
            call = stub(b"")
            await rig.probe.started.wait()
            rig.streams.drain()
            await rig.boundary.wait_idle()
            call.cancel()
        await server.stop(None)
        assert rig.metrics.ended == [("Probe/Pour", "UNAVAILABLE", "DRAINING")]
