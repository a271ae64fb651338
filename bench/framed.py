"""Serialised messages in a file, each after its length."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path

_LENGTH = struct.Struct(">I")


def write_frames(path: Path, frames: Iterable[bytes]) -> None:
    """Write messages."""
    with path.open("wb") as out:
        for frame in frames:
            out.write(_LENGTH.pack(len(frame)) + frame)


def read_frames(path: Path) -> list[bytes]:
    """Read messages."""
    data, frames, at = path.read_bytes(), [], 0
    while at < len(data):
        start = at + _LENGTH.size
        at = start + _LENGTH.unpack_from(data, at)[0]
        frames.append(data[start:at])
    return frames
