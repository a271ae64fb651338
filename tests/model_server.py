"""A chat completions server on loopback that behaves as a test says, well or badly."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

Asked = dict[str, Any]
"""The body of a request."""


@dataclass(frozen=True, slots=True)
class Response:
    """What goes over the wire."""

    body: Any
    """JSON, or bytes as they are."""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    declared_bytes: int | None = None
    """Length that the headers claim, where it is another than that of the body."""


Behaviour = Callable[[Asked], Response | Awaitable[Response]]


def completion(text: str | None, finish: str = "stop", **message: Any) -> dict[str, Any]:
    """Return a chat completion of 100 tokens read and 10 written."""
    said = {"role": "assistant", "content": text} | message
    return {
        "id": "c", "object": "chat.completion", "created": 0, "model": "m",
        "choices": [{"index": 0, "finish_reason": finish, "message": said}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }  # fmt: skip


def says(value: Any) -> Behaviour:
    """Answer with a JSON value."""
    return writes(json.dumps(value, ensure_ascii=False))


def writes(text: str | None, finish: str = "stop", **message: Any) -> Behaviour:
    """Answer with a text."""
    return lambda _: Response(completion(text, finish, **message))


def answers(make: Callable[[Asked], Any]) -> Behaviour:
    """Answer with what is made of the request."""
    return lambda asked: Response(completion(json.dumps(make(asked), ensure_ascii=False)))


def fails(status: int, **headers: str) -> Behaviour:
    """Answer with an HTTP error that quotes the request, as some servers do."""
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda asked: Response({"error": {"message": json.dumps(asked)}}, status, given)


def echoes(asked: Asked) -> Response:
    """Repeat the prompt."""
    return Response(completion(asked["messages"][-1]["content"]))


def refuses_formats(*refused: str, then: Behaviour) -> Behaviour:
    """Answer HTTP 400 to a format that it does not know."""

    def behave(asked: Asked) -> Response | Awaitable[Response]:
        if asked.get("response_format", {}).get("type") in refused:
            return Response({"error": {"message": "unsupported response_format"}}, 400)
        return then(asked)

    return behave


class ModelServer:
    """Behaves by ``script``, one behaviour a request, then by the last one for ever."""

    def __init__(self, *script: Behaviour) -> None:
        self.script = list(script)
        self.asked: list[Asked] = []
        """Bodies of all requests, in order."""
        self.headers: list[dict[str, str]] = []
        self.url = ""
        self.let_go = asyncio.Event()
        """Set it to have those that hang answer."""

    async def hangs(self, asked: Asked) -> Response:
        """Answer nothing until it is let go."""
        await self.let_go.wait()
        return Response(completion("{}"))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[ModelServer]:
        """Serve on a free port."""
        listener = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1"
        async with listener:
            try:
                yield self
            finally:
                self.let_go.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lost = (asyncio.IncompleteReadError, ConnectionError)
        with contextlib.closing(writer), contextlib.suppress(*lost):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            headers = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
            asked = json.loads(await reader.readexactly(int(headers["content-length"])))
            self.asked.append(asked)
            self.headers.append(headers | {"path": head.split()[1]})
            behave = self.script.pop(0) if len(self.script) > 1 else self.script[0]
            response = behave(asked)
            await _send(writer, response if isinstance(response, Response) else await response)


async def _send(writer: asyncio.StreamWriter, response: Response) -> None:
    body = response.body if isinstance(response.body, bytes) else json.dumps(response.body).encode()
    length = len(body) if response.declared_bytes is None else response.declared_bytes
    headers = {
        "content-type": "application/json", "connection": "close", "content-length": str(length),
    } | response.headers  # fmt: skip
    lines = [f"HTTP/1.1 {response.status} X", *(f"{name}: {value}" for name, value in headers.items())]
    writer.write("\r\n".join([*lines, "", ""]).encode() + body)
    await writer.drain()
