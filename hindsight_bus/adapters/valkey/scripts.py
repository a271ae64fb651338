"""The Lua scripts that ship with this package. They are constant; what varies is their keys and arguments."""

from __future__ import annotations

import hashlib
from importlib.resources import files


class Script:
    """One script, put together from one file or more, and the SHA-1 that the server knows it by."""

    __slots__ = ("sha", "text")

    def __init__(self, *names: str) -> None:
        lua = files(__package__).joinpath("lua")
        self.text = b"".join(lua.joinpath(f"{name}.lua").read_bytes() for name in names)
        self.sha = hashlib.sha1(self.text, usedforsecurity=False).hexdigest().encode()


class Scripts:
    """All of them."""

    __slots__ = ("commit", "release", "take", "trim")

    def __init__(self) -> None:
        self.commit = Script("commit")
        self.take = Script("take")
        self.release = Script("release")
        self.trim = Script("trim")
