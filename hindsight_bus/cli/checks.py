"""What ``hbus doctor`` checks, from the client's side. Each check says what it saw and, where needed, what to do."""

from __future__ import annotations

import platform
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeVar

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

import hbus
from hbus.endpoint import Endpoint
from hbus.v1.common_pb2 import Durability
from hindsight_bus import __version__

T = TypeVar("T")
Verdict = Literal["ok", "warn", "fail"]
TIMEOUT_S = 3.0
MODEL_TIMEOUT_S = 30.0
SERVICES = ("hbus.v1.BusService", "hbus.v1.MemoryService", "hbus.v1.NamespaceService")


@dataclass(frozen=True, slots=True)
class Check:
    """One finding."""

    name: str
    verdict: Verdict
    detail: str
    advice: str = ""

    def as_dict(self) -> dict[str, object]:
        """Return it for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        line = f"{self.verdict:<4}  {self.name:<12}  {self.detail}"
        return f"{line}\n      {'':<12}  -> {self.advice}" if self.advice else line


def health_status(endpoint: Endpoint, service: str) -> str:
    """Return the status that the server gives for a service (empty = ready), or the code with which the call fails."""
    request = health_pb2.HealthCheckRequest(service=service)
    with endpoint.channel() as channel:
        try:
            check = health_pb2_grpc.HealthStub(channel).Check  # type: ignore[attr-defined] # the stubs lack it
            answer = check(request, timeout=TIMEOUT_S, metadata=endpoint.metadata)
        except grpc.RpcError as error:
            return hbus.errors.from_rpc(error).code.name
    return health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)


def examine(bus: hbus.Client) -> Iterator[Check]:
    """Yield findings one by one; nothing after the first that makes the others pointless."""
    yield _versions()
    reached = _reached(bus.endpoint)
    yield reached
    if reached.verdict == "fail":
        return
    yield _reflection(bus.endpoint)
    yield from _round_trip(bus)
    yield from _models(bus)


def _versions() -> Check:
    ours = f"hindsight-bus {__version__}, grpcio {grpc.__version__}, Python {platform.python_version()}"
    return Check("versions", "ok", ours)


def _reached(endpoint: Endpoint) -> Check:
    live, ready = health_status(endpoint, "live"), health_status(endpoint, "")
    detail = f"{endpoint.target}: live {live}, ready {ready}"
    if ready == "SERVING":
        return Check("health", "ok", detail)
    if live == "SERVING":
        return Check("health", "fail", detail, "it is starting or its store is away: see the server's log")
    return Check("health", "fail", detail, "start a server with `hbus serve`, or name it with --target")


def _reflection(endpoint: Endpoint) -> Check:
    request = reflection_pb2.ServerReflectionRequest(list_services="")
    with endpoint.channel() as channel:
        ask: Any = reflection_pb2_grpc.ServerReflectionStub(channel).ServerReflectionInfo
        try:
            answer = next(ask(iter([request]), timeout=TIMEOUT_S, metadata=endpoint.metadata))
        except grpc.RpcError as error:
            code = hbus.errors.from_rpc(error).code.name
            return Check("reflection", "warn", code, "grpcurl needs the .proto files: proto/hbus/v1")
    found = {service.name for service in answer.list_services_response.service}
    missing = sorted(set(SERVICES) - found)
    if missing:
        return Check(
            "reflection", "warn", f"without {', '.join(missing)}", "another client or server version?"
        )
    return Check("reflection", "ok", f"{len(found)} services")


def _round_trip(bus: hbus.Client) -> Iterator[Check]:
    """Write, search and forget one memory in a scratch namespace of its own."""
    namespace = f"task:doctor-{uuid.uuid4().hex[:8]}:scratch"
    text = "The doctor was here to see that a memory is written, found and forgotten."
    written, took = _timed(lambda: bus.write(namespace, text, type="episodic", source="hbus doctor"))
    yield _durability(written, took)
    found, took = _timed(lambda: bus.search(namespace, "who was the doctor here", after=written.token))
    yield _search(found.hits, took)
    yield _vectors(bus, namespace, written.token.token)
    forgotten, took = _timed(lambda: bus.forget(written.memory))
    state = hbus.label(hbus.MemoryState, forgotten.memory.state)
    yield Check("forget", "ok" if state == "forgotten" else "fail", f"{state} in {took}; left in {namespace}")


def _models(bus: hbus.Client) -> Iterator[Check]:
    """Have each language model answer something small."""
    try:
        models, took = _timed(lambda: bus.models(probe=True, timeout=MODEL_TIMEOUT_S))
    except hbus.errors.HbusError as error:
        yield Check("models", "warn", error.message, "does the server serve the role `reflection`?")
        return
    if not models:
        yield Check("models", "ok", "none configured: rules reflect", "HBUS_MODELS sets models up")
    for model in models:
        detail = f"{model.name} at {model.base_url}, held to {model.mode}"
        if model.problem:
            advice = "rules stand in until it answers: see docs/how-to/models.md"
            yield Check("model", "warn", f"{detail}: {model.problem}", advice)
        else:
            yield Check("model", "ok", f"{detail}: answered in at most {took}")


def _timed(call: Callable[[], T]) -> tuple[T, str]:
    start = time.perf_counter()
    answer = call()
    return answer, f"{(time.perf_counter() - start) * 1e3:.1f} ms"


def _durability(written: hbus.WriteMemoryResponse, took: str) -> Check:
    if written.durability == Durability.DURABILITY_FSYNCED:
        return Check("write", "ok", f"on disk in {took}")
    advice = "a power cut may lose the last second: set `appendfsync always` in the store"
    return Check("write", "warn", f"acknowledged in {took} before it is on disk", advice)


def _search(hits: object, took: str) -> Check:
    if hits:
        return Check("search", "ok", f"found by its token in {took}")
    return Check("search", "fail", f"not found in {took}", "the view lags or is broken: see the server's log")


def _vectors(bus: hbus.Client, namespace: str, token: str) -> Check:
    """Wait for the vector of what was just written."""
    profile = bus.namespace(namespace).embedding_profile
    try:
        _, took = _timed(lambda: bus.search(namespace, "the doctor", after=token, require_vectors=True))
    except hbus.errors.TryAgain as error:
        advice = "memories are found by words alone until the embedder answers: see the server's log"
        return Check("embedder", "warn", f"{profile}: {error.message}", advice)
    return Check("embedder", "ok", f"{profile}: vector there in {took}")
