"""Measure, and say how near each figure comes to what the machine gives without the product.

JSON lines on standard output, a table on standard error. ``--full`` adds namespaces of 100 k memories.

    python -m bench > bench.jsonl
"""

from __future__ import annotations

import argparse
import gc
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import uvloop

from bench import calls, groups, latency, matcher, store, streams, subscribers
from bench.data import Namespace
from bench.processes import end_on_sigterm
from bench.report import Report, Result
from bench.rig import Rig, set_up

_SIZES = [1_000, 10_000]
_LARGEST = 100_000
_PARTS = ("matcher", "subscribers", "calls", "streams", "groups", "latency", "cold")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench")
    parser.add_argument("--full", action="store_true", help="with namespaces of 100 k memories: minutes more")
    parser.add_argument("--only", choices=_PARTS, nargs="+", default=_PARTS, help="parts to measure")
    parser.add_argument("--rounds", type=int, default=5, help="alternating runs, of which the median counts")
    parser.add_argument("--seconds", type=float, default=1.0, help="length of one run of calls")
    return parser.parse_args()


async def _fill(
    rig: Rig, sizes: list[int], report: Report, *, are_written: bool
) -> tuple[list[Namespace], list[Namespace]]:
    """Return namespaces that are only read and, where any ``are_written`` to, as many for that."""
    read, written = [], []
    for size in sizes:
        space, filled = await rig.fill(f"user:read{size}:bench", size)
        report.add(store.ingest(rig, space, filled))
        read.append(space)
        if are_written:
            written.append((await rig.fill(f"user:write{size}:bench", size))[0])
    return read, written


async def _run(options: argparse.Namespace, directory: Path, report: Report) -> None:
    end_on_sigterm()
    if "matcher" in options.only:
        report.add(*await matcher.measure(options.rounds))
    if not {"matcher"}.issuperset(options.only):
        async with set_up(directory) as rig:
            if "subscribers" in options.only:
                async for result in subscribers.measure(rig, options.rounds, options.seconds):
                    report.add(result)
            if not {"matcher", "subscribers"}.issuperset(options.only):
                await _run_on_filled(rig, options, report)


async def _run_on_filled(rig: Rig, options: argparse.Namespace, report: Report) -> None:
    sizes = _SIZES + [_LARGEST] * options.full
    are_written = not {"matcher", "subscribers", "latency", "groups"}.issuperset(options.only)
    read, written = await _fill(rig, sizes, report, are_written=are_written)
    report.add(*store.raw_reads(rig, read[1]))
    await store.settle(rig)
    gc.freeze()
    async for result in _measured(rig, options, read, written):
        report.add(result)


async def _measured(
    rig: Rig, options: argparse.Namespace, read: list[Namespace], written: list[Namespace]
) -> AsyncIterator[Result]:
    """Measure the parts asked for that need filled namespaces, one after the other."""
    parts: dict[str, Callable[[], AsyncIterator[Result]]] = {
        "streams": lambda: streams.measure(rig, read[1], written[1], options.rounds),
        "groups": lambda: groups.measure(rig, read[1], options.rounds),
        "latency": lambda: latency.measure(rig, read),
        "cold": lambda: store.cold_loads(rig, [*read[1:], written[1]]),
        "calls": lambda: calls.measure(rig, read, written, options.rounds, options.seconds),
    }
    for name, measure in parts.items():
        if name in options.only:
            async for result in measure():
                yield result


def main() -> None:
    """Run what was asked for."""
    options, report = _arguments(), Report()
    with TemporaryDirectory(prefix="hbus-bench-") as directory:
        uvloop.run(_run(options, Path(directory), report))
    report.summarise()


if __name__ == "__main__":
    main()
