"""Who calls: what a credential, or the open mode, says about the other side."""

from __future__ import annotations

from hindsight_bus.domain.errors import AgentRequired, InvalidField
from hindsight_bus.domain.memory import Channel
from hindsight_bus.domain.values import Value, field

OPEN_TENANT = "default"


class Caller(Value):
    """The identity behind a request."""

    tenant: str = OPEN_TENANT
    agent: str = ""
    """Name of the agent; empty where none was given."""
    channels: frozenset[Channel] = field(default_factory=lambda: frozenset(Channel))
    """Channels that it may write through."""
    ceiling: float = 1.0
    """Highest confidence that it may state."""

    @property
    def principal(self) -> str:
        """What request ids and page tokens are bound to."""
        return self.agent

    def require_agent(self) -> str:
        """Return the agent's name; raise ``AgentRequired`` when there is none."""
        if not self.agent:
            raise AgentRequired
        return self.agent

    def require_channel(self, channel: Channel) -> Channel:
        """Return the channel if this caller may write through it."""
        if channel not in self.channels:
            raise InvalidField("channel", f"this credential may not write through {channel.name}")
        return channel
