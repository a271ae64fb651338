"""What a model may call, by profile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_types import ToolAnnotations

from services.mcp.tools import connector, events, forgetting, memories, tasks, typed


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool and what a host may know of its effects."""

    fn: Callable[..., Any]
    hints: ToolAnnotations

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.fn.__name__


def _reads(fn: Callable[..., Any]) -> ToolSpec:
    return ToolSpec(fn, ToolAnnotations(read_only_hint=True, open_world_hint=False))


def _writes(fn: Callable[..., Any], *, destroys: bool = False) -> ToolSpec:
    return ToolSpec(
        fn, ToolAnnotations(read_only_hint=False, destructive_hint=destroys, open_world_hint=False)
    )


PROFILES: dict[str, tuple[ToolSpec, ...]] = {
    "default": (
        _writes(memories.write_memory),
        _reads(memories.search_memory),
        _writes(memories.update_memory),
        _writes(forgetting.forget_memory, destroys=True),
        _reads(memories.list_memories),
        _writes(tasks.start_task),
        _writes(tasks.record_steps),
        _writes(tasks.reflect_on_task),
        _reads(events.read_events),
    ),
    "typed": (
        _writes(typed.store_episodic_memory),
        _reads(typed.query_semantic_memory),
        _writes(typed.update_procedural_memory),
    ),
    "connector": (_reads(connector.search), _reads(connector.fetch)),
}


class UnknownTool(ValueError):
    """The launch names a tool or profile that does not exist."""


def chosen(names: Sequence[str]) -> list[ToolSpec]:
    """Return the tools that profiles and names stand for, each once; raise ``UnknownTool``."""
    everything = {spec.name: (spec,) for specs in PROFILES.values() for spec in specs}
    known = {**everything, **PROFILES, "all": tuple(spec for [spec] in everything.values())}
    unknown = sorted(set(names) - set(known))
    if unknown or not names:
        raise UnknownTool(f"no tool or profile {', '.join(unknown)}; there are {', '.join(sorted(known))}")
    return list({spec.name: spec for name in names for spec in known[name]}.values())
