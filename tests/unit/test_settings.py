"""Settings from environment and arguments."""

from __future__ import annotations

import json
from pathlib import Path

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


PROVIDER = {"name": "local", "base_url": "http://127.0.0.1:11434/v1", "model": "qwen3"}


def test_models_come_as_a_list_or_from_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In their order; without any there are none."""
    assert load().models == ()
    listed = json.dumps([PROVIDER, PROVIDER | {"name": "far", "answers": "text"}])
    monkeypatch.setenv("HBUS_MODELS", listed)
    inline = load().models
    assert [(each.full_name, each.answers) for each in inline] == [
        ("local/qwen3", "json_schema"),
        ("far/qwen3", "text"),
    ]
    path = tmp_path / "models.json"
    path.write_text(listed)
    monkeypatch.setenv("HBUS_MODELS", str(path))
    assert load().models == inline


def test_the_key_of_a_model_may_lie_in_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As container engines hand over secrets; printing settings does not print it."""
    key = tmp_path / "model_api_key"
    key.write_text("sk-marker\n")
    monkeypatch.setenv("HBUS_MODELS", json.dumps([PROVIDER | {"key_file": str(key)}]))
    settings = load()
    assert settings.models[0].key == "sk-marker"
    assert "sk-marker" not in repr(settings)


@pytest.mark.parametrize(
    ("models", "problem"),
    [
        ([PROVIDER | {"base_url": "ftp://host"}], "http or https URL"),
        ([PROVIDER | {"base_url": "https://user:pass@host/v1"}], "no credentials"),
        ([PROVIDER | {"key_env": "NOT_THERE"}], "the environment holds no NOT_THERE"),
        ([PROVIDER | {"key_file": "/no/such/file"}], "holds no key, or cannot be read"),
        ([PROVIDER | {"api_key": "sk-1"}], "Extra inputs"),
        ([PROVIDER, PROVIDER], "a name of its own"),
        ("[{", "must be a JSON list"),
        ("/no/such/file", "must be a JSON list"),
    ],
)
def test_wrong_models_are_an_error_at_start(
    models: object, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what is wrong about them."""
    monkeypatch.setenv("HBUS_MODELS", models if isinstance(models, str) else json.dumps(models))
    with pytest.raises(ValidationError, match=problem):
        load()


def test_secrets_come_from_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A file named like a setting sets it, without its line break; the environment goes before it."""
    (tmp_path / "hbus_openai_api_key").write_text("sk-from-file\n")
    (tmp_path / "hbus_log_level").write_text("error")
    (tmp_path / "of_another_program").write_text("not ours")
    monkeypatch.setenv("HBUS_SECRETS_DIR", str(tmp_path))
    monkeypatch.setenv("HBUS_LOG_LEVEL", "debug")
    settings = load()
    assert (settings.openai_api_key.get_secret_value(), settings.log_level) == ("sk-from-file", "debug")


def test_a_misspelt_secret_is_an_error_at_start(tmp_path: Path) -> None:
    """A file that was meant for us and means nothing does not go unnoticed."""
    (tmp_path / "hbus_openai_key").write_text("sk")
    with pytest.raises(UnknownSetting, match="hbus_openai_key; did you mean HBUS_OPENAI_API_KEY"):
        load(secrets_dir=tmp_path)
