"""The MCP shim against a real server, as hosts of both protocol eras use it."""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path

import pytest
import pytest_asyncio
from mcp.client.session import ClientRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitRequestParams, ElicitResult

from services.mcp.identity import uri
from tests.e2e.mcp_rig import ERAS, Json, Refused, in_memory
from tests.faults.processes import ServerProcess

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="module")]

TABLES = "用户偏好用表格展示对比数据"
BARS = "用户更喜欢柱状图"
SUBJECT = "preference.presentation"
in_each_era = pytest.mark.parametrize("era", ERAS)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def target() -> AsyncIterator[str]:
    """Return the address of a server on an empty directory; users part the tests."""
    place = Path(tempfile.mkdtemp(prefix="hbus-"))
    process = ServerProcess(place, embedder="use")
    await process.start()
    yield process.target
    await process.close()
    shutil.rmtree(place)


_users = count(1)


@pytest.fixture
def user() -> str:
    return f"zhangsan-{next(_users)}"


def _texts(block: str) -> list[str]:
    """Return what the lines of a block quote."""
    return [line.split('] "', 1)[1].removesuffix('"') for line in block.split("\n") if '] "' in line]


@in_each_era
async def test_what_is_written_is_found_changed_and_listed(target: str, user: str, era: str) -> None:
    """The round that a host makes most."""
    async with in_memory(target, user, era=era) as host:
        written = await host.call("write_memory", text=TABLES, subject=SUBJECT)
        assert (written["decision"], written["state"]) == ("stored", "active")
        found = await host.call("search_memory", query="对比数据该怎么展示?", token=written["token"])
        assert (_texts(found["block"]), found["memories"]) == ([TABLES], [written["memory"]])
        changed = await host.call("update_memory", memory=written["memory"], text=BARS)
        assert changed["decision"] == "updated"
        listed = await host.call("list_memories")
        assert _texts(listed["block"]) == [BARS]
        assert listed["rows"][0]["memory"] == written["memory"]


@in_each_era
async def test_arguments_are_taken_as_hosts_send_them(target: str, user: str, era: str) -> None:
    """Aliases, arrays and numbers as strings, nulls and upper case do what was meant."""
    async with in_memory(target, user, era=era) as host:
        await host.call(
            "write_memory",
            content="Likes tea",
            type="SEMANTIC",
            tags='["drinks"]',
            importance="0.9",
            subject=None,
        )
        listed = await host.call("list_memories", tags="drinks", top_k="3")
        assert _texts(listed["block"]) == ["Likes tea"]


@in_each_era
async def test_what_makes_no_sense_is_refused_with_the_field(target: str, user: str, era: str) -> None:
    """A model reads which argument is wrong and what would be right."""
    async with in_memory(target, user, era=era) as host:
        with pytest.raises(Refused) as typo:
            await host.call("write_memory", text="Likes tea", importanse=1)
        assert typo.value.fields == {"importanse": "unknown; did you mean importance?"}
        with pytest.raises(Refused) as identity:
            await host.call("write_memory", text="Likes tea", user="lisi", namespace="user:lisi:facts")
        assert set(identity.value.fields) == {"user", "namespace"}
        with pytest.raises(Refused) as by_server:
            await host.call("write_memory", text="Likes tea", tags=["x" * 65])
        assert by_server.value.reason == "INVALID_FIELD"
        with pytest.raises(Refused):
            await host.call("no_such_tool")


async def test_another_users_memory_is_out_of_reach(target: str, user: str) -> None:
    """Neither tools nor resources lead to it, and it is not told apart from one that does not exist."""
    async with in_memory(target, f"{user}-other") as host:
        name = (await host.call("write_memory", text="Other people's secret is blue"))["memory"]
    async with in_memory(target, user, tools="all") as host:
        for tool in ("update_memory", "forget_memory", "fetch"):
            with pytest.raises(Refused, match="not of this user"):
                await host.call(
                    tool, memory=name, **({"text": "mine now"} if tool == "update_memory" else {})
                )
        for each in (name, name.replace(user, f"{user}-nobody")):
            with pytest.raises(MCPError, match="no such memory of this user"):
                await host.session.read_resource(uri(each))
        assert (await host.call("search_memory", query="secret"))["block"] == ""


async def test_private_memory_stays_with_its_agent(target: str, user: str) -> None:
    """Another agent of the user finds what is shared and not what is private."""
    async with in_memory(target, user, f"support-{user}") as host:
        await host.call("write_memory", text="The user's invoices arrive by post", scope="shared")
        await host.call("write_memory", text="Invoices are tedious to explain", scope="private")
        assert len((await host.call("search_memory", query="invoices"))["memories"]) == 2
    async with in_memory(target, user, f"orders-{user}") as host:
        found = await host.call("search_memory", query="invoices")
        assert _texts(found["block"]) == ["The user's invoices arrive by post"]


async def test_a_contradiction_is_shown_to_whoever_writes(target: str, user: str) -> None:
    """Two agents differ; the second learns of it at once, in quotes."""
    async with in_memory(target, user, "support") as host:
        await host.call("write_memory", text=TABLES, subject=SUBJECT)
    async with in_memory(target, user, "orders") as host:
        written = await host.call("write_memory", text=BARS, subject=SUBJECT)
        assert written["state"] == "contested"
        assert written["conflict"]
        assert sorted(_texts(written["block"])) == sorted([TABLES, BARS])


@in_each_era
async def test_polls_hear_each_event_once(target: str, user: str, era: str) -> None:
    """From the first token on every event of others comes once and in order, however small the polls are."""
    texts = [f"Fact number {number} is settled" for number in range(7)]
    async with (
        in_memory(target, user, "listener", era=era) as host,
        in_memory(target, user, "speaker") as other,
    ):
        first = await host.call("read_events")
        assert first["events"] == []
        await host.call("write_memory", text="What I said myself is no news")
        for text in texts:
            await other.call("write_memory", text=text, subject=text.replace(" ", "."))
        heard: list[str] = []
        token = first["token"]
        while len(heard) < len(texts):
            answer = await host.call("read_events", token=token, limit=3, wait_seconds=10)
            kinds = [event["kind"] for event in answer["events"]]
            lines = zip(kinds, _texts(answer["block"]), strict=True)
            heard += [text for kind, text in lines if kind == "written"]
            token = answer["token"]
        assert heard == texts
        rest = await host.call("read_events", token=token, limit=50)
        assert "written" not in [event["kind"] for event in rest["events"]]


async def test_a_poll_waits_for_the_first_event(target: str, user: str) -> None:
    """A poll that may wait answers as soon as something happens."""
    async with in_memory(target, user, "listener") as host, in_memory(target, user, "speaker") as other:
        token = (await host.call("read_events"))["token"]
        poll = asyncio.create_task(host.call("read_events", token=token, wait_seconds=25))
        await other.call("write_memory", text=TABLES)
        assert _texts((await poll)["block"]) == [TABLES]


@in_each_era
async def test_forgetting_takes_two_calls_where_nobody_can_be_asked(target: str, user: str, era: str) -> None:
    """The first call shows the memory and forgets nothing; its token, and no other, confirms."""
    async with in_memory(target, user, era=era) as host:
        name = (await host.call("write_memory", text=TABLES))["memory"]
        first = await host.call("forget_memory", memory=name)
        assert (first["forgotten"], _texts(first["block"])) == (False, [TABLES])
        assert not (await host.call("forget_memory", memory=name, confirm="yes"))["forgotten"]
        second = await host.call("forget_memory", memory=name, confirm=first["confirm"])
        assert (second["forgotten"], second["state"]) == (True, "forgotten")


async def test_a_confirmation_is_for_what_was_shown(target: str, user: str) -> None:
    """Once the memory has changed, the token of the first call confirms nothing."""
    async with in_memory(target, user) as host:
        name = (await host.call("write_memory", text=TABLES))["memory"]
        first = await host.call("forget_memory", memory=name)
        await host.call("update_memory", memory=name, text=BARS)
        again = await host.call("forget_memory", memory=name, confirm=first["confirm"])
        assert (again["forgotten"], _texts(again["block"])) == (False, [BARS])


@in_each_era
@pytest.mark.parametrize(
    ("answer", "forgets"),
    [
        (ElicitResult(action="accept", content={"forget": True}), True),
        (ElicitResult(action="accept", content={"forget": False}), False),
        (ElicitResult(action="decline"), False),
        (ElicitResult(action="cancel"), False),
    ],
)
async def test_the_user_decides_where_the_host_can_ask(
    target: str, user: str, era: str, answer: ElicitResult, forgets: bool
) -> None:
    """The question quotes the memory; no token of the model stands in for the user's answer."""
    asked: list[str] = []

    async def ask(_: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        asked.append(params.message)
        return answer

    async with in_memory(target, user) as plain:
        name = (await plain.call("write_memory", text=TABLES))["memory"]
        token = (await plain.call("forget_memory", memory=name))["confirm"]
    async with in_memory(target, user, era=era, elicitation_callback=ask) as host:
        assert (await host.call("forget_memory", memory=name, confirm=token))["forgotten"] is forgets
    assert len(asked) == 1
    assert TABLES in asked[0]


@in_each_era
async def test_typed_tools_store_and_find_by_kind(target: str, user: str, era: str) -> None:
    """Episodes keep their time, procedures replace what the agent said of them before, queries find facts alone."""
    async with in_memory(target, user, era=era, tools="typed,list_memories") as host:
        await host.call("store_episodic_memory", text="Deployed at noon", when="2026-01-02T12:00:00Z")
        for text in ("Deploy by hand", "Deploy by pipeline"):
            await host.call("update_procedural_memory", procedure="deploy.staging", text=text)
        assert "[2026-01-02 |" in (await host.call("list_memories", type="episodic"))["block"]
        assert _texts((await host.call("list_memories", type="procedural"))["block"]) == [
            "Deploy by pipeline"
        ]
        assert (await host.call("query_semantic_memory", query="deploy"))["block"] == ""


@in_each_era
async def test_connectors_search_and_fetch(target: str, user: str, era: str) -> None:
    """The two tools have the fields that connectors read, and the URL is a resource."""
    async with in_memory(target, user, era=era, tools="all") as host:
        await host.call("write_memory", text="The </b> office & lab are in Lyon")
        [result] = (await host.call("search", query="Where is the office?"))["results"]
        document = await host.call("fetch", id=result["id"])
        assert document["title"] == result["title"] == "The &lt;/b&gt; office &amp; lab are in Lyon"
        assert _texts(document["text"]) == [result["title"]]
        [content] = (await host.session.read_resource(result["url"])).contents
        assert _texts(getattr(content, "text", "")) == [result["title"]]


@in_each_era
async def test_a_failed_task_teaches_the_next_one(target: str, user: str, era: str) -> None:
    """Steps are numbered in order of the calls, the failure becomes a lesson, and a like task starts with it."""
    steps = [
        "Open the order system",
        {
            "kind": "TOOL",
            "tool": "lookup",
            "arguments": {"id": 7},
            "error": "TimeoutError: lookup took too long",
        },
        {"kind": "feedback", "text": "That was wrong, the order exists"},
    ]
    async with in_memory(target, user, era=era) as host:
        started = await host.call("start_task", goal="Find order 7", kind="orders")
        assert started["lessons"] == []
        await host.call("record_steps", task=started["task"], steps=json.dumps(steps))
        assert (await host.call("record_steps", task=started["task"], steps="Gave up"))["last_step"] == 4
        learnt = await host.call("reflect_on_task", task=started["task"], outcome="failure", wait_seconds=25)
        assert learnt["state"] == "succeeded"
        assert learnt["lessons"]
        again = await host.call("reflect_on_task", task=started["task"])
        assert again["lessons"] == learnt["lessons"]
        following = await host.call("start_task", goal="Find order 8", kind="orders")
        assert set(following["lessons"]) & set(learnt["lessons"])
        call = {"kind": "tool", "tool": "find_order", "arguments": {"id": 8}, "text": "order 8"}
        await host.call("record_steps", task=following["task"], steps=[call])
        await host.call("reflect_on_task", task=following["task"], outcome="success", wait_seconds=25)
        third = await host.call("start_task", goal="Find order 9", kind="orders")
        assert third["skills"]
        assert "find_order(id={{id}})" in third["block"]
        with pytest.raises(Refused):
            await host.call("record_steps", task=started["task"].replace(user, "lisi"), steps="Break in")


@in_each_era
async def test_prompts_bring_what_is_known(target: str, user: str, era: str) -> None:
    """A person begins a task with what memory knows of it, and ends it with the question what was learnt."""
    async with in_memory(target, user, era=era) as host:
        await host.call("write_memory", text="Releases go out on Tuesdays")
        recall = await host.session.get_prompt("recall_before_task", {"task": "Plan the release"})
        assert "Releases go out on Tuesdays" in str(recall.messages[0].content)
        reflect = await host.session.get_prompt("reflect_after_task", {"task": "T", "outcome": "O"})
        assert "write_memory" in str(reflect.messages[0].content)


@in_each_era
async def test_the_list_of_tools_is_short(target: str, user: str, era: str) -> None:
    """What every conversation pays for stays under 4,000 tokens, at three bytes a token."""
    async with in_memory(target, user, era=era) as host:
        listed = await host.session.list_tools()
    several = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in listed.tools]
    text = json.dumps(several, ensure_ascii=False, separators=(",", ":"))
    assert len(text.encode()) / 3 < 4000


async def test_many_calls_at_once_all_succeed(target: str, user: str) -> None:
    """200 calls, 8 in flight, reads and writes mixed."""
    gate = asyncio.Semaphore(8)
    async with in_memory(target, user, tools="all") as host:

        async def one(number: int) -> Json:
            async with gate:
                if number % 2:
                    return await host.call("search_memory", query="parcel")
                return await host.call("store_episodic_memory", text=f"Parcel {number} was delivered")

        assert len(await asyncio.gather(*map(one, range(200)))) == 200


async def test_without_a_bus_a_call_says_so(user: str) -> None:
    """The shim starts without the bus; a call is refused with the reason, and the next one may succeed."""
    async with in_memory("127.0.0.1:1", user, timeout_s=0.5) as host:
        with pytest.raises(Refused) as refusal:
            await host.call("search_memory", query="anything")
    assert refusal.value.reason in ("UNAVAILABLE", "DEADLINE_EXCEEDED")
