"""Forgetting, which asks first: the user where the host can, else the model in a second call."""

from __future__ import annotations

from typing import Annotated

from mcp.server.mcpserver import AcceptedElicitation, Elicit, ElicitationResult, Resolve
from pydantic import BaseModel, Field

import hbus
from hbus.v1.memory_service_pb2 import ForgetMemoryResponse
from services.mcp import quoting
from services.mcp.answers import Forgotten
from services.mcp.arguments import MemoryName
from services.mcp.desk import Call, bus, desk

_INPUT_REQUIRED = "2026-07-28"
"""From this revision on the answer to a call carries the question, so that no way back to the host is needed."""


class Confirmation(BaseModel):
    """The answer of the user."""

    forget: bool = Field(description="Forget this memory")


class Unasked(Confirmation):
    """The user was not asked: the model has to come back with the memory's etag, and so with what it has seen."""

    forget: bool = False


async def _confirmation(memory: MemoryName, call: Call) -> Unasked | Elicit[Confirmation]:
    """Ask the user, unless the host cannot."""
    if not _can_ask(call):
        return Unasked()
    found = await (await bus(call)).get(desk(call).identity.resource_name(memory))
    return Elicit(f'Forget this memory? "{quoting.escape(found.text)}"', Confirmation)


def _can_ask(call: Call) -> bool:
    asks = call.client_capabilities and call.client_capabilities.elicitation
    if not asks or (asks.form is None and asks.url is not None):
        return False
    return (call.protocol_version or "") >= _INPUT_REQUIRED or call.session.can_send_request


async def forget_memory(
    call: Call,
    memory: MemoryName,
    confirmation: Annotated[ElicitationResult[Confirmation], Resolve(_confirmation)],
    confirm: Annotated[str, Field(description="Only in a second call: confirm of the first answer.")] = "",
) -> Forgotten:
    """Forget a memory, once confirmed. It can be restored until it is purged; what it had overridden returns."""
    name = desk(call).identity.resource_name(memory)
    client = await bus(call)
    found = await client.get(name)
    if not isinstance(confirmation, AcceptedElicitation):
        return _kept(found, f"the user answered {confirmation.action}")
    answer = confirmation.data
    if isinstance(answer, Unasked) and confirm != found.etag:
        return _kept(found, "not yet: ask the user, then call again with confirm", found.etag)
    if not (answer.forget or isinstance(answer, Unasked)):
        return _kept(found, "the user wants to keep it")
    return _gone(await client.forget(name, etag=found.etag))


def _gone(answer: ForgetMemoryResponse) -> Forgotten:
    return Forgotten(
        forgotten=True,
        memory=answer.memory.name,
        state=hbus.label(hbus.MemoryState, answer.memory.state),
        reason="",
        block="",
        confirm="",
        token=answer.token.token,
    )


def _kept(memory: hbus.Memory, reason: str, confirm: str = "") -> Forgotten:
    return Forgotten(
        forgotten=False,
        memory=memory.name,
        state=hbus.label(hbus.MemoryState, memory.state),
        reason=reason,
        block=quoting.block([quoting.of_memory(memory)]),
        confirm=confirm,
    )
