"""How many tokens a text takes, without any model's tokenizer at hand."""

from __future__ import annotations

import re

_PIECE = re.compile(r"(?P<letters>[A-Za-z]+)|(?P<digits>[0-9]+)|(?P<other>[^ ])")
_LETTERS = 4
_DIGITS = 3
_BYTES = 2


def estimated_tokens(text: str) -> int:
    """Return about how many tokens ``text`` takes, rather too many than too few, so that a budget holds; O(n).

    Common tokenizers merge about four Latin letters or three digits of one run, and give every Chinese character, sign
    and line break a token of its own; rarer characters take one for every two bytes of UTF-8.
    """
    return sum(_size(piece.lastgroup or "", piece.group()) for piece in _PIECE.finditer(text))


def _size(kind: str, piece: str) -> int:
    if kind == "letters":
        return -(-len(piece) // _LETTERS)
    if kind == "digits":
        return -(-len(piece) // _DIGITS)
    return max(len(piece.encode("utf-8", "surrogatepass")) // _BYTES, 1)
