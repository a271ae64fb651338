"""The play of ``hbus demo``, scene by scene."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Unpack

import hbus
from hbus.fields import WriteFields
from hindsight_bus.cli import output
from hindsight_bus.cli.stage import Narrator, Player, enter

PRESENTATION = "preference.presentation"
CONTACT = "preference.contact"


@dataclass(frozen=True, slots=True)
class Cast:
    """The two agents, and what the scenes hand on to each other."""

    support: Player
    aftersales: Player
    tell: Narrator

    async def both_hear(self, revision: int) -> None:
        """Let both agents hear of a commit; told once where they heard the same, as they should."""
        first = await self.support.heard(revision)
        second = await self.aftersales.heard(revision)
        if first == second:
            self._hears("both", first)
        else:
            self._hears(self.support.name, first)
            self._hears(self.aftersales.name, second)

    def _hears(self, who: str, events: list[hbus.Event]) -> None:
        for event in events:
            self.tell.hears(who, event)


async def play(target: str, api_key: str, namespace: str, tell: Narrator) -> None:
    """Play all scenes against a running server."""
    tell.says(
        f"Two agents share the memory of one user in {namespace}. Both listen to the bus all the while."
    )
    async with (
        enter(target, api_key, "support", namespace, tell) as support,
        enter(target, api_key, "after-sales", namespace, tell) as aftersales,
    ):
        cast = Cast(support, aftersales, tell)
        tables = await _learn(cast)
        charts = await _overridden(cast, tables)
        await _contested(cast)
        await _settled_by_the_user(cast)
        await _winner_forgotten(cast, tables, charts)
    _farewell(tell, namespace, charts)


async def _learn(cast: Cast) -> hbus.Memory:
    cast.tell.scene(
        "One learns, both know", "What one agent writes, every other agent hears at once, and finds."
    )
    await cast.aftersales.searches("对比数据该怎么展示?")
    answer = await cast.support.learns(
        "用户偏好用表格展示对比数据", subject=PRESENTATION, confidence=0.85, tags=["presentation"]
    )
    await cast.both_hear(answer.memory.revision)
    await cast.aftersales.searches("对比数据该怎么展示?", after=answer.token)
    return answer.memory


async def _overridden(cast: Cast, tables: hbus.Memory) -> hbus.Memory:
    cast.tell.scene(
        "A weaker contradiction",
        "Statements about one subject compete. The better supported one holds; the other is kept, out of sight.",
    )
    answer = await cast.aftersales.learns("用户更喜欢柱状图", subject=PRESENTATION, confidence=0.6)
    await cast.both_hear(answer.memory.revision)
    await cast.support.searches("对比数据该怎么展示?", after=answer.token)
    return answer.memory


async def _contested(cast: Cast) -> None:
    cast.tell.scene(
        "Two of equal weight",
        "Within 5 % of each other neither wins: a conflict opens, and whoever searches sees both sides, marked.",
    )
    phone = "The customer wants to be called by phone"
    await _heard(cast, cast.support, phone, value="phone", confidence=0.8)
    answer = await _heard(cast, cast.aftersales, "The customer prefers e-mail", value="email", confidence=0.8)
    await cast.support.searches("How should I contact the customer?", after=answer.token)
    await _show_conflicts(cast)


async def _settled_by_the_user(cast: Cast) -> None:
    cast.tell.scene(
        "The user's word",
        "The user is a speaker too, whichever agent relays it. What the user says joins the side that says the same.",
    )
    answer = await _heard(
        cast,
        cast.support,
        "Please write to me by e-mail, do not call",
        value="email",
        channel="user",
        source="ticket 4711",
    )
    await cast.aftersales.searches("How should I contact the customer?", after=answer.token)
    await _show_conflicts(cast)


async def _winner_forgotten(cast: Cast, winner: hbus.Memory, loser: hbus.Memory) -> None:
    cast.tell.scene(
        "The winner is forgotten",
        "Nothing that lost was thrown away: when the winner goes, the next best returns.",
    )
    cast.tell.does(cast.support.name, f"forgets: {winner.text}")
    forgotten = await cast.support.bus.forget(winner)
    await cast.both_hear(forgotten.memory.revision)
    back = await cast.aftersales.bus.get(loser, after=forgotten.token)
    cast.tell.answers(f"{output.state_of(back)}  {back.text}")
    await cast.aftersales.searches("展示数据用什么图?", after=forgotten.token)


async def _heard(
    cast: Cast, player: Player, text: str, **fields: Unpack[WriteFields]
) -> hbus.WriteMemoryResponse:
    fields["subject"] = CONTACT
    answer = await player.learns(text, **fields)
    await cast.both_hear(answer.memory.revision)
    return answer


async def _show_conflicts(cast: Cast) -> None:
    async for conflict in cast.support.bus.conflicts(
        cast.support.namespace, states=("open", "resolved", "settled")
    ):
        state = hbus.label(hbus.ConflictState, conflict.state)
        sides = " / ".join(f"{side.text} ({side.score:.2f})" for side in conflict.sides)
        cast.tell.answers(f"conflict {state} on {conflict.subject}", sides)


def _farewell(tell: Narrator, namespace: str, charts: hbus.Memory) -> None:
    tell.says(
        "All of this stays in the store; nothing was cleaned up. Look around:\n"
        f"  hbus why {charts.name}\n"
        f"  hbus conflicts {namespace} --all\n"
        f"  hbus watch {namespace} --start beginning"
    )
