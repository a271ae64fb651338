"""What hosts and models send is mended in form and strict in meaning; names reach no further than the launch."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

import hbus
from services.mcp import tools
from services.mcp.arguments import Tags, Type, Types, When, mended
from services.mcp.identity import Foreign, Identity, uri
from services.mcp.launch import Launch
from services.mcp.position import BadToken, Place
from services.mcp.strict import strict_tool

ZHANGSAN = Identity("zhangsan", "support")
NAME = "namespaces/user:张三:facts/memories/0123"


@pytest.mark.parametrize(
    ("sent", "meant"),
    [(["a", "b"], ["a", "b"]), ('["a", "b"]', ["a", "b"]), ("a, b", ["a", "b"]), ("", []), ("a", ["a"])],
)
def test_a_list_may_come_as_a_string(sent: Any, meant: list[str]) -> None:
    """Some hosts send arrays as JSON text, some models write words with commas."""
    assert TypeAdapter(Tags).validate_python(sent) == meant


def test_choices_are_read_in_any_case() -> None:
    """Upper case and blanks are no errors; a choice that does not exist is."""
    assert TypeAdapter(Type).validate_python(" SEMANTIC ") == "semantic"
    assert TypeAdapter(Types).validate_python("Semantic, lesson") == ["semantic", "lesson"]
    with pytest.raises(ValidationError):
        TypeAdapter(Type).validate_python("opinion")


def test_a_time_without_a_zone_is_utc() -> None:
    """Models leave zones out; an empty string is no time."""
    when: TypeAdapter[Any] = TypeAdapter(When)
    assert when.validate_python("2026-05-01T10:00:00") == datetime(2026, 5, 1, 10, tzinfo=UTC)
    assert when.validate_python("") is None


def test_aliases_and_nulls_are_mended() -> None:
    """An alias stands in for a name that was not given; null means left out; what is unknown stays to be refused."""
    known = ["text", "tags"]
    assert mended({"content": "a", "tags": None}, known) == {"text": "a"}
    assert mended({"content": "a", "text": "b"}, known) == {"content": "a", "text": "b"}
    assert mended({"txet": "a"}, known) == {"txet": "a"}


def test_an_alias_gives_way_to_a_name_of_the_same_tool() -> None:
    """``type`` is an alias of ``types`` only where a tool has no ``type`` itself."""
    assert mended({"type": "lesson"}, ["types"]) == {"types": "lesson"}
    assert mended({"type": "lesson"}, ["types", "type"]) == {"type": "lesson"}


def test_a_memory_is_named_by_name_or_uri() -> None:
    """Both lead to the same memory, in any script."""
    identity = Identity("张三", "support")
    assert identity.resource_name(NAME) == NAME
    assert identity.resource_name(uri(NAME)) == NAME
    assert uri(NAME).isascii()


@pytest.mark.parametrize(
    "name",
    [
        "namespaces/user:lisi:facts/memories/1",
        "namespaces/agent:billing:facts/memories/1",
        "namespaces/user:zhangsan2:facts/memories/1",
        "memory://user%3Alisi%3Afacts/1",
        "memory://user%3Azhangsan%3Afacts/../1",
        "namespaces/user:zhangsan:facts/conflicts/1",
        "0123",
        "",
    ],
)
def test_nothing_of_anybody_else_can_be_named(name: str) -> None:
    """Memories of other users and agents are refused before the bus is asked."""
    with pytest.raises(Foreign):
        ZHANGSAN.resource_name(name)


def test_a_task_is_named_like_a_memory_and_guarded_alike() -> None:
    """A task of the user or the agent passes, no other, and no memory in its place."""
    assert ZHANGSAN.task_name("namespaces/user:zhangsan:tasks/tasks/1")
    for name in ("namespaces/user:lisi:tasks/tasks/1", "namespaces/user:zhangsan:facts/memories/1"):
        with pytest.raises(Foreign):
            ZHANGSAN.task_name(name)


def test_the_scope_decides_whose_namespace_it_is() -> None:
    """Shared memory belongs to the user, private memory to the agent."""
    assert ZHANGSAN.namespace("semantic", "shared") == "user:zhangsan:facts"
    assert ZHANGSAN.namespace("procedural", "private") == "agent:support:procedures"


def test_profiles_and_names_choose_tools() -> None:
    """Each tool comes once; an unknown name is an error that says what there is."""
    default = [spec.name for spec in tools.chosen(["default"])]
    assert default[:2] == ["write_memory", "search_memory"]
    assert [spec.name for spec in tools.chosen(["read_events", "typed", "read_events"])] == [
        "read_events",
        "store_episodic_memory",
        "query_semantic_memory",
        "update_procedural_memory",
    ]
    assert len(tools.chosen(["all"])) == len(tools.chosen(["default", "typed", "connector"]))
    with pytest.raises(tools.UnknownTool, match="write_memory"):
        tools.chosen(["wirte_memory"])


@pytest.mark.parametrize("spec", tools.chosen(["all"]), ids=lambda spec: str(spec.name))
def test_no_tool_takes_an_identity(spec: tools.ToolSpec) -> None:
    """User, agent, key and namespace are no arguments, and what is no argument is refused by the schema."""
    schema = strict_tool(spec).parameters
    assert schema["additionalProperties"] is False
    assert "$ref" not in str(schema)
    assert not {"user", "user_id", "agent", "agent_id", "namespace", "api_key"} & set(schema["properties"])


@pytest.mark.parametrize("spec", tools.chosen(["all"]), ids=lambda spec: str(spec.name))
def test_every_tool_says_what_it_returns_and_does(spec: tools.ToolSpec) -> None:
    """There is an output schema of an object, a description, and a hint whether it only reads."""
    tool = strict_tool(spec)
    assert (tool.output_schema or {}).get("type") == "object"
    assert tool.description
    assert tool.annotations is not None
    assert tool.annotations.read_only_hint is not None


@pytest.mark.parametrize(("user", "agent", "tokens"), [("", "a", 4000), ("u", "", 4000), ("u", "a", 10)])
def test_a_launch_is_complete(user: str, agent: str, tokens: int) -> None:
    """User and agent are named, and an answer has room."""
    with pytest.raises(ValueError, match=r"name the user|room for"):
        Launch("127.0.0.1:1", Identity(user, agent), max_tokens=tokens)


def _event(partition: int, revision: int, index: int = 0) -> hbus.Event:
    return hbus.Event(partition=partition, revision=revision, index=index)


def test_a_place_within_a_batch_passes_over_what_was_handed_on() -> None:
    """A poll that ended within a batch goes on with the next event of each partition."""
    place = Place("T").after(_event(1, 5), "T", is_whole=False).after(_event(2, 3, 1), "T", is_whole=False)
    again = Place.parse(str(place))
    assert again == place
    assert again.has_seen(_event(1, 5))
    assert again.has_seen(_event(2, 3, 0))
    assert not again.has_seen(_event(2, 3, 2))
    assert not again.has_seen(_event(1, 6))
    assert not again.has_seen(_event(3, 1))


def test_passing_over_old_events_forgets_none_of_them() -> None:
    """An event that comes again from before the place does not move it back."""
    place = Place("T", {1: (5, 0)}).after(_event(1, 4), "T", is_whole=False)
    assert place.has_seen(_event(1, 5))


def test_a_whole_batch_needs_its_token_alone() -> None:
    """Once the token covers what was handed on, nothing else is kept."""
    assert str(Place("T", {1: (5, 0)}).after(_event(1, 6), "U", is_whole=True)) == "U"


@pytest.mark.parametrize("text", ["T~", "T~1.2", "T~a.b.c"])
def test_a_mangled_place_is_refused(text: str) -> None:
    """A token that was not returned by a poll is an error, not a start somewhere."""
    with pytest.raises(BadToken):
        Place.parse(text)
