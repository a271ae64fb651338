"""Where a server may listen that cannot tell who calls."""

from __future__ import annotations

import pytest

from hindsight_bus.transport.auth import UnsafeListen, require_safe_listen


@pytest.mark.parametrize(
    "address", ["127.0.0.1:50051", "127.9.9.9:0", "localhost:1", "[::1]:50051", "unix:/tmp/hbus.sock"]
)
def test_loopback_is_open(address: str) -> None:
    """On the machine's own addresses the open mode is allowed."""
    require_safe_listen(address, insecure=False)


@pytest.mark.parametrize("address", ["0.0.0.0:50051", "[::]:50051", "10.0.0.3:1", "example.org:1", ":50051"])
def test_the_network_is_not(address: str) -> None:
    """An address that others can reach is refused, unless the operator accepts it."""
    with pytest.raises(UnsafeListen):
        require_safe_listen(address, insecure=False)
    require_safe_listen(address, insecure=True)
