"""What kind of server this is, and whether it is fit to hold the truth."""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from hindsight_bus.adapters.valkey.client import Client
from hindsight_bus.adapters.valkey.keys import META
from hindsight_bus.domain.errors import SchemaTooNew, StoreUnavailable
from hindsight_bus.domain.values import SCHEMA

_log = structlog.get_logger(__name__)

OLDEST_VERSION = (7, 0)


class UnfitStore(Exception):
    """The server answers but cannot be used; an operator has to act."""


@dataclass(frozen=True, slots=True)
class Server:
    """What was found."""

    name: str
    """``valkey`` or ``redis``."""
    version: str


async def probe(client: Client) -> Server:
    """Look at the server; raise ``UnfitStore`` for an old version, a replica or a cluster node."""
    info = _parse_info(await client.read(b"INFO"))
    compatible = info.get("redis_version", "0")
    if tuple(map(int, compatible.split(".")[:2])) < OLDEST_VERSION:
        raise UnfitStore(f"the store speaks version {compatible}, at least 7.0 is needed")
    if info.get("role") != "master":
        raise UnfitStore("the store is a replica: name its primary")
    if info.get("cluster_enabled") == "1":
        raise UnfitStore("the store is a node of a cluster, which is not supported yet")
    policy = await _eviction(client)
    if policy != "noeviction":
        _log.warning("store.may_evict", advice="set maxmemory-policy to noeviction", policy=policy)
    name = info.get("server_name", "valkey" if "valkey_version" in info else "redis")
    return Server(name, info.get("valkey_version", compatible))


async def settle_partitions(client: Client, partitions: int) -> None:
    """Fix the number of partitions at first start; raise ``UnfitStore`` for another one, or ``SchemaTooNew``."""
    await client.write(b"HSETNX", META, b"partitions", partitions)
    await client.write(b"HSETNX", META, b"schema", SCHEMA)
    fixed, schema = map(int, await client.read(b"HMGET", META, b"partitions", b"schema"))
    if schema > SCHEMA:
        raise SchemaTooNew(schema, SCHEMA)
    if fixed != partitions:
        raise UnfitStore(f"the store was first used with {fixed} partitions and cannot have {partitions}")


async def _eviction(client: Client) -> str:
    """Return the policy of eviction; ``noeviction`` where CONFIG is forbidden."""
    try:
        [_, policy] = await client.read(b"CONFIG", b"GET", b"maxmemory-policy")
    except StoreUnavailable as problem:
        _log.warning("store.settings_hidden", problem=str(problem.__cause__))
        return "noeviction"
    return str(policy.decode())


def _parse_info(raw: bytes) -> dict[str, str]:
    lines = (line.partition(":") for line in raw.decode().splitlines() if not line.startswith("#"))
    return {name: value for name, _, value in lines}
