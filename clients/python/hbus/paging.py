"""What every listing of the contract has in common."""

from __future__ import annotations

from typing import Protocol, TypeVar


class PageRequest(Protocol):
    """A request for one page."""

    page_token: str


class Page(Protocol):
    """One page; ``next_page_token`` is empty on the last."""

    next_page_token: str


P = TypeVar("P", bound=PageRequest)
G = TypeVar("G", bound=Page)
