"""Plays a scenario with the Python client: ``python -m tests.e2e.client_scenario SCENARIO TARGET USER``.

It prints a line of JSON for each fault that it wants, waits for a line back, and prints what came of each step at last.
``clients/typescript/test/scenario.ts`` does the same, step by step.
"""

from __future__ import annotations

import json
import sys
import threading
from datetime import datetime
from pathlib import Path
from typing import Any

import hbus
from hbus import steps

Json = dict[str, Any]
PATIENCE_S = 30.0
SOON = hbus.Backoff(first_s=0.05, cap_s=0.1)


class Player:
    """Does the steps of a scenario, each by the method of its name, which returns what came of it."""

    def __init__(self, target: str, user: str) -> None:
        self._target = target
        self._user = user
        self._kept: dict[str, Any] = {}
        self._clients: dict[str, hbus.Client] = {}

    def play(self, step: Json) -> Any:
        """Do one step; return what came of it, or how it was refused."""
        try:
            return getattr(self, step["do"])(self._filled(step))
        except hbus.HbusError as error:
            return {"error": type(error).__name__, "reason": error.reason, "fields": error.fields}

    def close(self) -> None:
        """Close every client."""
        for client in self._clients.values():
            client.close()

    # --- steps ---

    def write(self, step: Json) -> Any:
        fields = step.get("fields", {})
        if "event_time" in fields:
            fields["event_time"] = datetime.fromisoformat(fields["event_time"])
        answer = self._bus(step).write(step["in"], step["text"], **fields)
        self._keep(step, answer.memory)
        return [hbus.label(hbus.Decision, answer.decision), *remembered(answer.memory), answer.reason]

    def write_many(self, step: Json) -> Any:
        writes = [hbus.write_request(step["in"], text, **step["fields"]) for text in step["texts"]]
        return [
            f"{type(each).__name__} {each.field}"
            if isinstance(each, hbus.HbusError)
            else hbus.label(hbus.Decision, each.decision)
            for each in self._bus(step).write_many(writes)
        ]

    def update(self, step: Json) -> Any:
        answer = self._bus(step).update(step["memory"], **step["changes"], **step.get("fields", {}))
        return [hbus.label(hbus.Decision, answer.decision), *remembered(answer.memory)]

    def get(self, step: Json) -> Any:
        memory = self._bus(step).get(step["memory"])
        attributes = dict(memory.attributes) if memory.HasField("attributes") else None
        return [*remembered(memory), memory.version, [*memory.tags], memory.importance, attributes]

    def forget(self, step: Json) -> Any:
        return remembered(self._bus(step).forget(step["memory"]).memory)

    def restore(self, step: Json) -> Any:
        return remembered(self._bus(step).restore(step["memory"]).memory)

    def versions(self, step: Json) -> Any:
        return [
            [each.memory.version, [transition.kind for transition in each.transitions]]
            for each in self._bus(step).versions(step["memory"])
        ]

    def list(self, step: Json) -> Any:
        return [remembered(memory) for memory in self._bus(step).list(step["in"], **step["fields"])]

    def search(self, step: Json) -> Any:
        fields = {"fully_consistent": True, "require_vectors": True} | step.get("fields", {})
        answer = self._bus(step).search(step["in"], step["query"], **fields)
        return [[*remembered(hit.memory), [rival.text for rival in hit.rivals]] for hit in answer.hits]

    def context(self, step: Json) -> Any:
        fields = {"fully_consistent": True, "require_vectors": True} | step["fields"]
        answer = self._bus(step).context(step["in"], step["query"], **fields)
        lines = [line for line in answer.text.splitlines() if line[0].isdigit()]
        return [len(answer.memories), answer.left_out, lines, bool(answer.advice)]

    def conflicts(self, step: Json) -> Any:
        found = [*self._bus(step).conflicts(step["in"])]
        self._keep(step, found[0] if found else None)
        return [
            [
                each.subject,
                hbus.label(hbus.ConflictState, each.state),
                sorted(side.text for side in each.sides),
            ]
            for each in found
        ]

    def resolve(self, step: Json) -> Any:
        answer = self._bus(step).resolve(
            step["conflict"], step["action"], step["memory"], rationale=step["rationale"]
        )
        state = hbus.label(hbus.ConflictState, answer.conflict.state)
        return [state, answer.conflict.resolution.rationale, sorted(map(remembered, answer.memories))]

    def subscribe(self, step: Json) -> Any:
        live = self._bus(step).subscribe(step["in"], start=step["start"], **step.get("fields", {}))
        self._keep(step, live.__enter__())
        return "confirmed"

    def hear(self, step: Json) -> Any:
        live = step["from"]
        events = [next(live) for _ in range(step["count"])]
        self._keep(step, live.token)
        places = [(event.revision, event.index) for event in events]
        told = [
            [event.revision, hbus.label(hbus.EventKind, event.kind), *remembered(event.memory), event.agent]
            for event in events
        ]
        # Events of one commit have no order of their own.
        return [places == sorted(places), [each[1:] for each in sorted(told)]]

    def snapshot(self, step: Json) -> Any:
        return sorted(map(remembered, step["from"].snapshot()))

    def unsubscribe(self, step: Json) -> Any:
        step["from"].close()
        return [event.revision for event in step["from"]]

    def consume(self, step: Json) -> Any:
        lock, enough = threading.Lock(), threading.Event()
        done: list[str] = []
        failed: set[str] = set()

        def handle(delivery: hbus.Delivery) -> None:
            text = delivery.event.memory.text
            if text == step["reject"]:
                raise hbus.RejectEvent("cannot parse")
            if text == step["fail_once"] and text not in failed:
                failed.add(text)
                raise ValueError("not yet")
            with lock:
                done.append(text)
                if len(done) == step["cut_after"]:
                    self.fault({"cut": True})
                if {*step["until"]} <= {*done}:
                    enough.set()

        bus = self._bus(step)
        terms = {"group": step["group"], "namespaces": step["in"], "retry": SOON} | step["fields"]
        with bus.consume(handle, **terms):
            assert enough.wait(PATIENCE_S), done
        dead = [
            [each.event.memory.text, each.reason, each.attempts] for each in bus.dead_letters(step["group"])
        ]
        return [sorted({*done}), sorted(failed), dead]

    def reflect(self, step: Json) -> Any:
        bus = self._bus(step)
        task = bus.start_task(step["goal"], kind=step["kind"], user=self._user).task
        bus.record_steps(task, [told(n, each) for n, each in enumerate(step["steps"], 1)])
        bus.finish_task(task, step["outcome"], score=step["score"], judge=step["judge"])
        reflection = bus.reflection(task, wait=PATIENCE_S).reflection
        kinds = {hbus.label(hbus.InsightKind, each.kind) for each in reflection.insights}
        cited = sorted({number for each in reflection.insights for number in each.steps})
        return [
            hbus.label(hbus.ReflectionState, reflection.state),
            sorted(kinds),
            cited,
            bool(reflection.lessons),
        ]

    def start_task(self, step: Json) -> Any:
        answer = self._bus(step).start_task(
            step["goal"], kind=step["kind"], user=self._user, fully_consistent=True
        )
        return sorted({hbus.label(hbus.MemoryState, hit.memory.state) for hit in answer.lessons})

    def fault(self, step: Json) -> Any:
        print(json.dumps({"fault": step}), flush=True)
        return sys.stdin.readline().strip()

    # --- what steps share ---

    def _bus(self, step: Json) -> hbus.Client:
        agent = step["agent"]
        if agent not in self._clients:
            self._clients[agent] = hbus.connect(self._target, agent=agent)
        return self._clients[agent]

    def _keep(self, step: Json, value: Any) -> None:
        self._kept[step.get("keep", "")] = value

    def _filled(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._filled(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self._filled(each) for each in value]
        if isinstance(value, str) and value.startswith("$"):
            return self._kept[value[1:]]
        return value.replace("{user}", self._user) if isinstance(value, str) else value


def remembered(memory: hbus.Memory) -> list[Any]:
    """Return what of a memory is the same in every run."""
    return [memory.text, hbus.label(hbus.MemoryState, memory.state)]


def told(number: int, step: Json) -> hbus.Step:
    """Return a step of a task."""
    if "thought" in step:
        return steps.thought(number, step["thought"])
    if "tool_call" in step:
        return steps.tool_call(
            number, step["tool_call"], step["arguments"], error=step["error"], seconds=0.25
        )
    return steps.feedback(number, step["feedback"], rating=step["rating"])


def main(scenario: str, target: str, user: str) -> None:
    """Play it."""
    player = Player(target, user)
    played = [player.play(step) for step in json.loads(Path(scenario).read_text("utf-8"))["steps"]]
    player.close()
    print(json.dumps({"outcome": played}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
