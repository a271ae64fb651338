"""How long ``hbus mcp`` takes to start and to end, beside importing the protocol's SDK and gRPC alone.

One JSON line on standard output; ``must`` is the bound set for the product.

    python -m bench.shim
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from time import perf_counter

_ROUNDS = 7
_MUST = 2.5
_BARE = ("-c", "import mcp, grpc")
_SHIM = ("-c", "from hindsight_bus.cli import main; main()", "mcp", "--user", "u", "--agent", "a")


def _seconds(arguments: tuple[str, ...]) -> float:
    started = perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdin=subprocess.DEVNULL, capture_output=True)
    return perf_counter() - started


def main() -> None:
    """Alternate, and compare the shortest of each: what is beyond them is other programs' work."""
    pairs = [(_seconds(_SHIM), _seconds(_BARE)) for _ in range(_ROUNDS)]
    shim, bare = (min(each) for each in zip(*pairs, strict=True))
    median = statistics.median(one / other for one, other in pairs)
    figures = {"shim_s": shim, "bare_s": bare, "ratio": shim / bare, "median_ratio": median, "must": _MUST}
    print(json.dumps({name: round(value, 3) for name, value in figures.items()}))


if __name__ == "__main__":
    main()
