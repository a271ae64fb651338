"""What vectors of pieces are worth for long texts: the same questions with them and with one vector a memory.

Facts of the project's own set, each put as one sentence somewhere into 1 to 2 kB of a chat about other things; and real
chats with several turns a memory. All memories of a language are in one view, searched with the defaults: once
for the answers, and once a question with what answers it taken out, when nothing should come back.

    python -m bench.eval.long --data ../shared/data
"""

from __future__ import annotations

import argparse
import asyncio
import random
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path
from statistics import fmean

from bench.eval import sources
from bench.eval.__main__ import DATA
from hindsight_bus.adapters.embedding.profiles import open_embedder
from hindsight_bus.adapters.index.analysis import Analyzer
from hindsight_bus.adapters.index.view import View
from hindsight_bus.calibrating import query_of, row_of
from hindsight_bus.domain.calibration import calibration_of
from hindsight_bus.domain.names import digest
from hindsight_bus.domain.query import SearchChannel
from hindsight_bus.domain.values import replace
from hindsight_bus.evaluation.dataset import DataSet, LabelledMemory, LabelledQuery
from hindsight_bus.evaluation.metrics import precision, recall
from hindsight_bus.ports import Embedder, Row, ViewQuery

_LEAST, _MOST = 1_000, 2_000
_DENSE_ALONE = frozenset(SearchChannel) - {SearchChannel.DENSE}


def hidden(folder: Path, language: str, seed: int = 1) -> DataSet:
    """Return facts within chats about other things, and questions for them, in one language."""
    chosen = random.Random(seed)
    facts = [each for each in sources.cross_language().memories if each.namespace == language]
    asked = [q for q in sources.cross_language().queries if q.group == f"{language} on {language}"]
    said = cycle(each.text for each in sources.sentences(sources.memorybank(folder, language)).memories)
    data = DataSet(f"a fact in a chat, {language}")
    for fact in facts:
        body = list(_told(said, chosen.randint(_LEAST, _MOST) - len(fact.text.encode())))
        body.insert(chosen.randint(len(body) // 4, 3 * len(body) // 4), fact.text)
        text = {"zh": "", "en": " "}[language].join(body)
        data.memories.append(LabelledMemory(fact.id, language, text))
    data.queries.extend(LabelledQuery((language,), query.text, query.relevant) for query in asked)
    return data


def merged(folder: Path, language: str) -> DataSet:
    """Return chats with as many consecutive turns of a day a memory as 2 kB hold, and the questions about them."""
    chats = sources.memorybank(folder, language)
    data = DataSet(f"turns of a chat, {language}")
    within: dict[str, str] = {}
    for turn in chats.memories:
        last = data.memories[-1] if data.memories else None
        text = f"{last.text}\n{turn.text}" if last is not None else ""
        if last is not None and last.event_time == turn.event_time and len(text.encode()) <= _MOST:
            data.memories[-1] = LabelledMemory(last.id, language, text, event_time=turn.event_time)
        else:
            data.memories.append(LabelledMemory(turn.id, language, turn.text, event_time=turn.event_time))
        within[turn.id] = data.memories[-1].id
    for query in chats.queries:
        relevant = frozenset(within[each] for each in query.relevant)
        data.queries.append(LabelledQuery((language,), query.text, relevant))
    return data


def _told(said: Iterator[str], size: int) -> Iterator[str]:
    while size > 0:
        sentence = next(said)
        size -= len(sentence.encode())
        yield sentence


async def _measure(embedder: Embedder, data: DataSet) -> None:
    embedded = await embedder.embed_pieces([memory.text for memory in data.memories])
    rows = [row_of(n, *each) for n, each in enumerate(zip(data.memories, embedded, strict=True), 1)]
    names = {digest(memory.id): memory.id for memory in data.memories}
    now_ms = max(row.create_time_ms for row in rows)
    queries = [
        replace(query_of(each, await embedder.embed_query(each.text), now_ms), top_k=10)
        for each in data.queries
    ]
    several, letters = sum(map(len, embedded)) - len(rows), fmean(len(m.text.encode()) for m in data.memories)
    print(
        f"{data.name}: {len(rows)} memories of {letters:.0f} bytes, {several} pieces, {len(queries)} questions"
    )
    for channels, without in (("dense", _DENSE_ALONE), ("all", frozenset[SearchChannel]())):
        for kind, held in (("one vector", [replace(row, pieces=b"") for row in rows]), ("pieces", rows)):
            print(
                f"  {channels:5} {kind:10} {_judged(embedder.profile, data, held, queries, without, names)}"
            )


def _judged(
    profile: str,
    data: DataSet,
    rows: Sequence[Row],
    queries: Sequence[ViewQuery],
    without: frozenset[SearchChannel],
    names: dict[str, str],
) -> str:
    view = View(Analyzer(), calibration_of(profile))
    view.upsert(rows)
    queries = [replace(query, without=without) for query in queries]
    answers = view.search(queries)
    found = [
        ([names[each.memory_id] for each in hits], query.relevant)
        for hits, query in zip(answers, data.queries, strict=True)
    ]
    recalls = " ".join(f"@{k} {fmean(recall(*each, k) for each in found):.3f}" for k in (1, 3, 10))
    return (
        f"recall {recalls}  precision {fmean(precision(*each) for each in found):.3f}"
        f"  hits {fmean(len(ranking) for ranking, _ in found):.1f}"
        f"  without the answer {fmean(_unanswered(view, data, rows, queries, names)):.3f} get some"
    )


def _unanswered(
    view: View,
    data: DataSet,
    rows: Sequence[Row],
    queries: Sequence[ViewQuery],
    names: dict[str, str],
) -> Iterator[bool]:
    """Tell of each question whether it gets a hit while the memories that answer it are taken out."""
    for query, labelled in zip(queries, data.queries, strict=True):
        gone = [row for row in rows if names[row.memory_id] in labelled.relevant]
        view.remove(row.memory_id for row in gone)
        yield bool(view.search([query])[0])
        view.upsert(gone)


async def _run(folder: Path, profile: str) -> None:
    embedder = open_embedder(profile)
    try:
        for language in ("zh", "en"):
            await _measure(embedder, hidden(folder, language))
            await _measure(embedder, merged(folder, language))
    finally:
        await embedder.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.eval.long")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the data sets")
    parser.add_argument("--embedder", default="e5", help="embedding profile")
    options = parser.parse_args()
    asyncio.run(_run(options.data, options.embedder))
