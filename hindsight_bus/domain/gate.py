"""The gate: what is not worth remembering is turned away before anything is settled."""

from __future__ import annotations

from dataclasses import dataclass

from hindsight_bus.domain.memory import Channel, Decision, MemoryType
from hindsight_bus.domain.policy import Policy


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the gate says of a write."""

    rejection: Decision | None = None
    """REJECTED_TRIVIAL or REJECTED_TOO_LONG; None = admitted."""
    reason: str = ""
    """Which rule turned it away, for people; empty when admitted."""

    @property
    def is_admitted(self) -> bool:
        """Tell whether the write may go on."""
        return self.rejection is None


def admit(
    text: str,
    *,
    type: MemoryType,
    channel: Channel,
    policy: Policy,
    subject: str = "",
    value: str = "",
    explicit: bool = False,
) -> Verdict:
    """Judge a write by its text and by what the caller said about it (never by what was derived)."""
    return Verdict()


def quota_applies(type: MemoryType, channel: Channel) -> bool:
    """Tell whether a write counts against the daily quota of its agent and namespace owner."""
    return type in (MemoryType.SEMANTIC, MemoryType.PROCEDURAL) and channel is Channel.AGENT
