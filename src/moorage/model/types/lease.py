"""Leases: who holds what, and until when. Nodes renew theirs as a heartbeat, leaders as their claim.

In: raw documents, by way of `kinds.view_of`. Out: frozen views, field for field the API's. Kubernetes:
k8s.io/api/coordination/v1.
"""

# The names are the API's own and its reference documents each of them.
# ruff: noqa: D101

from moorage.model.schema.named_types import CoordinatedLeaseStrategy, MicroTime
from moorage.model.types.meta import ObjectMeta, TypeMeta
from moorage.model.types.view import CoordinationView, Int32


class LeaseSpec(CoordinationView, frozen=True, gc=False):
    holderIdentity: str | None = None
    leaseDurationSeconds: Int32 | None = None
    acquireTime: MicroTime | None = None
    renewTime: MicroTime | None = None
    leaseTransitions: Int32 | None = None
    strategy: CoordinatedLeaseStrategy | None = None
    preferredHolder: str | None = None


class Lease(TypeMeta, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: LeaseSpec = LeaseSpec()
