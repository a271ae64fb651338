"""What becomes of labelled pairs of statements that name no subject, on a server with its default embedder.

Each pair goes to namespaces of its own, one for each way the second statement can come in. JSON lines on standard
output, one a pair and way, then one with the totals; tables on standard error. Exit code 1 if a memory that still held
was replaced.

    python -m bench.derivation > derivation.jsonl
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, NamedTuple

import hbus
import hbus.aio
from hbus.v1.memory_pb2 import Memory
from hbus.v1.memory_service_pb2 import Decision
from hindsight_bus import logs, settings
from hindsight_bus.server import Server
from hindsight_bus.wiring import build
from tests.statement_pairs import LABELS, Pair, load

_AT_ONCE = 16
_POLL_SECONDS = 0.5
_QUIET_POLLS = 10
"""Polls without a new conflict after which suspicion is taken to have looked at everything."""
_INDEX_SECONDS = 300.0


class Way(NamedTuple):
    """Who says the second statement, and through which channel both come; the first is said by `support`."""

    name: str
    agent: str
    channel: Literal["agent", "user"]


WAYS = (
    Way("the same agent", "support", "agent"),
    Way("another agent", "travel", "agent"),
    Way("the user, through another agent", "travel", "user"),
)


class Outcome(StrEnum):
    """What the server did; the first that applies."""

    REJECTED = "rejected"
    JOINED = "joined"
    REPLACED = "replaced"
    OVERRIDDEN = "overridden"
    CONTESTED = "contested"
    LOST = "lost"
    SUSPECTED = "suspected"
    BESIDE = "beside"


_REPLACING = (Outcome.REPLACED, Outcome.OVERRIDDEN)


@dataclass(frozen=True, slots=True)
class Finding:
    """What became of one pair, come in one way."""

    pair: str
    label: str
    language: str
    way: str
    outcome: Outcome
    wrongly_replaced: bool
    subjects: tuple[str, ...]
    """Of the memories stored, as the server derived them; empty where it did not."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A pair that has been written in one way. Empty names: the gate refused that statement."""

    pair: Pair
    way: Way
    namespace: str
    first: str
    second: str
    joined: bool


@asynccontextmanager
async def served() -> AsyncIterator[str]:
    """Serve an empty store with the default settings; yield the address."""
    async with AsyncExitStack() as stack:
        directory = stack.enter_context(TemporaryDirectory(prefix="hbus-derivation-"))
        config = settings.load(data_dir=Path(directory), listen="127.0.0.1:0", log_level="warning")
        log = logs.configure(config.log_level)
        app = await build(config)
        stack.push_async_callback(app.close)
        server = Server(app, config, log)
        address = await server.start()
        stack.push_async_callback(server.stop)
        yield address


class Trials:
    """Writes pairs to a server and finds out what became of them."""

    def __init__(self, target: str, stack: AsyncExitStack) -> None:
        agents = {"support", *(way.agent for way in WAYS)}
        self._clients = {agent: hbus.aio.connect(target, agent=agent, timeout=30) for agent in agents}
        for client in self._clients.values():
            stack.push_async_callback(client.close)
        self._reader = self._clients["support"]
        self._slots = asyncio.Semaphore(_AT_ONCE)

    async def write(self, pair: Pair, way: Way) -> Trial:
        """Write both statements, one after the other."""
        namespace = f"user:{pair.id}-{WAYS.index(way)}:facts"
        async with self._slots:
            first = await self._reader.write(namespace, pair.first, channel=way.channel)
            second = await self._clients[way.agent].write(namespace, pair.second, channel=way.channel)
        joined = second.decision in (Decision.DECISION_CORROBORATED, Decision.DECISION_DUPLICATE)
        return Trial(pair, way, namespace, first.memory.name, second.memory.name, joined)

    async def settled(self, trials: Sequence[Trial]) -> None:
        """Wait until every vector is there and no more suspicions arise."""
        async with asyncio.timeout(_INDEX_SECONDS):
            conflicts, quiet = -1, 0
            while quiet < _QUIET_POLLS:
                await asyncio.sleep(_POLL_SECONDS)
                pending, found = await self._progress(trials)
                quiet = quiet + 1 if pending == 0 and found == conflicts else 0
                conflicts = found

    async def _progress(self, trials: Sequence[Trial]) -> tuple[int, int]:
        stored = [trial.namespace for trial in trials if trial.first or trial.second]
        counts = await asyncio.gather(*(self._reader.stats(namespace) for namespace in stored))
        return sum(each.pending_vectors for each in counts), sum(each.open_conflicts for each in counts)

    async def find(self, trial: Trial) -> Finding:
        """Tell what became of a trial."""
        async with self._slots:
            stored = [await self._reader.get(name) for name in (trial.first, trial.second) if name]
            outcome = await self._outcome(trial, stored)
        pair = trial.pair
        wrong = outcome in _REPLACING and not pair.may_replace
        subjects = tuple(memory.subject for memory in stored)
        return Finding(pair.id, pair.label, pair.language, trial.way.name, outcome, wrong, subjects)

    async def _outcome(self, trial: Trial, stored: Sequence[Memory]) -> Outcome:
        match [hbus.label(hbus.MemoryState, memory.state) for memory in stored]:
            case [] | [_]:
                return Outcome.REJECTED
            case ["superseded", _]:
                return Outcome.REPLACED
            case ["overridden", _]:
                return Outcome.OVERRIDDEN
            case ["contested", _]:
                return Outcome.CONTESTED
            case [_, "overridden"]:
                return Outcome.LOST
        if trial.joined:
            return Outcome.JOINED
        async for _ in self._reader.conflicts(trial.namespace, states=["suspected"]):
            return Outcome.SUSPECTED
        return Outcome.BESIDE


async def measure(target: str, pairs: Iterable[Pair]) -> list[Finding]:
    """Put every pair to the server in every way. Its namespaces `user:<pair>-<way>:facts` must be empty."""
    async with AsyncExitStack() as stack:
        trials = Trials(target, stack)
        written = await asyncio.gather(*(trials.write(pair, way) for pair in pairs for way in WAYS))
        await trials.settled(written)
        return await asyncio.gather(*map(trials.find, written))


def table(title: str, findings: Sequence[Finding], row: Callable[[Finding], str]) -> str:
    """Return a Markdown table: a line for each ``row``, a column for each outcome."""
    counts = Counter((row(each), each.outcome) for each in findings)
    shown = [outcome for outcome in Outcome if any(each.outcome == outcome for each in findings)]
    lines = [f"| {title} | {' | '.join(shown)} |", "| --- |" + " ---: |" * len(shown)]
    for name in dict.fromkeys(map(row, findings)):
        lines.append(f"| {name} | {' | '.join(str(counts[name, outcome]) for outcome in shown)} |")
    return "\n".join(lines) + "\n"


def report(findings: Sequence[Finding]) -> None:
    """Print lines and tables."""
    for finding in findings:
        print(json.dumps(asdict(finding), ensure_ascii=False))
    wrong = sum(finding.wrongly_replaced for finding in findings)
    print(json.dumps({"findings": len(findings), "wrongly_replaced": wrong}))
    ordered = sorted(findings, key=lambda finding: (LABELS.index(finding.label), finding.language))
    for way in WAYS:
        mine = [finding for finding in ordered if finding.way == way.name]
        print(table(way.name, mine, lambda finding: finding.label), file=sys.stderr)
        print(table(way.name, mine, lambda finding: f"{finding.label}, {finding.language}"), file=sys.stderr)
    print(f"Memories that still held and were replaced: {wrong}", file=sys.stderr)


async def run(target: str | None) -> int:
    """Measure against ``target``, or a server of its own; return the exit code."""
    pairs = load()
    if target is not None:
        findings = await measure(target, pairs)
    else:
        async with served() as address:
            findings = await measure(address, pairs)
    report(findings)
    return int(any(finding.wrongly_replaced for finding in findings))


def main() -> int:
    """Run as a program."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--target", metavar="HOST:PORT", help="a running server with an empty store")
    return asyncio.run(run(parser.parse_args().target))


if __name__ == "__main__":
    sys.exit(main())
