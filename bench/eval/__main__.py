"""Measure how well a server finds what it should, through its public API and with its default settings.

It starts a server of its own on an empty store, loads each data set into scratch namespaces, asks every question one
after the other, and prints the table, the goals, what each channel is worth, and how far questions that nothing answers
are kept apart. ``--html`` writes the same with plots.

    python -m bench.eval --data ../shared/data --html retrieval.html
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import hbus
from bench.eval import floorless, sources
from bench.eval.abstention import Abstention
from bench.eval.goals import verdicts
from bench.processes import end_on_sigterm, product, valkey
from hbus.values import SearchChannelName
from hindsight_bus.evaluation import report, run
from hindsight_bus.evaluation.dataset import DataSet
from hindsight_bus.evaluation.metrics import CUTS
from hindsight_bus.evaluation.page import Page, Table
from hindsight_bus.evaluation.report import Result

DATA = Path(__file__).parents[3] / "shared" / "data"
_TOP_K = 10
_CHANNELS: Sequence[SearchChannelName] = ("dense", "lexical", "temporal", "subject", "neighbours")
_TIMEOUT_S = 60.0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.eval")
    default = Path(os.environ.get("HBUS_EVAL_DATA") or DATA)
    parser.add_argument("--data", type=Path, default=default, help="folder of the data sets (HBUS_EVAL_DATA)")
    parser.add_argument("--embedder", default="e5", help="embedding profile of the server")
    parser.add_argument("--html", type=Path, help="write a report with plots to this file")
    parser.add_argument(
        "--store", type=Path, help="keep the store here: what a later run finds in it is not loaded again"
    )
    parser.add_argument("--quick", action="store_true", help="without LoCoMo, whose vectors take minutes")
    parser.add_argument(
        "--no-crowd", action="store_true", help="without the five thousand memories of others beside LoCoMo"
    )
    parser.add_argument(
        "--no-ablation", action="store_true", help="without the runs that leave out a channel"
    )
    return parser.parse_args()


class Evaluation:
    """One run against one server."""

    def __init__(self, bus: hbus.Client, folder: Path, options: argparse.Namespace) -> None:
        self._bus = bus
        self._folder = folder
        self._options = options
        self._loaded: dict[str, run.Loaded] = {}
        self._judged: list[DataSet] = []
        self.results: list[Result] = []

    def measure(self) -> Page:
        """Run everything; return the report."""
        chats = [sources.memorybank(self._folder, language) for language in ("zh", "en")]
        stores = chats if self._options.quick else [*chats, sources.locomo(self._folder)]
        judged = [*stores, sources.precision(self._folder), sources.cross_language()]
        sets = [*judged, sources.bilingual(), sources.paraphrased(), sources.far(*stores)]
        sets += [
            sources.far_alone(store, language) for store, language in zip(chats, ("zh", "en"), strict=True)
        ]
        if not self._options.quick and not self._options.no_crowd:
            others = [*map(sources.sentences, chats), *chats, sources.agents(self._folder)]
            sets.append(sources.crowded(stores[2], *others))
        for data in sets:
            self.results += self._asked(data)
            _say(f"{data.name}: done")
        page = report.page_of(f"Retrieval, {self._options.embedder}", self.results, [f"top_k {_TOP_K}"])
        self._abstention(chats, page)
        page.parts.append(verdicts(self.results))
        if not self._options.no_ablation:
            page.parts.append(self._ablation(judged[:-1]))
        self._judged = judged
        return page

    def finish(self, floorless: hbus.Client, page: Page) -> None:
        """Add what the floor costs, by a server without one on the same store; and at the very end what use changes."""
        page.parts.append(self._floor_cost(floorless))
        if not self._options.quick and not self._options.store:
            self._utilisation(self._judged[2], page)

    def _floor_cost(self, floorless: hbus.Client) -> Table:
        rows = []
        for data in self._judged:
            loaded = self._load(data)
            found = run.grouped(loaded, run.ask(floorless, loaded, _TOP_K))
            for without in found:
                with_floor = next(each.summary for each in self.results if each.name == without.name)
                free = without.summary
                figures = (with_floor.recall[5], free.recall[5], with_floor.precision, free.precision)
                rows.append((without.name, *map(report.share, figures)))
        columns = ("set", "recall@5", "without a floor", "precision", "without a floor")
        return Table("What the floor costs", columns, rows)

    def _load(self, data: DataSet) -> run.Loaded:
        if data.name not in self._loaded:
            self._loaded[data.name] = run.load(self._bus, data)
        return self._loaded[data.name]

    def _asked(self, data: DataSet, without: Sequence[SearchChannelName] = ()) -> list[Result]:
        loaded = self._load(data)
        return run.grouped(loaded, run.ask(self._bus, loaded, _TOP_K, without))

    def _abstention(self, chats: Sequence[DataSet], page: Page) -> None:
        for data in chats:
            own, other = self._load(data), self._load(sources.near(data))
            measured = Abstention.of(
                data.name,
                run.ask(self._bus, own, _TOP_K),
                run.ask(self._bus, other, _TOP_K),
                self._options.embedder,
                data,
            )
            page.parts += [measured.table(), measured.plot()]

    def _ablation(self, sets: Sequence[DataSet]) -> Table:
        rows = []
        for data in sets:
            for without in ((), *((channel,) for channel in _CHANNELS)):
                for result in self._asked(data, without):
                    means = result.summary
                    shares = [*means.recall.values(), means.precision]
                    rows.append((result.name, *(without or ("-",)), *map(report.share, shares)))
        columns = ("set", "without", *(f"recall@{k}" for k in CUTS), "precision")
        return Table("What each channel is worth", columns, rows)

    def _utilisation(self, data: DataSet, page: Page) -> None:
        """Report the benchmark's answers as used; last, and on no store that is kept, for use changes what is found."""
        loaded = self._load(data)
        [result] = run.grouped(loaded, run.ask(self._bus, loaded, _TOP_K), self._bus)
        row = (data.name, report.share(result.summary.utilisation))
        page.parts.append(Table("Utilisation, estimated from the answers", ("set", "used"), [row]))


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _print(page: Page) -> None:
    for part in page.parts:
        if isinstance(part, Table):
            print(f"\n{part.title}\n")
            widths = [max(map(len, column)) for column in zip(part.columns, *part.rows, strict=True)]
            for row in (part.columns, *part.rows):
                print("  ".join(map(str.ljust, row, widths)).rstrip())


async def _run(options: argparse.Namespace, directory: Path) -> Page:
    end_on_sigterm()
    async with valkey(directory) as socket, product(socket, "eval", options.embedder) as address:
        with hbus.connect(address, agent="eval", timeout=_TIMEOUT_S) as bus:
            evaluation = Evaluation(bus, options.data, options)
            page = await asyncio.to_thread(evaluation.measure)
            async with product(socket, "floorless", options.embedder, floorless.SERVE) as other:
                with hbus.connect(other, agent="eval", timeout=_TIMEOUT_S) as second:
                    await asyncio.to_thread(evaluation.finish, second, page)
            return page


def main() -> None:
    """Measure, or say that the data is not there."""
    options = _arguments()
    if not options.data.is_dir():
        print(f"skipped: no data sets at {options.data}; name their folder with --data or HBUS_EVAL_DATA")
        return
    with TemporaryDirectory(prefix="hbus-eval-") as scratch:
        directory = options.store or Path(scratch)
        directory.mkdir(parents=True, exist_ok=True)
        try:
            page = asyncio.run(_run(options, directory.resolve()))
        except asyncio.CancelledError:
            sys.exit(128 + signal.SIGTERM)
    _print(page)
    if options.html:
        options.html.write_text(page.html(), "utf-8")


if __name__ == "__main__":
    main()
