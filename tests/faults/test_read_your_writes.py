"""Fault row 16: who holds the token of a write finds it, on another connection and on another node."""

from __future__ import annotations

import asyncio
import random

import pytest

from tests.faults.conftest import Pair
from tests.faults.forms import forms
from tests.faults.load import client, episode, vector

pytestmark = [pytest.mark.faults, pytest.mark.e2e]

WRITERS = 8


@forms("calls", 500, 10_000)
async def test_a_search_with_the_token_finds_the_write(calls: int, pair: Pair, chance: random.Random) -> None:
    """Write on one node, search AT_LEAST(token) on another connection of the same or another node: no miss."""
    targets = [pair.one.target, pair.two.target]
    counts = [chance.sample(range(calls), calls // WRITERS) for _ in range(WRITERS)]
    missed = await asyncio.gather(*(_misses(targets, n, counts[n]) for n in range(WRITERS)))
    assert not [text for texts in missed for text in texts]


async def _misses(targets: list[str], writer: int, numbers: list[int]) -> list[str]:
    """Write and search; return what was not found."""
    missed = []
    namespace = f"user:u{writer % 3}:parcels"
    async with (
        client(targets[0], f"w{writer}") as one,
        client(targets[1]) as two,
        client(targets[0]) as again,
    ):
        for count, number in enumerate(numbers):
            text = f"parcel w{writer}n{number} arrived"
            written = await (two if count % 3 == 0 else one).write(namespace, text, **episode(text, number))
            reader = (two, again, one)[count % 3]
            found = await reader.search(
                namespace, f"w{writer}n{number}", vector=vector(number), after=written.token
            )
            if written.memory.name not in {hit.memory.name for hit in found.hits}:
                missed.append(text)
    return missed
