"""The client for asyncio: the same calls as ``hbus.Client``, awaited."""

from hbus.aio.client import Client, connect
from hbus.aio.consumption import Consumption
from hbus.aio.subscription import Subscription

__all__ = ["Client", "Consumption", "Subscription", "connect"]
