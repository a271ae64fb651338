"""Consumer groups under test, on a log with a few commits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hindsight_bus.domain.groups import Action, EventId, GroupRecord, Settlement
from hindsight_bus.domain.names import Pattern, digest
from hindsight_bus.domain.position import Position
from hindsight_bus.domain.query import EventFilter
from hindsight_bus.domain.values import replace
from hindsight_bus.ports import Committed, Groups, Span
from tests.contract.memory_log_rig import PARTITION, Rig, event, head

LONG_MS = 60_000
SHORT_MS = 40
DEAD_KEPT = 4
"""Dead letters kept in a partition; few, so that a test can bury more."""
BASIS = GroupRecord(
    tenant="acme",
    name="mailer",
    id=digest("group"),
    patterns=(Pattern("acme", "user", "*", "facts"),),
    filter=EventFilter(),
    ordered=False,
    lease_ms=LONG_MS,
    max_attempts=3,
    lifetime_ms=LONG_MS,
    start=(Position(PARTITION, 0, 0),),
    agent="ann",
)
ORDERED = replace(BASIS, ordered=True)


@dataclass
class GroupsRig:
    """The groups, the log that they read, and what was committed to it."""

    log: Rig
    groups: Groups
    done: list[Committed] = field(default_factory=list)

    async def fill(self, commits: int, events: int = 1) -> None:
        """Commit entries of some events each."""
        for _ in range(commits):
            made = await self.log.commit(head("m"), events=tuple(event(f"m{n}") for n in range(events)))
            self.done.append(made)

    async def start(self, group: GroupRecord = BASIS) -> GroupRecord:
        """Create a group and let it begin."""
        made = await self.groups.create(group)
        for position in made.start:
            await self.groups.begin(made, position)
        return made

    def span(self, first: int, last: int, owners: str = "", **fields: Any) -> Span:
        """Return the first event of each commit from ``first`` to ``last``; ``owners`` has a letter for each."""
        events = tuple(EventId(revision, 0) for revision in range(first, last + 1))
        span = Span(first - 1, self.done[last - 1].position, events, tuple(owners))
        return replace(span, **fields)

    async def take(
        self, group: GroupRecord, member: str, first: int, last: int, owners: str = ""
    ) -> list[Settlement]:
        """Give a run of events to a member; return the acks of what it got."""
        span = self.span(first, last, owners)
        given = await self.groups.take(group, member, span)
        return [Settlement(span.events[place], delivery) for place, delivery in given.items()]

    async def claim(self, group: GroupRecord, member: str, limit: int = 100) -> list[Settlement]:
        """Claim what is due; return the acks of it."""
        claim = await self.groups.claim(group, PARTITION, member, limit)
        return [Settlement(each.event, each.delivery) for each in claim.redeliveries]

    async def claim_again(self, group: GroupRecord, member: str) -> list[Settlement]:
        """Claim once something is due."""

        async def claim() -> list[Settlement]:
            return await self.claim(group, member)

        return await self.log.until(claim)

    async def settle(self, group: GroupRecord, member: str, *wanted: Settlement) -> list[bool]:
        """Settle deliveries."""
        return await self.groups.settle(group, PARTITION, member, wanted)


def revisions(settlements: list[Settlement]) -> list[int]:
    """Return the revisions of events."""
    return [each.event.revision for each in settlements]


def retry(ack: Settlement, delay_ms: int = 0, reason: str = "busy") -> Settlement:
    """Return a retry of the same delivery."""
    return replace(ack, action=Action.RETRY, delay_ms=delay_ms, reason=reason)


def extend(ack: Settlement, lease_ms: int) -> Settlement:
    """Return an extension of the same delivery."""
    return replace(ack, action=Action.EXTEND, delay_ms=lease_ms)


def reject(ack: Settlement, reason: str = "poison") -> Settlement:
    """Return a rejection of the same delivery."""
    return replace(ack, action=Action.REJECT, reason=reason)
