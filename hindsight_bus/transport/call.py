"""One call under way: who makes it, how much went through, and how it ends."""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, cast

import grpc
import structlog
from google.protobuf.descriptor import Descriptor, MethodDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

from hindsight_bus.app.deadline import deadline
from hindsight_bus.domain.errors import DeadlineExpired, InvalidField
from hindsight_bus.transport.auth import NOBODY
from hindsight_bus.transport.errors import Failure, failure_of

Context = grpc.aio.ServicerContext[Any, Any]

_LOGGED = ("namespace", "namespaces", "name", "pattern", "task", "skill", "request_id")
_MAX_LOGGED_CHARS = 200


class CallMetrics(Protocol):
    """Counts calls."""

    def opened(self, method: str) -> None:
        """Note that a call began."""
        ...

    def finished(self, method: str, code: str, reason: str, seconds: float) -> None:
        """Note how a call ended and how long it took."""
        ...


@dataclass(frozen=True, slots=True)
class Method:
    """What the boundary knows of a method before any call."""

    name: str
    """``Service/Method``."""
    request: type[Message]
    logged: tuple[str, ...]
    """Request fields that name what the call is about; never content."""
    has_memory: bool
    """The response carries a memory, whose name and revision are logged."""

    @classmethod
    def of(cls, method: MethodDescriptor) -> Method:
        """Return what there is to know of ``method``."""
        return cls(
            name=f"{method.containing_service.name}/{method.name}",
            request=GetMessageClass(method.input_type),
            logged=tuple(name for name in _LOGGED if name in method.input_type.fields_by_name),
            has_memory=_holds_one_memory(method.output_type),
        )


def _holds_one_memory(message: Descriptor) -> bool:
    field = message.fields_by_name.get("memory")
    return field is not None and field.message_type is not None and field.message_type.name == "Memory"


class Call:
    """One call, as the context manager that its handling runs in.

    Leaving it turns an exception into a status: domain errors by their reason, everything else into INTERNAL with an
    incident id. Cancellation passes.
    """

    __slots__ = (
        "_context",
        "_limit",
        "_log",
        "_metrics",
        "_on_end",
        "_started",
        "caller",
        "facts",
        "method",
        "received",
        "received_bytes",
        "sent",
        "sent_bytes",
    )

    def __init__(
        self,
        method: Method,
        context: Context,
        metrics: CallMetrics,
        log: structlog.typing.FilteringBoundLogger,
        on_end: Callable[[Call], None],
    ) -> None:
        self.method = method
        self.caller = NOBODY
        self.facts: dict[str, object] = {}
        self.received = self.received_bytes = self.sent = self.sent_bytes = 0
        self._context = context
        self._limit: asyncio.Timeout | None = None
        self._metrics = metrics
        self._log = log
        self._on_end = on_end
        self._started = time.perf_counter()

    def decode(self, data: bytes) -> Any:
        """Parse one message of the client."""
        self.received += 1
        self.received_bytes += len(data)
        try:
            request = self.method.request.FromString(data)
        except DecodeError:
            raise InvalidField("request", "is not a valid message of its type") from None
        if self.received == 1:
            self.facts.update((name, _loggable(getattr(request, name))) for name in self.method.logged)
        return request

    def encode(self, response: Message | bytes) -> bytes:
        """Serialise one message for the client, where it is not yet."""
        data = response if isinstance(response, bytes) else response.SerializeToString()
        self.sent += 1
        self.sent_bytes += len(data)
        if self.method.has_memory:
            self._note_memory(response)
        return data

    def _note_memory(self, response: Any) -> None:
        if response.HasField("memory"):
            self.facts["memory"] = response.memory.name
            self.facts["revision"] = response.memory.revision

    def limit(self, max_s: float) -> asyncio.Timeout:
        """Return a bound by the client's deadline and by ``max_s``; what it ends, ends as ``DeadlineExpired``."""
        remaining = cast("float | None", self._context.time_remaining())  # the stubs forget None
        until = asyncio.get_running_loop().time() + (max_s if remaining is None else min(remaining, max_s))
        deadline.set(until)
        self._limit = asyncio.timeout_at(until)
        return self._limit

    def log_opened(self) -> None:
        """Tell the log that a stream began."""
        self._log.info("stream opened", method=self.method.name, agent=self.caller.agent, **self.facts)

    async def __aenter__(self) -> Call:
        self._metrics.opened(self.method.name)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._on_end(self)
        if error is None:
            self._finish("OK")
        elif isinstance(error, Exception):
            failure = failure_of(DeadlineExpired() if self._is_late(error) else error)
            if failure.incident:
                self._log_incident(failure, error)
            self._finish(failure.code.name, failure.reason)
            await self._context.abort(failure.code, failure.message, failure.trailers())
        else:
            self._finish("CANCELLED")

    def _is_late(self, error: Exception) -> bool:
        """Tell whether it was the call's own limit that timed out, and not something below."""
        return isinstance(error, TimeoutError) and self._limit is not None and self._limit.expired()

    def _finish(self, code: str, reason: str = "") -> None:
        seconds = time.perf_counter() - self._started
        self._metrics.finished(self.method.name, code, reason, seconds)
        self._log.info(
            "call",
            method=self.method.name,
            code=code,
            reason=reason,
            agent=self.caller.agent,
            **self.facts,
            duration_ms=round(seconds * 1000, 3),
            received=self.received,
            received_bytes=self.received_bytes,
            sent=self.sent,
            sent_bytes=self.sent_bytes,
        )

    def _log_incident(self, failure: Failure, error: Exception) -> None:
        """Log where an unknown exception came from; its text may hold content, so that stays out."""
        self._log.error(
            "incident",
            incident=failure.incident,
            method=self.method.name,
            error=type(error).__qualname__,
            stack="".join(traceback.format_tb(error.__traceback__)),
        )


def _loggable(value: Any) -> str | list[str]:
    if isinstance(value, str):
        return value[:_MAX_LOGGED_CHARS]
    return [each[:_MAX_LOGGED_CHARS] for each in value[:3]]
