"""One agent fails and the next one knows better: ``python hindsight.py [HOST:PORT]`` against ``hbus serve``."""

import sys

import hbus
from hbus import steps
from hbus.endpoint import DEFAULT_TARGET

USER = "zhangsan"


def fail(bus: hbus.Client) -> hbus.Reflection:
    """Do a task badly, and have the server reflect on it."""
    task = bus.start_task("Refund order 1001 for the customer", kind="refund", user=USER).task
    bus.record_steps(
        task,
        [
            steps.thought(1, "I need the order first"),
            steps.tool_call(2, "get_order", {"id": 1001}, error="401 Unauthorized: token expired"),
        ],
    )
    bus.finish_task(task, "failure", score=0.0, judge="user")
    return bus.reflection(task, wait=10).reflection


def main(target: str = DEFAULT_TARGET) -> None:
    """Play both agents."""
    with hbus.connect(target, agent="support") as support:
        for insight in fail(support).insights:
            print(f"{hbus.label(hbus.InsightKind, insight.kind)}: {insight.text} (steps {[*insight.steps]})")
    with hbus.connect(target, agent="after-sales") as aftersales:
        started = aftersales.start_task("Refund order 1002 for the customer", kind="refund", user=USER)
        for hit in started.lessons:
            print(f"{hit.score:.2f} {hit.memory.text}")


if __name__ == "__main__":
    main(*sys.argv[1:])
