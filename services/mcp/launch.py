"""What an operator sets when a shim is started."""

from __future__ import annotations

from dataclasses import dataclass, field

from services.mcp.identity import Identity

DEFAULT_MAX_TOKENS = 4000


@dataclass(frozen=True, slots=True)
class Launch:
    """Where the bus is, whom to serve, and with what."""

    target: str
    """``host:port`` of the bus, or ``https://...`` for TLS."""
    identity: Identity
    api_key: str = field(default="", repr=False)
    """Sent to the bus, unless a call over HTTP brings its own bearer token."""
    tools: tuple[str, ...] = ("default",)
    """Profiles and names of tools."""
    max_tokens: int = DEFAULT_MAX_TOKENS
    """Room for the memories of one answer, by estimate."""
    timeout_s: float = 10.0
    """Deadline of each call to the bus."""

    def __post_init__(self) -> None:
        if not 1000 <= self.max_tokens <= 32_000:
            raise ValueError("an answer has room for 1,000 to 32,000 tokens")
        if not (self.identity.user and self.identity.agent):
            raise ValueError("name the user whose memory this is, and the agent to act as")


@dataclass(frozen=True, slots=True)
class Listen:
    """Where to listen for hosts that come over HTTP."""

    host: str = "127.0.0.1"
    port: int = 8765
    allowed_hosts: tuple[str, ...] = ()
    """Further values of the Host header; others than loopback ones are answered 421 unless they are named here."""
    sse: bool = False
    """Serve ``/sse`` too, for old hosts."""
