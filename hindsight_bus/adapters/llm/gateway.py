"""The gateway to language models: whoever answers by schema, in order of preference, or nobody, and it says so.

At most three tries within one deadline, each with the provider that may be asked soonest; an answer that does not fit
is repaired once, and asked for again once with what is wrong with it. What was answered before is answered from the
cache. Nothing that a provider does raises.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING

import structlog

from hindsight_bus.adapters.llm.config import LOOSER_THAN, Mode, ModelProvider
from hindsight_bus.adapters.llm.provider import Message, Provider, ProviderFailed, Reply
from hindsight_bus.adapters.llm.schemas import NotAnAnswer, parsed, validator_of
from hindsight_bus.domain.errors import HbusError
from hindsight_bus.domain.fencing import visible
from hindsight_bus.domain.names import Namespace, digest
from hindsight_bus.ports import JsonObject, ModelAnswer, ModelLedger, ModelRequest, ModelStatus, ModelUsage

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

log = structlog.get_logger(__name__)

MAX_TRIES = 3
BACKOFF_S = 0.5
"""Before the same provider is tried again, where it asked for no other pause."""
_MAX_QUOTED_CHARS = 4_000
"""Of an answer that did not fit, in the second question."""
_PROBE_TIMEOUT_S = 20.0
_SCHEMAS = 64

UNFIT = "its answer does not fit the schema"
_PROBE = 'Answer with {"ok": true}.'
_PROBE_SCHEMA = {
    "type": "object",
    "properties": {"ok": {"type": "boolean"}},
    "required": ["ok"],
    "additionalProperties": False,
}
_NOBODY = Namespace("default", "agent", "hbus", "probe")

_BY_SCHEMA = "Answer with one JSON object that satisfies this JSON Schema, and with nothing else:\n"
_AGAIN = "That does not fit: {}. Answer again with the whole corrected JSON object, and with nothing else."


@dataclass(frozen=True, slots=True)
class CallReport:
    """One call to a provider, for metrics."""

    provider: str
    purpose: str
    outcome: str
    """``ok``, ``unfit`` or ``failed``."""
    seconds: float
    usage: ModelUsage


@dataclass(frozen=True, slots=True)
class AnswerReport:
    """One question, for metrics."""

    purpose: str
    outcome: str
    """``fresh``, ``cached`` or ``default``."""


Report = CallReport | AnswerReport


@dataclass(slots=True)
class _Question:
    """A question while it is being asked: what is left of it, what it took and what went wrong."""

    request: ModelRequest
    validator: Validator
    until: float
    """``monotonic`` time at which it is over."""
    usage: ModelUsage = field(default_factory=ModelUsage)
    problems: list[str] = field(default_factory=list)
    may_ask_again: bool = True
    again_after_s: dict[Provider, float] = field(default_factory=dict)
    """After what pause whoever was tried may be tried again; -1 = not at all."""

    @property
    def left_s(self) -> float:
        return self.until - monotonic()

    def failed(self, provider: Provider, what: str) -> None:
        self.problems.append(f"{provider.config.name}: {what}")


class Gateway:
    """``LanguageModel`` over providers in order of preference; without any it has no answers."""

    def __init__(
        self, providers: Sequence[ModelProvider], ledger: ModelLedger, backoff_s: float = BACKOFF_S
    ) -> None:
        self.listeners: list[Callable[[Report], None]] = []
        self._providers = [Provider(config) for config in providers]
        self._ledger = ledger
        self._backoff_s = backoff_s
        self._validators: dict[str, Validator] = {}

    @property
    def names(self) -> Sequence[str]:
        """``<provider>/<model>``, preferred first."""
        return [provider.config.full_name for provider in self._providers]

    async def answer(self, request: ModelRequest) -> ModelAnswer:
        """Ask; see the port."""
        if not self._providers:
            return ModelAnswer(None, problems=("no model is configured",))
        validator = await self._validator(request.schema)
        key = self._key(request)
        answer = await self._recall(request, key, validator)
        if answer is None:
            answer = await self._ask(_Question(request, validator, monotonic() + request.timeout_s))
            await self._note(request, key, answer)
        self._tell(AnswerReport(request.purpose, _outcome(answer)))
        return answer

    async def statuses(self, *, probe: bool) -> list[ModelStatus]:
        """Return how each provider is; ``probe`` asks each one something small, which costs a few tokens."""
        if probe:
            await asyncio.gather(*(self._probe(provider) for provider in self._providers))
        return [_status(provider) for provider in self._providers]

    async def warm_up(self) -> None:
        """Load the client library, about a second off the event loop; nobody is asked."""
        await asyncio.gather(*(provider.open() for provider in self._providers))

    async def spent(self, namespace: Namespace) -> ModelUsage:
        """Return what questions for a namespace have taken so far; raise ``StoreUnavailable``."""
        return await self._ledger.spent(namespace)

    async def close(self) -> None:
        """Close connections."""
        await asyncio.gather(*(provider.close() for provider in self._providers))

    # -- asking

    async def _ask(self, question: _Question) -> ModelAnswer:
        for _ in range(MAX_TRIES):
            provider = await self._next(question)
            if provider is None:
                break
            value = await self._try(question, provider)
            if value is not None:
                return ModelAnswer(
                    value, provider.config.full_name, question.usage, problems=tuple(question.problems)
                )
        return ModelAnswer(None, usage=question.usage, problems=tuple(question.problems))

    async def _next(self, question: _Question) -> Provider | None:
        """Return whom to try next: one that was not tried, else one that may be tried again, after its pause."""
        now, tried = monotonic(), question.again_after_s
        fresh = [each for each in self._providers if each not in tried]
        for provider in fresh:
            if not provider.breaker.wait(now):
                return provider
        # Only a pause that the server asked for is waited for; one that is broken is left alone.
        again = [each for each, pause in tried.items() if each.breaker.wait(now) <= pause]
        if not again:
            for provider in () if tried else fresh:
                question.failed(provider, provider.problem or "is left alone for a while")
            return None
        best = min(again, key=tried.__getitem__)
        if tried[best] >= question.left_s / 2:
            return None
        await asyncio.sleep(tried[best])
        return best

    async def _try(self, question: _Question, provider: Provider) -> JsonObject | None:
        """Return what a provider answers; None where that came to nothing, which the question then tells.

        A provider that refuses the format is held to less, and stays so if it answers then.
        """
        for mode in LOOSER_THAN[provider.mode]:
            try:
                value = await self._answered(question, provider, mode)
            except ProviderFailed as failure:
                question.failed(provider, failure.kind)
                pause = max(failure.retry_after_s, self._backoff_s)
                question.again_after_s[provider] = -1 if failure.for_good or failure.wrong_format else pause
                if not failure.wrong_format:
                    return None
            except NotAnAnswer:
                question.failed(provider, UNFIT)
                question.again_after_s[provider] = self._backoff_s
                return None
            else:
                provider.mode = mode
                return value
        return None

    async def _answered(self, question: _Question, provider: Provider, mode: Mode) -> JsonObject:
        """Ask once, and once more where the answer does not fit and nobody was asked twice yet."""
        messages = _messages(question.request, by_words=mode != "json_schema")
        reply = await self._call(question, provider, mode, messages)
        try:
            return await self._read(question, provider, reply)
        except NotAnAnswer as unfit:
            if not question.may_ask_again:
                raise
            question.may_ask_again = False
            messages += [
                {"role": "assistant", "content": reply.text[:_MAX_QUOTED_CHARS]},
                {"role": "user", "content": _AGAIN.format("; ".join(unfit.problems))},
            ]
        return await self._read(question, provider, await self._call(question, provider, mode, messages))

    async def _call(
        self, question: _Question, provider: Provider, mode: Mode, messages: Sequence[Message]
    ) -> Reply:
        """Make one call, count it, and tell the breaker and whoever listens."""
        request, started = question.request, monotonic()
        if question.left_s <= 0:
            raise ProviderFailed("out of time")
        provider.breaker.try_again(started)
        usage, outcome = ModelUsage(calls=1), "failed"
        try:
            reply = await provider.ask(
                messages, mode, request.purpose, request.schema, request.max_tokens, question.left_s
            )
            cost = provider.config.cost(reply.input_tokens, reply.output_tokens)
            usage, outcome = ModelUsage(1, reply.input_tokens, reply.output_tokens, cost), "ok"
            provider.breaker.succeeded()
            provider.problem = ""
            return reply
        except ProviderFailed as failure:
            self._failed(provider, failure, request.purpose)
            raise
        finally:
            question.usage += usage
            seconds = monotonic() - started
            self._tell(CallReport(provider.config.name, request.purpose, outcome, seconds, usage))

    def _failed(self, provider: Provider, failure: ProviderFailed, purpose: str) -> None:
        log.warning("model.failed", provider=provider.config.name, purpose=purpose, problem=failure.kind)
        provider.problem = failure.kind
        if not failure.wrong_format:  # the server works; it is the question that it does not take
            provider.breaker.failed(monotonic(), failure.retry_after_s, for_good=failure.for_good)

    async def _read(self, question: _Question, provider: Provider, reply: Reply) -> JsonObject:
        try:
            return await asyncio.to_thread(parsed, reply.text, question.validator)
        except NotAnAnswer:
            log.warning("model.unfit", provider=provider.config.name, purpose=question.request.purpose)
            provider.problem = UNFIT
            raise

    async def _probe(self, provider: Provider) -> None:
        request = ModelRequest("probe", 1, _PROBE, "{}", _PROBE_SCHEMA, _NOBODY, _PROBE_TIMEOUT_S, 2_000)
        validator = await self._validator(request.schema)
        question = _Question(request, validator, monotonic() + request.timeout_s)
        await self._try(question, provider)

    # -- remembering

    async def _validator(self, schema: JsonObject) -> Validator:
        """Return what checks answers to a schema, made once."""
        text = json.dumps(schema, sort_keys=True)
        if text not in self._validators:
            validator = await asyncio.to_thread(validator_of, schema)
            if len(self._validators) >= _SCHEMAS:
                self._validators.clear()
            self._validators[text] = validator
        return self._validators[text]

    def _key(self, request: ModelRequest) -> str:
        schema = json.dumps(request.schema, sort_keys=True)
        asked = (request.purpose, str(request.version), request.instructions, request.material, schema)
        return digest(*asked, *self.names)

    async def _recall(self, request: ModelRequest, key: str, validator: Validator) -> ModelAnswer | None:
        try:
            kept = await self._ledger.recall(request.namespace, key)
        except HbusError as error:
            log.warning("model.cache_unavailable", reason=error.reason)
            return None
        if kept is None:
            return None
        value, model = json.loads(kept)
        return ModelAnswer(value, model, is_cached=True) if validator.is_valid(value) else None

    async def _note(self, request: ModelRequest, key: str, answer: ModelAnswer) -> None:
        """Keep an answer and what it took; that it cannot be kept is no reason to lose it."""
        try:
            await self._ledger.charge(request.namespace, answer.usage)
            if answer.value is not None:
                kept = json.dumps([answer.value, answer.model], ensure_ascii=False).encode()
                await self._ledger.remember(request.namespace, key, kept)
        except HbusError as error:
            log.warning("model.not_noted", reason=error.reason)

    def _tell(self, report: Report) -> None:
        for listener in self.listeners:
            listener(report)


def _messages(request: ModelRequest, *, by_words: bool) -> list[Message]:
    instructions = visible(request.instructions)
    if by_words:
        instructions += "\n\n" + _BY_SCHEMA + json.dumps(request.schema, ensure_ascii=False)
    return [
        {"role": "system", "content": instructions},
        {"role": "user", "content": visible(request.material)},
    ]


def _outcome(answer: ModelAnswer) -> str:
    if answer.value is None:
        return "default"
    return "cached" if answer.is_cached else "fresh"


def _status(provider: Provider) -> ModelStatus:
    wait_s = provider.breaker.wait(monotonic())
    config = provider.config
    return ModelStatus(config.full_name, config.base_url, provider.mode, provider.problem, wait_s)
