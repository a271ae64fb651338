"""Logs: one JSON object a line on stderr, or readable lines where stderr is a terminal."""

from __future__ import annotations

import asyncio
import atexit
import logging
import sys
from typing import TextIO

import msgspec.json
import structlog


def configure(level: str, stream: TextIO | None = None) -> structlog.typing.FilteringBoundLogger:
    """Set up structlog for this process and return its root logger."""
    out = stream or sys.stderr
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            _renderer(out),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.WriteLoggerFactory(_Turns(out)),  # type: ignore[arg-type]
        cache_logger_on_first_use=True,
    )
    logger: structlog.typing.FilteringBoundLogger = structlog.get_logger()
    return logger


def _renderer(out: TextIO) -> structlog.typing.Processor:
    if out.isatty():
        return structlog.dev.ConsoleRenderer()
    return structlog.processors.JSONRenderer(serializer=_to_json)


_encoder = msgspec.json.Encoder(enc_hook=str)


def _to_json(event: object, **_: object) -> str:
    return _encoder.encode(event).decode()


class _Turns:
    """A file to which the lines of one turn of the event loop go together.

    Each write lets other threads in, which may keep the loop waiting for milliseconds.
    """

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._lines: list[str] = []
        self._is_waiting = False
        atexit.register(self._write_out)

    def write(self, line: str) -> None:
        """Take a line."""
        self._lines.append(line)

    def flush(self) -> None:
        """Write the lines at the end of this turn; at once where no event loop runs."""
        if self._is_waiting:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._write_out()
        else:
            self._is_waiting = True
            loop.call_soon(self._write_out)

    def _write_out(self) -> None:
        self._is_waiting = False
        lines, self._lines = self._lines, []
        if lines and not self._out.closed:
            self._out.write("".join(lines))
            self._out.flush()
