"""Names of the keys of groups. As all keys, they hold no text of a user and carry the hash tag of their partition."""

from __future__ import annotations

from hindsight_bus.domain.groups import GroupRecord
from hindsight_bus.domain.names import digest


class GroupKeys:
    """Keys of every group."""

    def __init__(self, partitions: int) -> None:
        self._control = f"hb:{{p{partitions}}}:"
        self.groups = f"{self._control}groups".encode()
        """Sorted set of definitions by the time at which they go unless the group is used."""

    def definition(self, tenant: str, name: str) -> bytes:
        """Return the key of a group's definition."""
        return f"{self._control}group:{digest(tenant, name)}".encode()

    def members(self, group: GroupRecord) -> bytes:
        """Return the key of a group's members by the time until which they count."""
        return f"{self._control}members:{group.id}".encode()

    def control(self, group: GroupRecord) -> list[bytes]:
        """Return the keys of a group in the control partition."""
        return [self.definition(group.tenant, group.name), self.groups, self.members(group)]

    def listing(self, partition: int) -> bytes:
        """Return the key of the ids of the groups that have state in a partition."""
        return f"hb:{{p{partition}}}:begun".encode()

    def dead(self, group_id: str, partition: int) -> bytes:
        """Return the key of a group's dead letters."""
        return self.partition(group_id, partition)[5]

    def partition(self, group_id: str, partition: int) -> list[bytes]:
        """Return state, items, times, waiting, busy owners and dead letters of a group in a partition, and the log."""
        prefix = f"hb:{{p{partition}}}:"
        own = [f"{prefix}group:{group_id}:{part}" for part in ("s", "i", "t", "w", "b", "d")]
        return [key.encode() for key in (*own, f"{prefix}log")]
