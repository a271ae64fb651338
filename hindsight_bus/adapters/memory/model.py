"""A language model that says what a test tells it to, and a ledger in plain dictionaries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from hindsight_bus.domain.names import Namespace
from hindsight_bus.ports import JsonObject, ModelAnswer, ModelRequest, ModelStatus, ModelUsage

Reply = JsonObject | None | Callable[[ModelRequest], JsonObject | None]
"""What it answers, or what makes the answer; None = a default."""


class ScriptedModel:
    """``LanguageModel`` that gives its replies in order, then the last one for ever."""

    def __init__(self, replies: Iterable[Reply] = (), names: Sequence[str] = ("fake/scripted",)) -> None:
        self.names = tuple(names)
        self.replies = list(replies)
        self.asked: list[ModelRequest] = []
        """Every request so far, in order."""

    async def answer(self, request: ModelRequest) -> ModelAnswer:
        """Return the next reply."""
        self.asked.append(request)
        if not self.names or not self.replies:
            return ModelAnswer(None, problems=("nothing to say",))
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        value = reply(request) if callable(reply) else reply
        usage = ModelUsage(calls=1, input_tokens=100, output_tokens=10, cost=0.001)
        if value is None:
            return ModelAnswer(None, usage=usage, problems=("no answer",))
        return ModelAnswer(value, self.names[0], usage)

    async def statuses(self, *, probe: bool) -> Sequence[ModelStatus]:
        """Return that all is well."""
        return [ModelStatus(name, "memory:", "json_schema", "", 0.0) for name in self.names]

    async def spent(self, namespace: Namespace) -> ModelUsage:
        """Return as much as every request so far, whoever asked."""
        return ModelUsage(calls=len(self.asked))

    async def close(self) -> None:
        """Do nothing."""


class FakeLedger:
    """``ModelLedger`` that forgets nothing by itself."""

    def __init__(self) -> None:
        self.answers: dict[tuple[Namespace, str], bytes] = {}
        self._spent: dict[Namespace, ModelUsage] = {}

    async def recall(self, namespace: Namespace, key: str) -> bytes | None:
        """Return what was remembered."""
        return self.answers.get((namespace, key))

    async def remember(self, namespace: Namespace, key: str, answer: bytes) -> None:
        """Remember an answer."""
        self.answers[namespace, key] = answer

    async def charge(self, namespace: Namespace, usage: ModelUsage) -> None:
        """Add to what a namespace has spent."""
        self._spent[namespace] = await self.spent(namespace) + usage

    async def spent(self, namespace: Namespace) -> ModelUsage:
        """Return what a namespace has spent."""
        return self._spent.get(namespace, ModelUsage())
