"""The whole store against a plain model of it: whatever is done, in whatever order, both hold the same."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Coroutine
from functools import cache
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from hindsight_bus.adapters.index.analysis import Analyzer
from hindsight_bus.app.caller import Caller
from hindsight_bus.app.outcome import Outcome
from hindsight_bus.app.revise import MemoryChange
from hindsight_bus.domain.errors import SupersedesIncomplete, WrongState
from hindsight_bus.domain.events import EventKind
from hindsight_bus.domain.memory import Channel, MemoryState
from hindsight_bus.domain.names import Pattern, ResourceName
from hindsight_bus.domain.policy import ConflictPolicy
from hindsight_bus.domain.records import ConflictState, ResolutionAction
from hindsight_bus.domain.statements import speaker_of
from tests.unit.app_model import GONE, Model, Said
from tests.unit.app_rig import FACTS, Node, suspecting_from

T = TypeVar("T")
DAY_MS = 24 * 3600 * 1000

SUBJECTS = st.sampled_from(["preference.presentation", "city"])
AGENTS = st.sampled_from(["support", "orders", "sales"])
CHANNELS = st.sampled_from([Channel.USER, Channel.AGENT, Channel.TOOL])
TEXTS = st.sampled_from(["tables are best", "用户更喜欢柱状图", "bars are best", "表格最好"])
CONFIDENCES = st.sampled_from([None, 0.3, 0.57, 0.6, 0.85, 0.9])
DAYS_AGO = st.sampled_from([None, 0, 1, 90, 400])
analyzer = cache(Analyzer)


class StoreAgainstModel(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.node = Node(calibrations=suspecting_from(2.0), analyzer=analyzer(), checkpoint_seconds=0.0)
        self.model = Model()
        self.partition = self.node.records.partition(FACTS)

    def teardown(self) -> None:
        self.run(self.node.views.close())
        self.loop.close()

    def run(self, action: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(action)

    def name(self, memory: str) -> ResourceName:
        return ResourceName(FACTS, "memories", memory)

    def pick(self, data: st.DataObject, memories: set[str]) -> str:
        assume(memories)
        return data.draw(st.sampled_from(sorted(memories)))

    def said(
        self, agent: str, channel: Channel, text: str, confidence: float | None, days_ago: int | None
    ) -> Said:
        now = self.node.clock.now_ms()
        time_ms = now if days_ago is None else now - days_ago * DAY_MS
        stated = channel.default_confidence if confidence is None else confidence
        return Said(speaker_of(channel, agent, FACTS.owner), agent, text, stated, time_ms, 0, "")

    # -- rules

    @initialize()
    def open_the_quota(self) -> None:
        self.run(self.set_policy(daily_quota=100_000))

    async def set_policy(self, **fields: Any) -> None:
        pattern = Pattern.parse("user:*:*", "default")
        await self.node.namespaces.update_policy(Caller(agent="operator"), pattern, fields)
        await self.node.work()

    @rule(
        subject=SUBJECTS, agent=AGENTS, channel=CHANNELS, text=TEXTS, confidence=CONFIDENCES,
        days_ago=DAYS_AGO, lives_hours=st.sampled_from([0, 0, 0, 1]),
    )  # fmt: skip
    def write(
        self,
        subject: str,
        agent: str,
        channel: Channel,
        text: str,
        confidence: float | None,
        days_ago: int | None,
        lives_hours: int,
    ) -> None:
        said = self.said(agent, channel, text, confidence, days_ago)
        expire_ms = self.node.clock.now_ms() + lives_hours * 3_600_000 if lives_hours else 0
        outcome = self.run(
            self.node.write(
                text, agent, subject=subject, channel=channel, confidence=confidence,
                event_time_ms=0 if days_ago is None else said.time_ms, expire_time_ms=expire_ms,
            )
        )  # fmt: skip
        self.check_written(
            outcome,
            self.model.write(
                id_of(outcome), subject, said, is_timed=days_ago is not None, expire_ms=expire_ms
            ),
        )

    @rule(data=st.data(), subject=SUBJECTS, agent=AGENTS, text=TEXTS, leaves_one_out=st.booleans())
    def supersede(
        self, data: st.DataObject, subject: str, agent: str, text: str, leaves_one_out: bool
    ) -> None:
        named = self.model.live_on(subject)
        if elsewhere := self.model.live() - named:
            named |= {self.pick(data, elsewhere)} if data.draw(st.booleans()) else set()
        assume(named)
        if leaves_one_out:
            named.remove(self.pick(data, named))
            assume(named)
        said = self.said(agent, Channel.AGENT, text, None, None)
        before = self.run(self.node.store.ends(self.partition))
        names = tuple(map(self.name, sorted(named)))
        try:
            outcome = self.run(self.node.write(text, agent, subject=subject, supersedes=names))
        except SupersedesIncomplete:
            assert self.model.supersede("", subject, said, named) is None
            assert self.run(self.node.store.ends(self.partition)) == before
            return
        expected = self.model.supersede(id_of(outcome), subject, said, named)
        assert expected is not None
        self.check_written(outcome, expected)

    @rule(data=st.data(), agent=AGENTS, text=st.none() | TEXTS, confidence=CONFIDENCES)
    def update(self, data: st.DataObject, agent: str, text: str | None, confidence: float | None) -> None:
        memory = self.pick(data, {m for m, r in self.model.memories.items() if r.state not in GONE})
        fields: dict[str, Any] = {} if text is None else {"text": text}
        fields |= {} if confidence is None else {"confidence": confidence}
        assume(fields)
        remembered = self.model.memories[memory]
        words = text or remembered.text
        outcome = self.run(
            self.node.changer.update(Caller(agent=agent), self.name(memory), MemoryChange(fields))
        )
        if self.model.revise(memory, agent, words, confidence):
            assert id_of(outcome) == memory
            return
        if words == remembered.text and confidence in (None, remembered.stated):
            return
        said = self.said(agent, Channel.AGENT, words, confidence, None)
        expected = self.model.write(id_of(outcome), remembered.subject, said, is_timed=False)
        self.check_written(outcome, expected)

    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        known = {m for m, r in self.model.memories.items() if r.state is not MemoryState.FORGOTTEN}
        memory = self.pick(data, known)
        self.run(self.node.changer.forget(Caller(agent="support"), self.name(memory)))
        self.model.leave(memory, MemoryState.FORGOTTEN)

    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        gone = {
            m
            for m, r in self.model.memories.items()
            if r.state in GONE and not self.model.topics[r.subject].same  # merges: see the rules of claims
        }
        memory = self.pick(data, gone)
        try:
            self.run(self.node.changer.restore(Caller(agent="support"), self.name(memory)))
        except WrongState:
            assert not self.model.restore(memory, self.node.clock.now_ms())
        else:
            assert self.model.restore(memory, self.node.clock.now_ms())

    @precondition(lambda self: self.model.contested())
    @rule(data=st.data(), action=st.sampled_from(ResolutionAction), agent=AGENTS)
    def resolve(self, data: st.DataObject, action: ResolutionAction, agent: str) -> None:
        subject = data.draw(st.sampled_from(sorted(self.model.contested())))
        sides = self.model.contested()[subject]
        holder = self.pick(data, sides)
        conflicts = self.run(self.node.open_conflicts())
        [conflict] = [c for c in conflicts if c.record.subject == subject]
        memory = self.run(self.node.get(self.name(holder)))
        resolved = self.run(self.node.resolve(conflict, action, memory, agent))
        assert resolved.conflict.record.state is ConflictState.RESOLVED
        match action:
            case ResolutionAction.CHOOSE:
                self.model.choose(holder)
            case ResolutionAction.MERGE:
                self.model.merge(holder, sides - {holder})
            case ResolutionAction.KEEP_ALL:
                self.model.keep_all(subject)

    @rule(policy=st.sampled_from(ConflictPolicy), margin=st.sampled_from([0.0, 0.05, 0.4]))
    def change_the_policy(self, policy: ConflictPolicy, margin: float) -> None:
        self.run(self.set_policy(conflict_policy=policy, conflict_margin=margin))
        self.model.policy = self.node.policies.in_force(FACTS)
        for subject in self.model.topics:
            self.model.settle(subject)

    @rule(minutes=st.sampled_from([1, 70]))
    def wait(self, minutes: int) -> None:
        self.node.clock.advance(60 * minutes)
        self.run(self.node.work())
        now = self.node.clock.now_ms()
        for memory, remembered in self.model.memories.items():
            if 0 < remembered.expire_ms <= now and remembered.state not in GONE:
                self.model.leave(memory, MemoryState.EXPIRED)

    @rule()
    def work(self) -> None:
        self.run(self.node.work())
        assert all(
            not memory.vector_pending for memory in self.run(self.node.listed()) if memory.head.state.is_live
        )

    def check_written(self, outcome: Outcome, expected: tuple[Any, str]) -> None:
        assert (outcome.decision, id_of(outcome)) == expected

    # -- invariants

    @invariant()
    def states_are_those_of_the_model(self) -> None:
        listed = {m.head.memory_id: m for m in self.run(self.node.listed())}
        assert {m: memory.head.state for m, memory in listed.items()} == {
            m: r.state for m, r in self.model.memories.items()
        }
        for memory, remembered in self.model.memories.items():
            assert listed[memory].version.text == remembered.text
            if remembered.state not in GONE:
                assert listed[memory].head.effective_confidence == self.model.evidence(memory)
                assert listed[memory].head.agents == self.model.agents(memory)

    @invariant()
    def a_search_finds_what_is_live(self) -> None:
        found = self.run(self.node.search(top_k=1000))
        assert {memory.head.memory_id for memory in found} == self.model.live()

    @invariant()
    def a_subject_has_one_open_conflict_while_it_is_contested(self) -> None:
        conflicts = self.run(self.node.open_conflicts())
        sides = {c.record.subject: {side.memory_id for side in c.record.sides} for c in conflicts}
        assert len(sides) == len(conflicts)
        assert sides == self.model.contested()
        for conflict in conflicts:
            for side in conflict.record.sides:
                memory = self.run(self.node.get(self.name(side.memory_id)))
                assert memory.head.conflict_id == conflict.record.id
                assert memory.version.text == side.text

    @invariant()
    def the_view_is_what_would_be_built_afresh(self) -> None:
        fresh = Node(store=self.node.store, clock=self.node.clock, analyzer=analyzer())
        digests = [self.run(node.digest()) for node in (self.node, fresh)]
        assert digests[0] == digests[1]

    @invariant()
    def the_events_tell_the_same_story(self) -> None:
        """Replayed, they lead to the states that are read; each starts where the one before has ended."""
        states: dict[str, MemoryState] = defaultdict(lambda: MemoryState.NONE)
        told: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
        last: dict[str, Any] = {}
        for entry in self.run(self.node.store.entries(self.partition, 0, 100_000)):
            before = dict(states)
            for event in entry.events:
                states[event.memory_id] = event.after
                if event.kind is EventKind.INDEXED:
                    continue
                assert event.before == before.get(event.memory_id, MemoryState.NONE)
                step = (entry.revision, event.kind, event.before, event.after, event.version, event.agent)
                told[event.memory_id].append(step)
                last[event.memory_id] = event
            assert len({(e.memory_id, e.after) for e in entry.events}) == len(
                {e.memory_id for e in entry.events}
            )
        for memory in self.run(self.node.listed()):
            head = memory.head
            event = last[head.memory_id]
            assert states[head.memory_id] is head.state
            assert (event.confidence_after, event.agents, event.version) == (
                head.effective_confidence, head.agents, head.version,
            )  # fmt: skip
            steps = self.run(self.node.store.history(self.partition, head.memory_id))
            history = [(step.revision, step.transition) for step in steps]
            assert told[head.memory_id][-256:] == [
                (revision, t.kind, t.before, t.after, t.version, t.agent) for revision, t in history
            ]

    @invariant()
    def a_subscriber_from_the_beginning_hears_all_of_it(self) -> None:
        heard = self.run(self.node.hear())
        expected = [
            (entry.revision, index)
            for entry in self.run(self.node.store.entries(self.partition, 0, 100_000))
            for index, event in enumerate(entry.events)
            if event.kind is not EventKind.INDEXED
        ]
        assert [(event.entry.revision, event.index) for event in heard] == expected


def id_of(outcome: Outcome) -> str:
    assert outcome.memory is not None
    return outcome.memory.head.memory_id


def examples(number: int, steps: int) -> settings:
    return settings(
        max_examples=number, stateful_step_count=steps, deadline=None, suppress_health_check=list(HealthCheck)
    )


def test_the_store_holds_what_the_model_holds() -> None:
    """Whatever is done: states, listing, search, conflicts, views, events, history and subscriptions agree."""
    run_state_machine_as_test(StoreAgainstModel, settings=examples(30, 20))


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_the_store_holds_what_the_model_holds_for_long() -> None:
    """The same, with many more and longer stories."""
    run_state_machine_as_test(StoreAgainstModel, settings=examples(2000, 50))
