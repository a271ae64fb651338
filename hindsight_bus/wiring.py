"""The composition root: the one place that knows every implementation."""

from __future__ import annotations

import asyncio
import io
import os
import secrets
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

import structlog

from hindsight_bus.adapters.embedding.profiles import (
    CachedQueries,
    Endpoint,
    open_embedder,
)
from hindsight_bus.adapters.index.analysis import Analyzer
from hindsight_bus.adapters.index.view import View
from hindsight_bus.adapters.llm.gateway import Gateway
from hindsight_bus.adapters.valkey.embedded import EmbeddedValkey
from hindsight_bus.adapters.valkey.log import ValkeyLog
from hindsight_bus.app.attempt import WriteTools
from hindsight_bus.app.change import Changer
from hindsight_bus.app.commit import Committer
from hindsight_bus.app.conflicts import Conflicts
from hindsight_bus.app.consolidate import Consolidator, consolidation_handlers
from hindsight_bus.app.consume import Consumers
from hindsight_bus.app.context import ContextBuilder
from hindsight_bus.app.extract import Extractor
from hindsight_bus.app.groups import GroupBook
from hindsight_bus.app.indexing import Caretaker, Indexer, Suspector, due_handlers, one_by_one
from hindsight_bus.app.judging import Judge
from hindsight_bus.app.lessons import Lessons
from hindsight_bus.app.matching import Matcher
from hindsight_bus.app.meanings import Meanings
from hindsight_bus.app.model_reflector import ModelReflector
from hindsight_bus.app.namespaces import Namespaces
from hindsight_bus.app.node import Node
from hindsight_bus.app.policies import PolicyBook
from hindsight_bus.app.promotion import Promoter
from hindsight_bus.app.read import Reader
from hindsight_bus.app.records import RecordReader
from hindsight_bus.app.reflections import Reflections
from hindsight_bus.app.retention import Retention
from hindsight_bus.app.reviews import Reviews
from hindsight_bus.app.rule_reflector import RuleReflector
from hindsight_bus.app.search import Searcher
from hindsight_bus.app.served import ServedNotes
from hindsight_bus.app.skill_search import SkillSearch
from hindsight_bus.app.skills import Skills
from hindsight_bus.app.tail import Tails
from hindsight_bus.app.task_retention import TaskRetention
from hindsight_bus.app.tasks import Tasks, task_handlers
from hindsight_bus.app.usage import UsageRecorder
from hindsight_bus.app.views import Views
from hindsight_bus.app.watch import Watcher
from hindsight_bus.app.work import DueWorker, SlowWorker
from hindsight_bus.app.working_memory import WorkingMemory
from hindsight_bus.app.write import Writer
from hindsight_bus.domain.calibration import calibration_of
from hindsight_bus.domain.errors import EmbedderUnavailable
from hindsight_bus.ports import Clock, Embedder, Groups, Ids, MemoryLog
from hindsight_bus.settings import Settings

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class App:
    """The use cases of one node, ready to be served."""

    writer: Writer
    changer: Changer
    reader: Reader
    searcher: Searcher
    contexts: ContextBuilder
    usage: UsageRecorder
    extractor: Extractor
    watcher: Watcher
    consumers: Consumers
    groups: GroupBook
    retention: Retention
    conflicts: Conflicts
    namespaces: Namespaces
    tasks: Tasks
    reflections: Reflections
    reviews: Reviews
    models: Gateway
    skills: Skills
    skill_search: SkillSearch
    promoter: Promoter
    node: Node
    log: MemoryLog
    views: Views
    close: Callable[[], Awaitable[None]]


class SystemClock:
    """Time of this machine."""

    def monotonic(self) -> float:
        """Return seconds from an arbitrary start."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


class RandomIds:
    """Ids from the system's randomness, drawn many at a time: asking for it lets other threads in, and each waits."""

    _DRAWN = 4096

    def __init__(self) -> None:
        self._drawn = io.BytesIO()

    def memory_id(self) -> str:
        """Return 32 hex digits."""
        return self._take(16).hex()

    def stamp(self) -> int:
        """Return a random number, 1 to 2**32 - 1."""
        return int.from_bytes(self._take(8)) % (2**32 - 1) + 1

    def _take(self, size: int) -> bytes:
        taken = self._drawn.read(size)
        if len(taken) < size:
            self._drawn = io.BytesIO(os.urandom(self._DRAWN))
            taken = self._drawn.read(size)
        return taken


async def build(config: Settings) -> App:
    """Open the store and the embedder and put a node together on them; it runs when this returns."""
    stack = AsyncExitStack()
    try:
        store = await _open_store(config, stack)
        embedder = _open_embedder(config)
        stack.push_async_callback(embedder.close)
        models = Gateway(config.models, store.ledger())
        stack.push_async_callback(models.close)
        warm_up = asyncio.gather(_warm_up(embedder), models.warm_up())
        stack.push_async_callback(_ended, warm_up)
        return await assemble(
            store, store.groups(), embedder, models, SystemClock(), RandomIds(), config, stack
        )
    except BaseException:
        await stack.aclose()
        raise


async def assemble(
    store: MemoryLog,
    groups: Groups,
    embedder: Embedder,
    models: Gateway,
    clock: Clock,
    ids: Ids,
    config: Settings,
    stack: AsyncExitStack,
) -> App:
    """Put a node together on a store and an embedder and start it; ``stack`` takes what must be undone."""
    index_thread = ThreadPoolExecutor(1, thread_name_prefix="index")
    stack.callback(index_thread.shutdown, wait=False, cancel_futures=True)
    analyzer = Analyzer()

    reader = RecordReader(store)
    tails = Tails(store, clock, config.ring_kib << 10)
    policies = PolicyBook(store, tails, clock)
    views = Views(
        reader,
        tails,
        lambda profile: View(analyzer, calibration_of(profile)),
        index_thread,
        config.view_budget_mib << 20,
    )
    served = ServedNotes(store, clock)
    committer = Committer(store, tails, ids)
    match_thread = ThreadPoolExecutor(1, thread_name_prefix="match")
    stack.callback(match_thread.shutdown, wait=False, cancel_futures=True)
    matcher = Matcher(tails, match_thread)
    meanings = Meanings(reader, policies, embedder)
    book = GroupBook(store, groups, meanings, ids)

    writer = Writer(WriteTools(reader, committer, served, embedder, ids), policies, views)
    changer = Changer(reader, committer, policies, writer)
    is_judged = bool(models.names and config.judgements_per_day)
    conflicts = Conflicts(reader, committer, policies, is_judged=is_judged)
    judge = Judge(reader, committer, models, config.judgements_per_day)
    handlers = due_handlers(
        Indexer(reader, committer, embedder),
        Suspector(reader, views, conflicts, calibration_of),
        Caretaker(reader, committer, policies, changer, conflicts),
    )
    handlers["judge"] = one_by_one(judge.judge)
    searcher = Searcher(reader, views, policies, embedder, served)
    skill_search = SkillSearch(reader, searcher)
    skills = Skills(reader, committer, writer, changer, skill_search)
    reviews = Reviews(reader, committer, writer, changer, skills)
    reflector = (
        ModelReflector(models, in_english=config.think_in_english) if models.names else RuleReflector()
    )
    lessons = Lessons(writer, views, embedder, calibration_of)
    reflections = Reflections(reader, committer, lessons, reflector, skills, reviews)
    handlers |= task_handlers(
        reflections, WorkingMemory(reader, changer), TaskRetention(reader, committer, policies)
    )
    handlers |= consolidation_handlers(Consolidator(reader, committer, policies, changer))
    workers = [DueWorker(store, clock, handlers), SlowWorker(store, clock, handlers)]
    committer.due_listeners += [worker.hint for worker in workers]
    retention = Retention(store, groups, clock, config.retention_hours)
    node = Node(store, tails, policies, views, served, workers, retention, clock)
    await node.start()
    stack.push_async_callback(node.stop)
    stack.push_async_callback(matcher.close)
    return App(
        writer=writer,
        changer=changer,
        reader=Reader(reader, tails, served),
        searcher=searcher,
        contexts=ContextBuilder(searcher, partial(secrets.token_hex, 8)),
        usage=UsageRecorder(reader, committer),
        extractor=Extractor(store, writer, models),
        watcher=Watcher(reader, tails, matcher, meanings, served),
        consumers=Consumers(store, groups, tails, matcher, meanings, book, served),
        groups=book,
        retention=retention,
        conflicts=conflicts,
        namespaces=Namespaces(reader, committer, policies, views, embedder.profile, models),
        tasks=Tasks(reader, committer, searcher, reflections, skill_search, policies, ids),
        reflections=reflections,
        reviews=reviews,
        models=models,
        skills=skills,
        skill_search=skill_search,
        promoter=Promoter(reader, writer, skills, skill_search),
        node=node,
        log=store,
        views=views,
        close=stack.aclose,
    )


async def _open_store(config: Settings, stack: AsyncExitStack) -> ValkeyLog:
    url = config.valkey_url
    if not url:
        embedded = EmbeddedValkey(config.data_dir, fsync=config.fsync)
        await embedded.start()
        stack.push_async_callback(embedded.stop)
        url = embedded.url
    store = await ValkeyLog.open(url, partitions=config.partitions)
    stack.push_async_callback(store.close)
    return store


def _open_embedder(config: Settings) -> CachedQueries:
    if config.embedder != "openai":
        return open_embedder(config.embedder)
    endpoint = Endpoint(config.openai_base_url, config.openai_api_key.get_secret_value())
    return open_embedder(f"openai:{config.openai_model}", endpoint)


async def _ended(task: asyncio.Future[Any]) -> None:
    """Cancel a task and wait until it is over."""
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def _warm_up(embedder: CachedQueries) -> None:
    try:
        await embedder.warm_up()
    except EmbedderUnavailable as error:
        log.warning("embedder.unavailable", profile=embedder.profile, problem=error.message)
