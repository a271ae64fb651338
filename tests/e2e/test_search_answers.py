"""What a search brings back and what it leaves out, on a real server with the ``use`` embedder."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import count

import pytest
import pytest_asyncio

import hbus.aio
from hbus.v1.memory_service_pb2 import SearchMemoriesResponse
from hindsight_bus.domain.tokens import estimated_tokens
from tests.faults.processes import ServerProcess

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="session")]

_owners = count(1)


@pytest_asyncio.fixture(loop_scope="session")
async def bus(shared_server: ServerProcess) -> AsyncIterator[hbus.aio.Client]:
    async with hbus.aio.connect(shared_server.target, agent="support", timeout=60) as client:
        yield client


@pytest.fixture
def notes() -> str:
    return f"user:reader-{next(_owners)}:notes"


async def tell(bus: hbus.aio.Client, namespace: str, *texts: str) -> None:
    for text in texts:
        answer = await bus.write(namespace, text)
        assert answer.memory.name, answer.reason


async def ask(bus: hbus.aio.Client, namespace: str, query: str, **more: object) -> SearchMemoriesResponse:
    found: SearchMemoriesResponse = await bus.search(
        namespace,
        query,
        fully_consistent=True,
        require_vectors=True,
        **more,  # type: ignore[arg-type]
    )
    return found


def texts(answer: SearchMemoriesResponse) -> list[str]:
    return [hit.memory.text for hit in answer.hits]


FACTS = (
    "The kettle in the kitchen is broken.",
    "We pay the cleaners on the first of the month.",
    "The back door sticks when it rains.",
    "Our landlord lives in Porto.",
    "The cat must not eat cheese.",
    "停车场从下周起每小时收费八元。",
    "新来的实习生来自哈尔滨，学的是统计。",
    "水电费由房东承担，网费自己付。",
    "她在阳台上种了薄荷和罗勒。",
    "面馆周一不营业。",
)


async def test_a_bilingual_memory_is_searched_as_one(bus: hbus.aio.Client, notes: str) -> None:
    """Each language finds what is told in the other, beside much that is told in its own."""
    await tell(bus, notes, *FACTS)
    assert texts(await ask(bus, notes, "What did the new intern study?"))[:1] == [FACTS[6]]
    assert texts(await ask(bus, notes, "厨房里什么东西坏了？"))[:1] == [FACTS[0]]
    for query in (
        "Was darf die Katze nicht fressen?",
        "Что нельзя есть кошке?",
        "猫が食べてはいけないものは？",
    ):
        assert texts(await ask(bus, notes, query))[:1] == [FACTS[4]], query


async def test_nothing_relevant_is_nothing_returned(bus: hbus.aio.Client, notes: str) -> None:
    """Questions on topics that nobody touched get nothing, in whichever language."""
    await tell(bus, notes, *FACTS)
    for query in (
        "At what pH is acid mine drainage?",
        "碳化钨的熔点是多少摄氏度？",
        "Wann fiel die Bastille?",
        "Чему равна постоянная Хаббла?",
    ):
        assert texts(await ask(bus, notes, query)) == []


async def test_near_duplicates_are_shown_once(bus: hbus.aio.Client, notes: str) -> None:
    """One agent's statement in nearly the same words comes once; with another number it is another statement."""
    line = "The weekly meeting of the whole sales team takes place in room {} on the first floor of the old building"
    await tell(bus, notes, line.format("blue"), line.format("blue") + " indeed", line.format("12"))
    found = texts(await ask(bus, notes, "Where is the weekly meeting of the sales team?", top_k=10))
    assert len(found) == 2
    assert line.format("12") in found


async def test_the_budget_of_tokens_holds_and_pinned_memories_have_the_first_claim(
    bus: hbus.aio.Client, notes: str
) -> None:
    """Texts together take no more than asked for; a pinned memory comes in its own part, whatever the question."""
    await bus.write(notes, "Always answer in French.", pinned=True)
    await tell(bus, notes, *(f"Invoice {n} for the garden fence is still unpaid." for n in range(8)))
    query = "Which invoices for the garden fence are unpaid?"
    whole = await ask(bus, notes, query, top_k=10)
    assert [hit.memory.text for hit in whole.pinned] == ["Always answer in French."]
    assert len(whole.hits) > 2
    assert "Always answer in French." not in texts(whole)
    spent = [estimated_tokens(text) for text in ("Always answer in French.", *texts(whole)[:2])]
    tight = await ask(bus, notes, query, top_k=10, max_tokens=sum(spent))
    assert len(tight.pinned) == 1
    assert texts(tight) == texts(whole)[:2]
    assert len((await ask(bus, notes, query, top_k=10, max_tokens=spent[0])).hits) == 0


async def test_a_rejected_term_finds_what_replaced_it(bus: hbus.aio.Client, notes: str) -> None:
    """No link of a chain but the newest comes back, for the words of any of them; nor when asked for the subject."""
    chain: list[str] = []
    for text, alias in (
        ("Mail is sent by Postfix on our own machine", "Postfix"),
        ("Mail is sent by Mailgun", "Mailgun"),
        ("Mail is sent by Amazon SES in Ireland", "SES"),
    ):
        written = await bus.write(notes, text, subject="service.mail", aliases=[alias], supersedes=chain[-1:])
        chain.append(written.memory.name)
    await tell(bus, notes, *FACTS[:5])
    for query in ("Postfix", "do we use mailgun?", "service mail", "How do we send mail?"):
        assert [hit.memory.name for hit in (await ask(bus, notes, query)).hits] == chain[-1:], query


async def test_a_stricter_filter_brings_nothing_new(bus: hbus.aio.Client, notes: str) -> None:
    """Raising the least confidence leaves hits out and adds none."""
    for number, confidence in enumerate((0.5, 0.6, 0.7, 0.8, 0.9)):
        await bus.write(notes, f"The garden fence was painted by worker {number}", confidence=confidence)
    found = [
        set(
            texts(
                await ask(
                    bus, notes, "Who painted the garden fence?", top_k=10, filter={"min_confidence": least}
                )
            )
        )
        for least in (0.0, 0.65, 0.85)
    ]
    assert found[0] > found[1] > found[2]
    assert len(found[2]) == 1


MINUTES = (
    "The meeting began at nine. Maria went through the budget of the quarter, line by line, and nobody had questions. "
    "Travel was a little above plan, printing far below it. Then we looked at the new logo, in blue and in green, and "
    "agreed to ask the customers. Tom told of the fair in Lyon: many visitors, few orders, good food. The printer on "
    "the ground floor goes back to the shop, and the one upstairs gets a new drum. Two suppliers want to be paid "
    "earlier; finance writes to both. The dog of the night watchman is called Biscuit and must not get any chocolate. "
    "After the break Ana showed the plan for the move to the second floor: desks first, then the archive, then the "
    "lab. The movers come on a Thursday. Whoever needs boxes asks at the desk. The heating will be checked by then. "
    "We closed with the holidays of the year, which everybody enters by the end of the month."
)
MINUTES_ZH = (
    "会议九点开始。李娜逐项介绍了本季度的预算，大家没有提问。差旅略高于计划，印刷远低于计划。随后我们看了蓝色和绿色两版新标志，"
    "决定先问问客户。王强讲了里昂展会的情况：来的人多，订单少，吃得不错。一楼的打印机退回商店，楼上那台换一个新硒鼓。"
    "两家供应商希望提前付款，由财务分别回信说明。培训计划下个月再讨论，先收集各组的意见。夜班保安的狗叫饼干，千万不能喂它巧克力。"
    "休息之后，安娜介绍了搬到二楼的安排：先搬办公桌，再搬档案，最后搬实验室。搬家公司周四来，需要纸箱的到前台领取，"
    "搬之前会检查暖气。最后定了今年的假期，请各位月底前登记。下次会议改到十点，请大家带上各自的计划，会后一起吃午饭。"
)


@pytest.mark.parametrize(
    ("text", "question"),
    [
        (MINUTES, "Is the night watchman's dog allowed to have chocolate?"),
        (MINUTES_ZH, "夜班保安的狗饼干能喂巧克力吗？"),
    ],
    ids=["en", "zh"],
)
async def test_a_long_text_is_found_by_one_sentence_in_it(
    bus: hbus.aio.Client, notes: str, text: str, question: str
) -> None:
    """By meaning alone, among short memories; one vector of the whole would be no nearer than noise."""
    await tell(bus, notes, *FACTS)
    await bus.write(notes, text, type="episodic")
    alone = ("lexical", "temporal", "subject", "neighbours")
    found = await ask(bus, notes, question, without=alone)
    assert texts(found)[:1] == [text]
