"""Which servers the log accepts, and how it deals with their failures."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from functools import partial

import pytest
from redis.asyncio import Redis

from hindsight_bus.adapters.valkey.log import ValkeyLog
from hindsight_bus.adapters.valkey.probe import UnfitStore
from hindsight_bus.domain.errors import OutcomeUnknown, SchemaTooNew, StoreUnavailable
from hindsight_bus.domain.names import Namespace
from hindsight_bus.domain.records import Receipt
from hindsight_bus.ports import Commit, Put, ref_of
from tests.waiting import until

pytestmark = pytest.mark.integration

NS = Namespace("acme", "user", "zhangsan", "facts")
RECEIPT = Receipt(NS, "p", "r", "x", 1, "m")
COMMIT = Commit(0, now_ms=0, stamp=1, puts=(Put(RECEIPT),))
HEADER_BYTES = 32


@pytest.fixture(params=["valkey", "redis"])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture
async def admin(url: str) -> AsyncIterator[Redis]:
    async with Redis.from_url(url) as client:
        await client.flushall()
        yield client


@pytest.fixture
async def log(url: str, admin: Redis) -> AsyncIterator[ValkeyLog]:
    log = await ValkeyLog.open(url, partitions=4)
    yield log
    await log.close()


@contextlib.asynccontextmanager
async def setting(admin: Redis, name: str, value: str, usual: str) -> AsyncIterator[None]:
    await admin.config_set(name, value)
    try:
        yield
    finally:
        await admin.config_set(name, usual)


async def the_receipt(admin: Redis) -> tuple[bytes, bytes]:
    """Return key and value of the only receipt."""
    [key] = [key async for key in admin.scan_iter("hb:{p0}:r:*")]
    raw = await admin.get(key)
    assert isinstance(raw, bytes)
    return key, raw


async def test_the_number_of_partitions_is_fixed_at_first_use(url: str, log: ValkeyLog) -> None:
    """Another number is refused, since it would look for everything in the wrong place."""
    with pytest.raises(UnfitStore, match="4 partitions and cannot have 8"):
        await ValkeyLog.open(url, partitions=8)
    again = await ValkeyLog.open(url, partitions=4)
    await again.close()


async def test_a_newer_schema_is_refused(url: str, log: ValkeyLog, admin: Redis) -> None:
    """A store that a newer server has written to is left alone."""
    await admin.hset("hb:{p0}:meta", "schema", "99")
    with pytest.raises(SchemaTooNew):
        await ValkeyLog.open(url, partitions=4)


async def test_a_newer_record_is_refused(log: ValkeyLog, admin: Redis) -> None:
    """So is a single record of a newer schema."""
    await log.commit(COMMIT)
    key, raw = await the_receipt(admin)
    await admin.set(key, raw[: HEADER_BYTES + 1] + b"\x63" + raw[HEADER_BYTES + 2 :])
    with pytest.raises(SchemaTooNew):
        await log.read(0, [ref_of(RECEIPT)])


async def test_fields_appended_by_a_newer_server_are_skipped(log: ValkeyLog, admin: Redis) -> None:
    """A record with one field more under the same schema still reads."""
    await log.commit(COMMIT)
    key, raw = await the_receipt(admin)
    longer = bytes([raw[HEADER_BYTES] + 1])  # a msgpack array of fewer than 15 items: 0x90 + length
    await admin.set(key, raw[:HEADER_BYTES] + longer + raw[HEADER_BYTES + 1 :] + b"\x07")
    [stored] = await log.read(0, [ref_of(RECEIPT)])
    assert stored is not None
    assert stored.record == RECEIPT


async def test_no_server_is_unavailable() -> None:
    """Opening where nobody listens fails as StoreUnavailable."""
    with pytest.raises(StoreUnavailable):
        await ValkeyLog.open("unix:///nowhere/store.sock")


async def test_a_flushed_script_cache_goes_unnoticed(log: ValkeyLog, admin: Redis) -> None:
    """Scripts that the server has forgotten are sent again."""
    for _ in range(2):
        await log.commit(COMMIT)
        await admin.script_flush()
    assert await log.read(0, [ref_of(RECEIPT)]) != [None]


async def test_a_cut_connection_is_made_anew(log: ValkeyLog, admin: Redis) -> None:
    """Calls under way may fail as the port says; the next ones succeed unaided."""
    for _ in range(5):
        await admin.client_kill_filter(_type="normal", skipme=True)

        async def commits() -> bool:
            try:
                await log.commit(COMMIT)
            except (StoreUnavailable, OutcomeUnknown):
                return False
            return True

        await until(commits)


async def test_out_of_memory_changes_nothing(log: ValkeyLog, admin: Redis) -> None:
    """A full server refuses commits as StoreUnavailable, still reads, and recovers."""
    async with setting(admin, "maxmemory", "1", "0"):
        with pytest.raises(StoreUnavailable):
            await log.commit(COMMIT)
        assert await log.read(0, [ref_of(RECEIPT)]) == [None]
    await log.commit(COMMIT)


async def test_a_stalled_server_leaves_the_outcome_unknown(url: str, log: ValkeyLog, admin: Redis) -> None:
    """Without a reply in time a commit is OutcomeUnknown and a read StoreUnavailable; afterwards all is well."""
    hasty = await ValkeyLog.open(url, partitions=4, reply_timeout_s=0.3)
    await admin.client_pause(1000)
    calls = hasty.commit(COMMIT), hasty.read(0, [ref_of(RECEIPT)])
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert list(map(type, outcomes)) == [OutcomeUnknown, StoreUnavailable]

    async def reads() -> bool:
        try:
            await hasty.read(0, [ref_of(RECEIPT)])
        except StoreUnavailable:
            return False
        return True

    await until(reads)
    await hasty.close()


async def test_a_replica_is_refused(url: str, admin: Redis) -> None:
    """A replica cannot hold the truth."""
    await admin.replicaof("127.0.0.1", "1")
    try:
        with pytest.raises(UnfitStore, match="replica"):
            await ValkeyLog.open(url, partitions=4)
    finally:
        await admin.replicaof("NO", "ONE")


async def test_a_server_without_fsync_is_known_as_such(url: str, admin: Redis) -> None:
    """Acknowledged is not durable there, and the log says so."""
    async with setting(admin, "appendfsync", "everysec", "always"):
        log = await ValkeyLog.open(url, partitions=4)
        assert not log.is_fsynced
        await log.close()


async def test_a_server_that_stops_to_fsync_is_known_as_such(log: ValkeyLog, admin: Redis) -> None:
    """An operator may change it under way, and back."""

    async def is_known(is_fsynced: bool) -> bool:
        return log.is_fsynced is is_fsynced

    assert log.is_fsynced
    async with setting(admin, "appendfsync", "everysec", "always"):
        await until(partial(is_known, False))
    await until(partial(is_known, True))


async def test_wakeups_go_on_after_a_cut(log: ValkeyLog, admin: Redis) -> None:
    """After a lost connection every partition counts as news, for what was missed."""
    heard: set[int] = set()

    async def listen() -> None:
        async for position in log.wakeups():
            heard.add(position.partition)

    listener = asyncio.create_task(listen())

    async def is_subscribed() -> bool:
        return bool(await admin.pubsub_shardchannels())

    async def has_heard_all() -> bool:
        return heard == set(range(5))

    await until(is_subscribed)
    await admin.client_kill_filter(_type="pubsub")
    await until(has_heard_all)
    listener.cancel()
    await asyncio.wait([listener])
