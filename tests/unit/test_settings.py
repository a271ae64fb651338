"""Settings from environment and arguments."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from hindsight_bus.settings import Settings, UnknownSetting, load


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(f"HBUS_{name.upper()}", raising=False)


def test_defaults_are_safe() -> None:
    """Without any setting the server listens to this machine alone and syncs before each answer."""
    settings = load()
    assert (settings.listen, settings.insecure, settings.fsync) == ("127.0.0.1:50051", False, "always")


def test_environment_and_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment sets, an argument goes before it."""
    monkeypatch.setenv("HBUS_LISTEN", "127.0.0.1:1")
    monkeypatch.setenv("HBUS_ROLES", "memory, bus")
    monkeypatch.setenv("HBUS_PARTITIONS", "4")
    settings = load(partitions=8)
    assert (settings.listen, settings.roles, settings.partitions) == ("127.0.0.1:1", ("memory", "bus"), 8)


def test_a_misspelt_name_is_an_error_at_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """An unknown HBUS_ name is refused, and the likely one proposed."""
    monkeypatch.setenv("HBUS_VALKEY_URI", "redis://x")
    with pytest.raises(UnknownSetting, match="HBUS_VALKEY_URI; did you mean HBUS_VALKEY_URL"):
        load()


def test_an_unknown_argument_is_an_error() -> None:
    """An argument that is no setting is refused."""
    with pytest.raises(ValidationError):
        load(colour="blue")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HBUS_PARTITIONS", "0"),
        ("HBUS_FSYNC", "never"),
        ("HBUS_ROLES", "memory,kitchen"),
        ("HBUS_GRACE_SECONDS", "-1"),
        ("HBUS_LISTEN", "nonsense"),
        ("HBUS_LISTEN", "127.0.0.1:65536"),
    ],
)
def test_a_bad_value_is_an_error_at_start(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    """A value out of its range is refused."""
    monkeypatch.setenv(name, value)
    with pytest.raises(ValidationError):
        load()


def test_settings_cannot_change() -> None:
    """Settings are frozen."""
    settings = load()
    with pytest.raises(ValidationError):
        settings.listen = "elsewhere"


def test_the_key_stays_out_of_sight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Printing settings does not print a credential."""
    monkeypatch.setenv("HBUS_OPENAI_API_KEY", "sk-marker")
    assert "sk-marker" not in repr(load())
