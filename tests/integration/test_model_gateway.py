"""The gateway asks real HTTP servers through the real library; whatever they do, an answer comes back, or none."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
from structlog.testing import capture_logs

from hindsight_bus.adapters.llm.config import ModelProvider
from hindsight_bus.adapters.llm.gateway import CallReport, Gateway, Report
from hindsight_bus.adapters.memory.model import FakeLedger
from hindsight_bus.domain.errors import StoreUnavailable
from hindsight_bus.domain.names import Namespace
from hindsight_bus.ports import ModelRequest
from tests.model_server import (
    Behaviour,
    ModelServer,
    Response,
    answers,
    echoes,
    fails,
    refuses_formats,
    says,
    writes,
)

pytestmark = pytest.mark.integration

NAMESPACE = Namespace.parse("user:zhangsan:lessons", "default")
SCHEMA = {
    "type": "object",
    "properties": {"advice": {"type": "string", "minLength": 1, "maxLength": 40}, "steps": {"type": "array"}},
    "required": ["advice", "steps"],
    "additionalProperties": False,
}
GOOD = {"advice": "refresh the token", "steps": [2]}
SECRET = "sk-do-not-tell"
MARKER = "the-material-of-the-question"

Open = Callable[..., Awaitable[Gateway]]


def question(material: str = MARKER, **fields: Any) -> ModelRequest:
    given: dict[str, Any] = {"timeout_s": 8.0} | fields
    return ModelRequest("reflect", 1, "Say what to do.", material, SCHEMA, NAMESPACE, **given)


@pytest.fixture
async def ask(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Open]:
    """Return a function that opens a gateway over servers with these scripts, named a, b, c..."""
    monkeypatch.setenv("MODEL_KEY", SECRET)
    monkeypatch.setenv("OPENAI_ORG_ID", "an-organisation-of-openai")
    async with AsyncExitStack() as stack:

        async def opened(*scripts: Behaviour | list[Behaviour] | ModelServer, **config: Any) -> Gateway:
            providers = []
            for name, script in zip("abcd", scripts, strict=False):
                server = script if isinstance(script, ModelServer) else _server(script)
                await stack.enter_async_context(server.running())
                given = {"name": name, "base_url": server.url, "model": "m", "key_env": "MODEL_KEY"} | config
                providers.append(ModelProvider(**given))
            gateway = Gateway(providers, FakeLedger())
            stack.push_async_callback(gateway.close)
            return gateway

        yield opened


def _server(script: Behaviour | list[Behaviour]) -> ModelServer:
    return ModelServer(*(script if isinstance(script, list) else [script]))


async def test_an_answer_by_schema(ask: Open) -> None:
    """One call, held to the schema, with its key; what it took is counted and charged."""
    server = ModelServer(says(GOOD))
    gateway = await ask(server, input_price=2.0, output_price=10.0)
    reports: list[Report] = []
    gateway.listeners.append(reports.append)
    answer = await gateway.answer(question())
    assert (answer.value, answer.model, answer.is_cached, answer.problems) == (GOOD, "a/m", False, ())
    usage = answer.usage
    assert (usage.calls, usage.input_tokens, usage.output_tokens) == (1, 100, 10)
    assert usage.cost == pytest.approx(0.0003)
    assert await gateway.spent(NAMESPACE) == usage
    [body], [headers] = server.asked, server.headers
    assert body["response_format"]["json_schema"]["strict"] is True
    assert "maxLength" not in json.dumps(body)
    assert headers["authorization"] == f"bearer {SECRET}"
    assert headers["path"] == "/v1/chat/completions"
    assert "openai-organization" not in headers
    assert [report.outcome for report in reports] == ["ok", "fresh"]


async def test_an_equal_question_is_answered_from_the_cache(ask: Open) -> None:
    """At no cost; another version of the prompt, other material or another namespace is another question."""
    server = ModelServer(says(GOOD))
    gateway = await ask(server)
    await gateway.answer(question())
    again = await gateway.answer(question())
    assert (again.value, again.model, again.is_cached, again.usage.calls) == (GOOD, "a/m", True, 0)
    assert len(server.asked) == 1
    await gateway.answer(question("other"))
    assert len(server.asked) == 2


async def test_a_cache_that_is_away_costs_a_call_and_nothing_else(ask: Open) -> None:
    """The answer comes all the same."""

    class Away(FakeLedger):
        async def recall(self, namespace: Namespace, key: str) -> bytes | None:
            raise StoreUnavailable

        async def remember(self, namespace: Namespace, key: str, answer: bytes) -> None:
            raise StoreUnavailable

    gateway = await ask(says(GOOD))
    away = Gateway([provider.config for provider in gateway._providers], Away())
    answer = await away.answer(question())
    await away.close()
    assert answer.value == GOOD


# --- what goes wrong -----------------------------------------------------------------------------------------------

BAD: dict[str, Behaviour] = {
    "429": fails(429, retry_after="60"),
    "500": fails(500),
    "no-key": fails(401),
    "no-model": fails(404),
    "empty": writes(""),
    "null": writes(None),
    "echo": echoes,
    "wrong-shape": says({"advise": "x"}),
    "a-list": says([GOOD]),
    "prose": writes("I would refresh the token first."),
    "refusal": writes(None, refusal="I cannot help with that"),
    "filtered": writes(None, "content_filter"),
    "no-choices": lambda _: Response({"object": "chat.completion", "choices": []}),
    "not-a-completion": lambda _: Response(["what"]),
    "html": lambda _: Response(b"<html>welcome</html>", headers={"content-type": "text/html"}),
    "not-json": lambda _: Response(b"{oops"),
    "cut-off": lambda _: Response(b'{"choices": [', declared_bytes=1000),
    "redirect": lambda _: Response({}, 307, {"location": "http://127.0.0.1:9/v1/chat/completions"}),
    "deep": writes("[" * 50_000),
    "surrogates": lambda _: Response(b'{"choices":[{"message":{"content":"\\ud800"}}]}'),
}


@pytest.mark.parametrize("behaviour", BAD.values(), ids=BAD)
async def test_a_provider_that_fails_gives_way_to_the_next(ask: Open, behaviour: Behaviour) -> None:
    """The next one's answer counts, and the problem names the first. Neither key nor content gets into the log."""
    gateway = await ask(behaviour, says(GOOD))
    with capture_logs() as lines:
        answer = await gateway.answer(question())
    assert (answer.value, answer.model) == (GOOD, "b/m")
    assert answer.problems[0].startswith("a: ")
    told = json.dumps([lines, answer.problems], default=str)
    assert SECRET not in told
    assert MARKER not in told


@pytest.mark.parametrize("behaviour", BAD.values(), ids=BAD)
async def test_when_all_fail_the_answer_is_a_marked_default(ask: Open, behaviour: Behaviour) -> None:
    """No exception: no value, the reasons, and what it took. At most three providers, and one of them asked twice."""
    servers = [_server(behaviour) for _ in range(4)]
    gateway = await ask(*servers)
    answer = await gateway.answer(question())
    assert answer.value is None
    assert answer.model == ""
    assert {problem[0] for problem in answer.problems} == {"a", "b", "c"}
    assert answer.usage.calls == sum(len(server.asked) for server in servers) <= 4
    assert not servers[3].asked


async def test_a_slow_provider_gives_way_in_time(ask: Open) -> None:
    """Its own time-out bounds a call, and the question's bounds all of them."""
    slow = ModelServer()
    slow.script = [slow.hangs]
    gateway = await ask(slow, says(GOOD), timeout_seconds=0.3)
    answer = await gateway.answer(question())
    assert (answer.model, answer.problems) == ("b/m", ("a: timed out",))
    alone = ModelServer()
    alone.script = [alone.hangs]
    gateway = await ask(alone)
    answer = await gateway.answer(question(timeout_s=0.5))
    assert answer.value is None
    assert set(answer.problems) == {"a: timed out"}


async def test_a_busy_provider_is_asked_again_after_the_pause_that_it_wants(ask: Open) -> None:
    """Where nobody else answers and the deadline allows it; not where the pause would eat it up."""
    server = ModelServer(fails(429, retry_after="0.3"), says(GOOD))
    gateway = await ask(server)
    answer = await gateway.answer(question())
    assert (answer.value, answer.usage.calls) == (GOOD, 2)
    server = ModelServer(fails(429, retry_after="30"), says(GOOD))
    gateway = await ask(server)
    answer = await gateway.answer(question())
    assert (answer.value, answer.usage.calls) == (None, 1)


async def test_a_broken_provider_is_left_alone_for_a_while(ask: Open) -> None:
    """After failures in a row the next question does not even call it; its status says why."""
    server = ModelServer(fails(401))
    gateway = await ask(server, says(GOOD))
    for number in range(3):
        assert (await gateway.answer(question(f"question {number}"))).model == "b/m"
    assert len(server.asked) == 1
    first, second = await gateway.statuses(probe=False)
    assert (first.name, first.problem, first.pause_s > 0) == ("a/m", "refused the key (HTTP 401)", True)
    assert (second.problem, second.pause_s) == ("", 0)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(GOOD)[:-1],
        "```json\n" + json.dumps(GOOD) + "\n```",
        '<think>a {"brace"}</think>' + json.dumps(GOOD),
        str(GOOD),
        json.dumps(GOOD)[:-1] + ",}",
        '{"advice": "refresh\\u0000 the\\u202e token", "steps": [2]}',
    ],
    ids=["truncated", "fenced", "thoughts", "single quotes", "comma", "control characters"],
)
async def test_what_is_nearly_json_is_repaired(ask: Open, text: str) -> None:
    """At no further call; what nobody sees is gone from it."""
    gateway = await ask(writes(text))
    answer = await gateway.answer(question())
    assert (answer.value, answer.usage.calls) == (GOOD, 1)


async def test_an_answer_that_does_not_fit_is_asked_for_once_more(ask: Open) -> None:
    """With what is wrong with it; both calls count."""
    server = ModelServer(says({"advice": "x" * 50, "steps": [2]}), says(GOOD))
    gateway = await ask(server)
    answer = await gateway.answer(question())
    assert (answer.value, answer.usage.calls) == (GOOD, 2)
    *_, said, again = server.asked[1]["messages"]
    assert said["role"] == "assistant"
    assert "$.advice" in again["content"]


async def test_a_provider_that_refuses_schemas_is_told_in_words(ask: Open) -> None:
    """It is held to a JSON object, then to nothing but its instructions, and remembered as such once it answers."""
    server = ModelServer(refuses_formats("json_schema", "json_object", then=says(GOOD)))
    gateway = await ask(server)
    answer = await gateway.answer(question())
    assert (answer.value, answer.usage.calls) == (GOOD, 3)
    assert "additionalProperties" in server.asked[-1]["messages"][0]["content"]
    await gateway.answer(question("another"))
    assert len(server.asked) == 4
    assert [status.mode for status in await gateway.statuses(probe=False)] == ["text"]


async def test_a_question_that_no_format_mends_does_not_loosen_a_provider(ask: Open) -> None:
    """A prompt that is too long, say: the next question is held to the schema again."""
    server = ModelServer(fails(400), fails(400), fails(400), says(GOOD))
    gateway = await ask(server, says(GOOD))
    await gateway.answer(question())
    first, _ = await gateway.statuses(probe=False)
    assert first.mode == "json_schema"


async def test_control_characters_are_not_sent(ask: Open) -> None:
    """Nor what nobody sees."""
    server = ModelServer(says(GOOD))
    gateway = await ask(server)
    await gateway.answer(question("a\x00b\u202ec\u200bd\ne"))
    assert server.asked[0]["messages"][1]["content"] == "abcd\ne"


async def test_a_probe_asks_each_provider(ask: Open) -> None:
    """Those that answer have no problem afterwards; nothing is cached, so a second probe asks again."""
    good = ModelServer(says({"ok": True}))
    gateway = await ask(good, says({"ok": "perhaps"}), fails(500))
    await gateway.statuses(probe=True)
    assert [status.problem for status in await gateway.statuses(probe=True)] == [
        "",
        "its answer does not fit the schema",
        "failed (HTTP 500)",
    ]
    assert len(good.asked) == 2


async def test_without_providers_there_is_no_answer(ask: Open) -> None:
    """At once, and it says so."""
    gateway = await ask()
    answer = await gateway.answer(question())
    assert (answer.value, answer.problems, gateway.names) == (None, ("no model is configured",), [])


async def test_a_schema_that_is_none_is_a_mistake_of_the_caller(ask: Open) -> None:
    """Found before anybody is asked."""
    server = ModelServer(says(GOOD))
    gateway = await ask(server)
    wrong = ModelRequest("reflect", 1, "", "", {"type": "objekt"}, NAMESPACE)
    with pytest.raises(ValueError, match="not a JSON Schema"):
        await gateway.answer(wrong)
    assert not server.asked


async def test_many_questions_at_once(ask: Open) -> None:
    """Each gets its own answer, and every call is reported."""
    server = ModelServer(answers(lambda asked: GOOD | {"steps": [asked["messages"][1]["content"]]}))
    gateway = await ask(server)
    reports: list[Report] = []
    gateway.listeners.append(reports.append)
    given = await asyncio.gather(*(gateway.answer(question(str(n))) for n in range(20)))
    assert [answer.value and answer.value["steps"] for answer in given] == [[str(n)] for n in range(20)]
    assert sum(isinstance(report, CallReport) for report in reports) == 20
