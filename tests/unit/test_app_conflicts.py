"""Conflicts: opened by rule or suspected, shown on every side, decided in the open, and closed when they are moot."""

from __future__ import annotations

import pytest

from hindsight_bus.app.caller import Caller
from hindsight_bus.domain.errors import EtagMismatch, InvalidField, RequestIdReused, WrongState
from hindsight_bus.domain.memory import Channel, Decision, Memory, MemoryState
from hindsight_bus.domain.records import Conflict, ConflictState, ResolutionAction
from hindsight_bus.ports import Stored
from tests.unit.app_rig import Node, name_of

CHOOSE, MERGE, KEEP_ALL = ResolutionAction.CHOOSE, ResolutionAction.MERGE, ResolutionAction.KEEP_ALL
CLOSES = "the office in the old town closes at "


def stored(outcome: object) -> Memory:
    memory = getattr(outcome, "memory", None)
    assert isinstance(memory, Memory)
    return memory


async def suspected(node: Node, *hours: str) -> list[Memory]:
    """Return near memories, each written by an agent of its own, after their suspicions have opened."""
    memories = [stored(await node.write(CLOSES + hour, agent=hour, subject="")) for hour in hours]
    await node.work()
    return [await node.get(memory) for memory in memories]


async def contested(node: Node) -> tuple[Memory, Memory, Stored[Conflict]]:
    """Return two memories in an open conflict."""
    one = stored(await node.write("tables", confidence=0.8))
    other = stored(await node.write("bars", agent="orders", confidence=0.8))
    [conflict] = await node.open_conflicts()
    return await node.get(one), other, conflict


async def test_near_statements_are_suspected_and_both_stay() -> None:
    """Both sides are marked, and their states are what they were."""
    node = Node()
    one, other = await suspected(node, "six", "ten")
    [conflict] = await node.open_conflicts()
    assert conflict.record.state is ConflictState.SUSPECTED
    assert {side.speakers for side in conflict.record.sides} == {("agent:six",), ("agent:ten",)}
    assert [m.head.conflict_id for m in (one, other)] == [conflict.record.id] * 2
    assert [m.head.state for m in (one, other)] == [MemoryState.ACTIVE] * 2


async def test_every_suspicion_of_a_memory_that_leaves_is_moot() -> None:
    """Not only the one that it shows; whoever stays is marked by it no longer."""
    node = Node()
    six, ten, two = await suspected(node, "six", "ten", "two")
    assert len(await node.open_conflicts()) == 3
    await node.forget(six)
    await node.work()
    [left] = await node.open_conflicts()
    assert {side.memory_id for side in left.record.sides} == {ten.head.memory_id, two.head.memory_id}
    assert [(await node.get(m)).head.conflict_id for m in (ten, two)] == [left.record.id] * 2


async def test_a_suspicion_outlives_an_open_conflict_and_ends_with_its_memory() -> None:
    """While the subject is contested its conflict is shown, and afterwards the suspicion again."""
    node = Node()
    about = {"subject": "office.hours"}
    six = stored(await node.write(CLOSES + "six", confidence=0.8, **about))
    await node.write(CLOSES + "ten", agent="x", subject="")
    await node.work()
    [suspicion] = await node.open_conflicts()
    rival = stored(await node.write("never", agent="orders", confidence=0.8, **about))
    assert (await node.get(six)).head.conflict_id not in ("", suspicion.record.id)
    await node.forget(rival)
    assert (await node.get(six)).head.conflict_id == suspicion.record.id
    await node.forget(six)
    await node.work()
    assert await node.open_conflicts() == []


async def test_a_side_that_is_overridden_makes_a_suspicion_moot() -> None:
    """What lost is not returned any more, so there is nothing left to decide."""
    node = Node()
    about = {"subject": "office.hours"}
    await node.write(CLOSES + "six", confidence=0.5, **about)
    ten = stored(await node.write(CLOSES + "ten", agent="x", subject=""))
    await node.work()
    assert len(await node.open_conflicts()) == 1
    await node.write("it is always open", agent="orders", confidence=0.9, **about)
    await node.work()
    assert [c.record.state for c in await node.every_conflict()] == [ConflictState.MOOT]
    assert (await node.get(ten)).head.conflict_id == ""


@pytest.mark.parametrize("action", list(ResolutionAction))
@pytest.mark.parametrize("holder", [0, 1, None])
async def test_a_suspicion_one_of_whose_sides_has_left_cannot_be_decided(
    action: ResolutionAction, holder: int | None
) -> None:
    """Even before anybody has closed it: nothing is superseded by what is forgotten."""
    node = Node()
    sides = await suspected(node, "six", "ten")
    [conflict] = await node.open_conflicts()
    await node.forget(sides[0])
    chosen = None if holder is None else sides[holder]
    expected = InvalidField if action is CHOOSE and chosen is None else WrongState
    with pytest.raises(expected):
        await node.resolve(conflict, action, chosen)
    assert (await node.get(sides[1])).head.state is MemoryState.ACTIVE


@pytest.mark.parametrize(
    ("action", "state"),
    [(CHOOSE, MemoryState.SUPERSEDED), (MERGE, MemoryState.SUPERSEDED), (KEEP_ALL, MemoryState.ACTIVE)],
)
async def test_deciding_a_suspicion(action: ResolutionAction, state: MemoryState) -> None:
    """The holder stays; the other side is superseded by it, unless both are kept. It is never suspected again."""
    node = Node()
    six, ten = await suspected(node, "six", "ten")
    [conflict] = await node.open_conflicts()
    resolved = await node.resolve(conflict, action, six, rationale="asked the office")
    assert resolved.conflict.record.state is ConflictState.RESOLVED
    assert resolved.conflict.record.resolution.rationale == "asked the office"
    holder, other = await node.get(six), await node.get(ten)
    assert (holder.head.state, holder.head.conflict_id) == (MemoryState.ACTIVE, "")
    assert (other.head.state, other.head.conflict_id) == (state, "")
    if state is MemoryState.SUPERSEDED:
        assert other.head.superseded_by == six.head.memory_id
    await node.work()
    assert await node.open_conflicts() == []


async def test_what_was_merged_is_said_again_in_either_wording() -> None:
    """Merged statements are one, for those to come as well."""
    node = Node()
    one, other, conflict = await contested(node)
    await node.resolve(conflict, MERGE, one)
    again = await node.write("bars", agent="sales")
    assert (again.decision, stored(again).name) == (Decision.CORROBORATED, one.name)
    merged = await node.get(one)
    assert merged.head.agents == ("orders", "sales", "support")
    assert (await node.get(other)).head.state is MemoryState.SUPERSEDED


async def test_a_chosen_statement_is_contested_at_worst() -> None:
    """A later claim that would win opens a new conflict instead."""
    node = Node()
    one, _, conflict = await contested(node)
    await node.resolve(conflict, CHOOSE, one)
    assert (await node.get(one)).head.state is MemoryState.ACTIVE
    late = stored(await node.write("pies", agent="sales", confidence=0.99))
    assert [(await node.get(m)).head.state for m in (one, late)] == [MemoryState.CONTESTED] * 2
    [again] = await node.open_conflicts()
    assert again.record.id != conflict.record.id


async def test_keeping_all_ends_competition_on_the_subject() -> None:
    """From then on statements stand side by side."""
    node = Node()
    one, other, conflict = await contested(node)
    await node.resolve(conflict, KEEP_ALL)
    third = stored(await node.write("pies", agent="sales", confidence=0.1))
    states = [(await node.get(m)).head.state for m in (one, other, third)]
    assert states == [MemoryState.ACTIVE] * 3
    assert await node.open_conflicts() == []


async def test_a_subject_has_one_open_conflict_however_many_join_it() -> None:
    """A third statement that ties becomes a side of the same conflict."""
    node = Node()
    _, _, conflict = await contested(node)
    third = stored(await node.write("pies", agent="sales", confidence=0.8))
    [same] = await node.open_conflicts()
    assert same.record.id == conflict.record.id == third.head.conflict_id
    assert len(same.record.sides) == 3
    assert {side.text for side in same.record.sides} == {"tables", "bars", "pies"}


async def test_a_conflict_whose_side_is_forgotten_is_moot_and_the_other_returns() -> None:
    """Nothing is left to decide."""
    node = Node()
    one, other, _ = await contested(node)
    await node.forget(other)
    assert (await node.get(one)).head.state is MemoryState.ACTIVE
    assert [c.record.state for c in await node.every_conflict()] == [ConflictState.MOOT]


async def test_new_evidence_settles_a_conflict() -> None:
    """A third voice for one side decides between them."""
    node = Node()
    one, other, _ = await contested(node)
    await node.write("tables", agent="sales", confidence=0.8)
    assert (await node.get(one)).head.state is MemoryState.ACTIVE
    assert (await node.get(other)).head.state is MemoryState.OVERRIDDEN
    assert [c.record.state for c in await node.every_conflict()] == [ConflictState.SETTLED]


async def test_a_decision_is_made_once() -> None:
    """The same request answers again; another one is refused, and so is a stale etag."""
    node = Node()
    one, _, conflict = await contested(node)
    with pytest.raises(EtagMismatch):
        await node.resolve(conflict, CHOOSE, one, etag="stale")
    first = await node.resolve(conflict, CHOOSE, one, request_id="r", payload="p")
    again = await node.resolve(conflict, CHOOSE, one, request_id="r", payload="p")
    assert again.conflict == first.conflict
    with pytest.raises(RequestIdReused):
        await node.resolve(conflict, CHOOSE, one, request_id="r", payload="q")
    with pytest.raises(WrongState):
        await node.resolve(conflict, KEEP_ALL)


async def test_conflicts_are_paged_newest_first_and_none_is_left_out() -> None:
    """Even where one commit has opened two of them."""
    node = Node()
    for subject in ("a", "b"):
        for n, agent in enumerate(("one", "two")):
            await node.write(f"{subject}{n}", agent, subject=subject, confidence=0.5)
        await node.write(f"{subject} for sure", "three", subject=subject, confidence=0.9)
    winners = [m for m in await node.listed() if m.version.text.endswith("sure")]
    assert await node.open_conflicts() == []
    await node.write("neither", "four", subject="c", supersedes=tuple(map(name_of, winners)))
    assert len(await node.open_conflicts()) == 2
    namespace, before, seen = winners[0].namespace, 0, []
    while True:
        page, before = await node.conflicts.list(Caller(), namespace, (), before, 1)
        seen += [conflict.record.id for conflict in page]
        if not before:
            break
    assert sorted(seen) == sorted(c.record.id for c in await node.open_conflicts())


async def test_an_update_across_subjects_answers_with_its_own_conflict() -> None:
    """Not with the one that it ends elsewhere."""
    node = Node()
    _, there, _ = await contested(node)
    await node.write("dark", agent="orders", subject="theme", confidence=0.8)
    outcome = await node.write("light", subject="theme", confidence=0.8, channel=Channel.AGENT, supersedes=())
    assert outcome.conflict is not None
    assert outcome.conflict.record.subject == "theme"
    moved = await node.write("light mode", agent="sales", subject="mode", supersedes=(name_of(there),))
    assert stored(moved).head.state is MemoryState.ACTIVE
    assert (await node.get(there)).head.superseded_by == stored(moved).head.memory_id
