"""Logs: one JSON object a line on stderr, or readable lines where stderr is a terminal."""

from __future__ import annotations

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
        logger_factory=structlog.WriteLoggerFactory(out),
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
