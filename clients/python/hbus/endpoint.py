"""Where the server is, who calls, and how its channels are kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

import grpc

DEFAULT_TARGET = "127.0.0.1:50051"
MAX_MESSAGE_BYTES = 16 << 20

CHANNEL_OPTIONS: tuple[tuple[str, int], ...] = (
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    # grpc waits 1 s and then up to 2 min before it dials again, and fails every call meanwhile.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 5_000),
    ("grpc.max_reconnect_backoff_ms", 2_000),
    # Channels to one target would share one connection, and with it flow control and its stream limit.
    ("grpc.use_local_subchannel_pool", 1),
)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server and the identity to call it with."""

    target: str
    """``host:port``, or any name that gRPC resolves (``dns:///``, ``unix:``)."""
    agent: str = ""
    api_key: str = field(default="", repr=False)
    credentials: grpc.ChannelCredentials | None = field(default=None, repr=False)
    """None = plaintext."""

    @classmethod
    def of(
        cls,
        target: str,
        agent: str = "",
        api_key: str = "",
        credentials: grpc.ChannelCredentials | None = None,
    ) -> Endpoint:
        """Parse a target; ``https://host[:port]`` means TLS with the system's roots unless ``credentials`` are given.

        Raises ``ValueError`` for a target without a host, or a key that cannot be a header.
        """
        if not (api_key.isascii() and api_key.isprintable()):
            raise ValueError("api_key must be printable ASCII: it travels as a header")
        if target.startswith(("http://", "https://")):
            url = urlsplit(target)
            if not url.hostname or url.path.strip("/"):
                raise ValueError(f"target must look like https://host:port, not {target!r}")
            is_tls = url.scheme == "https"
            target = f"{url.netloc}" if url.port else f"{url.netloc}:{443 if is_tls else 80}"
            credentials = credentials or (grpc.ssl_channel_credentials() if is_tls else None)
        if not target:
            raise ValueError("target is empty: give host:port")
        return cls(target, agent, api_key, credentials)

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """Headers of every call. They are ASCII, so the agent's name is percent-encoded where it is not."""
        agent = (("hbus-agent", quote(self.agent, safe="@")),) if self.agent else ()
        key = (("authorization", f"Bearer {self.api_key}"),) if self.api_key else ()
        return agent + key

    def channel(self) -> grpc.Channel:
        """Make a channel for threads with a connection of its own; it dials at the first call."""
        if self.credentials is None:
            return grpc.insecure_channel(self.target, CHANNEL_OPTIONS)
        return grpc.secure_channel(self.target, self.credentials, CHANNEL_OPTIONS)

    def aio_channel(self) -> grpc.aio.Channel:
        """Make a channel for asyncio with a connection of its own; it dials at the first call."""
        if self.credentials is None:
            return grpc.aio.insecure_channel(self.target, CHANNEL_OPTIONS)
        return grpc.aio.secure_channel(self.target, self.credentials, CHANNEL_OPTIONS)
