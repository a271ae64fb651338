"""What asking language models takes."""

from __future__ import annotations

from hindsight_bus.domain.values import Value


class ModelUsage(Value):
    """What calls to models took."""

    calls: int = 0
    """Requests sent, failed ones included."""
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    """In the currency of the providers' configured prices; 0 where none are."""

    def __add__(self, other: ModelUsage) -> ModelUsage:
        return ModelUsage(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cost + other.cost,
        )
