"""Restrict what a node writes: its own Node, Lease, CSINode and slices, its own pods and what belongs to them.

The authorizer lets nodes make such requests by verb and name; here their objects are looked at. A plugin that is bound
to the request of a node runs in its place in the chain when something is created; updates, deletions and requests to
subresources ask `check` before they are validated. Kubernetes: plugin/pkg/admission/noderestriction.
Differs: PodCertificateRequests are not served.
"""

from collections.abc import Callable

from moorage.admit.attributes import CREATE, DELETE, UPDATE, Write
from moorage.admit.plugins import Plugin
from moorage.admit.plugins.node_restriction.nodes import check_node
from moorage.admit.plugins.node_restriction.pods import check_eviction, check_pod, check_pod_status
from moorage.admit.plugins.node_restriction.tokens import check_token_request
from moorage.admit.plugins.node_restriction.volume_claims import check_volume_claim_status
from moorage.admit.raw import Raw
from moorage.admit.request import Request
from moorage.admit.requester import Requester, node_of
from moorage.admit.world import AdmissionWorld
from moorage.model.go.pem_blocks import UnreadableRequest, read_request
from moorage.model.go.quoting import go_quote
from moorage.model.kinds import KINDS, Kind

_LEASES = "kube-node-lease"
_KUBELET_SIGNERS = ("kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet")


class NodeRestriction(Plugin):
    """Refuses what is not a node's own to write. Requests of other users pass."""

    def __init__(self, world: AdmissionWorld) -> None:
        self._world = world

    def bound(self, request: Request) -> Plugin:
        """Return the plugin as it is for one request."""
        return _Bound(self, request)

    def check(self, requester: Requester, write: Write) -> None:
        """Raise ApiError 403, or 404 for a pod or node that does not exist, if a node may not write this."""
        node = node_of(requester)
        if node is None:
            return
        if not node:
            raise write.refused(f"could not determine node from user {go_quote(requester.name)}")
        if write.kind is KINDS.SERVICE_ACCOUNT:
            if (write.operation, write.subresource) == (CREATE, "token"):
                check_token_request(self._world, node, requester, write)
            return
        check = _CHECKS.get(write.kind)
        if check is not None:
            check(self._world, node, write)


class _Bound(Plugin):
    """The plugin for the request that creates an object, or updates one of a custom kind."""

    def __init__(self, restriction: NodeRestriction, request: Request) -> None:
        self._restriction, self._request = restriction, request

    @property
    def name(self) -> str:
        return self._restriction.name

    def admit(self, kind: Kind, new: Raw, old: Raw | None) -> None:
        if old is not None or self._request.requester is None:
            return  # an update was looked at when the old object was read
        metadata = new.get("metadata") or {}
        name = "" if self._request.name_suffix else metadata.get("name") or ""
        self._restriction.check(
            self._request.requester, Write(CREATE, kind, metadata.get("namespace") or "", name, new=new)
        )


def _check_pods(world: AdmissionWorld, node: str, write: Write) -> None:
    check = _POD_CHECKS.get(write.subresource)
    if check is None:
        only = "only 'status' and 'eviction' are allowed"
        raise write.refused(f"unexpected pod subresource {go_quote(write.subresource)}, {only}")
    check(world, node, write)


def _check_volume_claims(world: AdmissionWorld, node: str, write: Write) -> None:
    if write.subresource != "status":
        raise write.refused("may only update PVC status")
    if write.operation != UPDATE:
        raise write.refused(f"unexpected operation {go_quote(write.operation)}")
    check_volume_claim_status(node, write)


def _check_lease(world: AdmissionWorld, node: str, write: Write) -> None:
    if write.namespace != _LEASES:
        raise write.refused(f"can only access leases in the {go_quote(_LEASES)} system namespace")
    if write.name != node:
        raise write.refused("can only access node lease with the same name as the requesting node")


def _check_csi_node(world: AdmissionWorld, node: str, write: Write) -> None:
    if write.name != node:
        raise write.refused("can only access CSINode with the same name as the requesting node")


def _check_slice(world: AdmissionWorld, node: str, write: Write) -> None:
    slice_ = write.new if write.operation == CREATE else write.old if write.operation == DELETE else None
    if slice_ is not None and (slice_.get("spec") or {}).get("nodeName") != node:
        verb = write.operation.lower()
        raise write.refused(f"can only {verb} ResourceSlice with the same NodeName as the requesting node")


def _check_signing_request(world: AdmissionWorld, node: str, write: Write) -> None:
    """Check that a node asks for certificates of its own name; organisation and addresses are the signer's to check."""
    if write.operation != CREATE or write.new is None:
        return
    spec = write.new.get("spec") or {}
    if spec.get("signerName") not in _KUBELET_SIGNERS:
        return
    from moorage.admit.kinds.api_server.certificates import common_name, decoded  # imports slowly, and few need it

    try:
        name = common_name(read_request(decoded(spec.get("request") or "")))
    except UnreadableRequest as error:
        raise write.refused(f"unable to parse csr: {error}") from None
    if name != f"system:node:{node}":
        raise write.refused(f"can only create a node CSR with CN=system:node:{node}")


_Check = Callable[[AdmissionWorld, str, Write], None]
_POD_CHECKS: dict[str, _Check] = {"": check_pod, "status": check_pod_status, "eviction": check_eviction}
_CHECKS: dict[Kind, _Check] = {
    KINDS.POD: _check_pods,
    KINDS.NODE: check_node,
    KINDS.PERSISTENT_VOLUME_CLAIM: _check_volume_claims,
    KINDS.LEASE: _check_lease,
    KINDS.CSI_NODE: _check_csi_node,
    KINDS.RESOURCE_SLICE: _check_slice,
    KINDS.CERTIFICATE_SIGNING_REQUEST: _check_signing_request,
}
