"""Vectors of a namespace are compared as its own profile has it, whatever the server embeds with."""

from __future__ import annotations

import numpy as np
import pytest

from hindsight_bus.adapters.memory.embedder import FakeEmbedder
from hindsight_bus.app.caller import Caller
from hindsight_bus.domain.names import Namespace, Pattern
from hindsight_bus.domain.vectors import normalise
from hindsight_bus.ports import Vectors
from tests.unit.app_rig import FACTS, Node
from tests.unit.squeezed import shared_direction

THEIRS = Namespace.parse("user:lisi:facts", "default")
CLOSE, APART = 0.7, 0.4
"""Cosines of what two vectors have beside the direction that all share, where e5 finds them close and where not."""


def pair(cosine: float) -> list[Vectors]:
    """Return two vectors, most of which all have in common; the rest of them has this cosine."""
    shared = shared_direction()
    random = np.random.default_rng(5).standard_normal((2, 384))
    random -= np.outer(random @ shared, shared)
    one = random[0] / np.linalg.norm(random[0])
    across = random[1] - (random[1] @ one) * one
    other = cosine * one + (1.0 - cosine**2) ** 0.5 * across / np.linalg.norm(across)
    return [normalise(2.0 * shared + each) for each in (one, other)]


async def node_with(cosine: float) -> Node:
    """Return a node of the profile e5, with a pair in a namespace of it and in one whose callers bring vectors."""
    node = Node(embedder=FakeEmbedder("e5", 384))
    policy = {"embedding_profile": "external(384)"}
    await node.namespaces.update_policy(Caller(agent="ops"), Pattern.parse("user:lisi:*", "default"), policy)
    await node.policies.reload()
    for namespace in (FACTS, THEIRS):
        for name, vector in zip(("one", "other"), pair(cosine), strict=True):
            await node.write(f"{name} says so", name, namespace=namespace, subject="", vector=vector)
    await node.work()
    return node


@pytest.mark.parametrize(("namespace", "expected"), [(FACTS, APART), (THEIRS, (4 + APART) / 5)])
async def test_cosines_are_those_of_the_profile(namespace: Namespace, expected: float) -> None:
    """Without what all texts share in e5, and as they are where callers bring vectors."""
    node = await node_with(APART)
    hits = await node.hits("says", namespaces=(namespace,), vector=pair(APART)[0])
    cosines = sorted(hit.candidate.dense or 0.0 for hit in hits)
    assert cosines == pytest.approx([expected, 1.0], abs=5e-3)


@pytest.mark.parametrize(("cosine", "suspected"), [(CLOSE, {FACTS, THEIRS}), (APART, set())])
async def test_suspicion_goes_by_the_profile(cosine: float, suspected: set[Namespace]) -> None:
    """Each has a threshold of its own: under that of e5 callers' vectors, which are as they are, would all be close."""
    node = await node_with(cosine)
    found = {namespace for namespace in (FACTS, THEIRS) if await node.open_conflicts(namespace)}
    assert found == suspected
