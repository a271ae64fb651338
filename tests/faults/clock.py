"""The wall clock of a Python process, which jumps when told. What counts from an arbitrary start does not jump.

As a program it makes the clock jump and then becomes another one: ``python -m tests.faults.clock FILE python -c CODE``.
(libfaketime will not do: absl, within gRPC, waits by system calls that it does not see, and hangs.)
"""

from __future__ import annotations

import datetime as dt
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

from grpc._cython import cygrpc  # type: ignore[attr-defined] # the stubs lack it


class JumpingClock:
    """Start a server with ``wrapper``; then ``jump``."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.wrapper = (sys.executable, "-m", "tests.faults.clock", str(file))
        self.jump(0)

    def jump(self, seconds: int) -> None:
        """Set the clock to the true time and so many seconds."""
        new = self._file.with_suffix(".new")
        new.write_text(str(seconds))
        new.rename(self._file)  # a process that reads it meanwhile sees either the old one or the new one


def _shift(off_s: Callable[[], int]) -> None:
    """Have every way by which Python tells the time be off.

    gRPC keeps the true time: its core reads the clock by itself, and its Python half must agree with it on deadlines.
    """
    true_time, true_time_ns = time.time, time.time_ns
    cygrpc.time = SimpleNamespace(time=true_time)

    class Datetime(dt.datetime):
        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> Datetime:
            return cls.fromtimestamp(time.time(), tz)

        @classmethod
        def utcnow(cls) -> Datetime:
            return cls.now(dt.UTC).replace(tzinfo=None)

    time.time = lambda: true_time() + off_s()
    time.time_ns = lambda: true_time_ns() + off_s() * 1_000_000_000
    dt.datetime = Datetime  # type: ignore[misc]


def main() -> None:
    """Shift the clock, then run the program."""
    file, _, _, code, *arguments = sys.argv[1:]
    _shift(lambda: int(Path(file).read_text()))
    sys.argv = ["-c", *arguments]
    exec(code, {"__name__": "__main__"})


if __name__ == "__main__":
    main()
