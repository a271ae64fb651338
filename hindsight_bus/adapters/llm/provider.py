"""One provider, asked through OpenAI's client library, which is loaded by the first call."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import isfinite
from typing import TYPE_CHECKING, Any

from hindsight_bus.adapters.llm.breaker import Breaker
from hindsight_bus.adapters.llm.config import Mode, ModelProvider
from hindsight_bus.adapters.llm.schemas import sent
from hindsight_bus.domain.fencing import visible
from hindsight_bus.domain.tokens import estimated_tokens

if TYPE_CHECKING:
    from ssl import SSLContext

    from httpx2 import Request
    from openai import APIStatusError, AsyncOpenAI
    from openai.types.chat import ChatCompletion

Message = dict[str, str]

IN_FLIGHT = 8
"""Calls to one provider at once."""
_WRONG_FORMAT = frozenset({400, 415, 422, 501})
_FOR_GOOD = frozenset({401, 402, 403, 404})
_OF_OPENAI_ALONE = ("openai-organization", "openai-project")
"""Headers that the library takes from the environment and sends to whoever is asked."""


class ProviderFailed(Exception):
    """A provider gave nothing; ``kind`` says why in a few words, never with content."""

    def __init__(
        self, kind: str, *, retry_after_s: float = 0.0, for_good: bool = False, wrong_format: bool = False
    ) -> None:
        super().__init__(kind)
        self.kind = kind
        self.retry_after_s = retry_after_s
        self.for_good = for_good
        self.wrong_format = wrong_format


class ForeignHost(Exception):
    """A request was about to go elsewhere than to the configured base URL."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model wrote and what that took."""

    text: str
    input_tokens: int
    output_tokens: int


class Provider:
    """A provider, its connections and its health."""

    def __init__(self, config: ModelProvider) -> None:
        self.config = config
        self.breaker = Breaker()
        self.mode: Mode = config.answers
        """What it is held to: less than configured once it has refused that."""
        self.problem = ""
        """Why its last call failed; empty if it did not."""
        self._slots = asyncio.Semaphore(IN_FLIGHT)
        self._opening = asyncio.Lock()
        self._client: AsyncOpenAI | None = None

    async def ask(
        self,
        messages: Sequence[Message],
        mode: Mode,
        name: str,
        schema: Mapping[str, Any],
        max_tokens: int,
        timeout_s: float,
    ) -> Reply:
        """Ask once; raise ``ProviderFailed``.

        ``timeout_s`` bounds all of it, the configured time-out the call itself, however slowly its bytes arrive.
        """
        try:
            async with asyncio.timeout(timeout_s), self._slots:
                client = await self.open()
                async with asyncio.timeout(self.config.timeout_seconds):
                    completion = await client.chat.completions.create(
                        model=self.config.model,
                        messages=list(messages),  # type: ignore[arg-type] # plain dictionaries serve
                        max_completion_tokens=max_tokens,
                        extra_body=_format(mode, name, schema) | self.config.parameters,
                    )
        except TimeoutError:
            raise ProviderFailed("timed out") from None
        except Exception as error:
            raise _failure(error) from error
        return _reply(completion, messages)

    async def close(self) -> None:
        """Close connections."""
        if self._client is not None:
            await self._client.close()

    async def open(self) -> AsyncOpenAI:
        """Return its client, loading the library by the first call."""
        async with self._opening:
            if self._client is None:
                self._client = await asyncio.to_thread(self._open)
            return self._client

    def _open(self) -> AsyncOpenAI:
        import openai

        http = openai.DefaultAsyncHttpxClient(
            follow_redirects=False,
            timeout=self.config.timeout_seconds,
            verify=_tls(),
            event_hooks={"request": [self._guard]},
        )
        return openai.AsyncOpenAI(
            base_url=self.config.base_url,
            api_key=self.config.key or "none",  # the library wants one
            max_retries=0,
            http_client=http,
        )

    async def _guard(self, request: Request) -> None:
        """Let a request go to the configured base URL alone, and with nothing that belongs to another server."""
        if not str(request.url).startswith(f"{self.config.base_url}/"):
            raise ForeignHost(request.url.host)
        for header in _OF_OPENAI_ALONE:
            request.headers.pop(header, None)


@cache
def _tls() -> SSLContext:
    """Return the trust in servers' certificates that all clients share: reading it takes 70 ms."""
    import httpx2

    return httpx2.create_ssl_context()


def _format(mode: Mode, name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a request that holds the answer to a format."""
    if mode == "text":
        return {}
    held: dict[str, Any] = {"type": mode}
    if mode == "json_schema":
        held[mode] = {"name": name, "strict": True, "schema": sent(schema)}
    return {"response_format": held}


def _reply(completion: ChatCompletion, messages: Sequence[Message]) -> Reply:
    try:
        message = completion.choices[0].message
        text, refusal, usage = message.content, message.refusal, completion.usage
    except (AttributeError, IndexError, TypeError):  # the library takes any JSON for a completion
        raise ProviderFailed("the answer is not a chat completion") from None
    if refusal or (not text and completion.choices[0].finish_reason == "content_filter"):
        raise ProviderFailed("the model refused to answer")
    text = visible(text) if isinstance(text, str) else ""
    asked = sum(estimated_tokens(each["content"]) for each in messages)
    return Reply(
        text,
        _count(usage, "prompt_tokens", asked),
        _count(usage, "completion_tokens", estimated_tokens(text)),
    )


def _count(usage: object, name: str, otherwise: int) -> int:
    given = getattr(usage, name, None)
    return given if isinstance(given, int) and given >= 0 else otherwise


def _failure(error: Exception) -> ProviderFailed:
    """Say what an exception of the library means; what nobody foresaw is a failed call all the same."""
    import openai

    if isinstance(error, openai.APIStatusError):
        return _status_failure(error)
    if isinstance(error, openai.APITimeoutError):
        return ProviderFailed("timed out")
    if isinstance(error, openai.APIConnectionError):
        return ProviderFailed(f"unreachable ({type(error.__cause__).__name__})")
    return ProviderFailed(f"failed ({type(error).__name__})")


def _status_failure(error: APIStatusError) -> ProviderFailed:
    status = error.status_code
    kind = {401: "refused the key", 403: "refused the key", 404: "knows no such model", 429: "is too busy"}
    return ProviderFailed(
        f"{kind.get(status, 'failed')} (HTTP {status})",
        retry_after_s=_retry_after_s(error) if status in (429, 503) else 0.0,
        for_good=status in _FOR_GOOD,
        wrong_format=status in _WRONG_FORMAT,
    )


def _retry_after_s(error: APIStatusError) -> float:
    """Return how long the server wants to be left alone, in seconds; a date counts as not said."""
    try:
        seconds = float(error.response.headers.get("retry-after", ""))
    except ValueError:
        return 0.0
    return seconds if isfinite(seconds) and seconds > 0 else 0.0
