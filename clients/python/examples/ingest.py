"""Write many memories over one stream, and see which were refused. Safe to run twice: the request ids are fixed.

python ingest.py
"""

import asyncio
import sys
from collections.abc import Iterator

import hbus

TURNS = "user:zhangsan:dialogue"


def turns() -> Iterator[hbus.WriteMemoryRequest]:
    """Yield the turns of a dialogue as writes."""
    for number in range(1, 1001):
        yield hbus.write_request(
            TURNS,
            f"Turn {number}: the customer asked about order {4000 + number}.",
            type="episodic",
            channel="ingest",
            source="dialogue-17",
            request_id=f"dialogue-17-turn-{number}",
        )


async def main(target: str) -> None:
    """Publish the dialogue; after a lost connection what was not answered is sent again by itself."""
    stored = 0
    async with hbus.aio.connect(target, agent="importer") as bus:
        async for published in bus.publish(turns()):
            if isinstance(published.outcome, hbus.HbusError):
                print(f"turn {published.index + 1} was refused: {published.outcome}")
            else:
                stored += 1
    print(f"{stored} turns are on disk")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:] or ["127.0.0.1:50051"]))
