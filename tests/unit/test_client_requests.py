"""What the client makes of plain Python values."""

from __future__ import annotations

from datetime import UTC, datetime

import grpc
import pytest
from google.protobuf.json_format import MessageToDict

import hbus
from hbus import errors, requests
from hbus.endpoint import Endpoint
from hbus.v1.common_pb2 import ConsistencyToken
from hbus.v1.error_reason_pb2 import ErrorReason
from hbus.v1.memory_pb2 import Memory, MemoryFilter

FACTS = "user:zhangsan:facts"


def test_a_write_takes_plain_values() -> None:
    """Names stand for enums, a dict for a Struct, a datetime for a Timestamp, a URI for an attachment."""
    request = requests.write(
        FACTS,
        "Allergic to nuts",
        type="semantic",
        cardinality="many",
        channel="user",
        attributes={"since": 1999, "by": ["doctor"]},
        event_time=datetime(2026, 1, 2, tzinfo=UTC),
        attachments=["https://example.org/report.pdf"],
        supersedes=[Memory(name="namespaces/a:b:c/memories/1"), "namespaces/a:b:c/memories/2"],
    )
    memory = request.memory
    assert memory.type == hbus.MemoryType.MEMORY_TYPE_SEMANTIC
    assert memory.cardinality == hbus.Cardinality.CARDINALITY_MANY
    assert request.channel == hbus.Channel.CHANNEL_USER
    assert MessageToDict(memory.attributes) == {"since": 1999.0, "by": ["doctor"]}
    assert memory.event_time.ToJsonString() == "2026-01-02T00:00:00Z"
    assert memory.attachments[0].uri == "https://example.org/report.pdf"
    assert list(memory.supersedes) == ["namespaces/a:b:c/memories/1", "namespaces/a:b:c/memories/2"]
    assert not memory.HasField("confidence")


def test_a_confidence_of_zero_is_sent() -> None:
    """Zero is a statement, unlike None."""
    assert requests.write(FACTS, "x", confidence=0.0).memory.HasField("confidence")
    assert not requests.write(FACTS, "x", confidence=None).memory.HasField("confidence")


def test_a_write_has_a_request_id_of_its_own_or_the_one_given() -> None:
    """So that sending it again is safe."""
    ids = {requests.write(FACTS, "x").request_id for _ in range(3)}
    assert len(ids) == 3
    assert requests.write(FACTS, "x", request_id="mine").request_id == "mine"


def test_an_unknown_name_is_refused_with_the_choices() -> None:
    """A misspelt enum name names its field and what would be right."""
    with pytest.raises(ValueError, match=r"type: 'fact' is none of episodic, semantic, procedural, lesson"):
        requests.write(FACTS, "x", type="fact")  # type: ignore[arg-type]


def test_a_time_without_a_zone_is_refused() -> None:
    """A naive datetime could mean any moment of a day."""
    with pytest.raises(ValueError, match="event_time: a datetime needs a time zone"):
        requests.write(FACTS, "x", event_time=datetime(2026, 1, 2))  # noqa: DTZ001


def test_an_update_names_exactly_the_fields_given() -> None:
    """None clears: the field is in the mask and not in the memory."""
    request = requests.update(
        "namespaces/a:b:c/memories/1",
        {"text": "new", "importance": None},
        etag="e",
        channel=None,
        source="",
        request_id="",
    )
    assert list(request.update_mask.paths) == ["text", "importance"]
    assert request.memory.text == "new"
    assert not request.memory.HasField("importance")
    assert request.request_id


def test_a_read_waits_for_the_tokens_given() -> None:
    """Tokens may be messages, texts, or one alone; nothing asked for means no requirement."""
    assert requests.consistency({}) is None
    assert requests.consistency({"after": ""}) is None
    tokens: list[ConsistencyToken | str] = ["t1", ConsistencyToken(token="t2")]
    asked = requests.consistency({"after": tokens, "require_vectors": True})
    assert asked is not None
    assert [token.token for token in asked.at_least.tokens] == ["t1", "t2"]
    assert asked.require_vectors
    full = requests.consistency({"fully_consistent": True})
    assert full is not None
    assert full.fully_consistent


def test_a_filter_keeps_unset_conditions_unset() -> None:
    """Pinned false is a condition; pinned left out is none."""
    assert requests.memory_filter({}) == MemoryFilter()
    assert requests.memory_filter({"pinned": False}).HasField("pinned")


@pytest.mark.parametrize(
    ("start", "kind"),
    [
        ("now", "now"),
        ("beginning", "beginning"),
        ("snapshot", "snapshot"),
        ("abc", "tokens"),
        (["a", "b"], "tokens"),
    ],
)
def test_a_subscription_starts_where_it_is_told(start: str | list[str], kind: str) -> None:
    """A word names a place, anything else is a token."""
    assert requests.subscribe(FACTS, start, {}).start.WhichOneof("from") == kind


def test_a_meaning_is_words_or_a_vector() -> None:
    """With a threshold or without one; a threshold alone means nothing."""
    words = requests.subscribe(FACTS, "now", {"meaning": "refunds", "threshold": 0.5}).filter.meaning
    assert (words.text, words.threshold) == ("refunds", 0.5)
    vector = requests.subscribe(FACTS, "now", {"meaning": (0.0, 1.0)}).filter.meaning
    assert ([*vector.vector], vector.HasField("threshold")) == ([0.0, 1.0], False)
    assert not requests.subscribe(FACTS, "now", {"meaning": None, "threshold": None}).filter.HasField(
        "meaning"
    )
    with pytest.raises(ValueError, match="threshold"):
        requests.subscribe(FACTS, "now", {"threshold": 0.5})


def test_an_empty_token_is_refused() -> None:
    """Resuming from nowhere must not become a fresh start."""
    with pytest.raises(ValueError, match="start"):
        requests.subscribe(FACTS, "", {})


def test_a_label_is_the_short_name() -> None:
    """Numbers of a newer server stay readable as digits."""
    assert hbus.label(hbus.MemoryState, hbus.MemoryState.MEMORY_STATE_OVERRIDDEN) == "overridden"
    assert hbus.label(hbus.MemoryState, 99) == "99"


def test_every_reason_of_the_contract_has_a_class_of_its_own() -> None:
    """No reason is left to be guessed from the status code."""
    names = [name.removeprefix("ERROR_REASON_") for name in ErrorReason.keys()[1:]]
    decoded = {name: errors.error_class(grpc.StatusCode.UNKNOWN, name) for name in names}
    assert [name for name, kind in decoded.items() if name not in kind.reasons] == []


@pytest.mark.parametrize(
    ("target", "dialled", "is_tls"),
    [
        ("127.0.0.1:50051", "127.0.0.1:50051", False),
        ("http://bus.example:80", "bus.example:80", False),
        ("https://bus.example", "bus.example:443", True),
        ("https://[::1]:50051", "[::1]:50051", True),
        ("unix:/run/hbus.sock", "unix:/run/hbus.sock", False),
    ],
)
def test_a_target_says_whether_it_is_encrypted(target: str, dialled: str, is_tls: bool) -> None:
    """https means TLS; a bare host and port does not."""
    endpoint = Endpoint.of(target)
    assert (endpoint.target, endpoint.credentials is not None) == (dialled, is_tls)


@pytest.mark.parametrize("target", ["", "https://", "https://bus.example/path"])
def test_a_malformed_target_is_refused(target: str) -> None:
    """Before anything is dialled."""
    with pytest.raises(ValueError, match="target"):
        Endpoint.of(target)


def test_an_agent_may_have_a_name_in_any_script() -> None:
    """Headers are ASCII, so such a name travels percent-encoded."""
    assert Endpoint.of("localhost:1", agent="客服").metadata == (("hbus-agent", "%E5%AE%A2%E6%9C%8D"),)
    assert Endpoint.of("localhost:1", agent="after-sales@eu.1").metadata == (
        ("hbus-agent", "after-sales@eu.1"),
    )


def test_a_key_that_cannot_be_a_header_is_refused() -> None:
    """The error names the argument."""
    with pytest.raises(ValueError, match="api_key"):
        Endpoint.of("localhost:1", api_key="密钥")
