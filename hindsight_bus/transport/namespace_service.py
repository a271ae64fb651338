"""NamespaceService: decode, one call of the application, encode."""

from __future__ import annotations

from hbus.v1 import namespace_service_pb2 as pb
from hindsight_bus.app.caller import Caller
from hindsight_bus.app.namespaces import Namespaces
from hindsight_bus.domain.errors import NotFound
from hindsight_bus.domain.names import Namespace, Pattern
from hindsight_bus.transport import paging
from hindsight_bus.transport.codec import fields, queries
from hindsight_bus.transport.codec.namespaces import (
    decode_policy_changes,
    encode_namespace,
    encode_policy,
    encode_stats,
    encode_stored_policy,
)

_EVERYTHING = "*:*:*"


class NamespaceServicer:
    """Serves ``hbus.v1.NamespaceService``."""

    def __init__(self, namespaces: Namespaces) -> None:
        self._namespaces = namespaces

    async def GetNamespace(self, caller: Caller, request: pb.GetNamespaceRequest) -> pb.GetNamespaceResponse:
        """Read one namespace."""
        namespace = Namespace.parse(request.namespace, caller.tenant)
        found = await self._namespaces.get(caller, namespace)
        return pb.GetNamespaceResponse(
            namespace=encode_namespace(found, self._namespaces.partition_of(namespace))
        )

    async def ListNamespaces(
        self, caller: Caller, request: pb.ListNamespacesRequest
    ) -> pb.ListNamespacesResponse:
        """List namespaces."""
        pattern = Pattern.parse(request.pattern or _EVERYTHING, caller.tenant)
        limit = fields.page_size(request.page_size)
        after = paging.decode_page_token(caller, request)
        found, next_after = await self._namespaces.list(caller, pattern, after, limit)
        return pb.ListNamespacesResponse(
            namespaces=[
                encode_namespace(each, self._namespaces.partition_of(each.record.namespace)) for each in found
            ],
            next_page_token=paging.encode_page_token(caller, request, next_after),
        )

    async def GetPolicy(self, caller: Caller, request: pb.GetPolicyRequest) -> pb.GetPolicyResponse:
        """Read the policy in force for a namespace, or the one stored for a pattern."""
        if "*" in request.pattern:
            return await self._stored_policy(caller, Pattern.parse(request.pattern, caller.tenant))
        namespace = Namespace.parse(request.pattern, caller.tenant, "pattern")
        policy, sources = await self._namespaces.policy_in_force(caller, namespace)
        return pb.GetPolicyResponse(
            policy=encode_policy(policy, str(namespace)), sources=[str(each.pattern) for each in sources]
        )

    async def _stored_policy(self, caller: Caller, pattern: Pattern) -> pb.GetPolicyResponse:
        stored = await self._namespaces.stored_policy(caller, pattern)
        if stored is None:
            raise NotFound(str(pattern))
        return pb.GetPolicyResponse(policy=encode_stored_policy(stored), sources=[str(pattern)])

    async def UpdatePolicy(self, caller: Caller, request: pb.UpdatePolicyRequest) -> pb.UpdatePolicyResponse:
        """Set fields of the policy stored for a pattern."""
        stored, positions = await self._namespaces.update_policy(
            caller,
            Pattern.parse(request.policy.pattern, caller.tenant, "policy.pattern"),
            decode_policy_changes(request),
            etag=fields.etag(request.policy.etag, "policy.etag"),
            request_id=fields.request_id(request.request_id),
            payload=fields.payload_of(request),
        )
        return pb.UpdatePolicyResponse(
            policy=encode_stored_policy(stored), token=queries.encode_token(positions, caller.tenant)
        )

    async def GetNamespaceStats(
        self, caller: Caller, request: pb.GetNamespaceStatsRequest
    ) -> pb.GetNamespaceStatsResponse:
        """Count what a namespace holds."""
        namespace = Namespace.parse(request.namespace, caller.tenant)
        freshness = queries.decode_freshness(request.consistency, caller.tenant)
        stats = await self._namespaces.stats(caller, namespace, freshness)
        return pb.GetNamespaceStatsResponse(stats=encode_stats(stats, namespace))
