"""A Valkey whose power can be cut: what it wrote and had not synced is gone afterwards.

Its writes, syncs and replies are traced by strace, so the order of the three is known, and how much of its log file
each sync has covered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tests import needed
from tests.faults.processes import ValkeyProcess, until

_FLAGS = ("-D", "-f", "--seccomp-bpf", "-y", "-s", "0")
_CALLS = ("-e", "trace=write,writev,fsync,fdatasync")
_LOG = "appendonlydir/appendonly.aof.1.incr.aof"
_CALL = re.compile(
    r"(?P<thread>\d+) +(?P<call>\w+)\(\d+<(?P<file>[^>]*)>.*?(?:= (?P<result>-?\d+)|<unfinished)"
)
_RESUMED = re.compile(r"(?P<thread>\d+) +<\.\.\. \w+ resumed>.*= (?P<result>-?\d+)")


@dataclass(slots=True)
class Trace:
    """What a store did to its log file and to its clients."""

    log_bytes: int = 0
    """Size of the log file, as written."""
    synced_bytes: int = 0
    """So much of it is on disk for certain."""
    replies: int = 0
    early_replies: int = 0
    """Replies that were sent while something written was not synced yet."""
    _under_way: dict[str, tuple[str, str, int]] = field(default_factory=dict)

    def read(self, lines: Iterable[str]) -> Trace:
        """Follow the lines of strace; return itself."""
        for line in lines:
            if call := _CALL.match(line):
                self._begin(call["thread"], call["call"], call["file"])
                if call["result"] is not None:
                    self._end(call["thread"], int(call["result"]))
            elif resumed := _RESUMED.match(line):
                self._end(resumed["thread"], int(resumed["result"]))
        return self

    def _begin(self, thread: str, call: str, file: str) -> None:
        self._under_way[thread] = (call, file, self.log_bytes)
        if file.startswith("socket:"):
            self.replies += 1
            self.early_replies += self.synced_bytes < self.log_bytes

    def _end(self, thread: str, result: int) -> None:
        call, file, written = self._under_way.pop(thread, ("", "", 0))
        if not file.endswith(_LOG) or result < 0:
            return
        if call in ("write", "writev"):
            self.log_bytes += result
        else:  # what was written while it ran is not covered
            self.synced_bytes = max(self.synced_bytes, written)


class TracedValkey(ValkeyProcess):
    """A Valkey under strace.

    ``inject`` makes system calls fail (see strace(1)): ``fdatasync:error=EIO:when=7``; it counts from each start.
    """

    def __init__(self, place: Path, name: str = "valkey", **options: str) -> None:
        super().__init__(place, name, **options)
        self.inject = ""
        self._strace = needed.program("strace")
        self._trace_file = place / f"{name}.trace"
        self._log_file = self.data_dir / _LOG
        self._log_bytes = 0

    async def start(self) -> None:
        """Start, and return once it answers."""
        self._log_bytes = self._log_file.stat().st_size if self._log_file.exists() else 0
        inject = ("-e", f"inject={self.inject}") if self.inject else ()
        self.wrapper = (self._strace, *_FLAGS, *_CALLS, *inject, "-o", str(self._trace_file))
        await super().start()

    async def cut_power(self) -> Trace:
        """End it at once, if it has not ended by itself, and shorten its log file to what was synced."""
        await self.kill()

        async def is_whole() -> bool:
            return bool(re.search(rf"^{self.pid} +\+\+\+ ", self._trace_file.read_text(), re.MULTILINE))

        await until(is_whole, 20.0, f"the trace has ended, see {self._trace_file}")
        trace = Trace(self._log_bytes, self._log_bytes)
        trace.read(self._trace_file.read_text().splitlines())
        with self._log_file.open("ab") as log:
            log.truncate(trace.synced_bytes)
        return trace
