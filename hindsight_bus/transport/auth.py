"""Who calls, and where an unauthenticated server may listen."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import unquote

from hindsight_bus.app.caller import Caller
from hindsight_bus.domain.memory import Channel
from hindsight_bus.domain.names import check_part
from hindsight_bus.domain.values import replace

AGENT_KEY = "hbus-agent"
NOBODY = Caller(channels=frozenset(Channel))
"""Who calls in the open mode without a name."""


class UnsafeListen(ValueError):
    """The server was told to listen to other machines although it cannot tell who calls."""

    def __init__(self, address: str) -> None:
        super().__init__(
            f"{address} can be reached from other machines and nothing would tell callers apart: "
            "listen on 127.0.0.1, or accept that with --insecure"
        )


class OpenAccess:
    """The loopback mode: everybody is trusted and names itself in the metadata key ``hbus-agent``.

    Metadata is ASCII, so other names come percent-encoded (RFC 3986).
    """

    def identify(self, metadata: Iterable[tuple[str, str | bytes]]) -> Caller:
        """Return the caller; raise ``InvalidField`` when the agent's name is no legal name part."""
        for key, value in metadata:
            if key == AGENT_KEY:
                return _named(value if isinstance(value, str) else value.decode("utf-8", "replace"))
        return NOBODY


@lru_cache(maxsize=4096)
def _named(agent: str) -> Caller:
    return replace(NOBODY, agent=check_part(unquote(agent), AGENT_KEY))


def require_safe_listen(address: str, *, insecure: bool) -> None:
    """Raise ``UnsafeListen`` when ``address`` is not a loopback one, unless ``insecure`` accepts that."""
    if not insecure and not _is_loopback(address):
        raise UnsafeListen(address)


def _is_loopback(address: str) -> bool:
    if address.startswith("unix:"):
        return True
    host = address.rpartition(":")[0].strip("[]")
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
