"""What the demo's agents can do, and how it is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Unpack

import typer

import hbus
from hbus.fields import WriteFields
from hbus.values import Token
from hindsight_bus.cli import output

HEARING_S = 5.0


class Narrator:
    """Tells the play: lines for people, JSON lines for programs."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._scenes = 0

    def scene(self, title: str, why: str) -> None:
        """Begin a scene, and say which rule it shows."""
        self._scenes += 1
        self._tell({"scene": title, "why": why}, f"{self._scenes}. {title}\n   {why}", "yellow", gap=True)

    def does(self, agent: str, what: str) -> None:
        """An agent does something."""
        self._tell({"agent": agent, "does": what}, f"   {agent:<11} {what}", "cyan")

    def answers(self, what: str, because: str = "") -> None:
        """The server answers."""
        told = f"{what}: {because}" if because else what
        self._tell({"answer": what, "because": because}, f"   {'':<11} -> {told}")

    def hears(self, agent: str, event: hbus.Event) -> None:
        """An agent hears of an event."""
        kind = hbus.label(hbus.EventKind, event.kind)
        because = f" ({event.reason})" if event.reason else ""
        told = f"   {agent:<11} {'hear' if agent == 'both' else 'hears'} {kind}: {event.memory.text}{because}"
        self._tell({"agent": agent, "hears": output.as_dict(event)}, told, "green")

    def says(self, text: str) -> None:
        """Say something beside the play."""
        self._tell({"note": text}, text, gap=True)

    def _tell(
        self, event: Mapping[str, object], line: str, colour: str | None = None, *, gap: bool = False
    ) -> None:
        if self._as_json:
            output.emit(event)
            return
        safe = "\n".join(output.printable(each) for each in line.splitlines())
        typer.secho(f"\n{safe}" if gap else safe, fg=colour)


class Player:
    """One agent: it acts under its own name, and listens to the bus all the while."""

    def __init__(
        self, name: str, bus: hbus.aio.Client, events: hbus.aio.Subscription, namespace: str, tell: Narrator
    ) -> None:
        self.name = name
        self.bus = bus
        self._events = events
        self.namespace = namespace
        self._tell = tell

    async def learns(self, text: str, **fields: Unpack[WriteFields]) -> hbus.WriteMemoryResponse:
        """Write a memory, and tell what became of it."""
        sure = fields.get("confidence")
        through = ", the user's own words" if fields.get("channel") == "user" else ""
        self._tell.does(self.name, f"writes: {text}  ({f'{sure:.2f}' if sure else 'sure'}{through})")
        answer = await self.bus.write(self.namespace, text, **fields)
        decision = hbus.label(hbus.Decision, answer.decision)
        state = output.state_of(answer.memory)
        self._tell.answers(f"{decision}, {state}", answer.reason)
        return answer

    async def searches(self, query: str, after: Token = "") -> None:
        """Search, seeing what the token ``after`` has seen, and tell what is found."""
        self._tell.does(self.name, f"searches: {query}")
        found = await self.bus.search(self.namespace, query, after=after)
        for hit in found.hits:
            self._tell.answers(f"{hit.score:.2f} {output.state_of(hit.memory)}  {hit.memory.text}")
        if not found.hits:
            self._tell.answers("nothing relevant: nobody has told the bus yet")

    async def heard(self, revision: int) -> list[hbus.Event]:
        """Listen until the commit of that revision was heard whole; return what was heard since the last time."""
        events = []
        async with asyncio.timeout(HEARING_S):
            async for event in self._events:
                events.append(event)
                if event.revision >= revision and not self._events.buffered:
                    break
        return events


@asynccontextmanager
async def enter(
    target: str, api_key: str, name: str, namespace: str, tell: Narrator
) -> AsyncIterator[Player]:
    """Connect an agent and let it listen."""
    async with (
        hbus.aio.connect(target, agent=name, api_key=api_key, backoff=hbus.Backoff(attempts=4)) as bus,
        bus.subscribe(namespace) as events,
    ):
        yield Player(name, bus, events, namespace, tell)
