"""The command line against a scripted server: what it sends, prints, and exits with."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest
from typer.testing import CliRunner, Result

import hbus
from hbus.v1.bus_service_pb2 import (
    EventBatch,
    ListConflictsResponse,
    ResolveConflictResponse,
    SubscribeResponse,
    SubscriptionConfirmed,
)
from hbus.v1.common_pb2 import ConsistencyToken
from hbus.v1.conflict_pb2 import Conflict, ConflictSide, ConflictState, Resolution, ResolutionAction
from hbus.v1.event_pb2 import Event
from hbus.v1.memory_pb2 import Claim, Memory, MemoryState, MemoryVersion, Transition
from hbus.v1.memory_service_pb2 import (
    Decision,
    GetMemoryResponse,
    ListMemoriesResponse,
    ListMemoryVersionsResponse,
    SearchHit,
    SearchMemoriesResponse,
    WriteMemoryResponse,
)
from hindsight_bus.cli.app import app
from tests.e2e.scripted_bus import Refuse, ScriptedBus

FACTS = "user:zhangsan:facts"
CHARTS = f"namespaces/{FACTS}/memories/{'c' * 32}"
TABLES = f"namespaces/{FACTS}/memories/{'7' * 32}"
CONFLICT = f"namespaces/{FACTS}/conflicts/{'0' * 32}"
Run = Callable[..., Result]


@pytest.fixture
def bus() -> Iterator[ScriptedBus]:
    scripted = ScriptedBus()
    yield scripted
    scripted.stop()


@pytest.fixture
def run(bus: ScriptedBus) -> Run:
    """Return a function that runs one command against the scripted server."""

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(app, [*arguments], env={"HBUS_TARGET": bus.target, "HBUS_AGENT": "orders"})

    return run


def charts(state: MemoryState = MemoryState.MEMORY_STATE_OVERRIDDEN) -> Memory:
    return Memory(
        name=CHARTS,
        text="用户更喜欢柱状图",
        subject="preference.presentation",
        state=state,
        effective_confidence=0.6,
        version=1,
        claims=[Claim(speaker="agent:orders", agent="orders", confidence=0.6)],
    )


def json_lines(result: Result) -> list[Any]:
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def answer(bus: ScriptedBus, method: str, response: object) -> None:
    bus.handlers[method] = lambda request, context: response


# --- write and search ---


def test_write_says_what_became_of_it(bus: ScriptedBus, run: Run) -> None:
    """Decision, reason, state and name for a person; the options reach the request."""
    response = WriteMemoryResponse(
        decision=Decision.DECISION_STORED, memory=charts(), reason="lost against 0.85"
    )
    answer(bus, "WriteMemory", response)
    result = run("write", FACTS, "用户更喜欢柱状图", "--confidence", "0.6", "--tag", "a", "--tag", "b")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == ["stored: lost against 0.85", f"overridden  0.60  {CHARTS}"]
    [request] = bus.requests
    assert (request.memory.confidence, [*request.memory.tags]) == (0.6, ["a", "b"])
    assert bus.headers[0]["hbus-agent"] == "orders"


def test_write_prints_json(bus: ScriptedBus, run: Run) -> None:
    """One object in the JSON form of the contract, Chinese as it is."""
    answer(bus, "WriteMemory", WriteMemoryResponse(decision=Decision.DECISION_STORED, memory=charts()))
    result = run("write", FACTS, "x", "--json")
    [printed] = json_lines(result)
    assert printed["memory"]["state"] == "MEMORY_STATE_OVERRIDDEN"
    assert "用户更喜欢柱状图" in result.stdout


def test_search_shows_hits_with_their_rivals(bus: ScriptedBus, run: Run) -> None:
    """Names come out whole, so that they can be copied."""
    contested = MemoryState.MEMORY_STATE_CONTESTED
    rival = Memory(name=TABLES, text="表格", state=contested)
    hit = SearchHit(memory=charts(contested), score=0.8123, rivals=[rival])
    answer(bus, "SearchMemories", SearchMemoriesResponse(hits=[hit]))
    result = run("search", "图?", "-n", FACTS)
    assert result.exit_code == 0, result.output
    head, first, second, *names = result.stdout.splitlines()
    assert head.split() == ["#", "score", "state", "confidence", "subject", "text"]
    assert names == [f"#1  {CHARTS}", f"#2  {TABLES}"]
    assert first.split() == ["1", "0.812", "contested", "0.60", "preference.presentation", "用户更喜欢柱状图"]
    assert second.split() == ["2", "rival", "contested", "0.00", "表格"]


def test_search_keeps_notes_off_stdout(bus: ScriptedBus, run: Run) -> None:
    """Nothing found is no line of JSON; a skipped channel is told on stderr."""
    answer(bus, "SearchMemories", SearchMemoriesResponse(dense_skipped=True))
    result = run("search", "x", "-n", FACTS, "--json")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "by words only" in result.stderr


def test_a_memory_cannot_steer_the_terminal(bus: ScriptedBus, run: Run) -> None:
    """Control characters in a text are shown as what they are not."""
    evil = Memory(name=TABLES, text="\x1b]0;owned\x07\x1b[2J", state=MemoryState.MEMORY_STATE_ACTIVE)
    answer(bus, "SearchMemories", SearchMemoriesResponse(hits=[SearchHit(memory=evil)]))
    result = run("search", "x", "-n", FACTS)
    assert "owned" in result.stdout
    assert not any(ord(char) < 32 and char != "\n" for char in result.stdout)


# --- failures ---


def test_a_refusal_is_one_line_that_names_field_and_reason(bus: ScriptedBus, run: Run) -> None:
    """No traceback, nothing on stdout, exit code 1."""

    def refuse(request: Any, context: grpc.ServicerContext) -> None:
        raise Refuse(grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", field="memory.confidence")

    bus.handlers["WriteMemory"] = refuse
    result = run("write", FACTS, "x", "--confidence", "1.7")
    assert (result.exit_code, result.stdout) == (1, "")
    [line] = result.stderr.splitlines()
    assert line == "hbus: memory.confidence: INVALID_FIELD (INVALID_FIELD)"


def test_no_server_is_said_plainly(bus: ScriptedBus, run: Run) -> None:
    """With what to do about it."""
    bus.stop()
    result = run("search", "x", "-n", FACTS)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"hbus: no server answers at {bus.target}: start one with `hbus serve`")


@pytest.mark.parametrize(
    "arguments",
    [
        ("search", "x"),
        ("write", FACTS, "x", "--type", "fact"),
        ("resolve", CONFLICT),
        ("resolve", CONFLICT, "--merge", "--keep-all"),
        ("watch", FACTS, "--kind", "nonsense"),
        ("search", "x", "-n", FACTS, "--target", "https://"),
        ("nonsense",),
    ],
)
def test_wrong_use_exits_with_2(run: Run, arguments: tuple[str, ...]) -> None:
    """Before anything is sent."""
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")


# --- watch ---


def test_watch_prints_a_line_an_event(bus: ScriptedBus, run: Run) -> None:
    """JSON lines on stdout; on stderr the token to go on from."""
    answer(
        bus,
        "Subscribe",
        [
            SubscribeResponse(confirmed=SubscriptionConfirmed(token=ConsistencyToken(token="t0"))),
            SubscribeResponse(
                events=EventBatch(
                    events=[Event(kind=hbus.EventKind.EVENT_KIND_WRITTEN, memory=charts(), agent="orders")]
                    * 2,
                    token=ConsistencyToken(token="t2"),
                )
            ),
        ],
    )
    result = run("watch", "user:*:facts", "--kind", "written", "--count", "2", "--json")
    assert [event["kind"] for event in json_lines(result)] == ["EVENT_KIND_WRITTEN"] * 2
    assert "go on with: --start t2" in result.stderr
    assert [*bus.requests[0].filter.kinds] == [hbus.EventKind.EVENT_KIND_WRITTEN]
    assert not bus.requests[0].filter.HasField("min_confidence")


# --- conflicts and why ---


def conflict(state: ConflictState) -> Conflict:
    return Conflict(
        name=CONFLICT,
        subject="preference.presentation",
        state=state,
        reason="0.85 against 0.85",
        sides=[
            ConflictSide(memory=TABLES, text="表格", score=0.85, speakers=["agent:support"]),
            ConflictSide(memory=CHARTS, text="柱状图", score=0.85, speakers=["agent:orders"]),
        ],
        resolution=Resolution(
            action=ResolutionAction.RESOLUTION_ACTION_CHOOSE,
            memory=TABLES,
            agent="support",
            rationale="asked",
        ),
    )


def test_conflicts_shows_each_side(bus: ScriptedBus, run: Run) -> None:
    """One row a side, best first."""
    answer(
        bus,
        "ListConflicts",
        ListConflictsResponse(conflicts=[conflict(ConflictState.CONFLICT_STATE_OPEN)]),
    )
    result = run("conflicts", FACTS)
    assert result.exit_code == 0, result.output
    assert "agent:support" in result.stdout
    assert "agent:orders" in result.stdout
    assert result.stdout.count("open") == 1


def test_resolve_sends_the_decision(bus: ScriptedBus, run: Run) -> None:
    """The side chosen and the reason given."""
    answer(bus, "ResolveConflict", ResolveConflictResponse(memories=[charts()]))
    result = run("resolve", CONFLICT, "--choose", TABLES, "--because", "the user said so")
    assert result.exit_code == 0, result.output
    [request] = bus.requests
    assert request.action == ResolutionAction.RESOLUTION_ACTION_CHOOSE
    assert (request.memory, request.rationale) == (TABLES, "the user said so")


def test_why_tells_claims_history_and_decision(bus: ScriptedBus, run: Run) -> None:
    """Everything that led to the state, oldest first."""
    active, overridden = MemoryState.MEMORY_STATE_ACTIVE, MemoryState.MEMORY_STATE_OVERRIDDEN
    history = [
        Transition(kind="written", state_after=active, agent="orders"),
        Transition(
            kind="overridden", state_before=active, state_after=overridden, reason="0.60 against 0.85"
        ),
    ]
    version = MemoryVersion(memory=charts(), agent="orders", transitions=history)
    answer(bus, "GetMemory", GetMemoryResponse(memory=charts()))
    answer(bus, "ListMemoryVersions", ListMemoryVersionsResponse(versions=[version]))
    answer(
        bus,
        "ListConflicts",
        ListConflictsResponse(conflicts=[conflict(ConflictState.CONFLICT_STATE_RESOLVED)]),
    )
    tables = Memory(name=TABLES, text="表格", state=active, effective_confidence=0.85)
    answer(bus, "ListMemories", ListMemoriesResponse(memories=[charts(), tables]))
    told = run("why", CHARTS).stdout
    parts = [
        "用户更喜欢柱状图",
        "overridden, version 1",
        "agent:orders  0.60",
        "written",
        "0.60 against 0.85",
    ]
    parts += ["resolved", "decided", "by support: choose", "asked"]
    assert [told.find(part) for part in parts] == sorted(told.find(part) for part in parts)
    assert all(part in told for part in parts), told
    [printed] = json_lines(run("why", CHARTS, "--json"))
    assert list(printed) == ["memory", "versions", "conflicts", "holding"]


# --- the program itself ---


def python(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=30
    ).stdout


def test_help_loads_neither_grpc_nor_rich() -> None:
    """The first screen comes at once."""
    code = (
        "import sys; from hindsight_bus.cli import main; sys.argv = ['hbus', '--help']\n"
        "try: main()\n"
        "except SystemExit: print([name for name in ('grpc', 'rich', 'hbus') if name in sys.modules])"
    )
    out = python(code)
    assert "serve" in out
    assert out.splitlines()[-1] == "[]"


def test_version_is_that_of_the_distribution() -> None:
    """`hbus --version` prints it."""
    code = "import sys; from hindsight_bus.cli import main; sys.argv = ['hbus', '--version']; main()"
    import hindsight_bus

    assert python(code).strip() == f"hbus {hindsight_bus.__version__}"
