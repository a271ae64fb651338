"""What an operator may set, by environment (``HBUS_`` + the upper-case name) or by argument.

Rules of single namespaces are policies, not settings.
"""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from hindsight_bus.adapters.llm.config import ModelProvider

PREFIX = "HBUS_"
OF_CLIENTS = ("HBUS_TARGET", "HBUS_AGENT", "HBUS_USER", "HBUS_API_KEY")
"""Names of the same prefix that the commands of a client read; a server leaves them alone."""

_SECRETS_DIR = Path("/run/secrets")
"""Where container engines mount secrets."""

Role = Literal["memory", "bus", "reflection"]


def _default_data_dir() -> Path:
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "hindsight-bus"


class UnknownSetting(ValueError):
    """The environment holds an ``HBUS_`` name that means nothing here, most likely a misspelt one."""

    def __init__(self, name: str, close: str) -> None:
        hint = f"; did you mean {close}?" if close else ""
        super().__init__(f"unknown setting {name}{hint}")


class Settings(BaseSettings):
    """Settings of one server process."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="forbid")

    # Where and what it serves
    listen: str = "127.0.0.1:50051"
    """``HOST:PORT``; port 0 takes a free one."""
    insecure: bool = False
    """Listen to other machines although nothing tells callers apart."""
    roles: Annotated[tuple[Role, ...], NoDecode] = ("memory", "bus", "reflection")
    """Services to serve, separated by commas."""
    metrics_port: int = Field(default=0, ge=0, le=65535)
    """Port of the Prometheus page on the same host; 0 = none."""

    # Where it keeps things
    data_dir: Path = Field(default_factory=_default_data_dir)
    """Directory of the embedded store; default ``~/.local/share/hindsight-bus`` (XDG Base Directory)."""
    valkey_url: str = ""
    """``redis://`` or ``unix://`` URL of a server of yours; empty = the embedded one."""
    fsync: Literal["always", "everysec"] = "always"
    """How the embedded store syncs to disk; ``everysec`` may lose the last second and says so in every answer."""
    partitions: int = Field(default=16, ge=1, le=1024)
    """Partitions of the log; fixed when a store is first used."""
    secrets_dir: Path = _SECRETS_DIR
    """Directory of files that are named like settings, ``hbus_openai_api_key`` say, and hold their values."""

    # How it understands
    embedder: Literal["e5", "use", "openai"] = "e5"
    """Default embedding profile."""
    openai_base_url: str = "https://api.openai.com/v1"
    """Base URL of any endpoint that speaks OpenAI's API; for ``openai``."""
    openai_model: str = "text-embedding-3-small"
    """Embedding model of that endpoint."""
    openai_api_key: SecretStr = SecretStr("")
    """Key for that endpoint."""

    # Whom it asks
    models: Annotated[tuple[ModelProvider, ...], NoDecode] = ()
    """Language models in order of preference, as a JSON list or the path of a file with one; none: rules alone."""

    think_in_english: bool = False
    """Have models think about a task in English, whatever its language; lessons are in that of the task."""
    judgements_per_day: int = Field(default=50, ge=0)
    """Suspected contradictions that a model looks at, a namespace; 0 = none."""

    # How much it takes on
    view_budget_mib: int = Field(default=1024, ge=16)
    """Memory for the views of namespaces; the least recently used are dropped above it."""
    ring_kib: int = Field(default=4096, ge=64)
    """Memory for decoded commits, a partition."""
    retention_hours: float = Field(default=168.0, gt=0)
    """How long the log is kept at least; longer where a consumer group still needs it."""
    max_streams: int = Field(default=10_000, ge=1)
    """Publish, Subscribe and Consume streams at once."""
    max_agent_streams: int = Field(default=1_000, ge=1)
    """The same, of one agent."""
    publish_in_flight: int = Field(default=64, ge=1, le=1024)
    """Unanswered writes of one Publish stream."""
    max_call_seconds: float = Field(default=60.0, gt=0)
    """Longest a unary call may take, whatever its deadline says."""
    grace_seconds: float = Field(default=10.0, ge=0)
    """How long open calls may take to finish when the server stops."""

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Lowest level that is logged, to stderr."""

    @field_validator("listen")
    @classmethod
    def _check_address(cls, value: str) -> str:
        host, _, port = value.rpartition(":")
        if not value.startswith("unix:") and not (host and port.isdecimal() and int(port) <= 65535):
            raise ValueError("must have the form HOST:PORT with a port of 0 to 65535")
        return value

    @field_validator("models")
    @classmethod
    def _told_apart(cls, value: tuple[ModelProvider, ...]) -> tuple[ModelProvider, ...]:
        if len({provider.name for provider in value}) < len(value):
            raise ValueError("every provider needs a name of its own")
        return value

    @field_validator("models", mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value if value.lstrip().startswith("[") else Path(value).read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise ValueError(f"must be a JSON list, or the path of a file that holds one: {error}") from error

    @field_validator("roles", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return tuple(part.strip() for part in value.split(",")) if isinstance(value, str) else value


def load(**given: Any) -> Settings:
    """Return the settings of this process; ``given`` ones go before the environment.

    Raises ``UnknownSetting`` for a name of ours that means nothing, and pydantic's ``ValidationError`` for a bad value.
    """
    known = [PREFIX + name.upper() for name in Settings.model_fields]
    place = Path(given.get("secrets_dir") or os.environ.get(PREFIX + "SECRETS_DIR") or _SECRETS_DIR)
    files = [each.name for each in place.iterdir()] if place.is_dir() else []
    _refuse_unknown([*os.environ, *files], [*known, *OF_CLIENTS])
    return Settings(_secrets_dir=place if files else None, **given)  # type: ignore[call-arg] # not a field


def _refuse_unknown(environment: Iterable[str], known: list[str]) -> None:
    for name in environment:
        if name.upper().startswith(PREFIX) and name.upper() not in known:
            raise UnknownSetting(name, next(iter(difflib.get_close_matches(name.upper(), known, 1)), ""))
