"""News of commits, over a connection of its own."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Sequence

import structlog
from redis.asyncio.connection import AbstractConnection
from redis.exceptions import RedisError

from hindsight_bus.adapters.valkey.keys import PartitionKeys
from hindsight_bus.adapters.valkey.wire import FIRST_DELAY_S, LAST_DELAY_S
from hindsight_bus.domain.position import Position

_log = structlog.get_logger(__name__)


async def wakeups(
    make_connection: Callable[[], AbstractConnection], partitions: Sequence[PartitionKeys]
) -> AsyncIterator[Position]:
    """Yield the position after each commit; after a lost connection one of revision 0 for each partition."""
    channels = {keys.channel: number for number, keys in enumerate(partitions)}
    delay_s = 0.0
    was_lost = False
    while True:
        connection = make_connection()
        try:
            await connection.connect()  # type: ignore[no-untyped-call]
            await connection.send_command(b"SSUBSCRIBE", *channels)
            for _ in channels:
                await connection.read_response()
            delay_s = 0.0
            if was_lost:
                for number in channels.values():
                    yield Position(number, 0, 0)
            while True:
                message = await connection.read_response(timeout=math.inf)
                if message[0] == b"smessage":
                    revision, stamp = message[2].split()
                    yield Position(channels[message[1]], int(revision), int(stamp))
        except (RedisError, OSError) as problem:
            _log.debug("store.wakeups_interrupted", problem=str(problem))
            was_lost = True
        finally:
            await connection.disconnect(nowait=True)
        await asyncio.sleep(delay_s)
        delay_s = min(max(FIRST_DELAY_S, delay_s * 2), LAST_DELAY_S)
