"""Where models are, as an operator says it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator

Mode = Literal["json_schema", "json_object", "text"]
LOOSER_THAN: dict[Mode, tuple[Mode, ...]] = {
    "json_schema": ("json_schema", "json_object", "text"),
    "json_object": ("json_object", "text"),
    "text": ("text",),
}
"""What to hold a model to, one after the other, as it refuses."""


class ModelProvider(BaseModel):
    """One model behind one base URL."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,31}$")
    """What it is called in logs, metrics and answers."""
    base_url: str
    """``http(s)://host[:port]/path``; requests go to ``<base_url>/chat/completions`` and to no other host."""
    model: str = Field(min_length=1, max_length=128)
    key_env: str = ""
    """Name of the environment variable that holds its key; empty = it wants none, or a file holds it."""
    key_file: str = ""
    """Path of a file that holds its key, where container engines mount secrets for example."""
    timeout_seconds: float = Field(default=20.0, gt=0, le=600)
    """Of one call."""
    answers: Mode = "json_schema"
    """What it can be held to: a JSON schema, any JSON object, or nothing but its instructions."""
    parameters: dict[str, Any] = Field(default_factory=dict)
    """Further fields of the request body, for example ``{"temperature": 0}``."""
    input_price: float = Field(default=0.0, ge=0)
    """Of a million tokens read, in a currency of yours."""
    output_price: float = Field(default=0.0, ge=0)
    """Of a million tokens written."""

    @field_validator("base_url")
    @classmethod
    def _check_url(cls, value: str) -> str:
        url = urlsplit(value)
        if url.scheme not in ("http", "https") or not url.hostname:
            raise ValueError("must be an http or https URL with a host")
        if url.username or url.password or url.query or url.fragment:
            raise ValueError("must hold no credentials, query or fragment; name the key's variable or file")
        return value.rstrip("/")

    @field_validator("key_env")
    @classmethod
    def _check_key(cls, value: str) -> str:
        if value and not os.environ.get(value):
            raise ValueError(f"the environment holds no {value}")
        return value

    @field_validator("key_file")
    @classmethod
    def _check_file(cls, value: str) -> str:
        if value and not _first_line(value):
            raise ValueError(f"{value} holds no key, or cannot be read")
        return value

    @property
    def key(self) -> str:
        """Its key, read anew each time; empty = none."""
        return _first_line(self.key_file) if self.key_file else os.environ.get(self.key_env, "")

    @property
    def full_name(self) -> str:
        """``<provider>/<model>``."""
        return f"{self.name}/{self.model}"

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        """Return what so many tokens cost."""
        return (input_tokens * self.input_price + output_tokens * self.output_price) / 1e6


def _first_line(path: str) -> str:
    try:
        return Path(path).read_text("utf-8").strip().partition("\n")[0]
    except OSError:
        return ""
