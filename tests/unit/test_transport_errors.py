"""Reasons and statuses."""

from __future__ import annotations

import inspect
from pathlib import Path

import grpc
import pytest

from hbus.v1.error_reason_pb2 import ErrorReason
from hindsight_bus.domain import errors
from hindsight_bus.transport.errors import STATUS_OF_REASON, failure_of

REASONS = [name.removeprefix("ERROR_REASON_") for name in ErrorReason.keys()[1:]]


def test_every_reason_of_the_contract_has_a_status() -> None:
    """The table covers the contract's reasons, no more and no fewer."""
    assert sorted(STATUS_OF_REASON) == sorted(REASONS)


@pytest.mark.parametrize("reason", REASONS)
def test_statuses_are_those_that_the_contract_states(reason: str, reason_comments: dict[str, str]) -> None:
    """The comment of each reason in the contract begins with its status."""
    assert reason_comments[reason].startswith(f"{STATUS_OF_REASON[reason].name}:")


@pytest.fixture(scope="module")
def reason_comments() -> dict[str, str]:
    source = Path(__file__).parents[2] / "proto/hbus/v1/error_reason.proto"
    comments, above = {}, ""
    for line in source.read_text().splitlines():
        text = line.strip()
        if text.startswith("//"):
            above = text.removeprefix("//").strip()
        elif text.startswith("ERROR_REASON_"):
            comments[text.split()[0].removeprefix("ERROR_REASON_")] = above
    return comments


def test_every_domain_error_has_a_reason_of_the_contract() -> None:
    """Each error that can be raised maps to a reason that clients know."""
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass)]
    reasons = {kind.reason for kind in kinds if issubclass(kind, errors.HbusError)}
    assert reasons <= set(REASONS)
    assert reasons | {"INTERNAL"} == set(REASONS)


def test_items_carry_the_canonical_code() -> None:
    """An item's error has the number of its status, its reason and the field at fault."""
    item = failure_of(errors.TooLarge("memory.text", 9000, 8192)).item_error()
    assert (item.code, item.reason, item.field) == (
        grpc.StatusCode.RESOURCE_EXHAUSTED.value[0],
        "TOO_LARGE",
        "memory.text",
    )


def test_incidents_differ() -> None:
    """Two defects have two incident ids, and neither tells the exception's text."""
    first, second = failure_of(ValueError("secret")), failure_of(ValueError("secret"))
    assert first.incident != second.incident
    assert "secret" not in first.message
