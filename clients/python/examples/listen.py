"""Keep a local picture of what is known about every user, from now on and for ever, across restarts.

The picture starts from a snapshot. The token is saved after each event is dealt with, so a restart goes on from
there: nothing is missed, and at most the last batch comes again.

    python listen.py                 # stop it, write something, start it again
"""

import sys
from pathlib import Path

import hbus

PATTERN = "user:*:facts"
SAVED = Path("listen.token")


def main(target: str) -> None:
    """Listen until interrupted; start over from a snapshot where the saved place is gone."""
    try:
        listen(target, start=SAVED.read_text() if SAVED.exists() else "snapshot")
    except hbus.errors.PositionLost as error:
        print("the log no longer reaches back to where we stopped:", error)
        listen(target, start="snapshot")


def listen(target: str, start: str) -> None:
    """Print what is known, then what happens."""
    with hbus.connect(target, agent="listener") as bus, bus.subscribe(PATTERN, start=start) as live:
        for memory in live.snapshot():
            print("known   ", memory.text)
        SAVED.write_text(live.token)
        for event in live:
            print(f"{hbus.label(hbus.EventKind, event.kind):<12}", event.memory.text)
            SAVED.write_text(live.token)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:] or ["127.0.0.1:50051"])
    except KeyboardInterrupt:
        print("stopped at", SAVED)
