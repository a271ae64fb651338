"""Language models: asked by schema, within a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from hindsight_bus.domain.expense import ModelUsage
from hindsight_bus.domain.names import Namespace
from hindsight_bus.domain.values import Value, field

JsonObject = Mapping[str, Any]


class ModelRequest(Value):
    """One question to a language model; the answer is an object of a JSON schema."""

    purpose: str
    """What it is for: ``reflect``, ``extract``, ``judge``, ...; names the schema and labels the metrics."""
    version: int
    """Of the prompt; grows when its words change."""
    instructions: str
    """The system prompt. Nothing that others wrote goes in here."""
    material: str
    """What it is about, as data that cannot pose as instructions: see ``domain.fencing``."""
    schema: JsonObject
    """JSON Schema (2020-12) of an object. For strict providers: ``additionalProperties: false``, all is required."""
    namespace: Namespace
    """Whose tokens it spends."""
    timeout_s: float = 25.0
    """Seconds for everything: every provider, every repetition."""
    max_tokens: int = 4096
    """Of the answer."""


class ModelAnswer(Value):
    """What came of a question."""

    value: JsonObject | None
    """An object that satisfies the schema. None = no model gave one: take your default, and mark it as one."""
    model: str = ""
    """``<provider>/<model>`` that answered; empty where none did."""
    usage: ModelUsage = field(default_factory=ModelUsage)
    """Of this question alone, attempts that came to nothing included; nothing where the cache answered."""
    is_cached: bool = False
    problems: tuple[str, ...] = ()
    """What went wrong on the way, for people: provider and kind of failure, never content."""


class ModelStatus(Value):
    """How a model is."""

    name: str
    """``<provider>/<model>``."""
    base_url: str
    mode: str
    """What it is held to: ``json_schema``, ``json_object`` or ``text``."""
    problem: str
    """Why the last call to it failed; empty if it did not, or there was none."""
    pause_s: float
    """For how long it is left alone; 0 = it may be asked."""


class LanguageModel(Protocol):
    """Answers questions by schema. No call blocks the event loop.

    Constraints: MUST NOT raise for anything that a provider does or fails to do; MUST be done within ``timeout_s``; a
    ``value`` MUST satisfy the schema; an equal request MAY be answered from a cache.
    """

    @property
    def names(self) -> Sequence[str]:
        """``<provider>/<model>``, preferred first; empty: none is configured, no question is worth asking."""
        ...

    async def answer(self, request: ModelRequest) -> ModelAnswer:
        """Ask; ``ValueError`` only for a request whose schema is no JSON Schema."""
        ...

    async def statuses(self, *, probe: bool) -> Sequence[ModelStatus]:
        """Return how each model is, preferred first; ``probe`` asks each one something small before."""
        ...

    async def spent(self, namespace: Namespace) -> ModelUsage:
        """Return what questions for a namespace have taken so far; raise ``StoreUnavailable``."""
        ...

    async def close(self) -> None:
        """Release connections."""
        ...


class ModelLedger(Protocol):
    """What is remembered of questions to models, by namespace. Unlogged; errors are those of ``MemoryLog``."""

    async def recall(self, namespace: Namespace, key: str) -> bytes | None:
        """Return what was remembered under a key, so long as it lasts."""
        ...

    async def remember(self, namespace: Namespace, key: str, answer: bytes) -> None:
        """Remember an answer for a day at least and two at most."""
        ...

    async def charge(self, namespace: Namespace, usage: ModelUsage) -> None:
        """Add to what a namespace has spent."""
        ...

    async def spent(self, namespace: Namespace) -> ModelUsage:
        """Return what a namespace has spent in all."""
        ...
