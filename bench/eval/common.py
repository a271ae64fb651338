"""Find what all texts of an embedding profile have in common: the table in ``hindsight_bus/domain/common.py``.

A direction a language: the mean vector of 161 plain sentences and labels on as many topics, each in Chinese and
English (``data/plain.jsonl``).

    python -m bench.eval.common e5
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import textwrap

import numpy as np

from bench.eval.sources import OWN
from hindsight_bus.adapters.embedding.profiles import open_embedder

_COLUMNS = 112


async def _directions(profile: str) -> bytes:
    """Return orthonormal directions as float16, little endian, shape (2, d)."""
    sentences = [json.loads(line) for line in (OWN / "plain.jsonl").read_text("utf-8").splitlines()]
    embedder = open_embedder(profile)
    try:
        told = [
            await embedder.embed_passages([each[language] for each in sentences]) for language in ("zh", "en")
        ]
    finally:
        await embedder.close()
    means = np.stack([vectors.mean(axis=0, dtype=np.float64) for vectors in told])
    return np.linalg.qr(means.T)[0].T.astype("<f2").tobytes()


def main() -> None:
    """Print the directions as the table has them."""
    parser = argparse.ArgumentParser(prog="python -m bench.eval.common")
    parser.add_argument("profile", help="embedding profile, as e5")
    directions = asyncio.run(_directions(parser.parse_args().profile))
    print("\n".join(textwrap.wrap(base64.b64encode(directions).decode(), _COLUMNS)))


if __name__ == "__main__":
    main()
