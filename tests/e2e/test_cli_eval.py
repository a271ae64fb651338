"""``hbus eval`` against a real server."""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from typer.testing import CliRunner, Result

from hindsight_bus.cli.app import app
from tests.faults.processes import ServerProcess

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="module")]


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """Return a directory with a short path (UNIX sockets allow 107 bytes)."""
    path = Path(tempfile.mkdtemp(prefix="hbus-"))
    yield path
    shutil.rmtree(path)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(place: Path) -> AsyncIterator[ServerProcess]:
    process = ServerProcess(place, embedder="use")
    await process.start()
    yield process
    await process.close()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a labelled data set: two people, a chain of tools that replace each other, and what must not come."""
    memories: list[dict[str, Any]] = [
        {"id": "tea", "namespace": "li", "text": "Li drinks green tea", "event_time": "2026-05-02T08:00:00Z"},
        {"id": "piano", "namespace": "wang", "text": "王先生每天练习钢琴"},
        {"id": "old", "namespace": "li", "text": "The linter is TSLint", "type": "semantic", "subject": "linter"},
        {
            "id": "new", "namespace": "li", "text": "The linter is Biome", "type": "semantic", "subject": "linter",
            "supersedes": ["old"], "aliases": ["biome"],
        },
    ]  # fmt: skip
    queries: list[dict[str, Any]] = [
        {
            "namespace": "li",
            "text": "What does Li drink?",
            "relevant": ["tea"],
            "never": ["piano"],
            "answer": "green tea",
        },
        {"namespace": ["li", "wang"], "text": "练习钢琴", "relevant": ["piano"], "group": "zh"},
        {"namespace": "li", "text": "linter Biome", "relevant": ["new"], "never": ["old"]},
        {"namespace": "nobody", "text": "anything"},
    ]
    path = tmp_path / "demo.jsonl"
    lines = [{"memory": each} for each in memories] + [{"query": each} for each in queries]
    path.write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in lines), "utf-8")
    return path


async def evaluate(server: ServerProcess, *arguments: object) -> Result:
    command = ["eval", "run", *map(str, arguments)]
    return await asyncio.to_thread(CliRunner().invoke, app, command, env={"HBUS_TARGET": server.target})


async def test_a_run_loads_asks_and_reports(server: ServerProcess, data: Path, tmp_path: Path) -> None:
    """Every question is judged; results come as JSON, as a table and as a page; a second run loads nothing anew."""
    page = tmp_path / "report.html"
    result = await evaluate(server, data, "--json", "--html", page)
    assert result.exit_code == 0, result.output
    rows = {row["set"]: row for row in map(json.loads, result.stdout.splitlines())}
    assert rows["demo"]["queries"] == 3
    assert rows["demo"]["recall"]["10"] == 1.0
    assert rows["demo"]["violations"] == 0
    assert rows["demo zh"]["mrr"] == 1.0
    assert rows["demo"]["utilisation"] is None
    assert "<svg" in page.read_text("utf-8")
    assert rows["demo (all)"]["queries"] == 4
    again = await evaluate(server, data, "--misses")
    assert again.exit_code == 0, again.output
    assert "demo zh" in again.stdout
    assert "question" in again.stdout.splitlines()[-1]


async def test_what_missed_is_listed(server: ServerProcess, tmp_path: Path) -> None:
    """With --misses each question is named that brought too little, with what is missing, or what must not come."""
    lines: list[dict[str, Any]] = [
        {
            "memory": {
                "id": "fence",
                "namespace": "li",
                "text": "The garden fence is green",
                "type": "semantic",
            }
        },
        {"memory": {"id": "moon", "namespace": "li", "text": "碳化钨的熔点是两千八百度", "type": "semantic"}},
        {"query": {"namespace": "li", "text": "garden fence", "relevant": ["fence", "moon"]}},
        {"query": {"namespace": "li", "text": "Is the garden fence green?"}},
    ]
    path = tmp_path / "hard.jsonl"
    path.write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in lines), "utf-8")
    result = await evaluate(server, path, "--misses")
    assert result.exit_code == 0, result.output
    [few, many] = result.stdout.splitlines()[-2:]
    assert few.split() == ["hard", "garden", "fence", "moon"]
    assert many.split() == ["hard", "Is", "the", "garden", "fence", "green?", "fence"]


async def test_utilisation_is_what_answers_used(server: ServerProcess, data: Path) -> None:
    """With --usage the data's answers are reported, and the share of what came back that they used is shown."""
    result = await evaluate(server, data, "--json", "--usage")
    assert result.exit_code == 0, result.output
    rows = {row["set"]: row for row in map(json.loads, result.stdout.splitlines())}
    assert 0.0 < rows["demo"]["utilisation"] <= 1.0


async def test_bad_data_is_refused(server: ServerProcess, tmp_path: Path) -> None:
    """A line that is wrong is named, and a set without questions measures nothing."""
    for content, problem in (('{"query": {}}', "line 1"), ("", "no question")):
        path = tmp_path / "bad.jsonl"
        path.write_text(content)
        result = await evaluate(server, path)
        assert result.exit_code == 1
        assert problem in result.stderr


async def test_calibration_tells_answers_from_noise(tmp_path: Path) -> None:
    """Weights of a profile are fitted on labelled questions, without a server; without labels nothing is."""
    lines: list[dict[str, Any]] = []
    for owner, things in (
        ("li", ("tea", "piano", "hiking", "poems")),
        ("wang", ("chess", "coffee", "maps", "trains")),
    ):
        for thing in things:
            memory = {
                "id": thing,
                "namespace": owner,
                "text": f"The {owner} family is fond of {thing} at the weekend",
            }
            query = {"namespace": owner, "text": f"Who enjoys {thing}?", "relevant": [thing]}
            lines += [{"memory": memory}, {"query": query}]
    path = tmp_path / "labelled.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    command = ["eval", "calibrate", str(path), "--embedder", "use", "--json"]
    result = await asyncio.to_thread(CliRunner().invoke, app, command)
    assert result.exit_code == 0, result.output
    fitted = json.loads(result.stdout)
    assert (fitted["profile"], fitted["answering"], fitted["silent"]) == ("use", 8, 8)
    assert fitted["weights"]["lexical"] > 0.0
    assert 0.0 < fitted["weights"]["floor"] < 1.0
    command.remove("--json")
    shown = await asyncio.to_thread(CliRunner().invoke, app, command)
    assert '"use": Calibration(backgrounds=' in shown.stdout, shown.output
    path.write_text(json.dumps(lines[1] | {"query": lines[1]["query"] | {"relevant": []}}))
    bare = await asyncio.to_thread(CliRunner().invoke, app, command)
    assert bare.exit_code == 1
    assert "no question" in bare.stderr
