"""Memories and questions that cost what real ones do: Zipfian words in two languages, clustered vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np
from numpy.typing import NDArray

from hbus.v1.memory_pb2 import CHANNEL_INGEST, MEMORY_TYPE_EPISODIC, MEMORY_TYPE_SEMANTIC, Memory
from hbus.v1.memory_service_pb2 import SearchMemoriesRequest, WriteMemoryRequest

DIMENSION = 384
_CLUSTERS = 64
_WORDS_A_TEXT = 14
_WORDS_A_QUERY = 6
_ENGLISH = [
    first + second + last
    for first in "ta lo mer pin su gra vel no kit dar".split()
    for second in "ri ne so mal ti ck la ven".split()
    for last in "n t ra do sh m".split()
]
_CHINESE = "用户 偏好 表格 展示 对比 数据 订单 退款 地址 上海 北京 周末 会议 提醒 项目 报告 咖啡 航班 酒店 预算".split()
_VOCABULARY = [word for pair in zip(_ENGLISH, _CHINESE * 24, strict=True) for word in pair]

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Namespace:
    """A namespace that was filled, and enough of its content to ask about it."""

    name: str
    size: int
    texts: Sequence[str]
    vectors: Floats


class Source:
    """Makes requests; equal seeds make equal ones."""

    def __init__(self, seed: int = 2026) -> None:
        self._random = np.random.default_rng(seed)
        weights = 1.0 / np.arange(1, len(_VOCABULARY) + 1)
        self._weights = weights / weights.sum()
        self._centres = _unit(self._random.standard_normal((_CLUSTERS, DIMENSION)))
        self._serial = count(1)

    def writes(self, namespace: str, *, semantic: bool) -> Iterator[WriteMemoryRequest]:
        """Yield writes through the ingest channel for ever, each on a subject of its own where ``semantic``."""
        while True:
            texts, vectors = self.contents(256)
            for text, vector in zip(texts, vectors.tolist(), strict=True):
                yield self.write(namespace, text, vector, semantic=semantic)

    def write(
        self, namespace: str, text: str, vector: Sequence[float], *, semantic: bool
    ) -> WriteMemoryRequest:
        """Return one write."""
        serial = next(self._serial)
        memory = Memory(
            type=MEMORY_TYPE_SEMANTIC if semantic else MEMORY_TYPE_EPISODIC,
            text=text,
            subject=f"bench.subject{serial}" if semantic else "",
            tags=["bench"],
            vector=vector,
        )
        return WriteMemoryRequest(namespace=namespace, memory=memory, channel=CHANNEL_INGEST)

    def searches(self, namespace: Namespace) -> Iterator[SearchMemoriesRequest]:
        """Yield questions for ever: some words and roughly the vector of a memory that is there."""
        while True:
            for at in self._random.integers(len(namespace.texts), size=256):
                words = namespace.texts[at].split()
                noise = self._random.standard_normal(DIMENSION) / DIMENSION**0.5
                yield SearchMemoriesRequest(
                    namespaces=[namespace.name],
                    query=" ".join(self._random.choice(words, _WORDS_A_QUERY)),
                    vector=_unit(namespace.vectors[at] + 0.5 * noise).tolist(),
                    top_k=5,
                )

    def contents(self, size: int) -> tuple[list[str], Floats]:
        """Return texts, and vectors: float32, (n, d), L2-normalised, cosine about 0.35 within a cluster."""
        words = self._random.choice(_VOCABULARY, (size, _WORDS_A_TEXT), p=self._weights)
        texts = [" ".join(row) for row in words]
        noise = _unit(self._random.standard_normal((size, DIMENSION)))
        return texts, _unit(0.6 * self._centres[self._random.integers(_CLUSTERS, size=size)] + 0.8 * noise)


def _unit(vectors: NDArray[np.floating]) -> Floats:
    unit: Floats = (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)
    return unit
