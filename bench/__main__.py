"""Measure, and say how near each figure comes to what the machine gives without the product.

JSON lines on standard output, a table on standard error. ``--full`` adds namespaces of 100 k memories.

    python -m bench > bench.jsonl
"""

from __future__ import annotations

import argparse
import gc
from pathlib import Path
from tempfile import TemporaryDirectory

import uvloop

from bench import calls, groups, store, streams
from bench.data import Namespace
from bench.processes import product
from bench.report import Report
from bench.rig import Rig, set_up

_SIZES = [1_000, 10_000]
_LARGEST = 100_000
_PARTS = ("calls", "streams", "groups", "cold")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench")
    parser.add_argument("--full", action="store_true", help="with namespaces of 100 k memories: minutes more")
    parser.add_argument("--only", choices=_PARTS, nargs="+", default=_PARTS, help="parts to measure")
    parser.add_argument("--rounds", type=int, default=5, help="alternating runs, of which the median counts")
    parser.add_argument("--seconds", type=float, default=1.0, help="length of one run of calls")
    return parser.parse_args()


async def _fill(rig: Rig, sizes: list[int], report: Report) -> tuple[list[Namespace], list[Namespace]]:
    """Return namespaces that are only read, and as many that are written to."""
    read, written = [], []
    for size in sizes:
        space, filled = await rig.fill(f"user:read{size}:bench", size)
        report.add(store.ingest(rig, space, filled))
        read.append(space)
        written.append((await rig.fill(f"user:write{size}:bench", size))[0])
    return read, written


async def _run(options: argparse.Namespace, directory: Path, report: Report) -> None:
    async with set_up(directory) as rig:
        read, written = await _fill(rig, _SIZES + [_LARGEST] * options.full, report)
        report.add(*store.raw_reads(rig, read[1]))
        await store.settle(rig)
        gc.freeze()
        if "streams" in options.only:
            report.add(await streams.own_delivery(rig, written[1], options.rounds))
            async with product(rig.socket, "other") as other:
                name = "publish_to_deliver.other_server"
                report.add(await streams.delivery(rig, written[1], other, name, None, options.rounds))
            report.add(await streams.fan_out(rig, written[1], options.rounds))
            async for result in streams.replay(rig, read[1], options.rounds):
                report.add(result)
        if "groups" in options.only:
            report.add(await groups.recent(rig, options.rounds))
            report.add(await groups.backlog(rig, read[1], options.rounds))
        if "cold" in options.only:
            async for result in store.cold_loads(rig, [*read[1:], written[1]]):
                report.add(result)
        if "calls" in options.only:
            async for result in calls.measure(rig, read, written, options.rounds, options.seconds):
                report.add(result)


def main() -> None:
    """Run what was asked for."""
    options, report = _arguments(), Report()
    with TemporaryDirectory(prefix="hbus-bench-") as directory:
        uvloop.run(_run(options, Path(directory), report))
    report.summarise()


if __name__ == "__main__":
    main()
